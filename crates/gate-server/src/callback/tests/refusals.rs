//! What the guard keeps from being sent.

use std::time::Duration;

use super::receiver::Receiver;
use super::scene::{Scene, error};

#[tokio::test]
async fn nothing_is_sent_to_this_machine_unless_the_operator_allows_it() {
    let scene = Scene::new().await;
    let mut receiver = Receiver::start([]).await;
    let deliverer = scene.deliverer_with("", Duration::from_secs(30));
    for host in ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"] {
        let task = scene.cancelled_task(&format!("http://{host}:{}/", receiver.port)).await;
        assert_eq!(deliverer.deliver_due().await.unwrap(), 1);
        let callback = scene.callback(task).await;
        assert_eq!((callback.state.as_str(), callback.attempts[0].status), ("due", None));
        let error = error(&callback);
        assert!(error.contains("DONEGATE_CALLBACK_ALLOWED_NETWORKS"), "{host}: {error}");
    }
    assert!(receiver.is_empty());
}

#[tokio::test]
async fn an_allowed_name_is_looked_up_and_reached() {
    let scene = Scene::new().await;
    let mut receiver = Receiver::start([]).await;
    let task = scene.cancelled_task(&format!("http://localhost:{}/", receiver.port)).await;
    scene.deliverer().deliver_due().await.unwrap();
    receiver.next().await;
    assert_eq!(scene.callback(task).await.state, "delivered");
}

#[tokio::test]
async fn a_url_that_is_none_is_given_up() {
    let scene = Scene::new().await;
    let task = scene.cancelled_task("orchestrator").await;
    scene.deliverer().deliver_due().await.unwrap();
    let callback = scene.callback(task).await;
    assert_eq!(callback.state, "dead");
    assert!(error(&callback).starts_with("the URL is none"), "{callback:?}");
}
