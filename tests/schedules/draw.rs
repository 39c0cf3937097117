//! Drawing a schedule from a seed.

use crate::support::{ASSET, CONSENT_PATH, OTHER_ASSET, RECORD, RECORD_PATH, consent, snapshot_path};
use kdna_broker::broker::Profile;
use kdna_broker::delegate::Delegate;
use kdna_broker::system::Fault;
use kdna_broker::system::sim::{SimSystem, World};
use std::time::Duration;

/// splitmix64.
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0xd134_2543_de82_ef95))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound.
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        let at = self.below(u64::try_from(choices.len()).unwrap());
        choices[usize::try_from(at).unwrap()]
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Status,
    Resolve,
    Load,
}

/// What may happen before a call.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Happening {
    Fail(Fault),
    Short(usize),
    Slow(Duration),
    Change(Change),
    Cancel,
}

impl Happening {
    pub(crate) fn name(self) -> String {
        match self {
            Happening::Fail(_) => "fail".to_owned(),
            Happening::Short(_) => "short".to_owned(),
            Happening::Slow(_) => "slow".to_owned(),
            Happening::Cancel => "cancel".to_owned(),
            Happening::Change(change) => format!("change {change:?}"),
        }
    }
}

/// What may be wrong with one run of the runtime.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble {
    Hang,
    Flood,
    Garbage,
    Death,
    Lie,
    Exit(i32),
}

impl Trouble {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Trouble::Hang => "hang",
            Trouble::Flood => "flood",
            Trouble::Garbage => "garbage",
            Trouble::Death => "death",
            Trouble::Lie => "lie",
            Trouble::Exit(_) => "exit",
        }
    }
}

/// One thing that happens before the call of this number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) at: u64,
    pub(crate) happening: Happening,
}

/// Everything that is decided by the seed.
#[derive(Debug)]
pub(crate) struct Schedule {
    pub(crate) tool: Tool,
    pub(crate) shape: fn() -> Delegate<SimSystem>,
    /// Whether calls are counted from the start of the broker, else from the request.
    pub(crate) from_start: bool,
    pub(crate) events: Vec<Event>,
    /// The run of the runtime that goes wrong, and how.
    pub(crate) trouble: Option<(usize, Trouble)>,
}

const FAULTS: [Fault; 11] = [
    Fault::NotFound,
    Fault::Link,
    Fault::WrongKind,
    Fault::Escapes,
    Fault::Exists,
    Fault::Denied,
    Fault::NoSpace,
    Fault::TooLarge,
    Fault::Changed,
    Fault::Locked,
    Fault::Io(5),
];

impl Schedule {
    pub(crate) fn draw(draw: &mut Draw) -> Self {
        let tool = draw.of(&[Tool::Status, Tool::Resolve, Tool::Load, Tool::Load, Tool::Load, Tool::Load, Tool::Load]);
        let shape = draw.of(&[Delegate::embedded as fn() -> Delegate<SimSystem>, Delegate::path_bound]);
        let from_start = draw.below(8) == 0;
        // Not far beyond the last call of each tool.
        let calls = match tool {
            Tool::Status => 16,
            Tool::Resolve => 40,
            Tool::Load => 90,
        };
        let count = draw.of(&[0, 0, 1, 1, 1, 1, 2, 2, 3]);
        let events = (0..count)
            .map(|_| Event { at: 1 + draw.below(calls + if from_start { 40 } else { 0 }), happening: happening(draw) });
        let events = events.collect();
        let troubles = [
            Trouble::Hang,
            Trouble::Flood,
            Trouble::Garbage,
            Trouble::Death,
            Trouble::Lie,
            Trouble::Exit(1),
            Trouble::Exit(9),
        ];
        let run = usize::try_from(draw.below(3)).unwrap();
        let trouble = (draw.below(4) == 0).then(|| (run, draw.of(&troubles)));
        Self { tool, shape, from_start, events, trouble }
    }

    /// Nothing goes wrong in it.
    pub(crate) fn is_quiet(&self) -> bool {
        self.events.is_empty() && self.trouble.is_none()
    }
}

fn happening(draw: &mut Draw) -> Happening {
    match draw.below(10) {
        0 | 1 => Happening::Fail(draw.of(&FAULTS)),
        2 => Happening::Short(usize::try_from(draw.below(400)).unwrap()),
        3 => Happening::Slow(Duration::from_millis(draw.of(&[1, 1000, 6000, 40_000]))),
        4 => Happening::Cancel,
        _ => Happening::Change(draw.of(&Change::ALL)),
    }
}

/// What another process may do to a coordinate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    RootMoved,
    RootReplaced,
    RootLinked,
    RecordRewritten,
    RecordReplaced,
    RecordRemoved,
    SnapshotRewritten,
    SnapshotReplaced,
    SnapshotRemoved,
    ConsentRewritten,
    ConsentRevoked,
    ConsentOpened,
    ConsentNamedTwice,
    ConsentDirectoryReplaced,
    ConsentDirectoryOpened,
}

impl Change {
    pub(crate) const ALL: [Change; 15] = [
        Change::RootMoved,
        Change::RootReplaced,
        Change::RootLinked,
        Change::RecordRewritten,
        Change::RecordReplaced,
        Change::RecordRemoved,
        Change::SnapshotRewritten,
        Change::SnapshotReplaced,
        Change::SnapshotRemoved,
        Change::ConsentRewritten,
        Change::ConsentRevoked,
        Change::ConsentOpened,
        Change::ConsentNamedTwice,
        Change::ConsentDirectoryReplaced,
        Change::ConsentDirectoryOpened,
    ];

    /// The coordinate of `WINDOWS` that it touches.
    pub(crate) const fn coordinate(self) -> &'static str {
        use Change::{ConsentDirectoryOpened, ConsentDirectoryReplaced};
        match self {
            Change::RootMoved | Change::RootReplaced | Change::RootLinked => "root",
            Change::RecordRewritten | Change::RecordReplaced | Change::RecordRemoved => "record",
            Change::SnapshotRewritten | Change::SnapshotReplaced | Change::SnapshotRemoved => "snapshot",
            ConsentDirectoryReplaced | ConsentDirectoryOpened => "consent-directory",
            _ => "consent",
        }
    }

    /// Does it, or says that there is nothing left to do it to.
    pub(crate) fn apply(self, world: &mut World) -> Result<(), Fault> {
        let scope = String::from_utf8(RECORD.to_vec()).unwrap().replace("write documentation", "write documents");
        match self {
            Change::RootMoved => world.rename("/w/app", "/w/old"),
            Change::RootReplaced => {
                world.rename("/w/app", "/w/old")?;
                world.directory("/w/app", 0o755)
            }
            Change::RootLinked => {
                world.rename("/w/app", "/w/old")?;
                world.link("/w/app", "/w/old")
            }
            Change::RecordRewritten => rewrite(world, RECORD_PATH, scope.as_bytes()),
            Change::RecordReplaced => {
                world.remove(RECORD_PATH)?;
                world.file(RECORD_PATH, 0o600, scope.as_bytes())
            }
            Change::RecordRemoved => world.remove(RECORD_PATH),
            Change::SnapshotRewritten => world.set_content(&snapshot_path(), OTHER_ASSET),
            Change::SnapshotReplaced => {
                world.remove(&snapshot_path())?;
                world.file(&snapshot_path(), 0o600, ASSET)
            }
            Change::SnapshotRemoved => world.remove(&snapshot_path()),
            Change::ConsentRewritten => rewrite(world, CONSENT_PATH, &consent('b', Profile::Compact)),
            Change::ConsentRevoked => world.remove(CONSENT_PATH),
            Change::ConsentOpened => world.set_mode(CONSENT_PATH, 0o644),
            Change::ConsentNamedTwice => world.hard_link(CONSENT_PATH, "/home/person/copy"),
            Change::ConsentDirectoryReplaced => {
                let bytes = world.content_of(CONSENT_PATH)?;
                world.rename("/private", "/private.old")?;
                world.directory("/private", 0o700)?;
                world.set_owner("/private", 1000)?;
                world.file(CONSENT_PATH, 0o600, &bytes)
            }
            Change::ConsentDirectoryOpened => world.set_mode("/private", 0o755),
        }
    }
}

/// The same bytes once more are no change: consent and record are known by what they say.
fn rewrite(world: &mut World, path: &str, bytes: &[u8]) -> Result<(), Fault> {
    if world.content_of(path)? == bytes { Err(Fault::Exists) } else { world.set_content(path, bytes) }
}
