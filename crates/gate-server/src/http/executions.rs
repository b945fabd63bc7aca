//! The whole logs of executions: raw bytes, by byte range (RFC 9110 section 14).

use axum::body::Body;
use axum::extract::State;
use axum::http::header::{ACCEPT_RANGES, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, RANGE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use gate_api::ProblemKind;
use gate_core::{LogStream, RunId};
use serde::Deserialize;
use utoipa::ToSchema;

use super::App;
use super::api_json::{ApiPath, ApiQuery, Two};
use super::auth::{Caller, Permission};
use super::problem::Problem;
use crate::logs;

/// Which of the three logs.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StreamQuery {
    /// `merged` by default: both streams in the order in which the gate read them.
    #[param(inline)]
    stream: Option<StreamWord>,
}

/// The name of a log.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StreamWord {
    /// What the command wrote to standard output.
    Stdout,
    /// What it wrote to standard error.
    Stderr,
    /// Both.
    Merged,
}

/// Bytes from the first to the last, both included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slice {
    first: u64,
    last: u64,
}

/// Read the log of an execution
///
/// Raw bytes, as they were printed. `Range: bytes=A-B` reads a part.
#[utoipa::path(get, path = "/v1/runs/{run}/executions/{execution}/log", tag = "runs",
    params(("run" = uuid::Uuid, Path, description = "The run's id"),
           ("execution" = u32, Path, description = "The execution's index, from 0", minimum = 0), StreamQuery,
           ("range" = Option<String>, Header, description = "`bytes=A-B`, `bytes=A-`, or `bytes=-N`")),
    responses((status = 200, description = "The whole log", body = inline(LogBytes), content_type = "application/octet-stream"),
              (status = 206, description = "The part that was asked for", body = inline(LogBytes), content_type = "application/octet-stream"),
              (status = 416, description = "The range lies outside of the log", body = gate_api::ProblemBody, content_type = "application/problem+json")))]
pub(crate) async fn get_execution_log(
    State(app): State<App>,
    caller: Caller,
    ApiPath(Two(id, index)): ApiPath<Two<RunId, u32>>,
    ApiQuery(query): ApiQuery<StreamQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    caller.require(Permission::Read)?;
    let run = app.store.run(caller.within(), id).await?;
    let executions = app.store.executions(run.project_id, id).await?;
    let execution =
        executions.get(index as usize).ok_or_else(|| Problem::not_found("execution"))?;
    let stream = match query.stream {
        Some(StreamWord::Stdout) => LogStream::Stdout,
        Some(StreamWord::Stderr) => LogStream::Stderr,
        Some(StreamWord::Merged) | None => LogStream::Merged,
    };
    let log = execution.log(stream);
    let range = headers.get(RANGE).and_then(|it| it.to_str().ok());
    let slice = range.map(|it| read_range(it, log.size_bytes)).transpose()?.flatten();
    let (offset, length) = match slice {
        Some(Slice { first, last }) => (first, last - first + 1),
        None => (0, log.size_bytes),
    };
    let bytes = logs::read(&app.blobs, log, offset, length).await?;
    let mut response = Response::new(Body::from(bytes));
    let headers = response.headers_mut();
    headers.insert(
        CONTENT_TYPE,
        "application/octet-stream".parse().map_err(|it| Problem::internal(&it))?,
    );
    headers.insert(ACCEPT_RANGES, "bytes".parse().map_err(|it| Problem::internal(&it))?);
    headers.insert(CONTENT_LENGTH, length.into());
    if let Some(Slice { first, last }) = slice {
        let value = format!("bytes {first}-{last}/{}", log.size_bytes);
        headers.insert(CONTENT_RANGE, value.parse().map_err(|it| Problem::internal(&it))?);
        return Ok((StatusCode::PARTIAL_CONTENT, response).into_response());
    }
    Ok(response)
}

/// Raw bytes.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "only its schema is used")]
pub(crate) struct LogBytes(Vec<u8>);

/// `None` is a range of a form that the standard tells us to ignore.
fn read_range(text: &str, size: u64) -> Result<Option<Slice>, Problem> {
    let Some(range) = text.strip_prefix("bytes=") else { return Ok(None) };
    let Some((first, last)) = range.split_once('-') else { return Ok(None) };
    let slice = match (first.trim().parse::<u64>(), last.trim().parse::<u64>()) {
        (Ok(first), Ok(last)) if first <= last => {
            Slice { first, last: last.min(size.saturating_sub(1)) }
        }
        (Ok(first), Err(_)) if last.trim().is_empty() => {
            Slice { first, last: size.saturating_sub(1) }
        }
        (Err(_), Ok(count)) if first.trim().is_empty() && count > 0 => {
            Slice { first: size.saturating_sub(count), last: size.saturating_sub(1) }
        }
        _ => return Ok(None),
    };
    if slice.first < size {
        return Ok(Some(slice));
    }
    let detail = format!("the log has {size} bytes");
    Err(Problem::new(ProblemKind::RangeNotSatisfiable, detail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_the_standard_says() {
        let read = |text| read_range(text, 10).unwrap().map(|it| (it.first, it.last));
        assert_eq!(read("bytes=0-3"), Some((0, 3)));
        assert_eq!(read("bytes=4-"), Some((4, 9)));
        assert_eq!(read("bytes=-3"), Some((7, 9)));
        assert_eq!(read("bytes=-30"), Some((0, 9)));
        assert_eq!(read("bytes=8-99"), Some((8, 9)));
        for ignored in ["lines=1-2", "bytes=3-1", "bytes=a-b", "bytes=0-1,3-4"] {
            assert_eq!(read(ignored), None, "{ignored}");
        }
    }

    #[test]
    fn a_range_outside_of_the_log_is_refused() {
        assert!(read_range("bytes=10-", 10).is_err());
        assert!(read_range("bytes=0-", 0).is_err());
    }
}
