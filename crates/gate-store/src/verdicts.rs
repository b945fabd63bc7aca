//! Verdicts with their findings and executions: written once, read back whole.

use chrono::{DateTime, Utc};
use gate_core::{
    Excerpt, Execution, Finding, Isolation, LogRef, LogStream, Outcome, RunId, Sha256Digest,
    TestTally, Verdict,
};

use crate::conclude::Taken;
use crate::runs::Lease;
use crate::words::{big, count, digest, long, small, text};
use crate::{Store, StoreError, StoredChange, isolation, tree_changes};

/// A stored verdict.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredVerdict {
    /// The word of the decision.
    pub decision: String,
    /// The word of the next step.
    pub next_step: String,
    /// Which of the reporter's rounds this was.
    pub round: u32,
    /// The contract's bound.
    pub rounds_max: u32,
    /// The contract version that was judged by.
    pub contract_version: u32,
    /// Of that version's text.
    pub contract_sha256: Sha256Digest,
    /// The digest of the judged tree.
    pub tree: Option<Sha256Digest>,
    /// The word of the isolation tier.
    pub isolation: Option<String>,
    /// What that meant; none where no command ran, and of verdicts that are older than this record.
    pub isolation_detail: Option<Isolation>,
    /// The first of what the gate saw changed against the baseline, by path.
    pub changes: Vec<StoredChange>,
    /// Changes beyond those.
    pub changes_left_out: u64,
    /// What to fix first comes first.
    pub findings: Vec<StoredFinding>,
    /// Findings beyond the bound.
    pub findings_left_out: u32,
    /// In the contract's order.
    pub executions: Vec<StoredExecution>,
    /// Markdown for the next prompt: what to fix.
    pub feedback: String,
    /// Markdown for the next prompt: what ran, what that proved, and what to fix; empty in verdicts that are older than it.
    pub execution_report: String,
    /// When it was recorded.
    pub decided_at: DateTime<Utc>,
}

/// A stored finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFinding {
    /// The check that made it.
    pub check: Option<String>,
    /// The criteria that rest on it.
    pub criteria: Vec<String>,
    /// The word of the kind.
    pub kind: String,
    /// Whether it alone prevents a PASS.
    pub blocking: bool,
    /// The word of the blame.
    pub blame: String,
    /// One line.
    pub title: String,
    /// File, line, column.
    pub location: Option<(String, Option<u32>, Option<u32>)>,
    /// The test that failed.
    pub test: Option<StoredTest>,
    /// Stream, offset, text.
    pub excerpt: Option<(String, u64, String)>,
}

/// The test of a stored finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTest {
    /// As the runner prints it.
    pub name: String,
    /// The word of the phase.
    pub phase: String,
    /// What it should have been.
    pub expected: Option<String>,
    /// What it was.
    pub actual: Option<String>,
}

/// A stored execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredExecution {
    /// The check that owns it.
    pub check: String,
    /// The words that were executed.
    pub command: Vec<String>,
    /// How it ended.
    pub outcome: Outcome,
    /// From start to end.
    pub duration_ms: u64,
    /// User and system time.
    pub cpu_ms: u64,
    /// The largest resident set.
    pub memory_peak_bytes: u64,
    /// Processes that were killed after its end.
    pub stragglers_killed: u32,
    /// Whether it once could start no further process or thread.
    pub process_limit_hit: bool,
    /// The tool whose output was read.
    pub tool: Option<String>,
    /// The runner's own summary.
    pub tests: Option<TestTally>,
    /// stdout, stderr, merged.
    pub logs: [LogRef; 3],
}

impl StoredExecution {
    /// The log of one stream.
    #[must_use]
    pub const fn log(&self, stream: LogStream) -> LogRef {
        match stream {
            LogStream::Stdout => self.logs[0],
            LogStream::Stderr => self.logs[1],
            LogStream::Merged => self.logs[2],
        }
    }
}

impl Store {
    /// The verdict of a run, once there is one.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn verdict(
        &self,
        project_id: i64,
        run: RunId,
    ) -> Result<Option<StoredVerdict>, StoreError> {
        let row = sqlx::query!(
            "select v.decision, v.next_step, v.round, v.rounds_max, v.contract_version, c.sha256,
                    v.tree_sha256, v.isolation, v.changes_total, v.findings_left_out, v.feedback,
                    v.execution_report, v.decided_at
             from verdict v
             join contract c on c.project_id = v.project_id and c.task_id = v.task_id
                            and c.version = v.contract_version
             where v.project_id = $1 and v.run_id = $2",
            project_id,
            run.as_uuid()
        )
        .fetch_optional(&self.pool)
        .await?;
        let Some(row) = row else { return Ok(None) };
        let changes = self.tree_changes(project_id, run).await?;
        let tree = row.tree_sha256.map(|it| digest("verdict.tree_sha256", &it)).transpose()?;
        Ok(Some(StoredVerdict {
            decision: row.decision,
            next_step: row.next_step,
            round: count(row.round),
            rounds_max: count(row.rounds_max),
            contract_version: count(row.contract_version),
            contract_sha256: digest("contract.sha256", &row.sha256)?,
            tree,
            isolation: row.isolation,
            isolation_detail: self.verdict_isolation(project_id, run).await?,
            changes_left_out: big(row.changes_total).saturating_sub(changes.len() as u64),
            changes,
            findings: self.findings(project_id, run).await?,
            findings_left_out: count(row.findings_left_out),
            executions: self.executions(project_id, run).await?,
            feedback: row.feedback,
            execution_report: row.execution_report,
            decided_at: row.decided_at,
        }))
    }

    async fn findings(
        &self,
        project_id: i64,
        run: RunId,
    ) -> Result<Vec<StoredFinding>, StoreError> {
        let rows = sqlx::query!(
            "select check_id, criteria, kind, blocking, blame, title, file, line, col, test_name,
                    test_phase, expected, actual, excerpt_stream, excerpt_offset, excerpt
             from finding where project_id = $1 and run_id = $2 order by number",
            project_id,
            run.as_uuid()
        )
        .fetch_all(&self.pool)
        .await?;
        let findings = rows.into_iter().map(|row| StoredFinding {
            check: row.check_id,
            criteria: row.criteria,
            kind: row.kind,
            blocking: row.blocking,
            blame: row.blame,
            title: row.title,
            location: row.file.map(|file| (file, row.line.map(count), row.col.map(count))),
            test: row.test_name.zip(row.test_phase).map(|(name, phase)| StoredTest {
                name,
                phase,
                expected: row.expected,
                actual: row.actual,
            }),
            excerpt: row
                .excerpt_stream
                .zip(row.excerpt_offset)
                .zip(row.excerpt)
                .map(|((stream, offset), text)| (stream, big(offset), text)),
        });
        Ok(findings.collect())
    }

    /// The executions of a run, in the contract's order.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn executions(
        &self,
        project_id: i64,
        run: RunId,
    ) -> Result<Vec<StoredExecution>, StoreError> {
        let rows = sqlx::query!(
            "select check_id, command, outcome, outcome_value, duration_ms, cpu_ms,
                    memory_peak_bytes, stragglers_killed, process_limit_hit, tool, tests_passed,
                    tests_failed, tests_skipped, stdout_sha256, stdout_bytes, stderr_sha256,
                    stderr_bytes, merged_sha256, merged_bytes
             from execution where project_id = $1 and run_id = $2 order by number",
            project_id,
            run.as_uuid()
        )
        .fetch_all(&self.pool)
        .await?;
        let log = |sha256: &[u8], bytes: i64| {
            Ok::<_, StoreError>(LogRef {
                sha256: digest("execution.log", sha256)?,
                size_bytes: big(bytes),
            })
        };
        rows.into_iter()
            .map(|row| {
                let passed_failed = row.tests_passed.zip(row.tests_failed);
                Ok(StoredExecution {
                    check: row.check_id,
                    command: row.command,
                    outcome: read_outcome(&row.outcome, row.outcome_value.unwrap_or_default())?,
                    duration_ms: big(row.duration_ms),
                    cpu_ms: big(row.cpu_ms),
                    memory_peak_bytes: big(row.memory_peak_bytes),
                    stragglers_killed: count(row.stragglers_killed),
                    process_limit_hit: row.process_limit_hit,
                    tool: row.tool,
                    tests: passed_failed.zip(row.tests_skipped).map(
                        |((passed, failed), skipped)| TestTally {
                            passed: big(passed),
                            failed: big(failed),
                            skipped: big(skipped),
                        },
                    ),
                    logs: [
                        log(&row.stdout_sha256, row.stdout_bytes)?,
                        log(&row.stderr_sha256, row.stderr_bytes)?,
                        log(&row.merged_sha256, row.merged_bytes)?,
                    ],
                })
            })
            .collect()
    }
}

/// Writes the verdict with all that belongs to it, in the transaction that concludes the run.
pub(crate) async fn insert(
    tx: &mut sqlx::PgTransaction<'_>,
    lease: &Lease,
    verdict: &Verdict,
    taken: &Taken,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into verdict (project_id, run_id, task_id, decision, next_step, round, rounds_max,
             contract_version, tree_sha256, isolation, changes_total, findings_left_out, feedback,
             execution_report, worker_id, attempt, leased_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
        lease.project_id,
        lease.run.as_uuid(),
        lease.task.as_uuid(),
        verdict.decision.as_str(),
        verdict.next_step.as_str(),
        small(verdict.round),
        small(verdict.rounds_max),
        taken.contract_version,
        verdict.tree.as_ref().map(|it| &it.as_bytes()[..]),
        verdict.isolation.as_ref().map(|it| it.tier.as_str()),
        long(verdict.changes.len() as u64 + verdict.changes_left_out),
        small(verdict.findings_left_out),
        text(&verdict.feedback),
        text(&verdict.execution_report),
        taken.worker,
        taken.attempt,
        taken.leased_at
    )
    .execute(&mut **tx)
    .await?;
    if let Some(it) = &verdict.isolation {
        isolation::insert(tx, lease, it).await?;
    }
    tree_changes::insert(tx, lease, &verdict.changes).await?;
    for (number, finding) in (0..).zip(&verdict.findings) {
        insert_finding(tx, lease, number, finding).await?;
    }
    for (number, execution) in (0..).zip(&verdict.executions) {
        insert_execution(tx, lease, number, execution).await?;
    }
    Ok(())
}

async fn insert_finding(
    tx: &mut sqlx::PgTransaction<'_>,
    lease: &Lease,
    number: i32,
    finding: &Finding,
) -> Result<(), StoreError> {
    let location = finding.location.as_ref();
    let (test, excerpt) = (finding.test.as_ref(), finding.excerpt.as_ref());
    let side = |it: &Option<String>| it.as_deref().map(text);
    sqlx::query!(
        "insert into finding (project_id, run_id, number, check_id, criteria, kind, blocking, blame,
             title, file, line, col, test_name, test_phase, expected, actual, excerpt_stream,
             excerpt_offset, excerpt)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
             $19)",
        lease.project_id,
        lease.run.as_uuid(),
        number,
        finding.check,
        &finding.criteria,
        finding.kind.as_str(),
        finding.blocking,
        finding.blame.as_str(),
        text(&finding.title),
        location.map(|it| text(&it.file)),
        location.and_then(|it| it.line).map(small),
        location.and_then(|it| it.column).map(small),
        test.map(|it| text(&it.name)),
        test.map(|it| it.phase.as_str()),
        test.and_then(|it| side(&it.expected)),
        test.and_then(|it| side(&it.actual)),
        excerpt.map(|it| it.stream.as_str()),
        excerpt.map(|it: &Excerpt| long(it.offset)),
        excerpt.map(|it| text(&it.text))
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

async fn insert_execution(
    tx: &mut sqlx::PgTransaction<'_>,
    lease: &Lease,
    number: i32,
    execution: &Execution,
) -> Result<(), StoreError> {
    let (outcome, value) = outcome_words(execution.outcome);
    let tests = execution.reading.tally;
    let [stdout, stderr, merged] = execution.logs;
    sqlx::query!(
        "insert into execution (project_id, run_id, number, check_id, command, outcome,
             outcome_value, duration_ms, cpu_ms, memory_peak_bytes, stragglers_killed,
             process_limit_hit, tool, tests_passed, tests_failed, tests_skipped, stdout_sha256,
             stdout_bytes, stderr_sha256, stderr_bytes, merged_sha256, merged_bytes)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
             $19, $20, $21, $22)",
        lease.project_id,
        lease.run.as_uuid(),
        number,
        execution.check,
        &execution.command.to_words(),
        outcome,
        value,
        long(execution.usage.duration_ms),
        long(execution.usage.cpu_ms),
        long(execution.usage.memory_peak_bytes),
        small(execution.stragglers_killed),
        execution.process_limit_hit,
        execution.reading.tool,
        tests.map(|it| long(it.passed)),
        tests.map(|it| long(it.failed)),
        tests.map(|it| long(it.skipped)),
        stdout.sha256.as_bytes(),
        long(stdout.size_bytes),
        stderr.sha256.as_bytes(),
        long(stderr.size_bytes),
        merged.sha256.as_bytes(),
        long(merged.size_bytes)
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

fn outcome_words(outcome: Outcome) -> (&'static str, Option<i64>) {
    match outcome {
        Outcome::Exited { code } => ("exited", Some(code.into())),
        Outcome::Killed { signal } => ("killed", Some(signal.into())),
        Outcome::TimedOut { limit_ms } => ("timed_out", Some(long(limit_ms))),
        Outcome::OutputLimitExceeded { limit_bytes } => {
            ("output_limit_exceeded", Some(long(limit_bytes)))
        }
        Outcome::CpuLimitExceeded { limit_ms } => ("cpu_limit_exceeded", Some(long(limit_ms))),
        Outcome::OutOfMemory { limit_bytes } => ("out_of_memory", Some(long(limit_bytes))),
        Outcome::DiskLimitExceeded { limit_bytes } => {
            ("disk_limit_exceeded", Some(long(limit_bytes)))
        }
        Outcome::NotFound => ("not_found", None),
        Outcome::NotExecutable { errno } => ("not_executable", Some(errno.into())),
        Outcome::NotRun => ("not_run", None),
    }
}

fn read_outcome(word: &str, value: i64) -> Result<Outcome, StoreError> {
    let number = || i32::try_from(value).unwrap_or(i32::MAX);
    Ok(match word {
        "exited" => Outcome::Exited { code: number() },
        "killed" => Outcome::Killed { signal: number() },
        "timed_out" => Outcome::TimedOut { limit_ms: big(value) },
        "output_limit_exceeded" => Outcome::OutputLimitExceeded { limit_bytes: big(value) },
        "cpu_limit_exceeded" => Outcome::CpuLimitExceeded { limit_ms: big(value) },
        "out_of_memory" => Outcome::OutOfMemory { limit_bytes: big(value) },
        "disk_limit_exceeded" => Outcome::DiskLimitExceeded { limit_bytes: big(value) },
        "not_found" => Outcome::NotFound,
        "not_executable" => Outcome::NotExecutable { errno: number() },
        "not_run" => Outcome::NotRun,
        word => {
            let word = word.to_owned();
            return Err(StoreError::CorruptRow { column: "execution.outcome", word });
        }
    })
}
