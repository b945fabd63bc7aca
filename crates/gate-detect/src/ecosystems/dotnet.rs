//! C#, F#, and Visual Basic with the .NET SDK: `dotnet test` of the solution, or of each test project.

use super::Ecosystem;
use crate::component::{CheckPurpose, Component, Draft, words};
use crate::directory::{Directory, name, owner, parent};
use crate::xml::{self, Element};

pub(crate) const DOTNET: Ecosystem =
    Ecosystem { name: "dotnet", directory, read, is_last_resort: false };

const SOLUTIONS: [&str; 3] = ["*.slnx", "*.sln", "*.slnf"];
const PROJECTS: [&str; 3] = ["**/*.csproj", "**/*.fsproj", "**/*.vbproj"];
/// Packages that make a project one of tests.
const TEST_PACKAGES: [&str; 5] = ["Microsoft.NET.Test.Sdk", "xunit", "xunit.v3", "NUnit", "MSTest"];

fn directory(path: &str) -> Option<&str> {
    let extension = name(path).rsplit_once('.')?.1;
    match extension {
        "sln" | "slnx" | "slnf" => Some(parent(path)),
        "csproj" | "fsproj" | "vbproj" => Some(owner(path, &["src", "test", "tests"])),
        _ => None,
    }
}

fn read(at: &Directory<'_>) -> Option<Component> {
    let solution = SOLUTIONS.iter().find_map(|it| at.matching(it).next());
    let projects: Vec<&str> = PROJECTS.iter().flat_map(|it| at.matching(it)).collect();
    let shown_by = solution.or_else(|| projects.first().copied())?;
    let mut draft = Draft::new(at, "dotnet", shown_by);
    let tests: Vec<&str> = projects.iter().copied().filter(|it| is_test(at, it)).collect();
    let (whole, tested): (Vec<&str>, Vec<&str>) = match solution {
        Some(it) => (vec![it], if tests.is_empty() { Vec::new() } else { vec![it] }),
        None => (projects.clone(), tests.clone()),
    };
    let dotnet = |command: &str, of: &str, more: &[&str]| {
        let of = at.join(of);
        words([&["dotnet", command, of.as_str()], more].concat())
    };
    for it in if tested.is_empty() { &whole } else { &tested } {
        let has_lock = at.has_any(&["**/packages.lock.json"]);
        draft.setup(dotnet("restore", it, if has_lock { &["--locked-mode"] } else { &[] }));
    }
    for it in &tested {
        draft.check(
            CheckPurpose::Tests,
            dotnet("test", it, &["--no-restore", "--nologo"]),
            &[],
            "builds, and runs the tests",
        );
    }
    if tested.is_empty() {
        for it in &whole {
            draft.check(
                CheckPurpose::Build,
                dotnet("build", it, &["--no-restore", "--nologo"]),
                &[],
                "no test project was found: this only compiles",
            );
        }
        draft.unsure("no project refers to a package of tests: a check of kind `tests` would find none and fail");
    }
    let globs: Vec<String> = tests
        .iter()
        .map(|it| parent(it))
        .filter(|it| !it.is_empty())
        .map(|it| format!("{}/**", globset::escape(it)))
        .collect();
    draft.protect(&globs.iter().map(String::as_str).collect::<Vec<_>>());
    draft.protect(&["**/*.runsettings", "**/xunit.runner.json"]);
    draft.protect_unless(
        "they hold for tests and for the code alike",
        &["Directory.Build.props", "Directory.Build.targets", "Directory.Packages.props"],
    );
    draft.variable("DOTNET_NOLOGO", "1");
    draft.variable("DOTNET_CLI_TELEMETRY_OPTOUT", "1");
    Some(draft.finish())
}

fn is_test(at: &Directory<'_>, project: &str) -> bool {
    let elements = at.read(project).map(|it| xml::elements(&it)).unwrap_or_default();
    elements.iter().any(|it| match it.name.as_str() {
        "IsTestProject" => it.text.eq_ignore_ascii_case("true"),
        "PackageReference" => refers_to_tests(it),
        // `<Project Sdk="MSTest.Sdk/3.6">`
        "Project" => it.attribute("Sdk").is_some_and(|sdk| sdk.starts_with("MSTest.Sdk")),
        _ => false,
    })
}

fn refers_to_tests(reference: &Element) -> bool {
    let name = reference.attribute("Include").or_else(|| reference.attribute("Update"));
    name.is_some_and(|name| TEST_PACKAGES.iter().any(|it| it.eq_ignore_ascii_case(name)))
}
