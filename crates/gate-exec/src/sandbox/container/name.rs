//! Names of containers, from which everybody can tell whether their gate is still alive.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::process::getpid;

use crate::stop::start_ticks;

const PREFIX: &str = "donegate";

/// Counts the containers of this process.
static CONTAINERS: AtomicU64 = AtomicU64::new(0);

/// One that nothing else has.
pub(super) fn new() -> String {
    let count = CONTAINERS.fetch_add(1, Ordering::Relaxed);
    let pid = getpid().as_raw_nonzero();
    let ticks = start_ticks(&pid.to_string()).unwrap_or_default();
    format!("{PREFIX}-{}-{pid}-{ticks}-{count}", pid_namespace())
}

/// Whether a container has such a name, and its gate would be seen from here if it were alive.
pub(super) fn is_of_the_dead(name: &str) -> bool {
    let mut parts = name.split('-');
    if parts.next() != Some(PREFIX) {
        return false;
    }
    let (Some(namespace), Some(pid), Some(ticks), Some(_count), None) =
        (parts.next(), parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let is_number = |it: &str| !it.is_empty() && it.bytes().all(|it| it.is_ascii_digit());
    is_number(pid) && namespace == pid_namespace() && start_ticks(pid).is_none_or(|it| it != ticks)
}

/// Process ids mean something only within one.
fn pid_namespace() -> String {
    let link = fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    link.to_string_lossy().chars().filter(char::is_ascii_digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_differ_and_their_gate_is_alive() {
        let (first, second) = (new(), new());
        assert_ne!(first, second);
        assert!(!is_of_the_dead(&first));
    }

    #[test]
    fn a_gate_that_is_gone_or_whose_process_id_was_given_again_is_dead() {
        let (own, namespace) = (std::process::id(), pid_namespace());
        assert!(is_of_the_dead(&format!("donegate-{namespace}-4000000000-1-0")));
        assert!(is_of_the_dead(&format!("donegate-{namespace}-{own}-1-0")));
    }

    #[test]
    fn what_is_not_ours_or_cannot_be_seen_is_left_alone() {
        let namespace = pid_namespace();
        for name in [
            "postgres".to_owned(),
            "donegate".to_owned(),
            "donegate-1-4000000000-1-0".to_owned(),
            format!("donegate-{namespace}-x-1-0"),
            format!("donegate-{namespace}-4000000000-1-0-more"),
        ] {
            assert!(!is_of_the_dead(&name), "{name}");
        }
    }
}
