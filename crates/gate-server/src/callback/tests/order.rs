//! Which callback goes when: in order within a task, and nobody waits for another's receiver.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::receiver::{Receiver, Reply};
use super::scene::{HERE, Scene};
use crate::callback::{Deliverer, HEADER_ID};

fn start(deliverer: Deliverer) -> (JoinSet<()>, CancellationToken) {
    let (mut tasks, shutdown) = (JoinSet::new(), CancellationToken::new());
    let stop = shutdown.clone();
    tasks.spawn(async move { deliverer.run(stop).await });
    (tasks, shutdown)
}

#[tokio::test]
async fn the_second_callback_of_a_task_waits_for_the_first() {
    let scene = Scene::new().await;
    let mut receiver = Receiver::start([Reply::Status(500)]).await;
    let task = scene.register_task(&receiver.url()).await;
    scene.route_report(task).await;
    scene.cancel_task(task).await;
    let deliverer = scene.deliverer();
    assert_eq!(deliverer.deliver_due().await.unwrap(), 1);
    assert_eq!(deliverer.deliver_due().await.unwrap(), 0, "the first one is still to be delivered");
    scene.store.redeliver(None, scene.callbacks(task).await[0].id).await.unwrap();
    assert_eq!(deliverer.deliver_due().await.unwrap(), 1);
    assert_eq!(deliverer.deliver_due().await.unwrap(), 1);
    let mut got = Vec::new();
    for _ in 0..3 {
        let json = receiver.next().await.json();
        got.push((json["type"].as_str().unwrap().to_owned(), json["data"]["sequence"].as_u64()));
    }
    assert_eq!((got[0].0.as_str(), got[2].0.as_str()), ("report.routed", "task.cancelled"));
    assert!(got[0] == got[1] && got[1].1 < got[2].1, "{got:?}");
}

#[tokio::test]
async fn a_callback_that_was_given_up_makes_way() {
    let scene = Scene::new().await;
    let mut receiver = Receiver::start([Reply::Status(410)]).await;
    let task = scene.register_task(&receiver.url()).await;
    scene.route_report(task).await;
    scene.cancel_task(task).await;
    let (mut tasks, shutdown) = start(scene.deliverer());
    assert_eq!(receiver.next().await.json()["type"], "report.routed");
    assert_eq!(receiver.next().await.json()["type"], "task.cancelled");
    shutdown.cancel();
    tasks.join_next().await.unwrap().unwrap();
    let states: Vec<_> = scene.callbacks(task).await.into_iter().map(|it| it.state).collect();
    assert_eq!(states, ["dead", "delivered"]);
}

#[tokio::test]
async fn a_receiver_that_hangs_holds_up_nobody_else_and_a_stop_waits_for_its_end() {
    let scene = Scene::new().await;
    let mut slow = Receiver::start([Reply::Hang]).await;
    let mut quick = Receiver::start([]).await;
    let (mut tasks, shutdown) = start(scene.deliverer_with(HERE, Duration::from_secs(8)));
    let held_up = scene.cancelled_task(&slow.url()).await;
    slow.next().await;
    for _ in 0..5 {
        scene.cancelled_task(&quick.url()).await;
        quick.next().await;
    }
    assert!(scene.callback(held_up).await.attempts.is_empty(), "it still hangs");
    shutdown.cancel();
    tasks.join_next().await.unwrap().unwrap();
    assert_eq!(scene.callback(held_up).await.attempts.len(), 1, "its end is on record");
}

#[tokio::test]
async fn the_loop_tries_again_when_the_schedule_says_so() {
    let scene = Scene::new().await;
    let mut receiver = Receiver::start([Reply::Status(503)]).await;
    let task = scene.cancelled_task(&receiver.url()).await;
    let (mut tasks, shutdown) = start(scene.deliverer());
    let first = receiver.next().await;
    let second = receiver.next().await;
    assert_eq!(first.header(HEADER_ID), second.header(HEADER_ID));
    shutdown.cancel();
    tasks.join_next().await.unwrap().unwrap();
    let callback = scene.callback(task).await;
    assert_eq!((callback.state.as_str(), callback.attempts.len()), ("delivered", 2));
    let between = callback.attempts[1].at - callback.attempts[0].at;
    assert!(between >= chrono::Duration::seconds(4), "{between}");
}
