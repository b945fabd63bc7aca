//! Many at once: nothing is lost, nothing is doubled, and nobody starves.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use futures_util::future::join_all;
use gate_testkit::{Setup, TestGate, samples};
use serde_json::json;

use crate::help::Barrier;

const PROJECTS: usize = 4;
const TASKS: usize = 50;

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_reports_at_once_are_each_judged_and_told_exactly_once_and_in_order() {
    let gate = TestGate::start_with("crowd", Setup { slots: 4, ..Setup::default() }).await;
    let mut projects = Vec::new();
    for number in 0..PROJECTS {
        let project = gate.project(&format!("crowd-{number}")).await;
        let receiver = project.receiver().await;
        projects.push((project, receiver));
    }
    join_all(projects.iter().map(async |(project, receiver)| {
        // The odd ones fail and are then given up, which is a second callback of the same task.
        let contract = samples::called_back(samples::shell("test -e right"), &receiver.url());
        let tasks = join_all((0..TASKS).map(|_| project.post_contract(&contract))).await;
        join_all(tasks.iter().enumerate().map(async |(number, task)| {
            let name = if number % 2 == 0 { "right" } else { "wrong" };
            let _run = project.hand_in(task, &samples::files(&[(name, "x")])).await;
            let run = project.last_run(task).await;
            let decision = if name == "right" { "PASS" } else { "FAIL" };
            assert_eq!(run["verdict"]["decision"], decision);
            assert_eq!(run["attempts"], 1);
            if name == "wrong" {
                let cancel = format!("/v1/tasks/{task}/cancel");
                project
                    .orchestrator
                    .post(&cancel, &json!({ "reason": "enough" }))
                    .await
                    .expect(200);
            }
        }))
        .await;
        let told = receiver.wait_for(TASKS + TASKS / 2).await;
        let ids: BTreeSet<_> = told.iter().map(|it| it.id.clone()).collect();
        assert_eq!((told.len(), ids.len()), (TASKS + TASKS / 2, TASKS + TASKS / 2));
        let mut stories: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for it in &told {
            let task = it.body["data"]["task_id"].as_str().unwrap().to_owned();
            stories.entry(task).or_default().push(it.body["type"].as_str().unwrap().to_owned());
        }
        assert_eq!(stories.len(), TASKS);
        for story in stories.values().filter(|it| it.len() > 1) {
            assert_eq!(story, &["verdict.decided", "task.cancelled"]);
        }
    }))
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_project_that_floods_the_queue_does_not_starve_another() {
    const FLOOD: usize = 30;
    let gate = TestGate::start_with("flood", Setup { slots: 1, ..Setup::default() }).await;
    let (first, flood, quiet) =
        (gate.project("first").await, gate.project("flood").await, gate.project("quiet").await);
    let barrier = Barrier::new();
    let held = first.post_contract(&samples::shell(&barrier.script())).await;
    let _run = first.hand_in(&held, &samples::tiny()).await;
    barrier.entered().await;

    let contract = samples::shell("true");
    let tasks = join_all((0..FLOOD).map(|_| flood.post_contract(&contract))).await;
    let started = Instant::now();
    for task in &tasks {
        let _run = flood.hand_in(task, &samples::tiny()).await;
    }
    let late = quiet.post_contract(&contract).await;
    let _run = quiet.hand_in(&late, &samples::tiny()).await;
    // A run costs its project a second of its turn, so that of the flood as many are due before as seconds went by.
    let turns = started.elapsed().as_secs() + 2;
    barrier.let_go();

    let late = quiet.last_run(&late).await["verdict"]["decided_at"].as_str().unwrap().to_owned();
    let before = join_all(tasks.iter().map(async |task| {
        let run = flood.last_run(task).await;
        // RFC 3339 in UTC, so that the order of texts is the order of times.
        u64::from(*run["verdict"]["decided_at"].as_str().unwrap() < *late)
    }))
    .await;
    let before: u64 = before.into_iter().sum();
    assert!(before <= turns, "{before} of {FLOOD} runs of the flood came before the quiet one");
}
