//! Which workspace archives a project has uploaded. Their bytes are elsewhere.

use gate_core::Sha256Digest;

use crate::words::long;
use crate::{Store, StoreError};

impl Store {
    /// Records an uploaded archive; tells whether the project had it before.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn record_archive(
        &self,
        project_id: i64,
        sha256: Sha256Digest,
        size_bytes: u64,
        actor: &str,
    ) -> Result<bool, StoreError> {
        let inserted = sqlx::query!(
            "insert into archive (project_id, sha256, size_bytes, created_by) values ($1, $2, $3, $4)
             on conflict do nothing",
            project_id,
            sha256.as_bytes(),
            long(size_bytes),
            actor
        )
        .execute(&self.pool)
        .await?;
        Ok(inserted.rows_affected() == 0)
    }

    /// Whether a project has uploaded this archive.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn has_archive(
        &self,
        project_id: i64,
        sha256: Sha256Digest,
    ) -> Result<bool, StoreError> {
        let exists = sqlx::query_scalar!(
            r#"select exists (select from archive where project_id = $1 and sha256 = $2) as "it!""#,
            project_id,
            sha256.as_bytes()
        )
        .fetch_one(&self.pool)
        .await?;
        Ok(exists)
    }
}
