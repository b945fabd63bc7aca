//! flake8 and pycodestyle, pyflakes; pylint; black and isort.

use crate::table::{Row, Spec, Table};

/// The code stands in the message: so it is printed, and so it is looked for.
pub(crate) static FLAKE8: Table = Table::new(Spec {
    tool: "flake8",
    programs: &["flake8", "pycodestyle", "pyflakes", "pydocstyle"],
    marks: &[".py:", ".pyi:"],
    needs: &[": "],
    banner: Some(r"^\S.*\.pyi?:\d+:\d+: [A-Z]{1,4}\d{3,4} [^\[]"),
    rows: &[
        Row::error(
            r"^(?P<file>(?:[A-Za-z]:)?[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+):? (?P<message>(?P<code>[A-Z]{1,4}\d{1,4}) .+)$",
        ),
        Row::error(
            r"^(?P<file>(?:[A-Za-z]:)?[^\s:][^:]*\.pyi?):(?P<line>\d+):(?P<column>\d+):? (?P<message>.+)$",
        ),
    ],
    ..Spec::NONE
});

/// Errors before what is only advice.
pub(crate) static PYLINT: Table = Table::new(Spec {
    tool: "pylint",
    programs: &["pylint"],
    marks: &["************* Module", ".py:"],
    needs: &["*** Module", ": "],
    banner: Some(r"^\*{13} Module |^\S.*\.py:\d+:\d+: [CRWEF]\d{4}: "),
    rows: &[
        Row::error(
            r"^(?P<file>(?:[A-Za-z]:)?[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+): (?P<code>[EF]\d{4}): (?P<message>.+)$",
        ),
        Row::warning(
            r"^(?P<file>(?:[A-Za-z]:)?[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+): (?P<code>[CRWI]\d{4}): (?P<message>.+)$",
        ),
        // The older form, and that of Visual Studio.
        Row::error(
            r"^(?P<file>(?:[A-Za-z]:)?[^\s:][^:]*):(?P<line>\d+): \[(?P<code>[EF]\d{4})(?:\([\w-]+\))?(?:, [^\]]*)?\] (?P<message>.+)$",
        ),
        Row::warning(
            r"^(?P<file>(?:[A-Za-z]:)?[^\s:][^:]*):(?P<line>\d+): \[(?P<code>[CRWI]\d{4})(?:\([\w-]+\))?(?:, [^\]]*)?\] (?P<message>.+)$",
        ),
    ],
    ..Spec::NONE
});

/// What it cannot parse, then what it would change.
pub(crate) static BLACK: Table = Table::new(Spec {
    tool: "black",
    programs: &["black"],
    marks: &["would reformat ", "error: cannot ", "Oh no! "],
    banner: Some(
        r"^(?:would reformat \S.*\.(?:pyi?|ipynb)|error: cannot (?:format|parse)\b.*|Oh no! .*)$",
    ),
    rows: &[
        Row::error(
            r"^error: (?P<message>cannot parse): (?P<file>.+?):(?P<line>\d+):(?P<column>\d+)$",
        )
        .with(&[r"^ {2,}\S", r"^ +\^", r"^(?P<message>\w*Error: .+)$"]),
        Row::error(
            r"^error: cannot format (?P<file>.+?): (?P<message>Cannot parse[^:]*: (?P<line>\d+):(?P<column>\d+): .*|.+)$",
        ),
        Row::error(r"^(?P<message>would reformat) (?P<file>\S.*)$"),
    ],
    ..Spec::NONE
});

/// See the module.
pub(crate) static ISORT: Table = Table::new(Spec {
    tool: "isort",
    programs: &["isort"],
    marks: &["Imports are incorrectly sorted"],
    banner: Some(r"^ERROR: \S.* Imports are incorrectly sorted"),
    rows: &[Row::error(r"^ERROR: (?P<file>\S.*?) (?P<message>Imports are incorrectly sorted.*)$")],
    ..Spec::NONE
});
