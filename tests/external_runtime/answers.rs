//! A pinned runtime that behaves answers a full load.

use crate::stage::stage;

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
    let loaded = crate::stage::Host::start(command).load(&stage.path("ws"));
    loaded.assert_delivered();
    assert_eq!(
        loaded.text(&["runtime_capsule", "context", "seen"]),
        r#"{"env":{"LANG":"C.UTF-8","TZ":"UTC"},"argv":["--openssl-config=/dev/null"]}"#
    );
    assert!(!loaded.line.contains("canary-of-the-environment"));
}
