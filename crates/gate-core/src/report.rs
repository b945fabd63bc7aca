//! A completion report: a revision and claims, believed by nobody.

use crate::{Contract, WorkspaceSource};

/// What the reporter says, once its form was checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletionReport {
    /// How the work ended.
    pub status: ReportStatus,
    /// Why, for all but success.
    pub reason_code: Option<ReasonCode>,
    /// The exact thing to be judged; required for success.
    pub workspace: Option<WorkspaceSource>,
    /// One for each criterion.
    pub claims: Vec<Claim>,
}

/// How the work ended, as the reporter says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReportStatus {
    /// "It is done": the gate judges.
    Success,
    /// Part of it is done, and the reporter can be resumed.
    Partial,
    /// The reporter could not do it.
    Failed,
    /// The reporter needs an answer.
    NeedsInput,
    /// The reporter gave the task up.
    Aborted,
}

/// Why a report is not a success; each belongs to one status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReasonCode {
    /// partial: tokens, money, or turns are used up.
    BudgetExhausted,
    /// partial: time is used up.
    TimeExhausted,
    /// partial: waiting for something outside.
    Blocked,
    /// failed: a tool or the environment broke.
    ToolError,
    /// failed: the reporter's own validation failed.
    ValidationFailed,
    /// failed: the task cannot be done as asked.
    Infeasible,
    /// `needs_input`: a requirement can be read in more than one way.
    AmbiguousRequirement,
    /// `needs_input`: a credential or a permission is missing.
    MissingAccess,
    /// `needs_input`: a decision is somebody else's.
    DecisionNeeded,
    /// aborted: somebody told it to stop.
    Cancelled,
    /// aborted: another task took its place.
    Superseded,
}

/// One statement about one criterion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The criterion's id.
    pub criterion: String,
    /// What is claimed.
    pub status: ClaimStatus,
    /// Pasted output; never evidence for the judge.
    pub evidence: Vec<ClaimEvidence>,
}

/// What is claimed of a criterion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ClaimStatus {
    /// It is met.
    Met,
    /// It is not met, honestly said.
    NotMet,
    /// Nobody looked.
    NotVerified,
}

/// What the reporter says that it ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimEvidence {
    /// The words.
    pub command: Vec<String>,
    /// The exit status that it says it saw.
    pub exit_code: Option<i32>,
    /// The output that it pasted.
    pub output: String,
}

/// What is wrong with a report, seen against the contract it answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportFault {
    /// Where, as a JSON pointer into the report.
    pub pointer: String,
    /// What, and what to write instead.
    pub detail: String,
}

impl CompletionReport {
    /// Lists all that is wrong with the report in the light of its contract; an empty list is a report that is taken.
    #[must_use]
    pub fn faults(&self, contract: &Contract) -> Vec<ReportFault> {
        let mut faults = self.status_faults();
        let known: Vec<&str> = contract.criteria().iter().map(|it| it.id.as_str()).collect();
        let mut seen: Vec<&str> = Vec::new();
        for (index, claim) in self.claims.iter().enumerate() {
            let id = claim.criterion.as_str();
            let detail = if !known.contains(&id) {
                format!("the contract has no criterion `{id}`; it has {}", known.join(", "))
            } else if seen.contains(&id) {
                format!("criterion `{id}` is claimed twice; claim it once")
            } else {
                seen.push(id);
                continue;
            };
            faults.push(ReportFault { pointer: format!("/criteria/{index}/id"), detail });
        }
        let silent: Vec<&str> = known.into_iter().filter(|it| !seen.contains(it)).collect();
        if self.status == ReportStatus::Success && !silent.is_empty() {
            let detail = format!(
                "no claim for {}; say met, not_met, or not_verified of each criterion",
                silent.join(", ")
            );
            faults.push(ReportFault { pointer: "/criteria".to_owned(), detail });
        }
        if matches!(self.workspace, Some(WorkspaceSource::Patch { .. }))
            && contract.baseline().is_none()
        {
            let detail = "a patch is applied to the contract's baseline, and this contract has none; \
                name git, archive, files, or directory";
            faults.push(ReportFault {
                pointer: "/workspace/patch".to_owned(),
                detail: detail.to_owned(),
            });
        }
        faults
    }

    fn status_faults(&self) -> Vec<ReportFault> {
        let fault = |pointer: &str, detail: String| ReportFault { pointer: pointer.into(), detail };
        let mut faults = Vec::new();
        let status = self.status.as_str();
        let allowed = ReasonCode::of(self.status);
        let words = allowed.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(", ");
        match self.reason_code {
            None if self.status != ReportStatus::Success => {
                let detail = format!("a report with status `{status}` says why: one of {words}");
                faults.push(fault("/reason_code", detail));
            }
            Some(_) if self.status == ReportStatus::Success => {
                faults.push(fault("/reason_code", "a success has no reason code".to_owned()));
            }
            Some(code) if !allowed.contains(&code) => {
                let detail = format!(
                    "`{}` does not belong to status `{status}`; use one of {words}",
                    code.as_str()
                );
                faults.push(fault("/reason_code", detail));
            }
            None | Some(_) => {}
        }
        if self.status == ReportStatus::Success && self.workspace.is_none() {
            let detail =
                "a success names the revision to judge: git, archive, files, patch, or directory";
            faults.push(fault("/workspace", detail.to_owned()));
        }
        faults
    }
}

impl ReportStatus {
    /// The word for it in JSON, tables, and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::NeedsInput => "needs_input",
            Self::Aborted => "aborted",
        }
    }
}

impl ReasonCode {
    /// The codes that belong to a status.
    #[must_use]
    pub const fn of(status: ReportStatus) -> &'static [Self] {
        match status {
            ReportStatus::Success => &[],
            ReportStatus::Partial => &[Self::BudgetExhausted, Self::TimeExhausted, Self::Blocked],
            ReportStatus::Failed => &[Self::ToolError, Self::ValidationFailed, Self::Infeasible],
            ReportStatus::NeedsInput => {
                &[Self::AmbiguousRequirement, Self::MissingAccess, Self::DecisionNeeded]
            }
            ReportStatus::Aborted => &[Self::Cancelled, Self::Superseded],
        }
    }

    /// The word for it in JSON, tables, and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BudgetExhausted => "budget_exhausted",
            Self::TimeExhausted => "time_exhausted",
            Self::Blocked => "blocked",
            Self::ToolError => "tool_error",
            Self::ValidationFailed => "validation_failed",
            Self::Infeasible => "infeasible",
            Self::AmbiguousRequirement => "ambiguous_requirement",
            Self::MissingAccess => "missing_access",
            Self::DecisionNeeded => "decision_needed",
            Self::Cancelled => "cancelled",
            Self::Superseded => "superseded",
        }
    }
}

impl ClaimStatus {
    /// The word for it in JSON, tables, and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::NotMet => "not_met",
            Self::NotVerified => "not_verified",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{contract, parts};

    fn reported(workspace: WorkspaceSource) -> CompletionReport {
        let claim =
            Claim { criterion: "AC1".to_owned(), status: ClaimStatus::Met, evidence: Vec::new() };
        CompletionReport {
            status: ReportStatus::Success,
            reason_code: None,
            workspace: Some(workspace),
            claims: vec![claim],
        }
    }

    #[test]
    fn a_patch_needs_a_contract_with_a_baseline() {
        let report = reported(WorkspaceSource::Patch { diff: "--- a/x".to_owned() });
        let faults = report.faults(&contract());
        assert_eq!(faults.len(), 1);
        assert_eq!(faults[0].pointer, "/workspace/patch");
        let mut parts = parts();
        parts.baseline = Some(WorkspaceSource::Files(Vec::new()));
        assert_eq!(report.faults(&Contract::parse(parts).unwrap()), []);
        assert_eq!(reported(WorkspaceSource::Files(Vec::new())).faults(&contract()), []);
    }
}
