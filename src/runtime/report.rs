//! The projection report of a compact Capsule: what the payload holds beyond what the Capsule shows, by path and count.

use super::schema::escape;
use crate::foundation::json::canonical::utf16_order;
use crate::foundation::text::is_blank;
use crate::foundation::value::{Map, Tree, Value};
use icu_collator::options::CollatorOptions;
use icu_collator::{Collator, CollatorBorrowed, CollatorPreferences};
use std::sync::LazyLock;

const SHOWN_CORE: [&str; 7] =
    ["highest_question", "worldview", "value_order", "judgment_role", "axioms", "boundaries", "core_structure"];
const SHOWN_AXIOM: [&str; 6] =
    ["id", "statement", "one_sentence", "applies_when", "does_not_apply_when", "failure_risk"];
const SHOWN_REASONING: [&str; 2] = ["self_check", "failure_modes"];
const SHOWN_PAYLOAD: [&str; 5] = ["profile", "profile_version", "core", "patterns", "reasoning"];

/// A path that the Capsule leaves out, and how many things are there.
struct Omitted {
    path: String,
    count: usize,
}

/// The report document.
pub(super) fn of(payload: &Tree<'_>) -> Value {
    let mut omitted = omissions(payload);
    // An order costs more to make than most reports, and one path has none.
    if omitted.len() > 1
        && let Some(order) = &*READING_ORDER
    {
        omitted.sort_by(|left, right| order.compare(&left.path, &right.path));
    }
    let total: usize = omitted.iter().map(|item| item.count).sum();
    let status = if total > 0 { "partial" } else { "complete" };
    Value::borrowing([
        ("status", Tree::text(status)),
        ("omitted", omitted.into_iter().map(Value::from).collect::<Vec<_>>().into()),
        ("omitted_total", number(total)),
    ])
}

/// The root collation, which is also that of English, whatever the environment says. `None` cannot happen: its data is
/// compiled in.
static READING_ORDER: LazyLock<Option<CollatorBorrowed<'static>>> =
    LazyLock::new(|| Collator::try_new(CollatorPreferences::default(), CollatorOptions::default()).ok());

fn omissions(payload: &Tree<'_>) -> Vec<Omitted> {
    let mut omitted = Vec::new();
    let core = payload.get("core");
    add_members(&mut omitted, "/core", core, &SHOWN_CORE);
    let axioms = core.and_then(|core| core.get("axioms")).and_then(Tree::as_array).unwrap_or_default();
    add_axioms(&mut omitted, axioms);
    add_members(&mut omitted, "/reasoning", payload.get("reasoning"), &SHOWN_REASONING);
    add_members(&mut omitted, "", Some(payload), &SHOWN_PAYLOAD);
    omitted
}

/// The members that are not shown, in the order of their keys.
fn hidden<'v, 'a>(object: &'v Map<'a>, shown: &[&str]) -> Vec<(&'v str, &'v Tree<'a>)> {
    let mut members: Vec<_> = object.iter().filter(|(key, _)| !shown.contains(key)).collect();
    members.sort_by(|(left, _), (right, _)| utf16_order(left, right));
    members
}

fn add_members(omitted: &mut Vec<Omitted>, path: &str, value: Option<&Tree<'_>>, shown: &[&str]) {
    let members = value.and_then(Tree::as_object).map(|object| hidden(object, shown)).unwrap_or_default();
    for (key, member) in members {
        add(omitted, format!("{path}/{}", escape(key)), member);
    }
}

/// Maps are entered, everything else counts at its own path.
fn add(omitted: &mut Vec<Omitted>, path: String, value: &Tree<'_>) {
    if value.as_object().is_some() {
        add_members(omitted, &path, Some(value), &[]);
    } else if count(value) > 0 {
        omitted.push(Omitted { path, count: count(value) });
    }
}

/// Fields of axioms are summed up over all axioms.
fn add_axioms(omitted: &mut Vec<Omitted>, axioms: &[Tree<'_>]) {
    let mut sums = std::collections::BTreeMap::new();
    for (key, value) in axioms.iter().filter_map(Tree::as_object).flat_map(Map::iter) {
        if !SHOWN_AXIOM.contains(&key) {
            *sums.entry(key).or_insert(0) += count(value);
        }
    }
    let mut sums: Vec<(String, usize)> =
        sums.into_iter().map(|(key, count)| (format!("/core/axioms/*/{}", escape(key)), count)).collect();
    sums.sort_by(|(left, _), (right, _)| utf16_order(left, right));
    omitted.extend(sums.into_iter().filter(|(_, count)| *count > 0).map(|(path, count)| Omitted { path, count }));
}

fn count(value: &Tree<'_>) -> usize {
    match value {
        Tree::Null | Tree::Undefined => 0,
        Tree::Array(items) => items.len(),
        Tree::String(text) => usize::from(!is_blank(text)),
        Tree::Object(object) => usize::from(!object.is_empty()),
        Tree::Bool(_) | Tree::Number(_) | Tree::Unprintable => 1,
    }
}

/// A count as a number; a payload is far too small for one above 2^32.
fn number(count: usize) -> Value {
    Value::from(u32::try_from(count).unwrap_or(u32::MAX))
}

impl From<Omitted> for Value {
    fn from(item: Omitted) -> Self {
        Value::borrowing([("path", Value::from(item.path)), ("count", number(item.count))])
    }
}
