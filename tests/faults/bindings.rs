//! What a consent binds, tried on the real server and, where a step must be looked at, on the simulated system.

use super::simulated::{self, ROOT, full_system, settings, timed, timed_consent};
use crate::scene::{HOST, PROCESSOR, Reply, Scene, delivered, load, resolve, status};
use crate::support::command::Server;
use kdna_broker::broker::{Answer, Broker, Operations as _, Profile, Selection, Task};
use kdna_broker::consent::document::Timed;
use kdna_broker::delegate::Delegate;
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::refusal::{Reason, Refusal};
use kdna_broker::system::Cancel;
use kdna_broker::system::sim::CallEvent;
use std::collections::BTreeSet;
use std::fs;

const INVALID: &str = "host_processing_consent_invalid";

fn allowed() -> (Scene, Server) {
    let scene = Scene::new();
    scene.attach("ws");
    scene.allow("ws", "ws");
    let mut server = scene.server("ws");
    assert_eq!(load(&mut server, scene.at("ws")), delivered(), "the control");
    (scene, server)
}

#[test]
fn bind_one_field_at_a_time() {
    let other = Digest::of(b"other");
    let base = || String::from_utf8(timed_consent('a', &timed())).unwrap();
    let with = |from: &str, to: &str| base().replacen(from, to, 1).into_bytes();
    let timed_with = |change: fn(&mut Timed, Digest)| {
        let mut changed = timed();
        change(&mut changed, other);
        timed_consent('a', &changed)
    };
    let asset = Digest::of(simulated::ASSET).to_string();
    let documents = [
        with("golden-host", "other-host"),
        with("\"host_root_digest\": \"sha256:", "\"host_root_digest\": \"sha256:0"),
        base()
            .replace(
                &format!("\"host_root_digest\": \"{}\"", kdna_broker::foundation::digest::of_root_path(ROOT)),
                &format!("\"host_root_digest\": \"{other}\""),
            )
            .into_bytes(),
        timed_with(|timed, other| timed.workspace_root_digest = other),
        with(&asset, &other.to_string()),
        with("att_000000000000000000000001", "att_000000000000000000000002"),
        with("\"scope_digest\": \"sha256:3476", "\"scope_digest\": \"sha256:3477"),
        timed_with(|timed, other| timed.entry_digest = other),
        with("\"compact\"", "\"index\""),
        with("Example Inference Ltd", "Another Ltd"),
        with("\"named_remote\"", "\"verified_local_only\""),
        with("\"kdna.mcp.host-processing-consent\"", "\"kdna.mcp.other\""),
    ];
    let mut reasons = BTreeSet::new();
    for document in documents {
        assert_ne!(document, timed_consent('a', &timed()));
        let system = full_system();
        system.arrange(|world| world.set_content(simulated::CONSENT_PATH, &document)).unwrap();
        let broker = Broker::start(system.clone(), settings(), Delegate::embedded()).unwrap();
        let refusal = simulated::load(&broker).unwrap_err();
        assert!(reasons.insert(refusal.reason()), "{} is shared", refusal.reason());
    }
    // A snapshot with other bytes, and a task and profile of another consent, are judged elsewhere: see races.rs.
    assert_eq!(reasons.len(), 12);
}

#[test]
fn bind_config_by_agent() {
    let (scene, _) = allowed();
    // Everything that an agent could put beside the record; nothing of it is read.
    let consent = fs::read(scene.consent_path()).unwrap();
    scene.scratch.directory("ws/private", 0o700);
    for (name, content) in [
        ("ws/.env", &b"KDNA_MCP_HOST_PROCESSING_CONSENT_FILE=/tmp/x\nKDNA_MCP_HOST_ID=other\n"[..]),
        ("ws/.kdna/config", b"allow = true"),
        ("ws/.kdna/policy.json", b"{}"),
        ("ws/.kdna/consent.json", &consent),
        ("ws/.kdna/attachment-ledger.json", b"{}"),
        ("ws/private/consent.json", &consent),
    ] {
        scene.scratch.file(name, content, 0o600);
    }
    fs::remove_file(scene.consent_path()).unwrap();
    let mut server = scene.server("ws");
    assert_eq!(load(&mut server, scene.at("ws")), Reply::refused(INVALID), "the one named is gone");
    let start = |variable: &str, path: &str, more: (&str, &str)| {
        let mut command = scene.server_command("ws");
        command.env_remove("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE").env(variable, scene.at(path)).env(more.0, more.1);
        load(&mut Server::start(command), scene.at("ws"))
    };
    let required = Reply::refused("host_processing_consent_required");
    let xdg = ("XDG_STATE_HOME", "/tmp");
    assert_eq!(start("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE", "ws/private/consent.json", xdg), required);
    assert_eq!(start("KDNA_BROKER_CONSENT_DIR", "ws/private", ("XDG_CONFIG_HOME", "/tmp")), required);
}

#[test]
fn bind_parse_before_trust() {
    let system = full_system();
    system.arrange(|world| world.remove(simulated::CONSENT_PATH)).unwrap();
    let broker = Broker::start(system.clone(), settings(), Delegate::embedded()).unwrap();
    system.clear_log();
    assert_eq!(simulated::load(&broker).unwrap_err().reason(), Reason::ConsentMissing);
    let own = |event: &&CallEvent| !event.in_child && event.at.starts_with(ROOT);
    let log = system.log();
    let opened: Vec<&str> = log
        .iter()
        .filter(own)
        .filter(|event| ["read", "digest", "fill", "seal"].contains(&event.call.as_str()))
        .map(|event| event.at.as_str())
        .collect();
    assert!(!opened.is_empty() && opened.iter().all(|path| *path == simulated::RECORD_PATH), "{opened:?}");
}

#[test]
fn bind_second_path_skips_checks() {
    let (scene, mut server) = allowed();
    let text = fs::read_to_string(scene.consent_path()).unwrap();
    scene.scratch.file("private/consent.json", text.replace("\"compact\"", "\"full\""), 0o600);
    // Again, after a refusal, after a resolution, from below: one function judges them all.
    for _ in 0..3 {
        assert_eq!(load(&mut server, scene.at("ws")), Reply::refused(INVALID));
        assert_eq!(resolve(&mut server, scene.at("ws")), Reply::Decision("load".to_owned(), false));
        assert!(matches!(status(&mut server, scene.at("ws")), Reply::Record(_)));
    }
    fs::create_dir(scene.at("ws/below")).unwrap();
    assert_eq!(load(&mut server, scene.at("ws/below")), Reply::refused(INVALID));
    let mut batch = scene.server("ws");
    batch.send(&format!("[{}]", crate::scene::call_line("kdna.workspace-load", &scene.text("ws"))));
    let line = batch.receive(std::time::Duration::from_secs(20)).unwrap_or_default();
    assert!(!line.contains("runtime-capsule"), "{line}");
}

#[test]
fn bind_replay_selection() {
    let system = full_system();
    let broker = Broker::start(system.clone(), settings(), Delegate::embedded()).unwrap();
    let render =
        |answer: &Answer| Ok(kdna_broker::foundation::json::write::compact(&answer.document).unwrap().into_bytes());
    let attempt = |task: &str, of: &str| -> Result<Vec<u8>, Refusal> {
        let chosen = Selection {
            attachment_id: "att_000000000000000000000001".to_owned(),
            task_digest: Digest::of(of.as_bytes()).to_string(),
            plan_digest: None,
        };
        broker.load(ROOT, &Task::Text(task.to_owned()), Some(&chosen), Profile::Compact, &render, &Cancel::new())
    };
    let text = |outcome: Result<Vec<u8>, Refusal>| outcome.map(|bytes| String::from_utf8(bytes).unwrap());
    // A task that names the attachment: the selection decides, once.
    let task = "use att_000000000000000000000001 here";
    let first = text(attempt(task, task)).unwrap();
    assert!(first.contains("explicit_task_attachment_selection") && first.contains("kdna.runtime-capsule"), "{first}");
    assert_eq!(attempt(task, task).unwrap_err().reason(), Reason::SelectionSpent);
    let changed = text(attempt("use att_000000000000000000000001 there", task));
    assert!(!changed.is_ok_and(|answer| answer.contains("kdna.runtime-capsule")), "one byte of the task changed");
}

#[test]
fn bind_destination_override() {
    let (scene, _) = allowed();
    scene.scratch.file("ws/.kdna/config", "processor = 'Other Ltd'", 0o600);
    scene.scratch.file("ws/.env", "KDNA_MCP_PROCESSOR=Other Ltd\nEXAMPLE_BASE_URL=http://other\n", 0o600);
    let mut command = scene.server_command("ws");
    for variable in ["KDNA_MCP_PROCESSOR", "KDNA_MCP_PROCESSING_BOUNDARY", "KDNA_BROKER_PROCESSOR", "EXAMPLE_BASE_URL"]
    {
        command.env(variable, "Other Ltd");
    }
    let mut server = Server::start(command);
    server.send(&crate::scene::call_line("kdna.workspace-load", &scene.text("ws")));
    let line = server.receive(std::time::Duration::from_secs(60)).unwrap();
    assert!(line.contains(PROCESSOR) && line.contains(HOST) && !line.contains("Other Ltd"), "{line}");
    // No argument names a destination either.
    let line = crate::scene::call_line("kdna.workspace-load", &scene.text("ws"));
    let line = line.replacen("\"arguments\":{", "\"arguments\":{\"processor\":\"Other Ltd\",", 1);
    server.send(&line);
    let refused = server.receive(std::time::Duration::from_secs(60)).unwrap();
    assert!(!refused.contains("runtime-capsule"), "{refused}");
}
