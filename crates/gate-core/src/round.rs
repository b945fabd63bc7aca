//! What follows from a decision: the next step, and where the task goes.

use crate::{Blame, Decision, NextStep, TaskState};

/// How many tries the reporter has had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    /// This one, from 1: the FAILs before it, plus one.
    pub number: u32,
    /// The contract's bound on rounds.
    pub rounds_max: u32,
    /// Reports taken so far, this one included.
    pub reports: u32,
    /// The contract's bound on reports.
    pub reports_max: u32,
}

/// Decides what the orchestrator does now. Only the reporter's own fault costs a round.
#[must_use]
pub const fn conclude(
    decision: Decision,
    blame: Option<Blame>,
    round: Round,
) -> (NextStep, TaskState) {
    let may_report_again = round.reports < round.reports_max;
    match decision {
        Decision::Pass => (NextStep::Complete, TaskState::Done),
        Decision::Fail if round.number < round.rounds_max && may_report_again => {
            (NextStep::Rework, TaskState::Rework)
        }
        Decision::Fail => (NextStep::NeedsHuman, TaskState::NeedsHuman),
        Decision::Inconclusive => match blame {
            Some(Blame::Contract) => (NextStep::FixContract, TaskState::ContractRejected),
            Some(Blame::Gate | Blame::Reporter) | None => {
                (NextStep::NeedsHuman, TaskState::NeedsHuman)
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(number: u32, reports: u32) -> Round {
        Round { number, rounds_max: 3, reports, reports_max: 15 }
    }

    #[test]
    fn the_last_round_is_handed_to_a_person() {
        let rework = (NextStep::Rework, TaskState::Rework);
        let human = (NextStep::NeedsHuman, TaskState::NeedsHuman);
        assert_eq!(conclude(Decision::Fail, Some(Blame::Reporter), round(2, 2)), rework);
        assert_eq!(conclude(Decision::Fail, Some(Blame::Reporter), round(3, 3)), human);
        assert_eq!(conclude(Decision::Fail, Some(Blame::Reporter), round(1, 15)), human);
    }

    #[test]
    fn a_broken_contract_goes_back_to_the_planner() {
        let answer = conclude(Decision::Inconclusive, Some(Blame::Contract), round(1, 1));
        assert_eq!(answer, (NextStep::FixContract, TaskState::ContractRejected));
    }

    #[test]
    fn a_fault_of_the_gate_is_a_persons_to_settle() {
        let answer = conclude(Decision::Inconclusive, Some(Blame::Gate), round(1, 1));
        assert_eq!(answer, (NextStep::NeedsHuman, TaskState::NeedsHuman));
    }
}
