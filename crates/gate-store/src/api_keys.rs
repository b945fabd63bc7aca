//! API keys: looked up by their hash, shown never again.

use chrono::{DateTime, Utc};
use gate_core::{KeyId, Sha256Digest};

use crate::{EventStamp, Origin, Store, StoreError, events};

/// Who makes a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Principal {
    /// The key.
    pub key_id: KeyId,
    /// The key's name, for events.
    pub name: String,
    /// The words of its roles.
    pub roles: Vec<String>,
    /// The project that it is bound to; none for an admin key of the whole gate.
    pub project: Option<PrincipalProject>,
}

/// The project that a key is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrincipalProject {
    /// Its id.
    pub id: i64,
    /// Its name in paths.
    pub slug: String,
}

/// A key to be stored.
#[derive(Debug)]
pub struct NewApiKey<'a> {
    /// Made by the gate.
    pub id: KeyId,
    /// None for an admin key of the whole gate.
    pub project_id: Option<i64>,
    /// Says whose it is.
    pub name: &'a str,
    /// Its first characters.
    pub prefix: &'a str,
    /// Of its secret.
    pub sha256: Sha256Digest,
    /// The words of its roles.
    pub roles: &'a [String],
    /// When it stops to work.
    pub expires_at: Option<DateTime<Utc>>,
}

/// A stored key, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// Names it in paths.
    pub id: KeyId,
    /// The slug of its project.
    pub project: Option<String>,
    /// Says whose it is.
    pub name: String,
    /// Its first characters.
    pub prefix: String,
    /// The words of its roles.
    pub roles: Vec<String>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
    /// When it stops to work.
    pub expires_at: Option<DateTime<Utc>>,
    /// When it was revoked.
    pub revoked_at: Option<DateTime<Utc>>,
}

struct ApiKeyRow {
    id: uuid::Uuid,
    project: Option<String>,
    name: String,
    prefix: String,
    roles: Vec<String>,
    created_at: DateTime<Utc>,
    expires_at: Option<DateTime<Utc>>,
    revoked_at: Option<DateTime<Utc>>,
}

impl Store {
    /// Who holds the secret with this hash; none when it is unknown, revoked, or expired.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn principal(&self, sha256: Sha256Digest) -> Result<Option<Principal>, StoreError> {
        let row = sqlx::query!(
            r#"select k.id, k.name, k.roles, p.id as "project_id?", p.slug as "slug?"
               from api_key k left join project p on p.id = k.project_id
               where k.sha256 = $1 and k.revoked_at is null
                 and (k.expires_at is null or k.expires_at > now())"#,
            sha256.as_bytes()
        )
        .fetch_optional(&self.pool)
        .await?;
        Ok(row.map(|row| Principal {
            key_id: KeyId::from_uuid(row.id),
            name: row.name,
            roles: row.roles,
            project: row.project_id.zip(row.slug).map(|(id, slug)| PrincipalProject { id, slug }),
        }))
    }

    /// Stores a key.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn create_api_key(
        &self,
        key: &NewApiKey<'_>,
        origin: &Origin,
    ) -> Result<ApiKey, StoreError> {
        let mut tx = self.pool.begin().await?;
        insert_key(&mut tx, key, &origin.actor).await?;
        if let Some(project_id) = key.project_id {
            let data = serde_json::json!({ "key": key.name, "roles": key.roles });
            let made = events::about_project("api_key.created", data);
            let _stamp: EventStamp = events::append(&mut tx, project_id, &made, origin).await?;
        }
        tx.commit().await?;
        self.api_key(key.id).await
    }

    /// Stores the first admin key of the gate, unless there is one already; tells whether it did.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn create_first_admin_key(&self, key: &NewApiKey<'_>) -> Result<bool, StoreError> {
        let mut tx = self.pool.begin().await?;
        // Several processes may start at once on an empty database.
        sqlx::query!("lock table api_key in share row exclusive mode").execute(&mut *tx).await?;
        let exists = sqlx::query_scalar!(
            r#"select exists (select from api_key
                              where project_id is null and 'admin' = any (roles)) as "it!""#
        )
        .fetch_one(&mut *tx)
        .await?;
        if !exists {
            insert_key(&mut tx, key, "gate").await?;
        }
        tx.commit().await?;
        Ok(!exists)
    }

    /// Stores a key whose secret the operator chose, unless it is stored already.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn ensure_api_key(&self, key: &NewApiKey<'_>) -> Result<(), StoreError> {
        let mut tx = self.pool.begin().await?;
        sqlx::query!("lock table api_key in share row exclusive mode").execute(&mut *tx).await?;
        let exists = sqlx::query_scalar!(
            r#"select exists (select from api_key where sha256 = $1) as "it!""#,
            key.sha256.as_bytes()
        )
        .fetch_one(&mut *tx)
        .await?;
        if !exists {
            insert_key(&mut tx, key, "gate").await?;
        }
        Ok(tx.commit().await?)
    }

    /// The keys of a project, or the admin keys of the gate; the oldest first.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn api_keys(
        &self,
        project_id: Option<i64>,
        after: Option<KeyId>,
        rows_max: u32,
    ) -> Result<Vec<ApiKey>, StoreError> {
        let rows = sqlx::query_as!(
            ApiKeyRow,
            r#"select k.id, p.slug as "project?", k.name, k.prefix, k.roles, k.created_at,
                      k.expires_at, k.revoked_at
               from api_key k left join project p on p.id = k.project_id
               where k.project_id is not distinct from $1 and ($2::uuid is null or k.id > $2)
               order by k.id limit $3"#,
            project_id,
            after.map(|it| it.as_uuid()),
            i64::from(rows_max)
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// Ends a key at once. A key that was revoked before stays revoked since then.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn revoke_api_key(
        &self,
        project_id: Option<i64>,
        id: KeyId,
        origin: &Origin,
    ) -> Result<ApiKey, StoreError> {
        let mut tx = self.pool.begin().await?;
        let name = sqlx::query_scalar!(
            "update api_key set revoked_at = coalesce(revoked_at, now())
             where id = $1 and project_id is not distinct from $2 returning name",
            id.as_uuid(),
            project_id
        )
        .fetch_optional(&mut *tx)
        .await?
        .ok_or(StoreError::NotFound { what: "API key" })?;
        if let Some(project_id) = project_id {
            let data = serde_json::json!({ "key": name });
            let revoked = events::about_project("api_key.revoked", data);
            let _stamp: EventStamp = events::append(&mut tx, project_id, &revoked, origin).await?;
        }
        tx.commit().await?;
        self.api_key(id).await
    }

    async fn api_key(&self, id: KeyId) -> Result<ApiKey, StoreError> {
        sqlx::query_as!(
            ApiKeyRow,
            r#"select k.id, p.slug as "project?", k.name, k.prefix, k.roles, k.created_at,
                      k.expires_at, k.revoked_at
               from api_key k left join project p on p.id = k.project_id where k.id = $1"#,
            id.as_uuid()
        )
        .fetch_optional(&self.pool)
        .await?
        .map(Into::into)
        .ok_or(StoreError::NotFound { what: "API key" })
    }
}

async fn insert_key(
    tx: &mut sqlx::PgTransaction<'_>,
    key: &NewApiKey<'_>,
    created_by: &str,
) -> Result<(), StoreError> {
    sqlx::query!(
        "insert into api_key (id, project_id, name, prefix, sha256, roles, created_by, expires_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        key.id.as_uuid(),
        key.project_id,
        key.name,
        key.prefix,
        key.sha256.as_bytes(),
        key.roles,
        created_by,
        key.expires_at
    )
    .execute(&mut **tx)
    .await?;
    Ok(())
}

impl From<ApiKeyRow> for ApiKey {
    fn from(row: ApiKeyRow) -> Self {
        Self {
            id: KeyId::from_uuid(row.id),
            project: row.project,
            name: row.name,
            prefix: row.prefix,
            roles: row.roles,
            created_at: row.created_at,
            expires_at: row.expires_at,
            revoked_at: row.revoked_at,
        }
    }
}
