//! The revisions of the protocol that a handshake can settle on, and what each lets a server say.

/// A revision, oldest first: later ones compare greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Revision {
    V20241105,
    V20250326,
    V20250618,
    V20251125,
}

impl Revision {
    /// Every revision served, oldest first.
    pub const ALL: [Revision; 4] = [Self::V20241105, Self::V20250326, Self::V20250618, Self::V20251125];
    /// What a request without any handshake is served as.
    pub const WITHOUT_HANDSHAKE: Revision = Self::V20241105;
    /// What is answered to a client that asks for a revision not in [`Self::ALL`].
    pub const NEWEST: Revision = Self::V20251125;

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V20241105 => "2024-11-05",
            Self::V20250326 => "2025-03-26",
            Self::V20250618 => "2025-06-18",
            Self::V20251125 => "2025-11-25",
        }
    }

    /// The revision that `initialize` settles on: the one asked for, else the newest.
    pub fn settle(asked: Option<&str>) -> Self {
        Self::ALL.into_iter().find(|revision| Some(revision.as_str()) == asked).unwrap_or(Self::NEWEST)
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
            assert_eq!(Revision::settle(Some(revision.as_str())), revision);
        }
        for asked in [None, Some("2026-07-28"), Some(""), Some("2024-10-07"), Some("2025-06-18 ")] {
            assert_eq!(Revision::settle(asked), Revision::NEWEST);
        }
    }
}
