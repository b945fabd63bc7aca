//! What gate-blob promises, on a real folder and against a real server that speaks like S3.
#![expect(clippy::unwrap_used, reason = "helpers of tests, where a panic is the answer")]

mod folder;
mod help;
mod moto;
mod s3;
