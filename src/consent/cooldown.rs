//! How often a person may be asked: three declines in a row, and there is silence for a minute, also for other processes.
//! One private file in the broker's state; the first decline makes it, an allowance removes it.

use crate::capability::private_file::{PrivateDirectory, PrivateFault};
use crate::foundation::json::{read_strict, write};
use crate::foundation::limits;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::time::Timestamp;
use crate::foundation::value::Value;
use crate::system::{Fault, Observe, System};

/// Its name in the state directory.
pub const FILE: &str = "declines.json";
/// Declines after which nobody is asked for a while.
const DECLINES: u32 = 3;
/// How long, and how long a decline counts; milliseconds.
const SILENCE: i64 = 60_000;

/// What was declined lately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Declines {
    count: u32,
    last: Option<Timestamp>,
    refused: u32,
}

/// What the cool-down says about a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// It may be asked.
    Ask,
    /// Not now; `first` if this is the first question that is refused since the last decline.
    Wait {
        /// The first one is recorded, the others are counted.
        first: bool,
    },
}

/// Whether the person may be asked now; counts a question that is refused. A state that cannot be read counts as none:
/// nothing here grants anything.
pub fn patience<S: System>(system: &S, state: Option<&PrivateDirectory<S>>) -> Patience {
    let Some(state) = state else { return Patience::Ask };
    let declines = read(system, state);
    let silent = declines.last.is_some_and(|last| {
        let since = system.now().milliseconds().saturating_sub(last.milliseconds());
        declines.count >= DECLINES && since < SILENCE
    });
    if !silent {
        return Patience::Ask;
    }
    // A clock that went back does not make the silence longer.
    let last = declines.last.map(|last| last.min(system.now()));
    let _ = store(system, state, Declines { refused: declines.refused.saturating_add(1), last, ..declines });
    Patience::Wait { first: declines.refused == 0 }
}

/// Remembers a decline. Refuses `write_failed`: it is said, and grants nothing.
pub fn declined<S: System>(system: &S, state: &PrivateDirectory<S>) -> Result<(), Refusal> {
    let (now, before) = (system.now(), read(system, state));
    let recent = before.last.is_some_and(|last| now.milliseconds().saturating_sub(last.milliseconds()) < SILENCE);
    let count = if recent && before.count < DECLINES { before.count.saturating_add(1) } else { 1 };
    store(system, state, Declines { count, last: Some(now), refused: 0 }).map_err(|_| Reason::WriteFailed.into())
}

/// Forgets the declines, since the person allowed something.
pub fn allowed<S: System>(system: &S, state: &PrivateDirectory<S>) {
    match system.remove(state.handle(), FILE) {
        Ok(()) | Err(Fault::NotFound) => {}
        Err(_) => {
            let _ = store(system, state, Declines::default());
        }
    }
}

fn read<S: Observe>(system: &S, state: &PrivateDirectory<S>) -> Declines {
    let Ok(bytes) = state.read(system, FILE, limits::CONSENT_BYTES) else { return Declines::default() };
    let Ok(document) = read_strict(&bytes, limits::CONSENT_DEPTH) else { return Declines::default() };
    let number = |key: &str| document.get(key).and_then(Value::as_number).and_then(write::number)?.parse().ok();
    Declines {
        count: number("declines").unwrap_or(0),
        last: document.get("last").and_then(Value::as_str).and_then(Timestamp::parse),
        refused: number("refused_since").unwrap_or(0),
    }
}

fn store<S: System>(system: &S, state: &PrivateDirectory<S>, declines: Declines) -> Result<(), PrivateFault> {
    let document = Value::object([
        ("declines", Value::from(declines.count)),
        ("last", declines.last.map(|last| last.to_string()).into()),
        ("refused_since", declines.refused.into()),
    ]);
    let text = write::pretty(&document).map_err(|_| PrivateFault::WrongKind)?;
    state.replace(system, FILE, text.as_bytes())
}
