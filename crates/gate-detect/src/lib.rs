//! Which ecosystems a project's files belong to, and how its tests, its build, and its linters are run: the draft of a
//! contract.
//!
//! Reads names and manifests ([`Tree`]), and executes nothing. How the draft is written down is left to its reader.
#![forbid(unsafe_code)]

mod component;
mod detect;
mod directory;
mod ecosystems;
mod tree;
mod xml;

pub use component::{CheckPurpose, Component, DraftCheck, Protected};
pub use detect::{COMPONENTS_MAX, Detection, detect, ecosystems};
pub use tree::{DEPTH_MAX, FILE_BYTES_MAX, FILES_MAX, READ_BYTES_MAX, Tree, WalkError};
