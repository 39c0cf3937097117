//! Streams that wait. Whoever started this process may have made its standard streams non-blocking; the flag is shared
//! with them, so it is left as it is and waited for instead. Never gives up on a stream that is merely not ready.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, BorrowedFd};
use rustix::io::retry_on_intr;
use std::io::{ErrorKind, Read, Result, Write};

/// A stream whose reads and writes wait until they can be done.
pub struct Waiting<T>(pub T);

impl<T: AsFd> Waiting<T> {
    fn wait(&self, until: PollFlags) -> Result<()> {
        let stream: BorrowedFd<'_> = self.0.as_fd();
        // An end that was closed counts as ready: the next call says so.
        retry_on_intr(|| poll(&mut [PollFd::from_borrowed_fd(stream, until)], None))?;
        Ok(())
    }
}

fn is_not_ready<V>(outcome: &Result<V>) -> bool {
    outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

impl<T: Read + AsFd> Read for Waiting<T> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        loop {
            let read = self.0.read(buffer);
            if !is_not_ready(&read) {
                return read;
            }
            self.wait(PollFlags::IN)?;
        }
    }
}

impl<T: Write + AsFd> Write for Waiting<T> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        loop {
            let written = self.0.write(bytes);
            if !is_not_ready(&written) {
                return written;
            }
            self.wait(PollFlags::OUT)?;
        }
    }

    fn flush(&mut self) -> Result<()> {
        loop {
            let flushed = self.0.flush();
            if !is_not_ready(&flushed) {
                return flushed;
            }
            self.wait(PollFlags::OUT)?;
        }
    }
}
