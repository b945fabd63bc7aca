//! The executable `donegate`: what an operator, a person, or an agent types.
//!
//! Each command is one variant of [`Command`] and one call below; it answers
//! with an [`Exit`], or with an error that has one. No rule of the gate is
//! decided here: the client half asks a gate and shows its answer.
#![forbid(unsafe_code)]

mod api_key;
mod arguments;
mod client;
mod contract;
mod demo;
mod doctor;
mod document;
mod error;
mod excerpt;
mod exit;
mod healthcheck;
mod init;
mod operate;
mod output;
mod pack;
mod patience;
mod place;
mod read_run;
mod render;
mod report;
mod serve;
mod submission_key;
mod submit;
mod upload;
mod wait;

use std::process::ExitCode;

use crate::arguments::{Arguments, Command};
use crate::exit::Exit;
use crate::output::Output;

fn main() -> ExitCode {
    // Before any thread is started: this executable is also the init of its own sandboxes.
    gate_server::become_sandbox_if_asked();
    let exit = match Arguments::read(std::env::args_os()) {
        Ok(arguments) => match tokio::runtime::Runtime::new() {
            Ok(runtime) => runtime.block_on(run(&arguments)),
            Err(error) => output::refuse_to_start(&error),
        },
        Err(error) => output::refuse_arguments(&error),
    };
    exit.into()
}

async fn run(arguments: &Arguments) -> Exit {
    let global = &arguments.global;
    let output = Output::new(global);
    let ended = match &arguments.command {
        Command::Contract(command) => contract::run(command, global, output).await,
        Command::Submit(arguments) => submit::run(arguments, global, output).await,
        Command::Wait(arguments) => wait::run(arguments, global, output).await,
        Command::Feedback(arguments) => read_run::feedback(arguments, global, output).await,
        Command::Export(arguments) => read_run::export(arguments, global, output).await,
        Command::Excerpt(arguments) => excerpt::run(arguments, output),
        Command::Serve(arguments) => serve::run(arguments, output).await,
        Command::Demo(arguments) => demo::run(arguments, output).await,
        Command::Doctor => doctor::run(output).await,
        Command::Migrate => operate::migrate(output).await,
        Command::Healthcheck(arguments) => healthcheck::run(arguments, output).await,
        Command::Openapi => Ok(operate::openapi(output)),
        Command::Keys(command) => operate::keys(command, global, output).await,
    };
    ended.unwrap_or_else(|error| {
        output.error(&error);
        error.exit()
    })
}
