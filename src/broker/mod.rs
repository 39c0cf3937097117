//! Floor 4: the load sequence as a table, and the three operations that hosts may ask for.

pub mod adopting;
mod adoption;
pub mod approval;
mod asking;
mod authority;
pub mod checks;
mod load;
mod operations;
mod place;
mod receipts;
mod rows;
pub mod settle;
mod start;
pub mod stored;
mod subject;

pub use crate::consent::managed::MANAGED_POLICY;
pub use adoption::VERSION;
pub use start::{Broker, Settings};

use crate::foundation::refusal::Refusal;
use crate::foundation::value::Value;
use crate::system::{Cancel, Enforcement};

/// A one-task selection, as a tool argument: well-formed, but never authority by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The attachment chosen.
    pub attachment_id: String,
    /// The digest of the task it was chosen for.
    pub task_digest: String,
    /// The digest of the selection plan, where one was given.
    pub plan_digest: Option<String>,
}

/// The capsule profile of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[allow(missing_docs)]
pub enum Profile {
    Index,
    #[default]
    Compact,
    Scenario,
    Full,
}

impl Profile {
    /// Every profile, in the order that the tool schema lists them.
    pub const ALL: [Profile; 4] = [Profile::Index, Profile::Compact, Profile::Scenario, Profile::Full];

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Profile::Index => "index",
            Profile::Compact => "compact",
            Profile::Scenario => "scenario",
            Profile::Full => "full",
        }
    }

    /// Reads the word.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.as_str() == text)
    }
}

/// A task as the frame carried it: text, or an unpaired surrogate that no UTF-8 can say.
#[derive(Clone, PartialEq, Eq)]
pub enum Task {
    /// Well-formed text.
    Text(String),
    /// The JSON string held a lone surrogate.
    NotUnicode,
}

/// What an operation answers, beside its document.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The document of the contract.
    pub document: Value,
    /// How strongly the runtime was confined, where one ran.
    pub enforcement: Option<Enforcement>,
}

/// The three operations, object-safe, for the transport above. Arguments are model output: never authority.
pub trait Operations: Send + Sync {
    /// The attachments of a workspace.
    fn status(&self, cwd: &str, cancel: &Cancel) -> Result<Answer, Refusal>;
    /// The decision for one task.
    fn resolve(
        &self,
        cwd: &str,
        task: &Task,
        selection: Option<&Selection>,
        cancel: &Cancel,
    ) -> Result<Answer, Refusal>;
    /// One load. `render` makes the whole message for the host from the answer, or refuses it as too large; it is called
    /// at most once, before the outcome is recorded. What comes back is that message: everything has been checked and
    /// the delivery is recorded, so write it in one piece, at once, before anything else is done.
    fn load(
        &self,
        cwd: &str,
        task: &Task,
        selection: Option<&Selection>,
        profile: Profile,
        render: &dyn Fn(&Answer) -> Result<Vec<u8>, Refusal>,
        cancel: &Cancel,
    ) -> Result<Vec<u8>, Refusal>;
}
