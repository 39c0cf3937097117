//! Deciding costs about the length of the task and of the record together, never their product, whatever they are made
//! of. Work is counted, not timed: `benches/resolve.rs` prints times.
#![cfg(feature = "runtime")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::record::Record;
use kdna_broker::runtime::resolver::effort;
use std::collections::BTreeSet;

/// What one character may cost: it is normalised, followed forwards and back in up to four arrangements, and stands in up
/// to four quotations.
const STEPS_PER_CHARACTER: u64 = 12;

/// A record of attachments with these phrases, eight to each list.
fn record(phrases: &[String]) -> Record {
    let hex = Digest::of(b"asset").hex();
    let list = |phrases: &[String]| -> String {
        let different: BTreeSet<&String> = phrases.iter().collect();
        different.into_iter().map(|phrase| format!("\"{phrase}\"")).collect::<Vec<_>>().join(",")
    };
    let rows = phrases.chunks(16).enumerate().map(|(number, phrases)| {
        let (pro, contra) = phrases.split_at(phrases.len().div_ceil(2));
        format!(
            r#"{{"attachment_id":"att_{number:024}","asset":{{"id":"made:up","version":"1","digest":"sha256:{hex}","snapshot":"assets/sha256-{hex}.kdna"}},"state":"enabled","role":"r","scope":{{"kind":"workspace","application":"task_hints","matching_policy":"open_world_ask","authority":"user_approved_routing_hint","approval_source":"user_explicit","applies_to":[{}],"does_not_apply_to":[{}]}},"resolution_policy":"load_when_clear_ask_when_ambiguous","update_policy":"explicit_switch_only","approved_at":"2026-06-01T09:00:00.000Z","history":[]}}"#,
            list(pro), list(contra)
        )
    });
    let rows: Vec<String> = rows.collect();
    let text = format!(
        r#"{{"document_type":"kdna.workspace-attachments","schema_version":"0.3.0","workspace":{{"root_marker":".kdna/attachments.json"}},"attachments":[{}]}}"#,
        rows.join(",")
    );
    Record::read(text.as_bytes()).unwrap()
}

/// A task of about so many characters, and one phrase of many.
struct Family {
    name: &'static str,
    task: fn(usize) -> String,
    phrase: fn(usize) -> String,
}

/// Letters for a number, none of them twice in a row the same for two numbers.
fn letters(mut number: usize, from: &[char]) -> String {
    let mut out = String::new();
    for _ in 0..6 {
        out.extend(from.get(number % from.len()));
        number /= from.len();
    }
    out
}

const FAMILIES: [Family; 8] = [
    Family {
        name: "tokens that all occur, never in this order",
        task: |length| "a b c d ".repeat(length / 8),
        phrase: |number| letters(number, &['b', 'a', 'd', 'c']).chars().flat_map(|letter| [letter, ' ']).collect(),
    },
    Family {
        name: "one token again and again",
        task: |length| "a ".repeat(length / 2),
        phrase: |number| format!("{}z{number}", "a ".repeat(20)),
    },
    Family {
        name: "long tokens that almost hold each other",
        task: |length| (0..).map(|size| format!("{}b ", "a".repeat(4 + size % 300))).take(length / 150).collect(),
        phrase: |number| format!("{}{number}", "a".repeat(100)),
    },
    Family {
        name: "long tokens that are almost held",
        task: |length| "abcd".repeat(length / 4),
        phrase: |number| format!("dcba{}", letters(number, &['a', 'b', 'c', 'd'])),
    },
    Family {
        name: "quotations that almost close",
        task: |length| "\"draft article ".repeat(length / 15),
        phrase: |number| {
            ["draft article", "article draft", "draft article draft"][number % 3].to_owned()
                + " \\\"".repeat(number % 7).as_str()
        },
    },
    Family {
        name: "one ideograph again and again",
        task: |length| "写".repeat(length),
        phrase: |number| format!("{}文{}", "写".repeat(30), letters(number, &['文', '章'])),
    },
    Family {
        name: "ideographs whose pairs all occur",
        task: |length| "写文章写章文".repeat(length / 6),
        phrase: |number| letters(number, &['写', '文', '章']),
    },
    Family {
        name: "halves of characters outside the basic plane",
        task: |length| "\u{20000}\u{20001}".repeat(length / 2),
        phrase: |number| letters(number, &['\u{20000}', '\u{20001}', '\u{20002}']),
    },
];

fn measured(family: &Family, task: usize, phrases: usize) -> (u64, u64) {
    let task = (family.task)(task);
    let phrases: Vec<String> = (0..phrases).map(|number| (family.phrase)(number).trim().to_owned()).collect();
    let characters = task.chars().count() + phrases.iter().map(|phrase| phrase.chars().count()).sum::<usize>();
    (effort(task.as_bytes(), &record(&phrases)).unwrap(), u64::try_from(characters).unwrap())
}

#[test]
fn work_is_bounded_by_the_length_of_task_and_phrases_together() {
    for family in &FAMILIES {
        for (task, phrases) in [(600, 40), (6_000, 40), (600, 400), (6_000, 400)] {
            let (steps, characters) = measured(family, task, phrases);
            assert!(
                steps <= characters * STEPS_PER_CHARACTER,
                "{}: {steps} steps for {characters} characters ({task} by {phrases})",
                family.name
            );
        }
    }
}

#[test]
fn twice_the_task_and_twice_the_phrases_cost_about_twice() {
    for family in &FAMILIES {
        let (small, _) = measured(family, 3_000, 200);
        let (large, _) = measured(family, 6_000, 400);
        assert!(small > 3_000 && large <= small * 5 / 2, "{}: {small} and {large}", family.name);
    }
}

/// The count itself is worth something: comparing each phrase with each place of the task would be far above the bound.
#[test]
fn the_product_would_be_found() {
    for family in &FAMILIES {
        let (_, characters) = measured(family, 6_000, 400);
        assert!(6_000 * 400 > characters * STEPS_PER_CHARACTER, "{}", family.name);
    }
}
