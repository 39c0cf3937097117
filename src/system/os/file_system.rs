//! Which kind of file system a held directory lies on.

use super::Directory;
use crate::system::Fault;
use rustix::fs::fstatfs;

impl Directory {
    /// Whether what is written here stays in memory (tmpfs or ramfs). Memory may still be swapped, as any memory may.
    pub fn is_in_memory(&self) -> Result<bool, Fault> {
        let kind = fstatfs(self)?.f_type & 0xffff_ffff;
        Ok([libc::TMPFS_MAGIC, RAMFS_MAGIC].contains(&kind))
    }
}

const RAMFS_MAGIC: i64 = 0x8584_58f6;
