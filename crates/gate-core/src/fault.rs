//! Whose fault it is that something went wrong.

/// Decided where an error is made, and nowhere else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// The revision is missing, the archive escapes its root: FAIL, and the round counts.
    Reporter,
    /// The program does not exist, the limits exclude each other: INCONCLUSIVE, back to the planner.
    Contract,
    /// The disk is full, the worker was lost: tried again, then INCONCLUSIVE. Never the reporter's loss.
    Gate,
}

impl Blame {
    /// The word for it in JSON, tables, and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reporter => "reporter",
            Self::Contract => "contract",
            Self::Gate => "gate",
        }
    }
}
