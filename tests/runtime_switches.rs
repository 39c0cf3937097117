//! The two switches beyond the base profile: off, nothing of them is there; on, documents and refusals are those of the
//! later contract, and a signature holds for exactly the content that was signed.
#![cfg(feature = "runtime")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout, clippy::string_slice)]

#[path = "runtime_vectors/asset_bytes.rs"]
mod asset_bytes;
#[path = "support/content.rs"]
mod content;

use asset_bytes::{Entry, base64, zip};
use ed25519_dalek::{Signer as _, SigningKey};
use kdna_broker::foundation::digest::{Digest, hex};
use kdna_broker::foundation::json::read_javascript;
use kdna_broker::foundation::json::write::{compact, pretty};
use kdna_broker::foundation::switches::Switches;
use kdna_broker::foundation::time::Timestamp;
use kdna_broker::foundation::value::{Tree, Value};
use kdna_broker::runtime::writer::payload_cbor;
use kdna_broker::runtime::{
    Asset, Container, EntitlementStatus, InputKind, LoadInput, LoadProfile, PlanInput, RuntimeFault, recognise,
};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

const BOTH: Switches = Switches { signatures: true, minimal: true };
const SIGNATURES: Switches = Switches { signatures: true, minimal: false };
const MINIMAL: Switches = Switches { signatures: false, minimal: true };
const INSTANT: &str = "2026-07-15T00:00:00.000Z";

fn plan(bytes: &[u8], switches: Switches, path: Option<&str>, status: Option<&str>) -> Result<Value, RuntimeFault> {
    let entitlement_status = status.and_then(EntitlementStatus::parse);
    let input = PlanInput { source_path: path, entitlement_status, ..PlanInput::default() };
    Asset::read_for_load(&Container::read_with(bytes, switches)?)?.plan(&input)
}

fn load(bytes: &[u8], switches: Switches, profile: LoadProfile) -> Result<Value, RuntimeFault> {
    load_with(bytes, switches, profile, None)
}

fn load_with(
    bytes: &[u8],
    switches: Switches,
    profile: LoadProfile,
    password: Option<&str>,
) -> Result<Value, RuntimeFault> {
    let password = password.map(str::as_bytes);
    let loaded_at = Timestamp::parse(INSTANT).unwrap();
    let input_kind = InputKind::PackagedFile;
    let input = LoadInput { profile, password, entitlement_status: None, loaded_at, input_kind };
    Asset::read_for_load(&Container::read_with(bytes, switches)?)?.load(&input).map(Tree::into_owned)
}

fn shared() -> Option<PathBuf> {
    let shared = std::env::var_os("KDNA_SHARED").map(PathBuf::from);
    if shared.is_none() {
        println!("skipped: KDNA_SHARED is not set");
    }
    shared
}

fn json(path: &Path) -> Json {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn shown(document: &Value) -> Json {
    serde_json::from_str(&pretty(document).unwrap()).unwrap()
}

/// Compares what the later contract recorded of one asset, and says how many replies there were.
fn compare(path: &Path) -> usize {
    let document = json(path);
    let bytes = base64(document["kdna_b64"].as_str().unwrap());
    let cases = document["core_0_22"].as_object().unwrap();
    for (line, case) in cases {
        let reply = match line.as_str() {
            "plan-load --json" => plan(&bytes, BOTH, Some("@ASSET_PATH@"), None),
            "load --profile=minimal --as=json" => {
                load_with(&bytes, BOTH, LoadProfile::Minimal, document["password"].as_str())
            }
            other => panic!("{other}"),
        };
        let recorded = case["stdout"].as_str().unwrap().replace("@LOADED_AT@", INSTANT);
        let where_it_is = format!("{} {line}", path.display());
        let remote = Asset::read(&Container::read_with(&bytes, BOTH).unwrap()).is_ok_and(|asset| asset.is_remote());
        // The command refuses a remote asset before it is loaded, and no password opens what is not closed.
        let deviates = remote || path.ends_with("doc-password-entitlement-plaintext.json");
        if deviates && line.starts_with("load") {
            assert!(reply.is_err(), "{where_it_is}");
            continue;
        }
        match reply {
            Ok(reply) => assert_eq!(pretty(&reply).unwrap(), recorded, "{where_it_is}"),
            Err(fault) => {
                assert_eq!(recorded, "", "{where_it_is}: {fault}");
                assert_eq!(format!("Error: {fault}\n"), case["stderr"].as_str().unwrap(), "{where_it_is}");
            }
        }
    }
    cases.len()
}

#[test]
fn documents_of_the_later_contract_equal_the_recorded_ones_byte_for_byte() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/core");
    for name in ["doc-rich.json", "doc-protected-argon2id.json", "doc-protected-scrypt.json"] {
        assert_eq!(compare(&fixtures.join(name)), 2, "{name}");
    }
    let Some(shared) = shared() else { return };
    let derived = std::fs::read_dir(shared.join("vectors/core/derived")).unwrap().map(|entry| entry.unwrap().path());
    let is_document = |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("doc-"));
    assert_eq!(derived.filter(is_document).map(|path| compare(&path)).sum::<usize>(), 40);
}

#[test]
fn authorization_plans_of_the_later_contract_equal_the_published_ones() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("vectors/core/authorization");
    let cases = json(&folder.join("cases.json"));
    for case in cases["cases"].as_array().unwrap() {
        let fixture = case["fixture"].as_str().unwrap();
        let names = ["mimetype", "kdna.json", "payload.kdnab", "checksums.json"];
        let contents =
            names.map(|name| (name, std::fs::read(folder.join("fixtures").join(fixture).join(name)).unwrap()));
        let bytes = zip(&contents.each_ref().map(|(name, data)| Entry::stored(name, data)));
        let arguments = case["cli_args"].as_array().unwrap();
        let status = arguments.iter().position(|word| word == "--entitlement-status");
        let status = status.and_then(|at| arguments[at + 1].as_str());
        let has_password = arguments.iter().any(|word| word == "--has-password");
        let path = format!("<fixture:{fixture}>");
        let input = PlanInput {
            has_password,
            entitlement_status: status.and_then(EntitlementStatus::parse),
            source_path: Some(&path),
        };
        let container = Container::read_with(&bytes, BOTH).unwrap();
        let document = Asset::read_for_load(&container).unwrap().plan(&input).unwrap();
        let golden = Path::new(case["golden"].as_str().unwrap()).file_name().unwrap();
        let golden = std::fs::read_to_string(folder.join("goldens-core-0.22").join(golden)).unwrap();
        assert_eq!(pretty(&document).unwrap(), golden, "{fixture}");
    }
}

/// The logical entries of an asset, to be changed and packed again.
#[derive(Clone)]
struct Entries(Vec<(String, Vec<u8>)>);

impl Entries {
    fn small() -> Self {
        let manifest = compact(&content::manifest(&mut content::Numbers::new(3))).unwrap();
        let payload = payload_cbor(&read_javascript(content::SMALL_PAYLOAD.as_bytes()).unwrap()).unwrap();
        let entry = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());
        Entries(vec![
            entry("mimetype", b"application/vnd.kdna.asset"),
            entry("kdna.json", manifest.as_bytes()),
            entry("payload.kdnab", &payload),
            entry("attachments/a.txt", b"attached"),
        ])
    }

    fn set(&mut self, name: &str, bytes: &[u8]) {
        self.0.retain(|(known, _)| known != name);
        self.0.push((name.to_owned(), bytes.to_vec()));
    }

    fn get(&self, name: &str) -> &[u8] {
        &self.0.iter().find(|(known, _)| known == name).unwrap().1
    }

    fn bytes(&self) -> Vec<u8> {
        let bytes = zip(&self.0.iter().map(|(name, data)| Entry::stored(name, data)).collect::<Vec<_>>());
        assert!(recognise(&bytes));
        bytes
    }

    fn content_digest(&self) -> String {
        let capsule = load(&self.bytes(), SIGNATURES, LoadProfile::Index).unwrap();
        shown(&capsule)["digests"]["content"]["value"].as_str().unwrap().to_owned()
    }

    /// The same, signed.
    fn signed(&self, seed: u8) -> Self {
        let key = SigningKey::from_bytes(&[seed; 32]);
        let content_digest = self.content_digest();
        let signature = key.sign(format!("kdsig.ed25519:0.1.0:{content_digest}").as_bytes());
        let document = Value::object([
            ("algorithm", Value::from("ed25519")),
            ("content_digest", content_digest.clone().into()),
            ("profile", "kdsig.ed25519".into()),
            ("profile_version", "0.1.0".into()),
            ("public_key", hex(key.verifying_key().as_bytes()).into()),
            ("signature", hex(&signature.to_bytes()).into()),
        ]);
        let mut signed = self.clone();
        signed.set("signature.kdsig", compact(&document).unwrap().as_bytes());
        signed
    }

    /// The one problem that a plan finds, and its code.
    fn problem(&self, why: &str) -> (String, String) {
        let bytes = self.bytes();
        let document = shown(&plan(&bytes, SIGNATURES, None, None).unwrap());
        assert_eq!((&document["state"], &document["signature_state"]), (&"invalid".into(), &"invalid".into()), "{why}");
        assert_eq!(document["checks"]["signature_valid"], false, "{why}");
        let issues = document["issues"].as_array().unwrap();
        assert_eq!(issues.len(), 1, "{why}: {issues:?}");
        let text = |key: &str| issues[0][key].as_str().unwrap().to_owned();
        let fault = load(&bytes, SIGNATURES, LoadProfile::Full).unwrap_err();
        assert_eq!(fault.code(), Some(text("code").as_str()), "{why}: the load says the same");
        (text("code"), text("message"))
    }
}

#[test]
fn without_the_switch_a_signed_asset_is_refused_and_nothing_says_signature() {
    let plain = Entries::small();
    let signed = plain.signed(7).bytes();
    for switches in [Switches::NONE, MINIMAL] {
        assert_eq!(plan(&signed, switches, None, None).unwrap_err().code(), None, "{switches:?}");
        assert!(Container::read_with(&signed, switches).is_err());
        let document = pretty(&plan(&plain.bytes(), switches, None, None).unwrap()).unwrap();
        assert!(!document.contains("signature"), "{document}");
    }
    let below = |name: &str| {
        let mut entries = Entries::small();
        entries.set(name, b"x");
        plan(&entries.bytes(), SIGNATURES, None, None).is_err()
    };
    assert!(below("signature.kdsig/x") && below("Signature.kdsig") && below("signature.kdsig2"));
}

#[test]
fn a_signature_is_verified_and_shown_with_the_fingerprint_of_its_key() {
    let plain = Entries::small();
    let signed = plain.signed(7);
    let key = SigningKey::from_bytes(&[7; 32]).verifying_key();
    let document = shown(&plan(&signed.bytes(), SIGNATURES, None, None).unwrap());
    assert_eq!((&document["state"], &document["signature_state"]), (&"ready".into(), &"verified".into()));
    let capsule = shown(&load(&signed.bytes(), SIGNATURES, LoadProfile::Compact).unwrap());
    assert_eq!(capsule["signature"]["key_fingerprint"], Digest::of(key.as_bytes()).to_string());
    assert_eq!(capsule["signature"]["content_digest"], plain.content_digest(), "the entry does not sign itself");
    assert_eq!(capsule["trace"]["signature_state"], "verified");
    let signed_bytes = signed.bytes();
    let container = Container::read_with(&signed_bytes, SIGNATURES).unwrap();
    let asset = Asset::read(&container).unwrap();
    let (validation, exit) = asset.validate(None).unwrap();
    let validation = shown(&validation);
    assert_eq!((exit, &validation["signature_valid"]), (0, &true.into()));
    assert_eq!(validation["signature_evidence"]["key_fingerprint"], capsule["signature"]["key_fingerprint"]);
    assert_eq!(validation["loader_version"], "0.22.0");
}

#[test]
fn no_byte_of_a_signed_asset_can_be_another() {
    let signed = Entries::small().signed(7);
    for (name, bytes) in &signed.0 {
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let mut entries = signed.clone();
            entries.set(name, &changed);
            // The media type comes first, whatever was changed.
            entries.0.sort_by_key(|(name, _)| name != "mimetype");
            let bytes = zip(&entries.0.iter().map(|(name, data)| Entry::stored(name, data)).collect::<Vec<_>>());
            let loaded = load(&bytes, SIGNATURES, LoadProfile::Full);
            // One bit changes a space between JSON tokens into no JSON, so there is no byte without meaning.
            assert!(loaded.is_err(), "{name} byte {at}");
        }
    }
}

const FAILED: &str = "KDNA_INTEGRITY_SIGNATURE_FAILED";

#[test]
fn what_is_no_signature_is_refused_with_its_problem() {
    let signed = Entries::small().signed(7);
    let honest = String::from_utf8(signed.get("signature.kdsig").to_vec()).unwrap();
    let other_key = hex(SigningKey::from_bytes(&[8; 32]).verifying_key().as_bytes());
    let own_key = hex(SigningKey::from_bytes(&[7; 32]).verifying_key().as_bytes());
    for (document, code, problem) in [
        ("not JSON".to_owned(), FAILED, "signature: not valid JSON"),
        (String::new(), FAILED, "signature: not valid JSON"),
        ("[]".to_owned(), FAILED, "signature: must be an object"),
        ("null".to_owned(), FAILED, "signature: must be an object"),
        ("{}".to_owned(), FAILED, "signature: algorithm must be a string"),
        (
            honest.replace(r#""algorithm":"ed25519""#, r#""algorithm":1"#),
            FAILED,
            "signature: algorithm must be a string",
        ),
        (honest.replace(r#""signature":""#, r#""other":""#), FAILED, "signature: signature must be a string"),
        (honest.replacen('{', r#"{"issuer":"x","#, 1), FAILED, "signature: must NOT have additional properties"),
        (
            honest.replace(r#""kdsig.ed25519""#, r#""kdsig.example""#),
            "KDNA_SIGNATURE_PROFILE_UNSUPPORTED",
            "signature: unsupported profile (expected kdsig.ed25519)",
        ),
        (
            honest.replace("0.1.0", "0.2.0"),
            "KDNA_SIGNATURE_VERSION_UNSUPPORTED",
            "signature: unsupported profile_version (expected 0.1.0)",
        ),
        (
            honest.replace(r#""algorithm":"ed25519""#, r#""algorithm":"rsa""#),
            "KDNA_SIGNATURE_PROFILE_UNSUPPORTED",
            "signature: unsupported algorithm (expected ed25519)",
        ),
        (
            honest.replace("sha256:", "sha512:"),
            FAILED,
            "signature: content_digest must be sha256 and 64 lower-case hexadecimal digits",
        ),
        (
            honest.replace(&own_key, &own_key.to_uppercase()),
            FAILED,
            "signature: public_key must be 64 lower-case hexadecimal digits",
        ),
        (
            honest.replace(&own_key, &own_key[1..]),
            FAILED,
            "signature: public_key must be 64 lower-case hexadecimal digits",
        ),
        (honest.replace(&own_key, &other_key), FAILED, "signature: the signature does not verify"),
        // The key of small order under which anything would verify.
        (
            honest.replace(&own_key, &format!("01{}", "0".repeat(62))),
            FAILED,
            "signature: the signature does not verify",
        ),
    ] {
        assert_ne!(document, honest, "{problem}: nothing was changed");
        let mut entries = signed.clone();
        entries.set("signature.kdsig", document.as_bytes());
        assert_eq!(entries.problem(problem), (code.to_owned(), problem.to_owned()));
    }
    let mut other_content = signed.clone();
    other_content.set("attachments/a.txt", b"attached!");
    let problem = "signature: content_digest does not match the content";
    assert_eq!(other_content.problem(problem), (FAILED.to_owned(), problem.to_owned()));
}

#[test]
fn published_signature_vectors_hold() {
    let Some(shared) = shared() else { return };
    let vectors = json(&shared.join("vectors/core/signature/vectors.json"));
    let unhex = |text: &Json| -> Vec<u8> {
        let text = text.as_str().unwrap();
        (0..text.len()).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()).collect()
    };
    let parts = &vectors["asset"]["entries"];
    let names = ["mimetype", "kdna.json", "payload.kdnab"];
    let plain = Entries(names.map(|name| (name.to_owned(), unhex(&parts[name]))).to_vec());
    let expected = &vectors["expected"];
    assert_eq!(plain.content_digest(), expected["content_digest"].as_str().unwrap());
    let mut signed = plain.clone();
    signed.set("signature.kdsig", &unhex(&expected["bundle_bytes_hex"]));
    let capsule = shown(&load(&signed.bytes(), BOTH, LoadProfile::Compact).unwrap());
    assert_eq!(capsule["signature"]["state"], "verified");
    assert_eq!(capsule["signature"]["key_fingerprint"], expected["key_fingerprint"]);
    assert_eq!(capsule["digests"]["runtime_entry_set"]["value"], expected["entry_set_digest"]);
    let mut refused = 0;
    for case in vectors["negative_cases"].as_array().unwrap() {
        let mutate = &case["mutate"];
        let mut entries = signed.clone();
        let mut bundle = expected["bundle"].clone();
        if let Some(bytes) = mutate.get("replace_bundle_bytes_hex") {
            entries.set("signature.kdsig", &unhex(bytes));
        } else if mutate.get("bundle_signature_flip_nibble").is_some() {
            let signature = bundle["signature"].as_str().unwrap();
            let other = if signature.starts_with('0') { "1" } else { "0" };
            bundle["signature"] = format!("{other}{}", &signature[1..]).into();
            entries.set("signature.kdsig", bundle.to_string().as_bytes());
        } else if let Some(set) = mutate.get("bundle_set") {
            bundle[set["path"].as_str().unwrap()] = set["value"].clone();
            entries.set("signature.kdsig", bundle.to_string().as_bytes());
        } else if let Some(set) = mutate.get("json_set") {
            let mut manifest: Json = serde_json::from_slice(entries.get("kdna.json")).unwrap();
            manifest[set["path"].as_str().unwrap()] = set["value"].clone();
            entries.set("kdna.json", manifest.to_string().as_bytes());
        } else {
            let payload = shown(&load(&signed.bytes(), BOTH, LoadProfile::Full).unwrap())["context"]["payload"].clone();
            let payload = payload
                .to_string()
                .replace("Verify integrity before trusting a loaded judgment.", "Tampered statement.");
            assert!(payload.contains("Tampered"), "{}", case["id"]);
            entries.set("payload.kdnab", &payload_cbor(&read_javascript(payload.as_bytes()).unwrap()).unwrap());
        }
        entries.0.sort_by_key(|(name, _)| name != "mimetype");
        assert_eq!(
            entries.problem(&case["id"].to_string()).0,
            case["expected_code"].as_str().unwrap(),
            "{}",
            case["id"]
        );
        refused += 1;
    }
    assert_eq!(refused, 7);
    let foreign = SigningKey::from_bytes(&unhex(&vectors["wrong_key"]["seed_hex"]).try_into().unwrap());
    let fingerprint = Digest::of(foreign.verifying_key().as_bytes()).to_string();
    assert_eq!(
        vectors["wrong_key_semantics"]["unpinned_key_fingerprint"], fingerprint,
        "a foreign key shows as itself"
    );
}

/// A manifest with these members in front of its own.
fn with_members(members: &str) -> Entries {
    let mut entries = Entries::small();
    let manifest = String::from_utf8(entries.get("kdna.json").to_vec()).unwrap();
    entries.set("kdna.json", manifest.replacen('{', &format!("{{{members}"), 1).as_bytes());
    entries
}

#[test]
fn each_switch_adds_its_own_part_alone() {
    let profiles = r#""index":{},"compact":{},"scenario":{},"full":{}"#;
    let contract =
        |minimal| format!(r#""load_contract":{{"default_profile":"compact","profiles":{{{profiles}{minimal}}}}},"#);
    let declared = with_members(&contract(r#","minimal":{}"#)).bytes();
    let undeclared = with_members(&contract("")).bytes();
    for (switches, ready, loads) in
        [(Switches::NONE, false, false), (SIGNATURES, false, false), (MINIMAL, true, true), (BOTH, true, true)]
    {
        let document = shown(&plan(&declared, switches, None, None).unwrap());
        assert_eq!(document["can_load_now"], ready, "{switches:?}");
        assert_eq!(document.get("signature_state").is_some(), switches.signatures, "{switches:?}");
        assert_eq!(load(&declared, switches, LoadProfile::Minimal).is_ok(), loads, "{switches:?}");
        let empty = load(&undeclared, switches, LoadProfile::Minimal);
        match empty {
            Ok(capsule) => assert_eq!(shown(&capsule)["context"].to_string(), "{}", "{switches:?}"),
            Err(fault) => assert_eq!((fault.code(), loads), (None, false), "{switches:?}"),
        }
    }
    let capsule = shown(&load(&declared, MINIMAL, LoadProfile::Minimal).unwrap());
    let keys: Vec<&String> = capsule["context"].as_object().unwrap().keys().collect();
    assert_eq!(keys, ["axioms", "boundaries", "highest_question"]);
    assert_eq!(capsule["context"]["axioms"][0].as_object().unwrap().len(), 5);
}
