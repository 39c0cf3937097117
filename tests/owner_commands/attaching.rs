//! `kdna attach` and its neighbours with the real program: what fails leaves nothing, what is acknowledged is stored, with
//! exactly the specified modes, whatever the umask, the neighbours, the streams and the limits are.

use crate::person::{Person, answer, wrapped};
use crate::scene::{Scene, TASK, asset};
use crate::support::command::{Exit, Finished, Program, run};
use crate::support::documents::{at, parse};
use crate::support::tree::{Entry, tree};
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::value::Value;
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const GITIGNORE: &str = "/.gitignore\n/assets/\n/attachments.json\n/attachments.lock\n/.attachments-*.tmp\n\
                         /cleanup-last-receipt.json\n/.cleanup-staging-*/\n";
const POLICY: [&str; 4] = ["--role", "Review", "--applies-to", TASK];

/// Something that somebody does to a scene.
type Change<'a> = Box<dyn Fn(&Scene) + 'a>;
type Arrange = fn(&Scene);

fn place() -> Scene {
    let scene = Scene::new();
    scene.scratch.directory("ws", 0o755);
    fs::copy(asset(), scene.at("a.kdna")).unwrap();
    scene
}

/// `kdna attach FILE --cwd WS` with the usual policy and this approval.
fn attach(scene: &Scene, file: &Path, workspace: &str, approval: &[&str]) -> Finished {
    let cwd = scene.text(workspace);
    let file = file.to_str().unwrap();
    run(scene.scratch.command(Program::Owner, [&["attach", file, "--cwd", &cwd], &POLICY[..], approval].concat()), None)
}

const APPROVED: [&str; 2] = ["--yes", "--scope-user-approved"];

fn id_of(done: &Finished) -> Option<String> {
    let document = parse(&done.stdout)?;
    at(&document, "/attachment/attachment_id").and_then(Value::as_str).map(str::to_owned)
}

/// The command is refused with this code, at once, and leaves everything as it was.
fn assert_refused(scene: &Scene, label: &str, code: &str, act: impl FnOnce() -> Finished) {
    let before = fs::metadata(scene.at("ws")).unwrap().modified().unwrap();
    let started = Instant::now();
    let done = act();
    assert_eq!((done.exit, done.stdout.len()), (Exit::Status(2), 0), "{label}: {}", done.stderr_text());
    assert!(done.stderr_text().starts_with(&format!("Error: [{code}] ")), "{label}: {}", done.stderr_text());
    assert!(started.elapsed() < Duration::from_secs(20), "{label} does not hang");
    assert!(tree(&scene.at("ws")).is_empty(), "{label}: nothing is left");
    assert_eq!(
        fs::metadata(scene.at("ws")).unwrap().modified().unwrap(),
        before,
        "{label}: nothing was there in between"
    );
}

#[test]
fn a_source_that_is_no_bounded_regular_asset_leaves_nothing() {
    let scene = place();
    let bytes = fs::read(asset()).unwrap();
    scene.scratch.file("empty.kdna", b"", 0o644);
    scene.scratch.file("cut.kdna", &bytes[..bytes.len() - 30], 0o644);
    scene.scratch.file("noise.kdna", b"PK\x03\x04 and nothing that follows", 0o644);
    scene.scratch.directory("directory.kdna", 0o755);
    symlink("a.kdna", scene.at("link.kdna")).unwrap();
    symlink("none", scene.at("dangling.kdna")).unwrap();
    let node = |name: &str, kind, device| {
        rustix::fs::mknodat(rustix::fs::CWD, scene.at(name), kind, rustix::fs::Mode::from_raw_mode(0o666), device)
    };
    node("fifo.kdna", rustix::fs::FileType::Fifo, 0).unwrap();
    let _listener = std::os::unix::net::UnixListener::bind(scene.at("socket.kdna")).unwrap();
    let mut names = vec![
        "empty.kdna",
        "cut.kdna",
        "noise.kdna",
        "directory.kdna",
        "link.kdna",
        "dangling.kdna",
        "fifo.kdna",
        "socket.kdna",
        "none.kdna",
        "a.kdna/x.kdna",
        "a",
        ".kdna",
    ];
    match node("zero.kdna", rustix::fs::FileType::CharacterDevice, rustix::fs::makedev(1, 5)) {
        Ok(()) => names.push("zero.kdna"),
        Err(_) => println!("skipped: this user cannot make devices"),
    }
    let giant = fs::File::create(scene.at("giant.kdna")).unwrap();
    match giant.set_len(1 << 40) {
        Ok(()) => names.push("giant.kdna"),
        Err(_) => println!("skipped: no sparse files here"),
    }
    for name in names {
        for approval in [&APPROVED[..], &["--preview"]] {
            assert_refused(&scene, name, "asset_invalid", || attach(&scene, &scene.at(name), "ws", approval));
        }
    }
}

#[test]
fn a_source_is_found_through_links_above_it_and_never_as_one() {
    let scene = place();
    scene.scratch.directory("far/deep", 0o755);
    for (target, link) in [("far", "one"), ("one", "two"), ("../../far", "far/deep/up"), ("far/deep", "near")] {
        symlink(target, scene.at(link)).unwrap();
    }
    fs::rename(scene.at("a.kdna"), scene.at("far/a.kdna")).unwrap();
    symlink("a.kdna", scene.at("far/b.kdna")).unwrap();
    symlink("loop", scene.at("loop")).unwrap();
    for directory in ["one", "two", "near/up", "two/deep/up"] {
        let shown = attach(&scene, &scene.at(directory).join("a.kdna"), "ws", &["--preview"]);
        assert_eq!(shown.exit, Exit::Status(0), "{directory}: {}", shown.stderr_text());
        let link = scene.at(directory).join("b.kdna");
        assert_refused(&scene, directory, "asset_invalid", || attach(&scene, &link, "ws", &APPROVED));
    }
    assert_refused(&scene, "loop", "asset_invalid", || attach(&scene, &scene.at("loop/a.kdna"), "ws", &APPROVED));
}

#[test]
fn a_preview_or_a_confirmation_that_does_not_fit_leaves_nothing() {
    let scene = place();
    let file = scene.at("a.kdna");
    let shown = attach(&scene, &file, "ws", &["--preview"]);
    assert_eq!(shown.exit, Exit::Status(0));
    assert!(tree(&scene.at("ws")).is_empty(), "a preview writes nothing");
    let document = parse(&shown.stdout).unwrap();
    let digest = at(&document, "/preview/consent_digest").and_then(Value::as_str).unwrap().to_owned();
    let zero = format!("sha256:{}", "0".repeat(64));
    let changed = "approval_binding_changed";
    assert_refused(&scene, "another digest", changed, || {
        attach(&scene, &file, "ws", &["--yes", "--consent-digest", &zero])
    });
    assert_refused(&scene, "no approval", "approval_required", || attach(&scene, &file, "ws", &[]));
    for approval in [
        &["--yes"][..],
        &["--scope-user-approved"],
        &["--yes", "--preview"],
        &["--yes", "--scope-user-approved", "--consent-digest", &digest],
        &["--consent-digest", &digest],
        &["--yes", "--consent-digest", "sha256:0"],
        &["--yes", "--consent-digest", &digest.to_uppercase()],
    ] {
        assert_refused(&scene, &approval.join(" "), "input_invalid", || attach(&scene, &file, "ws", approval));
    }
    // The same words for another workspace, other bytes or another scope are another approval.
    scene.scratch.directory("other", 0o755);
    let other = attach(&scene, &file, "other", &["--yes", "--consent-digest", &digest]);
    assert!(other.exit == Exit::Status(2) && tree(&scene.at("other")).is_empty());
    assert_refused(&scene, "a wider scope", changed, || {
        attach(&scene, &file, "ws", &["--applies-to", "everything", "--yes", "--consent-digest", &digest])
    });
    fs::write(&file, fs::read(crate::support::package().join("fixtures/assets/tiny.kdna")).unwrap()).unwrap();
    assert_refused(&scene, "another asset", changed, || {
        attach(&scene, &file, "ws", &["--yes", "--consent-digest", &digest])
    });
    fs::copy(asset(), &file).unwrap();
    assert_eq!(attach(&scene, &file, "ws", &["--yes", "--consent-digest", &digest]).exit, Exit::Status(0));
}

#[test]
fn a_place_that_is_no_project_gets_no_record() {
    let scene = place();
    symlink("ws", scene.at("link")).unwrap();
    symlink("home", scene.at("home-link")).unwrap();
    for (workspace, code) in [
        ("home", "home_workspace_ambiguous"),
        ("none", "workspace_invalid"),
        ("link", "workspace_invalid"),
        ("a.kdna", "workspace_invalid"),
    ] {
        assert_refused(&scene, workspace, code, || attach(&scene, &scene.at("a.kdna"), workspace, &APPROVED));
    }
    let cwd = scene.text("home");
    let file = scene.text("a.kdna");
    let behind_link = || {
        let mut command =
            scene.scratch.command(Program::Owner, [&["attach", &file, "--cwd", &cwd], &POLICY[..], &APPROVED].concat());
        command.env("HOME", scene.at("home-link"));
        run(command, None)
    };
    assert_refused(&scene, "a home behind a link", "home_workspace_ambiguous", behind_link);
    let at_root = || {
        run(
            scene.scratch.command(Program::Owner, [&["attach", &file, "--cwd", "/"], &POLICY[..], &APPROVED].concat()),
            None,
        )
    };
    assert_refused(&scene, "/", "workspace_root_ambiguous", at_root);
    assert!(tree(&scene.at("home")).is_empty());
}

#[test]
fn on_a_terminal_only_yes_attaches() {
    let scene = place();
    let (file, cwd) = (scene.text("a.kdna"), scene.text("ws"));
    let arguments = [&["attach", &file, "--cwd", &cwd], &POLICY[..]].concat();
    let on_terminal = |keys: &[u8]| answer(&scene.scratch, Program::Owner, &arguments, |_| {}, keys);
    for keys in [&b"n\n"[..], b"\n", b"yes please\n", b"\x03", b"\x04", b"yes                  \n"] {
        let seen = on_terminal(keys);
        assert_eq!((seen.exit, seen.was_asked()), (Exit::Status(2), true), "{keys:?}: {}", seen.screen);
        assert!(seen.screen.contains("Error: [approval_required] Attachment approval was not granted."));
        assert!(tree(&scene.at("ws")).is_empty(), "{keys:?}");
    }
    let mut ahead = Person::sit_down(&scene.scratch, Program::Owner, &arguments, |_| {}, b"y\ny\n");
    assert!(ahead.is_asked());
    ahead.type_keys(b"n\n");
    assert!(ahead.finish().exit == Exit::Status(2) && tree(&scene.at("ws")).is_empty());
    let seen = on_terminal(b"y\n");
    assert_eq!((seen.exit, seen.was_asked()), (Exit::Status(0), true), "{}", seen.screen);
    assert_eq!(scene.ids("ws").len(), 1);
}

#[test]
fn a_question_about_an_attachment_is_no_larger_than_its_window_and_ends_with_what_is_attached() {
    let phrases: Vec<String> = (0..30).map(|number| format!("phrase number {number} of so many others")).collect();
    let long = [&["--role".to_owned(), "each change of it ".repeat(20).trim_end().to_owned()][..]].concat();
    let many = phrases.iter().flat_map(|phrase| ["--applies-to".to_owned(), phrase.clone()]);
    let long: Vec<String> = long.into_iter().chain(many).collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    for (window, policy, asked) in [
        ((24, 80), &POLICY[..], true),
        ((24, 80), &long[..], true),
        ((10, 40), &POLICY[..], true),
        ((10, 40), &long[..], true),
        ((4, 80), &POLICY[..], false),
        ((24, 2), &POLICY[..], false),
    ] {
        let scene = place();
        let (file, cwd) = (scene.text("a.kdna"), scene.text("ws"));
        let attach = [&["attach", &file, "--cwd", &cwd], policy].concat();
        let sit = |arguments: &[&str]| {
            let mut person = Person::sit_down_at(&scene.scratch, Program::Owner, arguments, |_| {}, b"", Some(window));
            assert_eq!(person.is_asked(), asked, "{window:?}");
            if asked {
                person.type_keys(b"n\n");
            }
            let seen = person.finish();
            assert_eq!(seen.exit, Exit::Status(2), "{}", seen.screen);
            seen.screen
        };
        let shown = sit(&attach);
        assert!(tree(&scene.at("ws")).is_empty(), "{window:?}");
        if !asked {
            assert!(shown.starts_with("Error: [approval_required] The terminal's window is too small"), "{shown}");
            continue;
        }
        let mut shown = vec![shown];
        run(scene.attach_command("ws"), None);
        let id = scene.ids("ws").pop().unwrap();
        fs::copy(crate::support::package().join("fixtures/assets/tiny.kdna"), scene.at("a.kdna")).unwrap();
        shown.push(sit(&[&["switch", &id, &file, "--cwd", &cwd], policy].concat()));
        for (at, screen) in shown.iter().enumerate() {
            let (question, _) = screen.split_once("[y/N] ").unwrap();
            let lines = wrapped(&format!("{question}[y/N] yes"), window.1);
            assert!(lines.len() <= usize::from(window.0), "{window:?} {}: nothing scrolls away\n{screen}", lines.len());
            let last = lines[lines.len() - 8.min(lines.len())..].join("\n");
            let digest = Digest::of(&fs::read(if at == 0 { asset() } else { scene.at("a.kdna") }).unwrap()).to_string();
            let flat: String = last.chars().filter(|character| !character.is_whitespace()).collect();
            assert!(flat.contains(&digest) && last.contains("  Asset        "), "{window:?}\n{screen}");
            let all = window == (24, 80) && policy.len() == POLICY.len();
            assert_eq!(screen.contains("--preview shows all"), !all, "{window:?}\n{screen}");
            assert!(!all || screen.contains(&format!("  Used for     \"{TASK}\"")), "{screen}");
        }
    }
}

#[test]
fn what_changes_while_the_person_reads_is_not_attached() {
    let tiny = fs::read(crate::support::package().join("fixtures/assets/tiny.kdna")).unwrap();
    let grown = [fs::read(asset()).unwrap(), vec![0]].concat();
    let swapped = |scene: &Scene, bytes: &[u8]| {
        fs::write(scene.at("b.kdna"), bytes).unwrap();
        fs::rename(scene.at("b.kdna"), scene.at("a.kdna")).unwrap();
    };
    let changes: [(&str, &str, Change<'_>); 6] = [
        ("other bytes", "approval_binding_changed", Box::new(|scene| swapped(scene, &tiny))),
        ("one byte more", "approval_binding_changed", Box::new(|scene| swapped(scene, &grown))),
        ("no file", "asset_invalid", Box::new(|scene| fs::remove_file(scene.at("a.kdna")).unwrap())),
        (
            "a FIFO",
            "asset_invalid",
            Box::new(|scene| {
                fs::remove_file(scene.at("a.kdna")).unwrap();
                let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600));
                rustix::fs::mknodat(rustix::fs::CWD, scene.at("a.kdna"), kind, mode, 0).unwrap();
            }),
        ),
        (
            "another directory",
            "workspace_binding_changed",
            Box::new(|scene| {
                fs::rename(scene.at("ws"), scene.at("old")).unwrap();
                scene.scratch.directory("ws", 0o755);
            }),
        ),
        (
            "a link to a directory",
            "workspace_binding_changed",
            Box::new(|scene| {
                fs::rename(scene.at("ws"), scene.at("old")).unwrap();
                symlink("old", scene.at("ws")).unwrap();
            }),
        ),
    ];
    for (label, code, change) in changes {
        let scene = place();
        let (file, cwd) = (scene.text("a.kdna"), scene.text("ws"));
        let arguments = [&["attach", &file, "--cwd", &cwd], &POLICY[..]].concat();
        let mut person = Person::sit_down(&scene.scratch, Program::Owner, &arguments, |_| {}, b"");
        assert!(person.is_asked(), "{label}");
        change(&scene);
        person.type_keys(b"y\n");
        let seen = person.finish();
        assert_eq!(seen.exit, Exit::Status(2), "{label}: {}", seen.screen);
        assert!(seen.screen.contains(&format!("Error: [{code}] ")), "{label}: {}", seen.screen);
        let left = tree(&scene.at("ws")).len() + scene.at("old").read_dir().map_or(0, Iterator::count);
        assert_eq!(left, 0, "{label}: nothing is left in either directory");
    }
}

#[test]
fn every_attachment_that_was_acknowledged_is_in_the_record() {
    let scene = place();
    let commands: Vec<Command> = (0..8).map(|_| scene.attach_command("ws")).collect();
    let done: Vec<Finished> = std::thread::scope(|threads| {
        let running: Vec<_> = commands.into_iter().map(|command| threads.spawn(|| run(command, None))).collect();
        running.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let acknowledged: BTreeSet<String> = done.iter().filter_map(id_of).collect();
    for one in &done {
        let locked = one.stderr_text().starts_with("Error: [workspace_locked] ");
        assert!(one.exit == Exit::Status(0) || (one.exit == Exit::Status(2) && locked), "{}", one.stderr_text());
    }
    assert!(!acknowledged.is_empty());
    assert_eq!(scene.ids("ws").into_iter().collect::<BTreeSet<_>>(), acknowledged);
    let left: Vec<String> =
        tree(&scene.at("ws/.kdna")).into_keys().filter(|name| !name.starts_with("assets")).collect();
    assert_eq!(left, [".attachments-lock.tmp", ".gitignore", "attachments.json"], "no temporary and no lock stays");
}

#[test]
fn a_killed_attach_leaves_a_whole_record_and_blocks_nobody() {
    let scene = place();
    let mut acknowledged = BTreeSet::new();
    for step in 0..24 {
        let mut child = scene
            .attach_command("ws")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_micros(1500 * step));
        let _ = child.kill();
        let done = child.wait_with_output().unwrap();
        let finished = Finished { exit: done.status.into(), stdout: done.stdout, stderr: Vec::new() };
        acknowledged.extend(id_of(&finished));
        if scene.at("ws/.kdna/attachments.json").exists() {
            let stored: BTreeSet<String> = scene.ids("ws").into_iter().collect();
            assert!(stored.is_superset(&acknowledged), "what was acknowledged stays");
        }
    }
    // Nobody has to clear anything away by hand.
    acknowledged.insert(scene.attach("ws"));
    let stored: BTreeSet<String> = scene.ids("ws").into_iter().collect();
    assert!(stored.is_superset(&acknowledged));
    let snapshot = format!("assets/sha256-{}.kdna", Digest::of(&fs::read(asset()).unwrap()).hex());
    assert!(matches!(tree(&scene.at("ws/.kdna")).get(&snapshot), Some(Entry::File { mode: 0o600, digest })
        if *digest == Digest::of(&fs::read(asset()).unwrap()).hex()));
}

#[test]
fn modes_are_the_specified_ones_whatever_the_umask() {
    for umask in ["000", "022", "077", "027"] {
        let scene = place();
        let command = scene.in_shell(&scene.attach_command("ws"), &format!("umask {umask}; exec \"$0\" \"$@\""));
        let done = run(command, None);
        assert_eq!(done.exit, Exit::Status(0), "{umask}: {}", done.stderr_text());
        let modes: Vec<(String, u32)> = tree(&scene.at("ws"))
            .into_iter()
            .filter_map(|(name, entry)| match entry {
                Entry::Directory { mode } | Entry::File { mode, .. } => Some((name, mode)),
                Entry::Link { .. } => None,
            })
            .collect();
        let snapshot = format!(".kdna/assets/sha256-{}.kdna", Digest::of(&fs::read(asset()).unwrap()).hex());
        let expected = [
            (".kdna", 0o700),
            (".kdna/.attachments-lock.tmp", 0o600),
            (".kdna/.gitignore", 0o644),
            (".kdna/assets", 0o700),
            (&snapshot, 0o600),
            (".kdna/attachments.json", 0o600),
        ];
        assert_eq!(modes, expected.map(|(name, mode)| (name.to_owned(), mode)), "umask {umask}");
        assert_eq!(fs::read_to_string(scene.at("ws/.kdna/.gitignore")).unwrap(), GITIGNORE);
    }
}

#[test]
fn loose_modes_are_tightened_and_peoples_own_lines_stay() {
    let scene = place();
    scene.scratch.directory("ws/.kdna", 0o777);
    scene.scratch.directory("ws/.kdna/assets", 0o755);
    scene.scratch.file("ws/.kdna/.gitignore", b"# mine\n\n/assets/\nnotes\n", 0o600);
    scene.attach("ws");
    let mode = |name: &str| fs::metadata(scene.at(name)).unwrap().permissions().mode() & 0o7777;
    assert_eq!((mode("ws/.kdna"), mode("ws/.kdna/assets"), mode("ws/.kdna/attachments.json")), (0o700, 0o700, 0o600));
    let merged = fs::read_to_string(scene.at("ws/.kdna/.gitignore")).unwrap();
    let added = GITIGNORE.replace("/assets/\n", "");
    assert_eq!(merged, format!("# mine\n/assets/\nnotes\n{added}"));
}

#[test]
fn storage_that_is_not_what_it_seems_is_refused_untouched() {
    let outside = |scene: &Scene| tree(&scene.at("outside"));
    let places: [(&str, &str, Arrange); 6] = [
        (".kdna is a link", "workspace_invalid", |scene| symlink("../outside", scene.at("ws/.kdna")).unwrap()),
        (".kdna is a file", "workspace_invalid", |scene| drop(scene.scratch.file("ws/.kdna", b"x", 0o644))),
        ("assets is a link", "workspace_invalid", |scene| {
            scene.scratch.directory("ws/.kdna", 0o700);
            symlink("../../outside", scene.at("ws/.kdna/assets")).unwrap();
        }),
        ("the ignore list is a link", "workspace_invalid", |scene| {
            scene.scratch.directory("ws/.kdna", 0o700);
            symlink("../../outside/file", scene.at("ws/.kdna/.gitignore")).unwrap();
        }),
        ("the record is a link", "attachment_schema_unsupported", |scene| {
            scene.scratch.directory("ws/.kdna", 0o700);
            symlink("../../outside/file", scene.at("ws/.kdna/attachments.json")).unwrap();
        }),
        ("the record is a FIFO", "attachment_schema_unsupported", |scene| {
            scene.scratch.directory("ws/.kdna", 0o700);
            let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600));
            rustix::fs::mknodat(rustix::fs::CWD, scene.at("ws/.kdna/attachments.json"), kind, mode, 0).unwrap();
        }),
    ];
    for (label, code, arrange) in places {
        let scene = place();
        scene.scratch.directory("outside", 0o755);
        scene.scratch.file("outside/file", b"victim", 0o644);
        let before = outside(&scene);
        arrange(&scene);
        let done = run(scene.attach_command("ws"), None);
        assert_eq!(done.exit, Exit::Status(2), "{label}: {}", done.stderr_text());
        assert!(done.stderr_text().starts_with(&format!("Error: [{code}] ")), "{label}: {}", done.stderr_text());
        assert_eq!(outside(&scene), before, "{label}: nothing behind it is touched");
    }
}

#[test]
fn closed_streams_and_few_descriptors_do_no_harm() {
    let scene = place();
    let id = scene.attach("ws");
    let record = fs::read(scene.at("ws/.kdna/attachments.json")).unwrap();
    let cwd = scene.text("ws");
    let list = scene.owner(["attachments", "--cwd", &cwd]);
    for (script, listed) in [
        ("exec \"$0\" \"$@\" <&-", true),
        ("exec \"$0\" \"$@\" 2>&-", true),
        ("exec \"$0\" \"$@\" <&- 2>&-", true),
        ("exec \"$0\" \"$@\" >&-", false),
        ("exec \"$0\" \"$@\" <&- >&- 2>&-", false),
    ] {
        let done = run(scene.in_shell(&list, script), Some(b"x"));
        assert_eq!(done.exit, Exit::Status(0), "{script}");
        assert_eq!(done.stdout_text().contains(&id), listed, "{script}");
        // A file that is opened must never take the place of a standard stream.
        let attached = run(scene.in_shell(&scene.attach_command("ws"), script), Some(b"x"));
        assert_eq!(attached.exit, Exit::Status(0), "{script}: {}", attached.stderr_text());
        assert!(scene.record("ws").attachments().len() > 1, "{script}");
        fs::write(scene.at("ws/.kdna/attachments.json"), &record).unwrap();
    }
    for files in 3..12 {
        let script = format!("ulimit -n {files}; exec \"$0\" \"$@\"");
        let done = run(scene.in_shell(&list, &script), None);
        match done.exit {
            Exit::Status(0) => assert!(done.stdout_text().contains(&id), "{files}"),
            other => assert!(done.stdout.is_empty() && matches!(other, Exit::Status(_)), "{files}: {other:?}"),
        }
        let done = run(scene.in_shell(&scene.attach_command("ws"), &script), None);
        assert!(matches!(done.exit, Exit::Status(_)), "{files}: {:?}", done.exit);
        let stored = scene.ids("ws");
        assert!(stored.contains(&id) && id_of(&done).is_none_or(|new| stored.contains(&new)), "{files}");
    }
}

#[test]
fn a_name_says_which_program_it_is_and_nothing_else() {
    let scene = place();
    let id = scene.attach("ws");
    let cwd = scene.text("ws");
    let started_as = |program: Program, name: &str, arguments: &[&str]| {
        use std::os::unix::process::CommandExt as _;
        let mut command = scene.scratch.command(program, arguments);
        command.arg0(name);
        run(command, None)
    };
    for (program, name, owner) in [
        (Program::Broker, "kdna", true),
        (Program::Broker, "/x/kdna", true),
        (Program::Owner, "kdna-broker", false),
        (Program::Owner, "", false),
        (Program::Owner, "kdna\n", false),
        (Program::Owner, "../kdna/", false),
        (Program::Owner, "KDNA", false),
    ] {
        let listed = started_as(program, name, &["attachments", "--cwd", &cwd]);
        let served = started_as(program, name, &["consent", "status"]);
        let (listed, served) = ((listed.exit, listed.stdout_text().contains(&id)), served.exit);
        let expected = if owner { (Exit::Status(0), true) } else { (Exit::Status(2), false) };
        assert_eq!(listed, expected, "{name:?}");
        assert_eq!(served == Exit::Status(0), !owner, "{name:?}");
    }
}

#[test]
fn a_hostile_record_is_refused_soon_and_changes_nothing() {
    let scene = place();
    scene.attach("ws");
    let path = scene.at("ws/.kdna/attachments.json");
    let record = fs::read_to_string(&path).unwrap();
    let replaced = |from: &str, to: &str| {
        assert!(record.contains(from), "{from}");
        record.replacen(from, to, 1).into_bytes()
    };
    let mebi = 1 << 20;
    let hostile: [(&str, Vec<u8>); 12] = [
        ("deep", [vec![b'['; mebi / 2], vec![b']'; mebi / 2]].concat()),
        (
            "deep inside",
            replaced("\"role\"", &format!("\"x\":{}{},\"role\"", "[".repeat(300_000), "]".repeat(300_000))),
        ),
        ("many phrases", replaced("\"applies_to\": [", &format!("\"applies_to\": [{}", "1,".repeat(500_000)))),
        ("one phrase", replaced(TASK, &"a".repeat(1_000_000))),
        ("a number", replaced("\"Review\"", &"1".repeat(1_000_000))),
        ("a key twice", replaced("\"role\"", "\"role\":\"x\",\"role\"")),
        ("the same key spelt twice", replaced("\"role\"", "\"\\u0072ole\":\"x\",\"role\"")),
        ("an unknown key", replaced("\"role\"", "\"__proto__\":{},\"role\"")),
        ("a second document", format!("{record}{{}}").into_bytes()),
        ("NUL in a path", replaced("assets/sha256-", "assets\\u0000/sha256-")),
        ("a snapshot elsewhere", replaced("assets/sha256-", "assets/../../sha256-")),
        ("too large", record.clone().into_bytes().into_iter().chain(vec![b' '; mebi]).collect()),
    ];
    let cwd = scene.text("ws");
    for (label, bytes) in hostile {
        fs::write(&path, &bytes).unwrap();
        let before = tree(&scene.at("ws"));
        let started = Instant::now();
        let listed = run(scene.owner(["attachments", "--cwd", &cwd]), None);
        assert_eq!((listed.exit, listed.stdout.len()), (Exit::Status(2), 0), "{label}: {}", listed.stderr_text());
        assert!(listed.stderr.len() < 1000, "{label}: nothing of it is shown");
        let resolved = run(scene.owner(["resolve", "--cwd", &cwd, "--task-stdin"]), Some(TASK.as_bytes()));
        let decision = parse(&resolved.stdout).unwrap();
        let word = |key: &str| decision.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        assert_eq!((resolved.exit, word("decision").as_str()), (Exit::Status(0), "block"), "{label}");
        assert_eq!(word("reason_code"), "attachment_schema_unsupported", "{label}");
        assert_eq!(run(scene.attach_command("ws"), None).exit, Exit::Status(2), "{label}");
        assert!(started.elapsed() < Duration::from_secs(30), "{label}");
        assert_eq!(tree(&scene.at("ws")), before, "{label}");
    }
}

#[test]
fn a_second_attachment_of_the_same_asset_is_pointed_out() {
    let scene = Scene::new();
    scene.scratch.directory("ws", 0o755);
    let attach = || {
        let done = run(scene.attach_command("ws"), None);
        assert_eq!(done.exit, Exit::Status(0), "{}", done.stderr_text());
        assert!(parse(&done.stdout).is_some(), "standard output stays one document");
        done.stderr_text()
    };
    assert_eq!(attach(), "");
    let first = scene.ids("ws").pop().unwrap();
    let note = format!("Note: this asset is attached already as {first}; a task that fits both is asked about.\n");
    assert_eq!(attach(), note);
    for id in scene.ids("ws") {
        let done = run(scene.owner(["disable", &id, "--cwd", &scene.text("ws")]), None);
        assert_eq!(done.exit, Exit::Status(0), "{}", done.stderr_text());
    }
    assert_eq!(attach(), "", "one that is switched off is no rival");
}
