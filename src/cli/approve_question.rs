//! What the question of `attach` and `switch` says: the facts of a preview, in the order in which a window that is too small
//! for all of them keeps them. Asks nobody.

use crate::cli::people::{other_tasks, same_tasks};
use crate::consent::fitted::Part;
use crate::foundation::record::{AssetReference, Attachment, Scope};
use crate::runtime::attachments::{Proposal, Switch};

/// The first row of an attach.
pub(crate) const ATTACHING: &str = "Attach an asset to this workspace:";
/// The first row of a switch.
pub(crate) const SWITCHING: &str = "Switch an attachment to another asset:";

const EVERYTHING: &str = "every task in this workspace";
const NOTHING: &str = "(nothing excluded)";

/// What an attach would approve.
pub(crate) fn attach_question(workspace: &str, proposal: &Proposal, title: Option<&str>) -> Vec<Part> {
    let mut parts = beginning(workspace, title);
    parts.push(Part::words("Hosts", "get nothing by this: each needs a consent of its own"));
    parts.push(Part::quoted("Purpose", proposal.policy().role()));
    parts.extend(tasks(["Used for", "Not for", "Other tasks"], proposal.policy().scope()));
    parts.extend(asset(proposal));
    parts
}

/// What a switch would approve, and what it changes.
pub(crate) fn switch_question(workspace: &str, former: &Attachment, switch: &Switch, title: Option<&str>) -> Vec<Part> {
    let (role, scope) = (switch.policy().role(), switch.policy().scope());
    let mut parts = beginning(workspace, title);
    parts.push(Part::words("Attachment", &former.id));
    if former.role != role {
        parts.push(Part::quoted("Purpose was", &former.role));
    }
    if same_tasks(&former.scope, scope) {
        parts.push(Part::words("Tasks", "the same as until now"));
    } else {
        parts.extend(tasks(["Was for", "Was not for", "Others were"], &former.scope));
    }
    parts.push(Part::quoted("Purpose", role));
    parts.extend(tasks(["Used for", "Not for", "Other tasks"], scope));
    parts.push(Part::words("Asset was", &named(&former.asset)));
    parts.push(Part::words("Digest was", &former.asset.digest.to_string()));
    parts.extend(asset(switch.proposal()));
    if switch.leaves_damaged() {
        parts.push(Part::words("Careful", "the present version is damaged: no going back").whole());
    }
    parts
}

fn beginning(workspace: &str, title: Option<&str>) -> Vec<Part> {
    let title = title.map(|title| Part::quoted("Title", title));
    title.into_iter().chain([Part::path("Workspace", workspace)]).collect()
}

fn tasks([used, not, other]: [&'static str; 3], scope: &Scope) -> [Part; 3] {
    [
        Part::list(used, &scope.applies_to, EVERYTHING),
        Part::list(not, &scope.does_not_apply_to, NOTHING),
        Part::words(other, other_tasks(scope)),
    ]
}

/// What is attached: seen in every window.
fn asset(proposal: &Proposal) -> Vec<Part> {
    let asset = proposal.asset();
    let mut parts =
        vec![Part::words("Asset", &named(asset)).required(), Part::words("Digest", &asset.digest.to_string()).whole()];
    if proposal.needs_authorization() {
        parts.push(Part::words("Needs", "an authorization before it can be loaded"));
    }
    parts
}

fn named(asset: &AssetReference) -> String {
    format!("{} {}", asset.id, asset.version)
}
