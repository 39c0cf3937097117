//! From a path to an inode, under the two rules of `Observe`: opens refuse links, questions follow them. Changes nothing.

use super::world::{Body, Inode, ROOT, World};
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::system::{Fault, Kind};

/// Links that one question follows before it gives up, as Linux does.
const MOST_LINKS: usize = 40;
/// Bytes of one name; longer is `ENAMETOOLONG`.
const NAME_BYTES: usize = 255;
const NAME_TOO_LONG: Fault = Fault::Io(36);

/// What a walk from a held directory accepts.
#[derive(Clone, Copy)]
pub(super) struct Rules {
    pub(super) cross_mounts: bool,
    pub(super) take_last_link: bool,
}

impl World {
    /// Walks without following a link.
    pub(super) fn walk(&self, from: Inode, path: &str, rules: Rules) -> Result<Inode, Fault> {
        let mut here = from;
        let mut parts = path.split('/').filter(|part| !part.is_empty()).peekable();
        while let Some(part) = parts.next() {
            here = self.entry(here, part)?;
            let node = self.node(here)?;
            let refused_link = !(rules.take_last_link && parts.peek().is_none());
            if node.body.kind() == Kind::Link && refused_link {
                return Err(Fault::Link);
            }
            if node.mount && !rules.cross_mounts {
                return Err(Fault::Escapes);
            }
        }
        Ok(here)
    }

    /// Follows every link but a last one: the names and inodes from below `/` to what `path` names.
    pub(super) fn trail(&self, path: &str) -> Result<Vec<(String, Inode)>, Fault> {
        let mut trail: Vec<(String, Inode)> = Vec::new();
        let mut pending = reversed(path);
        let mut followed = 0;
        while let Some(part) = pending.pop() {
            match part.as_str() {
                "." => continue,
                ".." => {
                    trail.pop();
                    continue;
                }
                _ => {}
            }
            let inode = self.entry(trail.last().map_or(ROOT, |(_, inode)| *inode), &part)?;
            match &self.node(inode)?.body {
                Body::Link(target) if !pending.is_empty() => {
                    followed += 1;
                    if followed > MOST_LINKS {
                        return Err(Fault::Link);
                    }
                    if target.starts_with('/') {
                        trail.clear();
                    }
                    pending.extend(reversed(target));
                }
                _ => trail.push((part, inode)),
            }
        }
        Ok(trail)
    }

    /// What `path` names, following all links but a last one.
    pub(super) fn find(&self, path: &str) -> Result<Inode, Fault> {
        Ok(self.trail(path)?.last().map_or(ROOT, |(_, inode)| *inode))
    }

    /// The directory that holds the last component of `path`, and that component.
    pub(super) fn find_parent<'p>(&self, path: &'p str) -> Result<(Inode, &'p str), Fault> {
        let (parent, name) = path.rsplit_once('/').ok_or(Fault::WrongKind)?;
        if name.is_empty() {
            return Err(Fault::WrongKind);
        }
        // The trailing dot makes a link that is the parent itself be followed.
        let parent = self.find(&format!("{parent}/."))?;
        Ok((parent, name))
    }

    /// The paths of everything that has one, sorted by directory.
    pub(super) fn all_paths(&self) -> Vec<(String, Inode)> {
        let mut found = vec![("/".to_owned(), ROOT)];
        let mut next = 0;
        while let Some((path, inode)) = found.get(next).cloned() {
            next += 1;
            if let Ok(Body::Directory(entries)) = self.node(inode).map(|node| &node.body) {
                let base = path.trim_end_matches('/');
                found.extend(entries.iter().map(|(name, inode)| (format!("{base}/{name}"), *inode)));
            }
        }
        found
    }

    /// The path of a directory now; [`Fault::NotFound`] if it has none any more.
    pub(super) fn path_of(&self, directory: Inode) -> Result<AbsolutePath, Fault> {
        let found = self.all_paths().into_iter().find(|(_, inode)| *inode == directory);
        found.and_then(|(path, _)| AbsolutePath::parse(&path).ok()).ok_or(Fault::NotFound)
    }
}

/// Refuses a name that is not one plain component.
pub(super) fn plain_name(name: &str) -> Result<(), Fault> {
    if name.len() > NAME_BYTES {
        return Err(NAME_TOO_LONG);
    }
    match RelativePath::parse(name) {
        Some(path) if !path.is_here() && path.components().count() == 1 => Ok(()),
        _ => Err(Fault::Escapes),
    }
}

fn reversed(path: &str) -> Vec<String> {
    path.split('/').rev().filter(|part| !part.is_empty()).map(str::to_owned).collect()
}
