//! What a person at a terminal reads in the place of JSON: the table of attachments, the preview of an approval, what was
//! done and the next command. Every foreign text is escaped and takes no more cells than its place has; a row that
//! continues one never starts where a label does.

use crate::cli::approve_question::ATTACHING;
use crate::cli::grammar::shell_word;
use crate::foundation::digest::Digest;
use crate::foundation::record::{Application, Attachment, MatchingPolicy, Record, Scope};
use crate::foundation::text::{collapse_whitespace, display, is_deceptive};
use crate::foundation::value::Value;
use crate::runtime::attachments::{CleanupPlan, Proposal, Stored, Switch};

/// Cells of a row of text beside its label.
const TEXT: usize = 64;
/// Cells of a label.
const LABEL: usize = 14;
/// The columns of the table, and the cells of each.
const COLUMNS: [(&str, usize); 7] =
    [("STATE", 8), ("ASSET", 22), ("VERSION", 8), ("PURPOSE", 18), ("APPLIES TO", 22), ("NOT FOR", 18), ("SINCE", 10)];

/// `kdna attachments` where there is no record.
pub(crate) fn nothing_attached() -> String {
    "No assets are attached here.\nNext: kdna attach FILE.kdna --cwd DIR\n".to_owned()
}

/// The attachments of a record, two rows each: the facts, and the id that commands take.
pub(crate) fn table(workspace: &str, record: &Record) -> String {
    let mut rows = vec![format!("Workspace {}", cut(workspace, TEXT))];
    if record.attachments().is_empty() {
        rows.push("No assets are attached.".to_owned());
    } else {
        rows.push(row(&COLUMNS.map(|(name, _)| name.to_owned())));
    }
    for attachment in record.attachments() {
        rows.push(row(&cells_of(attachment)));
        let former = match attachment.history.len() {
            0 => String::new(),
            count => format!("   {count} former version{}", if count == 1 { "" } else { "s" }),
        };
        rows.push(format!("{:10}{}{former}", "", attachment.id));
    }
    rows.push(match record.attachments().first() {
        None => "Next: kdna attach FILE.kdna --cwd DIR".to_owned(),
        Some(_) => "Next: kdna enable | disable | switch | rollback | remove ID, kdna doctor".to_owned(),
    });
    lines(&rows)
}

fn cells_of(attachment: &Attachment) -> [String; 7] {
    let scope = &attachment.scope;
    let since: String = attachment.approved_at.to_string().chars().take(10).collect();
    [
        if attachment.enabled { "enabled" } else { "disabled" }.to_owned(),
        attachment.asset.id.clone(),
        attachment.asset.version.clone(),
        attachment.role.clone(),
        if scope.applies_to.is_empty() { "(everything)".to_owned() } else { scope.applies_to.join(", ") },
        if scope.does_not_apply_to.is_empty() { "-".to_owned() } else { scope.does_not_apply_to.join(", ") },
        since,
    ]
}

fn row(texts: &[String; 7]) -> String {
    let cells = texts.iter().zip(COLUMNS).map(|(text, (_, width))| {
        let text = cut(text, width);
        let used = cells(&text);
        text + &" ".repeat(width.saturating_sub(used))
    });
    cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
}

/// What an attach would approve.
pub(crate) fn attach_preview(workspace: &str, proposal: &Proposal, title: Option<&str>) -> String {
    let asset = proposal.asset();
    let mut rows = vec![ATTACHING.to_owned()];
    rows.extend(title.map(|title| field("Title", &quoted(title))).unwrap_or_default());
    rows.extend(field("Asset", &format!("{} {}", asset.id, asset.version)));
    rows.extend(field("Digest", &asset.digest.to_string()));
    rows.extend(field("Workspace", workspace));
    rows.extend(policy(proposal.policy().role(), proposal.policy().scope()));
    rows.extend(needs(proposal.needs_authorization()));
    rows.push("Nothing leaves this machine by attaching: a host needs a consent of its own.".to_owned());
    lines(&rows)
}

/// What a switch would approve, and what it changes.
pub(crate) fn switch_preview(workspace: &str, former: &Attachment, switch: &Switch, title: Option<&str>) -> String {
    let (asset, was) = (switch.asset(), &former.asset);
    let mut rows = vec![format!("Switch attachment {} to another asset:", former.id)];
    rows.extend(title.map(|title| field("Title", &quoted(title))).unwrap_or_default());
    rows.extend(changed_field("Asset", &was.id, &asset.id));
    rows.extend(changed_field("Version", &was.version, &asset.version));
    rows.extend(changed_field("Digest", &was.digest.to_string(), &asset.digest.to_string()));
    rows.extend(field("Workspace", workspace));
    let (role, scope) = (switch.policy().role(), switch.policy().scope());
    rows.extend(policy(role, scope));
    if former.role != role {
        rows.extend(field("Purpose was", &quoted(&former.role)));
    }
    if same_tasks(&former.scope, scope) {
        rows.extend(field("Tasks", "the same as until now"));
    } else {
        rows.push("Until now it was:".to_owned());
        rows.extend(tasks(&former.scope));
    }
    rows.extend(needs(switch.proposal().needs_authorization()));
    if switch.leaves_damaged() {
        rows.extend(field(
            "Careful",
            "the stored copy of the present version is missing or damaged; going back to it will not be possible",
        ));
    }
    lines(&rows)
}

fn policy(role: &str, scope: &Scope) -> Vec<String> {
    let mut rows = field("Purpose", &quoted(role));
    rows.extend(tasks(scope));
    rows
}

fn tasks(scope: &Scope) -> Vec<String> {
    let mut rows = match scope.application {
        Application::AllWorkspace => field("Used for", "every task in this workspace"),
        Application::TaskHints => phrases("Used for", &scope.applies_to),
    };
    rows.extend(match scope.does_not_apply_to.as_slice() {
        [] => field("Not for", "(nothing excluded)"),
        excluded => phrases("Not for", excluded),
    });
    rows.extend(field("Other tasks", other_tasks(scope)));
    rows
}

/// What becomes of a task that fits no phrase.
pub(crate) fn other_tasks(scope: &Scope) -> &'static str {
    match scope.matching_policy {
        MatchingPolicy::OpenWorldAsk => "the host asks",
        MatchingPolicy::ClosedWorldSkip => "the asset is not used",
        MatchingPolicy::AllWorkspace => "there are none",
    }
}

/// Whether two scopes say the same of every task.
pub(crate) fn same_tasks(one: &Scope, other: &Scope) -> bool {
    one.application == other.application
        && one.matching_policy == other.matching_policy
        && one.applies_to == other.applies_to
        && one.does_not_apply_to == other.does_not_apply_to
}

fn phrases(label: &str, phrases: &[String]) -> Vec<String> {
    phrases
        .iter()
        .enumerate()
        .flat_map(|(at, phrase)| field(if at == 0 { label } else { "" }, &quoted(phrase)))
        .collect()
}

fn needs(authorization: bool) -> Vec<String> {
    if authorization { field("Needs", "an authorization before it can be loaded") } else { Vec::new() }
}

fn changed_field(label: &str, was: &str, is: &str) -> Vec<String> {
    if was == is {
        return field(label, &format!("{is} (unchanged)"));
    }
    let mut rows = field(label, is);
    rows.extend(field(&format!("  {} was", label.to_lowercase()), was));
    rows
}

/// How a preview is confirmed: the same command with the digest.
pub(crate) fn confirm_command(command: &str, words: &[String], digest: Digest, stdin: bool) -> String {
    let plain = |word: &String| word.len() <= 256 && !word.chars().any(is_deceptive);
    let kept: Vec<&String> = words.iter().filter(|word| *word != "--preview").collect();
    let shown = if kept.iter().all(|word| plain(word)) {
        kept.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
    } else {
        "(the same arguments)".to_owned()
    };
    let policy = if stdin { "  (and the same policy on standard input)" } else { "" };
    format!("Nothing was changed.\nNext: kdna {command} {shown} --yes --consent-digest {digest}{policy}\n")
}

/// What was done with one attachment, and what to do next.
pub(crate) fn changed(done: &str, entry: &Value, cwd: Option<&str>) -> String {
    let id = text(entry, &["attachment_id"]);
    let rows = [
        format!("{done}: {} {}", cut(text(entry, &["asset", "id"]), TEXT), cut(text(entry, &["asset", "version"]), 24)),
        format!("  {id} is {}, for {}", text(entry, &["state"]), cut(&quoted(text(entry, &["role"])), TEXT)),
        format!("Next: kdna attachments{}", place(cwd)),
    ];
    lines(&rows)
}

/// What a removal left.
pub(crate) fn removed(entry: &Value, kept: Stored, cwd: Option<&str>) -> String {
    let mut rows = vec![
        format!(
            "Removed: {} {}",
            cut(text(entry, &["asset", "id"]), TEXT),
            cut(text(entry, &["asset", "version"]), 24)
        ),
        format!("  Its stored copy stays; {} in all are kept.", counted(kept.managed, "stored copy", "stored copies")),
    ];
    if kept.unknown + kept.blocked > 0 {
        rows.push("  There are other files in .kdna/assets: see 'kdna doctor'.".to_owned());
    }
    rows.push(format!("Next: kdna cleanup{}", place(cwd)));
    lines(&rows)
}

/// What a cleanup would delete.
pub(crate) fn cleanup_preview(plan: &CleanupPlan, digest: Digest, cwd: Option<&str>) -> String {
    let count = plan.eligible().len();
    if count == 0 {
        return "Nothing to delete: every stored copy is named by an attachment or a former version.\n".to_owned();
    }
    let mut rows = vec![format!(
        "{} that no attachment and no former version names:",
        counted(count, "stored copy", "stored copies")
    )];
    rows.extend(plan.eligible().iter().map(|digest| format!("  {digest}")));
    rows.push("Nothing was changed.".to_owned());
    rows.push(format!("Next: kdna cleanup{} --plan-digest {digest} --yes", place(cwd)));
    lines(&rows)
}

/// What a cleanup deleted.
pub(crate) fn cleaned(plan: &CleanupPlan) -> String {
    format!("Deleted {}.\n", counted(plan.eligible().len(), "stored copy", "stored copies"))
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn place(cwd: Option<&str>) -> String {
    cwd.filter(|cwd| cwd.len() <= 256 && !cwd.chars().any(is_deceptive))
        .map_or_else(String::new, |cwd| format!(" --cwd {}", shell_word(cwd)))
}

fn text<'v>(entry: &'v Value, path: &[&str]) -> &'v str {
    path.iter().try_fold(entry, |value, key| value.get(key)).and_then(Value::as_str).unwrap_or_default()
}

/// Somebody's words. A quote inside becomes a curly one, so that none can end early.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\u{201d}"))
}

/// A label and its text, on as many rows as it needs.
fn field(label: &str, text: &str) -> Vec<String> {
    let shown = display(&collapse_whitespace(text), usize::MAX);
    let mut rows = vec![format!("  {label:LABEL$}")];
    let mut used = 0;
    for character in shown.chars() {
        if used + width(character) > TEXT {
            rows.push(" ".repeat(LABEL + 2));
            used = 0;
        }
        rows.last_mut().into_iter().for_each(|row| row.push(character));
        used += width(character);
    }
    rows
}

/// A text in at most so many cells; one that is cut ends in an ellipsis.
fn cut(text: &str, limit: usize) -> String {
    let shown = display(&collapse_whitespace(text), limit);
    if cells(&shown) <= limit {
        return shown;
    }
    let mut kept = String::new();
    let mut used = 0;
    for character in shown.chars() {
        used += width(character);
        if used >= limit {
            break;
        }
        kept.push(character);
    }
    kept.push('…');
    kept
}

fn cells(text: &str) -> usize {
    text.chars().map(width).sum()
}

/// Cells of a character: two from the first wide script on.
fn width(character: char) -> usize {
    if character >= '\u{1100}' && character != '…' { 2 } else { 1 }
}

fn lines(rows: &[String]) -> String {
    rows.iter().flat_map(|row| [row.as_str(), "\n"]).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests {
    use super::*;

    const HOSTILE: &str = "\u{1b}[2J\r\n  Digest        forged\u{202e}";

    fn record(role: &str, phrase: &str) -> Record {
        let hex = "0".repeat(64);
        let text = serde_json::json!({
            "document_type": "kdna.workspace-attachments",
            "schema_version": "0.3.0",
            "workspace": {"root_marker": ".kdna/attachments.json"},
            "attachments": [{
                "attachment_id": "att_000000000000000000000001",
                "asset": {
                    "id": "kdna:example:review", "version": "1.0.0",
                    "digest": format!("sha256:{hex}"), "snapshot": format!("assets/sha256-{hex}.kdna"),
                },
                "state": "enabled",
                "role": role,
                "scope": {
                    "kind": "workspace", "application": "task_hints", "matching_policy": "open_world_ask",
                    "authority": "user_approved_routing_hint", "approval_source": "user_explicit",
                    "applies_to": [phrase], "does_not_apply_to": [],
                },
                "resolution_policy": "load_when_clear_ask_when_ambiguous",
                "update_policy": "explicit_switch_only",
                "approved_at": "2026-06-01T09:00:00.000Z",
                "history": [],
            }],
        });
        Record::read(text.to_string().as_bytes()).unwrap()
    }

    fn assert_harmless(text: &str) {
        for row in text.lines() {
            assert!(cells(row) <= 130, "{row}");
            assert!(!row.chars().any(|character| character.is_control() || character == '\u{202e}'), "{row:?}");
        }
    }

    #[test]
    fn the_table_says_what_is_attached_and_how_it_is_named() {
        let text = table("ws", &record("change-review", "review the pull request"));
        let rows: Vec<&str> = text.lines().collect();
        assert_eq!(
            rows,
            [
                "Workspace ws",
                "STATE     ASSET                   VERSION   PURPOSE             APPLIES TO              NOT FOR             SINCE",
                "enabled   kdna:example:review     1.0.0     change-review       review the pull reque…  -                   2026-06-01",
                "          att_000000000000000000000001",
                "Next: kdna enable | disable | switch | rollback | remove ID, kdna doctor",
            ]
        );
        let columns = |row: &str| row.find("VERSION").or_else(|| row.find("1.0.0"));
        assert_eq!(columns(rows[1]), columns(rows[2]));
    }

    #[test]
    fn no_text_of_a_record_leaves_its_column_or_reaches_the_terminal_raw() {
        for role in [HOSTILE, &"写".repeat(500), &"x".repeat(4000), "\\"] {
            let text = table("ws", &record(role, "review"));
            assert_harmless(&text);
            let row = text.lines().nth(2).unwrap();
            assert!(row.ends_with("  2026-06-01"), "{row}");
        }
        let done = changed("Enabled", record(HOSTILE, HOSTILE).attachments()[0].entry(), Some(HOSTILE));
        assert_harmless(&done);
        assert!(!done.contains("--cwd"), "a name that cannot be shown is not part of a command");
    }

    #[test]
    fn a_continued_row_never_starts_where_a_label_does() {
        let rows = field("Purpose", &quoted(&format!("{} {HOSTILE}", "x".repeat(200))));
        assert!(rows.len() > 3 && rows.iter().skip(1).all(|row| row.starts_with(&" ".repeat(LABEL + 2))), "{rows:?}");
        assert_harmless(&lines(&rows));
    }

    #[test]
    fn words_of_a_command_line_are_quoted_for_a_shell() {
        for (word, shown) in
            [("a.kdna", "a.kdna"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("", "''"), ("$(x)", "'$(x)'")]
        {
            assert_eq!(shell_word(word), shown);
        }
        let words = ["a b.kdna".to_owned(), "--preview".to_owned()];
        let digest = Digest::of(b"");
        let text = confirm_command("attach", &words, digest, false);
        assert!(text.contains(&format!("kdna attach 'a b.kdna' --yes --consent-digest {digest}\n")), "{text}");
        assert!(!confirm_command("attach", &[HOSTILE.to_owned()], digest, true).contains('\u{1b}'));
    }
}
