//! A private directory of this process alone, below the system's temporary directory; removed with all that is in it
//! when dropped.

use crate::foundation::digest::hex;
use crate::foundation::path::AbsolutePath;
use crate::system::{Fault, System};
use std::fs;
use std::path::Path;

/// The directory.
pub struct Scratch {
    path: AbsolutePath,
}

impl Scratch {
    /// Creates it with mode 0700 under a name that nobody can guess, below the directory that is named.
    pub fn create<S: System>(system: &S, temporary: &Path, prefix: &str) -> Result<Self, Fault> {
        let temporary = fs::canonicalize(temporary).map_err(|_| Fault::NotFound)?;
        let parent = temporary.to_str().and_then(|text| AbsolutePath::parse(text).ok()).ok_or(Fault::WrongKind)?;
        let mut random = [0; 8];
        system.random(&mut random)?;
        let name = format!("{prefix}-{}", hex(&random));
        system.make_directory(&system.open_directory(&parent)?, &name, 0o700)?;
        Ok(Self { path: parent.resolve(&name).ok_or(Fault::WrongKind)? })
    }

    /// Where it is.
    pub fn path(&self) -> &AbsolutePath {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(self.path.as_str());
    }
}
