//! The requests to the runtime and their wire form: one JSON document of literals, validated identifiers and paths
//! below the held directory. Free text and the password never stand in it; they follow as the input.
//!
//! The worker reads the same type back ([`Request::read`]), so the two sides cannot drift apart.

use crate::foundation::json::{read_strict, write};
use crate::foundation::path::RelativePath;
use crate::foundation::switches::Switches;
use crate::foundation::time::Timestamp;
use crate::foundation::value::Value;

/// What the runtime is asked to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// Decide one task; the task's bytes are the input.
    Resolve(ResolveRequest),
    /// Make a LoadPlan of the given bytes.
    PlanLoad(PlanRequest),
    /// Load the given bytes; the password, if any, is the input.
    Load(LoadRequest),
    /// The manifest facts.
    Inspect(Switches),
    /// Run the gates.
    Validate {
        /// What the plan would be asked with.
        plan: PlanRequest,
        /// Whether the plan is in the reply.
        planned: bool,
    },
    /// Make the protected form of the given bytes; the password is the input, and the reply is no document but the
    /// asset's bytes.
    Protect,
}

/// One task against one workspace, which lies below the directory that the worker may read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolveRequest {
    /// The workspace below the readable directory.
    pub workspace: RelativePath,
    /// Where the caller stands, at or below the workspace, from the same directory.
    pub start: RelativePath,
    /// How the workspace is named from where the caller stands: `.`, `..`, `../..`.
    pub display_root: String,
    /// The workspace's canonical absolute path; digested into selection plans, never printed.
    pub absolute_root: String,
    /// A one-task selection: attachment, task digest, plan digest.
    pub selection: Option<(String, String, Option<String>)>,
    /// Whether a missing password defers instead of blocking.
    pub defer_password: bool,
    /// Whether doubts that the contract overlooks count (docs/contract/resolver.md).
    pub hardened: bool,
}

/// What a plan depends on besides the bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlanRequest {
    /// What `source.path` shall say.
    pub source_path: Option<String>,
    /// `--has-password`.
    pub has_password: bool,
    /// `--entitlement-status`.
    pub entitlement_status: Option<String>,
    /// The snapshot below the readable directory, for a runtime that is given no sealed bytes.
    pub snapshot: Option<RelativePath>,
    /// What is switched on beyond the base profile.
    pub switches: Switches,
}

/// One load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadRequest {
    /// `index`, `compact`, `scenario`, `full` or `minimal`.
    pub profile: String,
    /// Whether the input is a password.
    pub password: bool,
    /// `--entitlement-status`.
    pub entitlement_status: Option<String>,
    /// The time that the Capsule shall carry.
    pub loaded_at: Timestamp,
    /// The snapshot below the readable directory, for a runtime that is given no sealed bytes.
    pub snapshot: Option<RelativePath>,
    /// What is switched on beyond the base profile.
    pub switches: Switches,
}

const DEPTH: usize = 2;

impl Request {
    /// The command's word.
    pub const fn command(&self) -> &'static str {
        match self {
            Request::Resolve(_) => "resolve",
            Request::PlanLoad(_) => "plan-load",
            Request::Load(_) => "load",
            Request::Inspect(_) => "inspect",
            Request::Validate { .. } => "validate",
            Request::Protect => "protect",
        }
    }

    /// What is switched on beyond the base profile.
    pub const fn switches(&self) -> Switches {
        match self {
            Request::PlanLoad(request) | Request::Validate { plan: request, .. } => request.switches,
            Request::Load(request) => request.switches,
            Request::Inspect(switches) => *switches,
            Request::Resolve(_) | Request::Protect => Switches::NONE,
        }
    }

    /// The document sent to the worker.
    pub fn write(&self) -> Vec<u8> {
        let details = match self {
            Request::Resolve(request) => request.details(),
            Request::PlanLoad(request) | Request::Validate { plan: request, planned: true } => request.details(),
            Request::Load(request) => request.details(),
            Request::Validate { planned: false, .. } | Request::Inspect(_) | Request::Protect => Value::Null,
        };
        let switches = self.switches();
        let document = Value::object([
            ("command", Value::from(self.command())),
            ("details", details),
            ("signatures", switches.signatures.into()),
            ("minimal", switches.minimal.into()),
        ]);
        write::compact(&document).unwrap_or_default().into_bytes()
    }

    /// The worker's reading of it; `None` for anything that [`Request::write`] does not write.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let document = read_strict(bytes, DEPTH).ok()?;
        let details = document.get("details")?;
        let switched = |key| document.get(key)?.as_bool();
        let switches = Switches { signatures: switched("signatures")?, minimal: switched("minimal")? };
        match document.get("command")?.as_str()? {
            "resolve" => Some(Request::Resolve(ResolveRequest::from_details(details)?)),
            "plan-load" => Some(Request::PlanLoad(PlanRequest::from_details(details, switches)?)),
            "load" => Some(Request::Load(LoadRequest::from_details(details, switches)?)),
            "inspect" => Some(Request::Inspect(switches)),
            "protect" => Some(Request::Protect),
            "validate" if details.is_null() => {
                Some(Request::Validate { plan: PlanRequest { switches, ..PlanRequest::default() }, planned: false })
            }
            "validate" => {
                Some(Request::Validate { plan: PlanRequest::from_details(details, switches)?, planned: true })
            }
            _ => None,
        }
    }
}

impl ResolveRequest {
    fn details(&self) -> Value {
        let (attachment, task, plan) = match &self.selection {
            Some((attachment, task, plan)) => (Some(attachment.clone()), Some(task.clone()), plan.clone()),
            None => (None, None, None),
        };
        Value::object([
            ("workspace", Value::copied(self.workspace.as_str())),
            ("start", Value::copied(self.start.as_str())),
            ("display_root", Value::copied(self.display_root.as_str())),
            ("absolute_root", Value::copied(self.absolute_root.as_str())),
            ("selected", Value::from(attachment)),
            ("selection_task_digest", Value::from(task)),
            ("selection_plan_digest", Value::from(plan)),
            ("defer_password", Value::from(self.defer_password)),
            ("hardened", Value::from(self.hardened)),
        ])
    }

    fn from_details(details: &Value) -> Option<Self> {
        let selection = match optional_text(details, "selected")? {
            Some(attachment) => Some((
                attachment,
                optional_text(details, "selection_task_digest")??,
                optional_text(details, "selection_plan_digest")?,
            )),
            None => None,
        };
        Some(Self {
            workspace: RelativePath::parse(details.get("workspace")?.as_str()?)?,
            start: RelativePath::parse(details.get("start")?.as_str()?)?,
            display_root: details.get("display_root")?.as_str()?.to_owned(),
            absolute_root: details.get("absolute_root")?.as_str()?.to_owned(),
            selection,
            defer_password: details.get("defer_password")?.as_bool()?,
            hardened: details.get("hardened")?.as_bool()?,
        })
    }
}

impl PlanRequest {
    fn details(&self) -> Value {
        Value::object([
            ("source_path", Value::from(self.source_path.clone())),
            ("has_password", Value::from(self.has_password)),
            ("entitlement_status", Value::from(self.entitlement_status.clone())),
            ("snapshot", Value::from(self.snapshot.as_ref().map(|path| path.as_str().to_owned()))),
        ])
    }

    fn from_details(details: &Value, switches: Switches) -> Option<Self> {
        Some(Self {
            source_path: optional_text(details, "source_path")?,
            has_password: details.get("has_password")?.as_bool()?,
            entitlement_status: optional_text(details, "entitlement_status")?,
            snapshot: optional_path(details)?,
            switches,
        })
    }
}

impl LoadRequest {
    fn details(&self) -> Value {
        Value::object([
            ("profile", Value::copied(self.profile.as_str())),
            ("password", Value::from(self.password)),
            ("entitlement_status", Value::from(self.entitlement_status.clone())),
            ("loaded_at", Value::from(self.loaded_at.to_string())),
            ("snapshot", Value::from(self.snapshot.as_ref().map(|path| path.as_str().to_owned()))),
        ])
    }

    fn from_details(details: &Value, switches: Switches) -> Option<Self> {
        Some(Self {
            profile: details.get("profile")?.as_str()?.to_owned(),
            password: details.get("password")?.as_bool()?,
            entitlement_status: optional_text(details, "entitlement_status")?,
            loaded_at: Timestamp::parse(details.get("loaded_at")?.as_str()?)?,
            snapshot: optional_path(details)?,
            switches,
        })
    }
}

/// `Some(None)` for null, `None` for a missing member or another type.
fn optional_text(details: &Value, key: &str) -> Option<Option<String>> {
    match details.get(key)? {
        Value::Null => Some(None),
        Value::String(text) => Some(Some(text.clone().into_owned())),
        _ => None,
    }
}

fn optional_path(details: &Value) -> Option<Option<RelativePath>> {
    match optional_text(details, "snapshot")? {
        None => Some(None),
        Some(text) => RelativePath::parse(&text).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_one_side_writes_the_other_reads() {
        let requests = [
            Request::Resolve(ResolveRequest {
                workspace: RelativePath::parse("a/b").unwrap(),
                start: RelativePath::parse("a/b/c").unwrap(),
                display_root: "..".into(),
                absolute_root: "/w/\"x\"".into(),
                selection: Some(("att_000000000000000000000001".into(), "sha256:0".into(), None)),
                defer_password: true,
                hardened: true,
            }),
            Request::PlanLoad(PlanRequest { source_path: Some("/a".into()), ..PlanRequest::default() }),
            Request::Load(LoadRequest {
                profile: "full".into(),
                password: true,
                entitlement_status: None,
                loaded_at: Timestamp::from_milliseconds(1),
                snapshot: RelativePath::parse("x"),
                switches: Switches { signatures: true, minimal: true },
            }),
            Request::Inspect(Switches { signatures: true, minimal: false }),
            Request::Protect,
            Request::Validate { plan: PlanRequest::default(), planned: false },
            Request::Validate {
                plan: PlanRequest { switches: Switches { signatures: false, minimal: true }, ..PlanRequest::default() },
                planned: true,
            },
        ];
        for request in requests {
            assert_eq!(Request::read(&request.write()), Some(request));
        }
        assert_eq!(Request::read(b"{}"), None);
        assert_eq!(Request::read(br#"{"command":"load","details":{"profile":1}}"#), None);
    }
}
