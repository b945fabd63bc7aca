//! Makes the completion report: from a file, from the arguments, or a file with the arguments' workspace.

use gate_api::body;
use gate_api::{
    ArchiveSource, ClaimBody, ClaimStatusWord, GitSourceBody, ReportStatusWord, SourceBody,
    SubmitReport,
};

use crate::arguments::{ClaimArguments, SubmitArguments, WorkspaceArguments};
use crate::document::Document;
use crate::error::CliError;
use crate::pack::PackError;
use crate::upload::Upload;

/// The report, and what must be uploaded before it is posted.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Complete, its workspace included.
    pub(crate) report: SubmitReport,
    /// The archive that its workspace names.
    pub(crate) upload: Option<Upload>,
    /// What was packed, for people.
    pub(crate) packed: Option<String>,
}

/// Reads and packs; the gate is not asked.
pub(crate) fn prepare(arguments: &SubmitArguments) -> Result<Prepared, CliError> {
    let mut report = match &arguments.report {
        Some(path) => {
            let document = Document::read(path, None)?;
            let report: SubmitReport =
                body::read(&document.bytes, document.format).map_err(|it| CliError::Report {
                    name: document.name.clone(),
                    faults: document.faults(it),
                })?;
            if report.workspace.is_some() && has_workspace(&arguments.workspace) {
                return Err(CliError::WorkspaceTwice { name: document.name });
            }
            report
        }
        None => of_claims(&arguments.claims),
    };
    let (upload, packed) = open(&arguments.workspace)?;
    let workspace = source(&arguments.workspace, upload.as_ref());
    report.workspace = report.workspace.or(workspace);
    Ok(Prepared { report, upload, packed })
}

const fn has_workspace(arguments: &WorkspaceArguments) -> bool {
    arguments.git.is_some() || arguments.archive.is_some() || arguments.dir.is_some()
}

fn open(arguments: &WorkspaceArguments) -> Result<(Option<Upload>, Option<String>), PackError> {
    if let Some(path) = &arguments.archive {
        return Ok((Some(Upload::of_archive(path)?), None));
    }
    let Some(path) = &arguments.dir else { return Ok((None, None)) };
    let (upload, contents) = Upload::of_directory(path)?;
    let packed = format!(
        "packed {}: files {}, {} bytes, {} bytes packed; nothing left out but what is named .git",
        path.display(),
        contents.files,
        contents.bytes,
        upload.size_bytes
    );
    Ok((Some(upload), Some(packed)))
}

fn source(arguments: &WorkspaceArguments, upload: Option<&Upload>) -> Option<SourceBody> {
    let subdirectory = arguments.subdirectory.clone();
    if let Some(upload) = upload {
        let archive = ArchiveSource { sha256: upload.sha256.to_string(), subdirectory };
        return Some(SourceBody { archive: Some(archive), ..SourceBody::default() });
    }
    let (url, commit) = (arguments.git.clone()?, arguments.commit.clone()?);
    let git = GitSourceBody { url, commit, subdirectory };
    Some(SourceBody { git: Some(git), ..SourceBody::default() })
}

fn of_claims(arguments: &ClaimArguments) -> SubmitReport {
    let claims = [
        (&arguments.met, ClaimStatusWord::Met),
        (&arguments.not_met, ClaimStatusWord::NotMet),
        (&arguments.not_verified, ClaimStatusWord::NotVerified),
    ];
    let claims = claims.into_iter().flat_map(|(ids, status)| {
        ids.iter().map(move |id| ClaimBody {
            id: id.clone(),
            status,
            evidence: Vec::new(),
            note: None,
        })
    });
    SubmitReport {
        status: ReportStatusWord::Success,
        reason_code: None,
        resumable_handle: None,
        summary: arguments.summary.clone(),
        workspace: None,
        files_changed: Vec::new(),
        criteria: claims.collect(),
        commands_run: Vec::new(),
        not_verified: Vec::new(),
        deviations: arguments.deviation.clone(),
        agent: None,
        trace_id: None,
    }
}
