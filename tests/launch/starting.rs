//! What a host is started with, and how a launch ends.

use crate::stage::{HOST, PROCESSOR, PUBLIC, Stage, loading};
use crate::support::command::{Exit, Program};
use crate::support::real::{CANARY, delivered};
use std::collections::BTreeMap;
use std::fs;

/// The variables that a script wrote down with `env -0`.
fn variables(stage: &Stage, name: &str) -> BTreeMap<String, String> {
    let text = fs::read_to_string(stage.path(name)).unwrap();
    text.split_terminator('\0')
        .map(|row| row.split_once('=').map(|(k, v)| (k.to_owned(), v.to_owned())).unwrap())
        .collect()
}

#[test]
fn a_host_gets_exactly_the_variables_of_its_session_and_nothing_is_left_of_it() {
    let stage = Stage::allowed(PUBLIC);
    let mut command =
        stage.command(&[], "env -0 >seen; ls -lA \"$KDNA_BROKER_SESSION\" >there; umask >mask; pwd >here");
    command.env("KDNA_PASSWORD", "x").env("KDNA_MCP_HOST_ID", "forged").env("LD_AUDIT", "/none").env("MINE", "kept");
    let ended = crate::support::command::run(command, None);
    assert_eq!(ended.exit, Exit::Status(0), "{}", ended.stderr_text());
    assert!(ended.stderr_text().contains("nothing is asked"), "{}", ended.stderr_text());
    let mut seen = variables(&stage, "seen");
    let session = seen.remove("KDNA_BROKER_SESSION").unwrap();
    assert!(session.starts_with(stage.memory().to_str().unwrap()) && !fs::exists(&session).unwrap());
    let consent = stage.path("state/consents");
    let of_the_shell = ["_", "PWD", "OLDPWD", "SHLVL"];
    seen.retain(|name, _| !of_the_shell.contains(&name.as_str()));
    let text = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    let expected = BTreeMap::from(
        [
            ("PATH", "/usr/bin:/bin".to_owned()),
            ("HOME", text(stage.scratch.home())),
            ("LANG", "C.UTF-8".into()),
            ("LC_ALL", "C.UTF-8".into()),
            ("TZ", "UTC".into()),
            ("BROKER", Program::Broker.path().into()),
            ("MINE", "kept".into()),
            ("XDG_RUNTIME_DIR", text(stage.memory().to_owned())),
            ("KDNA_BROKER_STATE_DIR", text(stage.scratch.state())),
            ("KDNA_BROKER_REQUIRE_LEDGER", "1".into()),
            ("KDNA_MCP_WORKSPACE_ROOT", text(stage.path("ws"))),
            ("KDNA_MCP_HOST_ID", HOST.into()),
            ("KDNA_BROKER_CONSENT_DIR", text(consent)),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    assert_eq!(seen, expected);
    let there = fs::read_to_string(stage.path("there")).unwrap();
    assert!(there.contains("lock") && !there.contains("password"), "a public asset needs none: {there}");
    assert_eq!(fs::read_to_string(stage.path("mask")).unwrap().trim(), "0077");
    assert_eq!(fs::read_to_string(stage.path("here")).unwrap().trim(), stage.scratch.path().to_str().unwrap());
    assert!(stage.sessions().is_empty());
}

#[test]
fn a_person_is_asked_once_and_the_host_then_loads() {
    let stage = Stage::with(PUBLIC);
    let script = loading(&stage, "");
    let seen = stage.launch_typing(&[], &script, &[b"y\n"]);
    assert!(seen.was_asked() && seen.exit == Exit::Status(0), "{seen:?}");
    let answer = fs::read_to_string(stage.path("answer")).unwrap();
    assert!(delivered(&answer) && answer.contains(CANARY), "{answer}");
    assert!(answer.contains(PROCESSOR));
    assert!(stage.sessions().is_empty());
    // What was allowed holds: without a terminal nothing is asked any more.
    fs::remove_file(stage.path("in")).unwrap();
    let again = stage.launch(&[], &script);
    assert_eq!(again.exit, Exit::Status(0), "{}", again.stderr_text());
    assert!(delivered(&fs::read_to_string(stage.path("answer")).unwrap()));
}

/// The documents of the default consent set.
fn consents(stage: &Stage) -> Vec<std::path::PathBuf> {
    let Ok(set) = fs::read_dir(stage.path("state/consents")) else { return Vec::new() };
    let is_document = |path: &std::path::PathBuf| path.extension().is_some_and(|suffix| suffix == "json");
    set.map(|entry| entry.unwrap().path()).filter(is_document).collect()
}

#[test]
fn who_declines_or_cannot_be_asked_starts_no_host() {
    let stage = Stage::with(PUBLIC);
    let declined = stage.launch_typing(&[], "echo >started", &[b"n\n"]);
    assert_eq!(declined.exit, Exit::Status(10), "{}", declined.screen);
    let unasked = stage.launch(&[], "echo >started");
    assert_eq!(unasked.exit, Exit::Status(11), "{}", unasked.stderr_text());
    assert!(!stage.path("started").exists() && stage.sessions().is_empty());
    assert!(!stage.path("state/consents").exists());
}

#[test]
fn a_consent_for_another_destination_profile_or_host_is_asked_for_anew() {
    let stage = Stage::allowed(PUBLIC);
    for words in [["--processor", "Another Ltd"], ["--profile", "full"], ["--host", "other"]] {
        let mut all = vec!["launch", "--workspace", "ws"];
        for (name, value) in [("--host", HOST), ("--processor", PROCESSOR), ("--profile", "compact")] {
            all.extend([name, if words[0] == name { words[1] } else { value }]);
        }
        all.extend(["--", "sh", "-c", "echo >started"]);
        let mut command = stage.scratch.command(Program::Broker, &all);
        stage.arrange(&mut command);
        let ended = crate::support::command::run(command, None);
        assert_eq!(ended.exit, Exit::Status(11), "{words:?}: {}", ended.stderr_text());
        assert!(!stage.path("started").exists());
    }
}

#[test]
fn who_launches_is_told_where_what_was_replaced_could_not_be_remembered() {
    let stage = Stage::allowed(PUBLIC);
    let lock = stage.path("state/attachment-ledger.lock");
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    for again in [["--profile", "compact"], ["--processor", "Another Ltd"]] {
        let other = ["launch", "--host", HOST, "--workspace", "ws", "--processor", again[1], "--", "true"];
        let words = if again[0] == "--processor" { other.to_vec() } else { Stage::words(&[], "true") };
        let arrange = |command: &mut std::process::Command| stage.arrange(command);
        let seen = crate::person::answer(&stage.scratch, Program::Broker, &words, arrange, b"y\n");
        let replaces = seen.was_asked();
        assert_eq!(replaces, again[0] == "--processor", "{seen:?}");
        assert_eq!(seen.exit, Exit::Status(0), "the host is started: {seen:?}");
        let noted = seen.screen.contains("Note: It replaced what was in this file. That could not be recorded");
        assert_eq!(noted, replaces, "{}", seen.screen);
    }
}

#[test]
fn the_server_of_a_session_judges_hardened() {
    let stage = Stage::allowed(PUBLIC);
    // Nobody else may write to what a hardened server reads.
    let record = stage.path("ws/.kdna/attachments.json");
    std::os::unix::fs::PermissionsExt::set_mode(&mut fs::metadata(&record).unwrap().permissions(), 0o666);
    fs::set_permissions(&record, std::os::unix::fs::PermissionsExt::from_mode(0o666)).unwrap();
    let script = loading(&stage, "");
    let ended = stage.launch(&[], &script);
    assert_eq!(ended.exit, Exit::Status(0), "{}", ended.stderr_text());
    let answer = fs::read_to_string(stage.path("answer")).unwrap();
    assert!(answer.contains("record_not_own") && !delivered(&answer), "{answer}");
}

#[test]
fn the_launcher_ends_as_its_host_ends() {
    let stage = Stage::allowed(PUBLIC);
    for (script, exit) in [
        ("exit 0", Exit::Status(0)),
        ("exit 7", Exit::Status(7)),
        ("kill -TERM $$", Exit::Signal(15)),
        ("kill -KILL $$", Exit::Signal(9)),
        ("kill -SEGV $$", Exit::Signal(11)),
        ("kill -HUP $$", Exit::Signal(1)),
        ("kill -PIPE $$", Exit::Status(128 + 13)),
    ] {
        let ended = stage.launch(&[], script);
        assert_eq!(ended.exit, exit, "{script}: {}", ended.stderr_text());
        assert!(stage.sessions().is_empty(), "{script}");
    }
}

#[test]
fn a_command_that_cannot_be_started_is_told_apart_and_leaves_nothing() {
    let stage = Stage::allowed(PUBLIC);
    stage.scratch.file("plain", "#!/no/such/interpreter\n", 0o755);
    stage.scratch.file("closed", "#!/bin/sh\n", 0o644);
    stage.scratch.file("sh", "#!/bin/sh\necho >stolen\n", 0o755);
    for (program, exit) in [("no-such-program", 127), ("./none", 127), ("./plain", 127), ("./closed", 126)] {
        let words = ["launch", "--host", HOST, "--processor", PROCESSOR, "--workspace", "ws", "--", program];
        let mut command = stage.scratch.command(Program::Broker, words);
        stage.arrange(&mut command);
        let ended = crate::support::command::run(command, None);
        assert_eq!(ended.exit, Exit::Status(exit), "{program}: {}", ended.stderr_text());
        assert!(stage.sessions().is_empty(), "{program}");
    }
    // A relative entry of PATH does not let the directory choose the program.
    let mut command = stage.command(&[], "exit 3");
    command.env("PATH", ":.:/usr/bin:/bin");
    assert_eq!(crate::support::command::run(command, None).exit, Exit::Status(3));
    assert!(!stage.path("stolen").exists());
}

#[test]
fn a_program_that_launches_gets_a_refusal_as_json_and_a_hosts_own_words_are_left_alone() {
    let stage = Stage::allowed(PUBLIC);
    for (more, program, code, exit) in [
        (&["--json-errors", "--expires-in", "x"][..], "true", "host_consent_usage_invalid", 2),
        (&["--json-errors", "--no-such"], "true", "input_invalid", 2),
        (&["--attachment", "att_000000000000000000000000", "--json-errors"], "true", "host_consent", 2),
        (&["--json-errors"], "./none", "launch_failed", 127),
    ] {
        let own = ["launch", "--host", HOST, "--processor", PROCESSOR, "--workspace", "ws"];
        let words = [&own[..], more, &["--", program]].concat();
        let mut command = stage.scratch.command(Program::Broker, words);
        stage.arrange(&mut command);
        let ended = crate::support::command::run(command, None);
        assert_eq!(ended.exit, Exit::Status(exit), "{more:?}: {}", ended.stderr_text());
        let said = ended.stderr_text();
        assert!(said.starts_with("{\"code\":\"") && said.lines().count() == 1, "{more:?}: {said}");
        assert!(said.contains(&format!("\"code\":\"{code}")), "{more:?}: {said}");
    }
    let script = "test \"$1\" = --json-errors -a \"$2\" = --help";
    let own = Stage::words(&[], script);
    let words = [&own[..], &["sh", "--json-errors", "--help"]].concat();
    let mut command = stage.scratch.command(Program::Broker, words);
    stage.arrange(&mut command);
    let ended = crate::support::command::run(command, None);
    assert_eq!(ended.exit, Exit::Status(0), "{}", ended.stderr_text());
}

#[test]
fn a_session_within_a_session_is_refused() {
    let stage = Stage::allowed(PUBLIC);
    // Without the variable the processes above tell; without those the variable does.
    for begins in ["", "env -u KDNA_BROKER_SESSION "] {
        let inner = format!(
            "{begins}\"$BROKER\" launch --host {HOST} --processor '{PROCESSOR}' --workspace ws -- sh -c 'echo >started' 2>said; echo $? >exit"
        );
        assert_eq!(stage.launch(&[], &inner).exit, Exit::Status(0));
        assert_eq!(fs::read_to_string(stage.path("exit")).unwrap().trim(), "2", "{begins}");
        assert!(fs::read_to_string(stage.path("said")).unwrap().contains("launch_failed"), "{begins}");
        assert!(!stage.path("started").exists(), "{begins}");
    }
}

#[test]
fn in_a_hosts_session_nobody_is_asked_for_more_and_nothing_is_adopted() {
    let stage = Stage::allowed(PUBLIC);
    let before = fs::read(stage.scratch.state().join("attachment-ledger.json")).unwrap();
    let script = "unset KDNA_BROKER_CONSENT_DIR; \
                  \"$BROKER\" consent request --host other-host --processor Elsewhere --cwd ws >/dev/null 2>asked; \
                  echo $? >code; rm \"$KDNA_BROKER_STATE_DIR/attachment-ledger.json\"; \
                  \"$BROKER\" adopt --cwd ws >/dev/null 2>adopting";
    let mut person = stage.sit_down(&[], script);
    assert!(!person.is_asked(), "nobody is asked");
    let seen = person.finish();
    let said = fs::read_to_string(stage.path("asked")).unwrap();
    assert!(said.starts_with("Error: [host_consent_confirmation_unavailable] "), "{said} {}", seen.screen);
    assert!(said.contains("no agent host controls"), "{said}");
    assert_eq!(fs::read_to_string(stage.path("code")).unwrap(), "2\n");
    assert!(fs::read_to_string(stage.path("adopting")).unwrap().contains("no agent host controls"));
    assert_eq!(consents(&stage).len(), 1, "only what was there");
    assert!(!before.is_empty() && !stage.scratch.state().join("attachment-ledger.json").exists());
    let rows = fs::read_to_string(stage.scratch.state().join("journal/journal-000001.jsonl")).unwrap();
    let refused: Vec<&str> = rows.lines().filter(|row| row.contains("\"reason\":\"consent_asked_by_host\"")).collect();
    assert_eq!(refused.len(), 2, "{rows}");
    assert!(refused.iter().all(|row| row.contains("\"kdna-broker\"") || row.contains("\"exe\"")), "{refused:?}");
}

#[test]
fn each_attachment_that_is_enabled_is_settled_and_no_decline_starts_a_host() {
    let stage = Stage::allowed(PUBLIC);
    let other = stage.scratch.file("other.kdna", crate::support::real::OTHER_ASSET, 0o600);
    stage.attach(&other, "ws");
    let declined = stage.launch_typing(&[], "echo >started", &[b"n\n"]);
    assert_eq!(declined.exit, Exit::Status(10), "{}", declined.screen);
    assert_eq!(declined.screen.matches("[y/N] ").count(), 1, "what holds is not asked again: {}", declined.screen);
    assert!(!stage.path("started").exists());
    let allowed = stage.launch_typing(&[], "exit 3", &[b"y\n"]);
    assert_eq!(allowed.exit, Exit::Status(3), "{}", allowed.screen);
    assert_eq!(stage.launch(&[], "exit 4").exit, Exit::Status(4), "both hold now");
}

#[test]
fn what_nobody_attached_on_this_machine_is_not_asked_for_and_not_served() {
    let stage = Stage::allowed(PUBLIC);
    // The record and its consent are there, the ledger is that of a machine where nobody approved it.
    for ledger in fs::read_dir(stage.scratch.state()).unwrap().flatten().map(|entry| entry.path()) {
        if ledger.to_string_lossy().contains("ledger") {
            fs::remove_file(ledger).unwrap();
        }
    }
    let refused = stage.launch_typing(&[], "echo >started", &[b"y\n"]);
    assert!(!refused.was_asked() && refused.exit == Exit::Status(2), "{refused:?}");
    assert!(refused.screen.contains("attachment_not_approved_here"), "{}", refused.screen);
    assert!(!stage.path("started").exists() && stage.sessions().is_empty());
}
