//! Runs one job and puts its message together. A cancelled call is not answered; a delivery is passed on as it was
//! made.

use super::envelope::Id;
use super::queue::{Call, Job, Work};
use super::reply::{Fault, ReplyFrame};
use super::session::{Session, Toolset};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Bytes kept free in a list for each answer that is still to come: enough for any refusal.
const REFUSAL_BYTES: usize = 4096;

/// Runs a job to its end; `None` if nothing is to be written.
pub(crate) fn run<T: Toolset>(session: &Session<T>, job: &Job<T::Request>) -> Option<Vec<u8>> {
    match job.calls.as_slice() {
        [call] if !job.batch => run_one(session, call),
        calls => run_batch(session, calls),
    }
}

fn run_one<T: Toolset>(session: &Session<T>, call: &Call<T::Request>) -> Option<Vec<u8>> {
    let message = answer(session, call, b"", b"\n", 0);
    session.queue.settle();
    message.filter(|_| !call.cancel.is_set())
}

/// All but a delivery first, then the delivery, which becomes the whole list around the others.
fn run_batch<T: Toolset>(session: &Session<T>, calls: &[Call<T::Request>]) -> Option<Vec<u8>> {
    let mut parts: Vec<Option<Vec<u8>>> = Vec::with_capacity(calls.len());
    let mut delivery = None;
    let mut reserved = calls.len() * REFUSAL_BYTES;
    for (at, call) in calls.iter().enumerate() {
        let part = if matches!(&call.work, Work::Tool(request) if session.tools.delivers(request)) {
            delivery = Some((at, call));
            None
        } else {
            answer(session, call, b"", b"", reserved)
        };
        reserved += part.as_ref().map_or(0, Vec::len) + 1;
        parts.push(part);
    }
    if let Some((at, call)) = delivery {
        let (before, after) = parts.split_at(at);
        let (before, after) = (joined(before), joined(after));
        let comma = |part: &[u8]| if part.is_empty() { "" } else { "," }.as_bytes().to_vec();
        let before = [b"[".as_slice(), &before, &comma(&before)].concat();
        let after = [comma(&after).as_slice(), &after, b"]\n"].concat();
        let message = answer(session, call, &before, &after, 0);
        session.queue.settle();
        if let Some(message) = message.filter(|_| !call.cancel.is_set()) {
            return Some(message);
        }
    }
    session.queue.settle();
    for (part, call) in parts.iter_mut().zip(calls) {
        part.take_if(|_| call.cancel.is_set());
    }
    let all = joined(&parts);
    (!all.is_empty()).then(|| [b"[".as_slice(), &all, b"]\n"].concat())
}

fn joined(parts: &[Option<Vec<u8>>]) -> Vec<u8> {
    let parts: Vec<&[u8]> = parts.iter().flatten().map(Vec::as_slice).collect();
    parts.join(b",".as_slice())
}

fn answer<T: Toolset>(
    session: &Session<T>,
    call: &Call<T::Request>,
    before: &[u8],
    after: &[u8],
    reserved: usize,
) -> Option<Vec<u8>> {
    if call.cancel.is_set() {
        return None;
    }
    let id = call.id.as_ref().map_or("null", Id::as_json);
    let frame = ReplyFrame { id, revision: call.revision, server: &session.server_info, before, after, reserved };
    Some(match &call.work {
        // A program that embeds the server may unwind: one failed call is then one error, not the end.
        Work::Tool(request) => catch_unwind(AssertUnwindSafe(|| session.tools.call(request, &frame, &call.cancel)))
            .unwrap_or_else(|_| frame.fault(&Fault::Internal)),
        Work::Refused(refusal) => frame.refusal(refusal),
        Work::Fault(fault) => frame.fault(fault),
        Work::Result(members) => frame.result(members),
    })
}
