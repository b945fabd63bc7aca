//! Finds and ends every process below this one, where no kernel knows which they are.
//!
//! Orphans are ours, because an init is a subreaper: the walk from here downwards misses nobody.
//! A process that forks faster than it is found is stopped first and killed when nothing new
//! appears.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::time::Instant;

use rustix::process::{Pid, Signal, getpid, kill_process};

/// Stops them all until nothing new appears, then kills them. Whether they are gone is seen when they are reaped.
pub(super) fn stop_and_kill(deadline: Instant) -> io::Result<()> {
    for pid in stop_all(deadline)? {
        signal(pid, Signal::KILL);
    }
    Ok(())
}

/// Stops everything that runs until nothing new appears; those are then at rest.
fn stop_all(deadline: Instant) -> io::Result<HashSet<Pid>> {
    let mut stopped = HashSet::new();
    loop {
        let mut found: Vec<Pid> = living()?.into_iter().filter_map(Pid::from_raw).collect();
        found.retain(|pid| !stopped.contains(pid));
        if found.is_empty() || Instant::now() > deadline {
            return Ok(stopped);
        }
        for pid in found {
            signal(pid, Signal::STOP);
            stopped.insert(pid);
        }
    }
}

fn signal(pid: Pid, signal: Signal) {
    // It may have ended by itself meanwhile; whether it did is seen when it is reaped.
    kill_process(pid, signal).ok();
}

/// Everything below this process that is not a zombie.
pub(super) fn living() -> io::Result<Vec<i32>> {
    let mut found = match below_by_children_files() {
        Ok(found) => found,
        // The kernel was built without these files.
        Err(error) if error.kind() == io::ErrorKind::NotFound => below_by_scan()?,
        Err(error) => return Err(error),
    };
    found.retain(|pid| stat(*pid).is_some_and(|it| it.state != 'Z' && it.state != 'X'));
    Ok(found.into_iter().map(|it| it.as_raw_nonzero().get()).collect())
}

fn below_by_children_files() -> io::Result<Vec<Pid>> {
    let own = getpid();
    let mut waiting = children(own)?;
    let mut found = Vec::new();
    while let Some(pid) = waiting.pop() {
        found.push(pid);
        // A process that is gone has no children any more: they are ours now.
        waiting.extend(children(pid).unwrap_or_default());
    }
    Ok(found)
}

fn children(pid: Pid) -> io::Result<Vec<Pid>> {
    let mut found = Vec::new();
    for task in fs::read_dir(format!("/proc/{}/task", pid.as_raw_nonzero()))? {
        let text = fs::read_to_string(task?.path().join("children"))?;
        found.extend(text.split_ascii_whitespace().filter_map(parse_pid));
    }
    Ok(found)
}

fn below_by_scan() -> io::Result<Vec<Pid>> {
    let mut children_of: HashMap<Pid, Vec<Pid>> = HashMap::new();
    for entry in fs::read_dir("/proc")? {
        let Some(pid) = entry?.file_name().to_str().and_then(parse_pid) else { continue };
        if let Some(parent) = stat(pid).and_then(|it| it.parent) {
            children_of.entry(parent).or_default().push(pid);
        }
    }
    let mut waiting = vec![getpid()];
    let mut found = Vec::new();
    while let Some(pid) = waiting.pop() {
        let below = children_of.remove(&pid).unwrap_or_default();
        found.extend(&below);
        waiting.extend(below);
    }
    Ok(found)
}

struct Stat {
    state: char,
    parent: Option<Pid>,
}

fn stat(pid: Pid) -> Option<Stat> {
    let text = fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name stands in parentheses and may hold anything, also parentheses.
    let after = text.iter().rposition(|it| *it == b')')? + 1;
    let rest = String::from_utf8_lossy(&text[after..]).into_owned();
    let mut fields = rest.split_ascii_whitespace();
    Some(Stat { state: fields.next()?.chars().next()?, parent: fields.next().and_then(parse_pid) })
}

fn parse_pid(text: &str) -> Option<Pid> {
    text.parse().ok().and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_in_proc_with_its_parent() {
        let own = stat(getpid()).unwrap();
        assert_eq!(own.parent, rustix::process::getppid());
        assert!(matches!(own.state, 'R' | 'S'), "{}", own.state);
    }

    #[test]
    fn both_ways_of_looking_find_the_same_children() {
        let mut sleep = crate::spawn::plain("sleep").arg("100").spawn().unwrap();
        let pid = Pid::from_child(&sleep);
        assert!(below_by_scan().unwrap().contains(&pid));
        match below_by_children_files() {
            Ok(found) => assert!(found.contains(&pid)),
            Err(error) => assert_eq!(error.kind(), io::ErrorKind::NotFound),
        }
        sleep.kill().unwrap();
        sleep.wait().unwrap();
    }
}
