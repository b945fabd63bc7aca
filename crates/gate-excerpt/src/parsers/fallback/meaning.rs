//! What the end of a process means.

use gate_core::{exit_meaning, signal_name};

use crate::Input;

/// One clause.
pub(super) fn of(input: &Input<'_>) -> String {
    if input.timed_out {
        return "it was ended at its time limit".to_owned();
    }
    if let Some(signal) = input.signal {
        let name = signal_name(signal).map(|it| format!(", {it}")).unwrap_or_default();
        return format!("it was ended by signal {signal}{name}");
    }
    let Some(code) = input.exit_code else { return "it did not end by itself".to_owned() };
    match exit_meaning(code) {
        Some(meaning) => format!("exit status {code} ({meaning})"),
        None => format!("exit status {code}"),
    }
}
