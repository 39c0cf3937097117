//! What is done with each line: handshake, discovery, ping, list and cancellation at once; tool calls, in their turn,
//! through the queue. Never runs a tool.

use super::envelope::{Id, Members, Message, Params, text_of};
use super::era;
use super::queue::{Call, Job, Work};
use super::reply::{Fault, ReplyFrame};
use super::revisions::Revision;
use super::session::{ReadFault, Session, Toolset};
use crate::foundation::json::write;
use crate::foundation::refusal::{Reason, Refusal};
use crate::system::Cancel;
use serde_json::value::RawValue;

/// Errors without an id that are answered in a row; more are dropped until a message can be read again.
const UNANSWERABLE_IN_A_ROW: u32 = 100;
/// Messages in one list.
const BATCH_MESSAGES: usize = 256;

/// The state of the reading thread.
pub(crate) struct Reader<'s, T: Toolset> {
    session: &'s Session<T>,
    /// What the last handshake settled on; of effect on requests that name no revision.
    revision: Revision,
    unanswerable: u32,
}

/// What is to be answered to one request.
struct Due<R> {
    revision: Revision,
    /// Whether it waits its turn; else it is answered at once.
    in_order: bool,
    work: Work<R>,
}

impl<'s, T: Toolset> Reader<'s, T> {
    pub(crate) fn new(session: &'s Session<T>) -> Self {
        Self { session, revision: Revision::WITHOUT_HANDSHAKE, unanswerable: 0 }
    }

    /// Takes one line; false when the session is over.
    pub(crate) fn receive(&mut self, line: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(line) else { return self.refuse_line() };
        if text.bytes().all(|byte| matches!(byte, b' ' | b'\t')) {
            return true;
        }
        match Message::read(text) {
            Message::Bad { id: None, fault } => self.refuse(fault),
            Message::Batch(items) => self.receive_batch(&items, line.len()),
            message => {
                self.unanswerable = 0;
                self.receive_one(message, line.len())
            }
        }
    }

    /// Answers a line that cannot be read at all.
    pub(crate) fn refuse_line(&mut self) -> bool {
        self.refuse(Fault::ParseError)
    }

    fn refuse(&mut self, fault: Fault) -> bool {
        self.unanswerable = self.unanswerable.saturating_add(1);
        self.unanswerable > UNANSWERABLE_IN_A_ROW || self.send(None, self.revision, Work::Fault(fault))
    }

    fn receive_one(&mut self, message: Message<'_>, bytes: usize) -> bool {
        match message {
            Message::Request { id, method, params } => {
                let Due { revision, in_order, work } = self.answer(&method, params);
                if !in_order {
                    return self.send(Some(&id), revision, work);
                }
                let calls = vec![Call { id: Some(id), revision, cancel: Cancel::new(), work }];
                self.session.queue.push(Job { calls, batch: false, bytes })
            }
            Message::Notification { method, params } => {
                self.notice(&method, params);
                true
            }
            Message::Bad { id, fault } => self.send(id.as_ref(), self.revision, Work::Fault(fault)),
            Message::Ignored | Message::Batch(_) => true,
        }
    }

    /// Only 2025-03-26 has lists of messages. Everything in one is answered in its turn, by one list.
    fn receive_batch(&mut self, items: &[&RawValue], bytes: usize) -> bool {
        if !self.revision.has_batches() || items.len() > BATCH_MESSAGES {
            return self.refuse(Fault::InvalidRequest);
        }
        self.unanswerable = 0;
        let mut delivers = false;
        let calls: Vec<_> =
            items.iter().filter_map(|item| self.item(Message::read(item.get()), &mut delivers)).collect();
        calls.is_empty() || self.session.queue.push(Job { calls, batch: true, bytes })
    }

    /// One message of a list; `None` if it wants no answer.
    fn item(&mut self, message: Message<'_>, delivers: &mut bool) -> Option<Call<T::Request>> {
        match message {
            Message::Request { id, method, .. } if method == "initialize" => {
                Some(self.call(Some(id), Work::Fault(Fault::InvalidRequest)))
            }
            Message::Request { id, method, params } => {
                let Due { revision, work, .. } = self.answer(&method, params);
                // A delivery is written the moment it is made, and one message can hold only one such moment. The
                // stateless revision has no lists of messages.
                let refused = revision.is_stateless()
                    || matches!(&work, Work::Tool(request) if self.session.tools.delivers(request))
                        && std::mem::replace(delivers, true);
                Some(self.call(Some(id), if refused { Work::Fault(Fault::InvalidRequest) } else { work }))
            }
            Message::Notification { method, params } => {
                self.notice(&method, params);
                None
            }
            Message::Bad { id, fault } => Some(self.call(id, Work::Fault(fault))),
            Message::Batch(_) => Some(self.call(None, Work::Fault(Fault::InvalidRequest))),
            Message::Ignored => None,
        }
    }

    fn call(&self, id: Option<Id>, work: Work<T::Request>) -> Call<T::Request> {
        Call { id, revision: self.revision, cancel: Cancel::new(), work }
    }

    fn send(&self, id: Option<&Id>, revision: Revision, work: Work<T::Request>) -> bool {
        let frame = ReplyFrame::line(id.map_or("null", Id::as_json), revision, &self.session.server_info);
        self.session.send(&match work {
            Work::Result(members) => frame.result(&members),
            Work::Refused(refusal) => frame.refusal(&refusal),
            Work::Fault(fault) => frame.fault(&fault),
            Work::Tool(_) => frame.fault(&Fault::Internal),
        })
    }

    fn answer(&mut self, method: &str, params: Params<'_>) -> Due<T::Request> {
        let read = members(params).and_then(|members| Ok((era::named(method, &members)?, members)));
        let (revision, work) = match read {
            Ok((Some(revision), members)) => (revision, self.stateless(method, &members, revision)),
            Ok((None, members)) => {
                let work = self.by_handshake(method, &members);
                (self.revision, work)
            }
            Err(fault) => (self.revision, Work::Fault(fault)),
        };
        Due { revision, in_order: method == "tools/call", work }
    }

    /// A request that names its revision. It neither needs nor changes what a handshake settled on.
    fn stateless(&self, method: &str, params: &Members<'_>, revision: Revision) -> Work<T::Request> {
        match method {
            era::DISCOVER => {
                let revision = revision.as_str();
                Work::Result(format!(r#""supportedVersions":["{revision}"],"capabilities":{{"tools":{{}}}}"#))
            }
            "tools/list" => Work::Result(self.session.tools.list(revision)),
            "tools/call" => self.tool(params, revision),
            _ => Work::Fault(Fault::MethodNotFound),
        }
    }

    fn by_handshake(&mut self, method: &str, params: &Members<'_>) -> Work<T::Request> {
        match method {
            "initialize" => self.initialize(params),
            "ping" => Work::Result(String::new()),
            "tools/list" => Work::Result(self.session.tools.list(self.revision)),
            "tools/call" => self.tool(params, self.revision),
            _ => Work::Fault(Fault::MethodNotFound),
        }
    }

    fn initialize(&mut self, params: &Members<'_>) -> Work<T::Request> {
        let asked = params.get("protocolVersion").and_then(|raw| text_of(raw.get()));
        self.revision = Revision::settle(asked.as_deref().and_then(|text| std::str::from_utf8(text).ok()));
        let revision = self.revision.as_str();
        let mut result = format!(r#""protocolVersion":"{revision}","capabilities":{{"tools":{{}}}},"serverInfo":"#);
        let written = write::append_compact(&mut result, &self.session.server_info);
        // Two texts always have a JSON form.
        written.map_or(Work::Fault(Fault::Internal), |()| Work::Result(result))
    }

    fn tool(&self, params: &Members<'_>, revision: Revision) -> Work<T::Request> {
        match self.session.tools.read(params.get("name"), params.get("arguments")) {
            Ok(request) => Work::Tool(request),
            Err(ReadFault::Arguments) if revision.has_argument_tool_errors() => {
                Work::Refused(Refusal::new(Reason::ArgumentsRefused))
            }
            Err(ReadFault::Arguments | ReadFault::UnknownTool) => Work::Fault(Fault::InvalidParams),
        }
    }

    /// Cancellation is the one notification with an effect. None is ever answered.
    fn notice(&self, method: &str, params: Params<'_>) {
        if method == "notifications/cancelled"
            && let Ok(members) = members(params)
            && let Some(id) = members.get("requestId").and_then(Id::read)
        {
            self.session.queue.cancel(&id);
        }
    }
}

/// The members of `params`; wrong if a key stands twice.
fn members(params: Params<'_>) -> Result<Members<'_>, Fault> {
    let text = match params {
        Params::Absent => "{}",
        Params::Object(raw) => raw.get(),
        Params::Wrong => return Err(Fault::InvalidParams),
    };
    Members::read(text).filter(Members::are_distinct).ok_or(Fault::InvalidParams)
}
