//! Stored records as the API answers them.

use gate_api::{
    ApiKeyBody, ChangeBody, ContractRef, Cursor, EventBody, ExcerptBody, ExecutionBody,
    FailedTestBody, FindingBody, LocationBody, ProjectBody, Role, RunBody, RunKindWord,
    RunStateWord, TaskBody, TestCounts, VerdictBody, VerdictRef,
};
use gate_store::{
    ApiKey, Event, Project, Run, StoreError, StoredChange, StoredExecution, StoredFinding,
    StoredTest, StoredVerdict, Task,
};
use serde::de::DeserializeOwned;

use super::problem::Problem;

/// A stored word as the enum of the API; the column's check allows no other.
pub(crate) fn word<T: DeserializeOwned>(column: &'static str, word: &str) -> Result<T, Problem> {
    let corrupt = StoreError::CorruptRow { column, word: word.to_owned() };
    serde_json::from_value(word.into()).or(Err(corrupt.into()))
}

/// Cuts a list that was read one row too long, and says where the next page starts.
pub(crate) fn page<T, K: ToString>(
    mut items: Vec<T>,
    rows_max: u32,
    key: impl Fn(&T) -> K,
) -> (Vec<T>, Option<String>) {
    let rows_max = rows_max as usize;
    let more = items.len() > rows_max;
    items.truncate(rows_max);
    let next = items.last().filter(|_| more).map(|it| Cursor(key(it)).encode());
    (items, next)
}

pub(crate) fn project(project: &Project) -> ProjectBody {
    ProjectBody {
        slug: project.slug.clone(),
        weight: project.weight,
        created_at: project.created_at,
    }
}

pub(crate) fn api_key(key: ApiKey) -> ApiKeyBody {
    ApiKeyBody {
        id: key.id.as_uuid(),
        project: key.project,
        name: key.name,
        prefix: key.prefix,
        roles: key.roles.iter().filter_map(|it| Role::from_word(it)).collect(),
        created_at: key.created_at,
        expires_at: key.expires_at,
        revoked_at: key.revoked_at,
    }
}

pub(crate) fn task(task: Task) -> Result<TaskBody, Problem> {
    let last_verdict = task.last_verdict.map(|(run, decision, next_step)| {
        Ok::<_, Problem>(VerdictRef {
            run_id: run.as_uuid(),
            decision: word("verdict.decision", &decision)?,
            next_step: word("verdict.next_step", &next_step)?,
        })
    });
    Ok(TaskBody {
        id: task.id.as_uuid(),
        project: task.project,
        title: task.title,
        state: task.state.into(),
        contract: ContractRef {
            version: task.contract_version,
            digest: task.contract_sha256.to_string(),
        },
        rounds: task.rounds,
        rounds_max: task.rounds_max,
        reports: task.reports,
        reports_max: task.reports_max,
        current_run_id: task.current_run.map(|it| it.as_uuid()),
        preflight_run_id: task.preflight.map(|it| it.as_uuid()),
        last_verdict: last_verdict.transpose()?,
        version: task.version,
        created_at: task.created_at,
        updated_at: task.updated_at,
    })
}

pub(crate) fn run(run: &Run, verdict: Option<StoredVerdict>) -> Result<RunBody, Problem> {
    Ok(RunBody {
        id: run.id.as_uuid(),
        task_id: run.task.as_uuid(),
        kind: match run.report {
            Some(_) => RunKindWord::Report,
            None => RunKindWord::Preflight,
        },
        report_id: run.report.map(|it| it.as_uuid()),
        state: word::<RunStateWord>("gate_run.state", &run.state)?,
        attempts: run.attempts,
        contract_version: run.contract_version,
        created_at: run.created_at,
        finished_at: run.finished_at,
        verdict: verdict.map(|it| self::verdict(run, it)).transpose()?,
    })
}

pub(crate) fn verdict(run: &Run, verdict: StoredVerdict) -> Result<VerdictBody, Problem> {
    let executions = (0..).zip(verdict.executions).map(|(index, it)| execution(run, index, it));
    Ok(VerdictBody {
        run_id: run.id.as_uuid(),
        task_id: run.task.as_uuid(),
        decision: word("verdict.decision", &verdict.decision)?,
        next_step: word("verdict.next_step", &verdict.next_step)?,
        round: verdict.round,
        rounds_max: verdict.rounds_max,
        contract: ContractRef {
            version: verdict.contract_version,
            digest: verdict.contract_sha256.to_string(),
        },
        tree: verdict.tree.map(|it| it.to_string()),
        isolation: verdict.isolation,
        isolation_detail: verdict.isolation_detail.map(Into::into),
        changes: verdict.changes.into_iter().map(change).collect::<Result<_, _>>()?,
        changes_left_out: verdict.changes_left_out,
        findings: verdict.findings.into_iter().map(finding).collect::<Result<_, _>>()?,
        findings_left_out: verdict.findings_left_out,
        executions: executions.collect(),
        feedback: verdict.feedback,
        decided_at: verdict.decided_at,
    })
}

fn change(StoredChange { path, kind }: StoredChange) -> Result<ChangeBody, Problem> {
    Ok(ChangeBody { path, kind: word("tree_change.kind", &kind)? })
}

fn finding(finding: StoredFinding) -> Result<FindingBody, Problem> {
    Ok(FindingBody {
        check: finding.check,
        criteria: finding.criteria,
        kind: finding.kind,
        blocking: finding.blocking,
        blame: word("finding.blame", &finding.blame)?,
        title: finding.title,
        location: finding.location.map(|(file, line, column)| LocationBody { file, line, column }),
        test: finding.test.map(test).transpose()?,
        excerpt: finding.excerpt.map(|(stream, offset, text)| ExcerptBody { stream, offset, text }),
    })
}

fn test(test: StoredTest) -> Result<FailedTestBody, Problem> {
    let StoredTest { name, phase, expected, actual } = test;
    Ok(FailedTestBody { name, phase: word("finding.test_phase", &phase)?, expected, actual })
}

fn execution(run: &Run, index: u32, execution: StoredExecution) -> ExecutionBody {
    ExecutionBody {
        index,
        check: execution.check,
        command: execution.command,
        outcome: execution.outcome.into(),
        duration_ms: execution.duration_ms,
        cpu_ms: execution.cpu_ms,
        memory_peak_bytes: execution.memory_peak_bytes,
        stragglers_killed: execution.stragglers_killed,
        process_limit_hit: execution.process_limit_hit,
        tool: execution.tool,
        tests: execution.tests.map(|it| TestCounts {
            passed: it.passed,
            failed: it.failed,
            skipped: it.skipped,
        }),
        log_url: format!("/v1/runs/{}/executions/{index}/log", run.id),
        log_bytes: execution.logs[2].size_bytes,
    }
}

pub(crate) fn event(event: Event) -> EventBody {
    EventBody {
        sequence: event.stamp.sequence,
        task_id: event.task_id.map(|it| it.as_uuid()),
        run_id: event.run_id.map(|it| it.as_uuid()),
        kind: event.kind,
        actor: event.origin.actor,
        data: event.data,
        traceparent: event.origin.traceparent,
        request_id: event.origin.request_id,
        at: event.stamp.at,
    }
}
