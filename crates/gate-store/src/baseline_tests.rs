//! What the tests of a contract did on its untouched baseline: written with the preflight's verdict, read with each later run.

use std::collections::HashMap;

use gate_core::{BaselineTests, TestTally};
use uuid::Uuid;

use crate::StoreError;
use crate::conclude::Taken;
use crate::runs::Lease;
use crate::words::{big, long, text};

pub(crate) async fn insert(
    tx: &mut sqlx::PgTransaction<'_>,
    lease: &Lease,
    taken: &Taken,
    tests: &[BaselineTests],
) -> Result<(), StoreError> {
    for it in tests {
        let failing: Vec<String> = it.failing.iter().map(|it| text(it)).collect();
        sqlx::query!(
            "insert into baseline_test (project_id, task_id, contract_version, check_id, passed,
                 failed, skipped, failing)
             values ($1, $2, $3, $4, $5, $6, $7, $8)",
            lease.project_id,
            lease.task.as_uuid(),
            taken.contract_version,
            it.check,
            long(it.tally.passed),
            long(it.tally.failed),
            long(it.tally.skipped),
            &failing
        )
        .execute(&mut **tx)
        .await?;
    }
    Ok(())
}

/// Of the contract versions that these runs judge by.
pub(crate) async fn of_runs(
    tx: &mut sqlx::PgTransaction<'_>,
    runs: &[Uuid],
) -> Result<HashMap<Uuid, Vec<BaselineTests>>, StoreError> {
    let rows = sqlx::query!(
        "select g.id, b.check_id, b.passed, b.failed, b.skipped, b.failing
         from gate_run g
         join baseline_test b on b.project_id = g.project_id and b.task_id = g.task_id
                             and b.contract_version = g.contract_version
         where g.id = any ($1)",
        runs
    )
    .fetch_all(&mut **tx)
    .await?;
    let mut tests: HashMap<Uuid, Vec<BaselineTests>> = HashMap::new();
    for row in rows {
        tests.entry(row.id).or_default().push(BaselineTests {
            check: row.check_id,
            tally: TestTally {
                passed: big(row.passed),
                failed: big(row.failed),
                skipped: big(row.skipped),
            },
            failing: row.failing,
        });
    }
    Ok(tests)
}
