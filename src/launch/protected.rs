//! Whether the attached asset needs a password, and whether one opens it: by its plan and by a real load, both in the
//! sandboxed worker. What the load gives is dropped unread.

use crate::broker::stored;
use crate::capability::secret::Secret;
use crate::capability::snapshot::{self, SealedSnapshot};
use crate::capability::workspace::{self, Located};
use crate::delegate::Delegate;
use crate::delegate::child::LoadOrder;
use crate::foundation::path::RelativePath;
use crate::foundation::record::{AssetReference, Record};
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::{Cancel, System};

/// The profile of a try: the one that says least of the content.
const TRIED: &str = "index";

/// An attached asset that needs a password.
pub struct Protected<S: System> {
    workspace: Located<S>,
    asset: AssetReference,
    title: String,
}

/// The asset of an attachment, if it needs a password.
pub fn needed<S: System>(
    system: &S,
    delegate: &Delegate<S>,
    (start, home): (&str, Option<&str>),
    attachment: &str,
) -> Result<Option<Protected<S>>, Refusal> {
    let workspace = workspace::locate(system, start, None, home)?.ok_or(Reason::ConsentWorkspaceMissing)?;
    let record = workspace::read_record(system, &workspace.directory, &RelativePath::default());
    let record = Record::read(&record.map_err(|_| Reason::RecordUnsafe)?.bytes)?;
    let asset = record.find(attachment).ok_or(Reason::ApprovalDrift)?.asset.clone();
    let plan = stored::verify_with(system, delegate, &workspace, &asset)?.value;
    let title = plan.title().unwrap_or_default().to_owned();
    Ok(plan.needs_password().then_some(Protected { workspace, asset, title }))
}

impl<S: System> Protected<S> {
    /// The asset's own words; foreign.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// Whether the password opens it. Refuses what a load refuses, but for a wrong password.
    pub fn opens(&self, system: &S, delegate: &Delegate<S>, password: &Secret) -> Result<bool, Refusal> {
        let path = snapshot::place(&self.asset).ok_or(Reason::Internal)?;
        let sealed = SealedSnapshot::seal(system, &self.workspace.directory, &path, self.asset.digest)?;
        let order = LoadOrder { profile: TRIED, password: Some(password), standby: None };
        let loaded = delegate.load(system, &self.workspace.directory, &sealed, order, &Cancel::new());
        match loaded {
            Ok(_) => Ok(true),
            Err(refusal) if refusal.reason() == Reason::PasswordRejected => Ok(false),
            Err(refusal) => Err(refusal),
        }
    }
}
