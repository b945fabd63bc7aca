//! The hidden subcommand `sandbox-init`: a small process between the gate and the commands of one run.
//!
//! It puts up the walls of its tier, then starts one command after the other as the gate says. When
//! a command ends, or the gate says so, or the gate dies, it ends everything that the command
//! started and only then says how it went. It has one thread, so that it may fork. What a command
//! prints does not pass through here; whether an outcome is good or bad is nothing it knows.

mod calls;
mod command;
mod container;
mod descendants;
mod engine_counts;
mod fence;
mod first;
mod kill;
mod measure;
mod mounts;
mod namespace;
mod nursery;
mod protected;
mod results;
mod root;
mod serve;
mod sys;

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixStream;
use std::path::Path;

use rustix::process::getpid;

use crate::probe;
use crate::wire::{self, Hello, Ready, Refusal, SetUp, Walls};
use fence::Fence;
use kill::Domain;
use serve::Service;

/// The word by which an executable is asked to be an init.
pub(crate) const SUBCOMMAND: &str = "sandbox-init";
/// The word behind it by which it is asked to be a nursery.
pub(crate) const NURSERY: &str = "nursery";

/// Becomes what the gate asks this executable to be, if it does, and then never returns.
///
/// As the first process of a container it stays that, and returns in a child.
///
/// Call it first in `main`, before any thread is started.
#[expect(clippy::exit, reason = "an init has nothing to unwind, and must not return into `main`")]
pub fn take_over_if_asked() {
    let mut args = std::env::args_os().skip(1);
    match args.next() {
        Some(word) if word == SUBCOMMAND => {
            std::process::exit(if attend(args).is_ok() { 0 } else { 70 });
        }
        Some(word) if word == probe::SUBCOMMAND => {
            std::process::exit(if probe::answer(args).is_ok() { 0 } else { 70 });
        }
        // Where it fails there is no second process at all, which `main` will tell better.
        Some(_) | None => first::stand_in_if_first().unwrap_or_default(),
    }
}

fn attend(mut args: impl Iterator<Item = OsString>) -> io::Result<()> {
    match args.next() {
        None => greet_and_attend(&leave_the_gate()?),
        Some(word) if word == NURSERY => nursery::serve(&leave_the_gate()?),
        // In a container the line is a socket with a name, and the engine has made a session.
        Some(socket) => {
            let line = container::line(Path::new(&socket))?;
            sys::keep_descriptors_private()?;
            attend_at(&line)
        }
    }
}

/// The line that the gate has given as standard input, which becomes the null device.
fn leave_the_gate() -> io::Result<UnixStream> {
    let line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    sys::leave_the_gate()?;
    Ok(line)
}

/// Says which process it is, for the gate to watch.
fn greet_and_attend(line: &UnixStream) -> io::Result<()> {
    wire::send(line, &Hello { pid: getpid().as_raw_nonzero().get() }, &[])?;
    attend_at(line)
}

/// One run, from its set-up to its end.
fn attend_at(line: &UnixStream) -> io::Result<()> {
    let Some((mut set_up, _)) = wire::receive::<SetUp>(line)? else { return Ok(()) };
    if matches!(set_up.walls, Walls::Container(_)) {
        container::complete(&mut set_up);
    }
    let domain = match put_up(&set_up) {
        // Only the first process of the new namespace returns here with walls; its parent waits.
        Ok(Stands::Here(domain)) => domain,
        Ok(Stands::InChild(first)) => return namespace::wait_for(first),
        Err(refusal) => return wire::send(line, &Err::<Ready, _>(refusal), &[]),
    };
    serve_behind(line, &set_up, domain)
}

/// Who serves.
enum Stands {
    Here(Domain),
    InChild(rustix::process::Pid),
}

/// Everything up to the first command.
fn put_up(set_up: &SetUp) -> Result<Stands, Refusal> {
    match &set_up.walls {
        // Where the kernel can tell whose processes are whose, no search is needed to end them.
        Walls::None => {
            let domain = Domain::scoped().or_else(|_| Domain::descendants())?;
            Ok(Stands::Here(domain))
        }
        Walls::Landlock(_) => Ok(Stands::Here(Domain::scoped()?)),
        Walls::Container(walls) => {
            container::check_bounds(*walls)?;
            let domain = Domain::namespace()?;
            container::lay_out(set_up)?;
            Ok(Stands::Here(domain))
        }
        Walls::Namespace(walls) => {
            // While `/proc` still shows the processes that this one forks.
            let owner = set_up.uid.map(mounts::namespace_of).transpose();
            let owner = owner.map_err(Refusal::at("making a user for the workspace"))?;
            match namespace::enter()? {
                namespace::Side::Outer(first) => Ok(Stands::InChild(first)),
                namespace::Side::First => {
                    // A refusal from here on is told by the first process itself.
                    root::build(walls, set_up, owner.as_ref())?;
                    Ok(Stands::Here(Domain::namespace()?))
                }
            }
        }
    }
}

fn serve_behind(line: &UnixStream, set_up: &SetUp, domain: Domain) -> io::Result<()> {
    let made = Fence::compile(set_up)
        .and_then(|fence| Service::new(line, set_up, fence, domain))
        .and_then(|service| namespace::proxy_listener(set_up).map(|listener| (service, listener)));
    match made {
        Ok((service, listener)) => {
            let passed: Vec<_> = listener.iter().map(|it| it.as_fd()).collect();
            wire::send(line, &Ok::<_, Refusal>(service.ready()), &passed)?;
            drop(listener);
            service.serve()
        }
        Err(refusal) => wire::send(line, &Err::<Ready, _>(refusal), &[]),
    }
}

/// Ends this process at once: what its parent has open is not its own to close.
#[expect(
    clippy::exit,
    reason = "a fork has nothing to unwind, and must not return into its parent's loop"
)]
fn leave(result: &io::Result<()>) -> ! {
    std::process::exit(if result.is_ok() { 0 } else { 70 })
}
