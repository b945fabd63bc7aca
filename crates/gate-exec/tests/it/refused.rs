//! A tier that does not keep its promises here is refused, with its reason, and a weaker one is told apart from it.
//!
//! What is broken is real: a container's filter of system calls, a host without user namespaces,
//! settings that show commands what they must not see.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::Stdio;

use gate_core::IsolationTier;
use gate_exec::TierSettings;
use rustix::process::geteuid;

use crate::alone::{Alone, is_alone};
use crate::docker_like;
use crate::fixture::{found_tiers, has_program, own_tiers, settings, text};

/// Of the hostile table, what counts for a container: containment, and what must not be reached.
const ROWS: &str = "2,4,8,9,10,12,15,16,17,18,20,21,22,23,25";

#[test]
fn in_a_container_landlock_holds_in_full() {
    in_container(Alone::new("refused::container"));
}

#[test]
fn in_a_container_of_an_ordinary_user_landlock_holds_in_full() {
    if let Some(alone) = Alone::as_user("refused::container") {
        in_container(alone);
    }
}

fn in_container(alone: Alone) {
    // There is no namespace to be required.
    let alone = alone.with("DONEGATE_TEST_REQUIRE_TIERS", "landlock");
    alone.with("DONEGATE_TEST_ROWS", ROWS).with_hostile_environment().run();
}

#[test]
fn container() {
    if !is_alone() {
        return;
    }
    docker_like::enter();
    assert_landlock_without_namespace("Operation not permitted");
    crate::hostile::run_all(found_tiers);
}

#[test]
fn a_host_without_user_namespaces_has_landlock_for_an_ordinary_user() {
    let Some(alone) = Alone::as_user("refused::no_user_namespaces") else { return };
    if !has_program("unshare") || !has_program("setpriv") {
        return;
    }
    let user = alone.user().unwrap();
    let mut inner = alone.command();
    // Mapped users get their capabilities with the next program; then the namespace is closed for more.
    let script = "read go; exec sh -c 'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --reuid=$0 --regid=$0 --clear-groups \"$@\"' \"$@\"";
    #[expect(clippy::disallowed_methods, reason = "a host is made on which the test runs")]
    let mut outer = std::process::Command::new("unshare");
    outer.args(["--user", "sh", "-c", script, "sh"]).arg(user.to_string());
    outer.arg(inner.get_program()).args(inner.get_args());
    outer.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    outer.current_dir(alone.home()).stdin(Stdio::piped());
    let mut child =
        outer.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn().unwrap();
    inner.stdin(Stdio::null());
    let namespace = || fs::read_link(format!("/proc/{}/ns/user", child.id())).unwrap();
    let own = fs::read_link("/proc/self/ns/user").unwrap();
    while namespace() == own {
        std::thread::yield_now();
    }
    for map in ["uid_map", "gid_map"] {
        let lines = format!("0 0 1\n{user} {user} 1\n");
        fs::write(format!("/proc/{}/{map}", child.id()), lines).unwrap();
    }
    child.stdin.take().unwrap().write_all(b"go\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
    println!("{said}");
}

#[test]
fn no_user_namespaces() {
    if is_alone() {
        assert_landlock_without_namespace("leaving the host's namespaces: No space left on device");
    }
}

fn assert_landlock_without_namespace(reason: &str) {
    let found = survey(&settings());
    let namespace = found[&IsolationTier::Namespace].as_ref().unwrap_err();
    println!("namespace: {namespace}");
    assert!(namespace.contains(reason), "{namespace}");
    assert!(found[&IsolationTier::Landlock].is_ok(), "{:?}", found[&IsolationTier::Landlock]);
}

/// Whose commands would be the gate's own user.
#[test]
fn settings_that_leave_commands_root_are_refused() {
    if !geteuid().is_root() {
        println!("not run: only where the gate is root its commands have users of their own");
        return;
    }
    let found = survey(&TierSettings { uid_base: 0, ..settings() });
    let refused = |tier| found[&tier].as_ref().unwrap_err();
    let namespace = refused(IsolationTier::Namespace);
    assert!(namespace.contains("making a user for the workspace"), "{namespace}");
    let landlock = refused(IsolationTier::Landlock);
    assert!(landlock.contains("was root"), "{landlock}");
    assert!(found[&IsolationTier::Process].is_ok());
}

/// Of an ordinary user: where the gate is root, file permissions are a wall behind it.
#[test]
fn settings_that_show_the_gates_files_to_commands_are_refused() {
    match Alone::as_user("refused::shown") {
        Some(alone) => drop(alone.run()),
        None => show(),
    }
}

#[test]
fn shown() {
    if is_alone() {
        show();
    }
}

fn show() {
    let read_only_paths = vec![settings().data_dir];
    let found = survey(&TierSettings { read_only_paths, ..settings() });
    // In a namespace the run's own `/tmp` lies over these.
    let landlock = found[&IsolationTier::Landlock].as_ref().unwrap_err();
    assert!(landlock.contains("read a file of the gate"), "{landlock}");
}

/// What each tier is, or why it is refused.
fn survey(settings: &TierSettings) -> BTreeMap<IsolationTier, Result<(), String>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let found = runtime.block_on(own_tiers(settings));
    found.into_iter().map(|(tier, result)| (tier, result.map(drop))).collect()
}
