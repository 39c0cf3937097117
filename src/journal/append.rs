//! Appends rows: under an exclusive lock, one write, made durable before it counts. A row that cannot be written whole
//! leaves the file as it was. Where a loss of power left a row half written, it stays as it is, and the chain goes on in
//! the next segment with a row that says so. Never continues a journal whose last whole row is damaged.

use super::row::{Event, OperationId, Place, RowDraft, draw, is_install_id};
use super::tail::{self, Ending, Known, Tail};
use super::verify::segments;
use super::{DIRECTORY, INSTALL_FILE, LOCK_FILE, SEGMENTS, segment_name};
use crate::capability::private_file::{PrivateDirectory, PrivateFault, judge, make_private};
use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::foundation::path::RelativePath;
use crate::foundation::refusal::{Reason, Refusal, Stage};
use crate::foundation::time::Timestamp;
use crate::system::{Facts, Fault, Kind, System};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The journal of one state directory. Threads and processes may append at the same time.
pub struct Journal<S: System> {
    directory: PrivateDirectory<S>,
    install_id: String,
    known: Mutex<Option<Known>>,
}

impl<S: System> Journal<S> {
    /// Opens the journal below the state directory, creating its directory (0700) and the install identifier where they
    /// are missing. Refuses `journal_unwritable`. Does not look at the rows; [`Journal::append`] does.
    pub fn open(system: &S, state: &PrivateDirectory<S>) -> Result<Self, Refusal> {
        let below = RelativePath::parse(DIRECTORY).unwrap_or_default();
        let directory = make_private(system, &state.path().join(&below)).map_err(unwritable)?;
        // A row is not durable in a directory whose name is not.
        system.sync_directory(state.handle()).map_err(unwritable)?;
        let _lock = hold_lock(system, &directory)?;
        let install_id = match read_install_id(system, &directory)? {
            Some(id) => id,
            None => write_install_id(system, &directory)?,
        };
        Ok(Self { directory, install_id, known: Mutex::new(None) })
    }

    /// The journal's directory.
    pub fn directory(&self) -> &PrivateDirectory<S> {
        &self.directory
    }

    /// Names this installation: `ins_` and 32 hexadecimal digits.
    pub fn install_id(&self) -> &str {
        &self.install_id
    }

    /// The latest time in the journal, as of this process's own last row; `None` before it wrote one.
    pub fn latest(&self) -> Option<Timestamp> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).and_then(|known| known.tail.at)
    }

    /// Proves that a load can be recorded, by recording the intent (stage journal-open). Refuses as
    /// [`Journal::append`].
    pub fn prove(&self, system: &S, operation: &OperationId, host_id: Option<&str>) -> Result<u64, Refusal> {
        let mut draft = RowDraft::new(operation, Event::Intended).stage(Stage::JournalOpen);
        if let Some(host_id) = host_id {
            draft = draft.host(host_id)?;
        }
        self.append(system, &draft)
    }

    /// Appends one row, durable when this returns; its number. Refuses `journal_unwritable` (the row was not added) and
    /// `journal_torn` (the last whole row is damaged).
    pub fn append(&self, system: &S, draft: &RowDraft) -> Result<u64, Refusal> {
        // A panic elsewhere leaves at worst an old `Known`, and that is compared with the file before it is used.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        self.directory.assert_unchanged(system).map_err(unwritable)?;
        let _lock = hold_lock(system, &self.directory)?;
        let (mut end, Ending { mut tail, torn }) = self.end(system, *known)?;
        if torn {
            *known = None;
            let row = RowDraft::new(&OperationId::draw(system)?, Event::Recovered);
            (end, tail) = self.add(system, self.behind_torn(system, end)?, tail, &row)?;
        }
        *known = None;
        let (end, tail) = self.add(system, end, tail, draft)?;
        *known = Some(Known { segment: end.segment, facts: end.facts, tail });
        Ok(tail.sequence.into())
    }

    /// Adds one row behind another; where it ends, and the row as the new last one.
    fn add(&self, system: &S, end: End<S>, tail: Tail, draft: &RowDraft) -> Result<(End<S>, Tail), Refusal> {
        let sequence = tail.sequence.checked_add(1).ok_or(Reason::JournalUnwritable)?;
        // A clock that went back writes no earlier time: the last row's is the latest of all.
        let now = system.now();
        let at = tail.at.map_or(now, |latest| latest.max(now));
        let place = Place {
            sequence,
            event_id: &draw(system, "evt_")?,
            at,
            install_id: &self.install_id,
            account: system.user(),
            previous: tail.head,
        };
        let line = draft.line(&place)?;
        let end = self.make_room(system, end, line.len())?;
        let facts = end.write(system, &self.directory, &line)?;
        let head = Some(Digest::of(line.as_bytes()));
        Ok((End { facts, ..end }, Tail { sequence, head, at: Some(at) }))
    }

    /// The segment that goes on behind one that ends in the middle of a row.
    fn behind_torn(&self, system: &S, end: End<S>) -> Result<End<S>, Refusal> {
        if end.facts.size == 0 { Ok(end) } else { self.next(system, &end) }
    }

    /// The last segment, created if there is none, and how it ends.
    fn end(&self, system: &S, known: Option<Known>) -> Result<(End<S>, Ending), Refusal> {
        let segments = segments(system, &self.directory)?;
        let last = segments.last().copied().unwrap_or(0);
        // A chain with a missing part is not continued.
        if segments.into_iter().ne(1..=last) {
            return Err(Reason::JournalTorn.into());
        }
        let end = End::open(system, &self.directory, last.max(1))?;
        let same = known.filter(|known| known.segment == end.segment && known.facts == end.facts);
        let ending = match same {
            Some(known) => Ending { tail: known.tail, torn: false },
            None => tail::read(system, &self.directory, &end.file, end.segment)?,
        };
        let tail = ending.tail;
        // Rows that this process wrote are gone, all of them or the last, or the last one was replaced.
        let gone = known.is_some_and(|known| {
            known.tail.sequence > tail.sequence
                || (known.tail.sequence == tail.sequence && known.tail.head != tail.head)
        });
        if gone {
            return Err(Reason::JournalTorn.into());
        }
        Ok((end, ending))
    }

    /// The segment that takes a line of this length: the last one, or the next.
    fn make_room(&self, system: &S, end: End<S>, line: usize) -> Result<End<S>, Refusal> {
        let line = u64::try_from(line).map_err(unwritable)?.saturating_add(1);
        if line > limits::JOURNAL_ROW_BYTES {
            return Err(Reason::JournalUnwritable.into());
        }
        if end.facts.size.saturating_add(line) <= limits::JOURNAL_SEGMENT_BYTES {
            return Ok(end);
        }
        self.next(system, &end)
    }

    fn next(&self, system: &S, end: &End<S>) -> Result<End<S>, Refusal> {
        let next = end.segment.saturating_add(1);
        if !SEGMENTS.contains(&next) {
            return Err(Reason::JournalUnwritable.into());
        }
        End::open(system, &self.directory, next)
    }
}

/// The segment that is written to.
struct End<S: System> {
    segment: u32,
    file: S::File,
    facts: Facts,
}

impl<S: System> End<S> {
    fn open(system: &S, directory: &PrivateDirectory<S>, segment: u32) -> Result<Self, Refusal> {
        let file = system.open_append(directory.handle(), &segment_name(segment), 0o600).map_err(unwritable)?;
        let facts = system.file_facts(&file).map_err(unwritable)?;
        judge(system, &facts, Kind::Regular).map_err(unwritable)?;
        Ok(Self { segment, file, facts })
    }

    /// Writes one row and makes it durable; the facts afterwards. On failure the file has its old length again.
    fn write(&self, system: &S, directory: &PrivateDirectory<S>, line: &str) -> Result<Facts, Refusal> {
        // The first row of a segment also makes the segment's name durable.
        let first = self.facts.size == 0;
        let written = system
            .write(&self.file, format!("{line}\n").as_bytes())
            .and_then(|()| system.sync_file(&self.file))
            .and_then(|()| if first { system.sync_directory(directory.handle()) } else { Ok(()) })
            .and_then(|()| system.file_facts(&self.file));
        written.map_err(|fault| {
            // If even this fails, the next append goes on behind the torn row.
            let _ = system.truncate(&self.file, self.facts.size);
            unwritable(fault)
        })
    }
}

/// Takes the lock that every append holds.
pub(super) fn hold_lock<S: System>(system: &S, directory: &PrivateDirectory<S>) -> Result<S::Lock, Refusal> {
    let file = system.open_append(directory.handle(), LOCK_FILE, 0o600).map_err(unwritable)?;
    let facts = system.file_facts(&file).map_err(unwritable)?;
    judge(system, &facts, Kind::Regular).map_err(unwritable)?;
    system.lock(&file, Duration::from_millis(limits::LOCK_MILLISECONDS)).map_err(unwritable)
}

fn read_install_id<S: System>(system: &S, directory: &PrivateDirectory<S>) -> Result<Option<String>, Refusal> {
    let bytes = match directory.read(system, INSTALL_FILE, 64) {
        Err(PrivateFault::Missing) => return Ok(None),
        other => other.map_err(unwritable)?,
    };
    let text = String::from_utf8(bytes).map_err(unwritable)?;
    let id = text.strip_suffix('\n').filter(|id| is_install_id(id)).ok_or(Reason::JournalUnwritable)?;
    Ok(Some(id.to_owned()))
}

/// Called under the lock, so there is one writer; what an interrupted one left is removed first.
fn write_install_id<S: System>(system: &S, directory: &PrivateDirectory<S>) -> Result<String, Refusal> {
    const TEMPORARY: &str = ".install-id.tmp";
    let id = draw(system, "ins_")?;
    let handle = directory.handle();
    match system.remove(handle, TEMPORARY) {
        Ok(()) | Err(Fault::NotFound) => {}
        Err(fault) => return Err(unwritable(fault)),
    }
    directory.rename_over(system, TEMPORARY, INSTALL_FILE, format!("{id}\n").as_bytes()).map_err(unwritable)?;
    system.sync_directory(handle).map_err(unwritable)?;
    Ok(id)
}

fn unwritable<E>(_: E) -> Refusal {
    Refusal::new(Reason::JournalUnwritable)
}
