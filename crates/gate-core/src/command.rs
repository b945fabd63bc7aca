//! An acceptance command as the contract wrote it.

use std::fmt;

/// What the gate runs: a list of words, or, only where the contract says so, a shell script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandLine {
    /// A program and its arguments, passed on exactly as given.
    Words {
        /// The program: a bare name is looked up on `PATH`, a path is relative to the workspace.
        program: String,
        /// Its arguments.
        args: Vec<String>,
    },
    /// A script for `bash -euo pipefail`, so that a failing step or pipe fails the command.
    Shell(String),
}

/// Why a command line was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CommandLineError {
    /// There is no word, or no script.
    #[error("a command needs at least the name of its program")]
    Empty,
    /// The exit code that the check rests on would be thrown away.
    #[error("`{idiom}` throws the exit code away, so the check could never fail; remove it")]
    ExitCodeDiscarded {
        /// The words that discard it.
        idiom: &'static str,
    },
}

/// The ends of a script that make any failure before them invisible.
const DISCARDING_ENDS: [&str; 6] =
    ["|| true", "|| :", "|| exit 0", "; true", "; exit 0", "|| /bin/true"];

impl CommandLine {
    /// Takes the words as given; nothing is split, expanded, or trimmed.
    ///
    /// # Errors
    /// When there is no word, or when a shell among the words is handed a script that discards its exit code.
    pub fn parse(words: Vec<String>) -> Result<Self, CommandLineError> {
        let mut words = words.into_iter();
        let program = words.next().filter(|it| !it.is_empty()).ok_or(CommandLineError::Empty)?;
        let args: Vec<String> = words.collect();
        let is_shell = matches!(base_name(&program), "sh" | "bash" | "dash" | "zsh");
        if is_shell && args.iter().any(|it| it.starts_with('-') && it.ends_with('c')) {
            args.iter().try_for_each(|it| refuse_discarded_exit(it))?;
        }
        Ok(Self::Words { program, args })
    }

    /// Takes a script for `bash -euo pipefail`.
    ///
    /// # Errors
    /// When it is blank, or discards its exit code.
    pub fn parse_shell(script: String) -> Result<Self, CommandLineError> {
        if script.trim().is_empty() {
            return Err(CommandLineError::Empty);
        }
        refuse_discarded_exit(&script)?;
        Ok(Self::Shell(script))
    }

    /// The words that are really executed.
    #[must_use]
    pub fn to_words(&self) -> Vec<String> {
        match self {
            Self::Words { program, args } => {
                std::iter::once(program).chain(args).cloned().collect()
            }
            Self::Shell(script) => {
                ["bash", "-euo", "pipefail", "-c", script].map(str::to_owned).to_vec()
            }
        }
    }

    /// The program that has to be found.
    #[must_use]
    pub fn program(&self) -> &str {
        match self {
            Self::Words { program, .. } => program,
            Self::Shell(_) => "bash",
        }
    }

    /// Whether the program comes from the workspace itself, and so from the reporter.
    #[must_use]
    pub fn is_in_workspace(&self) -> bool {
        let program = self.program();
        program.contains('/') && !program.starts_with('/')
    }
}

/// As a person would type it into a shell.
impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shell(script) => f.write_str(script),
            Self::Words { program, args } => {
                f.write_str(&quoted(program))?;
                args.iter().try_for_each(|it| write!(f, " {}", quoted(it)))
            }
        }
    }
}

fn quoted(word: &str) -> String {
    let plain = |it: char| it.is_ascii_alphanumeric() || "-_./=:,@%+".contains(it);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

fn refuse_discarded_exit(script: &str) -> Result<(), CommandLineError> {
    let mut lines = script.lines().map(|it| it.trim().trim_end_matches(';').trim_end());
    let spaced = |it: &str| it.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in lines.by_ref().map(spaced) {
        // `a||true` and `a || true` are the same to the shell.
        let line = line.replace("||", " || ").replace(';', " ; ");
        let line = format!(" {} ", spaced(&line));
        for idiom in DISCARDING_ENDS {
            if line.ends_with(&format!(" {idiom} ")) {
                return Err(CommandLineError::ExitCodeDiscarded { idiom });
            }
        }
        if line.contains(" set +e ") {
            return Err(CommandLineError::ExitCodeDiscarded { idiom: "set +e" });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Result<CommandLine, CommandLineError> {
        CommandLine::parse(words.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn words_are_passed_on_untouched() {
        let line = words(&["pytest", "-q", "a b", "|| true"]).unwrap();
        assert_eq!(line.to_words(), ["pytest", "-q", "a b", "|| true"]);
    }

    #[test]
    fn a_command_without_a_program_is_refused() {
        assert_eq!(words(&[]), Err(CommandLineError::Empty));
        assert_eq!(words(&["", "x"]), Err(CommandLineError::Empty));
    }

    #[test]
    fn a_shell_check_runs_with_pipefail() {
        let line = CommandLine::parse_shell("pytest | tee log".into()).unwrap();
        assert_eq!(line.to_words()[..3], ["bash", "-euo", "pipefail"]);
    }

    #[test]
    fn a_script_that_throws_its_exit_code_away_is_refused() {
        let scripts = [
            "npm test || true",
            "npm test||true",
            "npm test ; exit 0",
            "npm test || :",
            "set +e\nnpm test",
            "npm test || true;",
            "npm test || true\necho done",
        ];
        for script in scripts {
            let refused = CommandLine::parse_shell(script.into());
            assert!(matches!(refused, Err(CommandLineError::ExitCodeDiscarded { .. })), "{script}");
        }
        assert!(words(&["sh", "-c", "npm test || true"]).is_err());
    }

    #[test]
    fn a_script_that_only_mentions_true_is_taken() {
        assert!(CommandLine::parse_shell("test \"$(cat x)\" = true".into()).is_ok());
        assert!(CommandLine::parse_shell("grep true log || exit 1".into()).is_ok());
    }

    #[test]
    fn a_command_prints_as_a_person_would_type_it() {
        let line = words(&["cargo", "test", "--", "it's here"]).unwrap();
        assert_eq!(line.to_string(), r"cargo test -- 'it'\''s here'");
    }
}
