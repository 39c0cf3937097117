//! A pinned runtime that behaves answers a full load.

use crate::stage::{Host, stage};
use crate::support::command::{Exit, Program, run};

#[test]
fn a_full_load_is_answered_and_says_which_runtime_it_was() {
    let Some(stage) = stage() else { return };
    let mut host = stage.serve();
    for cwd in ["ws", "ws/below"] {
        let loaded = host.load(&stage.path(cwd));
        loaded.assert_delivered();
        assert_eq!(loaded.text(&["adapter", "cli"]), "\"kdna@0.0.1\"");
        assert_eq!(loaded.text(&["adapter", "core"]), "\"kdna-core@0.21.0\"");
        let source = loaded.text(&["load_plan", "source", "path"]);
        assert!(source.starts_with("\".kdna/assets/sha256-"), "{source}");
        assert!(!loaded.line.contains(stage.scratch.path().to_str().unwrap()), "an absolute path reached the model");
        let level = loaded.at(&["result", "_meta", "kdna-broker/enforcement"]).unwrap();
        assert_eq!(level.get("pin").unwrap().as_str(), Some("external"));
        assert_eq!(level.get("sealed").unwrap().as_bool(), Some(false));
        assert_eq!(level.get("seccomp").unwrap().as_bool(), Some(true));
    }
    assert!(stage.journal().contains(r#""sealed":false,"pin":"external"}"#), "{}", stage.journal());
    assert!(host.children().is_empty());
}

#[test]
fn nothing_of_the_brokers_environment_reaches_it() {
    let Some(stage) = stage() else { return };
    stage.scratch.file("outside/evil.js", "process.exit(9)", 0o644);
    stage.behave(
        "module.exports = { answer: (name, document) => {
            if (name === 'load') document.context.seen = { env: process.env, argv: process.execArgv };
            return document;
        } };",
    );
    stage.pin();
    let mut command = stage.command();
    command
        .env("NODE_OPTIONS", format!("--require {}", stage.path("outside/evil.js").display()))
        .env("NODE_PATH", stage.path("outside"))
        .env("LD_PRELOAD", "/nonexistent.so")
        .env("SECRET", "canary-of-the-environment");
    let loaded = Host::start(command).load(&stage.path("ws"));
    loaded.assert_delivered();
    assert_eq!(
        loaded.text(&["runtime_capsule", "context", "seen"]),
        r#"{"env":{"LANG":"C.UTF-8","TZ":"UTC"},"argv":["--openssl-config=/dev/null"]}"#
    );
    assert!(!loaded.line.contains("canary-of-the-environment"));
}

#[test]
fn the_question_to_a_person_is_prepared_by_it_too() {
    let Some(stage) = stage() else { return };
    stage.behave("module.exports = { before: (name) => { if (name === 'plan-load') process.exit(7); } };");
    stage.pin();
    let words = ["consent", "request", "--host", "golden-host", "--processor", "Example Inference Ltd", "--cwd", "ws"];
    let mut command = stage.scratch.command(Program::Broker, words);
    command.env("KDNA_BROKER_RUNTIME_PINS", stage.pins());
    let done = run(command, None);
    assert_eq!(done.exit, Exit::Status(2), "{}", done.stderr_text());
    assert!(done.stderr_text().contains("[asset_invalid]"), "{}", done.stderr_text());
}

#[test]
fn task_and_password_arrive_on_its_input_alone_and_end_there() {
    let Some(stage) = stage() else { return };
    // Plays a protected asset; says what it was given.
    stage.behave(
        "const fs = require('node:fs');
        module.exports = { answer: (name, document) => {
            if (name === 'resolve') {
                if (!process.argv.includes('--defer-password-authorization')) process.exit(8);
                document.authorization = 'required';
                document.selected.authorization = document.candidates[0].authorization = 'required';
            } else if (name === 'plan-load') {
                Object.assign(document, { state: 'needs_password', required_action: 'enter_password', can_load_now: false });
                document.issues = [{ code: 'KDNA_AUTH_PASSWORD_REQUIRED', severity: 'blocking', message: 'a password' }];
            } else {
                const password = fs.readFileSync(0, 'utf8');
                document.context.seen = { length: password.length, ends: password.endsWith('!'), argv: process.argv.slice(2) };
            }
            return document;
        } };",
    );
    stage.pin();
    stage.scratch.file("private/password", "canary of the password!\n", 0o600);
    let mut command = stage.command();
    command.env("KDNA_MCP_AUTHORIZATION_FILE", stage.path("private/password"));
    let loaded = Host::start(command).load(&stage.path("ws"));
    loaded.assert_delivered();
    let seen = loaded.text(&["runtime_capsule", "context", "seen"]);
    assert!(seen.starts_with(r#"{"length":23,"ends":true,"argv":["load","./.kdna/assets/sha256-"#), "{seen}");
    assert!(seen.ends_with(r#"","--profile=compact","--as=json","--password-stdin"]}"#), "{seen}");
    assert!(!loaded.line.contains("canary of the password") && !stage.journal().contains("canary"));
}
