//! A stream that fails when nothing has moved for too long, in either direction.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

/// See the module.
#[derive(Debug)]
pub(super) struct IdleStream<S> {
    stream: S,
    limit: Duration,
    silence: Pin<Box<Sleep>>,
}

impl<S> IdleStream<S> {
    pub(super) fn new(stream: S, limit: Duration) -> Self {
        Self { stream, limit, silence: Box::pin(sleep(limit)) }
    }

    /// The answer of the stream, or the end of patience while it has none.
    fn watch<T>(
        &mut self,
        cx: &mut Context<'_>,
        answer: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if answer.is_ready() {
            let end = Instant::now() + self.limit;
            self.silence.as_mut().reset(end);
            return answer;
        }
        ready!(self.silence.as_mut().poll(cx));
        let text = format!("nothing moved for {} s", self.limit.as_secs_f64());
        Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, text)))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for IdleStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let answer = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.watch(cx, answer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for IdleStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let answer = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.watch(cx, answer)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
