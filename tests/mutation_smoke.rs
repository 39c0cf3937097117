//! The promises of the fuzz targets (`fuzz/checks.rs`), held for some seconds against damaged fixtures. Deterministic for
//! its seed, which it prints: `KDNA_SEED` sets another one, `KDNA_MUTATION_SECONDS` another time.
#![cfg(feature = "runtime")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

#[path = "runtime_vectors/asset_bytes.rs"]
mod asset_bytes;
#[path = "../fuzz/checks.rs"]
mod checks;
#[path = "support/content.rs"]
mod content;

use content::Numbers;
use kdna_broker::foundation::json::read_javascript;
use kdna_broker::runtime::writer::payload_cbor;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Rounds that are made however slow the machine is, and the share of the time that one way in gets.
const ROUNDS: usize = 200;
const SECONDS: u64 = 20;
const WAYS: u64 = 9;

fn seconds() -> Duration {
    let set = std::env::var("KDNA_MUTATION_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(set.unwrap_or(SECONDS)) / u32::try_from(WAYS).unwrap()
}

/// Damages seeds until the time is over, and at least [`ROUNDS`] times.
fn damage(seeds: &[Vec<u8>], check: fn(&[u8])) {
    assert!(!seeds.is_empty(), "no seeds");
    let seed = content::seed();
    println!("seed {seed}");
    for whole in seeds {
        check(whole);
    }
    let mut numbers = Numbers::new(seed);
    let end = Instant::now() + seconds();
    let mut rounds = 0;
    while rounds < ROUNDS || Instant::now() < end {
        let mut bytes = seeds[numbers.below(seeds.len())].clone();
        for _ in 0..=numbers.below(5) {
            mutate(&mut bytes, &seeds[numbers.below(seeds.len())], &mut numbers);
        }
        check(&bytes);
        rounds += 1;
    }
    println!("{rounds} rounds");
}

/// Bytes at which lengths, heads and signatures turn.
const TELLING: [u8; 16] = [0, 1, 0x7f, 0x80, 0xff, 0x9f, 0xbf, 0x1b, 0x5b, 0x7b, b'"', b'{', b'[', b'\\', b'P', b'\n'];

fn mutate(bytes: &mut Vec<u8>, other: &[u8], numbers: &mut Numbers) {
    let at = numbers.below(bytes.len() + 1);
    let longest = 1 << numbers.below(8);
    let length = numbers.below(longest);
    let end = (at + length).min(bytes.len());
    match numbers.below(8) {
        0 => drop(bytes.drain(at..end)),
        1 => drop(bytes.splice(at..at, bytes[at..end].to_vec())),
        2 => {
            let from = numbers.below(other.len() + 1);
            let piece = other[from..(from + length).min(other.len())].to_vec();
            drop(bytes.splice(at..end, piece));
        }
        3 => bytes.truncate(at),
        4 => bytes.insert(at, TELLING[numbers.below(TELLING.len())]),
        5 => change(bytes, at, |_| TELLING[numbers.below(TELLING.len())]),
        6 => change(bytes, at, |byte| byte ^ (1 << numbers.below(8))),
        _ => change(bytes, at, |_| numbers.byte()),
    }
}

fn change(bytes: &mut [u8], at: usize, to: impl FnOnce(u8) -> u8) {
    if let Some(byte) = bytes.get_mut(at) {
        *byte = to(*byte);
    }
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// Every file below the fixtures whose name is, or ends in, `name`; each content once.
fn files(name: &str) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    let mut folders = vec![fixtures()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_str().is_some_and(|path| path.ends_with(name)) {
                found.push(fs::read(path).unwrap());
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// Packaged assets of the fixtures, and every file, honest or not, that the recorded container cases hold.
fn assets() -> Vec<Vec<u8>> {
    let mut assets = files(".kdna");
    let cases = read_javascript(&fs::read(fixtures().join("core/container.json")).unwrap()).unwrap();
    let cases = cases.as_array().unwrap().iter().filter_map(|case| case.get("kdna_b64")?.as_str());
    assets.extend(cases.map(asset_bytes::base64));
    let parts = kdna_broker::runtime::writer::Parts {
        manifest: checks::MANIFEST.to_vec(),
        payload: kdna_broker::runtime::writer::Payload::Json(checks::PAYLOAD.to_vec()),
        attachments: vec![("attachments/a.json".to_owned(), b"[1]".to_vec())],
    };
    assets.push(kdna_broker::runtime::writer::pack(&parts).unwrap());
    assets
}

#[test]
fn damaged_containers_keep_the_promises_of_the_gates() {
    damage(&assets(), checks::container);
}

#[test]
fn damaged_assets_keep_the_promises_of_a_load() {
    damage(&assets(), checks::load);
}

#[test]
fn damaged_payloads_keep_the_promises_of_a_load() {
    damage(&[payload_cbor(&read_javascript(checks::PAYLOAD).unwrap()).unwrap()], checks::payload_cbor);
}

#[test]
fn damaged_envelopes_open_to_what_was_sealed_or_not_at_all() {
    let sealed = asset_bytes::base64(checks::ENVELOPE.trim());
    assert!(checks::is_cheap(&sealed), "the seed would not be opened at all");
    damage(&[sealed], checks::envelope);
}

#[test]
fn damaged_manifests_keep_the_promises_of_a_load() {
    damage(&[checks::MANIFEST.to_vec()], checks::manifest);
}

#[test]
fn damaged_payload_texts_come_back_as_they_were_written() {
    damage(&[checks::PAYLOAD.to_vec(), content::SMALL_PAYLOAD.into()], checks::payload_json);
}

#[test]
fn damaged_consents_keep_the_promises_of_the_reader() {
    damage(&files("processing-consent.json"), checks::consent);
}

#[test]
fn damaged_records_keep_the_promises_of_the_reader() {
    damage(&files(".kdna/attachments.json"), checks::record);
}

#[test]
fn damaged_frames_are_answered_in_whole_lines() {
    let requests: Vec<_> = files("stdin").into_iter().filter(|bytes| bytes.starts_with(b"{\"jsonrpc\"")).collect();
    damage(&requests, checks::frames);
}
