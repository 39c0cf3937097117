//! What deciding one task costs: 64 distinct attachments beside one and the hashing of their snapshots, and the worst tasks
//! and records that the limits admit beside a typical one.
//!
//! The snapshots are 64 of the smallest kind (2 KB: next to nothing to hash, so what is paid for each attachment shows
//! most) and 64 of 200 KB, all of different digests. Either one of them applies to the task and is loaded, or all do: then
//! the answer is a question, and each is looked into. Of every row the median of the wall time and of the processor time is
//! printed, of a command that of all its processes. The promise is in the rows `ratio`: 64 attachments over the sum of one
//! attachment and the hashing. Prints milliseconds; judges nothing: a noisy machine must not fail a build.
//! `tests/resolver_effort.rs` holds the work to a bound.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement that cannot be arranged must stop, and says why"
)]

#[path = "../tests/support/content.rs"]
mod content;
#[path = "../tests/support/mod.rs"]
mod support;
mod timing;

use content::Numbers;
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::limits;
use kdna_broker::foundation::path::{AbsolutePath, RelativePath};
use kdna_broker::foundation::record::Record;
use kdna_broker::runtime::resolver::{Inspector, NotAnAsset, ResolveRequest, TaskSource, effort, resolve};
use kdna_broker::runtime::writer::{Parts, Payload, pack};
use kdna_broker::runtime::{Standing, standing};
use kdna_broker::system::Observe;
use kdna_broker::system::os::OsSystem;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike as _;
use std::collections::BTreeSet;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;
use support::command::{Program, Scratch};
use support::package;
use timing::{at, ended, times};

const TASK: &str = "review the pull request";
const COUNT: usize = 64;

fn main() {
    println!("{:58} {:>9} {:>9}", "milliseconds, median", "wall", "processor");
    attachments("2 KB", &(0..COUNT).map(variant).collect::<Vec<_>>(), 101);
    attachments("200 KB, a picture in each", &(0..COUNT).map(illustrated).collect::<Vec<_>>(), 21);
    attachments("200 KB, all of it judgment", &(0..COUNT).map(wordy).collect::<Vec<_>>(), 5);
    tasks();
}

/// The medians of some runs, in milliseconds.
#[derive(Clone, Copy)]
struct Cost {
    wall: f64,
    processor: f64,
}

impl Cost {
    /// Of work in this process or, with `RUSAGE_CHILDREN`, in programs that it starts and waits for.
    fn of(who: UsageWho, count: usize, mut work: impl FnMut()) -> Self {
        let mut processor = Vec::with_capacity(count);
        let wall = times(count, || {
            let before = processor_time(who);
            work();
            processor.push(processor_time(who).saturating_sub(before));
        });
        processor.sort();
        Self { wall: at(&wall, 50), processor: at(&processor, 50) }
    }

    fn print(self, name: &str) {
        println!("{name:58} {:9.3} {:9.3}", self.wall, self.processor);
    }
}

/// The time that a command's processes took: exact in microseconds, as the kernel shares it out.
fn processor_time(who: UsageWho) -> Duration {
    let usage = getrusage(who).unwrap();
    let microseconds = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
    Duration::from_micros(u64::try_from(microseconds).unwrap())
}

/// The fixture with other times in its directory: another digest, the same content. Nothing that was decoded for one
/// asset is kept for the next, so that it is the same costs nothing less.
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

/// An asset of about 200 KB that are one picture, which was compressed before.
fn illustrated(number: usize) -> Vec<u8> {
    let mut numbers = Numbers::new(u64::try_from(number).unwrap());
    let picture = (0..198_000).map(|_| numbers.byte()).collect();
    packed(content::SMALL_PAYLOAD, vec![("attachments/picture.webp".to_owned(), picture)])
}

/// An asset of about 200 KB that are judgment: half a megabyte of text, which compresses less well than prose does.
fn wordy(number: usize) -> Vec<u8> {
    let mut numbers = Numbers::new(u64::try_from(number).unwrap());
    let mut sentence = || (0..12).map(|_| format!("{:x}", numbers.below(1 << 20))).collect::<Vec<_>>().join(" ");
    let mut list = |count: usize| (0..count).map(|_| format!("\"{}\"", sentence())).collect::<Vec<_>>().join(",");
    let (axioms, boundaries) = (list(3_000), list(2_100));
    let payload = format!(
        r#"{{"profile":"kdna.payload.judgment","profile_version":"0.1.0","core":{{"highest_question":"Why?","axioms":[{axioms}],"boundaries":[{boundaries}]}}}}"#
    );
    packed(&payload, Vec::new())
}

const MANIFEST: &str = r#"{"format_version":"0.1.0","asset_id":"kdna:golden:review","asset_uid":"urn:uuid:b","asset_type":"domain","title":"bench","version":"1.0.0","judgment_version":"1.0.0","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","compatibility":{"min_loader_version":"0.21.0","profile":"kdna.payload.judgment","profile_version":"0.1.0"},"payload":{"path":"payload.kdnab","encoding":"cbor","encrypted":false}}"#;

fn packed(payload: &str, attachments: Vec<(String, Vec<u8>)>) -> Vec<u8> {
    let payload = Payload::Json(payload.as_bytes().to_vec());
    pack(&Parts { manifest: MANIFEST.into(), payload, attachments }).unwrap()
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

/// A workspace with these assets attached, of which so many apply to the task.
fn workspace(scratch: &Scratch, name: &str, assets: &[Vec<u8>], applying: usize) -> PathBuf {
    let root = scratch.directory(name, 0o755);
    fs::create_dir_all(root.join(".kdna/assets")).unwrap();
    let digests: BTreeSet<String> = assets.iter().map(|asset| Digest::of(asset).hex()).collect();
    assert_eq!(digests.len(), assets.len(), "of different digests");
    for asset in assets {
        fs::write(root.join(format!(".kdna/assets/sha256-{}.kdna", Digest::of(asset).hex())), asset).unwrap();
    }
    let phrase = |number| if number < applying { format!("\"{TASK}\"") } else { "\"translate a chapter\"".to_owned() };
    let rows: Vec<String> =
        digests.iter().enumerate().map(|(number, digest)| entry(number, digest, &phrase(number), "")).collect();
    fs::write(root.join(".kdna/attachments.json"), record(&rows)).unwrap();
    root
}

fn attachments(kind: &str, assets: &[Vec<u8>], count: usize) {
    use UsageWho::{RUSAGE_CHILDREN, RUSAGE_SELF};
    let scratch = Scratch::new();
    let place = |name, assets, applying| workspace(&scratch, name, assets, applying);
    let (one, clear, many) = (place("one", &assets[..1], 1), place("clear", assets, 1), place("many", assets, COUNT));
    println!("{COUNT} distinct snapshots of {kind}, each of {} bytes", assets.iter().map(Vec::len).max().unwrap());
    let each = |work: &dyn Fn(&[u8])| Cost::of(RUSAGE_SELF, count, || assets.iter().for_each(|asset| work(asset)));
    let hashing = each(&|asset| {
        black_box(Digest::of(asset));
    });
    hashing.print("  hashing them");
    each(&|asset| drop(black_box(standing(asset).unwrap()))).print("  judging them");
    let inside = |root: &Path, word| Cost::of(RUSAGE_SELF, count, || decide(root, word));
    let inside = [inside(&one, "load"), inside(&clear, "load"), inside(&many, "ask")];
    compare("in process", inside, hashing);
    let outside = |root: &Path| Cost::of(RUSAGE_CHILDREN, count, || command(&scratch, root));
    compare("kdna resolve", [outside(&one), outside(&clear), outside(&many)], hashing);
}

/// The rows, and what the promise is about.
fn compare(what: &str, [one, clear, many]: [Cost; 3], hashing: Cost) {
    one.print(&format!("  {what}, 1 attachment"));
    for (which, cost) in [("1 applies", clear), ("all apply", many)] {
        cost.print(&format!("  {what}, {COUNT}, {which}"));
        let ratio = |part: fn(Cost) -> f64| part(cost) / (part(one) + part(hashing));
        let name = format!("  {what}, ratio: {COUNT}, {which}, over 1 and the hashing");
        println!("{name:58} {:8.2}x {:8.2}x", ratio(|cost| cost.wall), ratio(|cost| cost.processor));
    }
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
    assert!(ended(command, TASK.as_bytes()).stdout.starts_with(b"{"));
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
            let mut seen = BTreeSet::new();
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
        let cost = Cost::of(UsageWho::RUSAGE_SELF, 5, || assert!(black_box(effort(task.as_bytes(), record)).is_ok()));
        cost.print(name);
    };
    time("matching: 4 attachments, a short task", TASK, &typical);
    for (name, task, phrase) in WORST {
        let (task, record) = (task(), full(phrase));
        let phrases: usize =
            record.attachments().iter().map(|one| one.scope.applies_to.len() + one.scope.does_not_apply_to.len()).sum();
        time(&format!("matching at the limits: {name} ({phrases} phrases)"), &task, &record);
    }
}
