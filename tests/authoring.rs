//! The page for authors says what is so: its example packs and loads, nothing of it can be left out, what is missing is
//! named in its order, and the documents on standard input have the members that it lists.
#![cfg(feature = "runtime")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be arranged must stop, and says why"
)]

mod support;

use kdna_broker::consent::host_draft::HostDraft;
use kdna_broker::foundation::limits;
use kdna_broker::foundation::record::ApprovalSource;
use kdna_broker::runtime::attachments::AttachmentPolicy;
use serde_json::{Map, Value as Json, json};
use std::fs;
use support::command::{Exit, Finished, Program, Scratch, run};
use support::package;

fn page() -> String {
    fs::read_to_string(package().join("docs/contract/authoring.md")).unwrap()
}

/// The JSON blocks of the page: manifest, payload, policy.
fn examples() -> [String; 3] {
    let page = page();
    let blocks = page.split("```json\n").skip(1).map(|rest| rest.split_once("```").unwrap().0.to_owned());
    blocks.collect::<Vec<_>>().try_into().expect("three examples")
}

/// The names in the first column of the first table behind a heading.
fn named(heading: &str) -> Vec<String> {
    let page = page();
    let (_, behind) = page.split_once(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no {heading}"));
    let rows = behind.lines().skip_while(|line| !line.starts_with("| --- ")).skip(1);
    let cells = rows.take_while(|line| line.starts_with('|')).map(|row| row.split('|').nth(1).unwrap().to_owned());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>()).collect()
}

/// An authoring directory with these two files, packed.
fn packed(scratch: &Scratch, manifest: &str, payload: &str) -> Finished {
    scratch.directory("source", 0o755);
    scratch.file("source/kdna.json", manifest, 0o644);
    scratch.file("source/payload.json", payload, 0o644);
    run(scratch.command(Program::Owner, ["pack", "source", "a.kdna", "--force"]), None)
}

/// The document without one member, however deep.
fn without(document: &Json, path: &[&str]) -> String {
    let mut changed = document.clone();
    let (last, above) = path.split_last().unwrap();
    let object = above.iter().fold(&mut changed, |value, key| &mut value[*key]);
    assert!(object.as_object_mut().unwrap().remove(*last).is_some(), "{path:?}");
    changed.to_string()
}

#[test]
fn the_smallest_example_packs_and_loads_and_attaches() {
    let scratch = Scratch::new();
    let [manifest, payload, policy] = examples();
    let done = packed(&scratch, &manifest, &payload);
    assert_eq!(done.exit, Exit::Status(0), "{}", done.stderr_text());
    let loaded = run(scratch.command(Program::Owner, ["load", "a.kdna"]), None);
    assert!(loaded.stdout_text().contains("Would I want to be woken at night"), "{}", loaded.stderr_text());
    scratch.directory("ws", 0o755);
    let words = ["attach", "a.kdna", "--cwd", "ws", "--attachment-stdin", "--yes", "--scope-user-approved"];
    let attached = run(scratch.command(Program::Owner, words), Some(policy.as_bytes()));
    assert_eq!(attached.exit, Exit::Status(0), "{}", attached.stderr_text());
}

#[test]
fn nothing_of_the_example_can_be_left_out_and_what_is_missing_is_named_first() {
    let scratch = Scratch::new();
    let [manifest, payload, _] = examples();
    let (manifest_read, payload_read): (Json, Json) =
        (serde_json::from_str(&manifest).unwrap(), serde_json::from_str(&payload).unwrap());
    let members = named("`kdna.json`");
    let own: Vec<&String> = manifest_read.as_object().unwrap().keys().collect();
    let mut sorted: Vec<&String> = members.iter().collect();
    sorted.sort();
    assert_eq!(
        (sorted, members.len()),
        (
            {
                let mut own = own;
                own.sort();
                own
            },
            11
        ),
        "the table is the example's"
    );
    let first = |done: &Finished| {
        assert_eq!((done.exit, done.stdout.len()), (Exit::Status(1), 0), "{}", done.stdout_text());
        assert!(!scratch.path().join("a.kdna").exists(), "nothing is written");
        done.stderr_text().lines().nth(1).unwrap_or_default().trim().to_owned()
    };
    for member in &members {
        let done = packed(&scratch, &without(&manifest_read, &[member]), &payload);
        assert_eq!(first(&done), format!("manifest: <root> must have required property '{member}'"));
    }
    for path in [&["profile"][..], &["profile_version"], &["core"], &["core", "axioms"]] {
        let said = first(&packed(&scratch, &manifest, &without(&payload_read, path)));
        let missing = path.last().unwrap();
        assert!(said.contains(&format!("must have required property '{missing}'")), "{path:?}: {said}");
    }
    let done = packed(&scratch, &manifest, &without(&payload_read, &["core", "highest_question"]));
    assert!(first(&done).starts_with("payload: "), "{}", done.stderr_text());
    // All of it is missing: it is named in the order of the page.
    let done = packed(&scratch, "{}", &payload);
    let said = done.stderr_text();
    let listed: Vec<&str> = said
        .lines()
        .filter_map(|line| line.split_once("<root> must have required property '")?.1.strip_suffix('\''))
        .collect();
    assert_eq!(listed[..members.len()], members, "{said}");
}

#[test]
fn a_policy_on_standard_input_has_the_members_that_the_page_lists() {
    let members = named("A policy on standard input");
    assert_eq!(members.len(), 5, "{members:?}");
    let all = json!({"role": "", "applies_to": ["x"], "does_not_apply_to": [], "scope_mode": "task_hints",
        "matching_policy": "closed_world_skip"});
    let read = |document: &str| AttachmentPolicy::from_stdin(document.as_bytes(), ApprovalSource::UserExplicit);
    assert_eq!(read(&all.to_string()).unwrap().role(), "x", "an empty role is the first phrase");
    for member in &members {
        let needed = !["scope_mode", "matching_policy"].contains(&member.as_str());
        assert_eq!(read(&without(&all, &[member])).is_err(), needed, "{member}");
    }
    let mut more = all;
    more["other"] = json!(1);
    assert!(read(&more.to_string()).is_err());
}

#[test]
fn a_draft_has_the_members_that_the_page_lists() {
    let members = named("A draft on standard input");
    assert_eq!(members.len(), 12, "{members:?}");
    let digest = format!("sha256:{}", "0".repeat(64));
    let value = |member: &str| match member {
        "workspace_root" => json!("/w"),
        "attachment_id" => json!("att_000000000000000000000001"),
        "applies_to" | "does_not_apply_to" => json!(["x"]),
        "capsule_profile" => json!("full"),
        digests if digests.ends_with("_digest") => json!(digest),
        _ => json!("x"),
    };
    let all: Map<String, Json> = members.iter().map(|member| (member.clone(), value(member))).collect();
    let all = Json::Object(all);
    assert_eq!(HostDraft::read(all.to_string().as_bytes()).map(|draft| draft.profile), Ok("full".to_owned()));
    for member in &members {
        let left = HostDraft::read(without(&all, &[member]).as_bytes());
        assert_eq!(left.is_ok(), member == "capsule_profile", "{member}");
    }
}

#[test]
fn the_limits_of_the_page_are_those_of_the_program() {
    let page = page().replace(',', "");
    let numbers = [
        limits::CONTAINER_BYTES,
        limits::CONTAINER_INFLATED_BYTES,
        limits::ENTRY_BYTES,
        limits::TASK_BYTES,
        u64::try_from(limits::CONTAINER_ENTRIES).unwrap(),
        u64::try_from(limits::ENTRY_DEPTH).unwrap(),
        u64::try_from(limits::ENTRY_ITEMS).unwrap(),
        u64::try_from(limits::ENTRY_VALUES).unwrap(),
        u64::try_from(limits::ENTRY_TEXT_UNITS).unwrap(),
        u64::try_from(limits::PHRASES).unwrap(),
        u64::try_from(limits::TEXT_UNITS).unwrap(),
        u64::try_from(limits::ROLE_UNITS).unwrap(),
        u64::try_from(limits::VERSION_UNITS).unwrap(),
    ];
    for number in numbers {
        let digits = number.to_string();
        let stands = page.split(|character: char| !character.is_ascii_digit()).any(|word| word == digits);
        assert!(stands, "{number}");
    }
}
