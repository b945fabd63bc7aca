//! The domain of an init: which processes are its commands', and how all of them are ended at once.
//!
//! In a namespace, and in a Landlock domain that scopes signals, the kernel knows: one `kill(-1)`
//! hits all of them under one lock and nobody else, however fast they fork. Without either they are
//! looked for in `/proc`.

use std::io;
use std::time::{Duration, Instant};

use landlock::{RulesetAttr as _, Scope};
use rustix::process::{getpid, getppid, set_child_subreaper, test_kill_process};
use rustix::thread::set_no_new_privs;

use super::measure::Reaping;
use super::{descendants, sys};
use crate::limits::KILL_GRACE_MS;
use crate::wire::Refusal;

/// How the processes of the commands are told from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Domain {
    Descendants,
    Scoped,
    Namespace,
}

impl Domain {
    /// Everything below this process.
    pub(super) fn descendants() -> Result<Self, Refusal> {
        become_parent_of_orphans()?;
        Ok(Self::Descendants)
    }

    /// A Landlock domain that no signal leaves.
    pub(super) fn scoped() -> Result<Self, Refusal> {
        become_parent_of_orphans()?;
        let scope = landlock::Ruleset::default()
            .set_compatibility_hard()
            .scope(Scope::Signal)
            .and_then(landlock::Ruleset::create)
            .and_then(|it| it.restrict_self());
        scope.map_err(|it| Refusal::says("scoping signals with Landlock", &it.to_string()))?;
        // Seen, not believed: what follows from it is a `kill(-1)`.
        match getppid().map(test_kill_process) {
            Some(Err(rustix::io::Errno::PERM)) => Ok(Self::Scoped),
            _ => Err(Refusal::says(
                "scoping signals with Landlock",
                "a signal can still leave the domain",
            )),
        }
    }

    /// A process namespace, whose first process this is.
    pub(super) fn namespace() -> Result<Self, Refusal> {
        if getpid().as_raw_nonzero().get() != 1 {
            return Err(Refusal::says("entering the namespace", "this is not its first process"));
        }
        set_no_new_privs(true).map_err(Refusal::at("giving up new privileges"))?;
        sys::hide().map_err(Refusal::at("hiding from the commands"))?;
        Ok(Self::Namespace)
    }

    /// Ends them all, and returns when all are reaped.
    pub(super) fn end_all(self, reaping: &mut Reaping) -> io::Result<()> {
        let deadline = Instant::now() + Duration::from_millis(KILL_GRACE_MS / 2);
        while reaping.reap_all()? {
            if Instant::now() > deadline {
                return Err(io::Error::other("processes of the command survive SIGKILL"));
            }
            match self {
                Self::Descendants => descendants::stop_and_kill(deadline)?,
                Self::Scoped | Self::Namespace => sys::kill_all(),
            }
            if reaping.reap_all()? {
                std::thread::sleep(Duration::from_micros(200));
            }
        }
        Ok(())
    }
}

fn become_parent_of_orphans() -> Result<(), Refusal> {
    set_child_subreaper(Some(getpid())).map_err(Refusal::at("adopting orphans"))?;
    // A program with a set-user-id bit could not be ended.
    set_no_new_privs(true).map_err(Refusal::at("giving up new privileges"))?;
    sys::hide().map_err(Refusal::at("hiding from the commands"))
}

/// Without this, the library would go on with less than was asked for.
trait Hard: Sized {
    fn set_compatibility_hard(self) -> Self;
}

impl Hard for landlock::Ruleset {
    fn set_compatibility_hard(self) -> Self {
        use landlock::{CompatLevel, Compatible as _};
        self.set_compatibility(CompatLevel::HardRequirement)
    }
}
