//! What was pinned is what runs: any change on disk refuses before a process is started, and again after one ran.

use crate::stage::{Host, Loaded, OTHER_ASSET, Stage, stage};
use crate::support::command::{Exit, run};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Every file of the folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found
}

/// A load that must be refused for this reason without any process.
fn refused_unstarted(stage: &Stage, host: &mut Host, reason: &str) -> Loaded {
    let before = host.faults_of_children();
    let loaded = host.load(&stage.path("ws"));
    loaded.assert_refused("runtime_binding_invalid", reason);
    assert_eq!(host.faults_of_children(), before, "{reason}: a process was started");
    loaded
}

/// A load that must be delivered, by processes.
fn delivered(stage: &Stage, host: &mut Host) {
    let before = host.faults_of_children();
    host.load(&stage.path("ws")).assert_delivered();
    assert!(host.faults_of_children() > before, "processes leave a trace");
}

#[test]
fn bind_rug_pull_tools() {
    let Some(stage) = stage() else { return };
    let mut host = stage.serve();
    delivered(&stage, &mut host);
    // After the person granted: another program under the same name, and another version of itself.
    let entry = files(&stage.runtime()).into_iter().find(|file| file.ends_with("package.json")).expect("a version");
    let original = fs::read_to_string(&entry).unwrap();
    fs::write(&entry, original.replace("\"version\"", "\"version\" ")).unwrap();
    refused_unstarted(&stage, &mut host, "package_file_changed");
    fs::write(&entry, original).unwrap();
    let script = files(&stage.runtime()).into_iter().find(|file| file.extension().is_some_and(|end| end == "js"));
    let script = script.expect("a script");
    let original = fs::read(&script).unwrap();
    fs::write(&script, b"process.stdout.write('{}')").unwrap();
    refused_unstarted(&stage, &mut host, "package_file_changed");
    fs::write(&script, original).unwrap();
    delivered(&stage, &mut host);
}

#[test]
fn a_file_that_is_swapped_and_put_back_while_it_runs_delivers_nothing() {
    let Some(stage) = stage() else { return };
    let mut host = stage.serve();
    delivered(&stage, &mut host);
    let file = files(&stage.runtime()).into_iter().find(|file| file.ends_with("package.json")).expect("a file");
    let (aside, evil) = (stage.path("outside/aside"), stage.path("outside/evil"));
    fs::copy(&file, &evil).unwrap();
    let swapping = std::sync::atomic::AtomicBool::new(true);
    let loaded: Vec<Loaded> = std::thread::scope(|scope| {
        scope.spawn(|| {
            while swapping.load(std::sync::atomic::Ordering::SeqCst) {
                fs::rename(&file, &aside).unwrap();
                fs::rename(&evil, &file).unwrap();
                sleep(Duration::from_millis(2));
                fs::rename(&file, &evil).unwrap();
                fs::rename(&aside, &file).unwrap();
                sleep(Duration::from_millis(2));
            }
        });
        let loaded = (0..4).map(|_| host.load(&stage.path("ws"))).collect();
        swapping.store(false, std::sync::atomic::Ordering::SeqCst);
        loaded
    });
    // All bytes are the pinned ones whenever they are compared, except for the moment without a file: listed, and gone
    // when it is looked at, is a package that cannot be read.
    let reasons = ["package_file_changed", "package_file_missing", "package_unreadable"];
    for loaded in loaded {
        let reason = reasons.into_iter().find(|word| loaded.says(word));
        loaded.assert_refused("runtime_binding_invalid", reason.expect("a reason"));
    }
    delivered(&stage, &mut host);
}

#[test]
fn a_package_in_which_everybody_may_rename_is_neither_pinned_nor_used() {
    let Some(stage) = stage() else { return };
    let mut host = stage.serve();
    delivered(&stage, &mut host);
    for directory in [stage.runtime(), stage.runtime().join("src")] {
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o777)).unwrap();
        refused_unstarted(&stage, &mut host, "package_open_to_others");
        let done = stage.try_pin("/usr/bin/node", &stage.runtime(), "src/cli.js", &[]);
        assert_eq!(done.exit, Exit::Status(2), "{}", done.stderr_text());
        fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    }
    delivered(&stage, &mut host);
}

#[test]
fn one_changed_byte_anywhere_in_its_folder_refuses_and_starts_nothing() {
    let Some(stage) = stage() else { return };
    let mut host = stage.serve();
    delivered(&stage, &mut host);
    let files = files(&stage.runtime());
    assert!(files.len() >= 8);
    for file in files {
        let original = fs::read(&file).unwrap();
        let mut changed = original.clone();
        *changed.last_mut().unwrap() ^= 1;
        fs::write(&file, changed).unwrap();
        refused_unstarted(&stage, &mut host, "package_file_changed");
        fs::write(&file, original).unwrap();
    }
    delivered(&stage, &mut host);
}

#[test]
fn an_added_a_missing_or_another_kind_of_file_refuses_and_starts_nothing() {
    let Some(stage) = stage() else { return };
    let mut host = stage.serve();
    let at = |name: &str| stage.runtime().join(name);

    fs::write(at("src/added.js"), "").unwrap();
    refused_unstarted(&stage, &mut host, "package_file_added");
    fs::remove_file(at("src/added.js")).unwrap();

    symlink(stage.path("outside/secret"), at("zz-link")).unwrap();
    refused_unstarted(&stage, &mut host, "package_file_added");
    fs::remove_file(at("zz-link")).unwrap();

    fs::rename(at("package.json"), stage.path("outside/package.json")).unwrap();
    refused_unstarted(&stage, &mut host, "package_file_missing");
    symlink(stage.path("outside/package.json"), at("package.json")).unwrap();
    refused_unstarted(&stage, &mut host, "package_file_changed");
    fs::remove_file(at("package.json")).unwrap();
    fs::rename(stage.path("outside/package.json"), at("package.json")).unwrap();

    fs::set_permissions(at("src/cli.js"), fs::Permissions::from_mode(0o755)).unwrap();
    refused_unstarted(&stage, &mut host, "package_file_changed");
    fs::set_permissions(at("src/cli.js"), fs::Permissions::from_mode(0o644)).unwrap();

    rustix::fs::mknodat(rustix::fs::CWD, at("fifo"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    refused_unstarted(&stage, &mut host, "package_special_file");
    fs::remove_file(at("fifo")).unwrap();

    let moved = stage.path("moved");
    fs::rename(stage.runtime(), &moved).unwrap();
    refused_unstarted(&stage, &mut host, "package_unreadable");
    symlink(&moved, stage.runtime()).unwrap();
    refused_unstarted(&stage, &mut host, "package_unreadable");
    fs::remove_file(stage.runtime()).unwrap();
    fs::rename(&moved, stage.runtime()).unwrap();

    delivered(&stage, &mut host);
}

#[test]
fn another_interpreter_in_its_place_refuses_and_starts_nothing() {
    let stage = Stage::new();
    let interpreter = stage.scratch.file("bin/true", fs::read("/bin/true").unwrap(), 0o755);
    let pinned = stage.try_pin(interpreter.to_str().unwrap(), &stage.runtime(), "src/cli.js", &[]);
    assert_eq!(pinned.exit, Exit::Status(0), "{}", pinned.stderr_text());
    let mut host = Host::start(stage.command());
    let before = host.faults_of_children();
    host.load(&stage.path("ws")).assert_refused("runtime_output_invalid", "runtime_output_refused");
    assert!(host.faults_of_children() > before, "the pinned program was started");

    let mut changed = fs::read(&interpreter).unwrap();
    *changed.last_mut().unwrap() ^= 1;
    fs::remove_file(&interpreter).unwrap();
    stage.scratch.file("bin/true", changed, 0o755);
    refused_unstarted(&stage, &mut host, "interpreter_changed");
    fs::remove_file(&interpreter).unwrap();
    symlink("/bin/true", &interpreter).unwrap();
    refused_unstarted(&stage, &mut host, "interpreter_changed");
}

#[test]
fn a_server_does_not_start_over_pins_that_it_cannot_trust() {
    let stage = Stage::new();
    let interpreter = stage.scratch.file("bin/true", fs::read("/bin/true").unwrap(), 0o755);
    let pinned = stage.try_pin(interpreter.to_str().unwrap(), &stage.runtime(), "src/cli.js", &[]);
    assert_eq!(pinned.exit, Exit::Status(0), "{}", pinned.stderr_text());
    let refused = |reason: &str| {
        let ended = run(stage.command(), Some(b""));
        assert_eq!(ended.exit, Exit::Status(1), "{reason}");
        assert!(ended.stdout.is_empty(), "{reason}");
        let text = ended.stderr_text();
        assert!(
            text.contains("[runtime_binding_invalid]") && text.contains(&format!("({reason})")),
            "{reason}: {text}"
        );
        assert_eq!(text.lines().count(), 1, "{text}");
    };
    assert_eq!(run(stage.command(), Some(b"")).exit, Exit::Status(0), "the control starts");

    let inside = stage.scratch.directory("ws/private", 0o700).join("pins.json");
    fs::copy(stage.pins(), &inside).unwrap();
    let mut command = stage.command();
    command.env("KDNA_BROKER_RUNTIME_PINS", &inside);
    let ended = run(command, Some(b""));
    assert_eq!(ended.exit, Exit::Status(1));
    assert!(ended.stderr_text().contains("(pins_inside_workspace)"), "{}", ended.stderr_text());

    let mode = |mode| fs::set_permissions(stage.pins(), fs::Permissions::from_mode(mode)).unwrap();
    mode(0o644);
    refused("pins_not_private");
    mode(0o600);
    fs::write(stage.runtime().join("package.json"), "{}").unwrap();
    refused("package_file_changed");
    fs::write(stage.pins(), "{}").unwrap();
    refused("pins_version_unknown");
    fs::remove_file(stage.pins()).unwrap();
    refused("pins_not_private");
    for coordinate in ["", "pins.json", "/a/../pins.json"] {
        let mut command = stage.command();
        command.env("KDNA_BROKER_RUNTIME_PINS", coordinate);
        let ended = run(command, Some(b""));
        assert_eq!(ended.exit, Exit::Status(1));
        assert!(ended.stderr_text().contains("(pins_coordinate_invalid)"), "{}", ended.stderr_text());
    }
}

/// Waits until the server has a child with this word in its command line.
fn wait_for_child(host: &Host, word: &str) {
    let end = Instant::now() + Duration::from_secs(20);
    while !host.children().iter().any(|line| line.contains(word)) {
        assert!(Instant::now() < end, "no such child");
        sleep(Duration::from_millis(2));
    }
}

/// In `load`, before or after it has read the snapshot: says so in its title, and goes on when the test made a file.
fn waits(when: &str) -> String {
    format!(
        "module.exports = {{ {when}: async (name, document) => {{
            const fs = require('node:fs');
            if (name === 'load') process.title = 'waits for the test';
            while (name === 'load' && !fs.existsSync('go')) await new Promise((done) => setTimeout(done, 2));
            return document;
        }} }};"
    )
}

#[test]
fn a_snapshot_swapped_while_it_loads_delivers_nothing() {
    for (when, code, reason) in
        [("before", "runtime_rejected", "runtime_refused"), ("answer", "workspace_binding_changed", "snapshot_changed")]
    {
        let Some(stage) = stage() else { return };
        stage.behave(&waits(when));
        let mut host = stage.serve();
        host.begin(&stage.path("ws"));
        wait_for_child(&host, "waits for the test");
        stage.scratch.file("ws/swap", OTHER_ASSET, 0o644);
        fs::rename(stage.path("ws/swap"), stage.snapshot()).unwrap();
        stage.scratch.file("ws/go", "", 0o644);
        host.finish().assert_refused(code, reason);
        assert!(!stage.journal().contains("\"delivered\""));
    }
}

#[test]
fn a_runtime_changed_while_it_runs_delivers_nothing() {
    let Some(stage) = stage() else { return };
    stage.behave(&waits("answer"));
    let mut host = stage.serve();
    host.begin(&stage.path("ws"));
    wait_for_child(&host, "waits for the test");
    fs::write(stage.runtime().join("src/cli.js"), "process.exit(0)").unwrap();
    stage.scratch.file("ws/go", "", 0o644);
    host.finish().assert_refused("runtime_binding_invalid", "package_file_changed");
    assert!(!stage.journal().contains("\"delivered\""));
}

#[test]
fn a_capsule_of_other_bytes_is_not_delivered() {
    let Some(stage) = stage() else { return };
    stage.behave(
        "module.exports = { answer: (name, document) => {
            if (name === 'load') document.digests.asset.value = 'sha256:' + '0'.repeat(64);
            return document;
        } };",
    );
    let mut host = stage.serve();
    host.load(&stage.path("ws")).assert_refused("workspace_binding_changed", "capsule_foreign");
}
