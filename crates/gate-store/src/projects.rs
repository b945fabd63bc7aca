//! Projects: the tenants of the gate.

use chrono::{DateTime, Utc};

use crate::error::violates;
use crate::words::{count, small};
use crate::{EventStamp, Origin, Store, StoreError, events};

/// How long the callback secret before a rotation stays valid beside the new one.
pub(crate) const SECRET_OVERLAP_HOURS: i64 = 24;

/// A tenant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Leads every key in the database.
    pub id: i64,
    /// Its name in paths.
    pub slug: String,
    /// Its share of the workers.
    pub weight: u32,
    /// Which of its callback secrets is in force.
    pub secret_generation: u32,
    /// Until when the secret before it is valid, too.
    pub previous_secret_until: Option<DateTime<Utc>>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

struct ProjectRow {
    id: i64,
    slug: String,
    weight: i32,
    secret_generation: i32,
    secret_rotated_at: Option<DateTime<Utc>>,
    created_at: DateTime<Utc>,
}

impl Store {
    /// Makes a project.
    ///
    /// # Errors
    /// [`StoreError::SlugTaken`].
    pub async fn create_project(
        &self,
        slug: &str,
        weight: u32,
        origin: &Origin,
    ) -> Result<Project, StoreError> {
        let mut tx = self.pool.begin().await?;
        let row = sqlx::query_as!(
            ProjectRow,
            "insert into project (slug, weight) values ($1, $2)
             returning id, slug, weight, secret_generation, secret_rotated_at, created_at",
            slug,
            small(weight)
        )
        .fetch_one(&mut *tx)
        .await
        .map_err(|it| {
            if violates(&it, "project_slug_key") { StoreError::SlugTaken } else { it.into() }
        })?;
        let data = serde_json::json!({ "slug": slug, "weight": weight });
        let _stamp: EventStamp = events::append(
            &mut tx,
            row.id,
            &events::about_project("project.created", data),
            origin,
        )
        .await?;
        tx.commit().await?;
        Ok(row.into())
    }

    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn project_by_slug(&self, slug: &str) -> Result<Project, StoreError> {
        sqlx::query_as!(
            ProjectRow,
            "select id, slug, weight, secret_generation, secret_rotated_at, created_at
             from project where slug = $1",
            slug
        )
        .fetch_optional(&self.pool)
        .await?
        .map(Into::into)
        .ok_or(StoreError::NotFound { what: "project" })
    }

    /// By slug, after the one that is given; all of them, or the one that a key is bound to.
    ///
    /// # Errors
    /// When the database fails.
    pub async fn projects(
        &self,
        only: Option<i64>,
        after: Option<&str>,
        rows_max: u32,
    ) -> Result<Vec<Project>, StoreError> {
        let rows = sqlx::query_as!(
            ProjectRow,
            "select id, slug, weight, secret_generation, secret_rotated_at, created_at
             from project
             where ($1::bigint is null or id = $1) and ($2::text is null or slug > $2)
             order by slug limit $3",
            only,
            after,
            i64::from(rows_max)
        )
        .fetch_all(&self.pool)
        .await?;
        Ok(rows.into_iter().map(Into::into).collect())
    }

    /// Puts the next callback secret in force; the one before stays valid for [`SECRET_OVERLAP_HOURS`].
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn rotate_callback_secret(
        &self,
        project_id: i64,
        origin: &Origin,
    ) -> Result<Project, StoreError> {
        let mut tx = self.pool.begin().await?;
        let row = sqlx::query_as!(
            ProjectRow,
            "update project set secret_generation = secret_generation + 1, secret_rotated_at = now()
             where id = $1
             returning id, slug, weight, secret_generation, secret_rotated_at, created_at",
            project_id
        )
        .fetch_optional(&mut *tx)
        .await?
        .ok_or(StoreError::NotFound { what: "project" })?;
        let data = serde_json::json!({ "generation": row.secret_generation });
        let rotated = events::about_project("callback_secret.rotated", data);
        let _stamp: EventStamp = events::append(&mut tx, project_id, &rotated, origin).await?;
        tx.commit().await?;
        Ok(row.into())
    }
}

impl From<ProjectRow> for Project {
    fn from(row: ProjectRow) -> Self {
        let overlap = chrono::Duration::hours(SECRET_OVERLAP_HOURS);
        Self {
            id: row.id,
            slug: row.slug,
            weight: count(row.weight),
            secret_generation: count(row.secret_generation),
            previous_secret_until: row.secret_rotated_at.map(|it| it + overlap),
            created_at: row.created_at,
        }
    }
}
