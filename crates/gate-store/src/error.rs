//! What can go wrong between the gate and its database.

/// Why a method of the store did not do what its name says. Nothing was written then.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such thing, or it belongs to somebody else.
    #[error("there is no such {what}")]
    NotFound {
        /// What was looked for.
        what: &'static str,
    },
    /// A project with this slug exists.
    #[error("the slug is taken")]
    SlugTaken,
    /// The task's state does not take this.
    #[error("the task is {state}")]
    TaskState {
        /// The word of the state.
        state: String,
    },
    /// The task has had all reports that its contract allows.
    #[error("the task has had all of its {reports_max} reports")]
    ReportsExhausted {
        /// The contract's bound.
        reports_max: u32,
    },
    /// The thing has changed since the version that the caller knows.
    #[error("it was changed meanwhile: its version is {version}")]
    Stale {
        /// The version now.
        version: u64,
    },
    /// The idempotency key was used with another body.
    #[error("the idempotency key was used with another body")]
    KeyReused,
    /// The request that first used the idempotency key has not ended yet.
    #[error("a request with this idempotency key is in flight")]
    KeyInFlight,
    /// Another worker, the sweeper, or a cancel concluded the run, or the callback.
    #[error("the lease was lost")]
    LeaseLost,
    /// The database belongs to a gate with another secret key.
    #[error(
        "the database was set up with another secret key (fingerprint {stored}, this one has {given})"
    )]
    OtherSecretKey {
        /// Of the key that the database knows.
        stored: String,
        /// Of the key that was given.
        given: String,
    },
    /// The schema is older than this build.
    #[error("the schema of the database is older than this build; run `donegate migrate`")]
    SchemaOutdated,
    /// A row holds what no statement of ours writes.
    #[error("the column {column} holds the unknown word `{word}`")]
    CorruptRow {
        /// Where.
        column: &'static str,
        /// What.
        word: String,
    },
    /// The schema could not be brought up to date.
    #[error("could not apply the migrations")]
    Migrate(#[from] sqlx::migrate::MigrateError),
    /// The database does not answer, or refused a statement.
    #[error("the database failed")]
    Database(#[source] sqlx::Error),
}

impl StoreError {
    /// Whether trying again later can help.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        let Self::Database(error) = self else { return false };
        #[expect(
            clippy::wildcard_enum_match_arm,
            reason = "a foreign enum: all others are faults of ours"
        )]
        match error {
            sqlx::Error::Io(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::Tls(_) => true,
            // Class 08: connection; 53: resources; 57: operator intervention; 55P03: lock timeout.
            sqlx::Error::Database(error) => error.code().is_some_and(|code| {
                ["08", "53", "57"].iter().any(|it| code.starts_with(it)) || code == "55P03"
            }),
            _ => false,
        }
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

/// Whether a unique constraint of this name was violated.
pub(crate) fn violates(error: &sqlx::Error, constraint: &str) -> bool {
    error.as_database_error().is_some_and(|it| it.constraint() == Some(constraint))
}
