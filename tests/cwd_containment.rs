//! What a host names as its working directory decides nothing beyond the pinned root: a sibling, a link, a mount, a moved
//! directory or another directory under the root's name never brings a foreign record; the nearest record inside wins and
//! nothing above it is taken in.
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

use scene::{Reply, Scene, delivered, load, resolve, status};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use support::command::{Exit, Server, run};

const UNAVAILABLE: &str = "workspace_unavailable";
const OUTSIDE: &str = "workspace_outside_host_root";
const CHANGED: &str = "host_workspace_root_changed";
const CONTRACT: &str = "workspace_contract_invalid";

#[test]
fn a_sibling_that_shares_the_roots_prefix_is_outside() {
    let scene = Scene::new();
    let inside = scene.attach("app");
    scene.attach("app-evil");
    scene.attach("app/sub");
    scene.scratch.directory("ap", 0o755);
    scene.allow("app", "app-evil");
    let mut server = scene.server("app");
    for cwd in ["app-evil", "app/../app-evil", "app/sub/../../app-evil", "app-evil/.kdna", "ap", "", "app/.."] {
        assert_eq!(status(&mut server, scene.at(cwd)), Reply::refused(OUTSIDE), "{cwd}");
        assert_eq!(resolve(&mut server, scene.at(cwd)), Reply::refused(OUTSIDE), "{cwd}");
        assert_eq!(load(&mut server, scene.at(cwd)), Reply::refused(OUTSIDE), "{cwd}");
    }
    for cwd in ["/", "/proc", "/tmp", "/dev/shm"] {
        assert_eq!(status(&mut server, cwd), Reply::refused(OUTSIDE), "{cwd}");
    }
    for cwd in ["app", "app/", "app/.", "app//.", "app/../app", "app/sub/..", "app/x/.."] {
        assert_eq!(status(&mut server, scene.at(cwd)), Reply::of(&inside), "{cwd}");
    }
}

#[test]
fn what_names_no_directory_is_unavailable() {
    let scene = Scene::new();
    scene.attach("app");
    scene.scratch.file("app/file", b"", 0o644);
    symlink("loop", scene.at("app/loop")).unwrap();
    let mut server = scene.server("app");
    let long = format!("app/{}", "x".repeat(300));
    for cwd in ["app/none", "app/file", "app/file/x", "app/loop", "app/loop/x", "app/x\0y", &long] {
        assert_eq!(status(&mut server, scene.at(cwd)), Reply::refused(UNAVAILABLE), "{cwd:?}");
        assert_eq!(load(&mut server, scene.at(cwd)), Reply::refused(UNAVAILABLE), "{cwd:?}");
    }
    for cwd in ["~", "$HOME", "file:///", "app\n"] {
        assert_eq!(status(&mut server, cwd), Reply::refused(UNAVAILABLE), "{cwd:?}");
    }
}

#[test]
fn a_relative_name_counts_from_where_the_server_stands() {
    let scene = Scene::new();
    let inside = scene.attach("app");
    scene.scratch.directory("app/sub", 0o755);
    let mut server = scene.server("app");
    for (cwd, reply) in
        [("app", Reply::of(&inside)), (".", Reply::refused(OUTSIDE)), ("sub", Reply::refused(UNAVAILABLE))]
    {
        assert_eq!(status(&mut server, cwd), reply, "{cwd}");
    }
    let mut command = scene.server_command("app");
    command.current_dir(scene.at("app/sub"));
    let mut server = Server::start(command);
    for (cwd, reply) in [(".", Reply::of(&inside)), ("..", Reply::of(&inside)), ("../..", Reply::refused(OUTSIDE))] {
        assert_eq!(status(&mut server, cwd), reply, "{cwd}");
    }
}

#[test]
fn an_absolute_name_is_understood_where_the_programs_own_directory_is_gone() {
    let scene = Scene::new();
    let inside = scene.attach("app");
    let gone = scene.scratch.directory("gone", 0o755);
    let remove_first = "rmdir ../gone; exec \"$0\" \"$@\"";
    let in_it = |command: &Command| {
        let mut shell = scene.in_shell(command, remove_first);
        shell.current_dir(&gone);
        shell
    };
    let mut server = Server::start(in_it(&scene.server_command("app")));
    assert_eq!(status(&mut server, scene.at("app")), Reply::of(&inside));
    for cwd in [".", "..", "app"] {
        assert_eq!(status(&mut server, cwd), Reply::refused(UNAVAILABLE), "{cwd}");
    }
    for (cwd, exit) in [(scene.text("app"), 0), (".".to_owned(), 2)] {
        scene.scratch.directory("gone", 0o755);
        let done = run(in_it(&scene.owner(["attachments", "--cwd", &cwd])), None);
        assert_eq!(done.exit, Exit::Status(exit), "{cwd}: {}", done.stderr_text());
        assert_eq!(done.stdout_text().contains(&inside), exit == 0, "{cwd}");
    }
}

#[test]
fn a_link_leads_only_to_where_it_really_leads() {
    let scene = Scene::new();
    let inside = scene.attach("app");
    let deep = scene.attach("app/sub/deep");
    scene.attach("evil/sub");
    symlink("sub", scene.at("app/in")).unwrap();
    symlink(scene.at("evil"), scene.at("app/out")).unwrap();
    symlink("app", scene.at("app-link")).unwrap();
    symlink(".", scene.at("app/self")).unwrap();
    let mut server = scene.server("app");
    for link in ["app/in", "app/out", "app-link", "app/self"] {
        assert_eq!(status(&mut server, scene.at(link)), Reply::refused(UNAVAILABLE), "{link} is a link");
    }
    for (cwd, reply) in [
        ("app/in/deep", Reply::of(&deep)),
        ("app-link/sub", Reply::of(&inside)),
        ("app/self/self/sub", Reply::of(&inside)),
        ("app/out/sub", Reply::refused(OUTSIDE)),
        ("app/out/sub/.kdna", Reply::refused(OUTSIDE)),
        // Read as a person reads it, not as the kernel walks it: still inside.
        ("app/out/../sub", Reply::of(&inside)),
    ] {
        assert_eq!(status(&mut server, scene.at(cwd)), reply, "{cwd}");
    }
    for (before, cwd, reply) in [
        ("/proc/self/root", "app", Reply::of(&inside)),
        ("/proc/self/root", "evil/sub", Reply::refused(OUTSIDE)),
        ("/proc/self/cwd/../..", "evil/sub", Reply::refused(UNAVAILABLE)),
    ] {
        assert_eq!(status(&mut server, format!("{before}{}", scene.text(cwd))), reply, "{before} {cwd}");
    }
    for magic in ["/proc/self/cwd", "/proc/self/root", "/proc/self/fd/3", "/proc/self/fd/4"] {
        assert_eq!(status(&mut server, magic), Reply::refused(UNAVAILABLE), "{magic}");
    }
}

#[test]
fn a_record_behind_a_link_is_refused_and_not_passed_over() {
    let scene = Scene::new();
    scene.attach("app");
    scene.attach("evil");
    for (name, kdna, record) in [
        ("kdna-out", Some("../../evil/.kdna"), None),
        ("kdna-in", Some("../.kdna"), None),
        ("record-out", None, Some("../../../evil/.kdna/attachments.json")),
        ("record-in", None, Some("../../.kdna/attachments.json")),
        ("record-loop", None, Some("attachments.json")),
    ] {
        let place = scene.scratch.directory(format!("app/{name}"), 0o755);
        match (kdna, record) {
            (Some(target), _) => symlink(target, place.join(".kdna")).unwrap(),
            (_, Some(target)) => {
                fs::create_dir(place.join(".kdna")).unwrap();
                symlink(target, place.join(".kdna/attachments.json")).unwrap();
            }
            _ => unreachable!("one of both"),
        }
    }
    scene.scratch.directory("app/file", 0o755);
    scene.scratch.file("app/file/.kdna", b"", 0o644);
    scene.scratch.directory("app/directory/.kdna/attachments.json", 0o755);
    scene.scratch.directory("app/fifo/.kdna", 0o755);
    let fifo = scene.at("app/fifo/.kdna/attachments.json");
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o644));
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, kind, mode, 0).unwrap();
    let mut server = scene.server("app");
    let places =
        ["kdna-out", "kdna-in", "record-out", "record-in", "record-loop", "file", "directory", "fifo"].into_iter();
    for place in places {
        let cwd = scene.at("app").join(place);
        assert_eq!(status(&mut server, &cwd), Reply::refused(CONTRACT), "{place}");
        assert_eq!(load(&mut server, &cwd), Reply::refused(CONTRACT), "{place}");
    }
}

#[test]
fn the_nearest_record_wins_and_none_is_taken_in_from_above() {
    let scene = Scene::new();
    let above = scene.attach("above");
    let root = scene.attach("above/app");
    let nested = scene.attach("above/app/nested");
    for name in ["above/app/nested/x/y", "above/app/other/.kdna", "above/app/nested/empty"] {
        scene.scratch.directory(name, 0o755);
    }
    scene.scratch.directory("above/plain/x", 0o755);
    let mut server = scene.server("above/app");
    for (cwd, id) in [
        ("above/app", &root),
        ("above/app/other", &root),
        ("above/app/other/.kdna", &root),
        ("above/app/.kdna/assets", &root),
        ("above/app/nested", &nested),
        ("above/app/nested/x/y", &nested),
        ("above/app/nested/.kdna", &nested),
    ] {
        assert_eq!(status(&mut server, scene.at(cwd)), Reply::of(id), "{cwd}");
    }
    // One that holds nothing is still the nearest.
    let empty = br#"{"document_type":"kdna.workspace-attachments","schema_version":"0.3.0","workspace":{"root_marker":".kdna/attachments.json"},"attachments":[]}"#;
    scene.scratch.directory("above/app/nested/empty/.kdna", 0o755);
    scene.scratch.file("above/app/nested/empty/.kdna/attachments.json", empty, 0o600);
    assert_eq!(status(&mut server, scene.at("above/app/nested/empty")), Reply::Record(Vec::new()));
    assert_eq!(resolve(&mut server, scene.at("above/app/nested/empty")), Reply::Decision("skip".to_owned(), false));
    // Above the root there is nothing, whatever stands there.
    let mut server = scene.server("above/plain");
    assert_eq!(status(&mut server, scene.at("above/plain/x")), Reply::NoRecord);
    assert_eq!(load(&mut server, scene.at("above/plain/x")), Reply::Decision("skip".to_owned(), false));
    assert_eq!(scene.ids("above"), [above]);
}

#[test]
fn a_record_in_a_home_inside_the_root_is_no_project() {
    let scene = Scene::new();
    let project = scene.attach("app/home/project");
    scene.scratch.directory("app/home/plain", 0o755);
    scene.scratch.directory("app/home/.kdna", 0o700);
    fs::copy(scene.at("app/home/project/.kdna/attachments.json"), scene.at("app/home/.kdna/attachments.json")).unwrap();
    symlink("app/home", scene.at("home-link")).unwrap();
    symlink("home-link", scene.at("home-links")).unwrap();
    for home in ["app/home", "app/home/", "home-link", "home-links"] {
        let mut command = scene.server_command("app");
        command.env("HOME", scene.at(home));
        let mut server = Server::start(command);
        for cwd in ["app/home", "app/home/plain", "app/home/.kdna"] {
            let refused = Reply::refused("workspace_home_ambiguous");
            assert_eq!(status(&mut server, scene.at(cwd)), refused, "{home} {cwd}");
            assert_eq!(load(&mut server, scene.at(cwd)), refused, "{home} {cwd}");
        }
        assert_eq!(status(&mut server, scene.at("app/home/project")), Reply::of(&project), "{home}");
    }
}

#[test]
fn a_directory_that_may_be_passed_and_not_read_hides_nothing() {
    let scene = Scene::new();
    let root = scene.attach("app");
    let inner = scene.attach("app/inner");
    scene.scratch.directory("app/closed/x/y", 0o755);
    scene.scratch.directory("app/inner/closed/x", 0o755);
    let close = |name: &str| fs::set_permissions(scene.at(name), fs::Permissions::from_mode(0o311)).unwrap();
    close("app/closed");
    close("app/closed/x");
    close("app/inner/closed");
    let mut server = scene.server("app");
    for (cwd, id) in [("app/closed/x/y", &root), ("app/closed/x", &root), ("app/inner/closed/x", &inner)] {
        assert_eq!(status(&mut server, scene.at(cwd)), Reply::of(id), "{cwd}");
    }
    for name in ["app/closed", "app/closed/x", "app/inner/closed"] {
        fs::set_permissions(scene.at(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
}

#[test]
fn a_directory_that_was_moved_away_is_gone() {
    let scene = Scene::new();
    scene.attach("app");
    let sub = scene.attach("app/sub");
    let mut server = scene.server("app");
    assert_eq!(status(&mut server, scene.at("app/sub")), Reply::of(&sub));
    fs::rename(scene.at("app/sub"), scene.at("away")).unwrap();
    assert_eq!(status(&mut server, scene.at("app/sub")), Reply::refused(UNAVAILABLE));
    assert_eq!(status(&mut server, scene.at("away")), Reply::refused(OUTSIDE));
    symlink("../away", scene.at("app/sub")).unwrap();
    assert_eq!(status(&mut server, scene.at("app/sub")), Reply::refused(UNAVAILABLE));
    assert_eq!(load(&mut server, scene.at("app/sub/.kdna")), Reply::refused(OUTSIDE));
}

#[test]
fn another_directory_under_the_roots_name_is_refused_until_the_pinned_one_is_back() {
    let scene = Scene::new();
    let own = scene.attach("app");
    scene.scratch.directory("app/sub", 0o755);
    scene.attach("evil");
    scene.scratch.directory("evil/sub", 0o755);
    scene.allow("app", "app");
    let mut server = scene.server("app");
    assert_eq!(load(&mut server, scene.at("app")), delivered());
    fs::rename(scene.at("app"), scene.at("app.old")).unwrap();
    let all_refused = |server: &mut Server, cwd: PathBuf, code: &str| {
        assert_eq!(status(server, &cwd), Reply::refused(code));
        assert_eq!(resolve(server, &cwd), Reply::refused(code));
        assert_eq!(load(server, &cwd), Reply::refused(code));
    };
    all_refused(&mut server, scene.at("app"), UNAVAILABLE);
    all_refused(&mut server, scene.at("app.old"), CHANGED);
    fs::rename(scene.at("evil"), scene.at("app")).unwrap();
    all_refused(&mut server, scene.at("app"), CHANGED);
    all_refused(&mut server, scene.at("app/sub"), CHANGED);
    all_refused(&mut server, scene.at("app.old/sub"), CHANGED);
    fs::rename(scene.at("app"), scene.at("evil")).unwrap();
    symlink("app.old", scene.at("app")).unwrap();
    all_refused(&mut server, scene.at("app/sub"), CHANGED);
    fs::remove_file(scene.at("app")).unwrap();
    fs::rename(scene.at("app.old"), scene.at("app")).unwrap();
    assert_eq!(status(&mut server, scene.at("app/sub")), Reply::of(&own));
    assert_eq!(load(&mut server, scene.at("app/sub")), delivered());
}

#[test]
fn what_is_mounted_beneath_the_root_is_no_part_of_it() {
    let scene = Scene::new();
    let own = scene.attach("app");
    scene.attach("outside");
    scene.attach("app/kdna");
    scene.attach("app/record");
    for name in ["app/whole", "app/kdna/x", "app/assets"] {
        scene.scratch.directory(name, 0o755);
    }
    scene.allow("app", "app");
    let script = "mount --bind outside app/whole; mount --bind outside/.kdna app/kdna/.kdna; \
                  mount --bind outside/.kdna/attachments.json app/record/.kdna/attachments.json";
    let Some(mut server) = scene.server_with_mounts("app", script) else { return };
    for (cwd, code) in
        [("app/whole", UNAVAILABLE), ("app/kdna", CONTRACT), ("app/kdna/x", CONTRACT), ("app/record", CONTRACT)]
    {
        assert_eq!(status(&mut server, scene.at(cwd)), Reply::refused(code), "{cwd}");
        assert_eq!(resolve(&mut server, scene.at(cwd)), Reply::refused(code), "{cwd}");
        assert_eq!(load(&mut server, scene.at(cwd)), Reply::refused(code), "{cwd}");
    }
    assert_eq!(status(&mut server, scene.at("app")), Reply::of(&own));
}

#[test]
fn a_snapshot_that_is_mounted_is_not_handed_over() {
    let scene = Scene::new();
    scene.attach("app");
    scene.allow("app", "app");
    fs::copy(scene::asset(), scene.at("copy.kdna")).unwrap();
    let Some(mut server) =
        scene.server_with_mounts("app", "for f in app/.kdna/assets/*; do mount --bind copy.kdna $f; done")
    else {
        return;
    };
    let withheld = load(&mut server, scene.at("app"));
    // The state directory of an ordinary user is not private in such a namespace: root is nobody there.
    let Some(mut control) = scene.server_with_mounts("app", ":").filter(|_| rustix::process::geteuid().is_root())
    else {
        println!("skipped: loads in a namespace need root outside of it");
        return;
    };
    assert_eq!(load(&mut control, scene.at("app")), delivered());
    assert_eq!(withheld, Reply::Decision("block".to_owned(), false));
}

#[test]
fn a_root_under_a_mount_of_its_own_is_another_root() {
    let scene = Scene::new();
    scene.attach("app");
    scene.attach("outside");
    // Mounted before the start, the directory mounted is the one that is pinned: that is no attack.
    let Some(mut server) = scene.server_with_mounts("app", "mount --bind outside app") else { return };
    assert_eq!(status(&mut server, scene.at("app")), Reply::of(&scene.ids("outside")[0]));
    assert_eq!(status(&mut server, scene.at("outside")), Reply::refused(OUTSIDE));
}

/// Exchanges a directory for a link to another workspace, over and over, until told to stop.
fn exchange(scene: &Scene, stop: &AtomicBool, rounds: &AtomicU64) {
    let (place, aside, link) = (scene.at("app/att"), scene.at("app/aside"), scene.at("app/link"));
    while !stop.load(Ordering::Relaxed) {
        fs::rename(&place, &aside).unwrap();
        fs::rename(&link, &place).unwrap();
        std::thread::yield_now();
        fs::rename(&place, &link).unwrap();
        fs::rename(&aside, &place).unwrap();
        rounds.fetch_add(1, Ordering::Relaxed);
        // Long enough in place for answers from inside.
        std::thread::sleep(std::time::Duration::from_micros(100));
    }
}

#[test]
fn a_directory_exchanged_for_a_link_never_brings_a_foreign_record() {
    let scene = Scene::new();
    let root = scene.attach("app");
    let inside = scene.attach("app/att");
    let foreign = scene.attach("evil");
    for name in ["app/att/sub", "evil/sub"] {
        scene.scratch.directory(name, 0o755);
    }
    symlink("../evil", scene.at("app/link")).unwrap();
    // Were the foreign record ever taken for the one inside, it would be delivered.
    scene.allow("app", "evil");
    let (stop, rounds) = (AtomicBool::new(false), AtomicU64::new(0));
    let (mut whole, mut refused) = (0, 0);
    std::thread::scope(|threads| {
        threads.spawn(|| exchange(&scene, &stop, &rounds));
        let mut server = scene.server("app");
        // At least so many calls, and more where the two threads hardly meet.
        for round in 0..20_000 {
            if round >= 600 && whole > 5 && refused > 5 && rounds.load(Ordering::Relaxed) > 50 {
                break;
            }
            let cwd = scene.at(["app/att", "app/att/sub", "app/att/.kdna"][round % 3]);
            let reply = match round % 20 {
                0 => load(&mut server, &cwd),
                10 => resolve(&mut server, &cwd),
                _ => status(&mut server, &cwd),
            };
            match &reply {
                Reply::Record(ids) => {
                    assert_eq!(ids, std::slice::from_ref(&inside), "neither {root} above nor {foreign}");
                    whole += 1;
                }
                Reply::Refused(code) => {
                    // The consent is for the foreign attachment: a load of the one inside ends there at the latest.
                    let known = [
                        UNAVAILABLE,
                        OUTSIDE,
                        CONTRACT,
                        "workspace_binding_changed",
                        "host_processing_consent_invalid",
                        "runtime_rejected",
                    ];
                    assert!(known.contains(&code.as_str()), "{code}");
                    refused += 1;
                }
                Reply::Decision(decision, capsule) => {
                    assert!(!capsule && decision != "skip", "{decision}");
                }
                Reply::NoRecord => panic!("the record inside was passed over"),
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    println!("{} exchanges; {whole} answers from inside, {refused} refusals", rounds.load(Ordering::Relaxed));
    assert!(whole > 5 && refused > 5 && rounds.load(Ordering::Relaxed) > 50, "both happened");
}

#[test]
fn the_owners_commands_keep_to_their_boundary_as_well() {
    let scene = Scene::new();
    scene.attach("above");
    scene.scratch.directory("above/app/x", 0o755);
    scene.attach("evil");
    symlink("../../evil", scene.at("above/app/out")).unwrap();
    let list = |cwd: &str, boundary: Option<&str>| {
        let (cwd, boundary) = (scene.text(cwd), boundary.map(|name| scene.text(name)));
        let mut command = scene.owner(["attachments", "--cwd", &cwd]);
        command.args(boundary.iter().flat_map(|boundary| ["--workspace-root", boundary].map(OsStr::new)));
        let done = run(command, None);
        (done.exit, done.stdout_text(), done.stderr_text())
    };
    let (exit, found, _) = list("above/app/x", Some("above/app"));
    assert_eq!((exit, found.as_str()), (Exit::Status(0), "null\n"));
    let (exit, found, _) = list("above/app/x", Some("above"));
    assert!(exit == Exit::Status(0) && found.contains(&scene.ids("above")[0]));
    for (cwd, boundary, code) in [
        ("evil", "above", "workspace_boundary_escape"),
        ("above", "above/app", "workspace_boundary_escape"),
        ("above/app/out/.kdna", "above", "workspace_boundary_escape"),
        ("above/app/out", "above", "workspace_invalid"),
        ("above/app/x", "above/app/out", "workspace_invalid"),
        ("above/none", "above", "workspace_invalid"),
    ] {
        let (exit, found, said) = list(cwd, Some(boundary));
        assert_eq!((exit, found.as_str()), (Exit::Status(2), ""), "{cwd}");
        assert!(said.starts_with(&format!("Error: [{code}] ")), "{cwd}: {said}");
    }
}
