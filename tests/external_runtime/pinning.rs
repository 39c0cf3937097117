//! `kdna-broker runtime pin` records what is there, or says why it cannot be pinned; then nothing is written.

use crate::stage::Stage;
use crate::support::command::{Exit, Finished, Program, run};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

const PROGRAM: &str = "/bin/true";

fn refused(stage: &Stage, done: &Finished, reason_remedy: &str) {
    assert_eq!(done.exit, Exit::Status(2), "{}", done.stderr_text());
    let text = done.stderr_text();
    assert!(text.contains("[runtime_binding_invalid]") && text.contains(reason_remedy), "{reason_remedy}: {text}");
    assert!(done.stdout.is_empty() && !stage.pins().exists(), "{reason_remedy}: something was written");
}

#[test]
fn pins_are_written_privately_and_say_what_is_there() {
    let stage = Stage::new();
    symlink("src/cli.js", stage.runtime().join("kdna")).unwrap();
    let done = stage.try_pin(PROGRAM, &stage.runtime(), "src/cli.js", &[]);
    assert_eq!(done.exit, Exit::Status(0), "{}", done.stderr_text());
    assert!(done.stdout_text().contains(&format!("KDNA_BROKER_RUNTIME_PINS={}\n", stage.pins().display())));
    assert_eq!(fs::metadata(stage.pins()).unwrap().permissions().mode() & 0o7777, 0o600);
    let text = fs::read_to_string(stage.pins()).unwrap();
    for said in [
        "\"document_type\": \"kdna.broker.runtime-pins\"",
        "\"cli\": \"kdna@0.0.1\"",
        "\"core\": \"kdna-core@0.21.0\"",
        "\"owner\": \"root\"",
        "libc.so.6\"",
        "\"path\": \"kdna\",\n        \"target\": \"src/cli.js\"",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    let names: Vec<_> = fs::read_dir(stage.path("private")).unwrap().map(|name| name.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "no temporary remains: {names:?}");
    let again = stage.try_pin(PROGRAM, &stage.runtime(), "src/cli.js", &["--cli-version=9.9.9", "--core-version", "8"]);
    assert_eq!(again.exit, Exit::Status(0));
    let text = fs::read_to_string(stage.pins()).unwrap();
    assert!(text.contains("\"kdna@9.9.9\"") && text.contains("\"kdna-core@8\""), "{text}");
}

#[test]
fn child_script_shebang() {
    let stage = Stage::new();
    let script = stage.scratch.file("bin/script", "#!/usr/bin/env node\n", 0o755);
    let done = stage.try_pin(script.to_str().unwrap(), &stage.runtime(), "src/cli.js", &[]);
    refused(&stage, &done, "A script names its interpreter by path");
}

#[test]
fn what_is_no_program_is_not_pinned() {
    let stage = Stage::new();
    let text = stage.scratch.file("bin/text", "text", 0o755);
    let unmarked = stage.scratch.file("bin/unmarked", fs::read(PROGRAM).unwrap(), 0o644);
    let pin = |program: &str| stage.try_pin(program, &stage.runtime(), "src/cli.js", &[]);
    for program in [text.to_str().unwrap(), unmarked.to_str().unwrap(), "/dev/null", "/etc", "/nonexistent/node"] {
        refused(&stage, &pin(program), "must be an executable ELF program");
    }
}

#[test]
fn a_package_that_cannot_be_bound_is_not_pinned() {
    let pin = |stage: &Stage, entry: &str| stage.try_pin(PROGRAM, &stage.runtime(), entry, &[]);
    let link = |target: &str, name: &str| {
        let stage = Stage::new();
        symlink(target, stage.runtime().join(name)).unwrap();
        let done = pin(&stage, "src/cli.js");
        refused(&stage, &done, "leads out of it");
    };
    link("/etc/passwd", "link");
    link("../outside/secret", "link");
    link("../..", "src/up");

    let stage = Stage::new();
    let done = |entry: &str| pin(&stage, entry);
    for entry in ["missing.js", "src", "../outside/secret", "/etc/passwd", "./src/cli.js"] {
        refused(&stage, &done(entry), "--entry must name a regular file");
    }
    let file = stage.runtime().join("src/cli.js");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    refused(&stage, &done("src/cli.js"), "chmod -R o-w");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    fs::remove_file(stage.runtime().join("package.json")).unwrap();
    refused(&stage, &done("src/cli.js"), "--cli-version");
    let fifo = stage.runtime().join("fifo");
    rustix::fs::mknodat(rustix::fs::CWD, fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    refused(&stage, &done("src/cli.js"), "device, socket or FIFO");
}

#[test]
fn pins_are_not_written_where_others_reach_them_or_into_the_package() {
    let stage = Stage::new();
    fs::set_permissions(stage.path("private"), fs::Permissions::from_mode(0o755)).unwrap();
    refused(
        &stage,
        &stage.try_pin(PROGRAM, &stage.runtime(), "src/cli.js", &[]),
        "--out must be a new file or an earlier pin",
    );
    let stage = Stage::new();
    fs::copy(stage.runtime().join("package.json"), stage.path("private/package.json")).unwrap();
    let done = stage.try_pin(PROGRAM, &stage.path("private"), "package.json", &["--core-version=1"]);
    refused(&stage, &done, "--out must be a new file or an earlier pin");
}

#[test]
fn a_pin_replaces_no_other_file() {
    let stage = Stage::new();
    for other in [b"a diary".as_slice(), b"{}", b""] {
        fs::write(stage.pins(), other).unwrap();
        fs::set_permissions(stage.pins(), fs::Permissions::from_mode(0o600)).unwrap();
        let done = stage.try_pin(PROGRAM, &stage.runtime(), "src/cli.js", &[]);
        assert_eq!((done.exit, done.stdout.len()), (Exit::Status(2), 0), "{}", done.stderr_text());
        assert!(done.stderr_text().contains("--out must be a new file or an earlier pin"), "{}", done.stderr_text());
        assert_eq!(fs::read(stage.pins()).unwrap(), other);
    }
}

#[test]
fn the_doctor_looks_at_the_pinned_runtime() {
    let stage = Stage::new();
    let pinned = stage.try_pin(PROGRAM, &stage.runtime(), "src/cli.js", &[]);
    assert_eq!(pinned.exit, Exit::Status(0), "{}", pinned.stderr_text());
    let doctor = |pins: Option<&std::path::Path>| {
        let mut command = stage.scratch.command(Program::Broker, ["doctor"]);
        if let Some(pins) = pins {
            command.env("KDNA_BROKER_RUNTIME_PINS", pins);
        }
        run(command, None).stdout_text()
    };
    assert!(!doctor(None).contains("external runtime"));
    let good = doctor(Some(&stage.pins()));
    assert!(good.contains("external runtime") && !good.contains("(runtime_"), "{good}");
    fs::write(stage.runtime().join("src/cli.js"), "changed").unwrap();
    let changed = doctor(Some(&stage.pins()));
    assert!(changed.contains("external runtime") && changed != good, "{changed}");
}
