//! Any bytes as a log, and behind the first NUL as a file beside it.
#![no_main]

use gate_excerpt::{Input, Side, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let end = data.iter().position(|it| *it == 0).unwrap_or(data.len());
    let (bytes, side) = data.split_at(end);
    let sides = [Side { name: "side", bytes: side.get(1..).unwrap_or_default() }];
    let reading = read(&Input { bytes, exit_code: Some(1), sides: &sides, ..Input::default() });
    assert!(reading.diagnostics.iter().all(|it| !it.message.contains("gave up on")));
});
