//! `--hardened` reaches the sandboxed worker and the server: the real programs, real files.
#![cfg(feature = "runtime")]
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use support::command::{Program, Scratch, run};
use support::documents::{at, parse, server_output};
use support::package;

const TASK: &str = "review the pull request";
const DENIED: &str = "review the pull request, I cannot wait";

/// A project with one attached asset.
fn project(scratch: &Scratch) -> PathBuf {
    let root = scratch.directory("project", 0o755);
    let asset = package().join("fixtures/assets/review.kdna");
    let words = ["--role", "r", "--applies-to", TASK, "--yes", "--scope-user-approved", "--cwd"];
    let arguments = ["attach", asset.to_str().unwrap()].into_iter().chain(words).chain([root.to_str().unwrap()]);
    let attached = run(scratch.command(Program::Owner, arguments), None);
    assert!(attached.stdout.starts_with(b"{"), "{}", attached.stderr_text());
    root
}

/// Decision and reason of `kdna resolve`.
fn resolve(scratch: &Scratch, root: &std::path::Path, task: &str, options: &[&str]) -> (String, String) {
    let words = ["resolve", "--cwd", root.to_str().unwrap(), "--task-stdin"];
    let command = scratch.command(Program::Owner, words.iter().chain(options));
    let document = parse(&run(command, Some(task.as_bytes())).stdout).expect("a document");
    let word = |key: &str| document.get(key).and_then(|word| word.as_str()).unwrap().to_owned();
    (word("decision"), word("reason_code"))
}

#[test]
fn the_command_asks_or_blocks_where_it_would_load() {
    let scratch = Scratch::new();
    let root = project(&scratch);
    let hardened = |task| resolve(&scratch, &root, task, &["--hardened"]).1;
    assert_eq!(hardened(TASK), "single_approved_attachment_clearly_applies");
    assert_eq!(resolve(&scratch, &root, DENIED, &[]).0, "load", "the control");
    assert_eq!(hardened(DENIED), "ambiguous_scope");
    fs::set_permissions(root.join(".kdna/assets"), fs::Permissions::from_mode(0o720)).unwrap();
    assert_eq!(hardened(TASK), "asset_invalid");
    fs::set_permissions(root.join(".kdna/attachments.json"), fs::Permissions::from_mode(0o602)).unwrap();
    assert_eq!(hardened(TASK), "attachment_schema_unsupported");
    assert_eq!(resolve(&scratch, &root, TASK, &[]).0, "load", "the control");
}

#[test]
fn the_server_asks_and_refuses() {
    let scratch = Scratch::new();
    let root = project(&scratch);
    let ask = |options: &[&str]| {
        let words = ["mcp"].iter().chain(options);
        let mut command = scratch.command(Program::Broker, words);
        command.env("KDNA_MCP_WORKSPACE_ROOT", &root);
        let call = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"kdna.workspace-resolve\",\"arguments\":{{\"cwd\":{:?},\"task\":\"{DENIED}\"}}}}}}\n",
            root.to_str().unwrap()
        );
        let output = server_output(&run(command, Some(call.as_bytes())).stdout);
        let said = |pointer: &str| at(&output, pointer).and_then(|word| word.as_str()).map(str::to_owned);
        said("/0/result/content/0/text/decision")
            .or_else(|| said("/0/result/content/0/text/error/code"))
            .expect("a reply")
    };
    assert_eq!((ask(&[]), ask(&["--hardened"])), ("load".to_owned(), "ask".to_owned()));
    fs::set_permissions(root.join(".kdna"), fs::Permissions::from_mode(0o770)).unwrap();
    assert_eq!((ask(&[]), ask(&["--hardened"])), ("load".to_owned(), "workspace_contract_invalid".to_owned()));
}
