//! The broker's ends of the wire to a worker: the dialogue on the socket, the bounded output, the tail of the errors.
//! All three move only as far as they can without waiting. Nothing is sent before READY; the secret is sent from where it
//! lies and copied nowhere.

use super::confine::{Level, MEASURES};
use super::worker_io::{HEADER, PROGRAMS};
use super::{Directory, File, OsSystem};
use crate::foundation::limits;
use crate::system::{ChildFault, ChildOrder, External, Fault};
use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::io::IoSlice;
use std::mem::MaybeUninit;

/// The longest line that a worker says.
const LINE: usize = 64;
/// One read.
const STEP: usize = 64 * 1024;
/// The least room for a read.
const LEFT: usize = 4 * 1024;
/// Reads in a row, so that one end that is flooded does not keep the others waiting.
const READS: usize = 16;

/// The socket: first the worker speaks its line, then the broker sends.
pub(super) struct Dialogue<'a> {
    socket: Option<OwnedFd>,
    heard: Vec<u8>,
    level: Option<Level>,
    header: [u8; HEADER],
    request: &'a [u8],
    input: &'a [u8],
    sealed: Option<BorrowedFd<'a>>,
    sent: usize,
}

impl<'a> Dialogue<'a> {
    pub(super) fn new(socket: OwnedFd, order: &'a ChildOrder<'_, OsSystem>) -> Self {
        let (request, input) = (order.request, order.input);
        let mut header = [0; HEADER];
        let lengths = u32::try_from(request.len()).unwrap_or(u32::MAX).to_le_bytes().into_iter();
        let lengths = lengths.chain(u64::try_from(input.len()).unwrap_or(u64::MAX).to_le_bytes());
        header.iter_mut().zip(lengths).for_each(|(byte, length)| *byte = length);
        let sealed = order.sealed.map(|sealed| sealed.as_fd());
        Self {
            socket: Some(socket),
            heard: Vec::with_capacity(LINE),
            level: None,
            header,
            request,
            input,
            sealed,
            sent: 0,
        }
    }

    /// The level that the worker reported; `None` before READY.
    pub(super) fn level(&self) -> Option<Level> {
        self.level
    }

    pub(super) fn watched(&self) -> Option<PollFd<'_>> {
        let events = if self.level.is_none() { PollFlags::IN } else { PollFlags::OUT };
        self.socket.as_ref().map(|socket| PollFd::new(socket, events))
    }

    /// Listens, then sends. A worker that closes its end early may still end well, so that is no error here.
    pub(super) fn advance(&mut self) -> Result<(), ChildFault> {
        while let Some(socket) = &self.socket {
            let moved = if self.level.is_some() {
                send(socket, [&self.header, self.request, self.input], self.sealed, self.sent)
            } else {
                retry_on_intr(|| rustix::io::read(socket, spare_capacity(&mut self.heard)))
            };
            match moved {
                Err(Errno::AGAIN) => return Ok(()),
                Ok(0) | Err(_) => self.socket = None,
                Ok(_) if self.level.is_none() => self.level = understood(&self.heard)?,
                Ok(sent) => {
                    self.sent = self.sent.saturating_add(sent);
                    if self.sent >= self.header.len() + self.request.len() + self.input.len() {
                        // Closing says that nothing more will come.
                        self.socket = None;
                    }
                }
            }
        }
        Ok(())
    }
}

/// What a worker has said so far: `None` while its line is incomplete.
fn understood(heard: &[u8]) -> Result<Option<Level>, ChildFault> {
    let Some(line) = heard.strip_suffix(b"\n") else {
        let endless = heard.len() >= LINE || heard.contains(&b'\n');
        return if endless { Err(ChildFault::Sandbox("protocol")) } else { Ok(None) };
    };
    let mut words = std::str::from_utf8(line).unwrap_or_default().split(' ');
    match (words.next(), words.next(), words.next(), words.next()) {
        (Some("READY"), Some(abi), Some(filter @ ("0" | "1")), None) => match abi.parse() {
            Ok(landlock) => Ok(Some(Level { landlock, seccomp: filter == "1" })),
            Err(_) => Err(ChildFault::Sandbox("protocol")),
        },
        (Some("REFUSED"), Some(word), None, None) => {
            let measure = MEASURES.into_iter().find(|measure| *measure == word);
            Err(ChildFault::Sandbox(measure.unwrap_or("unknown")))
        }
        _ => Err(ChildFault::Sandbox("protocol")),
    }
}

/// Sends the files of an external runtime, before it is started; [`Fault::TooLarge`] if they are too many.
pub(super) fn send_programs(socket: &OwnedFd, external: &External<File, Directory>) -> Result<(), Fault> {
    let mut files = vec![external.interpreter.as_fd(), external.package.as_fd()];
    files.extend(external.libraries.iter().map(File::as_fd));
    if files.len() > PROGRAMS {
        return Err(Fault::TooLarge);
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PROGRAMS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    control.push(SendAncillaryMessage::ScmRights(&files));
    retry_on_intr(|| sendmsg(socket, &[IoSlice::new(&[0])], &mut control, SendFlags::NOSIGNAL))?;
    Ok(())
}

/// Sends from `sent` on; the first byte carries the sealed descriptor.
fn send(socket: &OwnedFd, parts: [&[u8]; 3], sealed: Option<BorrowedFd<'_>>, sent: usize) -> rustix::io::Result<usize> {
    let mut skip = sent;
    let slices = parts.map(|part| {
        let rest = part.get(skip.min(part.len())..).unwrap_or_default();
        skip = skip.saturating_sub(part.len());
        IoSlice::new(rest)
    });
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors = sealed.map(|descriptor| [descriptor]);
    if let Some(descriptors) = descriptors.as_ref().filter(|_| sent == 0) {
        control.push(SendAncillaryMessage::ScmRights(descriptors));
    }
    retry_on_intr(|| sendmsg(socket, &slices, &mut control, SendFlags::NOSIGNAL))
}

/// Standard output, bounded.
pub(super) struct Output {
    pipe: Option<OwnedFd>,
    bytes: Vec<u8>,
    limit: usize,
}

impl Output {
    pub(super) fn new(pipe: OwnedFd, limit: usize) -> Self {
        Self { pipe: Some(pipe), bytes: Vec::new(), limit }
    }

    pub(super) fn watched(&self) -> Option<PollFd<'_>> {
        self.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN))
    }

    pub(super) fn advance(&mut self) -> Result<(), ChildFault> {
        while let Some(pipe) = &self.pipe {
            // Room for a whole step again only where hardly any is left: the end is mostly read with what there is.
            if self.bytes.capacity() - self.bytes.len() < LEFT {
                self.bytes.reserve(STEP.min(self.limit.saturating_add(1)));
            }
            match retry_on_intr(|| rustix::io::read(pipe, spare_capacity(&mut self.bytes))) {
                Err(Errno::AGAIN) => return Ok(()),
                Ok(0) | Err(_) => self.pipe = None,
                Ok(_) if self.bytes.len() > self.limit => return Err(ChildFault::OutputTooLarge),
                Ok(_) => {}
            }
        }
        Ok(())
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// Standard error: only the last bytes are kept.
pub(super) struct Errors {
    pipe: Option<OwnedFd>,
    tail: Vec<u8>,
}

impl Errors {
    pub(super) fn new(pipe: OwnedFd) -> Self {
        Self { pipe: Some(pipe), tail: Vec::new() }
    }

    pub(super) fn watched(&self) -> Option<PollFd<'_>> {
        self.pipe.as_ref().map(|pipe| PollFd::new(pipe, PollFlags::IN))
    }

    pub(super) fn advance(&mut self) {
        let mut step = [0; limits::RUNTIME_STDERR_BYTES];
        for _ in 0..READS {
            let Some(pipe) = &self.pipe else { return };
            match retry_on_intr(|| rustix::io::read(pipe, &mut step)) {
                Err(Errno::AGAIN) => return,
                Ok(0) | Err(_) => self.pipe = None,
                Ok(read) => {
                    self.tail.extend_from_slice(step.get(..read).unwrap_or_default());
                    let old = self.tail.len().saturating_sub(limits::RUNTIME_STDERR_BYTES);
                    self.tail.drain(..old);
                }
            }
        }
    }

    pub(super) fn bytes(self) -> Vec<u8> {
        self.tail
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_two_lines_of_the_protocol_are_understood() {
        assert_eq!(understood(b"READY 7 1\n"), Ok(Some(Level { landlock: 7, seccomp: true })));
        assert_eq!(understood(b"READY 7"), Ok(None));
        assert_eq!(understood(b"REFUSED landlock\n"), Err(ChildFault::Sandbox("landlock")));
        assert_eq!(understood(b"REFUSED something-else\n"), Err(ChildFault::Sandbox("unknown")));
        for line in ["READY 7 2\n", "READY 7 1 1\n", "READY x 1\n", "READY 7 1\nmore", "\n", "ready 7 1\n", "\u{0}\n"] {
            assert_eq!(understood(line.as_bytes()), Err(ChildFault::Sandbox("protocol")), "{line:?}");
        }
        assert_eq!(understood(&[b'x'; LINE]), Err(ChildFault::Sandbox("protocol")));
    }
}
