//! Forms that no fixture has: of other versions, other reporters, and tools that not every machine can run.

use gate_core::{Location, Severity};

use super::{LogParser, PARSERS};
use crate::Input;
use crate::draft::Draft;
use crate::testing::draft_of;

fn draft(tool: &str, log: &str) -> Draft {
    let parser: &&dyn LogParser = PARSERS.iter().find(|it| it.tool() == tool).unwrap();
    let input =
        Input { bytes: log.as_bytes(), exit_code: Some(1), roots: &["/w"], ..Input::default() };
    draft_of(*parser, &input)
}

/// `file:line: code message` of each error.
fn told(tool: &str, log: &str) -> Vec<String> {
    let place = |it: &Option<Location>| match it {
        Some(Location { file, line: Some(line), .. }) => format!("{file}:{line}"),
        Some(Location { file, line: None, .. }) => file.clone(),
        None => "-".to_owned(),
    };
    let draft = draft(tool, log);
    let problems = draft.problems.iter().filter(|it| it.severity == Severity::Error);
    let problems = problems.map(|it| {
        format!("{}: {} {}", place(&it.location), it.code.clone().unwrap_or_default(), it.message)
    });
    let failures = draft.failures.iter();
    let failures =
        failures.map(|it| format!("{}: {}: {}", place(&it.location), it.name, it.message));
    failures.chain(problems).collect()
}

#[test]
fn package_managers_say_what_they_wanted() {
    for (log, expected) in [
        (
            " ERR_PNPM_OUTDATED_LOCKFILE  Cannot install with \"frozen-lockfile\" because it is old\n",
            "pnpm-lock.yaml: ERR_PNPM_OUTDATED_LOCKFILE Cannot install with \"frozen-lockfile\" because it is old",
        ),
        (
            "➤ YN0000: ┌ Resolution step\n➤ YN0082: │ left-pad@npm:99.0.0: No candidates found\n➤ YN0000: └ Completed\n",
            "package.json: YN0082 left-pad@npm:99.0.0: No candidates found",
        ),
        (
            "Usage Error: Couldn't find a script named \"tset\".\n",
            "package.json:  Couldn't find a script named \"tset\".",
        ),
        (
            "npm ERR! code E404\nnpm ERR! 404 Not Found - GET https://registry/x - Not found\nnpm ERR! 404 \n",
            "package.json: E404 Not Found - GET https://registry/x - Not found",
        ),
        ("npm ERR! missing script: tset\n", "package.json:  missing script: tset"),
    ] {
        assert_eq!(told("npm", log), [expected]);
    }
}

#[test]
fn a_script_that_failed_is_not_the_package_managers_fault() {
    for log in [
        "npm ERR! code ELIFECYCLE\nnpm ERR! errno 1\nnpm ERR! d@1.0.0 test: `jest`\nnpm ERR! Exit status 1\n",
        "npm error Lifecycle script `test` failed with error:\nnpm error code 1\nnpm error path /w\n",
        "error Command failed with exit code 1.\n",
        " ERR_PNPM_RECURSIVE_RUN_FIRST_FAIL  a@1.0.0 test: `jest`\n",
    ] {
        assert_eq!(told("npm", log), Vec::<String>::new(), "{log}");
    }
}

#[test]
fn an_older_uv_draws_its_reason_below() {
    let log = "  × No solution found when resolving dependencies:\n  ╰─▶ Because a depends on b and you require c,\n      we can conclude that it is unsatisfiable.\n";
    assert_eq!(
        told("pip", log),
        [
            "pyproject.toml:  No solution found when resolving dependencies: Because a depends on b and you require c, we can conclude that it is unsatisfiable."
        ]
    );
}

/// Parser, log, and the one error that it tells.
const LINTERS: &[(&str, &str, &str)] = &[
    (
        "hadolint",
        "Dockerfile:3 DL3008 warning: Pin versions in apt get install\nDockerfile:5 DL4000 error: MAINTAINER is deprecated\n",
        "Dockerfile:5: DL4000 MAINTAINER is deprecated",
    ),
    (
        "actionlint",
        ".github/workflows/ci.yml:9:15: undefined variable \"x\" [expression]\n   |\n 9 |   run: ${{ x }}\n",
        ".github/workflows/ci.yml:9: expression undefined variable \"x\"",
    ),
    (
        "yamllint",
        "a/ci.yml:4:6: [error] wrong indentation: expected 6 but found 5 (indentation)\n",
        "a/ci.yml:4: indentation wrong indentation: expected 6 but found 5",
    ),
    (
        "check-jsonschema",
        "Schema validation errors were encountered.\n  d2.json::$.id: 'x' is not of type 'integer'\n",
        "d2.json:  $.id: 'x' is not of type 'integer'",
    ),
    (
        "jsonschema",
        "===[ValidationError]===(d2.json)===\n\n'x' is not of type 'integer'\n\n",
        "d2.json: ValidationError 'x' is not of type 'integer'",
    ),
    ("ajv", "d2.json invalid\ndata/id must be integer\n", "d2.json:  /id must be integer"),
    (
        "lychee",
        "### Errors in docs/a.md\n\n* [404] <https://a.example/x> | Rejected status code: 404 Not Found\n",
        "docs/a.md: 404 [404] <https://a.example/x> | Rejected status code: 404 Not Found",
    ),
    (
        "markdownlint",
        "README.md:3:1 MD001/heading-increment Heading levels should only increment\n",
        "README.md:3: MD001/heading-increment Heading levels should only increment",
    ),
    (
        "shellcheck",
        "\nIn a.sh line 3:\ncd $1\n   ^-- SC2086: Double quote to prevent globbing.\n\n",
        "a.sh:3: SC2086 Double quote to prevent globbing.",
    ),
    (
        "shellcheck",
        "a.sh:3:4: error: Couldn't parse this. [SC1073]\n",
        "a.sh:3: SC1073 Couldn't parse this.",
    ),
    (
        "pylint",
        "a.py:7: [E0602(undefined-variable), f] Undefined variable 'x'\n",
        "a.py:7: E0602 Undefined variable 'x'",
    ),
    (
        "black",
        "error: cannot format b.py: Cannot parse: 1:6: def f(:\n",
        "b.py:1:  Cannot parse: 1:6: def f(:",
    ),
    (
        "eslint",
        "\n/w/src/a.js\n  2:5  error  'a' is not defined  no-undef\n",
        "src/a.js:2: no-undef 'a' is not defined",
    ),
    (
        "webpack",
        "ERROR in ./src/a.js\nModule parse failed: Unexpected token (3:4)\nYou may need an appropriate loader\n> x\n",
        "src/a.js:3:  Module parse failed: Unexpected token (3:4) You may need an appropriate loader",
    ),
    (
        "webpack",
        "ERROR in /w/src/a.ts(3,5)\nTS2322: Type 'string' is not assignable to type 'number'.\n",
        "src/a.ts:3:  TS2322: Type 'string' is not assignable to type 'number'.",
    ),
    (
        "rollup",
        "[!] (plugin rpt2) Error: src/a.ts:3:5 - error TS2304\nsrc/a.ts (3:5)\n    at x (/w/node_modules/y.js:1:1)\n",
        "src/a.ts:3:  (plugin rpt2) Error: src/a.ts:3:5 - error TS2304",
    ),
    (
        "rollup",
        "error during build:\nsrc/main.js (1:9): \"x\" is not exported by \"src/b.js\", imported by \"src/main.js\".\nfile: /w/src/main.js:1:9\n\n1: import { x } from './b';\n",
        "src/main.js:1:  src/main.js (1:9): \"x\" is not exported by \"src/b.js\", imported by \"src/main.js\".",
    ),
    (
        "tsc",
        "src/app(1)/a.ts(3,5): error TS2304: Cannot find name 'x'.\n",
        "src/app(1)/a.ts:3: TS2304 error TS2304: Cannot find name 'x'.",
    ),
];

#[test]
fn linters_of_configuration_are_read() {
    for (tool, log, expected) in LINTERS {
        assert_eq!(told(tool, log), [*expected], "{tool}");
    }
}

#[test]
fn coverage_below_its_threshold_is_read_in_every_form() {
    for (log, expected) in [
        (
            "a.py  10  4  60%  3-6\nb.py  10  1  90%  3\nTOTAL  20  5  75%\nCoverage failure: total of 75 is less than fail-under=80\n",
            "a.py:  Coverage failure: total of 75 is less than fail-under=80",
        ),
        (
            "ERROR: Coverage for lines (71.42%) does not meet global threshold (90%)\n",
            "-:  Coverage for lines (71.42%) does not meet global threshold (90%)",
        ),
        (
            "Line coverage (45.00%) is below the expected minimum coverage (90.00%).\n",
            "-:  Line coverage (45.00%) is below the expected minimum coverage (90.00%).",
        ),
        (
            "[ERROR] Rule violated for bundle demo: lines covered ratio is 0.40, but expected minimum is 0.80\n",
            "-:  Rule violated for bundle demo: lines covered ratio is 0.40, but expected minimum is 0.80",
        ),
        (
            "Error: \"Coverage is below the failure threshold 45.45% < 90.00%\"\n",
            "-:  \"Coverage is below the failure threshold 45.45% < 90.00%\"",
        ),
    ] {
        assert_eq!(told("coverage", log), [expected]);
    }
}

#[test]
fn karma_counts_the_last_figures_of_each_browser() {
    let log = "\
Chrome Headless 120.0.0.0 (Linux x86_64): Executed 0 of 3 SUCCESS (0 secs / 0 secs)
Chrome Headless 120.0.0.0 (Linux x86_64) Cart adds FAILED
\tExpected 3 to be 4.
\t    at <Jasmine>
\t    at UserContext.<anonymous> (src/cart.spec.js:3:20)
Chrome Headless 120.0.0.0 (Linux x86_64): Executed 2 of 3 (1 FAILED) (skipped 1) (0.012 secs / 0.004 secs)
TOTAL: 1 FAILED, 1 SUCCESS
";
    assert_eq!(told("karma", log), ["src/cart.spec.js:3: Cart adds: Expected 3 to be 4."]);
    let draft = draft("karma", log);
    let counts = draft.counts.unwrap();
    assert_eq!((counts.passed, counts.failed, counts.skipped), (Some(1), 1, 1));
    assert_eq!(draft.unfinished, 0);
}

#[test]
fn cypress_adds_up_its_spec_files() {
    let log = "  Running:  a.cy.js  (1 of 2)\n\n  1 passing (1s)\n\n  Running:  b.cy.js  (2 of 2)\n\n  0 passing (2s)\n  1 failing\n\n  1) Cart\n       adds:\n     AssertionError: expected 3 to equal 4\n      at Context.eval (webpack:///./cypress/e2e/b.cy.js:4:8)\n";
    let words = ["cypress".to_owned(), "run".to_owned()];
    let input =
        Input { bytes: log.as_bytes(), command: &words, exit_code: Some(1), ..Input::default() };
    let reading = crate::read(&input);
    let counts = reading.counts.unwrap();
    assert_eq!((counts.passed, counts.failed), (Some(1), 1));
    assert_eq!(
        (reading.tool, reading.failing_tests[0].name.as_str()),
        (Some("cypress"), "Cart > adds")
    );
}
