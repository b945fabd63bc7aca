//! `donegate doctor`: what this machine can do, and what to install or switch on for more.
//!
//! It reads the configuration of `serve`, and tries every isolation tier through the code that runs
//! contracts. It is well when commands can be walled in: by Landlock, or by more.

mod machine;

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use gate_api::{IsolationBody, IsolationTierWord};
use gate_core::IsolationTier;
use gate_server::{Config, Surveyed};
use serde::Serialize;
use tokio::task::spawn_blocking;

use crate::error::CliError;
use crate::exit::Exit;
use crate::output::Output;
use crate::render::clean;
use crate::serve::{ServeArguments, read_config};
use machine::{Cgroups, program};

/// The programs that run images, in the order in which they are looked for.
const ENGINES: [&str; 2] = ["podman", "docker"];

/// All that was found.
#[derive(Debug, Serialize)]
struct Findings {
    /// Whether a tier of at least `landlock` works.
    well: bool,
    tiers: Vec<TierFound>,
    git: Found,
    postgresql: Found,
    container_engine: Found,
    cgroups: Cgroups,
}

/// One tier: what it means here, or why it is not to be had and what to do.
#[derive(Debug, Serialize)]
struct TierFound {
    tier: IsolationTierWord,
    detail: Option<IsolationBody>,
    reason: Option<String>,
    advice: Option<&'static str>,
}

/// A program: where it is, or why that matters.
#[derive(Debug, Serialize)]
struct Found {
    path: Option<PathBuf>,
    note: String,
}

/// Looks, and tells.
pub(crate) async fn run(output: Output) -> Result<Exit, CliError> {
    let config = read_config(&ServeArguments { role: None, listen: None, data_dir: None })?;
    let tiers = gate_server::survey(&config).await;
    let findings = Findings {
        well: tiers.iter().any(|it| it.tier >= IsolationTier::Landlock && it.result.is_ok()),
        tiers: tiers.into_iter().map(Into::into).collect(),
        git: git(&config),
        postgresql: postgresql(&config).await,
        container_engine: container_engine(&config),
        cgroups: Cgroups::of_machine(),
    };
    let word = if findings.well { "well" } else { "unwell" };
    output.answer(&findings, &text(&findings), &word);
    Ok(if findings.well { Exit::Pass } else { Exit::Fail })
}

impl From<Surveyed> for TierFound {
    fn from(Surveyed { tier, result, advice }: Surveyed) -> Self {
        let (detail, reason) = match result {
            Ok(isolation) => (Some(isolation.into()), None),
            Err(reason) => (None, Some(reason)),
        };
        Self { tier: tier.into(), detail, reason, advice }
    }
}

fn search_path(config: &Config) -> &OsStr {
    config.worker.environment.get(OsStr::new("PATH")).map_or(OsStr::new(""), |it| it)
}

fn git(config: &Config) -> Found {
    let path = program(Path::new("git"), search_path(config));
    let note = if path.is_some() { "" } else { "install git; workspaces come from repositories" };
    Found { path, note: note.to_owned() }
}

async fn postgresql(config: &Config) -> Found {
    if config.database_url.is_some() {
        let note = "not needed: DATABASE_URL names a server".to_owned();
        return Found { path: None, note };
    }
    let mut settings = gate_postgres::Settings::within(&config.data_dir);
    settings.bin_dir.clone_from(&config.postgres.bin_dir);
    let found = spawn_blocking(move || gate_postgres::Binaries::of_machine(&settings)).await;
    match found {
        Ok(Ok(found)) => Found { path: Some(found.dir), note: format!("version {}", found.major) },
        Ok(Err(_)) if cfg!(feature = "download") => {
            let note = "none on this machine; `serve` fetches one, or set DATABASE_URL";
            Found { path: None, note: note.to_owned() }
        }
        Ok(Err(error)) => Found { path: None, note: error.to_string() },
        Err(panic) => std::panic::resume_unwind(panic.into_panic()),
    }
}

fn container_engine(config: &Config) -> Found {
    let named = config.sandbox.container_engine.as_deref();
    let names: Vec<&Path> = match named {
        Some(name) => vec![name],
        None => ENGINES.iter().map(Path::new).collect(),
    };
    let path = names.iter().find_map(|it| program(it, search_path(config)));
    let note = match (&path, named) {
        (Some(_), _) => String::new(),
        (None, Some(name)) => format!(
            "DONEGATE_SANDBOX_CONTAINER_ENGINE is {}, which cannot be executed",
            name.display()
        ),
        (None, None) => "needed only for contracts that name an image".to_owned(),
    };
    Found { path, note }
}

fn text(findings: &Findings) -> String {
    let mut text = "Isolation tiers, the strongest first\n".to_owned();
    for found in &findings.tiers {
        tier(&mut text, found);
    }
    text.push_str("\nPrograms\n");
    let programs = [
        ("git", &findings.git),
        ("PostgreSQL", &findings.postgresql),
        ("container engine", &findings.container_engine),
    ];
    for (name, Found { path, note }) in programs {
        let path = path.as_ref().map_or("none".into(), |it| it.to_string_lossy());
        let note = if note.is_empty() { String::new() } else { format!(" ({note})") };
        line(&mut text, &format!("  {name:<17} {path}{note}"));
    }
    let Cgroups { mode, writable } = findings.cgroups;
    let writable = match (mode, writable) {
        ("none", _) => "",
        (_, true) => ", writable",
        (_, false) => ", not writable: memory is watched and not bounded by the kernel",
    };
    line(&mut text, &format!("  {:<17} {mode}{writable}", "cgroups"));
    text.push_str(if findings.well {
        "\nCommands can be walled in."
    } else {
        "\nNothing walls commands in here. DONEGATE_SANDBOX_TIER=process runs them all the same, with nothing hidden."
    });
    text
}

fn tier(text: &mut String, found: &TierFound) {
    let word = IsolationTier::from(found.tier).as_str();
    let Some(detail) = &found.detail else {
        let reason = found.reason.as_deref().unwrap_or("unknown");
        line(text, &format!("  {word:<10} no: {reason}"));
        if let Some(advice) = &found.advice {
            line(text, &format!("  {:<10} → {advice}", ""));
        }
        return;
    };
    let loopback = if detail.loopback { "loopback" } else { "no loopback" };
    let abi = detail.landlock_abi.map_or_else(String::new, |it| format!(", Landlock {it}"));
    let IsolationBody { kernel_uid, memory_bound, workspace, .. } = detail;
    line(
        text,
        &format!(
            "  {word:<10} yes: {loopback}, memory {memory_bound}, workspace {workspace}, uid {kernel_uid}{abi}"
        ),
    );
    for gap in &detail.known_gaps {
        line(text, &format!("  {:<10} gap: {gap}", ""));
    }
}

fn line(text: &mut String, line: &str) {
    writeln!(text, "{}", clean(line)).expect("writing to a String cannot fail");
}

#[cfg(test)]
mod tests {
    use gate_core::{Isolation, MemoryBound, RunLimits, WorkspaceKind};

    use super::*;

    fn surveyed(tier: IsolationTier, result: Result<(), &str>) -> TierFound {
        let isolation = Isolation {
            tier,
            kernel_uid: 61_000,
            landlock_abi: Some(7),
            loopback: false,
            memory_bound: MemoryBound::CgroupV2,
            workspace: WorkspaceKind::Overlay,
            setup: gate_core::SetupUse::None,
            limits: RunLimits::default(),
            known_gaps: vec!["sockets with a path".to_owned()],
        };
        let advice = result.is_err().then_some("install it");
        let result = result.map(|()| isolation).map_err(ToOwned::to_owned);
        Surveyed { tier, result, advice }.into()
    }

    #[test]
    fn what_is_there_is_told_with_its_meaning_and_what_is_not_with_what_to_do() {
        let findings = Findings {
            well: true,
            tiers: vec![
                surveyed(IsolationTier::Namespace, Err("no userns\u{1b}[2J")),
                surveyed(IsolationTier::Landlock, Ok(())),
            ],
            git: Found { path: Some("/usr/bin/git".into()), note: String::new() },
            postgresql: Found { path: None, note: "not needed".to_owned() },
            container_engine: Found { path: None, note: String::new() },
            cgroups: Cgroups { mode: "v2", writable: true },
        };
        insta::assert_snapshot!(text(&findings), @"
        Isolation tiers, the strongest first
          namespace  no: no userns�[2J
                     → install it
          landlock   yes: no loopback, memory cgroup_v2, workspace overlay, uid 61000, Landlock 7
                     gap: sockets with a path

        Programs
          git               /usr/bin/git
          PostgreSQL        none (not needed)
          container engine  none
          cgroups           v2, writable

        Commands can be walled in.
        ");
    }
}
