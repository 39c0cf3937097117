//! The writing half: every message that leaves the server is built here, one compact line, keys in the order
//! `jsonrpc`, `id`, `result` or `error`. An error quotes nothing but the id.

use super::revisions::Revision;
use crate::broker::Answer;
use crate::foundation::json::write;
use crate::foundation::limits;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::value::{Object, Value};
use crate::system::Enforcement;

/// The protocol errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    ParseError,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    Internal,
}

impl Fault {
    pub(crate) const fn code(self) -> i32 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::Internal => -32603,
        }
    }

    const fn message(self) -> &'static str {
        match self {
            Self::ParseError => "Parse error",
            Self::InvalidRequest => "Invalid Request",
            Self::MethodNotFound => "Method not found",
            Self::InvalidParams => "Invalid params",
            Self::Internal => "Internal error",
        }
    }
}

/// Where the answer to one tool call goes, and how large it may be.
pub(crate) struct ReplyFrame<'a> {
    /// The id as JSON text; `null` where none could be read.
    pub(crate) id: &'a str,
    pub(crate) revision: Revision,
    /// What stands before the answer in the same message: nothing, or the start of a list of answers.
    pub(crate) before: &'a [u8],
    /// What stands after it: the line end at least, unless the answer is put together later.
    pub(crate) after: &'a [u8],
    /// Bytes of the message that are spoken for elsewhere.
    pub(crate) reserved: usize,
}

impl<'a> ReplyFrame<'a> {
    /// An answer that is a message of its own.
    pub(crate) fn line(id: &'a str, revision: Revision) -> Self {
        Self { id, revision, before: b"", after: b"\n", reserved: 0 }
    }

    /// The whole message for a document. Refused: `result_too_large`, and `adapter_internal_error` for a document
    /// without a JSON form.
    pub(crate) fn answer(&self, answer: &Answer) -> Result<Vec<u8>, Refusal> {
        let document = write::compact(&answer.document).map_err(|_| Refusal::new(Reason::Internal))?;
        let mut out = self.start(document.len().saturating_mul(2));
        write::string(&mut out, &document);
        out.push_str("}]");
        if self.revision.has_structured_results() {
            out.push_str(r#","structuredContent":"#);
            out.push_str(&document);
            if let Some(enforcement) = answer.enforcement {
                push_meta(&mut out, &Object::from_iter([("kdna-broker/enforcement".to_owned(), level(enforcement))]));
            }
        }
        out.push_str("}}");
        let message = self.finish(out);
        if message.len() + self.reserved > limits::MESSAGE_BYTES {
            return Err(Refusal::new(Reason::ResultOverLimit));
        }
        Ok(message)
    }

    /// The whole message for a refusal: a tool error with code and message, and from 2025-06-18 on the reason, the
    /// stage and the remedy.
    pub(crate) fn refusal(&self, refusal: &Refusal) -> Vec<u8> {
        let mut text = r#"{"error":{"code":"#.to_owned();
        write::string(&mut text, refusal.code().as_str());
        text.push_str(r#","message":"#);
        write::string(&mut text, refusal.message());
        text.push_str("}}");
        let mut out = self.start(text.len());
        write::string(&mut out, &text);
        out.push_str(r#"}],"isError":true"#);
        if self.revision.has_structured_results() {
            let rows = [
                ("kdna-broker/reason", refusal.reason().as_str()),
                ("kdna-broker/stage", refusal.stage().as_str()),
                ("kdna-broker/remedy", refusal.remedy()),
            ];
            push_meta(&mut out, &rows.into_iter().map(|(key, word)| (key.to_owned(), Value::from(word))).collect());
        }
        out.push_str("}}");
        self.finish(out)
    }

    /// The whole message for a protocol error.
    pub(crate) fn fault(&self, fault: Fault) -> Vec<u8> {
        let (code, message) = (fault.code(), fault.message());
        self.finish(self.object(&format!(r#""error":{{"code":{code},"message":"{message}"}}"#)))
    }

    /// The whole message for a result that is JSON already.
    pub(crate) fn result(&self, result: &str) -> Vec<u8> {
        self.finish(self.object(&format!(r#""result":{result}"#)))
    }

    fn object(&self, member: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},{member}}}"#, self.id)
    }

    fn start(&self, expected: usize) -> String {
        let mut out = String::with_capacity(expected.min(limits::MESSAGE_BYTES) + self.id.len() + 512);
        out.push_str(r#"{"jsonrpc":"2.0","id":"#);
        out.push_str(self.id);
        out.push_str(r#","result":{"content":[{"type":"text","text":"#);
        out
    }

    fn finish(&self, out: String) -> Vec<u8> {
        if self.before.is_empty() {
            let mut message = out.into_bytes();
            message.extend_from_slice(self.after);
            return message;
        }
        [self.before, out.as_bytes(), self.after].concat()
    }
}

fn push_meta(out: &mut String, meta: &Object) {
    // Literals, words of the catalogue and small numbers: always writable.
    if let Ok(meta) = write::compact_object(meta) {
        out.push_str(r#","_meta":"#);
        out.push_str(&meta);
    }
}

fn level(enforcement: Enforcement) -> Value {
    Value::object([
        ("landlock", Value::from(enforcement.landlock)),
        ("seccomp", Value::from(enforcement.seccomp)),
        ("sealed", Value::from(enforcement.sealed)),
        ("pin", Value::from(enforcement.pin.as_str())),
    ])
}
