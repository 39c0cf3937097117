//! The server starts on one project directory and on nothing else. Every other coordinate ends the start: exit 1, nothing
//! on standard output, one line on standard error with the recorded phrase, the reason and a remedy; no path is quoted and
//! nothing is made. What only spoils loads (a state directory that is not private) does not end the start.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot be arranged must stop, and says why"
)]

#[path = "owner_commands/scene.rs"]
mod scene;
mod support;

use kdna_broker::capability::home::Homes;
use kdna_broker::capability::state::{open_state, state_path};
use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::foundation::refusal::Reason;
use kdna_broker::system::Observe;
use kdna_broker::system::os::OsSystem;
use kdna_broker::system::sim::SimSystem;
use scene::{Reply, Scene, delivered, load, resolve, status};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::Path;
use std::process::Command;
use support::command::{Exit, Finished, Program, Scratch, Server, run};

const PHRASE: &str = "The KDNA MCP Host workspace root is invalid.";

/// A scratch place with one project directory.
fn place() -> Scratch {
    let scratch = Scratch::new();
    scratch.directory("ws", 0o755);
    scratch
}

fn server(scratch: &Scratch, root: impl AsRef<OsStr>) -> Command {
    let mut command = scratch.command(Program::Broker, ["mcp"]);
    command.env("KDNA_MCP_WORKSPACE_ROOT", root);
    command
}

/// What stands below a directory: kind, mode and size of each, without opening anything.
fn everything(below: &Path) -> BTreeMap<OsString, (u32, u64)> {
    let mut found = BTreeMap::new();
    let mut pending = vec![below.to_owned()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            let facts = fs::symlink_metadata(&path).unwrap();
            found.insert(path.clone().into_os_string(), (facts.mode(), facts.len()));
            if facts.is_dir() {
                pending.push(path);
            }
        }
    }
    found
}

/// The start is refused for this reason, in one line, and changes nothing.
fn assert_refused(scratch: &Scratch, command: Command, reason: Reason) {
    let before = everything(scratch.path());
    let Finished { exit, stdout, stderr } = run(command, Some(b""));
    let said = String::from_utf8(stderr).expect("text");
    let expected =
        format!("Error: [{}] {} ({}) {}\n", reason.code(), reason.message(), reason.as_str(), reason.remedy());
    assert_eq!((exit, said.as_str()), (Exit::Status(1), expected.as_str()), "{}", reason.as_str());
    assert_eq!((stdout.len(), said.lines().count()), (0, 1));
    assert!(!said.contains(scratch.path().to_str().unwrap()) && !said.contains("/proc"), "{said}");
    assert_eq!(everything(scratch.path()), before, "{}: nothing is made or changed", reason.as_str());
}

/// The start is refused for its root.
fn assert_root_refused(scratch: &Scratch, root: impl AsRef<OsStr>, reason: Reason) {
    assert_eq!(reason.message(), PHRASE);
    assert_refused(scratch, server(scratch, root), reason);
}

/// The server starts, answers, and ends with its input.
fn assert_starts(command: Command) {
    let mut server = Server::start(command);
    let answer = server.ask(r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
    assert_eq!(answer, r#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
    let Finished { exit, stdout, stderr } = server.close();
    assert_eq!((exit, stdout.len(), String::from_utf8_lossy(&stderr).as_ref()), (Exit::Status(0), 0, ""));
}

#[test]
fn a_project_directory_is_taken() {
    let scratch = place();
    for name in ["ws", "home/project", "ws/a b", "ws/ü", "ws/..c", "ws/-x", "ws/x (deleted)"] {
        assert_starts(server(&scratch, scratch.directory(name, 0o755)));
    }
    // Nobody but its owner may enter it: still a project.
    assert_starts(server(&scratch, scratch.directory("closed", 0o700)));
}

#[test]
fn a_coordinate_that_is_not_one_plain_absolute_path_is_refused() {
    let scratch = place();
    let ws = scratch.path().join("ws");
    let ws = ws.to_str().unwrap();
    let mut unset = server(&scratch, "");
    unset.env_remove("KDNA_MCP_WORKSPACE_ROOT");
    assert_refused(&scratch, unset, Reason::RootUnset);
    assert_root_refused(&scratch, "", Reason::RootUnset);
    for relative in ["ws", ".", "..", "./ws", "~", "~/ws", " /", "file:///", "C:\\"] {
        assert_root_refused(&scratch, relative, Reason::RootNotAbsolute);
    }
    let (above, name) = ws.rsplit_once('/').unwrap();
    for form in [
        "//".to_owned(),
        "/.".to_owned(),
        "/..".to_owned(),
        format!("{ws}/"),
        format!("{ws}/."),
        format!("{ws}/../{name}"),
        format!("{above}//{name}"),
        format!("/{ws}"),
        format!("/{}", "a".repeat(4096)),
    ] {
        assert_root_refused(&scratch, form, Reason::RootNotNormal);
    }
    let mut bytes = ws.as_bytes().to_vec();
    bytes.extend(b"/\xff");
    assert_root_refused(&scratch, OsStr::from_bytes(&bytes), Reason::RootNotNormal);
    // The longest path that is judged at all is looked for, whatever it is.
    let longest = format!("/{}", "a/".repeat(2047) + "a");
    assert_eq!(longest.len(), 4096);
    let said = run(server(&scratch, longest), Some(b""));
    assert_eq!(said.exit, Exit::Status(1));
    assert!(said.stderr_text().contains("(root_missing)") || said.stderr_text().contains("(root_unreadable)"));
}

#[test]
fn what_is_no_directory_is_refused() {
    let scratch = place();
    let at = |name: &str| scratch.path().join(name);
    scratch.file("file", b"x", 0o644);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        at("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o644),
        0,
    )
    .unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
    for name in ["file", "fifo", "socket", "file/below"] {
        assert_root_refused(&scratch, at(name), Reason::RootNotDirectory);
    }
    assert_root_refused(&scratch, "/dev/null", Reason::RootNotDirectory);
    for name in ["none", "none/below", "ws/none"] {
        assert_root_refused(&scratch, at(name), Reason::RootMissing);
    }
}

#[test]
fn a_link_anywhere_in_the_path_is_refused() {
    let scratch = place();
    let at = |name: &str| scratch.path().join(name);
    scratch.directory("ws/sub", 0o755);
    symlink("ws", at("leaf")).unwrap();
    symlink(".", at("above")).unwrap();
    symlink("none", at("dangling")).unwrap();
    symlink("loop", at("loop")).unwrap();
    symlink("sub", at("ws/inside")).unwrap();
    for name in ["leaf", "above/ws", "leaf/sub", "ws/inside", "dangling", "loop", "loop/x"] {
        assert_root_refused(&scratch, at(name), Reason::RootSymlink);
    }
}

#[test]
fn a_magic_link_is_no_way_to_a_directory() {
    let scratch = place();
    let below_root = format!("/proc/self/root{}", scratch.path().join("ws").display());
    for path in ["/proc/self/cwd", "/proc/self/root", "/proc/self/fd/0", "/proc/self", &below_root] {
        assert_root_refused(&scratch, path, Reason::RootSymlink);
    }
}

#[test]
fn a_home_is_no_project_however_it_is_named() {
    let scratch = place();
    let at = |name: &str| scratch.path().join(name);
    assert_root_refused(&scratch, at("home"), Reason::RootIsHome);
    symlink("home", at("one")).unwrap();
    symlink("one", at("two")).unwrap();
    scratch.directory("far/deep", 0o755);
    scratch.directory("far/home", 0o755);
    symlink("far/deep", at("near")).unwrap();
    symlink("../home", at("far/deep/home")).unwrap();
    // Named with a slash behind it, through one link, through two, and through a link whose `..` counts from where the
    // link really lies: there must be no other directory that the rule falls for.
    for (home, root) in [("home/", "home"), ("one", "home"), ("two", "home"), ("near/home", "far/home")] {
        let with_home = |root: &str| {
            let mut command = server(&scratch, at(root));
            command.env("HOME", at(home));
            command
        };
        assert_refused(&scratch, with_home(root), Reason::RootIsHome);
        assert_starts(with_home("ws"));
    }
    let mut other = server(&scratch, at("home"));
    other.env("HOME", at("far/home"));
    assert_starts(other);
}

#[test]
fn a_home_that_cannot_be_found_ends_the_start() {
    let scratch = place();
    let at = |name: &str| scratch.path().join(name).to_str().unwrap().to_owned();
    symlink("loop", at("loop")).unwrap();
    symlink("none", at("dangling")).unwrap();
    scratch.file("file", b"", 0o644);
    let bytes = [scratch.path().as_os_str().as_bytes(), b"/\xff"].concat();
    let homes = ["", "home", "~"].map(str::to_owned).into_iter();
    let homes = homes.chain([at("none"), at("file"), at("loop"), at("dangling"), at("ws/../home"), at("home//")]);
    for home in homes.map(OsString::from).chain([OsStr::from_bytes(&bytes).to_owned()]) {
        let mut command = server(&scratch, at("ws"));
        command.env("HOME", home);
        assert_refused(&scratch, command, Reason::HomeUnresolvable);
    }
    let chain = |from: &str, to: &str| symlink(to, at(from)).unwrap();
    (0..40).for_each(|step| chain(&format!("l{step}"), &format!("l{}", step + 1)));
    chain("l40", "home");
    let mut command = server(&scratch, at("ws"));
    command.env("HOME", at("l0"));
    assert_refused(&scratch, command, Reason::HomeUnresolvable);
}

#[test]
fn the_accounts_home_counts_whatever_the_environment_says() {
    let scratch = place();
    let Some(home) = OsSystem::new().account_home() else {
        println!("skipped: this account has no home");
        return;
    };
    if home.is_filesystem_root() || fs::canonicalize(home.as_str()).ok().as_deref() != Some(Path::new(home.as_str())) {
        println!("skipped: the home of this account is no real directory");
        return;
    }
    assert_root_refused(&scratch, home.as_str(), Reason::RootIsHome);
    let mut unset = server(&scratch, home.as_str());
    unset.env_remove("HOME");
    assert_refused(&scratch, unset, Reason::RootIsHome);
}

#[test]
fn without_a_home_in_the_environment_the_account_decides() {
    let scratch = place();
    let mut unset = server(&scratch, scratch.path().join("ws"));
    unset.env_remove("HOME");
    if OsSystem::new().account_home().is_some() {
        // Whether that directory exists or not: many service accounts have none.
        assert_starts(unset);
    } else {
        assert_refused(&scratch, unset, Reason::HomeUnresolvable);
    }
}

#[test]
fn a_home_behind_links_keeps_its_private_state() {
    let system = SimSystem::new(11);
    system.arrange(|world| {
        world.directory("/data/people/person", 0o700).unwrap();
        world.set_owner("/data/people/person", 1000).unwrap();
        world.directory("/home", 0o755).unwrap();
        world.link("/home/person", "../data/person").unwrap();
        world.link("/data/person", "people/person").unwrap();
        world.set_account_home(Some(AbsolutePath::parse("/home/person").unwrap()));
    });
    let homes = Homes::find(&system, None).unwrap();
    assert_eq!(homes.paths()[0].as_str(), "/data/people/person");
    let path = state_path(&system, None).unwrap();
    assert_eq!(path.as_str(), "/data/people/person/.local/state/kdna-broker");
    assert!(open_state(&system, &path).is_ok());
    assert_eq!(system.arrange(|world| world.facts_of(path.as_str())).unwrap().mode, 0o700);
}

#[test]
fn a_root_and_the_private_state_keep_out_of_each_other() {
    let scratch = place();
    let at = |name: &str| scratch.path().join(name);
    let with_state = |root: &str, state: &str| {
        let mut command = server(&scratch, at(root));
        command.env("KDNA_BROKER_STATE_DIR", at(state));
        command
    };
    scratch.directory("ws/there", 0o700);
    scratch.directory("state/project", 0o755);
    // There already, not there yet, and deep below: the state in the project.
    for state in ["ws/there", "ws/later", "ws/a/b/c", "ws"] {
        assert_refused(&scratch, with_state("ws", state), Reason::RootHoldsState);
    }
    assert_root_refused(&scratch, scratch.path(), Reason::RootHoldsState);
    // The project in the state: who works in it could write the journal.
    assert_root_refused(&scratch, at("state/project"), Reason::RootInsideState);
    assert_starts(with_state("ws", "state"));
    assert_root_refused(&scratch, at("state/journal"), Reason::RootInsideState);
    // A name that begins with the other's is another place.
    assert_starts(with_state("ws", "ws-state"));
}

#[test]
fn a_state_directory_in_its_usual_place_is_kept_out_of_the_root_too() {
    let scratch = place();
    let Some(home) = OsSystem::new().account_home().filter(|home| Path::new(home.as_str()).is_dir()) else {
        println!("skipped: the home of this account does not exist");
        return;
    };
    let Ok(home) = fs::canonicalize(home.as_str()) else { return };
    let Some(above) = home.parent().filter(|above| *above != Path::new("/")) else {
        println!("skipped: there is nothing but / above the home of this account");
        return;
    };
    let mut command = server(&scratch, above);
    command.env_remove("KDNA_BROKER_STATE_DIR");
    assert_refused(&scratch, command, Reason::RootHoldsState);
}

#[test]
fn a_state_coordinate_that_is_no_plain_path_ends_the_start() {
    let scratch = place();
    let state = scratch.state();
    let state = state.to_str().unwrap();
    for coordinate in
        [String::new(), "state".to_owned(), "/".to_owned(), format!("{state}/"), format!("{state}/../state")]
    {
        let mut command = server(&scratch, scratch.path().join("ws"));
        command.env("KDNA_BROKER_STATE_DIR", coordinate);
        assert_refused(&scratch, command, Reason::StateCoordinateInvalid);
    }
    let mut command = server(&scratch, scratch.path().join("ws"));
    command.env("KDNA_BROKER_STATE_DIR", OsStr::from_bytes(b"/tmp/\xff"));
    assert_refused(&scratch, command, Reason::StateCoordinateInvalid);
}

#[test]
fn a_state_directory_that_is_not_private_spoils_loads_and_nothing_else() {
    let scene = Scene::new();
    let id = scene.attach("ws");
    scene.allow("ws", "ws");
    let scratch = &scene.scratch;
    scratch.directory("open", 0o750);
    scratch.directory("writable", 0o777);
    scratch.directory("real", 0o700);
    scratch.file("file", b"", 0o600);
    // A way into the project by a link is no way to put the state there.
    for (name, target) in [("link", "real"), ("here", "."), ("project", "ws")] {
        symlink(target, scene.at(name)).unwrap();
    }
    for state in ["open", "writable/new", "file", "file/new", "link", "link/new", "here/real", "project/new"] {
        let before = everything(scratch.path());
        let mut command = scene.server_command("ws");
        command.env("KDNA_BROKER_STATE_DIR", scene.at(state));
        let mut server = Server::start(command);
        assert_eq!(status(&mut server, scene.at("ws")), Reply::of(&id), "{state}");
        assert_eq!(resolve(&mut server, scene.at("ws")), Reply::Decision("load".to_owned(), false), "{state}");
        assert_eq!(load(&mut server, scene.at("ws")), Reply::refused("journal_unavailable"), "{state}");
        assert_eq!(server.close().exit, Exit::Status(0));
        assert_eq!(everything(scratch.path()), before, "{state}: nothing is made");
    }
    assert_eq!(load(&mut scene.server("ws"), scene.at("ws")), delivered());
}

#[test]
fn a_state_that_cannot_be_written_spoils_loads_and_nothing_else() {
    let scene = Scene::new();
    let id = scene.attach("ws");
    scene.allow("ws", "ws");
    if !rustix::process::geteuid().is_root() {
        println!("skipped: the state is not private in a namespace of an ordinary user");
        return;
    }
    let memory = "mount -t tmpfs -o size=16k,mode=700 none state";
    for (script, reply) in [
        (memory.to_owned(), delivered()),
        (format!("{memory}; mount -o remount,ro none state"), Reply::refused("journal_unavailable")),
        (format!("{memory}; cat /dev/zero >state/fill || :"), Reply::refused("journal_unavailable")),
    ] {
        let Some(mut server) = scene.server_with_mounts("ws", &script) else { return };
        assert_eq!(load(&mut server, scene.at("ws")), reply, "{script}");
        assert_eq!(status(&mut server, scene.at("ws")), Reply::of(&id), "{script}");
        assert_eq!(resolve(&mut server, scene.at("ws")), Reply::Decision("load".to_owned(), false), "{script}");
    }
}

#[test]
fn a_disk_that_fills_up_ends_deliveries_at_once_and_only_for_as_long() {
    let scene = Scene::new();
    scene.attach("ws");
    scene.allow("ws", "ws");
    if !rustix::process::geteuid().is_root() {
        println!("skipped: the state is not private in a namespace of an ordinary user");
        return;
    }
    let Some(mut server) = scene.server_with_mounts("ws", "mount -t tmpfs -o size=32k,mode=700 none state") else {
        return;
    };
    assert_eq!(load(&mut server, scene.at("ws")), delivered());
    let fill = format!("/proc/{}/root{}/state/fill", server.id(), scene.text(""));
    let full = |path: &str| {
        let mut file = fs::File::create(path)?;
        while std::io::Write::write(&mut file, &[0; 512]).is_ok_and(|written| written > 0) {}
        Ok::<_, std::io::Error>(())
    };
    if full(&fill).is_err() {
        println!("skipped: the namespace of a process cannot be entered here");
        return;
    }
    let refusals = (0..20).map(|_| load(&mut server, scene.at("ws"))).filter(|reply| *reply != delivered()).count();
    assert!(refusals > 0, "rows end to fit at some load");
    assert_eq!(load(&mut server, scene.at("ws")), Reply::refused("journal_unavailable"));
    fs::remove_file(&fill).unwrap();
    assert_eq!(load(&mut server, scene.at("ws")), delivered());
}
