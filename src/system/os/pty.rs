//! Pseudo-terminals: for a person's side that is a program (the demo, tests), and for hosts that want a terminal.

use crate::system::Fault;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::process::{ioctl_tiocsctty, setsid};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;

/// Opens a pseudo-terminal: the master's end, and the path of the other end.
pub fn open_pseudo_terminal() -> Result<(OwnedFd, PathBuf), Fault> {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    grantpt(&master)?;
    unlockpt(&master)?;
    let name = ptsname(&master, Vec::new())?;
    let name = name.into_string().map_err(|_| Fault::WrongKind)?;
    Ok((master, PathBuf::from(name)))
}

/// The end of a pseudo-terminal where the person would sit. Reading it ends when the last process has let go of the other
/// end. Linux reports that as an error, and may do so a moment before it gives what was written last, so that it is asked
/// once more before the end is believed.
pub struct PersonsEnd(File);

impl PersonsEnd {
    /// A second handle, to read with one while the other one types.
    pub fn second(&self) -> std::io::Result<Self> {
        self.0.try_clone().map(Self)
    }
}

impl Read for PersonsEnd {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer).or_else(|_| self.0.read(buffer)).or(Ok(0))
    }
}

impl AsFd for PersonsEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Write for PersonsEnd {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Opens a pseudo-terminal and both its ends; neither becomes anybody's controlling terminal by that.
pub fn open_pair() -> Result<(PersonsEnd, OwnedFd), Fault> {
    let (master, path) = open_pseudo_terminal()?;
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    Ok((PersonsEnd(File::from(master)), rustix::fs::open(path, flags, Mode::empty())?))
}

/// Starts a session whose controlling terminal is standard input. For a process that was just started with the other
/// end of a pseudo-terminal as its standard input; fails in a process that leads a group already.
pub fn adopt_terminal_from_stdin() -> Result<(), Fault> {
    setsid()?;
    Ok(ioctl_tiocsctty(rustix::stdio::stdin())?)
}
