//! What deciding one task costs: 64 distinct attachments beside one and beside the hashing of their snapshots, and the
//! worst tasks and records that the limits admit beside a typical one. Prints milliseconds; judges nothing: a noisy
//! machine must not fail a build. `tests/resolver_effort.rs` holds the work to a bound.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement that cannot be arranged must stop, and says why"
)]

#[path = "../tests/support/mod.rs"]
mod support;
mod timing;

use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::limits;
use kdna_broker::foundation::path::{AbsolutePath, RelativePath};
use kdna_broker::foundation::record::Record;
use kdna_broker::runtime::resolver::{Inspector, NotAnAsset, ResolveRequest, TaskSource, effort, resolve};
use kdna_broker::runtime::{Standing, standing};
use kdna_broker::system::Observe;
use kdna_broker::system::os::OsSystem;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use support::command::{Program, Scratch, run};
use support::package;
use timing::{at, times};

const TASK: &str = "review the pull request";
const TIMES: usize = 30;

fn main() {
    println!("{:58} {:>9} {:>9}", "", "p50 ms", "max ms");
    attachments();
    tasks();
}

fn row(name: &str, count: usize, work: impl FnMut()) {
    let taken = times(count, work);
    println!("{name:58} {:9.3} {:9.3}", at(&taken, 50), at(&taken, 100));
}

/// The fixture with other times in its directory: another digest, the same content.
fn variant(number: usize) -> Vec<u8> {
    let mut bytes = fs::read(package().join("fixtures/assets/review.kdna")).unwrap();
    let places: Vec<usize> = [(&b"PK\x03\x04"[..], 10), (b"PK\x01\x02", 12)]
        .iter()
        .flat_map(|(mark, offset)| {
            let found = bytes.windows(4).enumerate().filter(|(_, window)| window == mark);
            found.map(|(at, _)| at + offset).collect::<Vec<_>>()
        })
        .collect();
    for at in places {
        bytes[at] = u8::try_from(number).unwrap();
    }
    bytes
}

fn entry(number: usize, asset: &str, applies: &str, excludes: &str) -> String {
    format!(
        r#"{{"attachment_id":"att_{number:024}","asset":{{"id":"kdna:golden:review","version":"1.0.0","digest":"sha256:{asset}","snapshot":"assets/sha256-{asset}.kdna"}},"state":"enabled","role":"r","scope":{{"kind":"workspace","application":"task_hints","matching_policy":"closed_world_skip","authority":"user_approved_routing_hint","approval_source":"user_explicit","applies_to":[{applies}],"does_not_apply_to":[{excludes}]}},"resolution_policy":"load_when_clear_ask_when_ambiguous","update_policy":"explicit_switch_only","approved_at":"2026-06-01T09:00:00.000Z","history":[]}}"#
    )
}

fn record(rows: &[String]) -> String {
    format!(
        r#"{{"document_type":"kdna.workspace-attachments","schema_version":"0.3.0","workspace":{{"root_marker":".kdna/attachments.json"}},"attachments":[{}]}}"#,
        rows.join(",")
    )
}

/// A workspace with so many attachments, each of other bytes, all of which apply to the task.
fn workspace(scratch: &Scratch, count: usize) -> (PathBuf, Vec<Vec<u8>>) {
    let root = scratch.directory(format!("ws{count}"), 0o755);
    fs::create_dir_all(root.join(".kdna/assets")).unwrap();
    let assets: Vec<Vec<u8>> = (0..count).map(variant).collect();
    let digest = |asset: &Vec<u8>| Digest::of(asset).hex();
    for asset in &assets {
        fs::write(root.join(format!(".kdna/assets/sha256-{}.kdna", digest(asset))), asset).unwrap();
    }
    let phrase = format!("\"{TASK}\"");
    let rows: Vec<String> =
        assets.iter().enumerate().map(|(number, asset)| entry(number, &digest(asset), &phrase, "")).collect();
    fs::write(root.join(".kdna/attachments.json"), record(&rows)).unwrap();
    (root, assets)
}

fn attachments() {
    let scratch = Scratch::new();
    let (one, _) = workspace(&scratch, 1);
    let (many, assets) = workspace(&scratch, 64);
    row("resolve in process, 1 attachment", TIMES, || decide(&one, "load"));
    row("resolve in process, 64 distinct attachments", TIMES, || decide(&many, "ask"));
    row("hashing the 64 snapshots alone", TIMES, || {
        for asset in &assets {
            black_box(Digest::of(asset));
        }
    });
    row("judging the 64 snapshots alone", TIMES, || {
        for asset in &assets {
            black_box(standing(asset).unwrap());
        }
    });
    row("kdna resolve, 1 attachment", TIMES, || command(&scratch, &one));
    row("kdna resolve, 64 distinct attachments", TIMES, || command(&scratch, &many));
}

/// As the worker has it.
struct Embedded;

impl Inspector for Embedded {
    fn standing(&self, bytes: &[u8]) -> Result<Standing, NotAnAsset> {
        standing(bytes).map_err(|_| NotAnAsset)
    }
}

fn decide(root: &Path, expected: &str) {
    let system = OsSystem::new();
    let path = AbsolutePath::parse(root.to_str().unwrap()).unwrap();
    let directory = system.open_directory(&path).unwrap();
    let request = ResolveRequest {
        workspace: RelativePath::default(),
        display_root: ".".to_owned(),
        absolute_root: path.as_str().to_owned(),
        task: TASK.as_bytes(),
        task_source: TaskSource::Stdin,
        selection: None,
        defer_password: false,
        hardened: false,
    };
    let answer = resolve(&system, &directory, &request, &Embedded).unwrap();
    assert_eq!(answer.get("decision").and_then(|word| word.as_str()), Some(expected));
}

fn command(scratch: &Scratch, root: &Path) {
    let root = root.to_str().unwrap();
    let command = scratch.command(Program::Owner, ["resolve", "--cwd", root, "--task-stdin"]);
    assert!(run(command, Some(TASK.as_bytes())).stdout.starts_with(b"{"));
}

/// A record as full as the limits admit: 1,024 attachments, up to 512 phrases each, a mebibyte altogether.
fn full(phrase: fn(usize) -> String) -> Record {
    let hex = Digest::of(b"asset").hex();
    let bare = record(&(0..limits::ATTACHMENTS).map(|number| entry(number, &hex, "\"x\"", "")).collect::<Vec<_>>());
    let spare = usize::try_from(limits::RECORD_BYTES).unwrap() - bare.len();
    let (mut rows, mut used, mut next) = (Vec::new(), 0, 0);
    for number in 0..limits::ATTACHMENTS {
        let mut lists = [Vec::new(), Vec::new()];
        // What does not fit any more is left out; an even share would give each attachment a handful.
        for list in &mut lists {
            let mut seen = std::collections::BTreeSet::new();
            for _ in 0..limits::PHRASES {
                let phrase = format!("\"{}\"", phrase(next));
                next += 1;
                if used + phrase.len() + 1 > spare {
                    break;
                }
                if seen.insert(phrase.clone()) {
                    used += phrase.len() + 1;
                    list.push(phrase);
                }
            }
        }
        let [mut applies, excludes] = lists;
        if applies.is_empty() {
            applies.push("\"x\"".to_owned());
        }
        rows.push(entry(number, &hex, &applies.join(","), &excludes.join(",")));
    }
    Record::read(record(&rows).as_bytes()).expect("a record within the limits")
}

/// Different texts of four symbols, of which every part of three occurs in the task.
fn of_four(number: usize, symbols: [&str; 4], separator: &str) -> String {
    let digits = (0..9).map(|place| symbols[number / 4_usize.pow(place) % 4]);
    digits.collect::<Vec<_>>().join(separator)
}

type Worst = (&'static str, fn() -> String, fn(usize) -> String);

const WORST: [Worst; 6] = [
    ("short tokens", || fill("a b d c b a c d "), |number| of_four(number, ["a", "b", "c", "d"], " ")),
    ("long tokens", || fill("abcdabdcbadc"), |number| of_four(number, ["a", "b", "c", "d"], "")),
    (
        "tokens within each other",
        || (0..350).flat_map(|size| ["a".repeat(4 + size), "b ".to_owned()]).collect(),
        |number| format!("{}{number}", "a".repeat(4000)),
    ),
    ("quotations", || fill("\"draft article "), |number| format!("draft article {}", ". ".repeat(number % 200))),
    ("ideographs", || fill("写文章诗写章文诗"), |number| of_four(number, ["写", "文", "章", "诗"], "")),
    ("one ideograph", || fill("写"), |number| format!("{}{}", "写".repeat(number % 250), number)),
];

/// A text repeated up to the limit of a task.
fn fill(text: &str) -> String {
    text.repeat(usize::try_from(limits::TASK_BYTES).unwrap() / text.len())
}

fn tasks() {
    let typical: Vec<String> = (0..4)
        .map(|number| entry(number, &Digest::of(b"asset").hex(), "\"review the pull request\"", "\"write docs\""))
        .collect();
    let typical = Record::read(record(&typical).as_bytes()).unwrap();
    let time = |name: &str, task: &str, record: &Record| {
        row(name, 5, || assert!(black_box(effort(task.as_bytes(), record)).is_ok()));
    };
    time("matching: 4 attachments, a short task", TASK, &typical);
    for (name, task, phrase) in WORST {
        let (task, record) = (task(), full(phrase));
        let phrases: usize =
            record.attachments().iter().map(|one| one.scope.applies_to.len() + one.scope.does_not_apply_to.len()).sum();
        time(&format!("matching at the limits: {name} ({phrases} phrases)"), &task, &record);
    }
}
