//! What is packed comes back: the same content, the same bytes for the same parts, and no changed bit goes unnoticed.
#![cfg(feature = "runtime")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

#[path = "support/content.rs"]
mod content;

use content::{Numbers, without_asset_digest};
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::json::write::{compact, pretty};
use kdna_broker::foundation::time::Timestamp;
use kdna_broker::foundation::value::Value;
use kdna_broker::runtime::writer::{Parts, Payload, pack};
use kdna_broker::runtime::{self, InputKind, LoadProfile, PlanInput, RuntimeFault};

fn load(bytes: &[u8], profile: LoadProfile) -> Result<Value, RuntimeFault> {
    runtime::load(bytes, profile, None, None, Timestamp::from_milliseconds(0), InputKind::PackagedBytes)
}

#[test]
fn random_content_is_given_back_whole_and_packed_to_the_same_bytes() {
    let seed = content::seed();
    println!("seed {seed}");
    let mut numbers = Numbers::new(seed);
    for round in 0..150 {
        let (manifest, payload) = (content::manifest(&mut numbers), content::payload(&mut numbers));
        let parts = |attachments| Parts {
            manifest: compact(&manifest).unwrap().into_bytes(),
            payload: Payload::Json(pretty(&payload).unwrap().into_bytes()),
            attachments,
        };
        let mut attachments = content::attachments(&mut numbers);
        let bytes = pack(&parts(attachments.clone())).unwrap();
        attachments.reverse();
        assert!(pack(&parts(attachments)).unwrap() == bytes, "round {round}: other bytes for the same parts");

        let facts = runtime::inspect(&bytes).unwrap();
        assert_eq!(facts.get("title"), manifest.get("title"), "round {round}");
        assert_eq!(facts.get("checksums_present"), Some(&Value::Bool(true)));
        let plan = runtime::plan(&bytes, &PlanInput::default()).unwrap();
        assert_eq!(plan.get("issues"), Some(&Value::Array(Vec::new())), "round {round}");
        assert_eq!(plan.get("state").and_then(Value::as_str), Some("ready"), "round {round}");
        let capsule = load(&bytes, LoadProfile::Full).unwrap();
        let context = capsule.get("context").unwrap();
        assert_eq!(compact(context.get("payload").unwrap()), compact(&payload), "round {round}");
        assert_eq!(compact(context.get("manifest").unwrap()), compact(&manifest), "round {round}");
        let digest = capsule.get("digests").unwrap().get("asset").unwrap().get("value").unwrap();
        assert_eq!(digest.as_str(), Some(Digest::of(&bytes).to_string().as_str()));
    }
}

#[test]
fn a_changed_bit_is_refused_or_changes_nothing_that_is_delivered() {
    let mut numbers = Numbers::new(7);
    let parts = Parts {
        manifest: compact(&content::manifest(&mut numbers)).unwrap().into_bytes(),
        payload: Payload::Json(content::SMALL_PAYLOAD.as_bytes().to_vec()),
        attachments: vec![
            ("attachments/a.json".to_owned(), b"[1]".to_vec()),
            ("attachments/b.txt".to_owned(), b"judgment judgment judgment judgment".to_vec()),
        ],
    };
    let mut bytes = pack(&parts).unwrap();
    let profiles = [LoadProfile::Full, LoadProfile::Compact];
    let control = profiles.map(|profile| without_asset_digest(&load(&bytes, profile).unwrap()));
    let (mut refused, mut same) = (0, 0);
    for at in 0..bytes.len() {
        for bit in 0..8 {
            bytes[at] ^= 1 << bit;
            for (profile, control) in profiles.into_iter().zip(&control) {
                match load(&bytes, profile) {
                    Err(_) => refused += 1,
                    Ok(capsule) => {
                        assert!(without_asset_digest(&capsule) == *control, "byte {at}, bit {bit}: another Capsule");
                        same += 1;
                    }
                }
            }
            bytes[at] ^= 1 << bit;
        }
    }
    assert!(refused > 4 * same, "{refused} refused, {same} the same");
    assert!(same > 0, "a timestamp, which nobody reads, was among the changed bits");
}

#[test]
fn what_cannot_be_kept_is_refused() {
    let packed = |payload: &str| {
        pack(&Parts { manifest: b"{}".to_vec(), payload: Payload::Json(payload.into()), attachments: Vec::new() })
    };
    assert!(packed("{}").is_ok(), "the control");
    for payload in [r#"{"a":1,"a":2}"#, "{", "\u{feff}{}", r#"{"__proto__":1}"#, r#""\ud800""#, "1e999"] {
        assert!(packed(payload).is_err(), "{payload}");
    }
}
