//! Bytes to a typed body: syntax first, then the form against the published schema, all faults at once.

use std::any::TypeId;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use gate_core::pointer::escape;
use jsonschema::Validator;
use jsonschema::error::{ValidationError, ValidationErrorKind};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use utoipa::ToSchema;

use crate::InvalidField;
use crate::strict_json::StrictValue;

/// Faults listed of one body; a body of nothing but faults would otherwise be answered with a larger one.
pub const FAULTS_MAX: usize = 50;

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// `application/json`.
    Json,
    /// `application/yaml`.
    Yaml,
}

/// Why a body was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// It is not JSON, or not YAML.
    #[error("{0}")]
    Syntax(String),
    /// It is, and does not have the form that it should.
    #[error("{} faults in the body", .0.len())]
    Form(Vec<InvalidField>),
}

/// Reads a body of type `T`.
///
/// # Errors
/// [`BodyError::Syntax`] with the line, or [`BodyError::Form`] with all faults.
pub fn read<T: DeserializeOwned + ToSchema + 'static>(
    bytes: &[u8],
    format: Format,
) -> Result<T, BodyError> {
    let value = parse(bytes, format)?;
    let faults = form_faults::<T>(&value);
    if !faults.is_empty() {
        return Err(BodyError::Form(faults));
    }
    typed(value)
}

/// A value without form faults as its type; what the schema cannot say, such as `2.0` for a count, is a fault here.
pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> Result<T, BodyError> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let pointer = pointer_of(error.path());
        BodyError::Form(vec![InvalidField::new(pointer, error.into_inner().to_string())])
    })
}

/// All that is wrong with the form of a value that should be a `T`; at most [`FAULTS_MAX`].
pub(crate) fn form_faults<T: ToSchema + 'static>(value: &Value) -> Vec<InvalidField> {
    let mut faults = Vec::new();
    refuse_nul(value, &mut String::new(), &mut faults);
    let validator = validator::<T>();
    faults.extend(validator.iter_errors(value).take(FAULTS_MAX).flat_map(|it| explain(&it)));
    faults.truncate(FAULTS_MAX);
    faults
}

/// The value without the fields that faults point at, so that the rest of it can be looked at, too.
pub(crate) fn without(mut value: Value, faults: &[InvalidField]) -> Value {
    for fault in faults {
        let Some((parent, name)) = fault.pointer.rsplit_once('/') else { continue };
        let name = name.replace("~1", "/").replace("~0", "~");
        if let Some(Value::Object(fields)) = value.pointer_mut(parent) {
            fields.remove(&name);
        }
    }
    value
}

/// Reads bytes as a JSON value, whichever way they are written.
///
/// # Errors
/// When they are not well-formed, nest too deeply, or give a name twice.
pub fn parse(bytes: &[u8], format: Format) -> Result<Value, BodyError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|it| BodyError::Syntax(format!("the body is not UTF-8: {it}")))?;
    match format {
        Format::Json => serde_json::from_str::<StrictValue>(text)
            .map(|it| it.0)
            .map_err(|it| BodyError::Syntax(format!("the body is not JSON: {it}"))),
        Format::Yaml => serde_saphyr::from_str::<StrictValue>(text)
            .map(|it| it.0)
            .map_err(|it| BodyError::Syntax(format!("the body is not YAML: {it}"))),
    }
}

/// PostgreSQL cannot hold a NUL in text, and nobody means one.
fn refuse_nul(value: &Value, pointer: &mut String, faults: &mut Vec<InvalidField>) {
    let length = pointer.len();
    match value {
        Value::String(text) if text.contains('\0') => {
            faults.push(InvalidField::new(
                pointer.clone(),
                "a NUL character is not allowed; remove it",
            ));
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointer.push('/');
                pointer.push_str(&index.to_string());
                refuse_nul(item, pointer, faults);
                pointer.truncate(length);
            }
        }
        Value::Object(map) => {
            for (name, item) in map {
                pointer.push('/');
                pointer.push_str(&escape(name));
                if name.contains('\0') {
                    let pointer = pointer.replace('\0', "\u{fffd}");
                    faults.push(InvalidField::new(pointer, "a name must not have a NUL character"));
                }
                refuse_nul(item, pointer, faults);
                pointer.truncate(length);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// One fault, or one for each unexpected name, each with what to write instead.
fn explain(error: &ValidationError<'_>) -> Vec<InvalidField> {
    let at = error.instance_path().to_string();
    let one = |detail: String| vec![InvalidField::new(at.clone(), detail)];
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the library's own words serve for the rest"
    )]
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default();
            vec![InvalidField::new(format!("{at}/{}", escape(name)), "this field is required")]
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => unexpected
            .iter()
            .map(|name| {
                let pointer = format!("{at}/{}", escape(name));
                InvalidField::new(
                    pointer,
                    "there is no such field; see the schema at /openapi.json",
                )
            })
            .collect(),
        ValidationErrorKind::Enum { options } => one(format!("must be one of {options}")),
        ValidationErrorKind::MinLength { limit } => {
            one(format!("needs at least {limit} characters"))
        }
        ValidationErrorKind::MaxLength { limit } => {
            one(format!("must not be longer than {limit} characters"))
        }
        ValidationErrorKind::MinItems { limit } => one(format!("needs at least {limit} items")),
        ValidationErrorKind::MaxItems { limit } => {
            one(format!("must not have more than {limit} items"))
        }
        ValidationErrorKind::Minimum { limit } => one(format!("must be at least {limit}")),
        ValidationErrorKind::Maximum { limit } => one(format!("must be at most {limit}")),
        ValidationErrorKind::OneOfNotValid { context } | ValidationErrorKind::AnyOf { context } => {
            match meant(error, context) {
                Some(faults) => faults.iter().flat_map(|it| explain(it)).collect(),
                None => one(
                    "has none of the forms that are allowed here; see the schema at /openapi.json"
                        .to_owned(),
                ),
            }
        }
        ValidationErrorKind::Pattern { pattern } => one(format!("must match `{pattern}`")),
        _ => one(error.masked().to_string()),
    }
}

/// The faults by the one form that was meant: the only one of the right type, such as the object of what may be an object or null.
fn meant<'a>(
    error: &ValidationError<'_>,
    forms: &'a [Vec<ValidationError<'static>>],
) -> Option<&'a [ValidationError<'static>]> {
    let is_other_type = |fault: &ValidationError<'_>| {
        matches!(fault.kind(), ValidationErrorKind::Type { .. })
            && fault.instance_path() == error.instance_path()
    };
    let mut meant = forms.iter().filter(|faults| !faults.iter().any(is_other_type));
    let first = meant.next()?;
    meant.next().is_none().then_some(first)
}

/// The schema of `T` as it is published, compiled once for each type.
fn validator<T: ToSchema + 'static>() -> Arc<Validator> {
    static COMPILED: LazyLock<Mutex<HashMap<TypeId, Arc<Validator>>>> =
        LazyLock::new(Mutex::default);
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(compiled.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(compile::<T>())))
}

fn compile<T: ToSchema>() -> Validator {
    jsonschema::draft202012::new(&schema::<T>())
        .expect("a schema that utoipa derives is valid; the test of the OpenAPI document proves it")
}

/// The JSON Schema of `T` with all that it refers to, as one document of its own.
#[must_use]
pub fn schema<T: ToSchema>() -> Value {
    let mut named = vec![(T::name().into_owned(), T::schema())];
    T::schemas(&mut named);
    let schemas: serde_json::Map<String, Value> = named
        .into_iter()
        .map(|(name, schema)| (name, serde_json::to_value(schema).unwrap_or_default()))
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$ref": format!("#/components/schemas/{}", T::name()),
        "components": { "schemas": schemas },
    })
}

fn pointer_of(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    path.iter()
        .map(|segment| match segment {
            Segment::Seq { index } => format!("/{index}"),
            Segment::Map { key } => format!("/{}", escape(key)),
            Segment::Enum { variant } => format!("/{}", escape(variant)),
            Segment::Unknown => String::new(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CreateProject;

    fn faults(text: &str) -> Vec<(String, String)> {
        match read::<CreateProject>(text.as_bytes(), Format::Json) {
            Err(BodyError::Form(faults)) => {
                faults.into_iter().map(|it| (it.pointer, it.detail)).collect()
            }
            other => panic!("expected faults, got {other:?}"),
        }
    }

    #[test]
    fn all_faults_of_a_body_are_listed_with_their_pointers() {
        let found = faults(r#"{"colour": 1, "a/b": 2, "weight": 0}"#);
        let pointers: Vec<_> = found.iter().map(|it| it.0.as_str()).collect();
        for pointer in ["/colour", "/a~1b", "/weight", "/slug"] {
            assert!(pointers.contains(&pointer), "{pointer} is missing of {found:?}");
        }
    }

    #[test]
    fn a_nul_is_refused_where_it_stands() {
        assert_eq!(faults("{\"slug\": \"a\\u0000b\"}")[0].0, "/slug");
    }

    #[test]
    fn what_is_not_utf_8_is_refused_in_both_formats() {
        for format in [Format::Json, Format::Yaml] {
            assert!(matches!(parse(b"\xff", format), Err(BodyError::Syntax(_))));
        }
    }

    #[test]
    fn yaml_gives_each_name_one_meaning_too() {
        let error = parse(b"a: 1\na: 2\n", Format::Yaml).unwrap_err();
        assert!(matches!(error, BodyError::Syntax(_)), "{error:?}");
    }

    #[test]
    fn yaml_that_multiplies_itself_is_refused() {
        let level =
            |it: usize| format!("a{it}: &a{it} [{}]\n", format!("*a{},", it - 1).repeat(10));
        let bomb =
            "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned() + &(1..12).map(level).collect::<String>();
        assert!(matches!(parse(bomb.as_bytes(), Format::Yaml), Err(BodyError::Syntax(_))));
    }
}
