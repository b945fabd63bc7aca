//! What the first process of a container owes the others: to reap orphans, and to pass signals on.
//!
//! A program that is started as process 1 becomes this, and goes on as its child. So the gate needs no
//! other init in its container, and never waits for children that are not its own.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;

use rustix::process::getpid;

use super::sys::{self, Fork};

/// Passed on to the program.
const PASSED: [i32; 6] =
    [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGQUIT, libc::SIGUSR1, libc::SIGUSR2];
/// What a shell adds to the number of a signal.
const SIGNALLED: i32 = 128;

/// Returns at once in any process but the first of a process namespace; there, it returns in a child of it.
pub(super) fn stand_in_if_first() -> io::Result<()> {
    if getpid().as_raw_nonzero().get() != 1 {
        return Ok(());
    }
    let signals = blocked();
    match sys::fork()? {
        Fork::Child => {
            unblock(&signals);
            Ok(())
        }
        Fork::Parent(program) => stand_in(program.as_raw_nonzero().get(), &signals),
    }
}

#[expect(clippy::exit, reason = "the program is gone, and what is left here is nobody's")]
fn stand_in(program: i32, signals: &libc::sigset_t) -> ! {
    loop {
        let signal = next(signals);
        if PASSED.contains(&signal) {
            pass(program, signal);
            continue;
        }
        while let Ok(Some(reaped)) = sys::reap() {
            if reaped.pid == program {
                let status = reaped.status;
                std::process::exit(if libc::WIFSIGNALED(status) {
                    SIGNALLED + libc::WTERMSIG(status)
                } else {
                    libc::WEXITSTATUS(status)
                });
            }
        }
    }
}

/// Keeps signals until they are asked for, so that none is lost between two looks.
#[expect(unsafe_code, reason = "neither std nor rustix has signal sets")]
fn blocked() -> libc::sigset_t {
    let mut signals = MaybeUninit::<libc::sigset_t>::uninit();
    // SAFETY: `sigemptyset` fills the set that the others then change; this process has one thread.
    unsafe {
        libc::sigemptyset(signals.as_mut_ptr());
        for signal in PASSED.iter().chain(&[libc::SIGCHLD]) {
            libc::sigaddset(signals.as_mut_ptr(), *signal);
        }
        libc::sigprocmask(libc::SIG_BLOCK, signals.as_ptr(), ptr::null_mut());
        signals.assume_init()
    }
}

#[expect(unsafe_code, reason = "neither std nor rustix has signal sets")]
fn unblock(signals: &libc::sigset_t) {
    // SAFETY: the set is a live one, and the old one is not asked for.
    unsafe { libc::sigprocmask(libc::SIG_UNBLOCK, signals, ptr::null_mut()) };
}

#[expect(unsafe_code, reason = "neither std nor rustix has sigwaitinfo")]
fn next(signals: &libc::sigset_t) -> i32 {
    // SAFETY: the set is a live one, and no details are asked for.
    unsafe { libc::sigwaitinfo(signals, ptr::null_mut()) }
}

#[expect(unsafe_code, reason = "rustix has no signals by number")]
fn pass(program: i32, signal: i32) {
    // SAFETY: the call takes no pointers. It fails only when the program is gone, which is seen next.
    unsafe { libc::kill(program, signal) };
}
