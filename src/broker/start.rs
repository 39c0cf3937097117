//! Starting a broker: everything that is bound once, before the first request. A bad root, HOME or runtime stops the
//! start; a missing consent or journal does not, each load then says so.

use crate::broker::checks::{Checks, Enforced};
use crate::broker::receipts::Receipts;
use crate::capability::home::Homes;
use crate::capability::private_file::make_private;
use crate::capability::root::PinnedRoot;
use crate::capability::state;
use crate::consent::store::{ConsentSource, is_at_or_below};
use crate::delegate::Delegate;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text;
use crate::journal::Journal;
use crate::system::sim::SimSystem;
use crate::system::{Fault, System};

/// The coordinates that the environment names, read once at start.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `KDNA_MCP_WORKSPACE_ROOT`.
    pub workspace_root: Option<String>,
    /// `KDNA_MCP_HOST_ID`.
    pub host_id: Option<String>,
    /// `KDNA_MCP_HOST_PROCESSING_CONSENT_FILE`.
    pub consent_file: Option<String>,
    /// `KDNA_MCP_AUTHORIZATION_FILE`.
    pub authorization_file: Option<String>,
    /// `KDNA_BROKER_STATE_DIR`.
    pub state_directory: Option<String>,
    /// `HOME`.
    pub home: Option<String>,
    /// `--hardened`: doubts that the contract overlooks count (docs/contract/resolver.md).
    pub hardened: bool,
}

/// A started broker: the pinned root and everything else that a load is judged by.
pub struct Broker<S: System> {
    pub(super) system: S,
    pub(super) root: PinnedRoot<S>,
    pub(super) homes: Homes,
    pub(super) host_id: Option<String>,
    pub(super) consent: ConsentSource<S>,
    pub(super) authorization: Option<String>,
    pub(super) delegate: Delegate<S>,
    pub(super) journal: Option<Journal<S>>,
    pub(super) checks: Box<dyn Checks>,
    pub(super) hardened: bool,
    pub(super) receipts: Receipts,
}

impl<S: System> Broker<S> {
    /// Binds everything. Refuses with `host_root_invalid`, `state_directory_invalid` or
    /// `runtime_binding_invalid` (pins that lie inside the workspace); a journal that cannot be opened
    /// makes loads refuse later, not the start.
    pub fn start(system: S, settings: Settings, delegate: Delegate<S>) -> Result<Self, Refusal> {
        let homes = Homes::find(&system, settings.home.as_deref())?;
        let state_path = state::state_path(&system, settings.state_directory.as_deref())?;
        let root = PinnedRoot::pin(&system, settings.workspace_root.as_deref(), &homes, &state_path)?;
        if let Some(pins) = delegate.pins_coordinate()
            && is_at_or_below(&system, pins, root.identity()) != Ok(false)
        {
            return Err(Reason::PinsInsideWorkspace.into());
        }
        let journal = state::open_state(&system, &state_path).and_then(|state| Journal::open(&system, &state)).ok();
        make_own_place(&system, settings.consent_file.as_deref(), &state_path);
        let consent = ConsentSource::bind(&system, settings.consent_file.as_deref(), root.identity());
        let broker = Self {
            root,
            homes,
            host_id: settings.host_id,
            consent,
            authorization: settings.authorization_file.filter(|text| !text.is_empty()),
            delegate,
            journal,
            checks: Box::new(Enforced),
            hardened: settings.hardened,
            receipts: Receipts::default(),
            system,
        };
        broker.journal_start();
        Ok(broker)
    }

    /// The pinned root's path.
    pub fn root_path(&self) -> &AbsolutePath {
        self.root.path()
    }

    /// The host's identifier, if it is one.
    pub(super) fn checked_host_id(&self) -> Result<&str, Refusal> {
        self.host_id.as_deref().filter(|id| text::is_host_id(id)).ok_or_else(|| Reason::HostIdInvalid.into())
    }

    /// A managed policy that this version cannot read is never ignored.
    pub(super) fn refuse_unread_policy(&self) -> Result<(), Refusal> {
        let path = AbsolutePath::parse(MANAGED_POLICY).map_err(|_| Reason::Internal)?;
        match self.system.look(&path) {
            Err(Fault::NotFound | Fault::WrongKind) => Ok(()),
            _ => Err(Reason::ManagedPolicyUnread.into()),
        }
    }
}

/// Makes the broker's own directory of consents where the consent is to lie in it, so that a permission given later needs
/// no restart. No other directory is made, and one that cannot be made is said by the binding.
fn make_own_place<S: System>(system: &S, coordinate: Option<&str>, state_path: &AbsolutePath) {
    let named = coordinate.and_then(|text| AbsolutePath::parse(text).ok());
    let named = named.as_ref().and_then(AbsolutePath::split_last).map(|(directory, _)| directory);
    let own = state::consent_path(state_path).split_last().map(|(directory, _)| directory);
    if let Some(directory) = own.filter(|own| named.as_ref() == Some(own)) {
        let _ = make_private(system, &directory);
    }
}

/// Where whoever manages the machine may narrow what is allowed.
pub const MANAGED_POLICY: &str = "/etc/kdna-broker/policy.json";

impl Broker<SimSystem> {
    /// The same broker with other checks. Only over the simulated system: there is no such door in a real one.
    #[must_use]
    pub fn with_checks(self, checks: Box<dyn Checks>) -> Self {
        Self { checks, ..self }
    }
}
