//! The runners of tests that scripts call, and the arguments that make them end, ask nothing, and write their results.

/// A runner whose figures the gate reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Runner {
    Jest,
    Vitest,
    Mocha,
    Ava,
    Jasmine,
    Karma,
    Playwright,
    ReactScripts,
    NodeTest,
    BunTest,
}

const VITEST_RESULTS: &str = ".donegate/vitest.json";
const VITEST_OUTPUT: &str = "--outputFile.json=.donegate/vitest.json";

impl Runner {
    /// In the order in which they are looked for among the dependencies.
    pub(super) const ALL: [Self; 7] = [
        Self::Vitest,
        Self::Jest,
        Self::Mocha,
        Self::Ava,
        Self::Jasmine,
        Self::ReactScripts,
        Self::Playwright,
    ];

    /// The runner of the last command of a script: what is added to the script's words goes to that one.
    pub(super) fn last_in(script: &str) -> Option<Self> {
        let last = script.rsplit(['&', '|', ';']).next()?;
        let words: Vec<&str> = last.split_whitespace().collect();
        let at = words
            .iter()
            .position(|it| Self::of_word(it).is_some() || *it == "node" || *it == "bun")?;
        match words[at] {
            "node" => words[at..].contains(&"--test").then_some(Self::NodeTest),
            "bun" => (words.get(at + 1) == Some(&"test")).then_some(Self::BunTest),
            word => Self::of_word(word),
        }
    }

    fn of_word(word: &str) -> Option<Self> {
        match word.rsplit('/').next()? {
            "jest" => Some(Self::Jest),
            "vitest" => Some(Self::Vitest),
            "mocha" => Some(Self::Mocha),
            "ava" => Some(Self::Ava),
            "jasmine" => Some(Self::Jasmine),
            "karma" => Some(Self::Karma),
            "playwright" => Some(Self::Playwright),
            "react-scripts" => Some(Self::ReactScripts),
            _ => None,
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::NodeTest => "node --test",
            Self::BunTest => "bun test",
            Self::Jest
            | Self::Vitest
            | Self::Mocha
            | Self::Ava
            | Self::Jasmine
            | Self::Karma
            | Self::Playwright
            | Self::ReactScripts => self.words()[0],
        }
    }

    /// The package that brings it.
    pub(super) const fn package(self) -> &'static str {
        match self {
            Self::Playwright => "@playwright/test",
            Self::Jest
            | Self::Vitest
            | Self::Mocha
            | Self::Ava
            | Self::Jasmine
            | Self::Karma
            | Self::ReactScripts
            | Self::NodeTest
            | Self::BunTest => self.words()[0],
        }
    }

    /// How it is called.
    pub(super) const fn words(self) -> &'static [&'static str] {
        match self {
            Self::Jest => &["jest"],
            Self::Vitest => &["vitest"],
            Self::Mocha => &["mocha"],
            Self::Ava => &["ava"],
            Self::Jasmine => &["jasmine"],
            Self::Karma => &["karma", "start"],
            Self::Playwright => &["playwright", "test"],
            Self::ReactScripts => &["react-scripts", "test"],
            Self::NodeTest => &["node", "--test"],
            Self::BunTest => &["bun", "test"],
        }
    }

    /// What makes it run once: it must neither watch nor write snapshots that nobody looked at.
    pub(super) const fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Jest => &["--ci"],
            Self::ReactScripts => &["--ci", "--watchAll=false"],
            Self::Vitest => &["--run", "--reporter=default", "--reporter=json", VITEST_OUTPUT],
            Self::Karma => &["--single-run"],
            Self::Mocha
            | Self::Ava
            | Self::Jasmine
            | Self::Playwright
            | Self::NodeTest
            | Self::BunTest => &[],
        }
    }

    /// Globs of the files that it obeys.
    pub(super) const fn configuration(self) -> &'static [&'static str] {
        match self {
            Self::Jest | Self::ReactScripts => &["jest.config.*"],
            Self::Vitest => &["vitest.config.*", "vitest.workspace.*"],
            Self::Mocha => &[".mocharc.*"],
            Self::Ava => &["ava.config.*"],
            Self::Jasmine => &["jasmine.json"],
            Self::Karma => &["karma.conf.*"],
            Self::Playwright => &["playwright.config.*"],
            Self::BunTest => &["bunfig.toml"],
            Self::NodeTest => &[],
        }
    }

    /// Globs of what it then writes for machines.
    pub(super) const fn results(self) -> &'static [&'static str] {
        match self {
            Self::Vitest => &[VITEST_RESULTS],
            Self::Jest
            | Self::Mocha
            | Self::Ava
            | Self::Jasmine
            | Self::Karma
            | Self::Playwright
            | Self::ReactScripts
            | Self::NodeTest
            | Self::BunTest => &[],
        }
    }
}

/// Whether a script hands on to others whose words are not in it: what they run is not known.
pub(super) fn calls_others(script: &str) -> bool {
    const HANDS_ON: [&str; 14] = [
        "npm", "pnpm", "yarn", "lerna", "nx", "turbo", "rush", "make", "ng", "bash", "sh", "run-s",
        "run-p", "wireit",
    ];
    script.split_whitespace().any(|it| HANDS_ON.contains(&it))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_command_of_a_script_says_who_runs_the_tests() {
        for (script, runner) in [
            ("jest", Some(Runner::Jest)),
            ("NODE_OPTIONS=--experimental-vm-modules npx jest --coverage", Some(Runner::Jest)),
            ("tsc -p . && vitest", Some(Runner::Vitest)),
            ("jest && eslint .", None),
            ("node --import tsx --test 'test/*.ts'", Some(Runner::NodeTest)),
            ("node test.js", None),
            ("c8 mocha -r esm", Some(Runner::Mocha)),
            ("node ./node_modules/.bin/mocha", None),
            ("./node_modules/.bin/mocha", Some(Runner::Mocha)),
            ("bun test", Some(Runner::BunTest)),
            ("bun build.ts", None),
            ("react-scripts test", Some(Runner::ReactScripts)),
            ("eslint src", None),
            ("", None),
        ] {
            assert_eq!(Runner::last_in(script), runner, "{script}");
        }
    }

    #[test]
    fn a_script_that_hands_on_may_run_tests() {
        assert!(calls_others("npm run test:unit"));
        assert!(calls_others("turbo run test"));
        assert!(!calls_others("node test.js"));
    }
}
