//! The entry that a person gives a host: absolute paths, exactly the tools, no wildcard that lets anything in, no secret.

use super::known::{Host, Shape, ToolList};
use super::{SERVER, SESSION_VARIABLES, listed_name};
use crate::foundation::json::write;
use crate::foundation::path::AbsolutePath;
use crate::foundation::value::{Map, Tree, Value};
use std::fmt::Write as _;

/// What an entry is about.
#[derive(Clone, Debug)]
pub struct EntryFacts {
    /// This program.
    pub program: AbsolutePath,
    /// `KDNA_MCP_WORKSPACE_ROOT`.
    pub root: AbsolutePath,
    /// `KDNA_MCP_HOST_ID`.
    pub host_id: String,
    /// The variable that says where consents are kept, and its value.
    pub consent: (&'static str, AbsolutePath),
    /// `KDNA_BROKER_STATE_DIR`, where it is not the default.
    pub state: Option<AbsolutePath>,
}

impl EntryFacts {
    fn variables(&self) -> Tree<'_> {
        let mut variables = Map::new();
        variables.insert("KDNA_MCP_WORKSPACE_ROOT", self.root.as_str());
        variables.insert("KDNA_MCP_HOST_ID", self.host_id.as_str());
        variables.insert(self.consent.0, self.consent.1.as_str());
        if let Some(state) = &self.state {
            variables.insert("KDNA_BROKER_STATE_DIR", state.as_str());
        }
        Tree::Object(variables)
    }
}

/// The text for the host's file of servers.
pub fn entry(host: &Host, facts: &EntryFacts) -> String {
    if host.id == "codex" { toml(host, facts) } else { json(host, facts) }
}

/// The text for the host's file of permissions, where it has one of its own.
pub fn allowed(host: &Host) -> Option<String> {
    if host.list != ToolList::Allowed {
        return None;
    }
    let tools = host.tools().map(|tool| Value::from(format!("mcp__{SERVER}__{}", listed_name(tool))));
    let document = Value::object([
        ("enabledMcpjsonServers", Value::Array(vec![SERVER.into()])),
        ("permissions", Value::object([("allow", Value::Array(tools.to_vec()))])),
    ]);
    write::pretty(&document).ok()
}

/// What a person must do besides writing the file; nothing where the file says it all.
pub fn advice(host: &Host) -> Option<String> {
    (host.list == ToolList::Elsewhere).then(|| {
        format!(
            "{} keeps its list of tools in its own settings: switch on exactly these there, and let none of them run unasked: {}.",
            host.title,
            host.tools().join(", ")
        )
    })
}

fn json(host: &Host, facts: &EntryFacts) -> String {
    let mut entry = Map::new();
    match host.shape {
        Shape::CommandList => {
            entry.insert("type", "local");
            let words = std::iter::once(facts.program.as_str()).chain(host.arguments().iter().copied());
            entry.insert("command", words.map(Tree::from).collect::<Vec<_>>());
            entry.insert("environment", facts.variables());
            entry.insert("enabled", true);
        }
        Shape::CommandAndArgs => {
            if host.list != ToolList::InEntry("includeTools") {
                entry.insert("type", "stdio");
            }
            entry.insert("command", facts.program.as_str());
            entry.insert("args", host.arguments().iter().copied().map(Tree::from).collect::<Vec<_>>());
            entry.insert("env", facts.variables());
        }
    }
    if let ToolList::InEntry(name) = host.list {
        entry.insert(name, host.tools().map(Tree::from).to_vec());
    }
    let mut document = Map::new();
    document.insert(host.servers, Tree::object([(SERVER, Tree::Object(entry))]));
    if host.list == ToolList::Permission {
        document.insert("permission", permission(host));
    }
    without_delete(&write::pretty(&Tree::Object(document)).unwrap_or_default())
}

/// The same JSON without U+007F, which JSON lets stand in a text and TOML does not.
fn without_delete(json: &str) -> String {
    json.replace('\u{7f}', "\\u007f")
}

/// Everything that this server might offer besides is denied.
fn permission(host: &Host) -> Value {
    let denied = [(format!("{SERVER}_*"), Value::from("deny"))];
    let tools = host.tools().map(|tool| (format!("{SERVER}_{}", listed_name(tool)), Value::from("allow")));
    Value::Object(denied.into_iter().chain(tools).collect())
}

fn toml(host: &Host, facts: &EntryFacts) -> String {
    let list = |texts: &[&str]| texts.iter().map(|text| toml_text(text)).collect::<Vec<_>>().join(", ");
    let mut out = format!(
        "[{}.{SERVER}]\ncommand = {}\nargs = [{}]\nenabled_tools = [{}]\nenv_vars = [{}]\n\n[{}.{SERVER}.env]\n",
        host.servers,
        toml_text(facts.program.as_str()),
        list(host.arguments()),
        list(&host.tools()),
        list(&SESSION_VARIABLES),
        host.servers
    );
    for (name, value) in facts.variables().as_object().into_iter().flat_map(Map::iter) {
        let _ = writeln!(out, "{name} = {}", toml_text(value.as_str().unwrap_or_default()));
    }
    out
}

/// A basic string of TOML: its escapes are those of JSON, and U+007F is escaped as well.
fn toml_text(text: &str) -> String {
    let mut out = String::new();
    write::string(&mut out, text);
    without_delete(&out)
}
