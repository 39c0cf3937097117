//! Tool arguments, one fault at a time, for every tool that has them.

use crate::place::{Place, answers, outcome, quoted, report};
use crate::session::{call, greet};
use crate::support::command::Server;
use kdna_broker::foundation::digest::Digest;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;

const STATUS: &str = "kdna.workspace-status";
const RESOLVE: &str = "kdna.workspace-resolve";
const LOAD: &str = "kdna.workspace-load";
const INVALID: &str = "arguments_invalid/arguments_refused";
const UNAVAILABLE: &str = "workspace_unavailable/cwd_unavailable";
const OUTSIDE: &str = "workspace_outside_host_root/cwd_outside_root";

/// A tool, its arguments, and what must come of them.
struct Row(&'static str, String, &'static str);

fn check(place: &Place, server: &mut Server, rows: Vec<Row>, expected: impl Fn(&Row) -> String) {
    let mut faults = Vec::new();
    for row in rows {
        let lines = answers(server, call(7, row.0, &row.1).as_bytes());
        let shown: String = row.1.chars().take(120).collect();
        let [line] = lines.as_slice() else {
            faults.push(format!("{} {shown:?}: {} answers", row.0, lines.len()));
            continue;
        };
        let given = outcome(line);
        if given != expected(&row) {
            faults.push(format!("{} {shown:?}: {given}, expected {}", row.0, expected(&row)));
        }
        faults.extend(place.faults_of_reply(line).into_iter().map(|fault| format!("{} {shown:?}: {fault}", row.0)));
    }
    report(&faults);
}

fn finish(place: &Place, server: Server) {
    let finished = server.close();
    assert_eq!(place.faults_of_state(), Vec::<String>::new());
    assert!(finished.stderr.is_empty(), "standard error: {}", finished.stderr_text());
    assert_eq!(place.faults(&finished.stdout), Vec::<String>::new());
}

/// Arguments that break the schema of a tool.
fn malformed(place: &Place) -> Vec<Row> {
    let cwd = quoted(place.session.root().to_str().unwrap());
    let task = quoted(&place.task);
    let foreign = &place.foreign;
    let long = "a".repeat(4097);
    let mut rows = Vec::new();
    for tool in [STATUS, RESOLVE, LOAD] {
        let rest = if tool == STATUS { String::new() } else { format!(r#","task":{task}"#) };
        let bad = [r#""""#, "null", "1", "true", "[]", "{}", "1e999", r#"["/"]"#, r#""\ud800""#].map(str::to_owned);
        let bad = bad.into_iter().chain([format!(r#""{long}""#), format!(r#""\udfff{foreign}""#)]);
        let whole = ["null", "[]", r#""x""#, "1", "true", "{}"].map(str::to_owned);
        let more = [
            format!(r#"{{"cwd":{cwd}{rest},"{foreign}":1}}"#),
            format!(r#"{{"cwd":{cwd}{rest},"__proto__":{{}}}}"#),
            format!(r#"{{"cwd":{cwd}{rest},"cwd":{cwd}}}"#),
            format!(r#"{{"cwd":{cwd}{rest},"\u0000":1}}"#),
            format!(r#"{{"cwd":{cwd}{rest},"\ud800":1}}"#),
            format!(r#"{{"CWD":{cwd}{rest}}}"#),
        ];
        let bad = bad.map(|bad| format!(r#"{{"cwd":{bad}{rest}}}"#));
        rows.extend(whole.into_iter().chain(bad).chain(more).map(|arguments| Row(tool, arguments, INVALID)));
    }
    rows.push(Row(STATUS, format!(r#"{{"cwd":{cwd},"task":{task}}}"#), INVALID));
    for tool in [RESOLVE, LOAD] {
        let large = format!(r#""{}{}""#, place.task, "x".repeat(65_537 - place.task.len()));
        let wide = format!(r#""{}{}""#, place.task, "é".repeat(32_768));
        for bad in [r#""""#, "null", "1", "false", "[]", "{}", "-1e999", &large, &wide] {
            rows.push(Row(tool, format!(r#"{{"cwd":{cwd},"task":{bad}}}"#), INVALID));
        }
        rows.push(Row(tool, format!(r#"{{"cwd":{cwd}}}"#), INVALID));
        rows.extend(
            selections(foreign).into_iter().map(|selection| {
                Row(tool, format!(r#"{{"cwd":{cwd},"task":{task},"selection":{selection}}}"#), INVALID)
            }),
        );
    }
    rows.push(Row(RESOLVE, format!(r#"{{"cwd":{cwd},"task":{task},"profile":"compact"}}"#), INVALID));
    for bad in ["null", "1", r#""""#, r#""minimal""#, r#""Compact""#, r#"["compact"]"#, &quoted(foreign)] {
        rows.push(Row(LOAD, format!(r#"{{"cwd":{cwd},"task":{task},"profile":{bad}}}"#), INVALID));
    }
    rows
}

fn selections(foreign: &str) -> Vec<String> {
    let (id, digest) = ("att_000000000000000000000001", Digest::of(b"x").to_string());
    let upper = digest.to_uppercase();
    [
        "null".to_owned(),
        "[]".to_owned(),
        "\"\"".to_owned(),
        "{}".to_owned(),
        format!(r#"{{"attachment_id":"{id}","task_digest":"{digest}"}}"#),
        format!(r#"{{"attachment_id":"{id}","task_digest":"{digest}","approved":false}}"#),
        format!(r#"{{"attachment_id":"{id}","task_digest":"{digest}","approved":"true"}}"#),
        format!(r#"{{"attachment_id":"../{foreign}","task_digest":"{digest}","approved":true}}"#),
        format!(r#"{{"attachment_id":"--{foreign}","task_digest":"{digest}","approved":true}}"#),
        format!(r#"{{"attachment_id":"{id}\u0000","task_digest":"{digest}","approved":true}}"#),
        format!(r#"{{"attachment_id":"{id}","task_digest":"{upper}","approved":true}}"#),
        format!(r#"{{"attachment_id":"{id}","task_digest":"{foreign}","approved":true}}"#),
        format!(r#"{{"attachment_id":"{id}","task_digest":"{digest}","plan_digest":null,"approved":true}}"#),
        format!(r#"{{"attachment_id":"{id}","task_digest":"{digest}","plan_digest":"{foreign}","approved":true}}"#),
        format!(r#"{{"attachment_id":"{id}","task_digest":"{digest}","approved":true,"{foreign}":1}}"#),
        format!(r#"{{"attachment_id":"{id}","task_digest":"{digest}","approved":true,"approved":true}}"#),
    ]
    .to_vec()
}

#[test]
fn arguments_that_break_their_schema_are_refused_before_anything_is_looked_at() {
    let place = Place::new();
    let mut server = place.session.start();
    check(&place, &mut server, malformed(&place), |row| row.2.to_owned());
    finish(&place, server);
}

#[test]
fn under_the_oldest_revision_the_same_faults_are_protocol_errors() {
    let place = Place::new();
    let mut server = Server::start(place.session.command());
    server.ask(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}"#);
    check(&place, &mut server, malformed(&place), |_| "-32602".to_owned());
    finish(&place, server);
}

/// Directories that are none, or lie elsewhere.
fn places(place: &Place) -> Vec<(String, &'static str)> {
    let root = place.session.root();
    let inside = |name: &str| root.join(name).to_str().unwrap().to_owned();
    let outside = |below: &str| place.outside(below).to_str().unwrap().to_owned();
    let (name, foreign) = (&place.outside, &place.foreign);
    symlink(place.outside(""), root.join("link")).unwrap();
    symlink("link", root.join("twice")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    std::fs::write(root.join("file"), foreign).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, root.join("fifo"), rustix::fs::Mode::RWXU).unwrap();
    drop(UnixListener::bind(root.join("socket")).unwrap());
    let evil = place.session.scratch.directory(format!("ws-{name}"), 0o755);
    vec![
        (inside("link"), UNAVAILABLE),
        (inside("twice"), UNAVAILABLE),
        (inside("loop"), UNAVAILABLE),
        (inside("file"), UNAVAILABLE),
        (inside("file/inner"), UNAVAILABLE),
        (inside("fifo"), UNAVAILABLE),
        (inside("socket"), UNAVAILABLE),
        (inside(foreign), UNAVAILABLE),
        (inside(&format!("nul\0{foreign}")), UNAVAILABLE),
        (inside(&place.hostile()), UNAVAILABLE),
        (inside(&"n".repeat(300)), UNAVAILABLE),
        (inside(&"n/".repeat(1500)), UNAVAILABLE),
        (place.hostile(), UNAVAILABLE),
        (format!("-{foreign}"), UNAVAILABLE),
        (format!("--cwd={foreign}"), UNAVAILABLE),
        (format!("~/{foreign}"), UNAVAILABLE),
        ("~".to_owned(), UNAVAILABLE),
        (format!("$HOME/{foreign}"), UNAVAILABLE),
        (format!("file://{foreign}"), UNAVAILABLE),
        (format!("/nonexistent/{foreign}"), UNAVAILABLE),
        ("/dev/zero".to_owned(), UNAVAILABLE),
        ("/dev/null/x".to_owned(), UNAVAILABLE),
        ("/proc/self/cwd".to_owned(), UNAVAILABLE),
        ("/proc/self/fd/0".to_owned(), UNAVAILABLE),
        (inside("link/inner"), OUTSIDE),
        (inside(&format!("../{name}")), OUTSIDE),
        (format!("../{name}"), OUTSIDE),
        (format!("../{name}/../{name}/inner"), OUTSIDE),
        ("..".to_owned(), OUTSIDE),
        ("../".repeat(60), OUTSIDE),
        ("/".to_owned(), OUTSIDE),
        ("/proc/self".to_owned(), UNAVAILABLE),
        ("/proc".to_owned(), OUTSIDE),
        (outside(""), OUTSIDE),
        (outside("inner"), OUTSIDE),
        (outside("file"), UNAVAILABLE),
        (evil.to_str().unwrap().to_owned(), OUTSIDE),
    ]
}

#[test]
fn a_directory_that_is_none_or_lies_elsewhere_is_refused_by_its_code() {
    let place = Place::new();
    let task = quoted(&place.task);
    let places = places(&place);
    let mut rows = Vec::new();
    for tool in [STATUS, RESOLVE, LOAD] {
        let rest = if tool == STATUS { String::new() } else { format!(r#","task":{task}"#) };
        rows.extend(
            places.iter().map(|(cwd, expected)| Row(tool, format!(r#"{{"cwd":{}{rest}}}"#, quoted(cwd)), expected)),
        );
    }
    let mut server = place.session.start();
    check(&place, &mut server, rows, |row| row.2.to_owned());
    finish(&place, server);
}

#[test]
fn no_task_is_repeated_whatever_it_holds() {
    let place = Place::new();
    let cwd = quoted(place.session.root().to_str().unwrap());
    let word = &place.task;
    let refused = "runtime_rejected/task_refused";
    let asked = "ask: applicability_unresolved";
    let tasks = [
        (quoted("   "), refused),
        (quoted("\u{feff}"), refused),
        (quoted("\u{3000}\n\t"), refused),
        (format!(r#""\ud800{word}""#), "task_input_invalid/task_not_utf8"),
        (format!(r#""{word}\udc00\ud800""#), "task_input_invalid/task_not_utf8"),
        (quoted(&format!("{word}\0")), asked),
        (quoted(&format!("--task-file={word}")), asked),
        (quoted(&format!("-{word}")), asked),
        (quoted(&format!("../../{word}")), asked),
        (quoted(&format!("/etc/{word}")), asked),
        (quoted(&format!("{word}\u{1b}[2J\r\u{7}\u{9b}\u{202e}é")), asked),
        (quoted(&format!("{word}{}", "x".repeat(65_536 - word.len()))), asked),
        (quoted(&format!("{{\"cwd\":\"{word}\"}}")), asked),
    ];
    let rows = [RESOLVE, LOAD].into_iter().flat_map(|tool| {
        let row = |(task, expected): &(String, &'static str)| {
            Row(tool, format!(r#"{{"cwd":{cwd},"task":{task}}}"#), expected)
        };
        tasks.iter().map(row).collect::<Vec<_>>()
    });
    let rows = rows.collect();
    let mut server = place.session.start();
    check(&place, &mut server, rows, |row| row.2.to_owned());
    finish(&place, server);
}

#[test]
fn a_selection_that_nobody_made_selects_nothing() {
    let place = Place::new();
    let cwd = quoted(place.session.root().to_str().unwrap());
    let task = quoted(&place.task);
    let (right, wrong) = (Digest::of(place.task.as_bytes()), Digest::of(b"another task"));
    let mut rows = Vec::new();
    for tool in [RESOLVE, LOAD] {
        for (id, task_digest, plan, reason) in [
            ("att_ffffffffffffffffffffffff", right, None, "block: selection_not_current_candidate"),
            ("att_000000000000000000000001", wrong, None, "block: selection_binding_changed"),
            ("att_000000000000000000000001", right, Some(wrong), "block: selection_binding_changed"),
        ] {
            let plan = plan.map(|plan| format!(r#","plan_digest":"{plan}""#)).unwrap_or_default();
            let selection =
                format!(r#"{{"attachment_id":"{id}","task_digest":"{task_digest}"{plan},"approved":true}}"#);
            rows.push(Row(tool, format!(r#"{{"cwd":{cwd},"task":{task},"selection":{selection}}}"#), reason));
        }
    }
    let mut server = greet(Server::start(place.session.command()));
    check(&place, &mut server, rows, |row| row.2.to_owned());
    finish(&place, server);
}
