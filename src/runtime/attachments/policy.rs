//! What the person approves: role, phrases and policy, cleaned and bounded. Stricter than a record must be, so that what
//! is written can be used everywhere and can deceive nobody who reads it.

use crate::foundation::json::read_strict;
use crate::foundation::limits;
use crate::foundation::record::{Application, ApprovalSource, MatchingPolicy, SCOPE_AUTHORITY, SCOPE_KIND, Scope};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::text;
use crate::foundation::value::{Object, Value};
use std::collections::HashSet;

const REQUIRED_KEYS: [&str; 3] = ["role", "applies_to", "does_not_apply_to"];
const OPTIONAL_KEYS: [&str; 2] = ["scope_mode", "matching_policy"];
const SHAPE: &str =
    "Attachment stdin must contain role, applies_to, does_not_apply_to, and optional scope_mode/matching_policy.";

/// A policy as the command line gives it.
#[derive(Clone, Copy, Debug, Default)]
pub struct PolicyArguments<'a> {
    /// `--role`
    pub role: Option<&'a str>,
    /// `--applies-to`, repeated
    pub applies_to: &'a [String],
    /// `--does-not-apply-to`, repeated
    pub does_not_apply_to: &'a [String],
    /// `--all-workspace`
    pub all_workspace: bool,
    /// `--closed-world-scope`
    pub closed_world: bool,
}

/// A role and a scope, ready to be proposed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachmentPolicy {
    role: String,
    scope: Scope,
}

impl AttachmentPolicy {
    /// Reads a policy from standard input: 1 to 65,536 bytes of strict JSON, one leading byte order mark tolerated.
    ///
    /// Refuses with `input_unreadable`, `usage`, and the reasons of phrases and role.
    pub fn from_stdin(bytes: &[u8], approval_source: ApprovalSource) -> Result<Self, Refusal> {
        let object = read_object(bytes)?;
        let role = object.get("role").and_then(Value::as_str).ok_or_else(shape)?;
        let lists = [list(&object, "applies_to")?, list(&object, "does_not_apply_to")?];
        let all_workspace = match object.get("scope_mode").map(Value::as_str) {
            None | Some(Some("task_hints")) => false,
            Some(Some("all_workspace")) => true,
            Some(_) => return Err(shape()),
        };
        let closed_world = match object.get("matching_policy").map(Value::as_str) {
            None | Some(Some("open_world_ask")) => false,
            Some(Some("closed_world_skip")) => true,
            Some(_) => return Err(shape()),
        };
        if all_workspace && object.contains_key("matching_policy") {
            let message = "All-workspace scope does not accept a task-hint matching policy.";
            return Err(Refusal::labelled(Reason::Usage, message));
        }
        let [applies_to, does_not_apply_to] = lists.map(texts);
        let arguments = PolicyArguments {
            role: Some(role),
            applies_to: &applies_to?,
            does_not_apply_to: &does_not_apply_to?,
            all_workspace,
            closed_world,
        };
        Self::build(&arguments, approval_source)
    }

    /// Takes a policy from the command line. Refuses with `usage` and the reasons of phrases and role.
    pub fn from_arguments(arguments: &PolicyArguments<'_>, approval_source: ApprovalSource) -> Result<Self, Refusal> {
        if arguments.all_workspace && arguments.closed_world {
            let message = "--all-workspace and --closed-world-scope are mutually exclusive.";
            return Err(Refusal::labelled(Reason::Usage, message));
        }
        Self::build(arguments, approval_source)
    }

    /// The policy of an attachment once more, approved anew. Refuses as a new one does: what a host cannot be shown is
    /// not carried on.
    pub fn retained(role: &str, scope: &Scope, approval_source: ApprovalSource) -> Result<Self, Refusal> {
        let arguments = PolicyArguments {
            role: Some(role),
            applies_to: &scope.applies_to,
            does_not_apply_to: &scope.does_not_apply_to,
            all_workspace: scope.application == Application::AllWorkspace,
            closed_world: scope.matching_policy == MatchingPolicy::ClosedWorldSkip,
        };
        Self::build(&arguments, approval_source)
    }

    /// The approved purpose.
    pub fn role(&self) -> &str {
        &self.role
    }

    /// The approved scope.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// The scope in the record's key order.
    pub(super) fn scope_value(&self) -> Value {
        let phrases =
            |list: &[String]| Value::Array(list.iter().map(|phrase| Value::copied(phrase.as_str())).collect());
        Value::object([
            ("kind", Value::from(SCOPE_KIND)),
            ("application", Value::from(self.scope.application.as_str())),
            ("matching_policy", Value::from(self.scope.matching_policy.as_str())),
            ("authority", Value::from(SCOPE_AUTHORITY)),
            ("approval_source", Value::from(self.scope.approval_source.as_str())),
            ("applies_to", phrases(&self.scope.applies_to)),
            ("does_not_apply_to", phrases(&self.scope.does_not_apply_to)),
        ])
    }

    fn build(arguments: &PolicyArguments<'_>, approval_source: ApprovalSource) -> Result<Self, Refusal> {
        let applies_to = clean_phrases(arguments.applies_to)?;
        let does_not_apply_to = clean_phrases(arguments.does_not_apply_to)?;
        if arguments.all_workspace != applies_to.is_empty() {
            return Err(Reason::ScopeNotExecutable.into());
        }
        let (application, matching_policy) = match (arguments.all_workspace, arguments.closed_world) {
            (true, _) => (Application::AllWorkspace, MatchingPolicy::AllWorkspace),
            (false, true) => (Application::TaskHints, MatchingPolicy::ClosedWorldSkip),
            (false, false) => (Application::TaskHints, MatchingPolicy::OpenWorldAsk),
        };
        let first = applies_to.first().map_or("workspace-wide", String::as_str);
        let role = clean_role(arguments.role.filter(|role| !role.is_empty()).unwrap_or(first))?;
        let scope = Scope { application, matching_policy, approval_source, applies_to, does_not_apply_to };
        Ok(Self { role, scope })
    }
}

fn read_object(bytes: &[u8]) -> Result<Object, Refusal> {
    let refuse = |message| Refusal::labelled(Reason::InputUnreadable, message);
    if bytes.is_empty() {
        return Err(refuse("Attachment stdin must not be empty."));
    }
    if u64::try_from(bytes.len()).map_or(true, |length| length > limits::TASK_BYTES) {
        return Err(refuse("Attachment stdin exceeds the size limit."));
    }
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
    let value =
        read_strict(bytes, limits::POLICY_DEPTH).map_err(|_| refuse("Attachment stdin must be strict UTF-8 JSON."))?;
    let Value::Object(object) = value else { return Err(shape()) };
    let known = |key: &str| REQUIRED_KEYS.contains(&key) || OPTIONAL_KEYS.contains(&key);
    if object.keys().all(known) && REQUIRED_KEYS.iter().all(|key| object.contains_key(key)) {
        Ok(object)
    } else {
        Err(shape())
    }
}

fn shape() -> Refusal {
    Refusal::labelled(Reason::InputUnreadable, SHAPE)
}

fn list<'v>(object: &'v Object, key: &str) -> Result<&'v [Value], Refusal> {
    object.get(key).and_then(Value::as_array).ok_or_else(shape)
}

fn texts(items: &[Value]) -> Result<Vec<String>, Refusal> {
    items.iter().map(|item| item.as_str().map(str::to_owned).ok_or_else(|| Reason::PhraseNotText.into())).collect()
}

fn clean_phrases(phrases: &[String]) -> Result<Vec<String>, Refusal> {
    if phrases.len() > limits::PHRASES {
        return Err(Reason::PhraseTooMany.into());
    }
    let mut seen = HashSet::new();
    let mut clean = Vec::with_capacity(phrases.len());
    for phrase in phrases {
        let phrase = text::collapse_whitespace(phrase);
        if phrase.is_empty() || text::utf16_len(&phrase) > limits::TEXT_UNITS {
            return Err(Reason::PhraseUnbounded.into());
        }
        refuse_hidden(&phrase)?;
        if !seen.insert(text::normalise_phrase(&phrase)) {
            return Err(Reason::PhraseRepeated.into());
        }
        clean.push(phrase);
    }
    Ok(clean)
}

fn clean_role(role: &str) -> Result<String, Refusal> {
    let role = text::collapse_whitespace(role);
    if role.is_empty() || text::utf16_len(&role) > limits::ROLE_UNITS {
        return Err(Reason::RoleUnbounded.into());
    }
    refuse_hidden(&role)?;
    Ok(role)
}

fn refuse_hidden(shown: &str) -> Result<(), Refusal> {
    if shown.chars().any(text::is_hidden) { Err(Reason::PhraseDeceptive.into()) } else { Ok(()) }
}
