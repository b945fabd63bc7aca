//! Every bound that holds everywhere, with its unit in its name.

/// Lines around the telling one are kept until this many bytes.
pub const EXCERPT_BYTES_MAX: usize = 2 * 1024;
/// Findings of one verdict; more are counted, not listed.
pub const FINDINGS_MAX: usize = 50;
/// Markdown for the next prompt.
pub const FEEDBACK_BYTES_MAX: usize = 8 * 1024;
/// A finding's title, cut between characters.
pub const TITLE_BYTES_MAX: usize = 300;
/// The body of one callback; full evidence is fetched by GET.
pub const CALLBACK_BODY_BYTES_MAX: usize = 20 * 1024;
/// An execution keeps this much of its output in memory at the start and again at the end.
pub const CAPTURE_HEAD_BYTES: usize = 64 * 1024;
/// See [`CAPTURE_HEAD_BYTES`].
pub const CAPTURE_TAIL_BYTES: usize = 64 * 1024;

/// A JSON or YAML request body.
pub const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// An uploaded workspace archive, packed.
pub const ARCHIVE_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// A workspace, unpacked.
pub const WORKSPACE_BYTES_MAX: u64 = 2 * 1024 * 1024 * 1024;
/// Files and directories of a workspace.
pub const WORKSPACE_ENTRIES_MAX: u64 = 200_000;
/// A path inside a workspace.
pub const PATH_BYTES_MAX: usize = 4096;
/// All files of an inline workspace together.
pub const INLINE_BYTES_MAX: usize = 1024 * 1024;
/// The diff of a patch.
pub const PATCH_BYTES_MAX: usize = 1024 * 1024;
/// Changes against the baseline that are listed; more are counted.
pub const CHANGES_MAX: usize = 10_000;
/// Failing tests of the untouched baseline that are recorded of one check.
pub const BASELINE_TESTS_MAX: usize = 1000;
/// Changes against the baseline that an answer of the API lists, of those.
pub const ANSWER_CHANGES_MAX: usize = 1000;

/// Criteria of one contract.
pub const CRITERIA_MAX: usize = 200;
/// Checks of one contract.
pub const CHECKS_MAX: usize = 100;
/// Environment variables of one contract.
pub const VARIABLES_MAX: usize = 200;
/// Words of one command.
pub const COMMAND_WORDS_MAX: usize = 1000;

/// One acceptance command: its default and its largest limit.
pub const COMMAND_SECONDS_DEFAULT: u32 = 300;
/// See [`COMMAND_SECONDS_DEFAULT`].
pub const COMMAND_SECONDS_MAX: u32 = 4 * 3600;
/// All commands of a run together: default and largest limit.
pub const RUN_SECONDS_DEFAULT: u32 = 1800;
/// See [`RUN_SECONDS_DEFAULT`].
pub const RUN_SECONDS_MAX: u32 = 8 * 3600;
/// What one command may print on both streams together: default and largest limit.
pub const OUTPUT_BYTES_DEFAULT: u64 = 16 * 1024 * 1024;
/// See [`OUTPUT_BYTES_DEFAULT`].
pub const OUTPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;
/// CPU time of one command, all its processes together: default and largest limit.
pub const CPU_SECONDS_DEFAULT: u32 = 3600;
/// See [`CPU_SECONDS_DEFAULT`].
pub const CPU_SECONDS_MAX: u32 = 64 * 4 * 3600;
/// Memory of all processes of a command together: smallest, default, and largest limit. Less would not start a shell.
pub const MEMORY_MB_MIN: u32 = 16;
/// See [`MEMORY_MB_MIN`].
pub const MEMORY_MB_DEFAULT: u32 = 2048;
/// See [`MEMORY_MB_MIN`].
pub const MEMORY_MB_MAX: u32 = 1024 * 1024;
/// Processes and threads of a command at once: smallest, default, and largest limit. A shell and its pipe need some.
pub const PROCESSES_MIN: u32 = 8;
/// See [`PROCESSES_MIN`].
pub const PROCESSES_DEFAULT: u32 = 256;
/// See [`PROCESSES_MIN`].
pub const PROCESSES_MAX: u32 = 32_768;
/// Files that one process may have open: smallest, default, and largest limit.
pub const OPEN_FILES_MIN: u32 = 64;
/// See [`OPEN_FILES_MIN`].
pub const OPEN_FILES_DEFAULT: u32 = 4096;
/// See [`OPEN_FILES_MIN`].
pub const OPEN_FILES_MAX: u32 = 1_048_576;
/// What a run may write to its workspace, home, and temporary directory: default and largest limit.
pub const DISK_MB_DEFAULT: u32 = 4096;
/// See [`DISK_MB_DEFAULT`].
pub const DISK_MB_MAX: u32 = 1024 * 1024;
/// Files and directories that a run may make for each MB that it may write.
pub const DISK_ENTRIES_PER_MB: u32 = 256;
/// Commands that prepare an environment.
pub const SETUP_COMMANDS_MAX: usize = 20;
/// The name of a container image.
pub const IMAGE_NAME_BYTES_MAX: usize = 255;
/// Rounds of a task: default and largest limit.
pub const ROUNDS_DEFAULT: u32 = 3;
/// See [`ROUNDS_DEFAULT`].
pub const ROUNDS_MAX: u32 = 100;
/// Reports of a task, the last fuse: default and largest limit.
pub const REPORTS_DEFAULT: u32 = 15;
/// See [`REPORTS_DEFAULT`].
pub const REPORTS_MAX: u32 = 1000;

/// Attempts of the gate at one run before it is INCONCLUSIVE.
pub const RUN_ATTEMPTS_MAX: u32 = 3;

// The telling lines of four findings fit into one feedback.
const _: () = assert!(4 * EXCERPT_BYTES_MAX <= FEEDBACK_BYTES_MAX);
// What is answered was recorded before.
const _: () = assert!(ANSWER_CHANGES_MAX <= CHANGES_MAX);
// A command may take as long as its run, not longer.
const _: () = assert!(COMMAND_SECONDS_MAX <= RUN_SECONDS_MAX);
const _: () = assert!(COMMAND_SECONDS_DEFAULT <= RUN_SECONDS_DEFAULT);
// A task can use up its rounds before its reports.
const _: () = assert!(ROUNDS_DEFAULT <= REPORTS_DEFAULT && ROUNDS_MAX <= REPORTS_MAX);
