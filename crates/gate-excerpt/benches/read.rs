//! How fast logs are read, in megabytes a second on one core, beside the floor: one look at each byte.
//!
//! `cargo bench -p gate-excerpt`, or only what has a word in its name: `… --bench read -- script`. A log of 50,000 lines, one that is far larger than what is kept of it, a single
//! line of 100 MB, and the same 50,000 lines under a script, where every tool's banner is looked for.
#![expect(clippy::print_stdout, reason = "a figure on a terminal is what it is for")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use gate_excerpt::{Input, read};

const MEGABYTE: f64 = 1_000_000.0;
/// Times that each log is read; the fastest one counts.
const TIMES: usize = 9;

fn main() {
    let service = service_log();
    let pytest = ["pytest", "-s"];
    let script = ["sh", "ci.sh"];
    measure("pytest, 50k lines", || service.clone(), &pytest, TIMES);
    measure("script, 50k lines", || service.clone(), &script, TIMES);
    let lines = |of: fn(usize) -> String| move || (0..50_000).map(of).collect::<String>();
    measure("gcc, 50k errors", lines(gcc_error), &["make", "check"], TIMES);
    measure("tsc, 50k errors", lines(tsc_error), &script, TIMES);
    measure("unknown, 50k errors", lines(unknown_error), &script, TIMES);
    measure("one line of 100 MB", || "item=ok, ".repeat(100_000_000 / 9), &script, 3);
    let times = 1_000_000_000_usize.div_ceil(service.len());
    measure("log of 1 GB", || service.repeat(times), &pytest, 2);
}

fn gcc_error(it: usize) -> String {
    format!("src/a{it}.c:{}:3: error: no field {it} in 'x'\n", it % 900)
}

fn tsc_error(it: usize) -> String {
    format!("src/a{it}.ts({},3): error TS2304: Cannot find name 'x{it}'.\n", it % 900)
}

fn unknown_error(it: usize) -> String {
    format!("step {it}: error: row {it} of x{it}.dat does not fit\n")
}

/// As a chatty service's tests print: most of it is captured output.
fn service_log() -> String {
    let mut log = String::from(
        "============================= test session starts ==============================\ncollected 2 items\n\ntest_svc.py .F                                                           [100%]\n\n=================================== FAILURES ===================================\n__________________________________ test_polls __________________________________\n\n    def test_polls():\n>       assert polls() == 25000\nE       assert 24999 == 25000\n\ntest_svc.py:10: AssertionError\n------------------------------ Captured log call -------------------------------\n",
    );
    for it in 0..50_000 {
        log.push_str("INFO     svc:svc.py:7 poll ");
        log.push_str(&it.to_string());
        log.push_str(" errors=0 failed=0\n");
    }
    log.push_str("=========================== short test summary info ============================\nFAILED test_svc.py::test_polls - assert 24999 == 25000\n========================= 1 failed, 1 passed in 2.90s ==========================\n");
    log
}

fn measure(name: &str, log: impl FnOnce() -> String, command: &[&str], times: usize) {
    let mut words = std::env::args().skip(1).filter(|it| !it.starts_with('-')).peekable();
    if words.peek().is_some() && !words.any(|it| name.contains(&it)) {
        return;
    }
    let log = log();
    let bytes = log.as_bytes();
    let command: Vec<String> = command.iter().map(ToString::to_string).collect();
    let input =
        Input { bytes, command: &command, exit_code: Some(1), roots: &["/w"], ..Input::default() };
    let read_seconds = fastest(times, || drop(black_box(read(black_box(&input)))));
    let floor_seconds = fastest(times, || {
        black_box(memchr::memchr_iter(b'\n', black_box(bytes)).count());
    });
    let rate = |seconds: f64| bytes.len() as f64 / MEGABYTE / seconds;
    println!(
        "{name:20} {:8.1} MB: {:7.0} MB/s (floor {:6.0} MB/s)",
        bytes.len() as f64 / MEGABYTE,
        rate(read_seconds),
        rate(floor_seconds)
    );
}

fn fastest(times: usize, run: impl Fn()) -> f64 {
    let seconds = (0..times).map(|_| {
        let (start, start_on_core) = (Instant::now(), on_core());
        run();
        let on_core = start_on_core.and_then(|start| Some(on_core()? - start));
        on_core.unwrap_or_else(|| start.elapsed()).as_secs_f64()
    });
    seconds.fold(f64::INFINITY, f64::min)
}

/// For how long this thread had a core, on Linux; what else runs on the machine does not count.
fn on_core() -> Option<Duration> {
    // The kernel adds up when it looks for what to run next.
    std::thread::yield_now();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    told.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
