//! A file of matchers, in the form of GitHub's problem matchers: all that is wrong with it, at once and by its place.

use serde_json::{Map, Value};

use crate::matcher::{Matcher, MatcherError, MatcherSpec, MatcherStep};

/// Matchers of one file.
const MATCHERS_MAX: usize = 100;
/// What a matcher and a step may say; `fromPath` is GitHub's, and the gate finds the workspace itself.
const MATCHER_FIELDS: [&str; 4] = ["name", "owner", "severity", "pattern"];
const STEP_FIELDS: [&str; 9] =
    ["regexp", "file", "fromPath", "line", "column", "code", "severity", "message", "loop"];

/// What is wrong with a file of matchers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MatcherFault {
    /// Where, as a JSON pointer (RFC 6901); empty for the file as a whole.
    pub pointer: String,
    /// What is wrong, and what to write instead.
    pub detail: String,
}

impl MatcherFault {
    fn new(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), detail: detail.into() }
    }
}

/// Reads `{"problemMatcher": [{"owner": …, "pattern": [{"regexp": …, "message": 1}]}]}`.
///
/// # Errors
/// All faults, in the order of the file.
pub fn read_matchers(json: &[u8]) -> Result<Vec<Matcher>, Vec<MatcherFault>> {
    let whole = |detail: String| vec![MatcherFault::new("", detail)];
    let value: Value =
        serde_json::from_slice(json).map_err(|it| whole(format!("this is not JSON: {it}")))?;
    let Some(Value::Array(items)) = value.get("problemMatcher") else {
        return Err(whole("write `{\"problemMatcher\": [ … ]}`, as GitHub's files do".to_owned()));
    };
    if items.len() > MATCHERS_MAX {
        let detail = format!("{} matchers are more than {MATCHERS_MAX}", items.len());
        return Err(vec![MatcherFault::new("/problemMatcher", detail)]);
    }
    let mut faults = Vec::new();
    let mut matchers = Vec::new();
    for (index, item) in items.iter().enumerate() {
        matchers.extend(matcher(&format!("/problemMatcher/{index}"), item, &mut faults));
    }
    if faults.is_empty() { Ok(matchers) } else { Err(faults) }
}

fn matcher(at: &str, item: &Value, faults: &mut Vec<MatcherFault>) -> Option<Matcher> {
    let before = faults.len();
    let Value::Object(fields) = item else {
        faults.push(MatcherFault::new(at, "a matcher is an object"));
        return None;
    };
    refuse_unknown(at, fields, &MATCHER_FIELDS, faults);
    let steps = match fields.get("pattern") {
        Some(Value::Array(steps)) => steps.as_slice(),
        Some(_) | None => {
            let detail = "a list of patterns is needed, one for each line of a problem";
            faults.push(MatcherFault::new(format!("{at}/pattern"), detail));
            return None;
        }
    };
    let mut pattern = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        let at = format!("{at}/pattern/{index}");
        if let Value::Object(fields) = step {
            refuse_unknown(&at, fields, &STEP_FIELDS, faults);
        }
        match serde_json::from_value::<MatcherStep>(step.clone()) {
            Ok(step) => pattern.push(step),
            Err(error) => faults.push(MatcherFault::new(at, error.to_string())),
        }
    }
    if faults.len() > before {
        return None;
    }
    let word = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
    let name = word("name").or_else(|| word("owner")).unwrap_or_default();
    let spec = MatcherSpec { name, severity: word("severity"), pattern };
    let made = Matcher::new(spec);
    made.map_err(|error| faults.push(MatcherFault::new(place(at, &error), told(&error)))).ok()
}

fn refuse_unknown(
    at: &str,
    fields: &Map<String, Value>,
    known: &[&str],
    faults: &mut Vec<MatcherFault>,
) {
    for name in fields.keys().filter(|it| !known.contains(&it.as_str())) {
        let escaped = name.replace('~', "~0").replace('/', "~1");
        let detail = format!("there is no such field; there are {}", known.join(", "));
        faults.push(MatcherFault::new(format!("{at}/{escaped}"), detail));
    }
}

/// The part of the matcher that is at fault.
fn place(at: &str, error: &MatcherError) -> String {
    match error {
        MatcherError::NoName => format!("{at}/owner"),
        MatcherError::Severity { .. } => format!("{at}/severity"),
        MatcherError::Steps { .. } | MatcherError::NoMessage { .. } => format!("{at}/pattern"),
        MatcherError::TooLong { step, .. } | MatcherError::Pattern { step, .. } => {
            format!("{at}/pattern/{}/regexp", step - 1)
        }
        MatcherError::Group { step, field, .. } => format!("{at}/pattern/{}/{field}", step - 1),
        MatcherError::Loop { step, .. } => format!("{at}/pattern/{}/loop", step - 1),
    }
}

/// With what the engine says of a pattern, in one line.
fn told(error: &MatcherError) -> String {
    let MatcherError::Pattern { source, .. } = error else { return error.to_string() };
    let source = source.to_string();
    let said = source.lines().rev().find(|it| !it.trim().is_empty()).unwrap_or_default();
    format!("{error}: {}", said.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(json: &str) -> Vec<String> {
        let faults = read_matchers(json.as_bytes()).unwrap_err();
        faults.into_iter().map(|it| format!("{}: {}", it.pointer, it.detail)).collect()
    }

    #[test]
    fn a_file_of_githubs_is_read_as_it_is() {
        let matchers = read_matchers(
            br#"{ "problemMatcher": [
                { "owner": "hdl", "severity": "warning", "pattern": [
                    { "regexp": "^(\\S+):(\\d+): (.+)$", "file": 1, "line": 2, "message": 3, "fromPath": 4 } ] },
                { "owner": "other", "pattern": [ { "regexp": "^E: (.+)$", "message": 1 } ] } ] }"#,
        );
        let matchers = matchers.unwrap();
        let names: Vec<_> = matchers.iter().map(Matcher::name).collect();
        assert_eq!(names, ["hdl", "other"]);
    }

    #[test]
    fn all_faults_are_told_at_once_with_their_place() {
        let faults = faults(
            r#"{ "problemMatcher": [
                { "owner": "a", "colour": 1, "pattern": [ { "regexp": "x", "mesage": 1 }, { "file": 1 } ] },
                { "owner": "b", "pattern": [ { "regexp": "(", "message": 1 } ] },
                { "owner": "c", "pattern": [ { "regexp": "(x)", "message": 2 } ] },
                { "pattern": [ { "regexp": "(x)", "message": 1 } ] },
                { "owner": "e", "severity": "bad", "pattern": [ { "regexp": "(x)", "message": 1 } ] },
                { "owner": "f" }, 7 ] }"#,
        );
        let starts = [
            "/problemMatcher/0/colour: there is no such field",
            "/problemMatcher/0/pattern/0/mesage: there is no such field",
            "/problemMatcher/0/pattern/1: missing field `regexp`",
            "/problemMatcher/1/pattern/0/regexp: pattern 1 of the matcher `b` is no regular expression",
            "/problemMatcher/2/pattern/0/message: pattern 1 of the matcher `c` says that `message` is group 2",
            "/problemMatcher/3/owner: a matcher has no `name`",
            "/problemMatcher/4/severity: the matcher `e` has the severity `bad`",
            "/problemMatcher/5/pattern: a list of patterns is needed",
            "/problemMatcher/6: a matcher is an object",
        ];
        assert_eq!(faults.len(), starts.len(), "{faults:#?}");
        for (fault, start) in faults.iter().zip(starts) {
            assert!(fault.starts_with(start), "{fault}");
        }
        assert!(faults[3].ends_with("unclosed group"), "{}", faults[3]);
    }

    #[test]
    fn what_is_no_file_of_matchers_says_what_one_is() {
        assert!(faults("[1,")[0].starts_with(": this is not JSON"));
        assert!(faults("{}")[0].contains("problemMatcher"));
        let many = format!(r#"{{ "problemMatcher": [{}] }}"#, vec!["1"; 101].join(","));
        assert_eq!(faults(&many), ["/problemMatcher: 101 matchers are more than 100"]);
    }
}
