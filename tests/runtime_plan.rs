//! Every row of the plan's decision, and the code that a load gives in its place. Nothing but a ready asset, or one
//! within its offline grace, delivers a Capsule.
#![cfg(feature = "runtime")]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

#[path = "runtime_vectors/asset_bytes.rs"]
mod asset_bytes;

use asset_bytes::{Entry, zip};
use kdna_broker::foundation::json::write::pretty;
use kdna_broker::foundation::time::Timestamp;
use kdna_broker::runtime::EntitlementStatus::{Active, Expired, OfflineGrace, Revoked};
use kdna_broker::runtime::{self, EntitlementStatus, InputKind, LoadProfile, PlanInput};

/// An asset with these further members of its manifest; `loader` is what it asks for.
fn asset(members: &str, loader: &str, encrypted: bool) -> Vec<u8> {
    let manifest = format!(
        r#"{{"format_version":"0.1.0","asset_id":"kdna:t:a","asset_uid":"urn:uuid:t","asset_type":"domain","title":"t","version":"1.0.0","judgment_version":"1.0.0","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","compatibility":{{"min_loader_version":"{loader}","profile":"kdna.payload.judgment","profile_version":"0.1.0"}},"payload":{{"path":"payload.kdnab","encoding":"cbor","encrypted":{encrypted}}}{members}}}"#
    );
    let payload = if encrypted { envelope() } else { judgment() };
    zip(&[
        Entry::stored("mimetype", b"application/vnd.kdna.asset"),
        Entry::stored("kdna.json", manifest.as_bytes()),
        Entry::stored("payload.kdnab", &payload),
    ])
}

fn words(head: &[u8], words: &[&str]) -> Vec<u8> {
    let mut bytes = head.to_vec();
    for word in words {
        bytes.extend([0x78, u8::try_from(word.len()).unwrap()]);
        bytes.extend(word.as_bytes());
    }
    bytes
}

fn judgment() -> Vec<u8> {
    let start = words(&[0xa3], &["profile", "kdna.payload.judgment", "profile_version", "0.1.0", "core"]);
    let core = words(&[0xa2], &["highest_question", "Why?", "axioms"]);
    [start, core, words(&[0x81], &["One."])].concat()
}

fn envelope() -> Vec<u8> {
    let fields =
        ["profile", "kdna.encryption.password", "profile_version", "0.1.0", "ciphertext", "AA", "wrapped_key", "AA"];
    words(&[0xa4], &fields)
}

const ENCRYPTION: &str = r#","encryption":{"profile":"kdna.encryption.password","profile_version":"0.1.0","encrypted_entries":["payload.kdnab"]}"#;

fn licensed(profile: &str) -> String {
    format!(r#","access":"licensed","entitlement":{{"profile":"{profile}"}}"#)
}

/// State, required action, loadable now, projection policy, and the codes of the issues.
type Row = (&'static str, &'static str, bool, &'static str, &'static [&'static str]);

fn check(bytes: &[u8], has_password: bool, entitlement_status: Option<EntitlementStatus>, row: Row) {
    let input = PlanInput { has_password, entitlement_status, source_path: None };
    let plan = runtime::plan(bytes, &input).unwrap();
    let plan: serde_json::Value = serde_json::from_str(&pretty(&plan).unwrap()).unwrap();
    let (state, action, loadable, policy, codes) = row;
    assert_eq!(plan["state"], state, "{row:?}");
    assert_eq!(plan["required_action"], action, "{row:?}");
    assert_eq!(plan["can_load_now"], loadable, "{row:?}");
    assert_eq!(plan["projection_policy"], policy, "{row:?}");
    let issues = plan["issues"].as_array().unwrap();
    assert_eq!(issues.iter().map(|issue| issue["code"].as_str().unwrap()).collect::<Vec<_>>(), codes, "{row:?}");
    assert!(issues.iter().all(|issue| issue["message"] != ""), "{row:?}");
    assert_eq!(plan["source"], serde_json::json!({"kind": "memory", "path": null}));
    assert_eq!(plan["input_fingerprint"]["has_password_input"], has_password);
    if !has_password {
        let now = Timestamp::from_milliseconds(0);
        let load = runtime::load(bytes, LoadProfile::Compact, None, entitlement_status, now, InputKind::PackagedBytes);
        let refusal = if loadable { None } else { codes.first().copied() };
        assert_eq!(load.err().and_then(|fault| fault.code()), refusal, "{row:?}");
    }
}

const EXPIRED: Row = ("expired_grace", "renew_entitlement", false, "none", &["KDNA_AUTH_EXPIRED"]);
const DENIED: Row = ("denied", "contact_issuer", false, "none", &["KDNA_AUTH_REVOKED"]);
const GRACE: Row = ("offline_grace", "sync", true, "minimal", &["KDNA_AUTH_OFFLINE_GRACE_ACTIVE"]);
const READY: Row = ("ready", "load", true, "minimal", &[]);

const fn refused(state: &'static str, action: &'static str, codes: &'static [&'static str]) -> Row {
    (state, action, false, "none", codes)
}

#[test]
fn public_assets_are_ready_unless_a_claimed_status_says_otherwise() {
    let public = asset("", "0.21.0", false);
    check(&public, false, None, READY);
    check(&public, false, Some(Active), (READY.0, READY.1, true, READY.3, &["KDNA_AUTH_ACTIVE_DIAGNOSTIC"]));
    check(&public, true, None, (READY.0, READY.1, true, READY.3, &["KDNA_AUTH_PASSWORD_DIAGNOSTIC"]));
    check(&public, false, Some(Expired), EXPIRED);
    check(&public, false, Some(Revoked), DENIED);
    check(&public, false, Some(OfflineGrace), GRACE);
    let encrypted = asset(ENCRYPTION, "0.21.0", true);
    check(&encrypted, false, None, ("invalid", "block", false, "none", &["KDNA_CRYPTO_PROFILE_UNSUPPORTED"]));
    check(&encrypted, true, Some(Active), ("invalid", "block", false, "none", &["KDNA_CRYPTO_PROFILE_UNSUPPORTED"]));
}

#[test]
fn licensed_assets_say_what_is_missing() {
    let password = asset(&(licensed("password") + ENCRYPTION), "0.21.0", true);
    check(&password, false, None, refused("needs_password", "enter_password", &["KDNA_AUTH_PASSWORD_REQUIRED"]));
    check(&password, true, None, refused("needs_password", "enter_password", &["KDNA_AUTH_PASSWORD_UNVERIFIED"]));
    check(
        &password,
        false,
        Some(Active),
        refused("needs_password", "enter_password", &["KDNA_AUTH_PASSWORD_REQUIRED"]),
    );
    let account = asset(&licensed("account"), "0.21.0", false);
    check(
        &account,
        false,
        Some(Active),
        refused("needs_account", "sign_in_or_activate", &["KDNA_AUTH_ACCOUNT_REQUIRED"]),
    );
    let org = asset(&licensed("org"), "0.21.0", false);
    check(&org, true, None, refused("needs_org_auth", "sign_in_or_activate", &["KDNA_AUTH_ORG_REQUIRED"]));
    let receipt = asset(&licensed("local_receipt"), "0.21.0", false);
    check(&receipt, false, None, refused("needs_license", "install_receipt", &["KDNA_AUTH_ENTITLEMENT_REQUIRED"]));
    check(&receipt, false, Some(Active), READY);
    check(&receipt, false, Some(Expired), EXPIRED);
    check(&receipt, false, Some(Revoked), DENIED);
    check(&receipt, false, Some(OfflineGrace), GRACE);
}

#[test]
fn what_no_resolver_or_server_can_supply_is_named_before_access_is_asked() {
    let dependent = asset(r#","access":"remote","dependencies":{"a":"1"}"#, "0.21.0", false);
    check(&dependent, false, None, refused("invalid", "block", &["KDNA_DEPENDENCY_RESOLVER_MISSING"]));
    check(&asset(r#","dependencies":{}"#, "0.21.0", false), false, None, READY);
    let newer = asset(r#","dependencies":{"a":"1"}"#, "0.22.0", false);
    check(&newer, false, None, refused("invalid", "block", &["KDNA_LOADER_VERSION_UNSUPPORTED"]));
    let remote = ("needs_runtime", "connect_runtime", false, "remote", &["KDNA_AUTH_REMOTE_RUNTIME_REQUIRED"][..]);
    check(&asset(r#","access":"remote""#, "0.21.0", false), false, Some(Active), remote);
    let derived = asset(r#","extends":"@a/b""#, "0.21.0", false);
    check(&derived, false, None, (READY.0, READY.1, true, READY.3, &["KDNA_EXTENDS_RESOLVER_MISSING"]));
    let derived = asset(&(licensed("password") + ENCRYPTION + r#","extends":"@a/b""#), "0.21.0", true);
    let both = &["KDNA_EXTENDS_RESOLVER_MISSING", "KDNA_AUTH_PASSWORD_REQUIRED"];
    check(&derived, false, None, ("needs_password", "enter_password", false, "none", both));
}

#[test]
fn a_claim_of_trust_is_never_repeated() {
    let claiming = asset(r#","title":{"trusted":true}"#, "0.21.0", false);
    assert_eq!(runtime::plan(&claiming, &PlanInput::default()).unwrap_err().code(), None);
    assert_eq!(runtime::inspect(&claiming).unwrap_err().code(), None);
    assert!(runtime::validate(&claiming, None).is_ok_and(|(_, exit)| exit == 1), "validation repeats no title");
    assert_eq!(runtime::validate(&claiming, Some(&PlanInput::default())).unwrap_err().code(), None);
}
