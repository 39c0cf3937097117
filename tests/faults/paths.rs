//! Paths: siblings, links, mounts, homes, names.

use super::simulated::{self, broker, load, settings, system};
use super::{CONSENT_INVALID, meanwhile};
use crate::support::command::{Exit, Finished, Program};
use crate::support::real::{self, OPEN, Place, RECORD, TASK, delivered, refused};
use crate::support::tree::tree;
use kdna_broker::broker::{Broker, Settings};
use kdna_broker::delegate::Delegate;
use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::foundation::refusal::{Code, Reason};
use kdna_broker::foundation::value::Value;
use kdna_broker::system::sim::HookAction;
use rustix::fs::{CWD, RenameFlags};
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

/// A server that did not start: one line, nothing on standard output, exit 1.
#[track_caller]
fn not_started(ended: &Finished, expected: Reason) {
    assert_eq!((ended.exit, ended.stdout_text()), (Exit::Status(1), String::new()), "{}", ended.stderr_text());
    assert_eq!(ended.stderr_text().lines().count(), 1);
    assert!(ended.stderr_text().contains(&format!("({expected})")), "{}", ended.stderr_text());
}

#[test]
fn path_prefix_sibling() {
    let place = Place::new();
    place.scratch.directory("ws-evil/.kdna", 0o755);
    place.scratch.file("ws-evil/.kdna/attachments.json", RECORD, 0o600);
    let mut server = place.serve();
    let rows = place.rows();
    for directory in ["ws-evil", "ws/../ws-evil"] {
        let task = [("task", Value::from(TASK))];
        let answer = server.ask(&place.call_in(directory, 1, "kdna.workspace-load", &task));
        assert!(!delivered(&answer) && !answer.contains("att_"), "{directory}: {answer}");
        let expected = ["workspace_outside_host_root", "workspace_unavailable"];
        assert!(expected.contains(&real::code(&answer).as_str()), "{directory}: {answer}");
        assert_eq!(real::children(server.id()), Vec::<u32>::new());
    }
    assert_eq!(place.rows(), rows + 2, "one row each");
    assert!(delivered(&server.ask(&place.load(2))), "the control");
}

#[test]
fn path_symlink_leaf() {
    let place = Place::new();
    fs::remove_file(place.path("ws/.kdna/attachments.json")).unwrap();
    symlink("/etc/passwd", place.path("ws/.kdna/attachments.json")).unwrap();
    let answer = place.try_load();
    refused(&answer, "workspace_contract_invalid");
    assert!(!answer.contains("passwd") && !answer.contains("root:"), "{answer}");
}

#[test]
fn path_symlink_dir_inside() {
    let place = Place::new();
    fs::rename(place.path("ws/.kdna"), place.path("ws/real")).unwrap();
    symlink("real", place.path("ws/.kdna")).unwrap();
    refused(&place.try_load(), "workspace_contract_invalid");
    fs::remove_file(place.path("ws/.kdna")).unwrap();
    fs::rename(place.path("ws/real"), place.path("ws/.kdna")).unwrap();
    fs::rename(place.path("ws/.kdna/assets"), place.path("ws/.kdna/real")).unwrap();
    symlink("real", place.path("ws/.kdna/assets")).unwrap();
    assert!(!delivered(&place.try_load()), "a snapshot is not read through a link either");
}

#[test]
fn path_root_is_symlink() {
    let place = Place::new();
    symlink(place.path("ws"), place.path("link")).unwrap();
    symlink(place.path("."), place.path("above")).unwrap();
    for root in ["link", "above/ws"] {
        let ended = place.start(|command| command.env("KDNA_MCP_WORKSPACE_ROOT", place.path(root)));
        not_started(&ended, Reason::RootSymlink);
    }
}

#[test]
fn path_deny_by_name() {
    let place = Place::new();
    fs::rename(place.path("private/consent.json"), place.path("private/real.json")).unwrap();
    symlink("real.json", place.path("private/consent.json")).unwrap();
    refused(&place.try_load(), CONSENT_INVALID);
}

#[test]
fn path_sandbox_symlink_escape() {
    let system = system();
    system.arrange(|world| world.file("/etc/shadow", 0o600, b"outside")).unwrap();
    let server = broker(&system, Delegate::embedded(), None);
    system.clear_log();
    system.set_hook(|world, event| {
        if event.in_child {
            world.link("/w/app/out", "/etc").unwrap();
        }
        HookAction::Proceed
    });
    let outcome = load(&server);
    assert!(system.arrange(|world| world.facts_of("/w/app/out")).is_ok(), "the link was made");
    assert!(outcome.is_ok(), "a link that nobody asked for changes nothing: {outcome:?}");
    let touched = system.log().into_iter().filter(|event| event.at.contains("/out") || event.at.starts_with("/etc/sh"));
    assert_eq!(touched.count(), 0, "nothing went through it");
}

#[test]
fn path_root_swap() {
    let place = Place::new();
    let mut server = place.serve();
    fs::rename(place.path("ws"), place.path("ws.old")).unwrap();
    place.scratch.directory("ws/.kdna", 0o755);
    place.scratch.file("ws/.kdna/attachments.json", RECORD, 0o600);
    refused(&server.ask(&place.load(1)), "host_workspace_root_changed");
    fs::rename(place.path("ws"), place.path("ws.evil")).unwrap();
    fs::rename(place.path("ws.old"), place.path("ws")).unwrap();
    assert!(delivered(&server.ask(&place.load(2))), "the control: the pinned root is back");
}

#[test]
fn path_bind_mount_dir() {
    let system = system();
    let server = broker(&system, Delegate::embedded(), None);
    assert!(load(&server).is_ok(), "the control");
    system.arrange(|world| world.bind("/w/app/.kdna")).unwrap();
    assert_eq!(load(&server).unwrap_err().code(), Code::WorkspaceContractInvalid, "the same device, another mount");
    on_real_mounts();
}

fn on_real_mounts() {
    let place = Place::new();
    place.scratch.directory("outside", 0o755);
    fs::copy(place.path("ws/.kdna/attachments.json"), place.path("outside/attachments.json")).unwrap();
    let load = |mount: &str| {
        let script = format!("{mount} exec {} mcp", Program::Broker.path());
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script]).env_clear();
        command.envs(place.command(&[]).get_envs().filter_map(|(name, value)| Some((name, value?))));
        crate::support::command::run(command, Some(format!("{OPEN}\n{}\n", place.load(1)).as_bytes())).stdout_text()
    };
    let control = load("");
    if !delivered(&control) {
        // No namespaces, or one in which the directories above belong to nobody who is known.
        assert!(control.is_empty() || !rustix::process::geteuid().is_root(), "{control}");
        println!("skipped: no mount namespace in which a load works");
        return;
    }
    let mount = format!("mount --bind {0}/outside {0}/ws/.kdna &&", place.scratch.path().display());
    let answer = load(&mount);
    assert!(!delivered(&answer), "{answer}");
    assert!(answer.contains("workspace_contract_invalid"), "{answer}");
}

#[test]
fn path_openat2_absent() {
    for errno in ["38", "1"] {
        filtered(libc::SYS_openat2, errno);
    }
}

/// A call filter that answers a system call with an error, around a broker: it must not start.
pub(crate) fn filtered(call: i64, errno: &str) {
    let me = std::env::current_exe().unwrap();
    let mut command = Command::new(me);
    command.args(["--exact", "--ignored", "--nocapture", "paths::starts_under_a_filter_in_a_process_of_its_own"]);
    let output = command.env("DENIED_CALL", call.to_string()).env("DENIED_WITH", errno).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{text}{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
#[ignore = "run by path_openat2_absent and child_landlock_downgrade, in a process of its own"]
fn starts_under_a_filter_in_a_process_of_its_own() {
    let number = |name: &str| std::env::var(name).unwrap().parse::<i64>().unwrap();
    let place = Place::new();
    assert!(delivered(&place.try_load()), "the control");
    let denied = seccompiler::SeccompAction::Errno(u32::try_from(number("DENIED_WITH")).unwrap());
    let filter = seccompiler::SeccompFilter::new(
        [(number("DENIED_CALL"), Vec::new())].into_iter().collect(),
        seccompiler::SeccompAction::Allow,
        denied,
        std::env::consts::ARCH.try_into().unwrap(),
    );
    rustix::thread::set_no_new_privs(true).unwrap();
    let program: seccompiler::BpfProgram = filter.unwrap().try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
    let ended = place.start(|command| command);
    not_started(&ended, Reason::KernelTooOld);
    assert!(ended.stderr_text().contains("platform_unsupported"));
}

#[test]
fn path_hardlink_consent() {
    let place = Place::new();
    let mut server = place.serve();
    fs::hard_link(place.path("private/consent.json"), place.path("second")).unwrap();
    refused(&server.ask(&place.load(1)), CONSENT_INVALID);
    fs::remove_file(place.path("second")).unwrap();
    assert!(delivered(&server.ask(&place.load(2))), "the control");
}

#[test]
fn path_home_root() {
    let place = Place::new();
    let at = |root: &str, home: Option<&str>| {
        place.start(|command| {
            command.env("KDNA_MCP_WORKSPACE_ROOT", root);
            match home {
                Some(home) => command.env("HOME", home),
                None => command.env_remove("HOME"),
            }
        })
    };
    let home = place.scratch.home().to_str().unwrap().to_owned();
    not_started(&at(&home, Some(&home)), Reason::RootIsHome);
    not_started(&at("/", Some(&home)), Reason::RootIsFilesystemRoot);
    not_started(&at("//", Some(&home)), Reason::RootNotNormal);
    not_started(&at(&format!("{home}/."), Some(&home)), Reason::RootNotNormal);
    let ws = place.path("ws").to_str().unwrap().to_owned();
    not_started(&at(&ws, Some("relative")), Reason::HomeUnresolvable);
    not_started(&at(&ws, Some("")), Reason::HomeUnresolvable);
    // Another HOME hides the account's own home no more than none does.
    for home in [Some("/elsewhere".to_owned()), None] {
        let system = system();
        system.arrange(|world| {
            world.directory("/elsewhere", 0o755).unwrap();
            world.set_account_home(AbsolutePath::parse(simulated::ROOT).ok());
        });
        let refusal = Broker::start(system, Settings { home, ..settings() }, Delegate::embedded()).map(drop);
        assert_eq!(refusal.unwrap_err().reason(), Reason::RootIsHome);
    }
}

#[test]
fn path_ancestor_authority() {
    let place = Place::new();
    for above in [".", "home"] {
        place.scratch.directory(format!("{above}/.kdna"), 0o755);
        place.scratch.file(format!("{above}/.kdna/attachments.json"), RECORD, 0o600);
    }
    place.scratch.directory("empty", 0o755);
    place.scratch.file("empty/.kdna-root", place.path("ws").to_str().unwrap(), 0o644);
    place.scratch.file("empty/commondir", place.path("ws").to_str().unwrap(), 0o644);
    let mut server = place.serve_with(|command| command.env("KDNA_MCP_WORKSPACE_ROOT", place.path("empty")));
    let task = [("task", Value::from(TASK))];
    let answer = server.ask(&place.call_in("empty", 1, "kdna.workspace-resolve", &task));
    assert!(answer.contains(r#""decision":"skip""#) && !answer.contains("att_"), "{answer}");
    assert!(!delivered(&server.ask(&place.call_in("empty", 2, "kdna.workspace-load", &task))));
}

#[test]
fn path_nul() {
    let place = Place::new();
    let mut server = place.serve();
    let call = place.load(1).replace("/ws\"", "/ws\\u0000/../../etc\"");
    assert!(call.contains("u0000"), "{call}");
    let answer = server.ask(&call);
    assert!(!delivered(&answer) && !answer.contains("etc"), "{answer}");
    let text = String::from_utf8(place.consent().bytes()).unwrap().replace(real::HOST, "golden\\u0000host");
    place.scratch.file("private/consent.json", text, 0o600);
    refused(&server.ask(&place.load(2)), CONSENT_INVALID);
}

#[test]
fn path_traversal_identifier() {
    let place = Place::new();
    let long = "a".repeat(300);
    let before = tree(place.scratch.path());
    for id in ["../x", "a/b", ".", "..", "", &long, "-x", "--config=x"] {
        let mut consent = place.consent();
        consent.host_id = id.into();
        place.scratch.file("private/consent.json", consent.bytes(), 0o600);
        let answer = place.serve_with(|command| command.env("KDNA_MCP_HOST_ID", id)).ask(&place.load(1));
        refused(&answer, CONSENT_INVALID);
    }
    place.allow();
    let mut server = place.serve();
    for id in ["../x", "a/b", ".", "..", "", &long, "-x"] {
        let more = [("task", Value::from(TASK)), ("attachmentId", Value::copied(id))];
        refused(&server.ask(&place.call(1, "kdna.workspace-load", &more)), "arguments_invalid");
    }
    let after = tree(place.scratch.path());
    let made: Vec<_> = after.keys().filter(|name| !before.contains_key(*name)).collect();
    assert!(made.iter().all(|name| name.starts_with("state/journal")), "{made:?}");
}

#[test]
fn path_rename_race() {
    let place = Place::new();
    place.scratch.directory("outside", 0o755);
    let name = Place::snapshot().rsplit('/').next().unwrap().to_owned();
    place.scratch.file(format!("outside/{name}"), real::OTHER_ASSET, 0o600);
    let (inside, evil) = (place.path("ws/.kdna/assets"), place.path("ws/.kdna/evil"));
    symlink(place.path("outside"), &evil).unwrap();
    let (mut passed, mut stopped, mut swaps) = (0, 0, 0_u64);
    let swap = || {
        rustix::fs::renameat_with(CWD, &inside, CWD, &evil, RenameFlags::EXCHANGE).unwrap();
        swaps += 1;
        if swaps.is_multiple_of(63) {
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let ((), swapped) = meanwhile(swap, || {
        let mut server = place.serve();
        for id in 0..200 {
            let answer = server.ask(&place.load(id));
            // The other asset loads just as well: its text must never come.
            assert!(!answer.contains("golden:tiny"), "{answer}");
            if delivered(&answer) {
                passed += 1;
            } else {
                assert_ne!(real::code(&answer), "adapter_internal_error", "{answer}");
                stopped += 1;
            }
        }
    });
    assert!(swapped > 500, "the exchange did not run: {swapped}");
    assert!(stopped > 10, "{passed} delivered, {stopped} refused: the race was never met");
    place.rows();
}
