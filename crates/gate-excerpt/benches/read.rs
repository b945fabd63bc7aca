//! How fast logs are read, in megabytes a second on one core, beside the floor: one look at each byte.
//!
//! `cargo bench -p gate-excerpt`, or only what has a word in its name: `… --bench read -- script`. First made-up logs
//! of 50,000 lines and of sizes that show whether time grows with the log and no faster; then for each tool the
//! fixtures' own lines, again and again, once under the tool's own command and once under a script, where every
//! tool's banner is looked for.
#![expect(clippy::print_stdout, reason = "a figure on a terminal is what it is for")]

use std::hint::black_box;
use std::path::Path;
use std::time::{Duration, Instant};

use gate_excerpt::{Input, command_words, read};

const MEGABYTE: f64 = 1_000_000.0;
/// Times that each log is read; the fastest one counts.
const TIMES: usize = 9;
const LINES: usize = 50_000;
/// How many times as long the log is that shows whether time grows no faster than it.
const GROWTH: usize = 4;

fn main() {
    let service = service_log();
    let pytest = ["pytest", "-s"];
    let script = ["sh", "ci.sh"];
    measure("pytest, 50k lines", || service.clone(), &pytest, TIMES);
    measure("script, 50k lines", || service.clone(), &script, TIMES);
    let lines = |of: fn(usize) -> String| move || (0..LINES).map(of).collect::<String>();
    measure("gcc, 50k errors", lines(gcc_error), &["make", "check"], TIMES);
    measure("tsc, 50k errors", lines(tsc_error), &script, TIMES);
    measure("unknown, 50k errors", lines(unknown_error), &script, TIMES);
    measure("words, 50k errors", lines(worded_error), &script, TIMES);
    sizes("one line", &script, |bytes| "item=ok, ".repeat(bytes / 9));
    sizes("pytest log", &pytest, |bytes| service.repeat(bytes.div_ceil(service.len())));
    sizes("script's log", &script, |bytes| service.repeat(bytes.div_ceil(service.len())));
    if let Err(error) = families() {
        println!("the fixtures cannot be read: {error}");
    }
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

/// Each looks like no other, also without its numbers.
fn worded_error(it: usize) -> String {
    let word: String =
        format!("{it:x}").chars().map(|it| char::from(b'g' + it as u8 % 17)).collect();
    format!("step {word}: error: {word} does not fit\n")
}

/// As a chatty service's tests print: most of it is captured output.
fn service_log() -> String {
    let mut log = String::from(
        "============================= test session starts ==============================\ncollected 2 items\n\ntest_svc.py .F                                                           [100%]\n\n=================================== FAILURES ===================================\n__________________________________ test_polls __________________________________\n\n    def test_polls():\n>       assert polls() == 25000\nE       assert 24999 == 25000\n\ntest_svc.py:10: AssertionError\n------------------------------ Captured log call -------------------------------\n",
    );
    for it in 0..LINES {
        log.push_str("INFO     svc:svc.py:7 poll ");
        log.push_str(&it.to_string());
        log.push_str(" errors=0 failed=0\n");
    }
    log.push_str("=========================== short test summary info ============================\nFAILED test_svc.py::test_polls - assert 24999 == 25000\n========================= 1 failed, 1 passed in 2.90s ==========================\n");
    log
}

/// Whether the command line asks for it.
fn is_asked(name: &str) -> bool {
    let mut words = std::env::args().skip(1).filter(|it| !it.starts_with('-')).peekable();
    words.peek().is_none() || words.any(|it| name.contains(&it))
}

fn measure(name: &str, log: impl FnOnce() -> String, command: &[&str], times: usize) {
    if !is_asked(name) {
        return;
    }
    let log = log();
    let bytes = log.as_bytes();
    let seconds = read_seconds(bytes, command, times);
    let floor_seconds = fastest(times, || {
        black_box(memchr::memchr_iter(b'\n', black_box(bytes)).count());
    });
    println!(
        "{name:20} {:8.1} MB: {:7.0} MB/s (floor {:6.0} MB/s)",
        bytes.len() as f64 / MEGABYTE,
        bytes.len() as f64 / MEGABYTE / seconds,
        bytes.len() as f64 / MEGABYTE / floor_seconds
    );
}

/// The same at three sizes: where time is linear, ten times the bytes take ten times as long. Of what is larger than a
/// log that the gate keeps, only the start and the end are read, and it takes less.
fn sizes(name: &str, command: &[&str], log: impl Fn(usize) -> String) {
    let name = format!("sizes, {name}");
    if !is_asked(&name) {
        return;
    }
    let mut before = None;
    for megabytes in [1, 10, 60, 100, 1000] {
        let log = log(megabytes * 1_000_000);
        let seconds = read_seconds(log.as_bytes(), command, if megabytes > 10 { 3 } else { TIMES });
        let grown = before.map_or(String::new(), |(size, time)| {
            format!(
                ", {:.1} times the size in {:.1} times the time",
                megabytes as f64 / size,
                seconds / time
            )
        });
        println!(
            "{name:20} {megabytes:6} MB: {:7.1} ms, {:7.0} MB/s{grown}",
            seconds * 1000.0,
            log.len() as f64 / MEGABYTE / seconds
        );
        before = Some((megabytes as f64, seconds));
    }
}

/// Each tool's own logs, until there are 50,000 lines.
fn families() -> std::io::Result<()> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let mut tools: Vec<_> = std::fs::read_dir(fixtures)?.collect::<Result<_, _>>()?;
    tools.sort_by_key(std::fs::DirEntry::file_name);
    for tool in tools.into_iter().filter(|it| it.path().is_dir()) {
        let name = tool.file_name().to_string_lossy().into_owned();
        if !is_asked(&format!("tool {name}")) {
            continue;
        }
        let (logs, command) = logs(&tool.path())?;
        let lines = memchr::memchr_iter(b'\n', &logs).count().max(1);
        let log = logs.repeat(LINES.div_ceil(lines));
        let words = command_words(&command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let rates = [&words[..], &["sh", "ci.sh"]].map(|words| {
            let seconds = read_seconds(&log, words, 3);
            let grown = read_seconds(&log.repeat(GROWTH), words, 1) / seconds;
            (log.len() as f64 / MEGABYTE / seconds, grown)
        });
        println!(
            "tool {name:15} {:8.1} MB: {:7.0} MB/s, {:5.0} MB/s under a script; {GROWTH} times as many lines take \
             {:.1} and {:.1} times as long",
            log.len() as f64 / MEGABYTE,
            rates[0].0,
            rates[1].0,
            rates[0].1,
            rates[1].1
        );
    }
    Ok(())
}

/// All logs of a directory after each other, and the command that printed one of them.
fn logs(directory: &Path) -> std::io::Result<(Vec<u8>, String)> {
    let mut paths: Vec<_> =
        std::fs::read_dir(directory)?.map(|it| Ok(it?.path())).collect::<std::io::Result<_>>()?;
    paths.sort();
    let (mut all, mut command) = (Vec::new(), String::new());
    for path in paths.iter().filter(|it| it.extension().is_some_and(|it| it == "log")) {
        all.extend(std::fs::read(path)?);
        if all.last().is_some_and(|it| *it != b'\n') {
            all.push(b'\n');
        }
        let expected: serde_json::Value =
            serde_json::from_slice(&std::fs::read(path.with_extension("expect.json"))?)?;
        if command.is_empty() {
            expected["input"]["command"].as_str().unwrap_or_default().clone_into(&mut command);
        }
    }
    Ok((all, command))
}

fn read_seconds(bytes: &[u8], command: &[&str], times: usize) -> f64 {
    let command: Vec<String> = command.iter().map(ToString::to_string).collect();
    let input =
        Input { bytes, command: &command, exit_code: Some(1), roots: &["/w"], ..Input::default() };
    // Patterns are built once.
    drop(black_box(read(black_box(&input))));
    fastest(times, || drop(black_box(read(black_box(&input)))))
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
