//! A session with things around it that must never be named, and what an output may hold.

use crate::session::{Names, PHRASE, Reply, Session, asset, call, canary, files_below, holds};
use crate::support::command::{LIMIT, Server};
use crate::support::documents::at;
use kdna_broker::foundation::json::write;
use kdna_broker::foundation::value::Value;
use std::path::PathBuf;

/// A session, and the words that stand only in bad input.
pub(crate) struct Place {
    pub(crate) session: Session,
    /// Part of every path outside the workspace.
    pub(crate) outside: String,
    /// Part of every task.
    pub(crate) task: String,
    /// Part of every other foreign text.
    pub(crate) foreign: String,
    /// Part of the asset's judgment: what a refusal must never hold.
    pub(crate) judgment: String,
}

impl Place {
    pub(crate) fn new() -> Self {
        let judgment = canary("judgment");
        Self::with(&asset(&judgment, 0), judgment)
    }

    pub(crate) fn with(asset: &[u8], judgment: String) -> Self {
        let (outside, task, foreign) = (canary("outside"), canary("task"), canary("foreign"));
        let names = Names { consent: format!("{outside}-consent"), authorization: format!("{outside}-word") };
        let session = Session::new(asset, names);
        session.scratch.directory(format!("{outside}/inner"), 0o755);
        session.scratch.file(format!("{outside}/file"), &foreign, 0o644);
        Self { session, outside, task, foreign, judgment }
    }

    /// A directory outside the workspace, or what lies in it.
    pub(crate) fn outside(&self, below: &str) -> PathBuf {
        self.session.scratch.path().join(&self.outside).join(below)
    }

    /// A text with every kind of byte that could harm a terminal or a reader.
    pub(crate) fn hostile(&self) -> String {
        format!("{}\u{1b}]0;x\u{7}\u{1b}[2J\r\u{9b}31m\u{202e}\u{2066}\u{200b}\u{e0041}é\u{7f}", self.foreign)
    }

    /// What is wrong with an output: bytes that are not plain, or a word that is nobody's business.
    pub(crate) fn faults(&self, output: &[u8]) -> Vec<String> {
        let plain = |byte: &u8| matches!(byte, b' '..=b'~' | b'\n');
        let bytes = output.iter().filter(|byte| !plain(byte)).map(|byte| format!("the byte {byte:#04x}"));
        let words = [&self.outside, &self.task, &self.foreign, &self.judgment];
        let text = String::from_utf8_lossy(output);
        let words =
            words.into_iter().filter(|word| text.contains(word.as_str())).map(|word| format!("the word {word}"));
        bytes.take(1).chain(words).collect()
    }
}

impl Place {
    /// As [`Place::faults`]; besides, a model is told no absolute path at all.
    pub(crate) fn faults_of_reply(&self, line: &str) -> Vec<String> {
        let mut faults = self.faults(line.as_bytes());
        let scratch = self.session.scratch.path().to_str().expect("a plain path");
        faults.extend(line.contains(scratch).then(|| "an absolute path".to_owned()));
        faults
    }
}

impl Place {
    /// What is wrong with everything that the broker wrote down.
    pub(crate) fn faults_of_state(&self) -> Vec<String> {
        let mut files = Vec::new();
        files_below(&self.session.scratch.state(), &mut files);
        assert!(files.iter().any(|file| file.extension().is_some_and(|end| end == "jsonl")), "there is a journal");
        let scratch = self.session.scratch.path().to_str().expect("a plain path");
        let written = files.iter().map(|file| std::fs::read(file).expect("a file")).collect::<Vec<_>>().concat();
        let mut faults = self.faults(&written);
        faults.extend(holds(&written, scratch).then(|| "an absolute path".to_owned()));
        faults.into_iter().map(|fault| format!("the journal: {fault}")).collect()
    }
}

/// An outcome in a few words: `code/reason`, the number of a protocol error, `delivered`, or the decision and its reason.
pub(crate) fn outcome(line: &str) -> String {
    let reply = Reply::read(line);
    if reply.is_delivered() {
        return "delivered".to_owned();
    }
    if let Some((code, reason)) = reply.refusal() {
        return if reason.is_empty() { code } else { format!("{code}/{reason}") };
    }
    let Some(document) = reply.document() else { return "a result".to_owned() };
    let resolution = at(document, "/resolution").unwrap_or(document);
    let text = |key: &str| resolution.get(key).and_then(Value::as_str).map(str::to_owned);
    match (text("decision"), text("reason_code")) {
        (Some(decision), Some(reason)) => format!("{decision}: {reason}"),
        _ => match document.get("attachments") {
            Some(Value::Null) => "no record".to_owned(),
            _ => "the record".to_owned(),
        },
    }
}

/// Sends one line and gives all answers that come before that of a call after it (calls are answered in order).
pub(crate) fn answers(server: &mut Server, line: &[u8]) -> Vec<String> {
    server.send_bytes(line);
    server.send(r#"{"jsonrpc":"2.0","id":"sync","method":"tools/call","params":{"name":"no such tool"}}"#);
    let mut lines = Vec::new();
    loop {
        let line = server.receive(LIMIT).expect("an answer");
        lines.push(line);
        if lines.last().is_some_and(|line| line.contains(r#""id":"sync""#)) {
            lines.pop();
            return lines;
        }
    }
}

/// The JSON of a text.
pub(crate) fn quoted(text: &str) -> String {
    write::compact(&Value::copied(text)).expect("a text")
}

/// Status, resolve and load of the workspace by a server that is there, in that order.
pub(crate) fn ask_all(place: &Place, server: &mut Server) -> Vec<String> {
    let cwd = quoted(place.session.root().to_str().expect("a plain path"));
    let task = quoted(&format!("{PHRASE} {}", place.task));
    let with_task = format!(r#"{{"cwd":{cwd},"task":{task}}}"#);
    [
        ("kdna.workspace-status", format!(r#"{{"cwd":{cwd}}}"#)),
        ("kdna.workspace-resolve", with_task.clone()),
        ("kdna.workspace-load", with_task),
    ]
    .into_iter()
    .map(|(tool, arguments)| server.ask(&call(7, tool, &arguments)))
    .collect()
}

/// Fails with every row that is not as it should be.
pub(crate) fn report(faults: &[String]) {
    assert!(faults.is_empty(), "{} rows:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn every_fault_of_an_output_is_found() {
    let place = Place::new();
    assert_eq!(place.faults(b"Error: [code] A sentence.\nAnother.\n"), Vec::<String>::new());
    let hostile = place.hostile();
    for bad in [
        "\u{1b}",
        "\r",
        "\t",
        "\0",
        "\u{7f}",
        "\u{9b}",
        "é",
        &place.outside,
        &place.task,
        &place.foreign,
        &place.judgment,
    ] {
        assert!(!place.faults(format!("Error: {bad}\n").as_bytes()).is_empty(), "{bad:?}");
    }
    assert!(place.faults(hostile.as_bytes()).len() > 1);
    let path = place.session.root();
    assert!(!place.faults_of_reply(path.to_str().expect("a plain path")).is_empty());
}
