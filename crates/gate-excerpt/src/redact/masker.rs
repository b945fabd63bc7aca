//! Masks a log of any length as it passes, byte for byte, so that every offset stays true.
//!
//! Needs the memory of one window. Where the bytes are cut on their way makes no difference: a secret that lies over a
//! border is held back until it is whole.

use super::class::Class;
use super::find::beginning_in;
use super::key_block::BLOCK_BYTES_MAX;
use super::options::COMMAND_BYTES_MAX;

/// What is looked at in one go.
const WINDOW_BYTES: usize = 256 * 1024;
/// Held back, because a secret may begin there: as long as the longest that is looked at whole.
const HELD_BYTES: usize = BLOCK_BYTES_MAX + 256;
/// Kept of what was given out: a secret's name, or the command whose option it is.
const CONTEXT_BYTES: usize = COMMAND_BYTES_MAX + 56;
const MASK: u8 = b'*';

// What is given out of a window is most of it.
const _: () = assert!(HELD_BYTES + CONTEXT_BYTES < WINDOW_BYTES / 4);

/// Masks the bytes that pass through it.
#[derive(Debug, Default)]
pub struct Masker {
    window: Vec<u8>,
    /// Of the window, what was given out.
    given: usize,
    /// Of the window, up to where a secret goes.
    masked_until: usize,
    /// What it goes on with, where it was not whole.
    open: Option<Class>,
    secrets: u64,
}

impl Masker {
    /// Nothing has passed yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes in bytes, and gives out those that are decided on.
    pub fn push(&mut self, mut bytes: &[u8], masked: &mut Vec<u8>) {
        while !bytes.is_empty() {
            let room = WINDOW_BYTES - self.window.len();
            let (now, later) = bytes.split_at(room.min(bytes.len()));
            self.window.extend_from_slice(now);
            bytes = later;
            if self.window.len() == WINDOW_BYTES {
                self.decide(WINDOW_BYTES - HELD_BYTES, masked);
            }
        }
    }

    /// Gives out the rest, and says how many secrets there were.
    pub fn finish(mut self, masked: &mut Vec<u8>) -> u64 {
        self.decide(self.window.len(), masked);
        self.secrets
    }

    /// Masks and gives out the window up to `end`.
    fn decide(&mut self, end: usize, masked: &mut Vec<u8>) {
        if let Some(class) = self.open.take() {
            self.masked_until += class.run(&self.window[self.masked_until..]);
            self.open = (self.masked_until == self.window.len()).then_some(class);
        }
        let first = masked.len();
        let given = self.given;
        masked.extend_from_slice(&self.window[given..end.max(given)]);
        let out = &mut masked[first..];
        let mut mask = |from: usize, to: usize| {
            let (from, to) = (from.clamp(given, end), to.clamp(given, end));
            // Line ends stay, so that lines do.
            out[from - given..to - given]
                .iter_mut()
                .filter(|it| !matches!(it, b'\n' | b'\r'))
                .for_each(|it| *it = MASK);
        };
        mask(given, self.masked_until);
        for secret in beginning_in(&self.window, given..end, self.masked_until) {
            mask(secret.range.start, secret.range.end);
            self.masked_until = secret.range.end;
            self.secrets += 1;
            self.open = (secret.range.end == self.window.len()).then_some(secret.class);
        }
        let dropped = end.saturating_sub(CONTEXT_BYTES);
        self.window.drain(..dropped);
        self.given = end - dropped;
        self.masked_until = self.masked_until.saturating_sub(dropped);
    }
}
