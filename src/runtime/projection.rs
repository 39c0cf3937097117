//! What each profile shows of an asset. Projections copy and rename; they never shorten a text or count a token.

use super::capsule::LoadProfile;
use super::javascript::to_text;
use super::manifest::{dig, or_null, truthy};
use crate::foundation::text::trim;
use crate::foundation::value::{Map, Tree};
use std::borrow::Cow;

/// The context of a Capsule. What it shows of the payload is taken out of it.
pub(super) fn context<'a>(profile: LoadProfile, manifest: Tree<'a>, mut payload: Tree<'a>) -> Tree<'a> {
    match profile {
        LoadProfile::Index => index(&manifest),
        LoadProfile::Compact => compact(payload),
        LoadProfile::Scenario => {
            let scenarios = payload.take("scenarios").filter(Tree::is_truthy).unwrap_or_else(no_items);
            Tree::borrowing([("scenarios", scenarios)])
        }
        LoadProfile::Full => Tree::borrowing([("manifest", manifest), ("payload", payload)]),
        LoadProfile::Minimal => minimal(&manifest, payload),
    }
}

fn no_items<'a>() -> Tree<'a> {
    Tree::Array(Vec::new())
}

/// The items of a list; nothing for anything else.
fn items(list: Option<Tree<'_>>) -> Vec<Tree<'_>> {
    if let Some(Tree::Array(items)) = list { items } else { Vec::new() }
}

/// A member as it stands, or null where it is missing or means nothing.
fn taken_or_null<'a>(value: &mut Tree<'a>, key: &str) -> Tree<'a> {
    value.take(key).filter(Tree::is_truthy).unwrap_or(Tree::Null)
}

fn index<'a>(manifest: &Tree<'a>) -> Tree<'a> {
    let profiles = dig(manifest, &["load_contract", "profiles"]).and_then(Tree::as_object);
    let names = profiles.into_iter().flat_map(Map::keys).map(Tree::copied).collect::<Vec<_>>();
    let mut context = Map::with_room_for(11);
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

fn compact(mut payload: Tree<'_>) -> Tree<'_> {
    let mut core = payload.take("core").unwrap_or(Tree::Null);
    let mut reasoning = payload.take("reasoning").unwrap_or(Tree::Null);
    Tree::borrowing([
        ("highest_question", taken_or_null(&mut core, "highest_question")),
        ("worldview", items(core.take("worldview")).into()),
        ("value_order", items(core.take("value_order")).into()),
        ("judgment_role", core.take("judgment_role").filter(|role| role.as_object().is_some()).into()),
        ("axioms", shown(core.take("axioms"), axiom)),
        ("boundaries", shown(core.take("boundaries"), listed)),
        ("core_structure", shown(core.take("core_structure"), relation)),
        ("self_checks", items(reasoning.take("self_check")).into()),
        ("failure_modes", shown(reasoning.take("failure_modes"), listed)),
        ("patterns", shown(payload.take("patterns"), listed)),
    ])
}

/// What is shown of each item of a list.
fn shown<'a>(list: Option<Tree<'a>>, show: impl Fn(Tree<'a>) -> Option<Tree<'a>>) -> Tree<'a> {
    Tree::Array(items(list).into_iter().filter_map(show).collect())
}

/// The question, where axioms apply and what they risk, and the boundaries: of an asset that declares this profile and
/// holds any judgment. Nothing of another one.
fn minimal<'a>(manifest: &Tree<'_>, payload: Tree<'a>) -> Tree<'a> {
    let declared = dig(manifest, &["load_contract", "profiles", "minimal"]).is_some_and(Tree::is_truthy);
    let mut whole = compact(payload);
    if !declared || !holds_judgment(&whole) {
        return Map::new().into();
    }
    let axiom = |mut axiom: Tree<'a>| {
        let fields = ["type", "id", "one_sentence", "does_not_apply_when", "failure_risk"];
        Some(Tree::borrowing(fields.map(|key| (key, axiom.take(key).into()))))
    };
    Tree::borrowing([
        ("highest_question", taken_or_null(&mut whole, "highest_question")),
        ("axioms", shown(whole.take("axioms"), axiom)),
        ("boundaries", items(whole.take("boundaries")).into()),
    ])
}

/// Whether a compact context says anything.
fn holds_judgment(whole: &Tree<'_>) -> bool {
    const LISTS: [&str; 7] =
        ["axioms", "boundaries", "worldview", "value_order", "patterns", "self_checks", "failure_modes"];
    const ROLE: [&str; 3] = ["acts_as", "does_not_act_as", "responsibility"];
    let role = whole.get("judgment_role").unwrap_or(&Tree::Null);
    let has_items = |key: &&str| whole.get(key).and_then(Tree::as_array).is_some_and(|items| !items.is_empty());
    truthy(whole, "highest_question").is_some()
        || LISTS.iter().any(has_items)
        || ROLE.iter().any(|key| truthy(role, key).is_some())
}

/// Texts are named as such; maps and lists stay as they are; anything else is left out.
fn listed(item: Tree<'_>) -> Option<Tree<'_>> {
    match item {
        Tree::String(_) => Some(Tree::borrowing([("type", Tree::text("text")), ("text", item)])),
        Tree::Object(_) | Tree::Array(_) => Some(item),
        _ => None,
    }
}

/// The five fields of a relation between axioms.
fn relation(mut item: Tree<'_>) -> Option<Tree<'_>> {
    item.as_object()?;
    let mut present = Map::new();
    for key in ["from", "to", "via", "applies_when", "does_not_apply_when"] {
        if let Some(value) = item.take(key) {
            present.put(key.into(), value);
        }
    }
    Some(present.into())
}

const AXIOM: &str = "axiom_applicability";

/// An axiom in the one shape that hosts see; `None` for one that states nothing.
fn axiom(mut item: Tree<'_>) -> Option<Tree<'_>> {
    if let Tree::String(_) = item {
        return Some(Tree::borrowing([
            ("type", Tree::text(AXIOM)),
            ("statement", item.clone()),
            ("one_sentence", item),
            ("applies_when", no_items()),
            ("does_not_apply_when", no_items()),
            ("failure_risk", Tree::Null),
        ]));
    }
    let statement =
        ["statement", "one_sentence", "full_statement", "id"].into_iter().find_map(|key| truthy(&item, key))?.clone();
    let one_sentence = one_sentence(&item, &statement).clone();
    Some(Tree::borrowing([
        ("type", Tree::text(AXIOM)),
        ("id", taken_or_null(&mut item, "id")),
        ("statement", statement),
        ("one_sentence", one_sentence),
        ("applies_when", conditions(item.take("applies_when"))),
        ("does_not_apply_when", conditions(item.take("does_not_apply_when"))),
        ("failure_risk", taken_or_null(&mut item, "failure_risk")),
    ]))
}

/// The axiom's own sentence unless it is a placeholder.
fn one_sentence<'v, 'a>(item: &'v Tree<'a>, statement: &'v Tree<'a>) -> &'v Tree<'a> {
    let is_placeholder = |sentence: &Tree<'_>| match sentence {
        Tree::String(text) => text.starts_with("<TBD"),
        other => to_text(other).starts_with("<TBD"),
    };
    let own = truthy(item, "one_sentence").filter(|sentence| !is_placeholder(sentence));
    let full = truthy(item, "full_statement").filter(|full| full.as_str().is_some());
    own.or(full).unwrap_or(statement)
}

/// A list of conditions: trimmed texts, none of them blank.
fn conditions(value: Option<Tree<'_>>) -> Tree<'_> {
    match value {
        Some(text @ Tree::String(_)) => shown(Some(vec![text].into()), condition),
        list => shown(list, condition),
    }
}

fn condition(item: Tree<'_>) -> Option<Tree<'_>> {
    let Tree::String(text) = item else { return None };
    let trimmed = match text {
        Cow::Borrowed(text) => Cow::Borrowed(trim(text)),
        Cow::Owned(text) => Cow::Owned(trim(&text).to_owned()),
    };
    if trimmed.is_empty() { None } else { Some(Tree::String(trimmed)) }
}
