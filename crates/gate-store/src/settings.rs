//! Facts about this gate: so far, that all its processes share one secret key.

use crate::{Store, StoreError};

impl Store {
    /// Makes sure that this process derives callback secrets from the same key as every other one.
    ///
    /// # Errors
    /// [`StoreError::OtherSecretKey`] when the database was set up with another key.
    pub async fn agree_on_secret_key(&self, fingerprint: &str) -> Result<(), StoreError> {
        sqlx::query!(
            "insert into gate_setting (name, value) values ('secret_key_fingerprint', $1)
             on conflict (name) do nothing",
            fingerprint
        )
        .execute(&self.pool)
        .await?;
        let stored = sqlx::query_scalar!(
            "select value from gate_setting where name = 'secret_key_fingerprint'"
        )
        .fetch_one(&self.pool)
        .await?;
        if stored == fingerprint {
            return Ok(());
        }
        Err(StoreError::OtherSecretKey { stored, given: fingerprint.to_owned() })
    }
}
