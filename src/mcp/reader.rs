//! What is done with each line: handshake, ping, list and cancellation at once; tool calls, in their turn, through the
//! queue. Never runs a tool.

use super::envelope::{Id, Members, Message, Params, text_of};
use super::queue::{Call, Job, Work};
use super::reply::{Fault, ReplyFrame};
use super::revisions::Revision;
use super::session::{ReadFault, Session, Toolset};
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
    revision: Revision,
    unanswerable: u32,
}

/// When an answer is due.
enum Turn<R> {
    Now(Work<R>),
    InOrder(Work<R>),
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
        self.unanswerable > UNANSWERABLE_IN_A_ROW || self.send(None, Work::Fault(fault))
    }

    fn receive_one(&mut self, message: Message<'_>, bytes: usize) -> bool {
        match message {
            Message::Request { id, method, params } => match self.answer(&method, params) {
                Turn::Now(work) => self.send(Some(&id), work),
                Turn::InOrder(work) => {
                    let calls = vec![self.call(Some(id), work)];
                    self.session.queue.push(Job { calls, batch: false, bytes })
                }
            },
            Message::Notification { method, params } => {
                self.notice(&method, params);
                true
            }
            Message::Bad { id, fault } => self.send(id.as_ref(), Work::Fault(fault)),
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
                let (Turn::Now(work) | Turn::InOrder(work)) = self.answer(&method, params);
                let again = matches!(&work, Work::Tool(request) if self.session.tools.delivers(request))
                    && std::mem::replace(delivers, true);
                // A delivery is written the moment it is made, and one message can hold only one such moment.
                Some(self.call(Some(id), if again { Work::Fault(Fault::InvalidRequest) } else { work }))
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

    fn send(&self, id: Option<&Id>, work: Work<T::Request>) -> bool {
        let frame = ReplyFrame::line(id.map_or("null", Id::as_json), self.revision);
        self.session.send(&match work {
            Work::Result(result) => frame.result(&result),
            Work::Refused(refusal) => frame.refusal(&refusal),
            Work::Fault(fault) => frame.fault(fault),
            Work::Tool(_) => frame.fault(Fault::Internal),
        })
    }

    fn answer(&mut self, method: &str, params: Params<'_>) -> Turn<T::Request> {
        if method == "tools/call" {
            return Turn::InOrder(self.tool(params).unwrap_or_else(Work::Fault));
        }
        Turn::Now(match (method, params) {
            (_, Params::Wrong) => Work::Fault(Fault::InvalidParams),
            ("initialize", params) => self.initialize(params).map_or_else(Work::Fault, Work::Result),
            ("ping", _) => Work::Result("{}".to_owned()),
            ("tools/list", _) => Work::Result(self.session.tools.list(self.revision)),
            _ => Work::Fault(Fault::MethodNotFound),
        })
    }

    fn initialize(&mut self, params: Params<'_>) -> Result<String, Fault> {
        let asked = members(params)?.get("protocolVersion").and_then(|raw| text_of(raw.get()));
        self.revision = Revision::settle(asked.as_deref().and_then(|text| std::str::from_utf8(text).ok()));
        let (revision, server) = (self.revision.as_str(), &self.session.server_info);
        Ok(format!(r#"{{"protocolVersion":"{revision}","capabilities":{{"tools":{{}}}},"serverInfo":{server}}}"#))
    }

    fn tool(&self, params: Params<'_>) -> Result<Work<T::Request>, Fault> {
        let members = members(params)?;
        match self.session.tools.read(members.get("name"), members.get("arguments")) {
            Ok(request) => Ok(Work::Tool(request)),
            Err(ReadFault::Arguments) if self.revision.has_argument_tool_errors() => {
                Ok(Work::Refused(Refusal::new(Reason::ArgumentsRefused)))
            }
            Err(ReadFault::Arguments | ReadFault::UnknownTool) => Err(Fault::InvalidParams),
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
