//! No file makes the asset worker take more memory than a machine can spare: a bomb is refused within 32 MiB, and nothing
//! of at most 25 MiB takes more than 160 MiB, whatever is asked about it. Measured on the real command with its real
//! worker. No libtest harness: this executable also stands between the test and what is measured (`support/peak.rs`).
#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot be arranged must stop, and says why"
)]

#[path = "runtime_vectors/asset_bytes.rs"]
mod asset_bytes;
mod support;

use asset_bytes::{Entry, zip};
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use support::command::{Program, Scratch};
use support::peak;

const MIB: u64 = 1024;
const MANIFEST: &str = r#"{"format_version":"0.1.0","asset_id":"kdna:t:a","asset_uid":"urn:uuid:t","asset_type":"domain","title":"t","version":"1.0.0","judgment_version":"1.0.0","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","compatibility":{"min_loader_version":"0.21.0","profile":"kdna.payload.judgment","profile_version":"0.1.0"},"payload":{"path":"payload.kdnab","encoding":"cbor","encrypted":false}"#;
/// A plan takes less than a validation with a plan, the other profiles take less than these two.
const QUESTIONS: [&[&str]; 4] =
    [&["inspect"], &["validate", "--runtime"], &["load", "--profile=compact"], &["load", "--profile=full"]];

fn main() -> ExitCode {
    if let Some(code) = peak::stand_in_between() {
        return code;
    }
    let arguments: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let checks: [(&str, fn()); 3] = [
        ("a_bomb_is_refused_within_32_mebibytes", bombs),
        ("the_largest_file_of_the_smallest_values_stays_within_160_mebibytes", small_values),
        ("a_reply_that_would_be_too_long_is_not_built", long_replies),
    ];
    let (mut passed, mut failed) = (0, 0);
    for (name, check) in checks {
        if !cfg!(feature = "runtime") || !arguments.is_empty() && !arguments.iter().any(|word| name.contains(word)) {
            continue;
        }
        let held = catch_unwind(AssertUnwindSafe(check)).is_ok();
        *(if held { &mut passed } else { &mut failed }) += 1;
        println!("test {name} ... {}", if held { "ok" } else { "FAILED" });
    }
    println!("\n{passed} passed, {failed} failed");
    ExitCode::from(u8::from(failed > 0))
}

/// Asks what takes the most about a file; prints and returns the largest peak in KiB, and how the last question ended.
fn ask(name: &str, bytes: &[u8]) -> (i32, u64) {
    let scratch = Scratch::new();
    fs::write(scratch.path().join("a.kdna"), bytes).expect("a file");
    let mut largest = 0;
    let mut last = 0;
    for question in QUESTIONS {
        let arguments = [question, &["a.kdna"]].concat();
        let (exit, kibibytes) = peak::peak(Program::Owner.path(), &arguments, scratch.path());
        println!("  {name:40} {:20} exit {exit}, {kibibytes} KiB", question.join(" "));
        largest = largest.max(kibibytes);
        last = exit;
    }
    (last, largest)
}

fn asset<'a>(manifest: &'a [u8], payload: &'a [u8]) -> Vec<Entry<'a>> {
    vec![
        Entry::stored("mimetype", b"application/vnd.kdna.asset"),
        Entry::stored("kdna.json", manifest),
        Entry::stored("payload.kdnab", payload),
    ]
}

/// One DEFLATE stream of 1.5 MB that inflates to 1.5 GB of zeros: fixed-code matches of length 258 at distance 1.
fn bomb() -> Vec<u8> {
    const MATCHES: usize = 1_500_000 * 8 / 13;
    let mut bits: Vec<bool> = vec![true, true, false, false, false, true, true, false, false, false, false];
    let mut stream = Vec::new();
    for _ in 0..MATCHES {
        bits.extend([true, true, false, false, false, true, false, true, false, false, false, false, false]);
        let whole = bits.len() / 8 * 8;
        stream.extend(bits[..whole].chunks(8).map(byte));
        bits.drain(..whole);
    }
    bits.extend([false; 7]);
    stream.extend(bits.chunks(8).map(byte));
    stream
}

fn byte(bits: &[bool]) -> u8 {
    bits.iter().rev().fold(0, |value, bit| value << 1 | u8::from(*bit))
}

fn bombs() {
    let bomb = bomb();
    assert!(bomb.len() > 1_400_000 && bomb.len() < 1_600_000, "{}", bomb.len());
    let manifest = format!("{MANIFEST}}}");
    for (size, why) in [(26, "declared small"), (5_242_880, "declared at the limit"), (u32::MAX, "declared large")] {
        let mut entries = asset(manifest.as_bytes(), &bomb);
        entries[2].method = 8;
        entries[2].size = size;
        let (exit, kibibytes) = ask(&format!("a bomb, {why}"), &zip(&entries));
        assert_eq!(exit, 1, "refused");
        assert!(kibibytes < 32 * MIB, "{kibibytes} KiB: {why}");
    }
}

/// `count` values in lists of at most 9,999 items, each list one value itself, all below one key of a judgment payload.
fn payload(count: usize, item: &[u8], values_of_item: usize) -> Vec<u8> {
    let text = |text: &str| [&[0x60 | u8::try_from(text.len()).unwrap()][..], text.as_bytes()].concat();
    let mut payload = vec![0xa4];
    for word in ["profile", "kdna.payload.judgment", "profile_version", "0.1.0", "core"] {
        payload.extend(text(word));
    }
    payload.push(0xa2);
    payload.extend([text("highest_question"), text("Why?"), text("axioms"), vec![0x81], text("One.")].concat());
    payload.extend(text("patterns"));
    let mut left = (count - 20) / values_of_item;
    let lists = left.div_ceil(9_999);
    payload.extend([0x98, u8::try_from(lists).unwrap()]);
    while left > 0 {
        let items = left.min(9_999);
        payload.extend([&[0x99][..], &u16::try_from(items).unwrap().to_be_bytes()].concat());
        payload.extend(item.repeat(items));
        left -= items;
    }
    payload
}

/// The same as JSON text below a member of the manifest, and as a whole document.
fn json_lists(count: usize, item: &str, values_of_item: usize) -> String {
    let items = count / values_of_item;
    let list = |items| format!("[{}]", vec![item; items].join(","));
    let mut lists = vec![list(9_990); items / 9_990];
    lists.push(list(items % 9_990));
    format!("[{}]", lists.join(","))
}

fn small_values() {
    const VALUES: usize = 499_000;
    let shapes: [(&str, &[u8], &str, usize); 5] = [
        ("numbers", b"\x01", "1", 1),
        ("short texts", b"\x61a", "\"a\"", 1),
        ("lists of one", b"\x81\xf6", "[0]", 2),
        ("maps of one", b"\xa1\x61a\xf6", "{\"a\":0}", 3),
        ("maps of one map", b"\xa1\x61a\xa0", "{\"a\":{}}", 3),
    ];
    for (name, item, json_item, values) in shapes {
        let lists = json_lists(VALUES, json_item, values);
        let manifest = format!("{MANIFEST},\"x\":{lists}}}");
        let payload = payload(VALUES, item, values);
        let checksums = format!("{{\"algorithm\":\"sha256\",\"x\":{}}}", json_lists(VALUES / 3, json_item, values));
        let mut entries = asset(manifest.as_bytes(), &payload);
        entries.push(Entry::stored("checksums.json", checksums.as_bytes()));
        if manifest.len() + payload.len() + checksums.len() + lists.len() < 12_000_000 {
            entries.push(Entry::stored("attachments/a.json", lists.as_bytes()));
        }
        let mut bytes = zip(&entries);
        // Bytes between the records are allowed: with them the file is as large as it may be.
        let end = bytes.split_off(bytes.len() - 22);
        let padding = 26_214_400 - bytes.len() - end.len();
        bytes.extend(vec![7; padding]);
        bytes.extend(end);
        let (_, kibibytes) = ask(name, &bytes);
        assert!(kibibytes < 160 * MIB, "{kibibytes} KiB: {name}");
    }
    // Far more values than are decoded: 5.2 million bytes, each a number.
    let manifest = format!("{MANIFEST}}}");
    let many = payload(2_500_000, b"\x01", 1);
    let (exit, kibibytes) = ask("2,500,000 numbers", &zip(&asset(manifest.as_bytes(), &many)));
    assert_eq!(exit, 1, "refused");
    assert!(kibibytes < 64 * MIB, "{kibibytes} KiB");
}

/// Sixty lists around many numbers: each number takes two bytes of the asset and 130 of the reply.
fn long_replies() {
    let manifest = format!("{MANIFEST}}}");
    let item = [vec![0x81; 40], vec![0x98, 200], vec![1; 200]].concat();
    let payload = payload(499_000, &item, 241);
    let (exit, kibibytes) = ask("deep lists", &zip(&asset(manifest.as_bytes(), &payload)));
    assert_eq!(exit, 1, "refused");
    assert!(kibibytes < 96 * MIB, "{kibibytes} KiB");
}
