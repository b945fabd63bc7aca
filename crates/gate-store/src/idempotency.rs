//! Idempotency keys: the second request with a key gets what the first one made.

use gate_core::{KeyId, Sha256Digest};
use uuid::Uuid;

use crate::{Store, StoreError};

/// A client's own name for one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey {
    /// Who sent it.
    pub principal: KeyId,
    /// What was asked for, such as `POST /v1/tasks/…/reports`.
    pub route: String,
    /// The name.
    pub key: String,
    /// Of the body; another body under the same name is a mistake.
    pub body_sha256: Sha256Digest,
}

/// A thing that a request asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made<T> {
    /// By this request.
    New(T),
    /// By an earlier one with the same idempotency key.
    Before(T),
}

impl<T> Made<T> {
    /// The thing, whoever made it.
    pub fn into_inner(self) -> T {
        match self {
            Self::New(it) | Self::Before(it) => it,
        }
    }

    /// Whether an earlier request made it.
    pub const fn is_replay(&self) -> bool {
        matches!(self, Self::Before(_))
    }
}

impl Store {
    /// What an earlier request with this key made.
    ///
    /// # Errors
    /// [`StoreError::KeyReused`] when its body was another.
    pub async fn made_before(&self, key: &IdempotencyKey) -> Result<Option<Uuid>, StoreError> {
        find(&self.pool, key).await
    }
}

/// What was made under this key, if its body was the same.
async fn find(
    executor: impl sqlx::PgExecutor<'_>,
    key: &IdempotencyKey,
) -> Result<Option<Uuid>, StoreError> {
    let row = sqlx::query!(
        "select body_sha256, resource_id from idempotency_key
         where principal = $1 and route = $2 and key = $3",
        key.principal.as_uuid(),
        key.route,
        key.key
    )
    .fetch_optional(executor)
    .await?;
    match row {
        None => Ok(None),
        Some(row) if row.body_sha256 == key.body_sha256.as_bytes() => Ok(Some(row.resource_id)),
        Some(_) => Err(StoreError::KeyReused),
    }
}

/// Takes the key for `resource`, in the transaction that makes it. The winner of a race is waited for.
pub(crate) async fn take(
    tx: &mut sqlx::PgTransaction<'_>,
    key: &IdempotencyKey,
    resource: Uuid,
) -> Result<Made<Uuid>, StoreError> {
    let inserted = sqlx::query!(
        "insert into idempotency_key (principal, route, key, body_sha256, resource_id)
         values ($1, $2, $3, $4, $5) on conflict do nothing",
        key.principal.as_uuid(),
        key.route,
        key.key,
        key.body_sha256.as_bytes(),
        resource
    )
    .execute(&mut **tx)
    .await;
    match inserted {
        Ok(done) if done.rows_affected() == 1 => return Ok(Made::New(resource)),
        Ok(_) => {}
        // 55P03: the lock timeout. The first request still holds its transaction open.
        Err(sqlx::Error::Database(error)) if error.code().as_deref() == Some("55P03") => {
            return Err(StoreError::KeyInFlight);
        }
        Err(error) => return Err(error.into()),
    }
    // A second statement: the first one's snapshot may be older than the winner's commit.
    find(&mut **tx, key).await?.map(Made::Before).ok_or(StoreError::KeyInFlight)
}
