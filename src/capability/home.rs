//! Which directories count as HOME, by device and inode: the one that `HOME` names and the account's own. Never trusts
//! a name: a forged or empty `HOME` cannot switch the rule off.

use crate::foundation::path::{AbsolutePath, PathFault, RelativePath};
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
            let path = parse(text).map_err(|_| Reason::HomeUnresolvable)?;
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
        let directory = real(system, path)?;
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

/// How many links may stand in the place of a home and of what is above it.
const LINKS: usize = 16;

/// Takes the text of `HOME`: absolute and normal, one slash at its end allowed.
pub(crate) fn parse(text: &str) -> Result<AbsolutePath, PathFault> {
    AbsolutePath::parse(text.strip_suffix('/').filter(|rest| !rest.is_empty()).unwrap_or(text))
}

/// The real path of a directory that is a person's: their home, or one that they typed. A symbolic link, or a chain of
/// them, counts as the directory behind it; each is read from its real place, so that `..` in it means what the kernel
/// means.
pub(crate) fn real<S: Observe>(system: &S, path: &AbsolutePath) -> Result<AbsolutePath, Fault> {
    behind_links(system, path.clone(), &mut { LINKS })
}

fn behind_links<S: Observe>(system: &S, mut path: AbsolutePath, left: &mut usize) -> Result<AbsolutePath, Fault> {
    loop {
        match system.canonical_directory(&path) {
            Err(Fault::Link) if *left > 0 => *left -= 1,
            other => return other,
        }
        let (parent, name) = path.split_last().ok_or(Fault::WrongKind)?;
        let name = RelativePath::parse(name).ok_or(Fault::WrongKind)?;
        path = system.resolve_link(&behind_links(system, parent, left)?.join(&name))?;
    }
}
