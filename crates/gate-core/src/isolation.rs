//! How strongly a command is walled in.

/// The isolation tiers, from the weakest to the strongest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum IsolationTier {
    /// Own process group, clean environment, own home and temporary directory; nothing is hidden.
    Process,
}

impl IsolationTier {
    /// The word for it in JSON, tables, and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Process => "process",
        }
    }
}
