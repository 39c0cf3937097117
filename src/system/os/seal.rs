//! Sealed copies: a file's bytes, read once, digested while read, in a memory file that nobody can change any more.
//! What was digested is what is kept. Never reads twice and never trusts the facts alone.

use super::{store, walk};
use crate::foundation::digest::{Digest, Hasher};
use crate::system::{Fault, Kind};
use rustix::buffer::spare_capacity;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, fcntl_get_seals, memfd_create};
use rustix::io::Errno;
use std::os::fd::AsRawFd as _;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// One read.
const STEP: usize = 256 * 1024;
/// Smaller files are digested before a second thread would have started.
const ALONE: u64 = 1024 * 1024;
/// Steps that may wait for the digest.
const AHEAD: usize = 4;

/// What makes a memory file immutable.
pub(super) const SEALS: SealFlags =
    SealFlags::WRITE.union(SealFlags::GROW).union(SealFlags::SHRINK).union(SealFlags::SEAL);

/// An immutable copy of a file's bytes, open for reading only.
#[derive(Debug)]
pub struct Sealed {
    held: OwnedFd,
    length: u64,
}

impl Sealed {
    /// Bytes.
    pub fn length(&self) -> u64 {
        self.length
    }
}

impl AsFd for Sealed {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.held.as_fd()
    }
}

pub(super) fn seal(file: BorrowedFd<'_>, limit: u64) -> Result<(Sealed, Digest), Fault> {
    let before = walk::facts_of(file)?;
    if before.kind != Kind::Regular {
        return Err(Fault::WrongKind);
    }
    if before.size > limit {
        return Err(Fault::TooLarge);
    }
    let memory = memory_file()?;
    let copy = Copy { from: file, to: memory.as_fd(), limit, size: before.size };
    let (length, digest) = if before.size > ALONE { copy.on_two_threads()? } else { copy.alone()? };
    if length != before.size || walk::facts_of(file)? != before {
        return Err(Fault::Changed);
    }
    Ok((Sealed { held: close_for_writing(&memory)?, length }, digest))
}

pub(super) fn seal_bytes(bytes: &[u8]) -> Result<Sealed, Fault> {
    let memory = memory_file()?;
    store::write_all(memory.as_fd(), bytes)?;
    let length = u64::try_from(bytes.len()).map_err(|_| Fault::TooLarge)?;
    Ok(Sealed { held: close_for_writing(&memory)?, length })
}

fn memory_file() -> Result<OwnedFd, Fault> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    match memfd_create("snapshot", flags | MemfdFlags::NOEXEC_SEAL) {
        // Before Linux 6.3 the flag is unknown; the sandbox refuses exec in any case.
        Err(Errno::INVAL) => Ok(memfd_create("snapshot", flags)?),
        other => Ok(other?),
    }
}

/// Seals, and keeps only a descriptor that could not write even without seals.
fn close_for_writing(memory: &OwnedFd) -> Result<OwnedFd, Fault> {
    match fcntl_add_seals(memory, SEALS | SealFlags::FUTURE_WRITE) {
        Err(Errno::INVAL) => fcntl_add_seals(memory, SEALS)?,
        other => other?,
    }
    if !is_sealed(memory.as_fd()) {
        return Err(Fault::Unsupported("memory file seals"));
    }
    let path = format!("/proc/self/fd/{}", memory.as_raw_fd());
    Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Whether nobody can change what is behind this descriptor.
pub(super) fn is_sealed(held: BorrowedFd<'_>) -> bool {
    fcntl_get_seals(held).is_ok_and(|seals| seals.contains(SEALS))
}

struct Copy<'a> {
    from: BorrowedFd<'a>,
    to: BorrowedFd<'a>,
    limit: u64,
    /// What the facts say.
    size: u64,
}

impl Copy<'_> {
    fn alone(&self) -> Result<(u64, Digest), Fault> {
        let mut hasher = Hasher::new();
        // One byte more than expected, so that the end is seen as a read of nothing.
        let mut step = Vec::with_capacity(STEP.min(usize::try_from(self.size).unwrap_or(STEP).saturating_add(1)));
        let mut offset = 0;
        while self.step(&mut step, &mut offset)? {
            hasher.update(&step);
        }
        Ok((offset, hasher.finish()))
    }

    /// The digest takes as long as reading and writing together, so it runs beside them, a few steps behind.
    fn on_two_threads(&self) -> Result<(u64, Digest), Fault> {
        let (full, steps) = sync_channel::<Vec<u8>>(AHEAD);
        let (empty, spare) = sync_channel::<Vec<u8>>(AHEAD);
        std::thread::scope(|scope| {
            let digest = std::thread::Builder::new().spawn_scoped(scope, move || digest_of(&steps, &empty));
            let Ok(digest) = digest else {
                drop((full, spare));
                return self.alone();
            };
            let length = self.feed(full, &spare);
            let digest = digest.join().map_err(|_| Fault::Io(Errno::CANCELED.raw_os_error()))?;
            Ok((length?, digest))
        })
    }

    fn feed(&self, full: SyncSender<Vec<u8>>, spare: &Receiver<Vec<u8>>) -> Result<u64, Fault> {
        let lost = |_| Fault::Io(Errno::CANCELED.raw_os_error());
        let mut offset = 0;
        let mut buffers = 0;
        loop {
            let mut step = if buffers < AHEAD {
                buffers += 1;
                Vec::with_capacity(STEP)
            } else {
                spare.recv().map_err(|_| Fault::Io(Errno::CANCELED.raw_os_error()))?
            };
            if !self.step(&mut step, &mut offset)? {
                drop(full);
                return Ok(offset);
            }
            full.send(step).map_err(lost)?;
        }
    }

    /// Copies one step and leaves it in `step`; `false` at the end.
    fn step(&self, step: &mut Vec<u8>, offset: &mut u64) -> Result<bool, Fault> {
        step.clear();
        let read = rustix::io::retry_on_intr(|| rustix::io::pread(self.from, spare_capacity(step), *offset))?;
        *offset = offset.saturating_add(u64::try_from(read).map_err(|_| Fault::TooLarge)?);
        if *offset > self.limit {
            return Err(Fault::TooLarge);
        }
        // It grows: what is read further would be of no use, and the buffer is not made for it.
        if *offset > self.size {
            return Err(Fault::Changed);
        }
        store::write_all(self.to, step)?;
        Ok(read > 0)
    }
}

fn digest_of(steps: &Receiver<Vec<u8>>, empty: &SyncSender<Vec<u8>>) -> Digest {
    let mut hasher = Hasher::new();
    for step in steps {
        hasher.update(&step);
        // Nobody waits for the last ones.
        let _ = empty.try_send(step);
    }
    hasher.finish()
}
