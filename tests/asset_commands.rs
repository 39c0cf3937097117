//! `kdna` as started by a person: arguments and passwords are taken and refused as recorded, and a password goes nowhere
//! but into the runtime.
#![cfg(feature = "runtime")]
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

#[path = "runtime_vectors/asset_bytes.rs"]
mod asset_bytes;
#[path = "support/protect.rs"]
mod protect;
mod support;

use asset_bytes::base64;
use protect::{HIDDEN, Item, PASSWORD, asset, binary, envelope, judgment};
use serde_json::Value as Json;
use support::command::{Exit, Finished, Program, Scratch, run};
use support::package;

const ARGON2ID: &str = "kdna.encryption.password";

fn fixture(name: &str) -> Json {
    let path = package().join("fixtures/core").join(name);
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn asset_of(document: &Json, key: &str) -> Vec<u8> {
    base64(document[key].as_str().unwrap())
}

fn exit_of(case: &Json) -> Exit {
    Exit::Status(i32::try_from(case["exit"].as_i64().unwrap()).unwrap())
}

#[test]
fn arguments_are_taken_and_refused_in_the_recorded_words() {
    let document = fixture("cli.json");
    let scratch = Scratch::new();
    let path = scratch.file("a.kdna", asset_of(&document, "asset_b64"), 0o600);
    let cases = document["argv_cases"].as_array().unwrap();
    assert_eq!(cases.len(), 39);
    for case in cases {
        let words = case["argv"].as_array().unwrap().iter();
        let words: Vec<String> =
            words.map(|word| word.as_str().unwrap().replace("@ASSET_PATH@", path.to_str().unwrap())).collect();
        let given = run(scratch.command(Program::Owner, &words), None);
        assert_eq!(given.exit, exit_of(case), "{words:?}");
        assert_eq!(given.stderr_text(), case["stderr"].as_str().unwrap(), "{words:?}");
        assert_eq!(given.stdout.is_empty(), case["stdout_empty"], "{words:?}");
    }
}

/// The inputs that are stored as a description: so many letters, and the line end that is named.
fn described(name: &str) -> Vec<u8> {
    let (length, end) = match name {
        "len16384_crlf" => (16_384, "\r\n"),
        "len16386_with_lf" => (16_386, "\n"),
        plain => (plain.strip_prefix("len").unwrap().parse().unwrap(), ""),
    };
    [&vec![b'a'; length], end.as_bytes()].concat()
}

fn unhexed(text: &str) -> Vec<u8> {
    (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
}

#[test]
fn a_password_on_standard_input_counts_as_recorded() {
    let document = fixture("cli.json");
    let protected = fixture("doc-protected-scrypt.json");
    let scratch = Scratch::new();
    scratch.file("a.kdna", asset_of(&protected, "kdna_b64"), 0o600);
    let cases = document["password_stdin"]["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 22);
    for case in cases {
        let id = case["id"].as_str().unwrap();
        let input = case["stdin_hex"].as_str().map_or_else(|| described(id), unhexed);
        let given = load(&scratch, "a.kdna", &input);
        assert_eq!(given.exit, exit_of(case), "{id}");
        assert_eq!(given.stderr_text(), case["stderr"].as_str().unwrap(), "{id}");
        assert_eq!(given.stdout.is_empty(), given.exit != Exit::Status(0), "{id}");
    }
}

fn load(scratch: &Scratch, file: &str, password: &[u8]) -> Finished {
    run(scratch.command(Program::Owner, ["load", file, "--profile=full", "--password-stdin"]), Some(password))
}

#[test]
fn a_wrong_password_and_a_damaged_envelope_give_the_same_answer() {
    let honest = envelope(&judgment().bytes(), Some((8, 1, 1)));
    let damaged = honest.with(&["tag"], binary(&[0; 16]));
    let costly = honest.with(&["password_kdf", "memory_kib"], Item::Number(1 << 30));
    let scratch = Scratch::new();
    let files = [("honest", &honest), ("damaged", &damaged), ("costly", &costly)];
    for (name, envelope) in files {
        scratch.file(name, asset(&envelope.bytes(), ARGON2ID), 0o600);
    }
    let opened = load(&scratch, "honest", PASSWORD);
    assert_eq!(opened.exit, Exit::Status(0), "{}", opened.stderr_text());
    assert!(opened.stdout_text().contains(HIDDEN));
    let secret = std::str::from_utf8(PASSWORD).unwrap();
    assert!(!opened.stdout_text().contains(secret) && !opened.stderr_text().contains(secret));
    for (file, password) in
        [("honest", &b"wrong"[..]), ("damaged", PASSWORD), ("damaged", b"wrong"), ("costly", PASSWORD)]
    {
        let refused = load(&scratch, file, password);
        assert_eq!(refused.exit, Exit::Status(1), "{file}");
        let said = refused.stderr_text();
        let (code, more) = said.split_once('\n').unwrap();
        assert_eq!(code, "Error: operation failed safely [KDNA_DECRYPT_FAILED].", "{file}");
        // What a derivation would cost is in the clear, and says nothing of the password.
        assert_eq!(more.contains("no password was tried"), file == "costly", "{file}: {more}");
        assert!(file == "costly" || more.is_empty(), "{file}: {more}");
        assert!(refused.stdout.is_empty(), "{file}");
    }
}

/// The largest derivation that is admitted, beside the largest payload that an envelope can hold, has room in the
/// worker's memory limit.
#[test]
fn the_largest_admitted_derivation_and_payload_fit_the_worker() {
    let large = protect::long_judgment(780_000).bytes();
    let scratch = Scratch::new();
    for cost in [(262_144, 1, 8), (65_536, 16, 1)] {
        scratch.file("a.kdna", asset(&envelope(&large, Some(cost)).bytes(), ARGON2ID), 0o600);
        let given = load(&scratch, "a.kdna", PASSWORD);
        assert_eq!(given.exit, Exit::Status(0), "{cost:?}: {}", given.stderr_text());
        assert!(given.stdout.len() > 780_000, "{cost:?}");
    }
}

#[test]
fn the_later_contract_is_spoken_only_where_a_command_is_told_to() {
    let document = fixture("doc-rich.json");
    let scratch = Scratch::new();
    scratch.file("a.kdna", asset_of(&document, "kdna_b64"), 0o600);
    let kdna = |words: &[&str]| run(scratch.command(Program::Owner, words), None);
    let plan = kdna(&["plan-load", "a.kdna"]);
    assert!(plan.exit == Exit::Status(0) && !plan.stdout_text().contains("signature"), "{}", plan.stdout_text());
    let told = kdna(&["plan-load", "a.kdna", "--signatures"]);
    assert!(told.exit == Exit::Status(0) && told.stdout_text().contains("\"signature_state\": \"absent\","));
    let minimal = kdna(&["load", "a.kdna", "--profile=minimal"]);
    assert_eq!((minimal.exit, minimal.stdout_text().as_str()), (Exit::Status(1), ""));
    let told = kdna(&["load", "a.kdna", "--profile=minimal", "--minimal"]);
    assert!(told.exit == Exit::Status(0) && told.stdout_text().contains("\"profile\": \"minimal\""));
    for command in ["inspect", "validate"] {
        let version = |words: &[&str]| kdna(words).stdout_text().contains("\"loader_version\": \"0.22.0\"");
        assert!(!version(&[command, "a.kdna"]) && version(&[command, "a.kdna", "--minimal"]), "{command}");
    }
    let both = kdna(&["validate", "a.kdna", "--runtime", "--signatures", "--minimal"]).stdout_text();
    assert_eq!(both.matches("\"signature_valid\": true").count(), 2, "{both}");
}
