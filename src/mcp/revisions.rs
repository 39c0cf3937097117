//! The revisions of the protocol that are served, and what each lets a server say. A handshake settles on one of the
//! first four; the last has none.

/// A revision, oldest first: later ones compare greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Revision {
    V20241105,
    V20250326,
    V20250618,
    V20251125,
    V20260728,
}

impl Revision {
    /// Every revision served, oldest first.
    pub const ALL: [Revision; 5] =
        [Self::V20241105, Self::V20250326, Self::V20250618, Self::V20251125, Self::V20260728];
    /// What a request is served as that names no revision and follows no handshake.
    pub const WITHOUT_HANDSHAKE: Revision = Self::V20241105;
    /// What `initialize` answers to a client that asks for a revision without a handshake, or for an unknown one.
    pub const NEWEST_BY_HANDSHAKE: Revision = Self::V20251125;
    /// The one that each request names for itself.
    pub const STATELESS: Revision = Self::V20260728;

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V20241105 => "2024-11-05",
            Self::V20250326 => "2025-03-26",
            Self::V20250618 => "2025-06-18",
            Self::V20251125 => "2025-11-25",
            Self::V20260728 => "2026-07-28",
        }
    }

    /// The revision that `initialize` settles on: the one asked for, else the newest that has a handshake.
    pub fn settle(asked: Option<&str>) -> Self {
        let known = Self::ALL.into_iter().find(|revision| Some(revision.as_str()) == asked);
        known.filter(|revision| !revision.is_stateless()).unwrap_or(Self::NEWEST_BY_HANDSHAKE)
    }

    /// The revision that a request names for itself, by its word as UTF-8; none of those with a handshake.
    pub fn stateless(word: &[u8]) -> Option<Self> {
        (word == Self::STATELESS.as_str().as_bytes()).then_some(Self::STATELESS)
    }

    /// Whether there is no handshake: each request says what it needs, each result says what it is.
    pub fn is_stateless(self) -> bool {
        self == Self::STATELESS
    }

    /// Whether a list of messages is a message.
    pub fn has_batches(self) -> bool {
        self == Self::V20250326
    }

    /// Whether a tool may carry `annotations`.
    pub fn has_annotations(self) -> bool {
        self >= Self::V20250326
    }

    /// Whether a tool may carry `title` and `outputSchema`, and a tool result `structuredContent` and `_meta`.
    pub fn has_structured_results(self) -> bool {
        self >= Self::V20250618
    }

    /// Whether wrong arguments of a known tool are a tool error, which a model can read and correct, instead of a
    /// protocol error.
    pub fn has_argument_tool_errors(self) -> bool {
        self >= Self::V20250618
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_revision_is_settled_on_and_every_other_request_gets_the_newest() {
        for revision in Revision::ALL {
            let settled = if revision.is_stateless() { Revision::NEWEST_BY_HANDSHAKE } else { revision };
            assert_eq!(Revision::settle(Some(revision.as_str())), settled);
            let named = revision.is_stateless().then_some(revision);
            assert_eq!(Revision::stateless(revision.as_str().as_bytes()), named, "never both ways");
        }
        for asked in [None, Some("2026-07-28"), Some(""), Some("2024-10-07"), Some("2025-06-18 ")] {
            assert_eq!(Revision::settle(asked), Revision::NEWEST_BY_HANDSHAKE);
        }
    }
}
