//! Counts what comes out of a decompressor, and stops a bomb while it unpacks.

use std::io::{self, Read};

use gate_core::limits::WORKSPACE_BYTES_MAX;

use super::super::error::SourceError;
use crate::limits::{EXPANSION_FREE_BYTES, EXPANSION_RATIO_MAX, TAR_OVERHEAD_BYTES_MAX};

/// The block of a tar: its end is two of zeros.
const BLOCK_BYTES: u64 = 512;

/// What may come out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    bytes: u64,
    by_ratio: u64,
}

impl Limits {
    pub(super) fn of_tar(packed_bytes: u64) -> Self {
        let by_ratio = Self::by_ratio(packed_bytes);
        Self { bytes: WORKSPACE_BYTES_MAX + TAR_OVERHEAD_BYTES_MAX, by_ratio }
    }

    pub(super) fn by_ratio(packed_bytes: u64) -> u64 {
        packed_bytes.saturating_mul(EXPANSION_RATIO_MAX).max(EXPANSION_FREE_BYTES)
    }
}

/// A reader that refuses to go on.
pub(super) struct Guarded<R> {
    inner: R,
    limits: Limits,
    read_bytes: u64,
    zeros_at_end: u64,
}

impl<R: Read> Guarded<R> {
    pub(super) fn new(inner: R, limits: Limits) -> Self {
        Self { inner, limits, read_bytes: 0, zeros_at_end: 0 }
    }

    /// Whether the last block that was read is one that ends a tar.
    pub(super) fn ended_with_zeros(&self) -> bool {
        self.zeros_at_end >= BLOCK_BYTES
    }
}

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.read_bytes += count as u64;
        if self.read_bytes > self.limits.by_ratio {
            return Err(io::Error::other(SourceError::Bomb { ratio: EXPANSION_RATIO_MAX }));
        }
        if self.read_bytes > self.limits.bytes {
            let limit = self.limits.bytes;
            return Err(io::Error::other(SourceError::TooLarge { limit, unit: "unpacked bytes" }));
        }
        let zeros = buffer[..count].iter().rev().take_while(|it| **it == 0).count();
        let before = if zeros == count { self.zeros_at_end } else { 0 };
        self.zeros_at_end = before + zeros as u64;
        Ok(count)
    }
}
