//! What the end of a process means.

use crate::Input;

/// A shell gives 128 + N for a process that signal N ended.
const SIGNALLED: i32 = 128;

/// One clause.
pub(super) fn of(input: &Input<'_>) -> String {
    if input.timed_out {
        return "it was ended at its time limit".to_owned();
    }
    if let Some(signal) = input.signal {
        return format!("it was ended by signal {signal}{}", signal_name(signal));
    }
    let Some(code) = input.exit_code else { return "it did not end by itself".to_owned() };
    let meaning = match code {
        124 => " (a time limit was hit)".to_owned(),
        126 => " (found, but not executable)".to_owned(),
        127 => " (command not found)".to_owned(),
        129..=192 => format!(
            " (a process was ended by signal {}{})",
            code - SIGNALLED,
            signal_name(code - SIGNALLED)
        ),
        _ => String::new(),
    };
    format!("exit status {code}{meaning}")
}

const fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => ", SIGHUP",
        2 => ", SIGINT",
        4 => ", SIGILL",
        6 => ", SIGABRT",
        7 => ", SIGBUS",
        8 => ", SIGFPE",
        9 => ", SIGKILL: often out of memory",
        11 => ", SIGSEGV",
        13 => ", SIGPIPE",
        15 => ", SIGTERM",
        24 => ", SIGXCPU",
        31 => ", SIGSYS",
        _ => "",
    }
}
