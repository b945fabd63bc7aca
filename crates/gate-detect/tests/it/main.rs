//! What is detected in small projects of each kind: `fixtures/<kind>/project`, and the answer beside it.
#![expect(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod fixtures;
mod mixtures;
