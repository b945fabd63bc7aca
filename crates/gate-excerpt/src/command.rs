//! Reads in a command's words which programs it calls; what only wraps a call is looked through.

/// Programs that run the rest of their words.
const WRAPPERS: [&str; 30] = [
    "env",
    "time",
    "timeout",
    "nice",
    "nohup",
    "sudo",
    "exec",
    "command",
    "stdbuf",
    "xvfb-run",
    "npx",
    "bunx",
    "pnpx",
    "uv",
    "uvx",
    "pipx",
    "poetry",
    "pipenv",
    "pdm",
    "hatch",
    "rye",
    "conda",
    "coverage",
    "bundle",
    "run",
    "x",
    "dlx",
    "tool",
    "!",
    "catchsegv",
];

/// Package managers that run the rest only after one of these words.
const MANAGERS: [&str; 3] = ["npm", "pnpm", "yarn"];

/// Words of a shell that run no test, and write none of its files.
const IDLE: [&str; 20] = [
    "cd", "export", "set", "unset", "true", "false", "echo", "printf", "mkdir", "rm", "exit",
    "test", "[", "if", "then", "fi", "tee", "tail", "head", "grep",
];

/// One program with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    /// Without directories and `.exe`.
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
}

impl Call {
    /// Its first argument that is no option, such as `test` of `cargo +nightly test`.
    pub(crate) fn subcommand(&self) -> &str {
        let is_word = |it: &&String| !it.starts_with(['-', '+']);
        self.args.iter().find(is_word).map_or("", String::as_str)
    }

    /// Whether it is a shell's own step.
    pub(crate) fn is_idle(&self) -> bool {
        IDLE.contains(&self.program.as_str())
    }

    /// The values of an option, in whichever form: `--reporter dot`, `--reporter=dot`, `-Rdot`.
    pub(crate) fn values<'c>(&'c self, names: &'c [&str]) -> impl Iterator<Item = &'c str> {
        self.args.iter().enumerate().filter_map(move |(at, arg)| {
            names.iter().find_map(|name| match arg.strip_prefix(name)? {
                "" => self.args.get(at + 1).map(String::as_str),
                rest if name.starts_with("--") => rest.strip_prefix(['=', ':']),
                rest => Some(rest.trim_start_matches(['=', ':'])),
            })
        })
    }

    /// Whether an option chooses nothing, or one of these among others.
    pub(crate) fn chooses(&self, names: &[&str], of: &[&str]) -> bool {
        let mut values = self.values(names).peekable();
        values.peek().is_none() || values.any(|it| it.split(',').any(|it| of.contains(&it)))
    }

    pub(crate) fn has_arg(&self, wanted: &str) -> bool {
        self.args.iter().any(|it| it == wanted)
    }
}

/// The calls in the words, in order.
pub(crate) fn calls(words: &[String]) -> Vec<Call> {
    let script = script(words);
    let words = script.unwrap_or_else(|| vec![words.to_vec()]);
    words.iter().filter_map(|it| call(it)).collect()
}

/// The simple commands of `sh -c SCRIPT`. Quoting is not understood, only taken away: this reads, it does not run.
fn script(words: &[String]) -> Option<Vec<Vec<String>>> {
    let (program, args) = words.split_first()?;
    if !matches!(base(program), "sh" | "bash" | "dash" | "zsh" | "ksh" | "ash") {
        return None;
    }
    let is_flag = |it: &String| it.starts_with('-') && !it.starts_with("--") && it.ends_with('c');
    let text = args.get(args.iter().position(is_flag)? + 1)?;
    let ends = [';', '\n', '|', '&', '(', ')', '{', '}', '`'];
    let words = |it: &str| {
        let bare = |it: &str| it.trim_matches(['"', '\'', '$']).to_owned();
        it.split_whitespace().map(bare).filter(|it| !it.is_empty()).collect()
    };
    Some(text.split(ends).map(words).collect())
}

fn call(words: &[String]) -> Option<Call> {
    let mut words = words;
    loop {
        let (first, rest) = words.split_first()?;
        let program = base(first);
        let is_assignment = first.split_once('=').is_some_and(|(name, _)| {
            name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
        });
        let is_skipped = is_assignment
            || first.starts_with('-')
            // The limit of `timeout`, the niceness of `nice`.
            || first.starts_with(|it: char| it.is_ascii_digit())
            || (WRAPPERS.contains(&program) && !rest.is_empty());
        if is_skipped {
            words = rest;
            continue;
        }
        if MANAGERS.contains(&program) && rest.first().is_some_and(|it| it == "exec") {
            words = &rest[1..];
            continue;
        }
        let is_python = program.starts_with("python") || program == "py" || program == "pypy3";
        if is_python && let Some(at) = rest.iter().position(|it| it == "-m") {
            let module = rest.get(at + 1)?;
            if module == "coverage" {
                words = &rest[at + 1..];
                continue;
            }
            return Some(Call { program: module.clone(), args: rest[at + 2..].to_vec() });
        }
        return Some(Call { program: program.to_owned(), args: rest.to_vec() });
    }
}

fn base(program: &str) -> &str {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    name.strip_suffix(".exe").unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn programs(words: &[&str]) -> Vec<String> {
        let words: Vec<String> = words.iter().map(ToString::to_string).collect();
        calls(&words).into_iter().map(|it| it.program).collect()
    }

    #[test]
    fn the_program_is_found_behind_what_wraps_it() {
        for words in [
            vec!["pytest", "-q"],
            vec!["/opt/venv/bin/pytest"],
            vec!["python3.12", "-X", "dev", "-m", "pytest", "-q"],
            vec!["uv", "run", "--frozen", "pytest"],
            vec!["env", "CI=1", "timeout", "-k", "5", "60", "poetry", "run", "pytest"],
            vec!["coverage", "run", "-m", "pytest"],
            vec!["bash", "-euo", "pipefail", "-c", "CI=1 pytest"],
        ] {
            assert_eq!(programs(&words), ["pytest"], "{words:?}");
        }
    }

    #[test]
    fn a_script_is_read_call_by_call() {
        let script = "cd x && cargo test; rc=$?; (npx jest --ci) | tail";
        assert_eq!(programs(&["sh", "-c", script]), ["cd", "cargo", "jest", "tail"]);
    }

    #[test]
    fn an_option_has_its_values_in_each_form() {
        let call = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            calls(&words).remove(0)
        };
        for words in
            [["mocha", "--reporter=dot", "x"], ["mocha", "-R", "dot"], ["mocha", "-Rdot", "x"]]
        {
            let call = call(&words);
            assert_eq!(call.values(&["--reporter", "-R"]).collect::<Vec<_>>(), ["dot"]);
            assert!(call.chooses(&["--reporter", "-R"], &["spec", "dot"]));
            assert!(!call.chooses(&["--reporter", "-R"], &["spec"]));
        }
        assert!(call(&["mocha", "--reporter-options", "x"]).chooses(&["--reporter"], &["spec"]));
    }

    #[test]
    fn the_subcommand_is_the_first_word() {
        let words = ["cargo", "+nightly", "--locked", "test"].map(str::to_owned);
        assert_eq!(calls(&words)[0].subcommand(), "test");
    }
}
