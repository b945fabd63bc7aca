//! The ecosystems that are known. To add one: a file beside these, a line in [`ECOSYSTEMS`], a project under
//! `tests/fixtures/`.

mod cargo;
mod cmake;
mod dotnet;
mod go;
mod gradle;
mod make;
mod maven;
mod node;
mod php;
mod python;
mod ruby;

use crate::component::Component;
use crate::directory::Directory;

/// One ecosystem.
#[derive(Debug)]
pub(crate) struct Ecosystem {
    /// Such as `cargo`.
    pub(crate) name: &'static str,
    /// The directory that a file of this path says something about, where the file is a sign of the ecosystem.
    pub(crate) directory: fn(&str) -> Option<&str>,
    /// Looks at such a directory; none where the signs mean nothing.
    pub(crate) read: fn(&Directory<'_>) -> Option<Component>,
    /// Whether it only calls others, and is not looked for where they have shown the tests.
    pub(crate) is_last_resort: bool,
}

/// All of them. In one directory their checks run in this order.
pub(crate) static ECOSYSTEMS: &[Ecosystem] = &[
    cargo::CARGO,
    go::GO,
    maven::MAVEN,
    gradle::GRADLE,
    dotnet::DOTNET,
    node::NODE,
    python::PYTHON,
    ruby::RUBY,
    php::PHP,
    cmake::CMAKE,
    make::MAKE,
];
