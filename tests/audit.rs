//! `kdna-broker audit`: a journal that verifies is said to, one that does not has its place named, what a checkpoint saw is
//! missed when it is gone, and nothing is written by looking.
#![cfg(feature = "runtime")]
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be arranged must stop, and says why"
)]

mod support;

use kdna_broker::foundation::value::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use support::command::{Exit, Finished, run};
use support::documents::parse;
use support::real::{Place, delivered, refused};
use support::tree::tree;

/// A place whose journal has rows of deliveries and of a refusal.
fn journalled() -> Place {
    let place = Place::new();
    let mut server = place.serve();
    (0..2).for_each(|id| assert!(delivered(&server.ask(&place.load(id)))));
    fs::remove_file(place.path("private/consent.json")).unwrap();
    refused(&server.ask(&place.load(2)), "host_processing_consent_invalid");
    server.close();
    place.allow();
    place
}

fn audit(place: &Place, words: &[&str]) -> Finished {
    let mut command = place.command(&[&["audit"], words].concat());
    command.current_dir(place.scratch.path());
    run(command, None)
}

fn segment(place: &Place) -> PathBuf {
    place.scratch.state().join("journal/journal-000001.jsonl")
}

fn answer(ended: &Finished) -> Value {
    parse(&ended.stdout).unwrap_or_else(|| panic!("{}{}", ended.stdout_text(), ended.stderr_text()))
}

fn text<'v>(document: &'v Value, key: &str) -> &'v str {
    document.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A checkpoint of the journal as it is, in a file.
fn checkpoint(place: &Place, name: &str) {
    let ended = audit(place, &["checkpoint", "--witness", "the desk \"downstairs\""]);
    assert_eq!(ended.exit, Exit::Status(0), "{}", ended.stderr_text());
    place.scratch.file(name, &ended.stdout, 0o644);
}

#[test]
fn a_whole_journal_verifies_and_what_that_does_not_show_is_said() {
    let place = journalled();
    let before = tree(place.scratch.path());
    let ended = audit(&place, &["verify"]);
    assert_eq!((ended.exit, ended.stderr_text().as_str()), (Exit::Status(0), ""));
    let rows = place.journal().lines().count();
    let said = ended.stdout_text();
    assert!(said.starts_with(&format!("{rows} rows in 1 segment, each whole and chained")), "{said}");
    assert!(said.contains("is not shown"), "{said}");
    let document = answer(&audit(&place, &["verify", "--json"]));
    let keys: Vec<&str> = document.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        ["document_type", "schema_version", "rows", "segments", "head", "last_at", "damage", "cut_off", "checkpoint"]
    );
    assert!(document.get("damage").unwrap().is_null() && document.get("checkpoint").unwrap().is_null());
    for words in [&["show"][..], &["export"], &["checkpoint"], &["show", "--last", "0"]] {
        assert_eq!(audit(&place, words).exit, Exit::Status(0), "{words:?}");
    }
    assert_eq!(tree(place.scratch.path()), before, "looking writes nothing");
}

#[test]
fn every_edit_of_a_journal_has_its_place_named_and_gives_nobody_its_rows() {
    let place = journalled();
    let whole = place.journal();
    let rows: Vec<&str> = whole.lines().collect();
    let joined = |rows: &[&str]| rows.iter().flat_map(|row| [*row, "\n"]).collect::<String>();
    let (a, b, c) = (rows[1], rows[2], rows[3]);
    // An edit is seen at the row after it, which names what stood there.
    let after = rows.iter().position(|row| row.contains("golden-host")).unwrap() + 2;
    let twice = rows[2].replacen('{', "{\"event\":\"delivered\",", 1);
    for (name, edited, bad, why) in [
        ("deleted", joined(&[&rows[..2], &rows[3..]].concat()), 3, "its number does not follow"),
        ("swapped", joined(&[&rows[..1], &[b, a], &rows[3..]].concat()), 2, "its number does not follow"),
        ("doubled", joined(&[&rows[..3], &[b], &rows[3..]].concat()), 4, "its number does not follow"),
        ("inserted", joined(&[&rows[..2], &[c], &rows[2..]].concat()), 3, "its number does not follow"),
        ("edited", joined(&rows).replacen("golden-host", "golden-hose", 1), after, "does not chain"),
        ("said twice", joined(&[&rows[..2], &[&twice], &rows[3..]].concat()), 3, "names a field twice"),
        ("torn", whole.trim_end_matches("\"}\n").to_owned(), rows.len(), "not complete"),
    ] {
        fs::write(segment(&place), &edited).unwrap();
        let ended = audit(&place, &["verify"]);
        assert_eq!(ended.exit, Exit::Status(1), "{name}: {}", ended.stderr_text());
        let said = ended.stdout_text();
        assert!(said.contains(&format!("row {bad}: ")) && said.contains(why), "{name}: {said}");
        assert!(said.contains(&format!("(line {bad} of segment 1)")), "{name}: {said}");
        let damage = answer(&audit(&place, &["verify", "--json"])).get("damage").cloned().unwrap();
        assert_eq!(
            damage.get("row").and_then(Value::as_number),
            Some(f64::from(u32::try_from(bad).unwrap())),
            "{name}"
        );
        for words in [&["export"][..], &["checkpoint"]] {
            let ended = audit(&place, words);
            assert_eq!((ended.exit, ended.stdout.len()), (Exit::Status(1), 0), "{name} {words:?}");
            assert!(ended.stderr_text().starts_with("Error: [journal_unavailable] The journal does not verify: row "));
        }
        let shown = audit(&place, &["show", "--last", "0"]);
        assert_eq!(shown.exit, Exit::Status(1), "{name}");
        assert_eq!(shown.stdout_text().lines().count(), bad, "{name}: the rows before it, and where it ends");
        assert_eq!(fs::read_to_string(segment(&place)).unwrap(), edited, "{name}: it stays as it is");
    }
}

#[test]
fn what_a_checkpoint_saw_is_missed_when_it_is_gone_or_was_written_anew() {
    let place = journalled();
    checkpoint(&place, "early.json");
    let early = place.journal();
    let state = |file: &str| {
        let ended = audit(&place, &["verify", "--json", "--checkpoint", file]);
        let found = answer(&ended).get("checkpoint").cloned().unwrap();
        (ended.exit, text(&found, "state").to_owned())
    };
    assert_eq!(state("early.json"), (Exit::Status(0), "whole".into()));
    assert!(delivered(&place.try_load()));
    checkpoint(&place, "late.json");
    assert_eq!(state("early.json"), (Exit::Status(0), "whole".into()), "what came later is no loss");
    assert_eq!(state("late.json"), (Exit::Status(0), "whole".into()));
    // Cut at a row's end: the chain alone does not show it.
    fs::write(segment(&place), &early).unwrap();
    assert_eq!(audit(&place, &["verify"]).exit, Exit::Status(0), "the control");
    assert_eq!(state("late.json"), (Exit::Status(1), "rows_missing".into()));
    // Other rows in the place of the last ones.
    assert!(delivered(&place.try_load()) && delivered(&place.try_load()));
    assert_eq!(audit(&place, &["verify"]).exit, Exit::Status(0), "the control");
    assert_eq!(state("late.json"), (Exit::Status(1), "rows_changed".into()));
    assert_eq!(state("early.json"), (Exit::Status(0), "whole".into()));
    // All of it is gone, and begun anew.
    fs::rename(place.scratch.state().join("journal"), place.path("gone")).unwrap();
    assert_eq!(state("late.json"), (Exit::Status(1), "rows_missing".into()));
    assert_eq!(audit(&place, &["verify"]).exit, Exit::Status(2), "of no journal nothing is said");
    assert!(delivered(&place.try_load()));
    assert_eq!(state("early.json"), (Exit::Status(1), "other_installation".into()));
    let moved = audit(&place, &["verify", "--journal", "gone", "--checkpoint", "early.json"]);
    assert_eq!(moved.exit, Exit::Status(0), "{}", moved.stderr_text());
    assert!(moved.stdout_text().contains("is there as it was"), "{}", moved.stdout_text());
}

#[test]
fn a_checkpoint_that_is_none_is_refused_and_never_taken_for_an_answer() {
    let place = journalled();
    checkpoint(&place, "good.json");
    let good = fs::read_to_string(place.path("good.json")).unwrap();
    let compact = |from: &str, to: &str| good.replacen(from, to, 1);
    for (name, bytes) in [
        ("empty", String::new()),
        ("twice", compact("{", "{\"rows\": 1,")),
        ("more", compact("\"signature\": null", "\"signature\": null, \"x\": 1")),
        ("older", compact("0.1.0", "0.2.0")),
        ("headless", compact("\"rows\": ", "\"rows\": -")),
        ("no digest", compact("\"sha256:", "\"sha512:")),
        ("no JSON", "x".repeat(70_000)),
    ] {
        assert_ne!(bytes, good, "{name}");
        place.scratch.file("bad.json", &bytes, 0o644);
        let ended = audit(&place, &["verify", "--checkpoint", "bad.json"]);
        assert_eq!((ended.exit, ended.stdout.len()), (Exit::Status(2), 0), "{name}");
        assert!(
            ended.stderr_text().starts_with("Error: [input_invalid] The checkpoint cannot be understood."),
            "{name}"
        );
    }
    let absent = audit(&place, &["verify", "--checkpoint", "absent.json", "--json-errors"]);
    assert_eq!(absent.exit, Exit::Status(2));
    assert_eq!(text(&parse(&absent.stderr).unwrap(), "reason"), "checkpoint_invalid");
}

#[test]
fn an_export_is_the_rows_byte_for_byte_and_goes_on_where_it_ended() {
    let place = journalled();
    let journal = place.journal();
    assert_eq!(audit(&place, &["export"]).stdout_text(), journal);
    let rest: String = journal.split_inclusive('\n').skip(3).collect();
    assert_eq!(audit(&place, &["export", "--after", "3"]).stdout_text(), rest);
    let end = journal.lines().count().to_string();
    let nothing = audit(&place, &["export", "--after", &end]);
    assert_eq!((nothing.exit, nothing.stdout.len()), (Exit::Status(0), 0));
    assert_eq!(audit(&place, &["export", "--after", "-1"]).exit, Exit::Status(2));
}

#[test]
fn a_person_reads_what_happened_and_nothing_in_it_steers_the_terminal() {
    let place = Place::new();
    let consent = place.consent();
    let hostile =
        kdna_broker::consent::document::ConsentFacts { processor: "Acme\u{202e}\u{1b}[2J Ltd".into(), ..consent };
    place.scratch.file("private/consent.json", hostile.bytes(), 0o600);
    assert!(delivered(&place.try_load()));
    let shown = audit(&place, &["show"]).stdout_text();
    let row = shown.lines().find(|line| line.contains("delivered")).unwrap_or_else(|| panic!("{shown}"));
    assert!(row.contains("host golden-host for \"Acme\\u{202e}\\u{1b}[2J Ltd\""), "{row}");
    assert!(shown.bytes().all(|byte| byte == b'\n' || (0x20..0x7f).contains(&byte) || byte >= 0x80), "{shown}");
    let refused = audit(&place, &["show", "--event", "refused"]);
    assert_eq!(refused.stdout_text(), "There is no such row.\n");
    let one = audit(&place, &["show", "--last", "1"]).stdout_text();
    assert_eq!(one.lines().count(), 1);
    assert!(shown.ends_with(&one), "the last of them");
    for words in [&["show", "--event", "eaten"][..], &["show", "--last", "x"], &["shew"], &[], &["verify", "x"]] {
        let ended = audit(&place, words);
        assert_eq!((ended.exit, ended.stdout.len()), (Exit::Status(2), 0), "{words:?}");
    }
}

#[test]
fn a_journal_that_others_may_write_is_read_by_nobody() {
    let place = journalled();
    for (name, mode, back) in [("journal", 0o755, 0o700), ("journal/journal-000001.jsonl", 0o644, 0o600)] {
        let path = place.scratch.state().join(name);
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        for words in [&["verify"][..], &["show"], &["export"], &["checkpoint"]] {
            let ended = audit(&place, words);
            assert_eq!((ended.exit, ended.stdout.len()), (Exit::Status(2), 0), "{name} {words:?}");
            assert!(ended.stderr_text().starts_with("Error: [journal_unavailable] The journal cannot be read"));
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(back)).unwrap();
        assert_eq!(audit(&place, &["verify"]).exit, Exit::Status(0), "the control");
    }
}
