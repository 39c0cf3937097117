//! What the doctor makes of the configuration files of hosts: read without following a link, judged by
//! `hosts/judge.rs`, and the server of an entry tried if it is this very program. No other program is started, whatever an
//! entry names, and this one only as a server.

use super::{Finding, good, missing, note};
use crate::broker::stored;
use crate::capability::snapshot::{self, SealedSnapshot};
use crate::capability::workspace::{self, Located, read_beneath};
use crate::cli::broker;
use crate::cli::environment::Environment;
use crate::delegate::Delegate;
use crate::delegate::child::LoadOrder;
use crate::foundation::json::write;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::record::{Attachment, Record};
use crate::foundation::text::display;
use crate::foundation::value::Value;
use crate::hosts::file::{self, Server};
use crate::hosts::judge::{self, Remark, shown};
use crate::hosts::known::{HOSTS, Holds, Host, HostFile, Scope};
use crate::hosts::{PORTABLE_TOOLS, TOOLS};
use crate::launch;
use crate::system::os::OsSystem;
use crate::system::os::host_process::is_own_program;
use crate::system::os::scratch::Scratch;
use crate::system::{Cancel, Fault, Observe};
use std::cell::OnceCell;
use std::ffi::OsString;

const TOPIC: &str = "host file";
/// Attachments whose result is measured.
const MEASURED: usize = 8;

/// Entries of one file that are judged and tried.
const TRIED: usize = 16;

/// Where the files lie, and what is measured there once.
struct Places {
    home: Option<AbsolutePath>,
    project: AbsolutePath,
    largest: OnceCell<Option<usize>>,
}

/// Everything to be said of the files that are there; nothing where there are none.
pub(super) fn examine(system: OsSystem, environment: &Environment) -> Vec<Finding> {
    let Some(places) = places(system, environment) else { return Vec::new() };
    let mut found = Vec::new();
    for host in &HOSTS {
        examine_host(system, environment, &places, host, &mut found);
    }
    found
}

/// The home that a host sees, and the project: what the environment names, else the nearest workspace, else where the
/// person is.
fn places(system: OsSystem, environment: &Environment) -> Option<Places> {
    let settings = &environment.settings;
    let home =
        settings.home.as_deref().and_then(|text| AbsolutePath::parse(text).ok()).or_else(|| system.account_home());
    let named = settings.workspace_root.as_deref().and_then(|text| AbsolutePath::parse(text).ok());
    let located = || workspace::locate(&system, ".", None, settings.home.as_deref()).ok()?.map(|located| located.root);
    let project = named.or_else(located).or_else(|| system.working_directory().ok())?;
    Some(Places { home, project, largest: OnceCell::new() })
}

fn examine_host(system: OsSystem, environment: &Environment, places: &Places, host: &Host, found: &mut Vec<Finding>) {
    let mut names = Vec::new();
    let mut allowing = Vec::new();
    for file in host.files {
        let base = if file.scope == Scope::Project { Some(&places.project) } else { places.home.as_ref() };
        let Some(path) = base.and_then(|base| base.resolve(file.path)) else { continue };
        let document = match read(system, file, &path) {
            Ok(None) => continue,
            Ok(Some(document)) => document,
            Err(why) => {
                let says = format!("{}: {} {why}, and was not looked into", host.title, place(&path));
                found.push(note(TOPIC, says, "Look into it yourself: what it says of this server is not known."));
                continue;
            }
        };
        let mut servers = if file.holds == Holds::Servers {
            file::own_servers(host, &document, places.project.as_str())
        } else {
            Vec::new()
        };
        if let Some(more) = servers.len().checked_sub(TRIED).filter(|more| *more > 0) {
            let says =
                format!("{}: {}: {more} more entries of this server were not looked into", host.title, place(&path));
            found.push(note(TOPIC, says, "Leave one entry for each workspace, and ask again."));
            servers.truncate(TRIED);
        }
        allowing.push((path.clone(), file::allowing(host, &document)));
        for server in &servers {
            let mut remarks = judge::judge(host, server);
            remarks.extend(too_large(system, environment, places, host, &document, server));
            let fine = remarks.is_empty();
            found.extend(remarks.iter().map(|remark| finding(host, &path, remark)));
            found.extend(handshake(system, environment, &path, host, server, fine));
        }
        names.extend(servers.into_iter().map(|server| server.name));
    }
    for (path, allowing) in allowing {
        found.extend(judge::allowing(host, &allowing, &names).iter().map(|remark| finding(host, &path, remark)));
    }
}

fn place(path: &AbsolutePath) -> String {
    display(path.as_str(), 200)
}

fn finding(host: &Host, path: &AbsolutePath, remark: &Remark) -> Finding {
    let says = format!("{}: {}: {}", host.title, place(path), remark.says);
    if remark.fatal { missing(TOPIC, says, remark.remedy) } else { note(TOPIC, says, remark.remedy) }
}

/// The document of a file; nothing where there is none. Why it was not looked into, else.
fn read(system: OsSystem, file: &HostFile, path: &AbsolutePath) -> Result<Option<Value>, &'static str> {
    let why = |fault| match fault {
        Fault::Link => "is, or lies behind, a symbolic link",
        Fault::WrongKind => "is no regular file",
        Fault::TooLarge => "is too large",
        Fault::Changed => "changed while it was read",
        _ => "cannot be read",
    };
    let (parent, name) = path.split_last().ok_or("cannot be read")?;
    let opened = system.open_directory(&parent).and_then(|directory| {
        let name = RelativePath::parse(name).ok_or(Fault::WrongKind)?;
        read_beneath(&system, &directory, &name, file::FILE_BYTES)
    });
    match opened {
        Err(Fault::NotFound) => Ok(None),
        Err(fault) => Err(why(fault)),
        Ok((bytes, _)) => match file::read(file.syntax, &bytes) {
            Ok(document) => Ok(Some(document)),
            Err(_) => Err("cannot be understood"),
        },
    }
}

/// Starts the server of an entry as the host would, if it is this program, and asks it for its tools.
fn handshake(
    system: OsSystem,
    environment: &Environment,
    path: &AbsolutePath,
    host: &Host,
    server: &Server,
    fine: bool,
) -> Option<Finding> {
    let (program, arguments) = server.command.split_first()?;
    let program = AbsolutePath::parse(program).ok()?;
    let named = format!("{}: {}: {}", host.title, place(path), shown(server));
    if !is_own_program(&program) {
        let says = format!("{named} starts another program than this one; it was not tried");
        return Some(note(TOPIC, says, "If it is another installation of kdna-broker, ask that one."));
    }
    // Only what the server reads: any other variable could choose what runs. A host fills in references; nobody else
    // knows what with.
    let known = |(name, value): &&(String, String)| {
        judge::is_handed_on(name) && !value.contains('$') && !value.contains("{env:")
    };
    let variables: Vec<_> = server.environment.iter().filter(known).collect();
    let says = match tried(system, environment, arguments, &variables) {
        Ok(()) if fine => return Some(good(TOPIC, format!("{named} starts and offers exactly the three tools"))),
        Ok(()) => return None,
        Err(why) => format!("{named} {why}"),
    };
    let remedy = "Start its command by hand with its KDNA_ variables: it says on standard error what it misses.";
    Some(missing(TOPIC, says, remedy))
}

/// What is tried changes nothing of the person's: the state that a server begins with its start lies in a place that goes
/// again.
fn tried(
    system: OsSystem,
    environment: &Environment,
    arguments: &[String],
    variables: &[&(String, String)],
) -> Result<(), &'static str> {
    let portable = broker::serves(arguments).ok_or("has arguments that do not start the server of tools")?;
    let scratch = Scratch::create(&system, &std::env::temp_dir(), "kdna-doctor").map_err(|_| "could not be tried")?;
    let state = scratch.path().resolve("state").ok_or("could not be tried")?;
    let state = ("KDNA_BROKER_STATE_DIR", state.as_str());
    let home = environment.settings.home.as_deref().map(|home| ("HOME", home));
    let given = variables.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let all = home.into_iter().chain(given.filter(|(name, _)| *name != state.0)).chain([state]);
    let all: Vec<(OsString, OsString)> = all.map(|(name, value)| (name.into(), value.into())).collect();
    let mut server =
        launch::Server::start_quietly(arguments, scratch.path(), all).map_err(|_| "could not be started")?;
    let tools = server.tools().map_err(|_| "does not answer")?;
    let expected = if portable { PORTABLE_TOOLS } else { TOOLS };
    if tools == expected { Ok(()) } else { Err("offers other tools") }
}

/// Whether what is attached gives results that the host is known to cut.
fn too_large(
    system: OsSystem,
    environment: &Environment,
    places: &Places,
    host: &Host,
    document: &Value,
    server: &Server,
) -> Option<Remark> {
    let limit = host.keeps_whole.filter(|_| document.get("tool_output_token_limit").is_none())?;
    let measure = || largest_result(system, environment, places.project.as_str());
    let largest = (*places.largest.get_or_init(measure))?;
    (largest > limit).then(|| Remark {
        fatal: false,
        says: format!(
            "{} gets results of {largest} characters and more, and {} is known to keep only {limit} whole: what is cut is no document any more",
            shown(server),
            host.title
        ),
        remedy: "Ask for the profile index or scenario, or raise the host's limit (Codex: tool_output_token_limit).",
    })
}

/// Characters of the largest Capsule that is attached here and needs no password. A result holds more than its Capsule.
fn largest_result(system: OsSystem, environment: &Environment, start: &str) -> Option<usize> {
    let home = environment.settings.home.as_deref();
    let located = workspace::locate(&system, start, None, home).ok()??;
    let delegate = broker::delegate(&system, environment).ok()?;
    let record = located.settled_record(&system).ok()?;
    let record = Record::read(&record.bytes).ok()?;
    let enabled = record.attachments().iter().filter(|attachment| attachment.enabled).take(MEASURED);
    enabled.filter_map(|attachment| result_of(system, &delegate, &located, attachment)).max()
}

fn result_of(
    system: OsSystem,
    delegate: &Delegate<OsSystem>,
    located: &Located<OsSystem>,
    attachment: &Attachment,
) -> Option<usize> {
    let plan = stored::verify_with(&system, delegate, located, &attachment.asset).ok()?.value;
    let path = snapshot::place(&attachment.asset).filter(|_| plan.can_load_now())?;
    let sealed = SealedSnapshot::seal(&system, &located.directory, &path, attachment.asset.digest).ok()?;
    let order = LoadOrder { profile: "compact", password: None, standby: None };
    let loaded = delegate.load(&system, &located.directory, &sealed, order, &Cancel::new()).ok()?;
    Some(write::compact(loaded.value.document()).ok()?.chars().count())
}
