//! The home guard: a home directory is no workspace, whatever `HOME` says.
//!
//! Two notions count, the environment's and the account's. A forged or empty `HOME` can therefore not make the real home
//! acceptable. Compares directories, never texts.

use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::{Fault, Identity, Kind, Observe};

/// The home directories of this person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Homes {
    identities: Vec<Identity>,
    path: Option<AbsolutePath>,
}

impl Homes {
    /// Finds them. `home` is the text of `$HOME`, `None` if it is unset: then the account's home alone counts.
    ///
    /// Refuses with `home_unresolvable`: `HOME` is set but empty, not absolute, absent or no real directory, or neither
    /// notion names a home. An account home that does not exist is no error.
    pub fn find<S: Observe>(system: &S, home: Option<&str>) -> Result<Self, Refusal> {
        let account = system.account_home();
        let stated = match home {
            Some(text) => Some(parse(text).ok_or(Reason::HomeUnresolvable)?),
            None => None,
        };
        if stated.is_none() && account.is_none() {
            return Err(Reason::HomeUnresolvable.into());
        }
        let mut homes = Self { identities: Vec::new(), path: None };
        if let Some(path) = &stated {
            homes.add(system, path)?.ok_or(Reason::HomeUnresolvable)?;
        }
        if let Some(path) = &account {
            homes.add(system, path)?;
        }
        Ok(homes)
    }

    /// Whether a directory is one of them.
    pub fn is_home(&self, directory: Identity) -> bool {
        self.identities.contains(&directory)
    }

    /// The real path of the home that `HOME` states, else of the account's; `None` if that one does not exist.
    pub fn path(&self) -> Option<&AbsolutePath> {
        self.path.as_ref()
    }

    fn add<S: Observe>(&mut self, system: &S, path: &AbsolutePath) -> Result<Option<()>, Refusal> {
        match system.look(path) {
            Ok(facts) if facts.kind == Kind::Directory => {
                let real = system.canonical_directory(path).map_err(|_| Reason::HomeUnresolvable)?;
                self.identities.push(facts.identity);
                self.path.get_or_insert(real);
                Ok(Some(()))
            }
            // A link as the home itself hides which directory it is.
            Ok(facts) if facts.kind == Kind::Link => Err(Reason::HomeUnresolvable.into()),
            Ok(_) | Err(Fault::NotFound | Fault::WrongKind) => Ok(None),
            Err(_) => Err(Reason::HomeUnresolvable.into()),
        }
    }
}

/// `HOME` as people write it: absolute; doubled or trailing slashes are harmless here.
fn parse(text: &str) -> Option<AbsolutePath> {
    let root = AbsolutePath::parse("/").ok()?;
    if text.starts_with('/') { root.resolve(text) } else { None }
}
