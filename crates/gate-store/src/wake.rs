//! Wake-ups: hints that something changed, within the process at once, to other processes by NOTIFY.
//!
//! A hint may be lost; every loop that waits for one also looks by itself from time to time.

use std::time::Duration;

use gate_core::TaskId;
use sqlx::postgres::{PgListener, PgPoolOptions};
use tokio::sync::Notify;
use tokio::sync::broadcast;
use uuid::Uuid;

use crate::{Store, StoreError};

/// Task changes that a slow waiter may lag behind before it looks by itself.
const CHANGES_BUFFERED: usize = 1024;
const RECONNECT_DELAY_MIN: Duration = Duration::from_millis(100);
const RECONNECT_DELAY_MAX: Duration = Duration::from_secs(5);

/// What a hint is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    /// A run became ready.
    Work,
    /// A run was taken away from the worker that has it.
    TakenAway,
    /// A callback became due.
    Callbacks,
}

/// The hints of this process.
#[derive(Debug)]
pub struct Wakes {
    work: Notify,
    taken_away: Notify,
    callbacks: Notify,
    tasks: broadcast::Sender<TaskId>,
}

/// The task changes that happen from now on.
#[derive(Debug)]
pub struct Changes(broadcast::Receiver<TaskId>);

impl Default for Wakes {
    fn default() -> Self {
        let (tasks, _) = broadcast::channel(CHANGES_BUFFERED);
        Self { work: Notify::new(), taken_away: Notify::new(), callbacks: Notify::new(), tasks }
    }
}

impl Changes {
    /// Waits until this task may have changed.
    pub async fn of(&mut self, task: TaskId) {
        loop {
            match self.0.recv().await {
                Ok(changed) if changed != task => {}
                // Whoever lags behind cannot know what it missed.
                Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return,
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}

const WORK_CHANNEL: &str = "donegate_work";
const TAKEN_AWAY_CHANNEL: &str = "donegate_taken_away";
const CALLBACK_CHANNEL: &str = "donegate_callback";
const TASK_CHANNEL: &str = "donegate_task";

impl Store {
    /// Waits for the next hint about `topic`. A hint that came while nobody waited is not lost.
    pub async fn woken(&self, topic: Topic) {
        match topic {
            Topic::Work => self.wakes.work.notified().await,
            Topic::TakenAway => self.wakes.taken_away.notified().await,
            Topic::Callbacks => self.wakes.callbacks.notified().await,
        }
    }

    /// Subscribes to task changes. Subscribe first, then read the task, then wait.
    #[must_use]
    pub fn changes(&self) -> Changes {
        Changes(self.wakes.tasks.subscribe())
    }

    /// Hands on the hints of other processes, for as long as it is polled. Reconnects by itself.
    pub async fn listen(&self) {
        let mut delay = RECONNECT_DELAY_MIN;
        loop {
            match self.listen_until_lost(&mut delay).await {
                Ok(()) => {}
                Err(error) => {
                    tracing::warn!(error = %gate_core::Chain(&error), "not listening to other processes; polling meanwhile");
                }
            }
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(RECONNECT_DELAY_MAX);
        }
    }

    async fn listen_until_lost(&self, delay: &mut Duration) -> Result<(), StoreError> {
        // A pool of its own: a listener holds its connection for ever, and must not starve the others.
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .connect_with(self.options.clone().application_name("donegate-listen"))
            .await?;
        let mut listener = PgListener::connect_with(&pool).await?;
        listener
            .listen_all([WORK_CHANNEL, TAKEN_AWAY_CHANNEL, CALLBACK_CHANNEL, TASK_CHANNEL])
            .await?;
        *delay = RECONNECT_DELAY_MIN;
        // What was announced before the subscription was not heard.
        self.wake_all();
        while let Some(notification) = listener.try_recv().await? {
            self.hand_on(notification.channel(), notification.payload());
        }
        self.wake_all();
        Ok(())
    }

    fn hand_on(&self, channel: &str, payload: &str) {
        match channel {
            WORK_CHANNEL => self.wakes.work.notify_one(),
            TAKEN_AWAY_CHANNEL => self.wakes.taken_away.notify_one(),
            CALLBACK_CHANNEL => self.wakes.callbacks.notify_one(),
            _ => {
                if let Ok(task) = Uuid::try_parse(payload) {
                    self.tell_waiters(TaskId::from_uuid(task));
                }
            }
        }
    }

    fn wake_all(&self) {
        self.wakes.work.notify_one();
        self.wakes.taken_away.notify_one();
        self.wakes.callbacks.notify_one();
    }

    pub(crate) async fn announce_work(&self) {
        self.wakes.work.notify_one();
        self.notify(WORK_CHANNEL, "").await;
    }

    pub(crate) async fn announce_taken_away(&self) {
        self.wakes.taken_away.notify_one();
        self.notify(TAKEN_AWAY_CHANNEL, "").await;
    }

    pub(crate) async fn announce_callbacks(&self) {
        self.wakes.callbacks.notify_one();
        self.notify(CALLBACK_CHANNEL, "").await;
    }

    pub(crate) async fn announce_task(&self, task: TaskId) {
        self.tell_waiters(task);
        self.notify(TASK_CHANNEL, &task.to_string()).await;
    }

    fn tell_waiters(&self, task: TaskId) {
        // An error means that nobody waits.
        let _waiters = self.wakes.tasks.send(task).unwrap_or(0);
    }

    /// Tells other processes. A hint that cannot be sent is a later answer, not a wrong one.
    async fn notify(&self, channel: &str, payload: &str) {
        let sent = sqlx::query!(r#"select pg_notify($1, $2) as "it!: ()""#, channel, payload)
            .fetch_one(&self.pool)
            .await;
        if let Err(error) = sent {
            tracing::debug!(channel, error = %gate_core::Chain(&error), "could not notify other processes");
        }
    }
}
