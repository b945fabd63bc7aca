//! The one file that prints: answers to standard output, all else to standard error.
//!
//! An answer is text for people, one JSON document (`--json`), or one word
//! (`--quiet`). Colours and the progress line are for terminals only. Handles
//! are written to, and not `println!`, which panics when nobody reads any more.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use clap::error::ErrorKind;
use gate_core::Chain;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::json;

use crate::arguments::GlobalArguments;
use crate::document::Fault;
use crate::error::CliError;
use crate::exit::Exit;
use crate::render::{RED_BOLD, RESET, clean, fault_line};

/// How often the progress line moves.
const TICK_MS: u64 = 120;

/// How a command speaks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Output {
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Text,
    Word,
    Json,
}

/// A line on the terminal that shows that something is going on; gone when it is dropped.
#[derive(Debug)]
pub(crate) struct Progress(Option<ProgressBar>);

impl Output {
    /// As the arguments say; `--json` goes before `--quiet`.
    pub(crate) fn new(global: &GlobalArguments) -> Self {
        let form = match (global.json, global.quiet) {
            (true, _) => Form::Json,
            (false, true) => Form::Word,
            (false, false) => Form::Text,
        };
        Self { form }
    }

    /// Prints the answer of the command: `value` as JSON, `text` for people, or `word`.
    pub(crate) fn answer(self, value: &impl Serialize, text: &str, word: &dyn Display) {
        match self.form {
            Form::Text => print(text.trim_end()),
            Form::Word => print(&word.to_string()),
            Form::Json => print(&pretty(value)),
        }
    }

    /// Tells people, line by line, what a long command does; it has no other answer.
    pub(crate) fn say(self, text: &str) {
        print(text);
    }

    /// Prints a document that is JSON in every form.
    #[expect(clippy::unused_self, reason = "everything that is printed goes through an output")]
    pub(crate) fn document(self, value: &impl Serialize) {
        print(&pretty(value));
    }

    /// Prints an answer that is text of another form, byte for byte; as JSON it is a field of this name.
    pub(crate) fn text(self, name: &str, text: &[u8]) {
        match self.form {
            Form::Json => print(&pretty(&json!({ name: String::from_utf8_lossy(text) }))),
            Form::Text | Form::Word => write_out(text),
        }
    }

    /// Says something beside the answer, to people.
    pub(crate) fn note(self, text: &str) {
        if self.form == Form::Text {
            eprint(&clean(text));
        }
    }

    /// Says why there is no answer. Programs that read JSON get it as JSON, too.
    pub(crate) fn error(self, error: &CliError) {
        let (name, faults) = error.faults();
        if self.form == Form::Json {
            print(&pretty(&json!({ "error": error_json(error, faults) })));
        }
        let mut text = format!("{RED_BOLD}error{RESET}: {}", clean(&Chain(error).to_string()));
        for fault in faults {
            text.push_str("\n  ");
            text.push_str(&fault_line(name, fault));
        }
        if let CliError::Refused(refusal) = error {
            text.push_str("\n  request id: ");
            text.push_str(&clean(&refusal.problem.request_id));
        }
        eprint(&text);
    }

    /// Starts a progress line, where there is a terminal and somebody to see it.
    pub(crate) fn progress(self, message: &str) -> Progress {
        if self.form != Form::Text || !io::stderr().is_terminal() {
            return Progress(None);
        }
        let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})")
            .unwrap_or_else(|_| ProgressStyle::default_spinner());
        let bar = ProgressBar::new_spinner().with_style(style);
        bar.set_message(message.to_owned());
        bar.enable_steady_tick(Duration::from_millis(TICK_MS));
        Progress(Some(bar))
    }
}

impl Progress {
    /// Changes the line.
    pub(crate) fn say(&self, message: &str) {
        if let Some(bar) = &self.0 {
            bar.set_message(clean(message));
        }
    }

    /// Says something to people above the line.
    pub(crate) fn note(&self, output: Output, text: &str) {
        match &self.0 {
            Some(bar) => bar.suspend(|| output.note(text)),
            None => output.note(text),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// Says that not even the threads of this process could be started.
pub(crate) fn refuse_to_start(error: &io::Error) -> Exit {
    eprint(&format!("error: cannot start: {error}"));
    Exit::Unreachable
}

/// Prints what clap has to say: help and version are answers, all else is a fault of the arguments.
pub(crate) fn refuse_arguments(error: &clap::Error) -> Exit {
    let text = error.render().ansi().to_string();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            print(text.trim_end());
            Exit::Pass
        }
        _ => {
            eprint(text.trim_end());
            Exit::Usage
        }
    }
}

/// The faults of a document as JSON.
pub(crate) fn faults_json(faults: &[Fault]) -> serde_json::Value {
    let faults = faults.iter().map(|Fault { pointer, detail, place }| {
        json!({
            "pointer": pointer,
            "detail": detail,
            "line": place.map(|it| it.line),
            "column": place.map(|it| it.column),
        })
    });
    faults.collect()
}

/// The gate's own problem where there is one; else the same four fields.
fn error_json(error: &CliError, faults: &[Fault]) -> serde_json::Value {
    if let CliError::Refused(refusal) = error {
        let mut problem = json!(refusal.problem);
        problem["errors"] = faults_json(faults);
        return problem;
    }
    json!({
        "code": error.code(),
        "title": error.to_string(),
        "detail": Chain(error).to_string(),
        "errors": faults_json(faults),
    })
}

fn pretty(value: &impl Serialize) -> String {
    serde_json::to_string_pretty(value)
        .expect("our bodies have text for names and no numbers that JSON lacks")
}

fn print(text: &str) {
    finish(writeln!(anstream::stdout().lock(), "{text}"));
}

fn write_out(bytes: &[u8]) {
    let mut stdout = io::stdout().lock();
    finish(stdout.write_all(bytes).and_then(|()| stdout.flush()));
}

fn finish(written: io::Result<()>) {
    match written {
        Ok(()) => {}
        // Whoever read has read enough; the exit status still says how it ended.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err(error) => eprint(&format!("error: cannot write to standard output: {error}")),
    }
}

fn eprint(text: &str) {
    // Where standard error cannot be written to, nobody is left to be told.
    writeln!(anstream::stderr().lock(), "{text}").ok();
}
