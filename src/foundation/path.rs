//! Paths as the broker accepts them: text, lexically normal, checked once where they enter. No lookups here.

use crate::foundation::limits;

/// An absolute, lexically normal path: no `.`, no `..`, no empty component, no NUL, no trailing slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbsolutePath(String);

/// A relative, lexically normal path; the empty text names the directory itself.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct RelativePath(String);

/// Why a text is not an acceptable coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathFault {
    /// Empty or too long.
    Length,
    /// Holds U+0000.
    Nul,
    /// Does not start with `/`.
    NotAbsolute,
    /// Holds `.`, `..`, an empty component or a trailing slash.
    NotNormal,
}

impl AbsolutePath {
    /// Takes a coordinate exactly as given; nothing is repaired. `/` itself is accepted here.
    pub fn parse(text: &str) -> Result<Self, PathFault> {
        if text.is_empty() || text.encode_utf16().count() > limits::PATH_UNITS {
            return Err(PathFault::Length);
        }
        if text.contains('\0') {
            return Err(PathFault::Nul);
        }
        let Some(rest) = text.strip_prefix('/') else { return Err(PathFault::NotAbsolute) };
        if !rest.is_empty() && !rest.split('/').all(is_plain_component) {
            return Err(PathFault::NotNormal);
        }
        Ok(Self(text.to_owned()))
    }

    /// Joins `text` (absolute or relative) to this path and normalises it lexically (`.`, `..`, double slashes), as
    /// a person's command line argument is read. `None` if it holds NUL or is too long.
    pub fn resolve(&self, text: &str) -> Option<Self> {
        if text.contains('\0') || text.encode_utf16().count() > limits::PATH_UNITS {
            return None;
        }
        let mut parts: Vec<&str> = Vec::new();
        let base = if text.starts_with('/') { "" } else { self.as_str() };
        for part in base.split('/').chain(text.split('/')) {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        Some(Self(format!("/{}", parts.join("/"))))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether this is `/`.
    pub fn is_filesystem_root(&self) -> bool {
        self.0 == "/"
    }

    /// What remains below `ancestor`, compared by components; `None` if it is not at or below it.
    pub fn below(&self, ancestor: &AbsolutePath) -> Option<RelativePath> {
        let rest =
            if ancestor.is_filesystem_root() { self.0.strip_prefix('/')? } else { self.0.strip_prefix(&ancestor.0)? };
        if rest.is_empty() || ancestor.is_filesystem_root() {
            return Some(RelativePath(rest.to_owned()));
        }
        rest.strip_prefix('/').map(|rest| RelativePath(rest.to_owned()))
    }

    /// The path of something below.
    pub fn join(&self, below: &RelativePath) -> AbsolutePath {
        match (below.0.is_empty(), self.is_filesystem_root()) {
            (true, _) => self.clone(),
            (false, true) => Self(format!("/{}", below.0)),
            (false, false) => Self(format!("{}/{}", self.0, below.0)),
        }
    }

    /// How another path is named from this directory: `.`, `ws`, `../x`. Lexical, for showing only.
    pub fn name_of(&self, other: &AbsolutePath) -> String {
        for (steps, above) in self.ancestors().enumerate() {
            if let Some(below) = other.below(&above) {
                let mut parts = vec![".."; steps];
                parts.extend(below.components());
                return if parts.is_empty() { ".".to_owned() } else { parts.join("/") };
            }
        }
        other.0.clone()
    }

    /// The parent and the last component; `None` for `/`.
    pub fn split_last(&self) -> Option<(AbsolutePath, &str)> {
        let (parent, name) = self.0.rsplit_once('/')?;
        if name.is_empty() {
            return None;
        }
        Some((Self(if parent.is_empty() { "/".to_owned() } else { parent.to_owned() }), name))
    }

    /// This path and all above it, nearest first, `/` last.
    pub fn ancestors(&self) -> impl Iterator<Item = AbsolutePath> {
        std::iter::successors(Some(self.clone()), |path| path.split_last().map(|(parent, _)| parent))
    }
}

impl RelativePath {
    /// Takes a relative path; `None` unless it is empty or lexically normal.
    pub fn parse(text: &str) -> Option<Self> {
        (text.is_empty() || (!text.contains('\0') && text.split('/').all(is_plain_component)))
            .then(|| Self(text.to_owned()))
    }

    /// The text; empty for the directory itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it names the directory itself.
    pub fn is_here(&self) -> bool {
        self.0.is_empty()
    }

    /// The path of something below.
    pub fn join(&self, below: &RelativePath) -> RelativePath {
        match (self.0.is_empty(), below.0.is_empty()) {
            (true, _) => below.clone(),
            (_, true) => self.clone(),
            _ => Self(format!("{}/{}", self.0, below.0)),
        }
    }

    /// The components.
    pub fn components(&self) -> impl Iterator<Item = &str> {
        self.0.split('/').filter(|part| !part.is_empty())
    }

    /// This path and all above it, nearest first, the empty path last.
    pub fn ancestors(&self) -> impl Iterator<Item = RelativePath> {
        std::iter::successors(Some(self.clone()), |path| {
            (!path.0.is_empty())
                .then(|| Self(path.0.rsplit_once('/').map_or_else(String::new, |(parent, _)| parent.to_owned())))
        })
    }

    /// How a directory at `ancestor` (at or above this one) is named from here: `.`, `..`, `../..`.
    pub fn display_of_ancestor(&self, ancestor: &RelativePath) -> String {
        let steps = self.components().count().saturating_sub(ancestor.components().count());
        if steps == 0 { ".".to_owned() } else { vec![".."; steps].join("/") }
    }
}

fn is_plain_component(part: &str) -> bool {
    !part.is_empty() && part != "." && part != ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coordinate_is_taken_only_when_it_is_normal() {
        for bad in ["", "ws", "/x/../ws", "/ws/", "//", "/a//b", "/./a", "/a\0b", "/a/.."] {
            assert!(AbsolutePath::parse(bad).is_err(), "{bad:?}");
        }
        for good in ["/", "/ws", "/a/b..c/.d"] {
            assert!(AbsolutePath::parse(good).is_ok(), "{good:?}");
        }
    }

    #[test]
    fn below_compares_components_not_prefixes() {
        let path = |text| AbsolutePath::parse(text).unwrap();
        assert_eq!(path("/w/app-evil").below(&path("/w/app")), None);
        assert_eq!(path("/w/app/x").below(&path("/w/app")).unwrap().as_str(), "x");
        assert_eq!(path("/w/app").below(&path("/w/app")).unwrap().as_str(), "");
        assert_eq!(path("/w").below(&path("/")).unwrap().as_str(), "w");
        assert_eq!(path("/").below(&path("/w")), None);
    }

    #[test]
    fn arguments_are_normalised_lexically_against_a_base() {
        let base = AbsolutePath::parse("/srv/w").unwrap();
        assert_eq!(base.resolve("../x/./y").unwrap().as_str(), "/srv/x/y");
        assert_eq!(base.resolve("/a//b/..").unwrap().as_str(), "/a");
        assert_eq!(base.resolve("../../../..").unwrap().as_str(), "/");
        assert_eq!(base.resolve("a\0"), None);
    }

    #[test]
    fn another_path_is_named_from_here() {
        let path = |text| AbsolutePath::parse(text).unwrap();
        for (from, to, name) in [
            ("/a", "/a", "."),
            ("/a", "/a/ws", "ws"),
            ("/a/b", "/a/x/y", "../x/y"),
            ("/", "/a", "a"),
            ("/a", "/", ".."),
        ] {
            assert_eq!(path(from).name_of(&path(to)), name);
        }
    }

    #[test]
    fn an_ancestor_is_displayed_by_steps() {
        let deep = RelativePath::parse("a/b").unwrap();
        let names: Vec<_> = deep.ancestors().map(|up| deep.display_of_ancestor(&up)).collect();
        assert_eq!(names, [".", "..", "../.."]);
    }
}
