//! Host files of somebody who means harm: code to run in the server that is tried, work without end, lists that look like
//! lists.

use super::*;

#[test]
fn an_entry_s_variables_run_no_foreign_code_in_the_server_that_is_tried_and_are_named_as_stealing() {
    let place = Place::new();
    // The loader says that it cannot load this, into the files that LD_DEBUG_OUTPUT names, if it hears of either.
    let library = place.scratch.file("evil.so", "no library", 0o755);
    fs::create_dir(place.path("loader")).unwrap();
    let path = install(&place, "claude-code", Scope::Project);
    let text = fs::read_to_string(&path).unwrap();
    for (names, tells) in [
        (&["LD_PRELOAD", "LD_AUDIT"][..], true),
        (&["GLIBC_TUNABLES"], true),
        (&["GCONV_PATH"], true),
        (&["OTHER"], false),
    ] {
        let named: Vec<_> = names.iter().map(|name| format!("\"{name}\": \"{}\",", library.display())).collect();
        let named = named.concat();
        let debug = format!("\"LD_DEBUG\": \"all\", \"LD_DEBUG_OUTPUT\": \"{}\",", place.path("loader/x").display());
        let debug = if names[0].starts_with("LD_") { debug } else { String::new() };
        fs::write(&path, text.replace("\"env\": {", &format!("\"env\": {{{named}{debug}"))).unwrap();
        let said = remarks(&place);
        if tells {
            holds(&said, "note", "steals what the server reads");
        }
        assert_eq!(said.len(), 1, "the server starts, as without them: {said:?}");
        assert_eq!(said[0].0 == "good", !tells, "{said:?}");
    }
    assert_eq!(fs::read_dir(place.path("loader")).unwrap().count(), 0, "the loader heard of it");
    fs::write(&path, text.replace("\"env\": {", "\"env\": {\"KDNA_BROKER_RUNTIME_PINS\": \"/none\",")).unwrap();
    assert_eq!(remarks(&place)[0].0, "good", "a file chooses no runtime");
}

#[test]
fn a_list_that_is_no_list_of_texts_or_is_empty_is_never_called_good() {
    for (id, list) in [("codex", "enabled_tools"), ("gemini-cli", "includeTools")] {
        for (value, expected) in [
            ("\"*\"", "no list of texts"),
            ("[\"*\", 1]", "no list of texts"),
            ("[1]", "no list of texts"),
            ("true", "no list of texts"),
            ("[]", "an empty"),
        ] {
            let said = said_of(id, |text| {
                let (before, rest) = text.split_once(list).unwrap();
                let (between, rest) = rest.split_once('[').unwrap();
                let (_, after) = rest.split_once(']').unwrap();
                format!("{before}{list}{between}{value}{after}")
            });
            holds(&said, "note", expected);
            assert!(said.iter().all(|(state, _)| state != "good"), "{id} {value}: {said:?}");
        }
    }
}

#[test]
fn permissions_that_let_everything_run_are_named_however_they_are_written() {
    let opencode = |to: &str| said_of("opencode", |text| text.replace("\"kdna_*\": \"deny\"", to));
    for rule in [r#""kdna_*": {"*": "allow"}"#, r#""*": {"a": "deny", "*": "allow"}"#, r#""*": {"a": {"**": "allow"}}"#]
    {
        holds(&opencode(rule), "note", "1 of the rules");
    }
    for fine in [r#""bash": {"*": "allow"}"#, r#""kdna_*": {"*": "deny"}"#] {
        let said = opencode(fine);
        assert!(said.iter().all(|(state, _)| state == "good"), "{fine}: {said:?}");
    }
    holds(&opencode(r#""kdna_*": ["allow"]"#), "note", "in the place of the rules");
    // An agent's permissions stand over those of the file.
    let agents = |to: &str| said_of("opencode", |text| text.replacen('{', &format!("{{{to},"), 1));
    for agent in [
        r#""agent": {"build": {"permission": {"kdna_*": "allow"}}}"#,
        r#""agent": {"plan": {}, "mine": {"permission": "allow"}}"#,
        r#""mode": {"build": {"permission": {"*": {"*": "allow"}}}}"#,
    ] {
        holds(&agents(agent), "note", "1 of the rules");
    }
    holds(&agents(r#""agent": ["build"]"#), "note", "in the place of the rules");
    for fine in [r#""agent": {"build": {"permission": {"bash": "allow"}, "prompt": "*"}}"#, r#""agent": {}"#] {
        let said = agents(fine);
        assert!(said.iter().all(|(state, _)| state == "good"), "{fine}: {said:?}");
    }
    for (settings, expected) in [
        (r#"{"permissions": {"defaultMode": "bypassPermissions"}}"#, "bypassPermissions"),
        (r#"{"enableAllProjectMcpServers": true}"#, "enableAllProjectMcpServers"),
        (r#"{"permissions": {"allow": "*"}}"#, "in the place of the rules"),
        (r#"{"permissions": {"allow": [["*"]]}}"#, "in the place of the rules"),
        (r#"{"permissions": ["*"]}"#, "in the place of the rules"),
    ] {
        for file in ["ws/.claude/settings.json", "home/.claude/settings.json"] {
            let place = Place::new();
            write(&place, file, settings);
            assert_eq!(remarks(&place), [], "no server of ours, none of our business");
            install(&place, "claude-code", Scope::Project);
            write(&place, file, settings);
            holds(&remarks(&place), "note", expected);
        }
    }
    let place = Place::new();
    install(&place, "claude-code", Scope::Project);
    let fine = r#"{"permissions": {"defaultMode": "default", "allow": []}, "enableAllProjectMcpServers": false}"#;
    write(&place, "ws/.claude/settings.json", fine);
    assert_eq!(remarks(&place).len(), 1, "{:?}", remarks(&place));
}

/// As large as a file may be that is looked into.
const LARGEST: usize = 8 << 20;

#[test]
fn a_file_of_the_largest_size_is_judged_whatever_fills_it() {
    let filled = |start: &str, fill: &str, end: &str| {
        format!("{start}{}{end}", fill.repeat((LARGEST - start.len() - end.len()) / fill.len()))
    };
    let place = Place::new();
    let entry = r#"{"mcpServers":{"kdna":{"command":"kdna-broker","args":["mcp"]}}"#;
    let project = "ws/.mcp.json";
    for (text, expected) in [
        (filled(entry, " ", ",}"), "no absolute path"),
        (filled(&format!("{entry},"), " ", "}"), "no absolute path"),
        (filled(entry, ",", "}"), "cannot be understood"),
        (filled(entry, " ,", "}"), "cannot be understood"),
        (filled(&format!("{entry},\"x\":["), "1     ,     ", "]}"), "no absolute path"),
    ] {
        write(&place, project, &text);
        holds(&remarks(&place), "note", expected);
    }
    write(&place, project, &format!("{entry}}}"));
    let settings = "ws/.claude/settings.json";
    let allow = r#"{"permissions":{"allow":["#;
    write(&place, settings, &filled(&format!("{allow}\""), "*", "\"]}}"));
    holds(&remarks(&place), "note", "1 of the rules that let tools run name more");
    let rule = format!("\"{}\",", "*a".repeat(250));
    write(&place, settings, &filled(allow, &rule, "]}}"));
    holds(&remarks(&place), "note", "too long or too many, and were not looked into");
}

#[test]
fn of_many_entries_of_this_server_the_first_are_tried_and_the_rest_is_one_note() {
    let place = Place::new();
    let program = Program::Broker.path();
    let entry = |number: usize| {
        format!(r#""n{number}":{{"command":["{program}","x"],"environment":{{"KDNA_MCP_HOST_ID":"x"}}}}"#)
    };
    let entries: Vec<String> = (0..5_000).map(entry).collect();
    write(&place, "ws/opencode.json", &format!("{{\"mcp\":{{{}}}}}", entries.join(",")));
    let said = remarks(&place);
    holds(&said, "note", "4984 more entries of this server were not looked into");
    assert_eq!(said.len(), 17, "{said:?}");
}
