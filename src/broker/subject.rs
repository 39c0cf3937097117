//! What a consent is about: one attachment of one workspace, below one server root, as they are now. Read from the record
//! and judged as a server would judge it; nothing of it comes from whoever asks.

use crate::broker::approval::ApprovalRequest;
use crate::capability::home::Homes;
use crate::capability::private_file::{PrivateDirectory, PrivateFault};
use crate::capability::root::PinnedRoot;
use crate::capability::workspace::{self, Located, RecordBytes};
use crate::consent::binding::Coordinates;
use crate::consent::draft::DraftFacts;
use crate::consent::ledger::{Key, Ledger};
use crate::consent::managed;
use crate::foundation::path::AbsolutePath;
use crate::foundation::record::{Attachment, Record};
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::System;

/// One attachment, and everything that says where it stands.
pub(super) struct Subject<S: System> {
    pub(super) workspace: Located<S>,
    pub(super) record: RecordBytes,
    pub(super) attachment: Attachment,
    pub(super) host_root: PinnedRoot<S>,
}

impl<S: System> Subject<S> {
    /// Finds it. Refuses where there is no workspace, no single enabled attachment, or where the host root would be refused
    /// by the server.
    pub(super) fn find(system: &S, request: &ApprovalRequest<'_>) -> Result<Self, Refusal> {
        let workspace =
            workspace::locate(system, request.cwd, None, request.home)?.ok_or(Reason::ConsentWorkspaceMissing)?;
        let record = workspace.settled_record(system)?;
        let attachment = choose(&Record::read(&record.bytes)?, request.attachment)?;
        let host_root = host_root(system, request, &workspace)?;
        Ok(Self { workspace, record, attachment, host_root })
    }

    /// Its coordinates for this host and profile.
    pub(super) fn coordinates<'a>(&'a self, facts: &'a DraftFacts) -> Coordinates<'a> {
        Coordinates {
            host_id: &facts.host_id,
            host_root: self.host_root.path(),
            workspace_root: &self.workspace.root,
            asset_digest: facts.asset_digest,
            attachment_id: &facts.attachment_id,
            scope_digest: facts.scope_digest,
            entry_digest: facts.entry_digest,
            profile: &facts.profile,
        }
    }

    /// Its place in the ledger.
    pub(super) fn key(&self) -> Key {
        Key::new(&self.workspace.root, &self.attachment.id)
    }

    /// Whether it was approved on this machine, where the request or the managed policy asks for that.
    pub(super) fn check_ledger(&self, system: &S, request: &ApprovalRequest<'_>) -> Result<Ledger, Refusal> {
        let ledger = ledger(system, request.state)?;
        if request.require_ledger || managed::look(system)?.is_some_and(|policy| policy.requires_ledger()) {
            ledger.check(&self.key(), self.attachment.entry_digest().ok_or(Reason::Internal)?)?;
        }
        Ok(ledger)
    }
}

/// The ledger of a state directory; empty where there is none yet.
pub(super) fn ledger<S: System>(system: &S, state: &AbsolutePath) -> Result<Ledger, Refusal> {
    match PrivateDirectory::open(system, state) {
        Ok(state) => Ledger::read(system, &state),
        Err(PrivateFault::Missing) => Ok(Ledger::default()),
        Err(_) => Err(Reason::StateInsecure.into()),
    }
}

/// The attachment that is meant: the named one, else the only enabled one.
fn choose(record: &Record, id: Option<&str>) -> Result<Attachment, Refusal> {
    let mut enabled = record.attachments().iter().filter(|entry| entry.enabled && id.is_none_or(|id| entry.id == id));
    match (enabled.next(), enabled.count()) {
        (Some(only), 0) => Ok(only.clone()),
        (first, more) => Err(Refusal::labelled(
            Reason::ConsentAttachmentAmbiguous,
            format!(
                "Host processing consent requires exactly one enabled workspace attachment; found {}.",
                usize::from(first.is_some()) + more
            ),
        )),
    }
}

/// The root that the consent binds, under the same rules as a server's.
fn host_root<S: System>(
    system: &S,
    request: &ApprovalRequest<'_>,
    workspace: &Located<S>,
) -> Result<PinnedRoot<S>, Refusal> {
    let root = match request.host_root {
        None => workspace.root.clone(),
        Some(text) => PinnedRoot::canonical_cwd(system, text)?,
    };
    let homes = Homes::find(system, request.home)?;
    PinnedRoot::pin(system, Some(root.as_str()), &homes, request.state)
}
