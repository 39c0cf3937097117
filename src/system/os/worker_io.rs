//! The worker's end of the wire to its broker: standard input is a socket, standard output a pipe.
//!
//! The worker speaks one line, `READY <abi> <0|1>` or `REFUSED <measure>`. Then the broker sends a header (request length
//! as u32, input length as u64, little endian), the request, the input, and with the first byte the sealed file. Nothing is
//! read before READY. The input may be a password: it lives in one buffer of its exact size that is wiped when dropped.

use super::confine::{Level, Programs};
use super::{observe, seal, store, walk};
use crate::foundation::limits;
use crate::system::Fault;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg, sockopt};
use rustix::stdio::{stdin, stdout};
use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use zeroize::Zeroizing;

/// Bytes of the header.
pub(super) const HEADER: usize = 12;
/// Files that one external runtime may consist of: interpreter, package directory, libraries.
pub(super) const PROGRAMS: usize = 2 + limits::PIN_LIBRARIES;

/// What the broker sent.
pub struct WorkerInput {
    /// The request: one JSON document.
    pub request: Vec<u8>,
    /// What follows it: a task, a policy or a password.
    pub input: Zeroizing<Vec<u8>>,
    /// The sealed file, where one was sent.
    pub sealed: Option<OwnedFd>,
}

/// The process that made the socket on standard input: the broker. `None` if standard input is no such socket.
pub fn parent_id() -> Option<u32> {
    let peer = sockopt::socket_peercred(stdin()).ok()?;
    u32::try_from(peer.pid.as_raw_pid()).ok()
}

/// Tells the broker how the confinement went. `None`: a measure failed, or nobody listens; the worker must end now.
pub fn report<T>(confined: Result<(Level, T), &'static str>) -> Option<T> {
    match confined {
        Ok((level, held)) => ready(level).ok().map(|()| held),
        Err(measure) => {
            let _ = refused(measure);
            None
        }
    }
}

/// Tells the broker that the sandbox stands. Only now does it send anything.
pub fn ready(level: Level) -> Result<(), Fault> {
    say(&format!("READY {} {}\n", level.landlock, u8::from(level.seccomp)))
}

/// Tells the broker which measure failed. The worker must end now.
pub fn refused(measure: &'static str) -> Result<(), Fault> {
    say(&format!("REFUSED {measure}\n"))
}

fn say(line: &str) -> Result<(), Fault> {
    store::write_all(stdin(), line.as_bytes())
}

/// Receives everything, to the end of the stream. [`Fault::TooLarge`] above the limits, [`Fault::Changed`] if the stream
/// ends early or goes on, [`Fault::Denied`] if more than one descriptor comes.
pub fn receive() -> Result<WorkerInput, Fault> {
    let mut sealed = None;
    let mut header = [0; HEADER];
    fill(&mut header, &mut sealed)?;
    let [r0, r1, r2, r3, input @ ..] = header;
    let request = length(u64::from(u32::from_le_bytes([r0, r1, r2, r3])), limits::RUNTIME_REQUEST_BYTES)?;
    let input = length(u64::from_le_bytes(input), limits::RUNTIME_INPUT_BYTES)?;
    let mut received = WorkerInput { request: vec![0; request], input: Zeroizing::new(vec![0; input]), sealed: None };
    fill(&mut received.request, &mut sealed)?;
    fill(&mut received.input, &mut sealed)?;
    if receive_some(&mut [0], &mut sealed)? != 0 {
        return Err(Fault::Changed);
    }
    received.sealed = sealed;
    Ok(received)
}

/// Receives the files of an external runtime, which are sent at once: the interpreter, the package directory, then the
/// libraries. [`Fault::Denied`] for anything else.
pub fn receive_programs() -> Result<Programs, Fault> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(PROGRAMS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let received = loop {
        match recvmsg(stdin(), &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    let mut files = Vec::new();
    for message in control.drain() {
        let RecvAncillaryMessage::ScmRights(descriptors) = message else { return Err(Fault::Denied) };
        files.extend(descriptors);
    }
    let whole = received.bytes == 1 && !received.flags.contains(ReturnFlags::CTRUNC);
    let mut files = files.into_iter();
    match (files.next(), files.next()) {
        (Some(interpreter), Some(package)) if whole => {
            Ok(Programs { interpreter, package, libraries: files.collect() })
        }
        _ => Err(Fault::Denied),
    }
}

/// Receives the header and the request, and leaves the input on standard input for whoever comes next.
pub fn receive_request() -> Result<Vec<u8>, Fault> {
    let mut none = None;
    let mut header = [0; HEADER];
    fill(&mut header, &mut none)?;
    let [r0, r1, r2, r3, ..] = header;
    let length = length(u64::from(u32::from_le_bytes([r0, r1, r2, r3])), limits::RUNTIME_REQUEST_BYTES)?;
    let mut request = vec![0; length];
    fill(&mut request, &mut none)?;
    if none.is_some() { Err(Fault::Denied) } else { Ok(request) }
}

fn length(sent: u64, limit: usize) -> Result<usize, Fault> {
    usize::try_from(sent).ok().filter(|length| *length <= limit).ok_or(Fault::TooLarge)
}

fn fill(buffer: &mut [u8], sealed: &mut Option<OwnedFd>) -> Result<(), Fault> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match receive_some(rest, sealed)? {
            0 => return Err(Fault::Changed),
            received => filled += received,
        }
    }
    Ok(())
}

fn receive_some(buffer: &mut [u8], sealed: &mut Option<OwnedFd>) -> Result<usize, Fault> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        match recvmsg(stdin(), &mut [IoSliceMut::new(buffer)], &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    for message in control.drain() {
        let RecvAncillaryMessage::ScmRights(descriptors) = message else { return Err(Fault::Denied) };
        for descriptor in descriptors {
            if sealed.replace(descriptor).is_some() {
                return Err(Fault::Denied);
            }
        }
    }
    if received.flags.contains(ReturnFlags::CTRUNC) {
        return Err(Fault::Denied);
    }
    Ok(received.bytes)
}

/// The whole of a sealed file. [`Fault::WrongKind`] if it is not sealed, [`Fault::TooLarge`] above `limit`.
pub fn read_sealed(sealed: &OwnedFd, limit: u64) -> Result<Vec<u8>, Fault> {
    if !seal::is_sealed(sealed.as_fd()) {
        return Err(Fault::WrongKind);
    }
    observe::read_bounded(sealed.as_fd(), limit)
}

/// Bytes of a sealed file, without reading it.
pub fn sealed_length(sealed: &OwnedFd) -> Result<u64, Fault> {
    Ok(walk::facts_of(sealed.as_fd())?.size)
}

/// Writes to standard output.
/// Writes to standard error: the closed word of a failure, nothing else.
pub fn write_error(word: &[u8]) -> Result<(), Fault> {
    store::write_all(rustix::stdio::stderr(), word)
}

/// Writes to standard output: the reply.
pub fn write_output(bytes: &[u8]) -> Result<(), Fault> {
    store::write_all(stdout(), bytes)
}
