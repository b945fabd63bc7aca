//! What is written for good cannot be changed, not even past the store.

use gate_core::Decision;

use crate::fixture::Fixture;

#[tokio::test]
async fn contracts_events_and_verdicts_cannot_be_changed_or_removed() {
    let it = Fixture::new("append_only").await;
    let project = it.project("shop", 1).await;
    it.queued(project).await;
    let leased = it.lease(1).await;
    it.record(leased, Decision::Fail).await.unwrap();
    for sql in [
        "update contract set body = 'x'",
        "delete from contract",
        "truncate contract cascade",
        "update event set data = '{}'",
        "delete from event",
        "truncate event cascade",
        "update verdict set decision = 'PASS'",
        "delete from verdict",
        "truncate verdict cascade",
    ] {
        let refused = sqlx::raw_sql(sql).execute(&it.pool).await.expect_err(sql);
        let refused = refused.into_database_error().unwrap();
        assert_eq!(refused.code().as_deref(), Some("23000"), "{sql}: {refused}");
        assert!(refused.message().ends_with("is append-only"), "{sql}: {refused}");
    }
    for (sql, rows) in [
        ("select count(*) from contract", 1),
        ("select count(*) from event", 4),
        ("select count(*) from verdict where decision = 'FAIL'", 1),
    ] {
        assert_eq!(it.number(sql).await, rows, "{sql}");
    }
}
