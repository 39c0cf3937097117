//! The embedded asset runtime gives the recorded answers, to the byte, except where it deviates on purpose: those cases
//! are listed here with their reason, and what they do instead is asserted too.
#![cfg(feature = "runtime")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, clippy::print_stdout)]

#[path = "runtime_vectors/asset_bytes.rs"]
mod asset_bytes;

use asset_bytes::{Entry, base64, zip};
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::json::{canonical::canonical, read_javascript, write::pretty};
use kdna_broker::foundation::time::Timestamp;
use kdna_broker::foundation::value::Value;
use kdna_broker::runtime::{
    self, Asset, Container, EntitlementStatus, InputKind, LoadInput, LoadProfile, PlanInput, RuntimeFault,
};
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

const NOT_AN_ASSET: &str = "Error: An explicit regular packaged .kdna file is required.\n";
const NOT_A_TARGET: &str = "Error: Target is not a KDNA container or source directory.\n";
const REMOTE: &str = "Error: This remote asset requires --remote-server or KDNA_REMOTE_SERVER.\n";
const DECRYPT_FAILED: &str = "Error: operation failed safely [KDNA_DECRYPT_FAILED].\n";

/// What a command prints and how it exits.
#[derive(Debug, PartialEq)]
struct Reply {
    exit: u64,
    stdout: String,
    stderr: String,
}

impl Reply {
    fn printed(document: &Value, exit: u64) -> Self {
        Reply { exit, stdout: pretty(document).unwrap(), stderr: String::new() }
    }

    fn refused(exit: u64, stderr: &str) -> Self {
        Reply { exit, stdout: String::new(), stderr: stderr.to_owned() }
    }

    fn of(result: Result<(Value, u64), RuntimeFault>) -> Self {
        result.map_or_else(
            |fault| Reply::refused(1, &format!("Error: {fault}\n")),
            |(document, exit)| Reply::printed(&document, exit),
        )
    }

    fn of_json(case: &Json, stdout: &str, stderr: &str) -> Self {
        Reply { exit: case.as_u64().unwrap(), stdout: stdout.to_owned(), stderr: stderr.to_owned() }
    }
}

/// The thin command layer, as far as it concerns the runtime.
struct Command<'a> {
    words: &'a [&'a str],
    path: &'a str,
    password: Option<&'a [u8]>,
    loaded_at: Timestamp,
}

impl Command<'_> {
    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    fn value_of(&self, option: &str) -> Option<&str> {
        self.words.iter().find_map(|word| word.strip_prefix(option)?.strip_prefix('='))
    }

    fn plan_input(&self) -> PlanInput<'_> {
        PlanInput {
            has_password: self.has("--has-password"),
            entitlement_status: self.value_of("--entitlement-status").and_then(EntitlementStatus::parse),
            source_path: Some(self.path),
        }
    }

    fn run(&self, bytes: &[u8]) -> Reply {
        let recognised = runtime::recognise(bytes);
        match self.words[0] {
            "plan-load" | "load" if !recognised => Reply::refused(2, NOT_AN_ASSET),
            "inspect" | "validate" if !recognised => Reply::refused(2, NOT_A_TARGET),
            "plan-load" => Reply::of(runtime::plan(bytes, &self.plan_input()).map(|plan| {
                let exit = match (plan.get("state").unwrap().as_str(), plan.get("can_load_now").unwrap().as_bool()) {
                    (Some("invalid"), _) => 1,
                    (_, Some(true)) => 0,
                    _ => 3,
                };
                (plan, exit)
            })),
            "inspect" => Reply::of(runtime::inspect(bytes).map(|document| (document, 0))),
            "validate" => {
                let input = self.plan_input();
                let result = runtime::validate(bytes, self.has("--runtime").then_some(&input));
                Reply::of(result.map(|(document, exit)| (document, u64::from(exit))))
            }
            "load" if is_remote(bytes) => Reply::refused(3, REMOTE),
            "load" => Reply::of(self.load(bytes).map(|capsule| (capsule, 0))),
            other => panic!("{other}"),
        }
    }

    fn load(&self, bytes: &[u8]) -> Result<Value, RuntimeFault> {
        let profile = LoadProfile::parse(self.value_of("--profile").unwrap_or("compact")).unwrap();
        let loaded_at = self.loaded_at;
        let capsule = runtime::load(bytes, profile, self.password, None, loaded_at, InputKind::PackagedFile);
        let (password, input_kind) = (self.password, InputKind::PackagedFile);
        let input = LoadInput { profile, password, entitlement_status: None, loaded_at, input_kind };
        let text = Container::read(bytes).and_then(|container| Asset::read_for_load(&container)?.load_text(&input));
        assert_eq!(text, capsule.clone().map(|capsule| pretty(&capsule).unwrap()), "as text and as a value");
        capsule
    }
}

fn is_remote(bytes: &[u8]) -> bool {
    Container::read(bytes).is_ok_and(|container| Asset::read_for_load(&container).is_ok_and(|asset| asset.is_remote()))
}

fn some_instant() -> Timestamp {
    Timestamp::parse("2026-07-15T00:00:00.000Z").unwrap()
}

fn command<'a>(words: &'a [&'a str]) -> Command<'a> {
    Command { words, path: "/a.kdna", password: None, loaded_at: some_instant() }
}

fn json(path: &Path) -> Json {
    serde_json::from_slice(&std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))).unwrap()
}

fn fixture(name: &str) -> Vec<Json> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/core").join(name);
    json(&path).as_array().unwrap().clone()
}

fn text(value: &Json) -> &str {
    value.as_str().unwrap()
}

fn texts(value: &Json) -> Vec<&str> {
    value.as_array().unwrap().iter().map(text).collect()
}

/// A document as the other JSON library sees it.
fn shown(document: &Value) -> Json {
    serde_json::from_str(&pretty(document).unwrap()).unwrap()
}

fn shared() -> Option<PathBuf> {
    let shared = std::env::var_os("KDNA_SHARED").map(PathBuf::from);
    if shared.is_none() {
        println!("skipped: KDNA_SHARED is not set");
    }
    shared
}

fn sorted_entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn problems_of_238_assets_are_listed_in_the_recorded_words_and_order() {
    let cases = fixture("problems.json");
    assert_eq!(cases.len(), 238);
    for case in &cases {
        let id = text(&case["id"]);
        let bytes = base64(text(&case["kdna_b64"]));
        let (validation, exit) = runtime::validate(&bytes, None).unwrap();
        let validation = shown(&validation);
        assert_eq!(texts(&validation["problems"]), texts(&case["problems"]), "{id}");
        // The field is left out where a foreign digest algorithm keeps it from being said.
        let overall = validation["overall_valid"].as_bool();
        assert_eq!(overall.unwrap_or(id != "chk-md5"), case["validate_overall"], "{id}");
        assert_eq!(exit == 0, overall == Some(true), "{id}");
        let load = command(&["load", "--profile=compact"]).load(&bytes);
        let plan = runtime::plan(&bytes, &PlanInput::default());
        if case["pre_read"] == "throws" {
            let faults = [plan.unwrap_err(), load.unwrap_err()];
            assert_eq!(faults.map(|fault| fault.code()), [None, None], "{id}");
            continue;
        }
        assert_plan(id, &shown(&plan.unwrap()), case);
        let code = load.err().map(|fault| fault.code().unwrap_or("(none)"));
        assert_eq!(code, case["load_error_code"].as_str(), "{id}");
    }
}

fn assert_plan(id: &str, plan: &Json, case: &Json) {
    let codes: Vec<&str> = plan["issues"].as_array().unwrap().iter().map(|issue| text(&issue["code"])).collect();
    assert_eq!(plan["state"], case["plan_state"], "{id}");
    assert_eq!(plan["access"], case["plan_access"], "{id}");
    assert_eq!(plan["checks"], case["plan_checks"], "{id}");
    assert_eq!(codes, texts(&case["plan_issues"]), "{id}");
}

/// Containers that the reference accepts and this runtime refuses, without a code, for all commands.
const STRICTER: [(&str, &str); 4] = [
    ("badcrc", "a recorded CRC-32 that does not hold"),
    ("encflag", "an entry flagged as encrypted"),
    ("localname-differs", "two names for one entry"),
    ("dirattr-unix", "an entry that says it is a directory"),
];

#[test]
fn containers_are_accepted_and_refused_as_recorded_and_hostile_ones_refused() {
    let cases = fixture("container.json");
    assert_eq!(cases.len(), 64);
    let mut stricter = 0;
    for case in &cases {
        let id = text(&case["id"]);
        let bytes = base64(text(&case["kdna_b64"]));
        for (name, words) in [
            ("plan_load", vec!["plan-load"]),
            ("load", vec!["load"]),
            ("inspect", vec!["inspect"]),
            ("validate", vec!["validate"]),
        ] {
            let reply = command(&words).run(&bytes);
            if STRICTER.iter().any(|(known, _)| *known == id) {
                assert_eq!(reply, Reply::refused(1, "Error: operation failed safely.\n"), "{id} {name}");
                stricter += 1;
                continue;
            }
            let recorded = &case[name];
            assert_eq!(Some(reply.exit), recorded["exit"].as_u64(), "{id} {name}");
            assert_eq!(reply.stderr, text(&recorded["stderr"]), "{id} {name}");
            let document: Json = serde_json::from_str(&reply.stdout).unwrap_or_default();
            if let Some(problems) = recorded["problems"].as_array() {
                assert_problems(id, &document, problems);
            }
            if recorded["issues"].is_array() {
                assert_eq!(document["issues"], recorded["issues"], "{id} {name}");
            }
        }
    }
    assert_eq!(stricter, STRICTER.len() * 4);
}

/// The text of another JSON parser inside one problem cannot be reproduced; everything around it is.
fn assert_problems(id: &str, document: &Json, recorded: &[Json]) {
    let actual = texts(&document["problems"]);
    if id.starts_with("checksums-bad") || id == "checksums-emptyfile" {
        assert_eq!(actual, ["checksums: not valid JSON (the entry could not be read)"], "{id}");
        assert!(text(&recorded[0]).starts_with("checksums: not valid JSON ("), "{id}");
    } else {
        assert_eq!(actual, recorded.iter().map(text).collect::<Vec<_>>(), "{id}");
    }
}

#[test]
fn documents_of_a_rich_asset_equal_the_recorded_ones_byte_for_byte() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/core/doc-rich.json");
    assert_eq!(compare_documents(&path), 9);
}

#[test]
fn protected_assets_of_both_profiles_open_as_recorded() {
    for name in ["doc-protected-argon2id.json", "doc-protected-scrypt.json"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/core").join(name);
        assert_eq!(compare_documents(&path), 12, "{name}");
    }
}

#[test]
fn documents_of_every_kind_of_asset_equal_the_recorded_ones_byte_for_byte() {
    let Some(shared) = shared() else { return };
    let paths = sorted_entries(&shared.join("vectors/core/derived"));
    let is_document = |path: &&PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("doc-"));
    let compared: usize = paths.iter().filter(is_document).map(|path| compare_documents(path)).sum();
    assert_eq!(compared, 186);
}

/// Runs every recorded command of an asset and says how many replies were compared to the byte.
fn compare_documents(path: &Path) -> usize {
    let document = json(path);
    let bytes = base64(text(&document["kdna_b64"]));
    let mut compared = 0;
    for (line, case) in document["cases"].as_object().unwrap() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let right = document["password"].as_str().filter(|_| line.contains("--password-stdin"));
        let password = if line.contains("(wrong") { Some("wrong") } else { right };
        let (path_text, password) = ("@ASSET_PATH@", password.map(str::as_bytes));
        let reply = Command { words: &words, path: path_text, password, loaded_at: some_instant() }.run(&bytes);
        if password.is_some() && path.ends_with("doc-password-entitlement-plaintext.json") {
            // A password entitlement on plain content is refused on purpose: no password could be wrong there.
            assert_eq!(reply, Reply::refused(1, DECRYPT_FAILED), "{} {line}", path.display());
            continue;
        }
        let stdout = text(&case["stdout"]).replace("@LOADED_AT@", &some_instant().to_string());
        let recorded = Reply::of_json(&case["exit"], &stdout, text(&case["stderr"]));
        assert_eq!(reply, recorded, "{} {line}", path.display());
        compared += 1;
    }
    compared
}

#[test]
fn authorization_plans_equal_the_published_ones_byte_for_byte() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("vectors/core/authorization");
    let cases = json(&folder.join("cases.json"));
    let cases = cases["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 14);
    for case in cases {
        let id = text(&case["id"]);
        let source = folder.join("fixtures").join(text(&case["fixture"]));
        let names = ["mimetype", "kdna.json", "payload.kdnab", "checksums.json"];
        let contents = names.map(|name| (name, std::fs::read(source.join(name)).unwrap()));
        let bytes = zip(&contents.each_ref().map(|(name, data)| Entry::stored(name, data)));
        let arguments = texts(&case["cli_args"]);
        let joined = arguments.join(" ").replace("--entitlement-status ", "--entitlement-status=");
        let words: Vec<&str> = std::iter::once("plan-load").chain(joined.split_whitespace()).collect();
        let path = format!("<fixture:{}>", text(&case["fixture"]));
        let reply = Command { path: &path, ..command(&words) }.run(&bytes);
        let golden = Path::new(text(&case["golden"])).file_name().unwrap();
        let golden = std::fs::read_to_string(folder.join("goldens-core-0.21").join(golden)).unwrap();
        assert_eq!(reply.stdout, golden, "{id}");
        assert_eq!(reply.stderr, "", "{id}");
    }
}

#[test]
fn published_protected_assets_open_with_their_password_and_no_other() {
    let Some(shared) = shared() else { return };
    for fixture in ["password-valid", "password-missing"] {
        let source = shared.join("vectors/core/authorization/fixtures").join(fixture);
        let names = ["mimetype", "kdna.json", "payload.kdnab", "checksums.json"];
        let contents = names.map(|name| (name, std::fs::read(source.join(name)).unwrap()));
        let bytes = zip(&contents.each_ref().map(|(name, data)| Entry::stored(name, data)));
        for profile in ["index", "compact", "scenario", "full"] {
            let option = format!("--profile={profile}");
            let words = ["load", &option];
            let load = |password: &'static str| {
                Command { password: Some(password.as_bytes()), ..command(&words) }.load(&bytes)
            };
            let capsule = shown(&load("KDNA-AUTHORIZATION-CONFORMANCE-2026").unwrap());
            assert_eq!((&capsule["profile"], &capsule["access"]), (&profile.into(), &"licensed".into()));
            let refused = load("KDNA-AUTHORIZATION-CONFORMANCE-2025").unwrap_err();
            assert_eq!(refused.code(), Some("KDNA_DECRYPT_FAILED"), "{fixture} {profile}");
        }
    }
}

#[test]
fn the_published_capsule_and_its_digests_are_reproduced() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("vectors/core/runtime-capsule");
    let golden = json(&folder.join("golden.json"));
    let bytes = base64(std::fs::read_to_string(folder.join("minimal.kdna.b64")).unwrap().trim());
    let loaded_at = Timestamp::parse(text(&golden["loaded_at"])).unwrap();
    let capsule = runtime::load(&bytes, LoadProfile::Compact, None, None, loaded_at, InputKind::PackagedBytes).unwrap();
    assert_eq!(shown(&capsule), golden["runtime_capsule"]);
    let expected = &golden["expected"];
    for name in ["asset", "content", "runtime_entry_set"] {
        assert_eq!(shown(&capsule)["digests"][name]["value"], expected[name], "{name}");
    }
    let delivery = Digest::of(canonical(&capsule).unwrap().as_bytes()).to_string();
    assert_eq!(delivery, text(&expected["capsule_delivery"]));
    let vector = &golden["jcs_vectors"][0];
    let value = read_javascript(vector["value"].to_string().as_bytes()).unwrap();
    assert_eq!(canonical(&value).unwrap(), text(&vector["canonical"]));
}

/// Recorded replies that a bytes-only runtime cannot or will not give, and why.
const OTHER_REPLY: [(&str, &str, &str); 3] = [
    ("plan-cbor-bytes", "FORMAT_INVALID", "byte strings are no JSON: refused as invalid CBOR"),
    ("load-cbor-bytes-compact", "FORMAT_INVALID", "as above, also where the projection would leave them out"),
    ("load-cbor-bytes-full", "FORMAT_INVALID", "as above; the reference fails later, when it builds the Capsule"),
];

/// Cases about arguments, standard input and other output formats: the command's own tests replay them.
const COMMAND_ONLY: [&str; 7] = [
    "load-locked-argv",
    "load-locked-badutf8",
    "load-locked-empty",
    "load-review-bogus-profile",
    "load-review-prompt",
    "load-review-raw",
    "plan-two-targets",
];

#[test]
fn recorded_replies_are_given_byte_for_byte() {
    let Some(shared) = shared() else { return };
    let mut compared = 0;
    for folder in sorted_entries(&shared.join("golden/cases")) {
        let id = folder.file_name().unwrap().to_string_lossy().into_owned();
        let pure = ["plan-", "load-", "inspect-", "validate-"].iter().any(|start| id.starts_with(start));
        if !pure || COMMAND_ONLY.contains(&id.as_str()) {
            continue;
        }
        let (reply, recorded) = replay(&folder, &id);
        if let Some((_, code, _)) = OTHER_REPLY.iter().find(|(known, _, _)| *known == id) {
            assert_eq!(reply.exit, 1, "{id}");
            assert_ne!(reply, recorded, "{id}");
            assert!(reply.stdout.contains(code) || reply.stderr.contains(code), "{id} {reply:?}");
        } else {
            assert_eq!(reply, recorded, "{id}");
        }
        compared += 1;
    }
    assert!(compared > 95, "{compared}");
}

/// The command drops one line end and a byte order mark.
fn without_line_end(input: &[u8]) -> &[u8] {
    let line = input.strip_suffix(b"\n").map_or(input, |line| line.strip_suffix(b"\r").unwrap_or(line));
    line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
}

/// The reply to a recorded case, and the recorded one.
fn replay(folder: &Path, id: &str) -> (Reply, Reply) {
    let case = json(&folder.join("case.json"));
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let (stdout, stderr) = (read("stdout"), read("stderr"));
    let joined = texts(&case["argv"]).join(" ").replace("--entitlement-status ", "--entitlement-status=");
    let words: Vec<&str> = joined.split_whitespace().collect();
    let loaded_at = serde_json::from_str::<Json>(&stdout)
        .ok()
        .and_then(|capsule| Timestamp::parse(capsule["trace"]["loaded_at"].as_str()?))
        .unwrap_or_else(some_instant);
    let password = std::fs::read(folder.join("stdin")).ok().filter(|_| words.contains(&"--password-stdin"));
    let password = password.as_deref().map(without_line_end);
    let path = format!("/golden/{id}/a.kdna");
    let bytes = std::fs::read(folder.join("files/a.kdna")).unwrap();
    let command = Command { words: &words, path: &path, password, loaded_at };
    (command.run(&bytes), Reply::of_json(&case["expected_exit"], &stdout, &stderr))
}

/// The files of a published folder as a container, in the order of the contract; those that are missing stay so.
fn packed_folder(folder: &Path) -> Vec<u8> {
    let names = ["mimetype", "kdna.json", "payload.kdnab", "checksums.json"];
    let contents = names.map(|name| (name, std::fs::read(folder.join(name)).ok()));
    let entries = contents.iter().filter_map(|(name, data)| Some(Entry::stored(name, data.as_deref()?)));
    zip(&entries.collect::<Vec<_>>())
}

#[test]
fn published_containers_are_refused_for_what_is_wrong_with_them() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("vectors/core/container-fixtures");
    let reply = |name: &str| command(&["plan-load"]).run(&packed_folder(&folder.join(name)));
    let damaged = reply("invalid-bad-checksum");
    let plan: Json = serde_json::from_str(&damaged.stdout).unwrap();
    assert_eq!((damaged.exit, &plan["state"]), (1, &"invalid".into()));
    let issues = plan["issues"].as_array().unwrap();
    assert!(!issues.is_empty());
    for issue in issues {
        assert!(text(&issue["message"]).starts_with("checksums: "), "{issue}");
        assert_eq!(issue["code"], "KDNA_INTEGRITY_DIGEST_FAILED");
    }
    for name in ["invalid-missing-manifest", "invalid-missing-payload"] {
        assert_eq!(reply(name), Reply::refused(1, "Error: operation failed safely.\n"), "{name}");
    }
    let assets = shared.join("vectors/core/assets");
    let licensed = std::fs::read(assets.join("test_licensed_entry.kdna")).unwrap();
    let licensed = command(&["plan-load"]).run(&licensed);
    let plan: Json = serde_json::from_str(&licensed.stdout).unwrap();
    assert_eq!((licensed.exit, &plan["state"]), (3, &"needs_account".into()));
    let old_format = std::fs::read(assets.join("test_conformance.kdna")).unwrap();
    assert_eq!(command(&["plan-load"]).run(&old_format), Reply::refused(2, NOT_AN_ASSET));
}

#[test]
fn the_published_payload_decodes_to_its_published_text() {
    let Some(shared) = shared() else { return };
    let folder = shared.join("vectors/core/golden-single-asset");
    let published = json(&folder.join("golden-single-asset.json"));
    let payload = std::fs::read(folder.join("golden-single-asset-payload.kdnab")).unwrap();
    let manifest = published["manifest"].to_string();
    let bytes = zip(&[
        Entry::stored("mimetype", b"application/vnd.kdna.asset"),
        Entry::stored("kdna.json", manifest.as_bytes()),
        Entry::stored("payload.kdnab", &payload),
    ]);
    let (validation, exit) = runtime::validate(&bytes, None).unwrap();
    assert_eq!(exit, 0, "{:?}", shown(&validation)["problems"]);
    let capsule = command(&["load", "--profile=full"]).load(&bytes).unwrap();
    assert_eq!(shown(&capsule)["context"]["payload"], published["payload"]);
}
