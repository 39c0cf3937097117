//! A row that a loss of power cut off: it stays as it is, and the chain goes on behind it with a row that says so.

use super::{SEGMENT, STATE, bad, bytes, draft, filled, machine, machine_of, open, rows, state};
use kdna_broker::foundation::json::read_strict;
use kdna_broker::journal::{BadRow, Damage, Event, Examined, Tear, Why, examine, verify};
use kdna_broker::system::sim::{Crash, HookAction, SimSystem, World};
use std::sync::{Arc, Mutex};

/// All segments of a journal in memory.
fn examined(system: &SimSystem) -> Examined {
    examine(system, &state(system, &format!("{STATE}/journal")), &mut |_, _| ()).unwrap()
}

const SECOND: &str = "/home/p/.local/state/kdna-broker/journal/journal-000002.jsonl";

#[test]
fn a_row_torn_at_any_byte_stays_and_the_chain_goes_on_behind_it_with_a_row_that_says_so() {
    let good = bytes(&filled(3));
    let start = good.len() - rows(&good)[2].len();
    for length in 0..=good.len() {
        let torn = good[..length].to_vec();
        let at_a_boundary = length == 0 || torn.ends_with(b"\n");
        let system = machine_of(6);
        let journal = open(&system);
        system.arrange(|world| world.file(SEGMENT, 0o600, &torn)).unwrap();
        let result = journal.append(&system, &draft(&system, Event::Started));
        if at_a_boundary {
            assert!(verify(&torn).is_ok() && result.is_ok(), "cut at {length}");
            assert!(verify(&bytes(&system)).is_ok());
            continue;
        }
        let line = if length > start { 3 } else { u64::try_from(rows(&torn).len()).unwrap() };
        assert_eq!(bad(&torn), BadRow { number: line, why: Why::NotComplete }, "cut at {length}");
        assert_eq!(result, Ok(line + 1), "cut at {length}: the row that says so, and this one");
        assert_eq!(bytes(&system), torn, "nothing was rewritten");
        let second = system.arrange(|world| world.content_of(SECOND)).unwrap();
        let event = |row: &Vec<u8>| read_strict(row, 3).unwrap().get("event").unwrap().as_str().unwrap().to_owned();
        assert_eq!(rows(&second).iter().map(event).collect::<Vec<_>>(), ["recovered", "started"]);
        let found = examined(&system);
        assert_eq!((found.verified.rows, found.damage), (line + 1, None), "cut at {length}");
        assert_eq!(found.tears, [Tear { segment: 1, line, continued: line }]);
        assert_eq!(journal.append(&system, &draft(&system, Event::Started)), Ok(line + 2), "and on");
    }
}

#[test]
fn a_tear_while_the_chain_goes_on_behind_a_tear_is_no_end_either() {
    let good = bytes(&filled(2));
    let torn = &good[..good.len() - 5];
    let begun = machine();
    let journal = open(&begun);
    begun.arrange(|world| world.file(SEGMENT, 0o600, torn)).unwrap();
    assert_eq!(journal.append(&begun, &draft(&begun, Event::Started)), Ok(3));
    let second = begun.arrange(|world| world.content_of(SECOND)).unwrap();
    for length in 0..=second.len() {
        let cut = &second[..length];
        let system = machine_of(7);
        let journal = open(&system);
        system.arrange(|world| world.file(SEGMENT, 0o600, torn).and_then(|()| world.file(SECOND, 0o600, cut))).unwrap();
        let found = examined(&system);
        let unfinished = !cut.ends_with(b"\n");
        assert_eq!((found.ends_torn, found.damage.is_some()), (unfinished, unfinished), "cut at {length}");
        assert!(journal.append(&system, &draft(&system, Event::Started)).is_ok(), "cut at {length}");
        let found = examined(&system);
        assert_eq!((found.damage, found.ends_torn), (None, false), "cut at {length}");
        let tears = 1 + usize::from(length > 0 && unfinished);
        assert_eq!(found.tears.len(), tears, "cut at {length}");
        assert_eq!(bytes(&system), torn, "nothing was rewritten");
        let now = system.arrange(|world| world.content_of(SECOND)).unwrap();
        assert!(now.starts_with(cut), "cut at {length}: nothing was rewritten");
    }
}

#[test]
fn a_cut_that_no_row_speaks_of_is_damage() {
    let good = bytes(&filled(4));
    let lines = rows(&good);
    let system = machine();
    let _ = open(&system);
    let torn = [&lines[0][..], &lines[1][..lines[1].len() - 5]].concat();
    for rest in [lines[2..].concat(), lines[1..].concat()] {
        let place =
            |world: &mut World| world.file(SEGMENT, 0o600, &torn).and_then(|()| world.file(SECOND, 0o600, &rest));
        system.arrange(place).unwrap();
        let found = examined(&system);
        let bad = BadRow { number: 2, why: Why::NotComplete };
        assert_eq!(found.damage, Some(Damage::Row { segment: 1, line: 2, bad }));
        assert!(!found.ends_torn && found.tears.is_empty() && found.verified.rows == 1);
    }
}

#[test]
fn a_row_that_was_reported_survives_a_loss_of_power() {
    let crashed = Arc::new(Mutex::new(Vec::new()));
    let system = filled(2);
    let journal = open(&system);
    let kept = Arc::clone(&crashed);
    system.set_hook(move |world, _| {
        kept.lock().unwrap().extend(Crash::ALL.map(|crash| world.crash(crash)));
        HookAction::Proceed
    });
    journal.append(&system, &draft(&system, Event::Delivered)).unwrap();
    system.clear_hook();
    for crash in Crash::ALL {
        assert_eq!(verify(&bytes(&system.crash(crash))).unwrap().rows, 3, "{crash:?}");
    }
    let crashed = crashed.lock().unwrap();
    assert!(!crashed.is_empty());
    for system in crashed.iter() {
        let before = bytes(system);
        let number = open(system).append(system, &draft(system, Event::Started)).unwrap();
        let found = examined(system);
        assert_eq!((found.damage, found.verified.rows), (None, number));
        assert!(bytes(system).starts_with(&before), "what was there stays");
        assert_eq!(
            found.tears.len(),
            usize::from(!before.ends_with(b"\n")),
            "only a row that was cut off is spoken of"
        );
    }
}
