//! Starting a broker: everything that is bound once, before the first request. A bad root, HOME or runtime stops the
//! start; a missing consent or journal does not, each load then says so.

use crate::broker::checks::{Checks, Enforced};
use crate::broker::receipts::Receipts;
use crate::capability::home::Homes;
use crate::capability::private_file::{PrivateDirectory, make_private};
use crate::capability::root::PinnedRoot;
use crate::capability::state;
use crate::consent::managed::ManagedSource;
use crate::consent::store::{ConsentSource, is_at_or_below};
use crate::delegate::Delegate;
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text;
use crate::journal::Journal;
use crate::system::System;
use crate::system::sim::SimSystem;

/// The coordinates that the environment names, read once at start.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `KDNA_MCP_WORKSPACE_ROOT`.
    pub workspace_root: Option<String>,
    /// `KDNA_MCP_HOST_ID`.
    pub host_id: Option<String>,
    /// `KDNA_MCP_HOST_PROCESSING_CONSENT_FILE`.
    pub consent_file: Option<String>,
    /// `KDNA_BROKER_CONSENT_DIR`: a consent set, where no file is named.
    pub consent_directory: Option<String>,
    /// `KDNA_BROKER_REQUIRE_LEDGER=1`: only attachments that were approved on this machine.
    pub require_ledger: bool,
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
    pub(super) state: Option<PrivateDirectory<S>>,
    pub(super) managed: ManagedSource,
    pub(super) require_ledger: bool,
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
        let state = state::open_state(&system, &state_path).ok();
        let journal = state.as_ref().and_then(|state| Journal::open(&system, state).ok());
        let managed = ManagedSource::default();
        // Each load says what is wrong with it; what is right is known from here on.
        let _ = managed.current(&system);
        let (file, set) = (settings.consent_file.as_deref(), settings.consent_directory.as_deref());
        make_own_place(&system, file, set, &state_path);
        let consent = ConsentSource::bind_either(&system, file, set, root.identity());
        let broker = Self {
            root,
            homes,
            host_id: settings.host_id,
            consent,
            // What cannot be a path defers nothing: an asset that needs it then says that it does.
            authorization: settings
                .authorization_file
                .filter(|path| (1..=limits::PATH_UNITS).contains(&text::utf16_len(path))),
            delegate,
            journal,
            state,
            managed,
            require_ledger: settings.require_ledger,
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
}

/// Makes the broker's own directory of consents where the consent is to lie in it, so that a permission given later needs
/// no restart. No other directory is made, and one that cannot be made is said by the binding.
fn make_own_place<S: System>(system: &S, file: Option<&str>, set: Option<&str>, state_path: &AbsolutePath) {
    let named = |text: Option<&str>| text.and_then(|text| AbsolutePath::parse(text).ok());
    let parent = |path: AbsolutePath| path.split_last().map(|(directory, _)| directory);
    let own_file = parent(state::consent_path(state_path));
    let own_set = state::consent_set_path(state_path);
    if named(file).and_then(parent) == own_file {
        let _ = own_file.map(|own| make_private(system, &own));
    } else if named(set) == Some(own_set.clone()) {
        let _ = make_private(system, &own_set);
    }
}

impl Broker<SimSystem> {
    /// The same broker with other checks. Only over the simulated system: there is no such door in a real one.
    #[must_use]
    pub fn with_checks(self, checks: Box<dyn Checks>) -> Self {
        Self { checks, ..self }
    }
}
