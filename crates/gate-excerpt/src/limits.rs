//! Every bound of this crate, with its unit in its name.

use gate_core::limits::{EXCERPT_BYTES_MAX, OUTPUT_BYTES_MAX};

/// A longer log is read at its start and at its end only.
pub(crate) const READ_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Of a longer log, this much is read at the start; the rest of [`READ_BYTES_MAX`] at the end.
pub(crate) const READ_HEAD_BYTES: usize = 16 * 1024 * 1024;
/// Lines that are kept; of more, half at the start and half at the end.
pub(crate) const LINES_MAX: usize = 4_000_000;
/// A longer line is kept in pieces: its start, its end, and what stands around words like `error`.
pub(crate) const LINE_BYTES_MAX: usize = 16 * 1024;
/// The first and the last piece of such a line.
pub(crate) const PIECE_BYTES: usize = 2 * 1024;
/// Of a piece in the middle: before the word.
pub(crate) const PIECE_BEFORE_BYTES: usize = 100;
/// Of a piece in the middle: from the word on.
pub(crate) const PIECE_AFTER_BYTES: usize = 600;
/// Pieces in the middle of one line.
pub(crate) const PIECES_MAX: usize = 4;
/// Overwritten states of one progress line that are kept because they name an error.
pub(crate) const OVERWRITTEN_MAX: usize = 50;

/// Failing tests of one reading.
pub(crate) const FAILING_TESTS_MAX: usize = 500;
/// Subtests in subtests that are followed.
pub(crate) const SUBTEST_DEPTH_MAX: usize = 64;
/// Failing tests that are shown with their lines.
pub(crate) const FAILING_TESTS_SHOWN_MAX: usize = 50;
/// Errors and warnings of one reading.
pub(crate) const DIAGNOSTICS_MAX: usize = 50;
/// Warnings of the gate itself that are told besides, as that a file could not be read.
pub(crate) const NOTES_MAX: usize = 10;
/// Problems of one parser that are read closely, whatever they look like.
pub(crate) const CLOSE_FIRST_MAX: usize = 1_000;
/// More problems that are, because they look like none before them.
pub(crate) const CLOSE_SHAPES_MAX: usize = 1_000;
/// The last problems, which are as well.
pub(crate) const CLOSE_LAST_MAX: usize = 64;
/// A message, in one line.
pub(crate) const MESSAGE_BYTES_MAX: usize = 400;
/// The expected or the actual side of a comparison.
pub(crate) const COMPARED_BYTES_MAX: usize = 400;
/// Lines of a failure in which a comparison is looked for.
pub(crate) const COMPARED_LINES_MAX: usize = 80;
/// A test's name.
pub(crate) const NAME_BYTES_MAX: usize = 500;
/// An excerpt takes in context until it has this many bytes.
pub(crate) const EXCERPT_BYTES_SOFT: usize = 900;
/// One line of an excerpt.
pub(crate) const EXCERPT_LINE_BYTES_MAX: usize = 500;
/// Lines of the tail.
pub(crate) const TAIL_LINES: usize = 15;
/// Lines that the generic reader remembers to find out which ones repeat.
pub(crate) const SEEN_LINES_MAX: usize = 20_000;
/// A line that occurs more often is noise.
pub(crate) const REPEATS_MAX: u32 = 20;
/// Candidates that the generic reader weighs.
pub(crate) const CANDIDATES_MAX: usize = 2_000;
/// Lines of a green run that are remembered as noise.
pub(crate) const BASELINE_LINES_MAX: usize = 200_000;
/// Other places that one problem names.
pub(crate) const ALSO_AT_MAX: usize = 10;
/// Lines that are looked at to find out whether a wrapper put something before each.
pub(crate) const PREFIX_SAMPLE_LINES: usize = 200;
/// Tasks of one log whose lines are put together again.
pub(crate) const STREAMS_MAX: usize = 256;
/// Lines of a project's own pattern.
pub(crate) const MATCHER_STEPS_MAX: usize = 10;
/// One such pattern, as written.
pub(crate) const MATCHER_PATTERN_BYTES_MAX: usize = 1_000;
/// One such pattern, compiled.
pub(crate) const MATCHER_COMPILED_BYTES_MAX: usize = 1024 * 1024;
/// Problems that one such pattern finds.
pub(crate) const MATCHER_HITS_MAX: usize = 1_000;
/// A machine-readable file that is larger is not read.
pub(crate) const SIDE_BYTES_MAX: usize = 32 * 1024 * 1024;
/// Machine-readable files of one reading.
pub(crate) const SIDES_MAX: usize = 1_000;
/// Tests, errors, or lines that are taken from one machine-readable document.
pub(crate) const ENTRIES_MAX: usize = 100_000;
/// Values in all lists of one JSON document together.
pub(crate) const DOCUMENT_VALUES_MAX: usize = 1_000_000;
/// Lines of one log that are looked at as the start of such a document.
pub(crate) const DOCUMENT_TRIES_MAX: usize = 5_000;
/// How often each byte of a log may be looked at, on average, as a part of documents that turn out to be broken.
pub(crate) const DOCUMENT_LOOKS_MAX: usize = 8;
/// Machine-readable documents in one log.
pub(crate) const DOCUMENTS_MAX: usize = 100;
/// Lines after an error in which its stack is looked for.
pub(crate) const BLOCK_LINES_MAX: usize = 400;

const _: () = assert!(EXCERPT_BYTES_SOFT < EXCERPT_BYTES_MAX);
const _: () = assert!(4 * EXCERPT_LINE_BYTES_MAX <= EXCERPT_BYTES_MAX);
// What a command may print at most is read whole.
const _: () = assert!(READ_BYTES_MAX as u64 >= OUTPUT_BYTES_MAX);
// Positions in the cleaned text are kept in 32 bits; an invalid byte becomes three.
const _: () = assert!(READ_BYTES_MAX < (u32::MAX as usize) / 4);
