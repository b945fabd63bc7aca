//! How the commands of a verdict were walled in: written with it, read back with it.

use gate_core::{Isolation, IsolationTier, MemoryBound, RunId, RunLimits, SetupUse, WorkspaceKind};

use crate::runs::Lease;
use crate::words::{big, count, long, small, text};
use crate::{Store, StoreError};

impl Store {
    /// None where no command ran, and of verdicts that are older than this record.
    pub(crate) async fn verdict_isolation(
        &self,
        project_id: i64,
        run: RunId,
    ) -> Result<Option<Isolation>, StoreError> {
        let row = sqlx::query!(
            "select tier, kernel_uid, landlock_abi, loopback, memory_bound, workspace_kind,
                    setup, command_seconds, run_seconds, cpu_seconds, memory_mb, processes, open_files,
                    disk_mb, output_bytes, known_gaps
             from verdict_isolation where project_id = $1 and run_id = $2",
            project_id,
            run.as_uuid()
        )
        .fetch_optional(&self.pool)
        .await?;
        let Some(row) = row else { return Ok(None) };
        Ok(Some(Isolation {
            tier: known("verdict_isolation.tier", &row.tier, IsolationTier::from_word)?,
            kernel_uid: u32::try_from(row.kernel_uid).unwrap_or(u32::MAX),
            landlock_abi: row.landlock_abi.map(count),
            loopback: row.loopback,
            memory_bound: known(
                "verdict_isolation.memory_bound",
                &row.memory_bound,
                MemoryBound::from_word,
            )?,
            workspace: known(
                "verdict_isolation.workspace_kind",
                &row.workspace_kind,
                WorkspaceKind::from_word,
            )?,
            setup: known("verdict_isolation.setup", &row.setup, SetupUse::from_word)?,
            limits: RunLimits {
                command_seconds: count(row.command_seconds),
                run_seconds: count(row.run_seconds),
                cpu_seconds: count(row.cpu_seconds),
                memory_mb: count(row.memory_mb),
                processes: count(row.processes),
                open_files: count(row.open_files),
                disk_mb: count(row.disk_mb),
                output_bytes: big(row.output_bytes),
            },
            known_gaps: row.known_gaps,
        }))
    }
}

/// Written in the transaction that concludes the run.
pub(crate) async fn insert(
    tx: &mut sqlx::PgTransaction<'_>,
    lease: &Lease,
    isolation: &Isolation,
) -> Result<(), StoreError> {
    let limits = isolation.limits;
    let known_gaps: Vec<String> = isolation.known_gaps.iter().map(|it| text(it)).collect();
    sqlx::query!(
        "insert into verdict_isolation (project_id, run_id, tier, kernel_uid, landlock_abi,
             loopback, memory_bound, workspace_kind, setup, command_seconds, run_seconds, cpu_seconds,
             memory_mb, processes, open_files, disk_mb, output_bytes, known_gaps)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)",
        lease.project_id,
        lease.run.as_uuid(),
        isolation.tier.as_str(),
        i64::from(isolation.kernel_uid),
        isolation.landlock_abi.map(small),
        isolation.loopback,
        isolation.memory_bound.as_str(),
        isolation.workspace.as_str(),
        isolation.setup.as_str(),
        small(limits.command_seconds),
        small(limits.run_seconds),
        small(limits.cpu_seconds),
        small(limits.memory_mb),
        small(limits.processes),
        small(limits.open_files),
        small(limits.disk_mb),
        long(limits.output_bytes),
        &known_gaps
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

fn known<T>(
    column: &'static str,
    word: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<T, StoreError> {
    read(word).ok_or_else(|| StoreError::CorruptRow { column, word: word.to_owned() })
}
