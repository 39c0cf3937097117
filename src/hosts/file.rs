//! A host's file, understood: its servers and its permissions, whatever syntax it has. A file that cannot be understood is
//! said to be so and never guessed at.

use super::SERVER;
use super::jsonc;
use super::known::{Host, Shape, Syntax, ToolList};
use crate::foundation::json::read_strict;
use crate::foundation::value::{Object, Value};

/// Bytes of a file that are read: one host keeps a history in its own.
pub const FILE_BYTES: u64 = 8_388_608;
/// Nesting of a file.
const DEPTH: usize = 48;

/// A server that a file names.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Its name; foreign.
    pub name: String,
    /// The program and its arguments; foreign.
    pub command: Vec<String>,
    /// Its variables; foreign.
    pub environment: Vec<(String, String)>,
    /// The tools that the entry itself lists.
    pub tools: Listed,
    /// Whether the entry lets every tool run without a question.
    pub trusted: bool,
}

/// A list that a file holds or should hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// There is none.
    Nowhere,
    /// What stands there is no list of texts: how a host takes it is not known.
    Unclear,
    /// Its texts; foreign.
    Texts(Vec<String>),
}

/// What a file lets run without a question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowing {
    /// Its rules, each as the host writes it; foreign.
    pub rules: Vec<String>,
    /// Whether something stands in the place of rules that is none.
    pub unclear: bool,
    /// Whether nothing at all is asked (`bypassPermissions`).
    pub bypass: bool,
    /// Whether every server that a project names is started without a question.
    pub all_servers: bool,
}

/// Why a file is not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotUnderstood;

/// Reads a file.
pub fn read(syntax: Syntax, bytes: &[u8]) -> Result<Value, NotUnderstood> {
    match syntax {
        Syntax::Json => read_strict(&jsonc::plain(bytes), DEPTH).map_err(|_| NotUnderstood),
        Syntax::Toml => {
            let text = std::str::from_utf8(bytes).map_err(|_| NotUnderstood)?;
            let table: toml::Table = text.parse().map_err(|_| NotUnderstood)?;
            Ok(Value::Object(table.into_iter().map(|(key, value)| (key, of_toml(value))).collect()))
        }
    }
}

fn of_toml(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::from(text),
        toml::Value::Boolean(flag) => Value::Bool(flag),
        toml::Value::Float(number) => Value::Number(number),
        // Only sizes are looked at, and none is that large.
        toml::Value::Integer(number) => u32::try_from(number).map_or(Value::Unprintable, Value::from),
        toml::Value::Datetime(_) => Value::Unprintable,
        toml::Value::Array(items) => Value::Array(items.into_iter().map(of_toml).collect()),
        toml::Value::Table(table) => {
            Value::Object(table.into_iter().map(|(key, value)| (key, of_toml(value))).collect())
        }
    }
}

/// The servers of this product in a file of a host. `project`: the path under which one host keeps a project's servers in
/// the file of its user.
pub fn own_servers(host: &Host, document: &Value, project: &str) -> Vec<Server> {
    let here = document.get(host.servers);
    let there = document.get("projects").and_then(|projects| projects.get(project)?.get(host.servers));
    let all = here.into_iter().chain(there).filter_map(Value::as_object).flat_map(Object::iter);
    all.filter_map(|(name, entry)| server(host, name, entry)).filter(is_own).collect()
}

fn server(host: &Host, name: &str, entry: &Value) -> Option<Server> {
    let (command, variables) = match host.shape {
        Shape::CommandList => (texts(entry.get("command")?), "environment"),
        Shape::CommandAndArgs => {
            let program = entry.get("command")?.as_str()?.to_owned();
            let arguments = entry.get("args").map(texts).unwrap_or_default();
            (std::iter::once(program).chain(arguments).collect(), "env")
        }
    };
    let environment = entry.get(variables).and_then(Value::as_object).into_iter().flat_map(Object::iter);
    let environment = environment.map(|(name, value)| (name.to_owned(), value.as_str().unwrap_or_default().to_owned()));
    let tools = if let ToolList::InEntry(list) = host.list { listed(entry.get(list)) } else { Listed::Nowhere };
    Some(Server {
        name: name.to_owned(),
        command,
        environment: environment.collect(),
        tools,
        trusted: entry.get("trust").and_then(Value::as_bool) == Some(true),
    })
}

fn texts(value: &Value) -> Vec<String> {
    let items = value.as_array().unwrap_or_default();
    items.iter().map(|item| item.as_str().unwrap_or_default().to_owned()).collect()
}

/// Nothing is made of what is no list of texts: as an empty list it would look as if it let nothing in.
fn listed(value: Option<&Value>) -> Listed {
    let Some(value) = value else { return Listed::Nowhere };
    match value.as_array() {
        Some(items) if items.iter().all(|item| item.as_str().is_some()) => Listed::Texts(texts(value)),
        _ => Listed::Unclear,
    }
}

fn is_own(server: &Server) -> bool {
    let program = server.command.first().and_then(|program| program.rsplit('/').next()).unwrap_or_default();
    let ours = |(name, _): &(String, String)| name.starts_with("KDNA_MCP_");
    server.name == SERVER || program == "kdna-broker" || server.environment.iter().any(ours)
}

/// What a file lets run without a question.
pub fn allowing(host: &Host, document: &Value) -> Allowing {
    match host.list {
        ToolList::Allowed => allowed(document),
        ToolList::Permission => everywhere_permitted(document),
        ToolList::InEntry(_) | ToolList::Elsewhere => Allowing::default(),
    }
}

fn allowed(document: &Value) -> Allowing {
    let permissions = document.get("permissions");
    let list = permissions.and_then(|permissions| permissions.get("allow"));
    let modes = [permissions.and_then(|permissions| permissions.get("defaultMode")), document.get("defaultMode")];
    let all_servers = document.get("enableAllProjectMcpServers");
    Allowing {
        rules: list.map(texts).unwrap_or_default(),
        unclear: listed(list) == Listed::Unclear || permissions.is_some_and(|it| it.as_object().is_none()),
        bypass: modes.into_iter().flatten().any(|mode| mode.as_str() == Some("bypassPermissions")),
        all_servers: all_servers.is_some_and(|value| value.as_bool() != Some(false)),
    }
}

/// The permissions of the file and of each agent that it has: an agent's stand over the file's.
fn everywhere_permitted(document: &Value) -> Allowing {
    let agents = AGENTS.into_iter().filter_map(|agents| document.get(agents));
    let (maps, others): (Vec<_>, Vec<_>) = agents.partition(|agents| agents.as_object().is_some());
    let agents = maps.into_iter().filter_map(Value::as_object).flat_map(Object::iter).map(|(_, agent)| agent);
    let unclear = Allowing { unclear: !others.is_empty(), ..Allowing::default() };
    let each = std::iter::once(document).chain(agents).map(|holder| permitted(holder.get("permission")));
    each.fold(unclear, |mut all, one| {
        all.rules.extend(one.rules);
        all.unclear |= one.unclear;
        all
    })
}

/// The members that hold agents; the second is how earlier versions of the host called them.
const AGENTS: [&str; 2] = ["agent", "mode"];

fn permitted(permission: Option<&Value>) -> Allowing {
    let allowing = |rules, unclear| Allowing { rules, unclear, ..Allowing::default() };
    match permission {
        None => Allowing::default(),
        Some(Value::String(word)) => allowing(if word == "allow" { vec!["*".to_owned()] } else { Vec::new() }, false),
        Some(Value::Object(rules)) => {
            let unclear = rules.iter().any(|(_, value)| value.as_str().is_none() && value.as_object().is_none());
            allowing(
                rules.iter().filter(|(_, value)| allows(value)).map(|(name, _)| name.to_owned()).collect(),
                unclear,
            )
        }
        Some(_) => allowing(Vec::new(), true),
    }
}

/// Whether a rule lets a tool run, for whatever input: an object names inputs, and what becomes of each.
fn allows(value: &Value) -> bool {
    value.as_str() == Some("allow")
        || value.as_object().is_some_and(|inputs| inputs.iter().any(|(_, value)| allows(value)))
}
