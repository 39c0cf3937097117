//! What each profile shows of an asset. Projections copy and rename; they never shorten a text or count a token.

use super::capsule::LoadProfile;
use super::javascript::to_text;
use super::manifest::{dig, or_null, truthy};
use crate::foundation::text::{is_blank, trim};
use crate::foundation::value::{Object, Value};

/// The context of a Capsule.
pub(super) fn context(profile: LoadProfile, manifest: Value, payload: Value) -> Value {
    match profile {
        LoadProfile::Index => index(&manifest),
        LoadProfile::Compact => compact(&payload),
        LoadProfile::Scenario => {
            let scenarios = truthy(&payload, "scenarios").cloned().unwrap_or_else(no_items);
            Value::object([("scenarios", scenarios)])
        }
        LoadProfile::Full => Value::object([("manifest", manifest), ("payload", payload)]),
        LoadProfile::Minimal => minimal(&manifest, &payload),
    }
}

fn no_items() -> Value {
    Value::Array(Vec::new())
}

/// The items of a list; nothing for anything else.
fn items(list: Option<&Value>) -> &[Value] {
    list.and_then(Value::as_array).unwrap_or_default()
}

fn index(manifest: &Value) -> Value {
    let profiles = dig(manifest, &["load_contract", "profiles"]).and_then(Value::as_object);
    let names = profiles.into_iter().flat_map(Object::keys).map(Value::from).collect::<Vec<_>>();
    let mut context = Object::new();
    for key in ["asset_id", "asset_uid", "title", "version", "judgment_version", "asset_type"] {
        context.insert(key, manifest.get(key).cloned());
    }
    context.insert("summary", or_null(manifest, "summary"));
    context.insert("language", or_null(manifest, "language"));
    context.insert("keywords", truthy(manifest, "keywords").cloned().unwrap_or_else(no_items));
    context.insert("profiles_available", names);
    let compact = profiles.and_then(|profiles| profiles.get("compact"));
    if let Some(hint) = compact.and_then(|compact| truthy(compact, "max_tokens_hint")) {
        context.insert("max_tokens_hint", hint.clone());
    }
    context.into()
}

fn compact(payload: &Value) -> Value {
    let core = payload.get("core").unwrap_or(&Value::Null);
    let reasoning = payload.get("reasoning").unwrap_or(&Value::Null);
    let copied = |key| Value::from(items(core.get(key)).to_vec());
    let role = core.get("judgment_role").filter(|role| role.as_object().is_some());
    Value::object([
        ("highest_question", or_null(core, "highest_question")),
        ("worldview", copied("worldview")),
        ("value_order", copied("value_order")),
        ("judgment_role", role.cloned().into()),
        ("axioms", items(core.get("axioms")).iter().filter_map(axiom).collect::<Vec<_>>().into()),
        ("boundaries", listed(core.get("boundaries"))),
        ("core_structure", items(core.get("core_structure")).iter().filter_map(relation).collect::<Vec<_>>().into()),
        ("self_checks", items(reasoning.get("self_check")).to_vec().into()),
        ("failure_modes", listed(reasoning.get("failure_modes"))),
        ("patterns", listed(payload.get("patterns"))),
    ])
}

/// The question, where axioms apply and what they risk, and the boundaries: of an asset that declares this profile and
/// holds any judgment. Nothing of another one.
fn minimal(manifest: &Value, payload: &Value) -> Value {
    let declared = dig(manifest, &["load_contract", "profiles", "minimal"]).is_some_and(Value::is_truthy);
    let whole = compact(payload);
    if !declared || !holds_judgment(&whole) {
        return Object::new().into();
    }
    let axioms = items(whole.get("axioms")).iter().map(|axiom| {
        let fields = ["type", "id", "one_sentence", "does_not_apply_when", "failure_risk"];
        Value::object(fields.map(|key| (key, axiom.get(key).cloned().into())))
    });
    Value::object([
        ("highest_question", or_null(&whole, "highest_question")),
        ("axioms", axioms.collect::<Vec<_>>().into()),
        ("boundaries", items(whole.get("boundaries")).to_vec().into()),
    ])
}

/// Whether a compact context says anything.
fn holds_judgment(whole: &Value) -> bool {
    const LISTS: [&str; 7] =
        ["axioms", "boundaries", "worldview", "value_order", "patterns", "self_checks", "failure_modes"];
    const ROLE: [&str; 3] = ["acts_as", "does_not_act_as", "responsibility"];
    let role = whole.get("judgment_role").unwrap_or(&Value::Null);
    truthy(whole, "highest_question").is_some()
        || LISTS.iter().any(|key| !items(whole.get(key)).is_empty())
        || ROLE.iter().any(|key| truthy(role, key).is_some())
}

/// Texts are named as such; maps and lists stay as they are; anything else is left out.
fn listed(list: Option<&Value>) -> Value {
    let show = |item: &Value| match item {
        Value::String(text) => {
            Some(Value::object([("type", "text"), ("text", text)].map(|(k, v)| (k, Value::from(v)))))
        }
        Value::Object(_) | Value::Array(_) => Some(item.clone()),
        _ => None,
    };
    items(list).iter().filter_map(show).collect::<Vec<_>>().into()
}

/// The five fields of a relation between axioms.
fn relation(item: &Value) -> Option<Value> {
    let item = item.as_object()?;
    let fields = ["from", "to", "via", "applies_when", "does_not_apply_when"];
    let present = fields.into_iter().filter_map(|key| Some((key.to_owned(), item.get(key)?.clone())));
    Some(Value::Object(present.collect()))
}

/// An axiom in the one shape that hosts see; `None` for one that states nothing.
fn axiom(item: &Value) -> Option<Value> {
    if let Value::String(statement) = item {
        return Some(Value::object([
            ("type", Value::from("axiom_applicability")),
            ("statement", statement.as_str().into()),
            ("one_sentence", statement.as_str().into()),
            ("applies_when", no_items()),
            ("does_not_apply_when", no_items()),
            ("failure_risk", Value::Null),
        ]));
    }
    item.as_object()?;
    let statement =
        ["statement", "one_sentence", "full_statement", "id"].into_iter().find_map(|key| truthy(item, key))?;
    Some(Value::object([
        ("type", "axiom_applicability".into()),
        ("id", or_null(item, "id")),
        ("statement", statement.clone()),
        ("one_sentence", one_sentence(item, statement).clone()),
        ("applies_when", conditions(item.get("applies_when"))),
        ("does_not_apply_when", conditions(item.get("does_not_apply_when"))),
        ("failure_risk", or_null(item, "failure_risk")),
    ]))
}

/// The axiom's own sentence unless it is a placeholder.
fn one_sentence<'a>(item: &'a Value, statement: &'a Value) -> &'a Value {
    let own = truthy(item, "one_sentence").filter(|sentence| !to_text(sentence).starts_with("<TBD"));
    let full = truthy(item, "full_statement").filter(|full| full.as_str().is_some());
    own.or(full).unwrap_or(statement)
}

/// A list of conditions: trimmed texts, none of them blank.
fn conditions(value: Option<&Value>) -> Value {
    let texts = match value {
        Some(Value::Array(items)) => items.as_slice(),
        Some(text) => std::slice::from_ref(text),
        None => &[],
    };
    let shown = texts.iter().filter_map(Value::as_str).filter(|text| !is_blank(text)).map(trim);
    shown.map(Value::from).collect::<Vec<_>>().into()
}
