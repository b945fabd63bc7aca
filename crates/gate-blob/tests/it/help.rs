//! Streams and digests for both places.

use bytes::Bytes;
use futures_util::{Stream, stream};
use gate_core::Sha256Digest;
use sha2::{Digest, Sha256};

pub(crate) const NAMESPACE: &str = "archives/12";

pub(crate) fn sha256(bytes: &[u8]) -> Sha256Digest {
    Sha256Digest::from_bytes(Sha256::digest(bytes).into())
}

/// The bytes in pieces that fit to no boundary.
pub(crate) fn pieces(
    bytes: &[u8],
) -> impl Stream<Item = Result<Bytes, std::io::Error>> + Send + use<> {
    let pieces: Vec<_> = bytes.chunks(70_001).map(|it| Ok(Bytes::copy_from_slice(it))).collect();
    stream::iter(pieces)
}

/// The bytes, and then the client is gone.
pub(crate) fn broken_off(
    bytes: &[u8],
) -> impl Stream<Item = Result<Bytes, std::io::Error>> + Send + use<> {
    let piece = Ok(Bytes::copy_from_slice(bytes));
    stream::iter([piece, Err(std::io::Error::other("the client is gone"))])
}

/// Bytes that do not repeat within a part.
pub(crate) fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let step = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()[0]
    };
    (0..len).map(step).collect()
}
