//! What must hold for any bytes, one function for each way in. Used by the fuzz targets beside this file and by
//! `tests/mutation_smoke.rs`. A function that returns has found nothing; a broken promise panics.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "each user takes its own part")]

use kdna_broker::broker::{Answer, Operations, Profile, Selection, Task};
use kdna_broker::consent::document::Consent;
use kdna_broker::foundation::capsule::Capsule;
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::json::{read_javascript, read_strict, write};
use kdna_broker::foundation::limits;
use kdna_broker::foundation::load_plan::LoadPlan;
use kdna_broker::foundation::record::Record;
use kdna_broker::foundation::refusal::{Reason, Refusal};
use kdna_broker::foundation::time::Timestamp;
use kdna_broker::foundation::value::Value;
use kdna_broker::mcp::{Ending, ServeOptions, ToolNames, serve};
use kdna_broker::runtime::resolver::{Inspector as _, NotAnAsset};
use kdna_broker::runtime::writer::{Argon2id, Fresh, Parts, Payload, ProtectFault, pack, protect};
use kdna_broker::runtime::{self, InputKind, LoadProfile, PlanInput, RuntimeFault};
use kdna_broker::system::Cancel;
use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

const PROFILES: [LoadProfile; 4] = [LoadProfile::Index, LoadProfile::Compact, LoadProfile::Scenario, LoadProfile::Full];

/// A manifest that the gates accept.
pub(crate) const MANIFEST: &[u8] = br#"{"format_version":"0.1.0","asset_id":"kdna:t:a","asset_uid":"urn:uuid:t","asset_type":"domain","title":"t","version":"1.0.0","judgment_version":"1.0.0","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","compatibility":{"min_loader_version":"0.21.0","profile":"kdna.payload.judgment","profile_version":"0.1.0"},"payload":{"path":"payload.kdnab","encoding":"cbor","encrypted":false}}"#;
/// A payload that the gates accept.
pub(crate) const PAYLOAD: &[u8] = br#"{"profile":"kdna.payload.judgment","profile_version":"0.1.0","core":{"highest_question":"Why?","axioms":["One.",{"statement":"Two.","note":"n"}],"boundaries":["Never."]},"reasoning":{"self_check":["Sure?"]},"extra":[true,null,1.5]}"#;

/// The manifest of [`ENVELOPE`]: as [`MANIFEST`], of a protected asset.
const LOCKED_MANIFEST: &[u8] = br#"{"format_version":"0.1.0","asset_id":"kdna:t:a","asset_uid":"urn:uuid:t","asset_type":"domain","title":"t","version":"1.0.0","judgment_version":"1.0.0","created_at":"2026-01-01T00:00:00Z","updated_at":"2026-01-01T00:00:00Z","compatibility":{"min_loader_version":"0.21.0","profile":"kdna.payload.judgment","profile_version":"0.1.0"},"payload":{"path":"payload.kdnab","encoding":"cbor","encrypted":true},"access":"licensed","entitlement":{"profile":"password"},"encryption":{"profile":"kdna.encryption.password","profile_version":"0.1.0","encrypted_entries":["payload.kdnab"]}}"#;
/// An envelope around [`PAYLOAD`] that costs next to nothing to open, in base64.
pub(crate) const ENVELOPE: &str = include_str!("envelope.b64");
/// What opens it, and what does not.
const PASSWORD: &[u8] = b"password";
const WRONG: &[u8] = b"Password";
/// The cheapest derivation there is.
const CHEAP: Argon2id = Argon2id { memory_kib: 8, passes: 1, lanes: 1 };

/// Any file: recognised or not, it is answered, whatever is answered can be printed within the limit, and only recognised
/// bytes that validate are ever loaded.
pub(crate) fn container(data: &[u8]) {
    let recognised = runtime::recognise(data);
    let inspected = runtime::inspect(data);
    let validated = runtime::validate(data, Some(&PlanInput::default()));
    let planned = runtime::plan(data, &PlanInput::default());
    let by_its_plan = |bytes: &[u8]| runtime::plan(bytes, &PlanInput::default()).map_err(|_| NotAnAsset);
    let standing = runtime::standing(data).map_err(|_| NotAnAsset);
    assert_eq!(standing, by_its_plan.standing(data), "a resolution would be told other than the plan says");
    for document in [inspected.ok(), planned.ok(), validated.ok().map(|(document, _)| document)].into_iter().flatten() {
        assert!(recognised, "a document of bytes that are no asset");
        assert!(write::pretty_length(&document).is_ok(), "a document that cannot be printed");
    }
}

/// Any bytes as the envelope of an honest protected asset: nothing loads without the password or with another one, and
/// what the right one opens is exactly what was sealed.
pub(crate) fn envelope(data: &[u8]) {
    let Some(bytes) = packed(LOCKED_MANIFEST, Payload::Cbor(data.to_vec())) else { return };
    container(&bytes);
    let open = |password| open_as(&bytes, LoadProfile::Full, password);
    assert!(open(None).is_err() && open(Some(b"")).is_err(), "a Capsule without the password");
    if !is_cheap(data) {
        return;
    }
    assert!(open(Some(WRONG)).is_err(), "a Capsule with another password");
    if let Ok(capsule) = open(Some(PASSWORD)) {
        let sealed = read_javascript(PAYLOAD).expect("the payload");
        assert!(write::compact(payload_of(&capsule)) == write::compact(&sealed), "another payload was opened");
    }
}

/// Whether an envelope states a cost at which thousands can be tried in a second. Only a guess at bytes: an envelope that
/// deceives it is bounded all the same.
pub(crate) fn is_cheap(envelope: &[u8]) -> bool {
    let once = |text: &[u8]| envelope.windows(text.len()).filter(|window| *window == text).count() == 1;
    once(b"memory_kib") && once(b"memory_kib\x08") && once(b"iterations") && once(b"iterations\x01") && !once(b"scrypt")
}

fn payload_of(capsule: &Value) -> &Value {
    capsule.get("context").and_then(|context| context.get("payload")).expect("a payload")
}

/// What loads in the clear can be protected, unless it is too large, and comes back with the password alone.
fn protected(data: &[u8], public: &Value) {
    let fresh = Fresh::draw(|random| {
        random.fill(7);
        Ok::<(), ()>(())
    });
    let fresh = fresh.expect("random bytes");
    match protect(data, PASSWORD, &fresh, CHEAP) {
        Err(fault) => assert_eq!(fault, ProtectFault::TooLarge, "it loads and cannot be protected"),
        Ok(locked) => {
            assert!(open_as(&locked, LoadProfile::Index, None).is_err(), "a Capsule without the password");
            assert!(open_as(&locked, LoadProfile::Index, Some(WRONG)).is_err(), "a Capsule with another password");
            // A Capsule may have been just short enough before the manifest grew.
            if let Ok(capsule) = open_as(&locked, LoadProfile::Full, Some(PASSWORD)) {
                let same = write::compact(payload_of(&capsule)) == write::compact(payload_of(public));
                assert!(same, "another payload came back");
            }
        }
    }
}

/// The whole way of a load: a Capsule belongs to these bytes, agrees with the plan, and passes the broker's own check.
pub(crate) fn load(data: &[u8]) {
    let plan = runtime::plan(data, &PlanInput::default());
    for profile in PROFILES {
        if let Ok(capsule) = load_as(data, profile) {
            let plan = plan.clone().expect("a Capsule without a plan");
            assert_eq!(plan.get("can_load_now"), Some(&Value::Bool(true)), "a Capsule of what may not be loaded");
            let _ = LoadPlan::check(plan);
            if profile == LoadProfile::Full {
                protected(data, &capsule);
            }
            let text = write::pretty(&capsule).expect("a Capsule that cannot be printed");
            assert!(text.len() <= limits::RUNTIME_OUTPUT_BYTES, "a Capsule that is too long");
            let read = read_strict(text.as_bytes(), limits::RUNTIME_REPLY_DEPTH).expect("what the broker reads");
            if let Ok(checked) = Capsule::check(read) {
                assert_eq!(checked.asset_digest(), Digest::of(data), "a Capsule of other bytes");
            }
        }
    }
}

fn load_as(data: &[u8], profile: LoadProfile) -> Result<Value, RuntimeFault> {
    open_as(data, profile, None)
}

fn open_as(data: &[u8], profile: LoadProfile, password: Option<&[u8]>) -> Result<Value, RuntimeFault> {
    runtime::load(data, profile, password, None, Timestamp::from_milliseconds(0), InputKind::PackagedBytes)
}

fn packed(manifest: &[u8], payload: Payload) -> Option<Vec<u8>> {
    pack(&Parts { manifest: manifest.to_vec(), payload, attachments: Vec::new() }).ok()
}

/// Any payload bytes in an honest container with true checksums.
pub(crate) fn payload_cbor(data: &[u8]) {
    if let Some(bytes) = packed(MANIFEST, Payload::Cbor(data.to_vec())) {
        container(&bytes);
        load(&bytes);
    }
}

/// Any manifest bytes in an honest container with true checksums.
pub(crate) fn manifest(data: &[u8]) {
    if let Some(bytes) = packed(data, Payload::Json(PAYLOAD.to_vec())) {
        container(&bytes);
        load(&bytes);
    }
}

/// Any payload text: what is packed and loads comes back as it was written.
pub(crate) fn payload_json(data: &[u8]) {
    let Some(bytes) = packed(MANIFEST, Payload::Json(data.to_vec())) else { return };
    container(&bytes);
    if let Ok(capsule) = load_as(&bytes, LoadProfile::Full) {
        let written = read_javascript(data).expect("it was read as JSON before");
        assert!(write::compact(payload_of(&capsule)) == write::compact(&written), "another payload came back");
    }
}

/// Any consent document: one that is read keeps the digest of its bytes and says nothing that its bytes do not.
pub(crate) fn consent(data: &[u8]) {
    if let Ok(consent) = Consent::read(data) {
        assert_eq!(consent.digest(), Digest::of(data));
        assert!(data.len() <= usize::try_from(limits::CONSENT_BYTES).unwrap_or(0));
    }
}

/// Any attachment record: one that is read is written and read again as the same document.
pub(crate) fn record(data: &[u8]) {
    let Ok(record) = Record::read(data) else { return };
    for attachment in record.attachments() {
        let _ = (attachment.scope_digest(), attachment.entry());
    }
    if let Ok(bytes) = record.to_bytes() {
        let again = Record::read(&bytes).expect("a record that was written is read");
        assert_eq!(again.document(), record.document());
    }
}

/// Any input of the server: it answers in whole JSON lines, and ends when the input does.
pub(crate) fn frames(data: &[u8]) {
    let output = Kept::default();
    let options = ServeOptions { tool_names: ToolNames::default(), server_version: "0".to_owned() };
    let ending = serve(Cursor::new(data.to_vec()), output.clone(), Arc::new(Refusing), options);
    assert_eq!(ending, Ending::InputEnded);
    let written = output.0.lock().expect("its lines");
    assert!(written.is_empty() || written.ends_with(b"\n"), "half a line");
    for line in written.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        assert!(read_strict(line, limits::RUNTIME_REPLY_DEPTH).is_ok(), "a line that is not JSON");
    }
}

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("its lines").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Tools that refuse everything.
struct Refusing;

impl Operations for Refusing {
    fn status(&self, _: &str, _: &Cancel) -> Result<Answer, Refusal> {
        Err(Reason::Internal.into())
    }

    fn resolve(&self, _: &str, _: &Task, _: Option<&Selection>, _: &Cancel) -> Result<Answer, Refusal> {
        Err(Reason::Internal.into())
    }

    fn load(
        &self,
        _: &str,
        _: &Task,
        _: Option<&Selection>,
        _: Profile,
        _: &dyn Fn(&Answer) -> Result<Vec<u8>, Refusal>,
        _: &Cancel,
    ) -> Result<Vec<u8>, Refusal> {
        Err(Reason::Internal.into())
    }
}
