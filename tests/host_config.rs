//! What `host-config` prints for each host, and what the doctor makes of host files: well written, careless, and hostile.
#![cfg(feature = "runtime")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be arranged must stop, and says why"
)]

#[path = "host_config/hostile.rs"]
mod hostile;
#[path = "support/session.rs"]
mod session;
mod support;

use kdna_broker::foundation::value::Value;
use kdna_broker::hosts::known::{HOSTS, Holds, Scope};
use kdna_broker::hosts::{PORTABLE_TOOLS, TOOLS};
use std::fs;
use std::path::{Path, PathBuf};
use support::command::{Exit, Finished, Program, run};
use support::documents::parse;
use support::package;
use support::real::Place;
use support::tree::tree;

fn host_config(place: &Place, words: &[&str]) -> Finished {
    let mut command = place.command(&[&["host-config"], words].concat());
    command.current_dir(place.path("ws"));
    run(command, None)
}

/// What is printed, with what differs from machine to machine named.
fn printed(place: &Place, id: &str) -> String {
    let ended = host_config(place, &[id]);
    assert_eq!(ended.exit, Exit::Status(0), "{}", ended.stderr_text());
    let scratch = place.scratch.path().to_str().unwrap();
    ended.stdout_text().replace(Program::Broker.path(), "PROGRAM").replace(scratch, "PLACE")
}

/// `UPDATE_POLICY=1 cargo test --test host_config` writes them anew; read the difference before committing it.
#[test]
fn each_host_gets_the_entry_that_was_looked_at() {
    let place = Place::new();
    for host in &HOSTS {
        let path = package().join(format!("tests/host_config/{}.txt", host.id));
        let text = printed(&place, host.id);
        if std::env::var_os("UPDATE_POLICY").is_some_and(|value| value == "1") {
            fs::write(&path, &text).unwrap();
        }
        assert_eq!(text, fs::read_to_string(&path).unwrap(), "{}", host.id);
    }
}

#[test]
fn a_refusal_is_one_json_object_where_a_program_asks_for_it() {
    let place = Place::new();
    for words in [&["no-such-host", "--json-errors"][..], &["codex", "--server", "review", "--json-errors"]] {
        let ended = host_config(&place, words);
        assert_eq!((ended.exit, ended.stdout.len()), (Exit::Status(2), 0), "{words:?}");
        let document = parse(&ended.stderr).unwrap_or_else(|| panic!("{}", ended.stderr_text()));
        assert_eq!(document.get("code").and_then(Value::as_str), Some("input_invalid"), "{words:?}");
    }
}

#[test]
fn the_help_names_every_host_that_there_is_an_entry_for() {
    let place = Place::new();
    let known: Vec<&str> = HOSTS.iter().map(|host| host.id).collect();
    let page = host_config(&place, &["--help"]);
    assert_eq!((page.exit, page.stderr_text().as_str()), (Exit::Status(0), ""));
    assert!(page.stdout_text().contains(&known.join("|")), "{}", page.stdout_text());
}

/// The texts of an entry that a host would be given: behind the first line that is empty, each block.
fn blocks(text: &str) -> Vec<String> {
    let parts: Vec<&str> = text.split("\n\n").collect();
    let is_block = |part: &&&str| part.starts_with('{') || part.starts_with('[');
    parts.iter().filter(is_block).map(|part| (**part).to_owned()).collect()
}

#[test]
fn an_entry_lists_exactly_the_tools_by_absolute_paths_and_lets_nothing_else_in() {
    let place = Place::new();
    for host in &HOSTS {
        let text = printed(&place, host.id).replace("PROGRAM", Program::Broker.path());
        assert!(!text.contains("password") && !text.contains("PASSWORD"), "{text}");
        for block in blocks(&text) {
            let wildcards: Vec<_> = block.lines().filter(|line| line.contains('*')).collect();
            assert!(wildcards.iter().all(|line| line.contains("\"deny\"")), "{wildcards:?}");
        }
        let named = |tool: &str| text.contains(tool) || text.contains(&tool.replace('.', "_"));
        let tools = if text.contains("portable") { PORTABLE_TOOLS } else { TOOLS };
        assert!(tools.iter().all(|tool| named(tool)), "{text}");
    }
}

/// Puts what is printed where it says, and gives the file's path.
fn install(place: &Place, id: &str, scope: Scope) -> PathBuf {
    let host = HOSTS.iter().find(|host| host.id == id).unwrap();
    let text = printed(place, id).replace("PROGRAM", Program::Broker.path());
    let text = text.replace("PLACE", place.scratch.path().to_str().unwrap());
    let mut blocks = blocks(&text).into_iter();
    let base = if scope == Scope::User { "home" } else { "ws" };
    let file = |holds| host.files.iter().find(|file| file.scope == scope && file.holds == holds).unwrap().path;
    let path = write(place, &format!("{base}/{}", file(Holds::Servers)), &entry_of(id, &mut blocks));
    if let Some(permissions) = blocks.next() {
        write(place, &format!("{base}/{}", file(Holds::Permissions)), &permissions);
    }
    path
}

/// An entry in TOML is two tables, with an empty line between them.
fn entry_of(id: &str, blocks: &mut impl Iterator<Item = String>) -> String {
    let first = blocks.next().unwrap();
    if id == "codex" { format!("{first}\n\n{}\n", blocks.next().unwrap()) } else { first }
}

fn write(place: &Place, name: &str, text: &str) -> PathBuf {
    fs::create_dir_all(place.path(Path::new(name).parent().unwrap())).unwrap();
    place.scratch.file(name, text, 0o600)
}

/// What the doctor says of host files: state and text.
fn remarks(place: &Place) -> Vec<(String, String)> {
    let mut command = place.command(&["doctor", "--json"]);
    command.current_dir(place.path("ws"));
    let ended = run(command, None);
    let document = parse(&ended.stdout).unwrap_or_else(|| panic!("{}{}", ended.stdout_text(), ended.stderr_text()));
    let text = |finding: &Value, key: &str| finding.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let findings = document.get("findings").and_then(Value::as_array).unwrap();
    let of_hosts = findings.iter().filter(|finding| text(finding, "topic") == "host file");
    of_hosts.map(|finding| (text(finding, "state"), text(finding, "says"))).collect()
}

#[test]
fn the_doctor_finds_nothing_wrong_with_what_host_config_prints_and_tries_it() {
    for host in &HOSTS {
        for scope in [Scope::Project, Scope::User] {
            let place = Place::new();
            install(&place, host.id, scope);
            let before = tree(place.scratch.path());
            let said = remarks(&place);
            let [(state, says)] = said.as_slice() else { panic!("{}: {said:?}", host.id) };
            assert_eq!(state, "good", "{}: {says}", host.id);
            assert!(says.contains("offers exactly the three tools"), "{says}");
            assert_eq!(tree(place.scratch.path()), before, "it changes nothing");
        }
    }
}

#[test]
fn no_host_file_is_no_finding() {
    assert_eq!(remarks(&Place::new()), []);
}

/// Changes the entry that is printed; what is said of it then.
fn said_of(id: &str, change: impl Fn(&str) -> String) -> Vec<(String, String)> {
    let place = Place::new();
    let path = install(&place, id, Scope::Project);
    let text = fs::read_to_string(&path).unwrap();
    let changed = change(&text);
    assert_ne!(text, changed, "{id}: the change changes nothing");
    fs::write(&path, changed).unwrap();
    remarks(&place)
}

#[track_caller]
fn holds(said: &[(String, String)], state: &str, text: &str) {
    assert!(said.iter().any(|(kind, says)| kind == state && says.contains(text)), "{state} {text}: {said:?}");
}

#[test]
fn careless_entries_are_named_each_for_its_own_fault() {
    let program = Program::Broker.path();
    let without_line = |text: &str, start: &str| {
        text.split_inclusive('\n').filter(|line| !line.trim_start().starts_with(start)).collect::<String>()
    };
    holds(&said_of("codex", |text| without_line(text, "enabled_tools")), "note", "has no enabled_tools");
    holds(&said_of("codex", |text| text.replace("kdna.workspace-load", "kdna.*")), "note", "wildcard in enabled_tools");
    holds(&said_of("codex", |text| text.replace("kdna.workspace-load", "other")), "note", "does not offer");
    holds(&said_of("codex", |text| text.replace(program, "kdna-broker")), "note", "no absolute path");
    holds(&said_of("codex", |text| text.replace(program, "./kdna-broker")), "note", "no absolute path");
    holds(
        &said_of("codex", |text| format!("{text}KDNA_PASSWORD = \"x\"\n")),
        "note",
        "variable that looks like a secret",
    );
    holds(
        &said_of("codex", |text| text.replace("[\"mcp\"]", "[\"mcp\", \"--password=x\"]")),
        "note",
        "argument that looks like a secret",
    );
    holds(
        &said_of("codex", |text| text.replace("KDNA_MCP_WORKSPACE_ROOT = \"/", "KDNA_MCP_WORKSPACE_ROOT = \"")),
        "missing",
        "no absolute, normal path",
    );
    holds(&said_of("codex", |text| text.replace("/ws\"", "/none\"")), "missing", "does not answer");
    holds(
        &said_of("codex", |text| text.replace("[\"mcp\"]", "[\"consent\", \"revoke\"]")),
        "missing",
        "do not start the server",
    );
    holds(&said_of("codex", |text| text.replace(program, "/usr/bin/env")), "note", "another program");
    let gemini = |from: &str, to: &str| said_of("gemini-cli", |text| text.replace(from, to));
    holds(&gemini("\"includeTools\"", "\"other\""), "note", "has no includeTools");
    holds(&gemini("\"includeTools\"", "\"trust\": true, \"includeTools\""), "note", "without a question");
    holds(&gemini("\"kdna_workspace_load\"", "\"*\""), "note", "wildcard in includeTools");
    let opencode = |from: &str, to: &str| said_of("opencode", |text| text.replace(from, to));
    holds(&opencode("\"kdna_*\": \"deny\"", "\"kdna_*\": \"allow\""), "note", "1 of the rules");
    holds(&opencode("\"kdna_*\": \"deny\"", "\"*\": \"allow\""), "note", "1 of the rules");
}

#[test]
fn a_rule_that_lets_all_tools_of_the_server_run_is_named_wherever_it_stands() {
    for rule in ["mcp__kdna", "mcp__kdna__*", "mcp__*", "*"] {
        for file in ["ws/.claude/settings.json", "home/.claude/settings.json"] {
            let place = Place::new();
            install(&place, "claude-code", Scope::Project);
            write(&place, file, &format!("{{\"permissions\": {{\"allow\": [\"{rule}\"]}}}}"));
            holds(&remarks(&place), "note", "1 of the rules");
        }
    }
    let place = Place::new();
    install(&place, "claude-code", Scope::Project);
    write(
        &place,
        "ws/.claude/settings.json",
        r#"{"permissions": {"allow": ["mcp__other__*", "Bash(*)", "mcp__other"]}}"#,
    );
    assert_eq!(remarks(&place).len(), 1, "rules for other servers are none of our business: {:?}", remarks(&place));
}

#[test]
fn a_project_in_the_file_of_its_user_is_looked_at_too() {
    let place = Place::new();
    let root = place.path("ws");
    let entry = r#"{"type":"stdio","command":"kdna-broker","args":["mcp"],"env":{}}"#;
    let text = format!(
        r#"{{"projects":{{"{}":{{"mcpServers":{{"kdna":{entry}}}}},"/other":{{"mcpServers":{{"kdna":{entry}}}}}}}}}"#,
        root.display()
    );
    write(&place, "home/.claude.json", &text);
    let said = remarks(&place);
    assert_eq!(said.len(), 1, "{said:?}");
    holds(&said, "note", "no absolute path");
}

#[test]
fn comments_and_trailing_commas_are_understood_and_what_is_not_is_said_to_be_so() {
    let place = Place::new();
    let path = install(&place, "opencode", Scope::Project);
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("// mine\n{} /* end */", text.replace("\n    }", ",\n    }"))).unwrap();
    let said = remarks(&place);
    assert_eq!((said.len(), said[0].0.as_str()), (1, "good"), "{said:?}");
    for broken in
        ["{", "{\"mcp\": {}, \"mcp\": {}}", "\u{0}", "{\"mcp\": {\"kdna\": }}", &"[".repeat(10_000), "mcp = 1"]
    {
        fs::write(&path, broken).unwrap();
        let said = remarks(&place);
        assert_eq!(said.len(), 1, "{said:?}");
        holds(&said, "note", "cannot be understood, and was not looked into");
    }
    let place = Place::new();
    let path = write(&place, "ws/.codex/config.toml", "");
    for broken in ["[a", "a = 1\na = 2", "a = \u{1}", &"a = ".repeat(5), &format!("a = {}", "[".repeat(10_000))] {
        fs::write(&path, broken).unwrap();
        holds(&remarks(&place), "note", "cannot be understood, and was not looked into");
    }
}

#[test]
fn a_hostile_file_blocks_nothing_is_not_followed_and_steers_no_terminal() {
    let place = Place::new();
    let path = write(&place, "ws/opencode.json", "{}");
    fs::remove_file(&path).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, &path, rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600), 0)
        .unwrap();
    holds(&remarks(&place), "note", "is no regular file");
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
    holds(&remarks(&place), "note", "symbolic link");
    fs::remove_file(&path).unwrap();
    fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    holds(&remarks(&place), "note", "is too large");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    holds(&remarks(&place), "note", "is no regular file");
    fs::remove_dir(&path).unwrap();
    let hostile = "\\u001b[2J\\u202e\\r\\n";
    let entry = format!(
        r#"{{"mcp":{{"{hostile}":{{"command":["{hostile}/kdna-broker"],"environment":{{"{hostile}TOKEN":"{hostile}"}}}}}}}}"#
    );
    fs::write(&path, entry).unwrap();
    let mut command = place.command(&["doctor"]);
    command.current_dir(place.path("ws"));
    let ended = run(command, None);
    let text = ended.stdout_text();
    assert!(text.contains("\\u{1b}[2J\\u{202e}\\u{d}\\u{a}") && text.contains("looks like a secret"), "{text}");
    assert!(
        text.chars().all(|character| character == '\n' || !character.is_control() && character != '\u{202e}'),
        "{text}"
    );
}

#[test]
fn no_program_but_this_one_is_started_and_this_one_only_as_a_server() {
    let place = Place::new();
    let evil =
        place.scratch.file("kdna-broker", format!("#!/bin/sh\necho >'{}'\n", place.path("started").display()), 0o755);
    write(&place, "ws/opencode.json", &format!(r#"{{"mcp":{{"kdna":{{"command":["{}","mcp"]}}}}}}"#, evil.display()));
    holds(&remarks(&place), "note", "another program");
    assert!(!place.path("started").exists());
    let program = Program::Broker.path();
    let consent = place.path("private/consent.json");
    for words in [r#""consent","revoke""#, r#""demo""#, r#""--on-terminal","mcp""#, r#""mcp","x""#, ""] {
        let entry = format!(
            r#"{{"mcp":{{"kdna":{{"command":["{program}"{}{words}],"environment":{{"KDNA_MCP_HOST_PROCESSING_CONSENT_FILE":"{}"}}}}}}}}"#,
            if words.is_empty() { "" } else { "," },
            consent.display()
        );
        write(&place, "ws/opencode.json", &entry);
        holds(&remarks(&place), "missing", "do not start the server");
        assert!(consent.exists());
    }
}

#[test]
fn a_result_that_a_host_is_known_to_cut_is_pointed_out() {
    let place = Place::new();
    install(&place, "codex", Scope::Project);
    assert!(remarks(&place).iter().all(|(state, _)| state == "good"), "a small one is not cut");
    let large = session::asset("long", 8 << 10);
    let file = place.scratch.file("large.kdna", large, 0o600);
    let words = ["attach", file.to_str().unwrap(), "--cwd", "ws", "--role", "x", "--applies-to", "y"];
    let approve = ["--yes", "--scope-user-approved"];
    let attached = run(place.scratch.command(Program::Owner, words.into_iter().chain(approve)), None);
    assert_eq!(attached.exit, Exit::Status(0), "{}", attached.stderr_text());
    let said = remarks(&place);
    holds(&said, "note", "is known to keep only 8000 whole");
    // The host whose limit is larger keeps it.
    install(&place, "claude-code", Scope::Project);
    assert!(remarks(&place).iter().all(|(_, says)| !says.contains("48000")), "{said:?}");
    let path = place.path("ws/.codex/config.toml");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, format!("tool_output_token_limit = 100000\n{text}")).unwrap();
    assert!(remarks(&place).iter().all(|(state, _)| state == "good"), "the person raised it");
}

#[test]
fn the_name_of_a_directory_writes_no_line_of_its_own_into_what_is_printed() {
    let place = Place::new();
    let directory = place.path("o\n  forged (this project)\u{7f}\u{1b}");
    fs::create_dir(&directory).unwrap();
    for host in &HOSTS {
        let ended = host_config(&place, &[host.id, "--workspace", directory.to_str().unwrap()]);
        assert_eq!(ended.exit, Exit::Status(0), "{}", ended.stderr_text());
        let text = ended.stdout_text();
        assert!(text.contains("o\\u{a}  forged (this project)\\u{7f}\\u{1b}/"), "{text}");
        assert!(text.lines().all(|line| !line.starts_with("  forged")), "{text}");
        assert!(text.chars().all(|character| character == '\n' || !character.is_control()), "{text}");
    }
}

#[test]
fn what_cannot_be_served_gets_no_entry() {
    let place = Place::new();
    for (words, code) in [
        (&["codex", "--workspace", "../home"][..], "host_root_invalid"),
        (&["codex", "--workspace", "none"], "Error"),
        (&["codex", "--host", "Not An Id"], "Error"),
        (&["codex", "--server", "review"], "no review server"),
        (&["emacs"], "Usage"),
        (&[], "Usage"),
    ] {
        let ended = host_config(&place, words);
        assert_eq!(ended.exit, Exit::Status(2), "{words:?}: {}", ended.stdout_text());
        assert!(ended.stderr_text().contains(code) && ended.stdout.is_empty(), "{words:?}: {}", ended.stderr_text());
    }
}
