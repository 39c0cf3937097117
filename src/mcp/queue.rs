//! The calls between the thread that reads and the one that works: in order, bounded, and open to cancellation until
//! the moment an answer is settled.

use super::envelope::Id;
use super::reply::Fault;
use super::revisions::Revision;
use crate::foundation::refusal::Refusal;
use crate::system::Cancel;
use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Jobs that may wait; the input is not read further while there are more.
const WAITING_JOBS: usize = 1024;
/// Bytes of input that waiting jobs may stand for.
const WAITING_BYTES: usize = 4_194_304;

/// What is to be answered to one call.
pub(crate) enum Work<R> {
    /// What the tool says.
    Tool(R),
    /// A tool error that is known already.
    Refused(Refusal),
    /// A protocol error.
    Fault(Fault),
    /// A result that is known already: its members as JSON.
    Result(String),
}

/// One request that waits its turn.
pub(crate) struct Call<R> {
    /// `None` where none could be read (an error within a list).
    pub(crate) id: Option<Id>,
    pub(crate) revision: Revision,
    pub(crate) cancel: Cancel,
    pub(crate) work: Work<R>,
}

/// The calls that are answered by one message.
pub(crate) struct Job<R> {
    pub(crate) calls: Vec<Call<R>>,
    /// Whether the answer is a list.
    pub(crate) batch: bool,
    /// Bytes of the line it came in.
    pub(crate) bytes: usize,
}

struct State<R> {
    waiting: VecDeque<Job<R>>,
    bytes: usize,
    running: Vec<(Option<Id>, Cancel)>,
    closed: bool,
    broken: bool,
}

/// The queue itself, shared by both threads.
pub(crate) struct Queue<R> {
    state: Mutex<State<R>>,
    work: Condvar,
    room: Condvar,
}

impl<R> Queue<R> {
    pub(crate) fn new() -> Self {
        let state = State { waiting: VecDeque::new(), bytes: 0, running: Vec::new(), closed: false, broken: false };
        Self { state: Mutex::new(state), work: Condvar::new(), room: Condvar::new() }
    }

    fn state(&self) -> MutexGuard<'_, State<R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job at the end, waiting for room; false once the session is broken off.
    pub(crate) fn push(&self, job: Job<R>) -> bool {
        let full = |state: &mut State<R>| {
            !state.broken && (state.waiting.len() >= WAITING_JOBS || state.bytes >= WAITING_BYTES)
        };
        let mut state = self.room.wait_while(self.state(), full).unwrap_or_else(PoisonError::into_inner);
        if state.broken {
            return false;
        }
        state.bytes += job.bytes;
        state.waiting.push_back(job);
        drop(state);
        self.work.notify_one();
        true
    }

    /// The next job, waiting for one; `None` when there will be no more.
    pub(crate) fn next(&self) -> Option<Job<R>> {
        let idle = |state: &mut State<R>| !state.broken && !state.closed && state.waiting.is_empty();
        let mut state = self.work.wait_while(self.state(), idle).unwrap_or_else(PoisonError::into_inner);
        if state.broken {
            return None;
        }
        let job = state.waiting.pop_front()?;
        state.bytes = state.bytes.saturating_sub(job.bytes);
        state.running = job.calls.iter().map(|call| (call.id.clone(), call.cancel.clone())).collect();
        drop(state);
        self.room.notify_one();
        Some(job)
    }

    /// Cancels the running or waiting calls of this id; an unknown one is ignored.
    pub(crate) fn cancel(&self, id: &Id) {
        let state = self.state();
        let waiting = state.waiting.iter().flat_map(|job| &job.calls).map(|call| (&call.id, &call.cancel));
        let running = state.running.iter().map(|(id, cancel)| (id, cancel));
        running.chain(waiting).filter(|(known, _)| known.as_ref() == Some(id)).for_each(|(_, cancel)| cancel.set());
    }

    /// From here on the running calls can no longer be cancelled: what `Cancel` says now decides.
    pub(crate) fn settle(&self) {
        self.state().running.clear();
    }

    /// There will be no more input; what waits is still answered.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.work.notify_all();
    }

    /// Nobody listens any more: cancels what runs, forgets what waits.
    pub(crate) fn break_off(&self) {
        let mut state = self.state();
        state.broken = true;
        state.waiting.clear();
        state.running.iter().for_each(|(_, cancel)| cancel.set());
        drop(state);
        self.work.notify_all();
        self.room.notify_all();
    }

    /// Whether the session was broken off.
    pub(crate) fn is_broken(&self) -> bool {
        self.state().broken
    }
}
