//! What receivers get, and what follows from what they answer.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::net::TcpListener;

use super::receiver::{Receiver, Reply};
use super::scene::{HERE, Scene, TRACEPARENT, error, wait_seconds};
use crate::callback::{CallbackSecret, HEADER_ID, HEADER_SIGNATURE, HEADER_TIMESTAMP};

/// Within what a socket holds, many times over, and far from without end.
const CUT_OFF_BYTES_MAX: u64 = 64 * 1024 * 1024;

#[tokio::test]
async fn a_receiver_gets_the_exact_body_with_signature_and_trace() {
    let scene = Scene::new().await;
    let mut receiver = Receiver::start([]).await;
    let task = scene.cancelled_task(&receiver.url()).await;
    assert_eq!(scene.deliverer().deliver_due().await.unwrap(), 1);
    let received = receiver.next().await;
    let callback = scene.callback(task).await;
    assert_eq!(received.header(HEADER_ID), callback.id.to_string());
    assert_eq!(received.header("content-type"), "application/json");
    assert_eq!(received.header("user-agent"), concat!("donegate/", env!("CARGO_PKG_VERSION")));
    assert_eq!(received.header("traceparent"), TRACEPARENT);
    assert_eq!(received.json()["type"], "task.cancelled");
    let secret = scene.key.callback_secret(scene.project.id, 1);
    let verifier = standardwebhooks::Webhook::new(&secret.expose()).unwrap();
    verifier.verify(&received.body, &received.headers).unwrap();
    assert_eq!(callback.state, "delivered");
    assert_eq!((callback.attempts.len(), callback.attempts[0].status), (1, Some(200)));
    assert_eq!(scene.deliverer().deliver_due().await.unwrap(), 0);
}

#[tokio::test]
async fn after_a_rotation_both_secrets_sign_for_a_day() {
    let scene = Scene::new().await;
    let mut receiver = Receiver::start([]).await;
    let origin = gate_store::Origin::gate(None, None);
    scene.store.rotate_callback_secret(scene.project.id, &origin).await.unwrap();
    let secret = |generation| scene.key.callback_secret(scene.project.id, generation);
    let signs = |secret: &CallbackSecret, received: &super::receiver::Received| {
        let signed = crate::callback::Signed {
            id: received.header(HEADER_ID),
            timestamp: received.header(HEADER_TIMESTAMP),
            signature: received.header(HEADER_SIGNATURE),
            body: &received.body,
        };
        signed.verify(secret, crate::clock::Clock::now(scene.clock.as_ref())).is_ok()
    };
    for (hours, old_one_signs) in [(23, true), (2, false)] {
        scene.clock.advance(Duration::from_secs(hours * 3600));
        scene.cancelled_task(&receiver.url()).await;
        scene.deliverer().deliver_due().await.unwrap();
        let received = receiver.next().await;
        assert!(signs(&secret(2), &received));
        assert_eq!(signs(&secret(1), &received), old_one_signs);
    }
}

#[tokio::test]
async fn a_receiver_that_fails_is_asked_again_with_the_same_id() {
    let scene = Scene::new().await;
    let mut receiver = Receiver::start([Reply::Status(500)]).await;
    let task = scene.cancelled_task(&receiver.url()).await;
    assert_eq!(scene.deliverer().deliver_due().await.unwrap(), 1);
    let callback = scene.callback(task).await;
    assert_eq!((callback.state.as_str(), error(&callback)), ("due", "the receiver answered 500"));
    assert!((3..=6).contains(&wait_seconds(&callback)), "{callback:?}");
    assert_eq!(scene.deliverer().deliver_due().await.unwrap(), 0, "it is not due yet");
    scene.store.redeliver(None, callback.id).await.unwrap();
    assert_eq!(scene.deliverer().deliver_due().await.unwrap(), 1);
    let (first, second) = (receiver.next().await, receiver.next().await);
    assert_eq!(first.header(HEADER_ID), second.header(HEADER_ID));
    assert_eq!(first.body, second.body);
    let callback = scene.callback(task).await;
    assert_eq!((callback.state.as_str(), callback.attempts.len()), ("delivered", 2));
}

#[tokio::test]
async fn a_redirect_is_a_failure_and_is_not_followed() {
    let scene = Scene::new().await;
    let mut elsewhere = Receiver::start([]).await;
    for status in [301, 302, 307, 308] {
        let reply = Reply::With(status, "location", elsewhere.url());
        let mut receiver = Receiver::start([reply]).await;
        let task = scene.cancelled_task(&receiver.url()).await;
        scene.deliverer().deliver_due().await.unwrap();
        receiver.next().await;
        let callback = scene.callback(task).await;
        assert_eq!(callback.state, "due");
        assert!(error(&callback).contains("redirects are not followed"), "{callback:?}");
    }
    assert!(elsewhere.is_empty());
}

#[tokio::test]
async fn a_receiver_that_is_gone_is_given_up_at_once() {
    let scene = Scene::new().await;
    let receiver = Receiver::start([Reply::Status(410)]).await;
    let task = scene.cancelled_task(&receiver.url()).await;
    scene.deliverer().deliver_due().await.unwrap();
    let callback = scene.callback(task).await;
    assert_eq!((callback.state.as_str(), callback.attempts[0].status), ("dead", Some(410)));
}

#[tokio::test]
async fn a_receiver_that_asks_to_wait_is_waited_for() {
    let scene = Scene::new().await;
    let reply = Reply::With(429, "retry-after", "120".to_owned());
    let receiver = Receiver::start([reply]).await;
    let task = scene.cancelled_task(&receiver.url()).await;
    scene.deliverer().deliver_due().await.unwrap();
    let callback = scene.callback(task).await;
    assert_eq!((callback.state.as_str(), wait_seconds(&callback)), ("due", 120));
}

#[tokio::test]
async fn a_receiver_that_hangs_is_left() {
    let scene = Scene::new().await;
    let receiver = Receiver::start([Reply::Hang]).await;
    let task = scene.cancelled_task(&receiver.url()).await;
    let deliverer = scene.deliverer_with(HERE, Duration::from_millis(300));
    deliverer.deliver_due().await.unwrap();
    let callback = scene.callback(task).await;
    assert_eq!(error(&callback), "no answer within 300 ms");
    assert_eq!((callback.state.as_str(), callback.attempts[0].status), ("due", None));
}

#[tokio::test]
async fn an_answer_without_end_is_cut_off() {
    let scene = Scene::new().await;
    for (status, state) in [(200, "delivered"), (500, "due")] {
        let receiver = Receiver::start([Reply::Endless(status)]).await;
        let task = scene.cancelled_task(&receiver.url()).await;
        // With a limit of half a minute, only the cut ends it in time.
        let delivered = tokio::time::timeout(Duration::from_secs(20), async {
            scene.deliverer().deliver_due().await
        });
        delivered.await.expect("reading stops").unwrap();
        assert_eq!(scene.callback(task).await.state, state);
        assert!(receiver.body_bytes.load(Ordering::Relaxed) < CUT_OFF_BYTES_MAX);
    }
}

#[tokio::test]
async fn a_receiver_that_is_not_there_is_tried_again() {
    let scene = Scene::new().await;
    let taken = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = taken.local_addr().unwrap().port();
    drop(taken);
    let task = scene.cancelled_task(&format!("http://127.0.0.1:{port}/?token=t0psecret")).await;
    scene.deliverer().deliver_due().await.unwrap();
    let callback = scene.callback(task).await;
    assert_eq!(callback.state, "due");
    assert!(error(&callback).starts_with("could not connect: Connection refused"), "{callback:?}");
    assert!(!error(&callback).contains("t0psecret"));
}

#[tokio::test]
async fn a_receiver_without_tls_at_an_https_url_is_a_failure() {
    let scene = Scene::new().await;
    let mut receiver = Receiver::start([]).await;
    let task = scene.cancelled_task(&receiver.url().replace("http:", "https:")).await;
    scene.deliverer().deliver_due().await.unwrap();
    let callback = scene.callback(task).await;
    assert_eq!(callback.state, "due");
    assert!(error(&callback).starts_with("could not connect: "), "{callback:?}");
    assert!(receiver.is_empty());
}
