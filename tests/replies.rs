//! A runtime's reply is taken field by field: every recorded one is, and none that says one thing more, less or otherwise.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be arranged must stop, and says why"
)]

mod support;

use kdna_broker::foundation::capsule::Capsule;
use kdna_broker::foundation::load_plan::{LoadPlan, State};
use kdna_broker::foundation::refusal::Reason;
use kdna_broker::foundation::resolution::Resolution;
use kdna_broker::foundation::value::{Object, Value};
use support::documents::{at, parse, with};
use support::simulated::{Recorded, recorded_ids};

fn stdout(id: &str) -> Value {
    parse(&Recorded::named(id).stdout).expect("a document")
}

/// Every pointer to a member or item of a document.
fn places(value: &Value, here: &str, found: &mut Vec<String>) {
    let mut go = |key: &str, inner: &Value| {
        let place = format!("{here}/{}", key.replace('~', "~0").replace('/', "~1"));
        found.push(place.clone());
        places(inner, &place, found);
    };
    match value {
        Value::Object(object) => object.iter().for_each(|(key, inner)| go(key, inner)),
        Value::Array(items) => items.iter().enumerate().for_each(|(at, inner)| go(&at.to_string(), inner)),
        _ => {}
    }
}

/// Each member removed, and each replaced by a value of another kind, must be refused unless it is in `free`, the parts
/// that are the asset's own.
fn assert_closed(document: &Value, free: &[&str], accepts: impl Fn(Value) -> bool) {
    assert!(accepts(document.clone()));
    let mut found = Vec::new();
    places(document, "", &mut found);
    for place in found.iter().filter(|place| !free.iter().any(|free| place.starts_with(free))) {
        assert!(!accepts(with(document.clone(), place, None)), "without {place}");
        let odd = Value::Array(vec![Value::from("odd")]);
        assert!(!accepts(with(document.clone(), place, Some(odd))), "other kind at {place}");
    }
    let mut longer = document.as_object().unwrap().clone();
    longer.insert("trusted", true);
    assert!(!accepts(Value::Object(longer)));
    let mut members: Vec<(String, Value)> =
        document.as_object().unwrap().iter().map(|(key, value)| (key.to_owned(), value.clone())).collect();
    members.swap(0, 1);
    assert!(!accepts(Value::Object(members.into_iter().collect::<Object>())), "another order");
}

#[test]
fn a_load_plan_says_exactly_what_the_contract_lists() {
    let document = stdout("plan-review");
    // Names are whatever the manifest holds; a missing one is null, never absent.
    let free = ["/asset/", "/format_version"];
    assert_closed(&document, &free, |value| LoadPlan::check(value).is_ok());
    let refusal = LoadPlan::check(with(document.clone(), "/asset/title", None)).unwrap_err();
    assert_eq!(refusal.reason(), Reason::RuntimeOutputRefused);
    for (place, value) in [
        ("/can_load_now", Value::from(false)),
        ("/state", Value::from("denied")),
        ("/state", Value::from("wonderful")),
        ("/checks/overall_valid", Value::from(false)),
        ("/required_action", Value::from("trust")),
        ("/access", Value::Null),
    ] {
        assert!(LoadPlan::check(with(document.clone(), place, Some(value))).is_err(), "{place}");
    }
    let plan = LoadPlan::check(document).unwrap();
    assert_eq!((plan.asset_id(), plan.asset_version()), (Some("kdna:golden:review"), Some("1.0.0")));
    assert!(plan.is_usable() && plan.can_load_now() && !plan.needs_password());
}

#[test]
fn every_recorded_load_plan_is_taken() {
    for id in recorded_ids("plan-") {
        let Some(document) = parse(&Recorded::named(&id).stdout) else { continue };
        let plan = LoadPlan::check(document).unwrap_or_else(|_| panic!("{id}"));
        assert_eq!(plan.is_usable(), plan.state() != State::Invalid, "{id}");
        assert_eq!(plan.needs_password(), id.contains("locked") && plan.state() == State::NeedsPassword, "{id}");
    }
}

#[test]
fn a_capsule_says_exactly_what_the_contract_lists() {
    let document = stdout("load-review-compact");
    let free = ["/context", "/asset/asset_uid", "/asset/judgment_version", "/trace/projection_report/omitted/"];
    assert_closed(&document, &free, |value| Capsule::check(value).is_ok());
    assert!(Capsule::check(with(document.clone(), "/context", Some(Value::Null))).is_err());
    for (place, value) in [
        ("/profile", "full"),
        ("/trace/profile", "index"),
        ("/signature/state", "verified"),
        ("/trace/loaded_at", "now"),
        ("/digests/content/comparison/state", "mismatched"),
        ("/digests/asset/value", "sha256:00"),
    ] {
        assert!(Capsule::check(with(document.clone(), place, Some(Value::from(value)))).is_err(), "{place}");
    }
    let other = "sha256:0000000000000000000000000000000000000000000000000000000000000000";
    let foreign = with(document.clone(), "/digests/runtime_entry_set/value", Some(Value::from(other)));
    assert!(Capsule::check(foreign).is_err(), "a digest that does not match what it was compared with");
    let capsule = Capsule::check(document.clone()).unwrap();
    assert_eq!(
        Some(capsule.asset_digest().to_string().as_str()),
        at(&document, "/digests/asset/value").unwrap().as_str()
    );
    assert_eq!((capsule.asset_id(), capsule.profile()), ("kdna:golden:review", "compact"));
}

#[test]
fn every_recorded_capsule_is_taken_and_gives_the_recorded_judgment() {
    let mut taken = 0;
    for id in recorded_ids("load-") {
        let case = Recorded::named(&id);
        let Some(document) = parse(&case.stdout).filter(|document| document.get("context").is_some()) else { continue };
        if document.get("type").is_none() {
            continue;
        }
        assert!(Capsule::check(document).is_ok(), "{id}");
        taken += 1;
    }
    assert!(taken >= 4, "{taken}");
    for id in recorded_ids("mcp-load-ok") {
        let reply = support::documents::server_output(&Recorded::named(&id).stdout);
        let adoption = at(&reply, "/0/result/content/0/text").expect("an adoption");
        let capsule = Capsule::check(adoption.get("runtime_capsule").unwrap().clone()).expect("a capsule");
        assert_eq!(Some(&capsule.judgment_decision()), adoption.get("judgment_decision"), "{id}");
        let resolution = adoption.get("resolution").unwrap().clone();
        assert_eq!(&Resolution::check(resolution.clone(), true).unwrap().authorized(), &resolution, "{id}");
        assert!(LoadPlan::check(adoption.get("load_plan").unwrap().clone()).is_ok(), "{id}");
    }
}

#[test]
fn a_resolution_says_exactly_what_the_contract_lists() {
    for id in ["mcp-resolve-load", "mcp-resolve-ask", "mcp-resolve-skip"] {
        let reply = support::documents::server_output(&Recorded::named(id).stdout);
        let document = at(&reply, "/0/result/content/0/text").expect("a resolution").clone();
        let accepts = |value: Value| Resolution::check(value, false).is_ok();
        assert!(accepts(document.clone()), "{id}");
        let mut found = Vec::new();
        places(&document, "", &mut found);
        // The only candidate of an ask or a skip may be missing as a whole.
        for place in found.iter().filter(|place| *place != "/candidates/0" || id == "mcp-resolve-load") {
            assert!(!accepts(with(document.clone(), place, None)), "{id} without {place}");
            assert!(!accepts(with(document.clone(), place, Some(Value::from("/odd\0")))), "{id} {place}");
        }
        for (place, value) in [
            ("/decision", "block"),
            ("/reason_code", "snapshot_missing"),
            ("/workspace_root", "/w"),
            ("/candidates/0/authorization", "not_selected"),
        ] {
            assert!(!accepts(with(document.clone(), place, Some(Value::from(value)))), "{id} {place}");
        }
    }
}

#[test]
fn a_resolution_lists_at_most_64_different_candidates() {
    let reply = support::documents::server_output(&Recorded::named("mcp-resolve-skip").stdout);
    let document = at(&reply, "/0/result/content/0/text").expect("a resolution").clone();
    let one = at(&document, "/candidates/0").unwrap().clone();
    let many = |count: usize| {
        let numbered = |n| with(one.clone(), "/attachment_id", Some(Value::from(format!("att_{n:024}"))));
        with(document.clone(), "/candidates", Some(Value::Array((0..count).map(numbered).collect())))
    };
    assert!(Resolution::check(many(64), false).is_ok());
    assert_eq!(Resolution::check(many(65), false).unwrap_err().reason(), Reason::ResolutionRefused);
    let twice = with(document.clone(), "/candidates", Some(Value::Array(vec![one.clone(), one.clone()])));
    assert!(Resolution::check(twice, false).is_err());
    let role = |units: usize| with(document.clone(), "/candidates/0/role", Some(Value::from("r".repeat(units))));
    assert!(Resolution::check(role(512), false).is_ok() && Resolution::check(role(513), false).is_err());
}

#[test]
fn the_owner_may_be_told_of_all_that_a_record_holds() {
    let reply = support::documents::server_output(&Recorded::named("mcp-resolve-skip").stdout);
    let document = at(&reply, "/0/result/content/0/text").expect("a resolution").clone();
    let one = at(&document, "/candidates/0").unwrap().clone();
    let many = |count: usize| {
        let numbered = |n| with(one.clone(), "/attachment_id", Some(Value::from(format!("att_{n:024}"))));
        with(document.clone(), "/candidates", Some(Value::Array((0..count).map(numbered).collect())))
    };
    assert!(Resolution::check_for_owner(many(1024), false).is_ok());
    assert!(Resolution::check_for_owner(many(1025), false).is_err());
    let role = |units: usize| with(document.clone(), "/candidates/0/role", Some(Value::from("r".repeat(units))));
    assert!(Resolution::check_for_owner(role(4096), false).is_ok());
    assert!(Resolution::check_for_owner(role(4097), false).is_err());
}
