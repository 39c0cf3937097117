//! Which directories count as HOME, by device and inode: the one that `HOME` names and the account's own. Never trusts
//! a name: a forged or empty `HOME` cannot switch the rule off.

use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::{Fault, Identity, Observe};

/// The home directories that may not act as a workspace.
#[derive(Clone, Debug, Default)]
pub struct Homes {
    identities: Vec<Identity>,
    paths: Vec<AbsolutePath>,
}

impl Homes {
    /// From `HOME` as the environment has it, and the password database. `HOME` unset is no error when the account has a
    /// home; set but empty, relative or unresolvable is refused ([`Reason::HomeUnresolvable`]); an account home that
    /// does not exist is no error.
    pub fn find<S: Observe>(system: &S, home: Option<&str>) -> Result<Self, Refusal> {
        let account = system.account_home();
        if home.is_none() && account.is_none() {
            return Err(Reason::HomeUnresolvable.into());
        }
        let mut homes = Self::default();
        if let Some(text) = home {
            let path = AbsolutePath::parse(text.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(text))
                .map_err(|_| Reason::HomeUnresolvable)?;
            homes.add(system, &path).map_err(|_| Reason::HomeUnresolvable)?;
        }
        if let Some(path) = account {
            match homes.add(system, &path) {
                Ok(()) | Err(Fault::NotFound | Fault::WrongKind) => {}
                Err(_) => return Err(Reason::HomeUnresolvable.into()),
            }
        }
        Ok(homes)
    }

    fn add<S: Observe>(&mut self, system: &S, path: &AbsolutePath) -> Result<(), Fault> {
        let directory = match system.canonical_directory(path) {
            // A home that is itself a symbolic link counts as the directory behind it.
            Err(Fault::Link) => system.canonical_directory(&system.resolve_link(path)?)?,
            other => other?,
        };
        self.identities.push(system.look(&directory)?.identity);
        self.paths.push(directory);
        Ok(())
    }

    /// Whether this directory is one of them.
    pub fn is_home(&self, identity: Identity) -> bool {
        self.identities.contains(&identity)
    }

    /// The canonical paths, `HOME` first.
    pub fn paths(&self) -> &[AbsolutePath] {
        &self.paths
    }
}
