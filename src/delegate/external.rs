//! The command line of an external runtime: the public commands of the contract, from literals, validated identifiers and
//! paths below the held directory. Free text and passwords never stand in it.

use crate::delegate::contract::{LoadRequest, PlanRequest, Request, ResolveRequest};
use crate::delegate::pin::{RuntimePins, WORKSPACE_SCHEMA};
use crate::foundation::json::write;
use crate::foundation::path::RelativePath;
use crate::foundation::value::Value;

/// The command line for a request as a JSON list; `None` for a request that the contract has no public command for.
pub(super) fn command_line(pins: &RuntimePins, request: &Request) -> Option<Vec<u8>> {
    if request.switches().any() {
        return None;
    }
    let script = pins.package.join(&pins.entry);
    // The interpreter may not read the system's OpenSSL configuration and would end without it.
    let mut words = vec!["--openssl-config=/dev/null".to_owned(), script.as_str().to_owned()];
    words.extend(match request {
        Request::Resolve(request) => resolve(request),
        Request::PlanLoad(request) => plan(request)?,
        Request::Load(request) => load(request)?,
        Request::Inspect(_) | Request::Validate { .. } | Request::Protect => return None,
    });
    let words = words.into_iter().map(Value::from).collect();
    write::compact(&Value::Array(words)).ok().map(String::into_bytes)
}

fn resolve(request: &ResolveRequest) -> Vec<String> {
    let mut words = texts(&["resolve", "--cwd"]);
    words.push(here(&request.start));
    words.extend(texts(&["--workspace-root"]));
    words.push(here(&request.workspace));
    words.extend(texts(&["--task-stdin", "--adapter-schema", WORKSPACE_SCHEMA]));
    if request.defer_password {
        words.extend(texts(&["--defer-password-authorization"]));
    }
    if let Some((attachment, task, plan)) = &request.selection {
        words.extend(texts(&["--select-attachment", attachment, "--selection-task-digest", task]));
        if let Some(plan) = plan {
            words.extend(texts(&["--selection-plan-digest", plan]));
        }
        words.extend(texts(&["--selection-approved"]));
    }
    words
}

fn plan(request: &PlanRequest) -> Option<Vec<String>> {
    Some(vec!["plan-load".to_owned(), here(request.snapshot.as_ref()?), "--json".to_owned()])
}

fn load(request: &LoadRequest) -> Option<Vec<String>> {
    let mut words = vec!["load".to_owned(), here(request.snapshot.as_ref()?)];
    words.push(format!("--profile={}", request.profile));
    words.extend(texts(&["--as=json"]));
    if request.password {
        words.extend(texts(&["--password-stdin"]));
    }
    Some(words)
}

/// A path from the directory that the process starts in; never an option, whatever the name.
fn here(path: &RelativePath) -> String {
    if path.is_here() { ".".to_owned() } else { format!("./{}", path.as_str()) }
}

fn texts(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}
