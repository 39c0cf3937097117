//! The one table from the kernel's error numbers to [`Fault`]. Never keeps a path or a message.

use crate::system::Fault;
use rustix::io::Errno;

impl From<Errno> for Fault {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT => Fault::NotFound,
            Errno::LOOP => Fault::Link,
            // ENXIO and ENODEV: a socket, or a device without a driver, was opened as a file.
            Errno::NOTDIR | Errno::ISDIR | Errno::NXIO | Errno::NODEV => Fault::WrongKind,
            Errno::XDEV => Fault::Escapes,
            Errno::EXIST => Fault::Exists,
            Errno::ACCESS | Errno::PERM => Fault::Denied,
            Errno::NOSPC | Errno::DQUOT | Errno::ROFS | Errno::FBIG => Fault::NoSpace,
            other => Fault::Io(other.raw_os_error()),
        }
    }
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Self {
        error.raw_os_error().map_or(Fault::Io(0), |errno| Errno::from_raw_os_error(errno).into())
    }
}

impl From<nix::errno::Errno> for Fault {
    fn from(errno: nix::errno::Errno) -> Self {
        Errno::from_raw_os_error(errno as i32).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_errno_has_one_meaning() {
        let table = [
            (Errno::NOENT, Fault::NotFound),
            (Errno::LOOP, Fault::Link),
            (Errno::NOTDIR, Fault::WrongKind),
            (Errno::NXIO, Fault::WrongKind),
            (Errno::XDEV, Fault::Escapes),
            (Errno::EXIST, Fault::Exists),
            (Errno::PERM, Fault::Denied),
            (Errno::DQUOT, Fault::NoSpace),
            (Errno::ROFS, Fault::NoSpace),
            (Errno::FBIG, Fault::NoSpace),
            (Errno::IO, Fault::Io(5)),
        ];
        for (errno, fault) in table {
            assert_eq!(Fault::from(errno), fault);
            assert_eq!(Fault::from(std::io::Error::from(errno)), fault);
        }
    }
}
