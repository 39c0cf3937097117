//! What a plan and a load cost beside the work that cannot be left out: inflating the entries of the file, making the digests
//! that the contract demands, and printing the reply. Those digests are one of each entry (for `checksums.json`), one more of
//! each JSON entry (in its stable form, for the digest of the content), one over the digests of manifest and payload, and
//! for a plan the fingerprint of the source, which covers the payload again, for a load that of the file and one over the
//! digests of all entries. What reading and judging the entries costs is no part of the floor.
//!
//! Prints milliseconds of processor time (mean of the rounds of two seconds, in one process), the ratio, and the peak
//! memory of the real command for every fixture. Judges nothing: a noisy machine must not fail a build.
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement that cannot be arranged must stop, and says why"
)]

#[path = "../tests/support/mod.rs"]
mod support;

use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::json::write::{compact, pretty};
use kdna_broker::foundation::time::Timestamp;
use kdna_broker::foundation::value::Value;
use kdna_broker::runtime::writer::{Parts, Payload, pack, payload_cbor};
use kdna_broker::runtime::{self, Asset, Container, InputKind, LoadInput, LoadProfile, PlanInput};
use miniz_oxide::inflate::decompress_to_vec;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};
use support::command::{Program, Scratch};
use support::{package, peak, shared};

const MANIFEST: &[u8] = br#"{"format_version":"0.1.0","asset_id":"kdna:bench:a","asset_uid":"urn:uuid:b","asset_type":"domain","title":"bench","version":"1.0.0","judgment_version":"1.0.0","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","compatibility":{"min_loader_version":"0.21.0","profile":"kdna.payload.judgment","profile_version":"0.1.0"},"payload":{"path":"payload.kdnab","encoding":"cbor","encrypted":false}}"#;
const QUESTION: &str = "Would a tired engineer understand this change at three in the morning?";
/// Parts of words: texts of these compress about as well as prose does.
const SYLLABLES: [&str; 32] = [
    "a", "be", "con", "de", "er", "for", "gen", "hy", "in", "ju", "ka", "lo", "ment", "no", "or", "per", "qua", "re",
    "sta", "tion", "un", "ver", "wo", "xi", "yet", "zo", "ly", "ing", "the", "ex", "pro", "dis",
];
const SECONDS: u64 = 2;

fn main() -> ExitCode {
    if let Some(code) = peak::stand_in_between() {
        return code;
    }
    println!("{:26} {:>9} {:>9} {:>7}", "", "ms", "floor ms", "ratio");
    for (name, bytes) in [("2 KB", 2_000), ("1 MB", 1_000_000), ("4.5 MB", 4_500_000)] {
        times(name, bytes);
    }
    println!("\n{:70} {:>9}", "largest memory of validate, load full and load compact", "KiB");
    for path in assets() {
        memory(&path);
    }
    ExitCode::SUCCESS
}

/// A payload of about this many bytes: rules, boundaries and cases in the proportions of a real one.
fn payload(bytes: usize) -> Value {
    let text = |at: usize| Value::from(prose(at));
    let rule = |at| {
        Value::object([("id", Value::from(format!("r{at}"))), ("statement", text(at)), ("full_statement", text(at))])
    };
    let list = |count: usize, item: &dyn Fn(usize) -> Value| Value::Array((0..count).map(item).collect());
    let unit = (bytes / 900).clamp(1, 9_000);
    let core = Value::object([
        ("highest_question", Value::from(QUESTION)),
        ("axioms", list(unit, &rule)),
        ("boundaries", list(unit, &text)),
    ]);
    Value::object([
        ("profile", Value::from("kdna.payload.judgment")),
        ("profile_version", "0.1.0".into()),
        ("core", core),
        ("patterns", list(unit, &rule)),
        (
            "cases",
            list(unit, &|at| {
                Value::object([("text", text(at)), ("weight", Value::from(1u32)), ("tags", list(2, &text))])
            }),
        ),
    ])
}

/// About a hundred characters, others for each number.
fn prose(number: usize) -> String {
    let mut state = u64::try_from(number).unwrap_or(0).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut text = format!("{number}:");
    for _ in 0..14 {
        for _ in 0..=state % 3 {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            text.push_str(SYLLABLES[usize::try_from(state >> 59).unwrap_or(0)]);
        }
        text.push(' ');
    }
    text
}

fn times(name: &str, bytes: usize) {
    let payload = payload(bytes);
    let content = payload_cbor(&payload).expect("a payload");
    let json = compact(&payload).expect("its text").into_bytes();
    let parts = Parts { manifest: MANIFEST.to_vec(), payload: Payload::Json(json), attachments: Vec::new() };
    let asset = pack(&parts).expect("an asset");
    let entries = entries(&asset);
    println!("{name}: a payload of {} bytes, a file of {} bytes", content.len(), asset.len());
    // A line for each entry that a digest covers: its name and the digits of its digest.
    let line = |name: &str| format!("{name}:{}\n", "0".repeat(64));
    let set = ["kdna.json", "payload.kdnab"].map(line).concat();
    let tree = ["checksums.json", "kdna.json", "mimetype", "payload.kdnab"].map(line).concat();
    let floor = |document: &Value, further: &[u8], over: &[&str]| {
        mean(|| {
            for Entry { is_deflated, is_json, data } in &entries {
                let content = if *is_deflated { Some(decompress_to_vec(data).expect("its own output")) } else { None };
                let content = content.as_deref().unwrap_or(data);
                black_box((Digest::of(content), is_json.then(|| Digest::of(content))));
            }
            for lines in over {
                black_box(Digest::of(lines.as_bytes()));
            }
            black_box((Digest::of(further), pretty(document).expect("text")));
        })
    };
    let plan = || runtime::plan(&asset, &PlanInput::default()).expect("a plan");
    row("plan-load", mean(|| drop(black_box(pretty(&plan())))), floor(&plan(), &content, &[&set]));
    for profile in [LoadProfile::Index, LoadProfile::Compact, LoadProfile::Full] {
        let now = Timestamp::from_milliseconds(0);
        let kind = InputKind::PackagedBytes;
        let input = LoadInput { profile, password: None, entitlement_status: None, loaded_at: now, input_kind: kind };
        let load = || {
            let container = Container::read(&asset).expect("a container");
            drop(black_box(
                Asset::read_for_load(&container).and_then(|asset| asset.load_text(&input)).expect("a Capsule"),
            ));
        };
        let capsule = runtime::load(&asset, profile, None, None, now, kind).expect("a Capsule");
        row(&format!("load {}", profile.as_str()), mean(load), floor(&capsule, &asset, &[&set, &tree]));
    }
}

struct Entry {
    is_deflated: bool,
    is_json: bool,
    data: Vec<u8>,
}

/// The entries of a file that was just packed, in their order.
fn entries(asset: &[u8]) -> Vec<Entry> {
    let number = |at: usize| usize::from(u16::from_le_bytes([asset[at], asset[at + 1]]));
    let (mut found, mut at) = (Vec::new(), 0);
    while asset[at..].starts_with(b"PK\x03\x04") {
        let begin = at + 30 + number(at + 26) + number(at + 28);
        let end = begin + number(at + 18) + (number(at + 20) << 16);
        let is_json = asset[at + 30..begin].ends_with(b".json");
        found.push(Entry { is_deflated: number(at + 8) == 8, is_json, data: asset[begin..end].to_vec() });
        at = end;
    }
    found
}

/// The mean processor time of a round: on a busy machine wall time would also count others' work, and the processor's
/// clock is too coarse for one short round.
fn mean(mut work: impl FnMut()) -> Duration {
    let end = Instant::now() + Duration::from_secs(SECONDS);
    let begun = processor_time();
    let mut rounds = 0;
    while Instant::now() < end {
        work();
        rounds += 1;
    }
    processor_time().saturating_sub(begun) / rounds
}

fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn row(name: &str, taken: Duration, floor: Duration) {
    let (taken, floor) = (taken.as_secs_f64() * 1000.0, floor.as_secs_f64() * 1000.0);
    println!("  {name:24} {taken:>9.3} {floor:>9.3} {:>7.2}", taken / floor);
}

/// Every asset of the fixtures and of the shared vectors, each content once.
fn assets() -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![package().join("fixtures")];
    folders.extend(shared());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").map_while(Result::ok) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "kdna") {
                found.push((Digest::of(&fs::read(&path).unwrap_or_default()), path));
            }
        }
    }
    found.sort_by(|left, right| (left.0, &left.1).cmp(&(right.0, &right.1)));
    found.dedup_by_key(|(digest, _)| *digest);
    let mut paths: Vec<PathBuf> = found.into_iter().map(|(_, path)| path).collect();
    paths.sort();
    paths
}

fn memory(path: &Path) {
    let scratch = Scratch::new();
    fs::copy(path, scratch.path().join("a.kdna")).expect("a copy");
    let questions: [&[&str]; 3] = [&["validate", "--runtime"], &["load", "--profile=full"], &["load"]];
    let one =
        |question: &[&str]| peak::peak(Program::Owner.path(), &[question, &["a.kdna"]].concat(), scratch.path()).1;
    let largest = questions.into_iter().map(one).max().unwrap_or(0);
    let shown = path.components().rev().take(3).collect::<Vec<_>>();
    let shown: PathBuf = shown.into_iter().rev().collect();
    println!("{:70} {largest:>9}", shown.display());
}
