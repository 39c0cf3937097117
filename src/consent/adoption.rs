//! The question about attachments that came with a workspace: a text of at most 24 rows of 79 cells, whatever the record
//! says. Asks nobody and approves nothing by itself.

use super::prompt::{field, list, middle_cut, plain, quoted};
use crate::foundation::path::AbsolutePath;
use crate::foundation::record::Attachment;

/// Attachments that one question can be about; for more, one is named.
pub const TOGETHER: usize = 4;

const HEADING: &str = "These attachments came with the workspace; nobody approved them on this machine.";
const QUESTION: &str = "Approve them for this workspace? A host still needs a consent. [y/N] ";

/// The question for these attachments, each with the title that its asset gives itself. At most [`TOGETHER`] of them.
pub fn question(workspace: &AbsolutePath, attachments: &[(Attachment, String)]) -> String {
    let mut rows = vec![HEADING.to_owned()];
    rows.extend(field("Workspace", &middle_cut(plain(workspace.as_str())), 1, ""));
    for (attachment, title) in attachments.iter().take(TOGETHER) {
        let state = if attachment.enabled { "enabled" } else { "disabled" };
        let mut tokens = plain(&format!("{state}, "));
        tokens.push(" ".to_owned());
        tokens.extend(quoted([title]));
        tokens.push(" ".to_owned());
        tokens.extend(plain(&format!("{}@{}", attachment.asset.id, attachment.asset.version)));
        rows.extend(field("Attachment", &tokens, 1, ""));
        rows.extend(field("Purpose", &quoted([&attachment.role]), 1, ""));
        let in_all = |phrases: &[String]| format!("({} in all)", phrases.len());
        let scope = &attachment.scope;
        let used = list(&scope.applies_to, "(everything in the workspace)");
        rows.extend(field("Used for", &used, 1, &in_all(&scope.applies_to)));
        let not = list(&scope.does_not_apply_to, "(nothing excluded)");
        rows.extend(field("Not for", &not, 1, &in_all(&scope.does_not_apply_to)));
    }
    rows.push(String::new());
    rows.push(QUESTION.to_owned());
    rows.join("\n")
}
