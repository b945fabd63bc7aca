//! Migrations are embedded, so the crate is built again when they change.

fn main() {
    println!("cargo::rerun-if-changed=../../migrations");
}
