//! Tool arguments from raw JSON to typed values. Every object is closed, nothing is coerced, `null` is not absent, and
//! a fault has no detail: arguments are model output.

use super::envelope::{Members, text_of};
use super::schema::Tool;
use crate::broker::{Profile, Selection, Task};
use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::foundation::text::{is_attachment_id, utf16_len};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// One call, its arguments typed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Request {
    Status { cwd: String },
    Resolve { cwd: String, task: Task, selection: Option<Selection> },
    Load { cwd: String, task: Task, selection: Option<Selection>, profile: Profile },
}

/// Reads the arguments of a tool; `None` on any violation. Missing arguments are an empty object.
pub(crate) fn read(tool: Tool, raw: Option<&RawValue>) -> Option<Request> {
    let members = Members::read(raw.map_or("{}", RawValue::get))?;
    if !members.are_only(tool.properties()) {
        return None;
    }
    let cwd = cwd(members.get("cwd")?)?;
    if tool == Tool::Status {
        return Some(Request::Status { cwd });
    }
    let task = task(members.get("task")?)?;
    let selection = optional(members.get("selection"), selection).ok()?;
    if tool == Tool::Resolve {
        return Some(Request::Resolve { cwd, task, selection });
    }
    let profile = optional(members.get("profile"), |raw| Profile::parse(&text(raw)?)).ok()?.unwrap_or_default();
    Some(Request::Load { cwd, task, selection, profile })
}

/// Reads a member that may be missing, but not wrong.
fn optional<T>(raw: Option<&RawValue>, read: impl Fn(&RawValue) -> Option<T>) -> Result<Option<T>, Wrong> {
    raw.map(|raw| read(raw).ok_or(Wrong)).transpose()
}

/// An argument breaks its schema.
struct Wrong;

fn text(raw: &RawValue) -> Option<String> {
    String::from_utf8(text_of(raw.get())?.into_owned()).ok()
}

fn cwd(raw: &RawValue) -> Option<String> {
    text(raw).filter(|text| !text.is_empty() && utf16_len(text) <= limits::PATH_UNITS)
}

fn task(raw: &RawValue) -> Option<Task> {
    let bytes = text_of(raw.get())?;
    let size = u64::try_from(bytes.len()).ok()?;
    if size == 0 || size > limits::TASK_BYTES {
        return None;
    }
    Some(String::from_utf8(Cow::into_owned(bytes)).map_or(Task::NotUnicode, Task::Text))
}

fn selection(raw: &RawValue) -> Option<Selection> {
    let members = Members::read(raw.get())?;
    let digest = |raw: &RawValue| text(raw).filter(|text| Digest::parse(text).is_some());
    if !members.are_only(&["attachment_id", "task_digest", "plan_digest", "approved"])
        || members.get("approved")?.get() != "true"
    {
        return None;
    }
    Some(Selection {
        attachment_id: text(members.get("attachment_id")?).filter(|text| is_attachment_id(text))?,
        task_digest: digest(members.get("task_digest")?)?,
        plan_digest: optional(members.get("plan_digest"), digest).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "att_000000000000000000000001";

    fn accepts(json: &str) -> bool {
        read(Tool::Load, Some(&RawValue::from_string(json.to_owned()).unwrap())).is_some()
    }

    fn digest() -> String {
        Digest::of(b"x").to_string()
    }

    #[test]
    fn arguments_are_closed_and_nothing_is_coerced() {
        assert!(accepts(r#"{"task":"t","cwd":"/w"}"#) && accepts(r#"{"cwd":"/w","task":"t","profile":"full"}"#));
        for json in [
            "null",
            "[]",
            "\"x\"",
            "{}",
            r#"{"cwd":"/w"}"#,
            r#"{"cwd":"","task":"t"}"#,
            r#"{"cwd":"/w","task":""}"#,
            r#"{"cwd":["/w"],"task":"t"}"#,
            r#"{"cwd":"/w","task":null}"#,
            r#"{"cwd":"/w","task":"t","x":1}"#,
            r#"{"cwd":"/w","task":"t","profile":null}"#,
            r#"{"cwd":"/w","task":"t","profile":"minimal"}"#,
            r#"{"cwd":"/w","task":"t","task":"t"}"#,
            r#"{"cwd":"\ud800","task":"t"}"#,
            r#"{"cwd":"/w","task":1e999}"#,
            r#"{"cwd":"/w","task":"t","selection":null}"#,
            r#"{"cwd":"/w","task":"t","\ud800":1}"#,
        ] {
            assert!(!accepts(json), "{json}");
        }
    }

    #[test]
    fn a_selection_needs_every_field_in_its_own_form() {
        let with = |selection: &str| accepts(&format!(r#"{{"cwd":"/w","task":"t","selection":{selection}}}"#));
        let d = digest();
        assert!(with(&format!(r#"{{"attachment_id":"{ID}","task_digest":"{d}","approved":true}}"#)));
        assert!(with(&format!(
            r#"{{"attachment_id":"{ID}","task_digest":"{d}","plan_digest":"{d}","approved":true}}"#
        )));
        for bad in [
            format!(r#"{{"attachment_id":"{ID}","task_digest":"{d}"}}"#),
            format!(r#"{{"attachment_id":"{ID}","task_digest":"{d}","approved":1}}"#),
            format!(r#"{{"attachment_id":"{ID}","task_digest":"{d}","approved":false}}"#),
            format!(r#"{{"attachment_id":"{ID}","task_digest":"{d}","plan_digest":null,"approved":true}}"#),
            format!(r#"{{"attachment_id":["{ID}"],"task_digest":"{d}","approved":true}}"#),
            format!(r#"{{"attachment_id":"{ID}","task_digest":"{}","approved":true}}"#, d.to_uppercase()),
            format!(r#"{{"attachment_id":"{ID}","task_digest":"{d}","approved":true,"approved":true}}"#),
            format!(r#"{{"attachment_id":"{ID}","task_digest":"{d}","approved":true,"x":1}}"#),
        ] {
            assert!(!with(&bad), "{bad}");
        }
    }

    #[test]
    fn limits_hold_at_their_edge_in_the_unit_that_counts() {
        let call = |cwd: &str, task: &str| accepts(&format!(r#"{{"cwd":"{cwd}","task":"{task}"}}"#));
        assert!(call(&"a".repeat(4096), "t") && !call(&"a".repeat(4097), "t"));
        assert!(call(&"\u{1f600}".repeat(2048), "t") && !call(&"\u{1f600}".repeat(2049), "t"));
        assert!(call("/w", &"x".repeat(65_536)) && !call("/w", &"x".repeat(65_537)));
        assert!(call("/w", &"界".repeat(21_845)) && !call("/w", &"界".repeat(21_846)));
        assert!(call("/w", &"\\u0041".repeat(65_536)));
    }

    #[test]
    fn an_unpaired_surrogate_makes_a_task_that_no_utf8_can_say() {
        let read = |text: &str| {
            let json = format!(r#"{{"cwd":"/w","task":"{text}"}}"#);
            match read(Tool::Resolve, Some(&RawValue::from_string(json).unwrap())) {
                Some(Request::Resolve { task, .. }) => task,
                _ => panic!("refused"),
            }
        };
        assert!(read("a \\ud800 b") == Task::NotUnicode && read("\\udc00\\ud800") == Task::NotUnicode);
        assert!(read("\\ud83d\\ude00") == Task::Text("\u{1f600}".to_owned()));
    }
}
