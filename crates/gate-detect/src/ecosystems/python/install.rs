//! Who installs what a Python project needs, and how its programs are then called.

use gate_core::CommandLine;

use super::manifest::Manifest;
use crate::component::Draft;
use crate::directory::Directory;

/// The environment that pip fills. In the workspace, because the gate's own Python is not to be written to.
const VENV: &str = ".venv";
const VENV_PYTHON: &str = ".venv/bin/python";

/// Who installs the dependencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Installer {
    Uv,
    Poetry,
    Pdm,
    Pipenv,
    /// Into an environment of its own.
    Pip,
    /// There is nothing to install.
    Nobody,
}

impl Installer {
    /// The lock file says it; pip is for all that has none.
    pub(super) fn of(at: &Directory<'_>, manifest: &Manifest) -> Self {
        match at.first_of(&["uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock"]) {
            Some("uv.lock") => Self::Uv,
            Some("poetry.lock") => Self::Poetry,
            Some("pdm.lock") => Self::Pdm,
            Some(_) => Self::Pipenv,
            None if !manifest.requirements.is_empty()
                || manifest.is_installable(at)
                || manifest.group().is_some() =>
            {
                Self::Pip
            }
            None => Self::Nobody,
        }
    }

    pub(super) fn installs(self) -> bool {
        self != Self::Nobody
    }

    /// Adds the commands that install everything, the runner of the tests among it.
    pub(super) fn add_setup(
        self,
        draft: &mut Draft<'_, '_>,
        at: &Directory<'_>,
        manifest: &Manifest,
        runner: Option<&str>,
    ) {
        let extra = manifest.extra();
        match self {
            Self::Uv => {
                let extra = extra.map(|it| ["--extra", it]);
                let extra = extra.as_ref().map_or(&[][..], |it| it.as_slice());
                draft.setup(at.run(&[&["uv", "sync", "--locked"], extra].concat()));
            }
            Self::Poetry => {
                let extra = extra.map(|it| ["--extras", it]);
                let extra = extra.as_ref().map_or(&[][..], |it| it.as_slice());
                draft.setup(at.run(&[&["poetry", "install", "--no-interaction"], extra].concat()));
            }
            Self::Pdm => draft.setup(at.run(&["pdm", "sync", "--dev", "--no-self"])),
            Self::Pipenv => draft.setup(at.run(&["pipenv", "sync", "--dev"])),
            Self::Pip => self.add_pip(draft, at, manifest, runner),
            Self::Nobody => {
                if runner.is_some() {
                    draft.unsure("no file names dependencies: the gate's own pytest is used");
                }
            }
        }
        let names_runner = runner.is_none_or(|it| manifest.names(it));
        if self.installs() && self != Self::Pip && !names_runner {
            draft.unsure("pytest is not among the dependencies that were read: the lock file has to bring it");
        }
    }

    fn add_pip(
        self,
        draft: &mut Draft<'_, '_>,
        at: &Directory<'_>,
        manifest: &Manifest,
        runner: Option<&str>,
    ) {
        draft.setup(at.run(&["python3", "-m", "venv", "--clear", VENV]));
        let mut what: Vec<String> = Vec::new();
        for file in &manifest.requirements {
            what.extend(["-r".to_owned(), (*file).to_owned()]);
        }
        if manifest.is_installable(at) {
            let extra = manifest.extra().map(|it| format!("[{it}]")).unwrap_or_default();
            what.extend(["-e".to_owned(), format!(".{extra}")]);
        }
        if let Some(group) = manifest.group() {
            what.extend(["--group".to_owned(), group.to_owned()]);
            draft.unsure("pip knows dependency groups from version 25.1 on");
        }
        if let Some(runner) = runner.filter(|it| !manifest.names(it)) {
            what.push(runner.to_owned());
            draft.unsure(format!("{runner} is not among the dependencies that were read: its newest version is installed"));
        }
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        let what: Vec<&str> = what.iter().map(String::as_str).collect();
        draft.setup(self.run_python(at, &[install.as_slice(), &what].concat()));
        draft.unsure("without a lock file each run may get other versions of the dependencies");
    }

    /// Calls a program that was installed.
    pub(super) fn run_tool(self, at: &Directory<'_>, command: &[&str]) -> CommandLine {
        match self {
            // As a module, so that the working directory can be imported from.
            Self::Pip => self.run_python(at, &[&["-m"], command].concat()),
            Self::Uv | Self::Poetry | Self::Pdm | Self::Pipenv => {
                at.run(&[self.prefix(), command].concat())
            }
            Self::Nobody => at.run(command),
        }
    }

    /// Calls the Python that has the dependencies.
    pub(super) fn run_python(self, at: &Directory<'_>, arguments: &[&str]) -> CommandLine {
        match self {
            Self::Pip => at.run(&[&[VENV_PYTHON], arguments].concat()),
            Self::Nobody => at.run(&[&["python3"], arguments].concat()),
            Self::Uv | Self::Poetry | Self::Pdm | Self::Pipenv => {
                at.run(&[self.prefix(), &["python"], arguments].concat())
            }
        }
    }

    const fn prefix(self) -> &'static [&'static str] {
        match self {
            Self::Uv => &["uv", "run", "--no-sync"],
            Self::Poetry => &["poetry", "run"],
            Self::Pdm => &["pdm", "run"],
            Self::Pipenv => &["pipenv", "run"],
            Self::Pip | Self::Nobody => &[],
        }
    }
}
