//! What the gate saw changed against the baseline: written with its verdict, the first of it read back.

use gate_core::limits::ANSWER_CHANGES_MAX;
use gate_core::{RunId, TreeChange};

use crate::runs::Lease;
use crate::words::{long, text};
use crate::{Store, StoreError};

/// A file that is not as the baseline has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredChange {
    /// Where.
    pub path: String,
    /// The word of the kind.
    pub kind: String,
}

impl Store {
    /// By path, and only as many as an answer lists.
    pub(crate) async fn tree_changes(
        &self,
        project_id: i64,
        run: RunId,
    ) -> Result<Vec<StoredChange>, StoreError> {
        let rows = sqlx::query_as!(
            StoredChange,
            "select path, kind from tree_change
             where project_id = $1 and run_id = $2 order by number limit $3",
            project_id,
            run.as_uuid(),
            long(ANSWER_CHANGES_MAX as u64)
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(rows)
    }
}

/// Written in the transaction that concludes the run; in one statement, because there may be thousands.
pub(crate) async fn insert(
    tx: &mut sqlx::PgTransaction<'_>,
    lease: &Lease,
    changes: &[TreeChange],
) -> Result<(), StoreError> {
    if changes.is_empty() {
        return Ok(());
    }
    let paths: Vec<String> = changes.iter().map(|it| text(it.path.as_str())).collect();
    let kinds: Vec<String> = changes.iter().map(|it| it.kind.as_str().to_owned()).collect();
    sqlx::query!(
        "insert into tree_change (project_id, run_id, number, path, kind)
         select $1, $2, number - 1, path, kind
         from unnest($3::text[], $4::text[]) with ordinality as it (path, kind, number)",
        lease.project_id,
        lease.run.as_uuid(),
        &paths,
        &kinds
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}
