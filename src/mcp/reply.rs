//! The writing half: every message that leaves the server is built here, one compact line, keys in the order
//! `jsonrpc`, `id`, `result` or `error`. An error quotes nothing but the id and, if it is short and plain, the name of a
//! revision that is not served.

use super::revisions::Revision;
use crate::broker::Answer;
use crate::foundation::json::write;
use crate::foundation::limits;
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::value::{Object, Value};

/// Where a result of the stateless revision says which server made it.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";
/// How long a client may keep what is said of the server and its tools: five minutes. Neither changes while the process
/// lives; the bound is for a client that keeps it over a restart. No cache is told to share it.
const FRESH: &str = r#","ttlMs":300000,"cacheScope":"private""#;
/// What every result of the stateless revision begins with: it is not the question for more input.
const COMPLETE: &str = r#""resultType":"complete","#;

/// The protocol errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    ParseError,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    Internal,
    /// The request names a revision that is not served so; with what may be quoted of the name.
    UnsupportedVersion(String),
}

impl Fault {
    pub(crate) const fn code(&self) -> i32 {
        match self {
            Self::ParseError => -32700,
            Self::InvalidRequest => -32600,
            Self::MethodNotFound => -32601,
            Self::InvalidParams => -32602,
            Self::Internal => -32603,
            Self::UnsupportedVersion(_) => -32022,
        }
    }

    const fn message(&self) -> &'static str {
        match self {
            Self::ParseError => "Parse error",
            Self::InvalidRequest => "Invalid Request",
            Self::MethodNotFound => "Method not found",
            Self::InvalidParams => "Invalid params",
            Self::Internal => "Internal error",
            Self::UnsupportedVersion(_) => "Unsupported protocol version",
        }
    }
}

/// Where the answer to one tool call goes, and how large it may be.
pub(crate) struct ReplyFrame<'a> {
    /// The id as JSON text; `null` where none could be read.
    pub(crate) id: &'a str,
    pub(crate) revision: Revision,
    /// The `serverInfo` object.
    pub(crate) server: &'a Value,
    /// What stands before the answer in the same message: nothing, or the start of a list of answers.
    pub(crate) before: &'a [u8],
    /// What stands after it: the line end at least, unless the answer is put together later.
    pub(crate) after: &'a [u8],
    /// Bytes of the message that are spoken for elsewhere.
    pub(crate) reserved: usize,
}

impl<'a> ReplyFrame<'a> {
    /// An answer that is a message of its own.
    pub(crate) fn line(id: &'a str, revision: Revision, server: &'a Value) -> Self {
        Self { id, revision, server, before: b"", after: b"\n", reserved: 0 }
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
            let level = answer.enforcement.map(|level| Value::Object(level.members().collect()));
            self.push_meta(&mut out, level.map(|level| ("kdna-broker/enforcement".to_owned(), level)));
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
            self.push_meta(&mut out, rows.map(|(key, word)| (key.to_owned(), Value::from(word))));
        }
        out.push_str("}}");
        self.finish(out)
    }

    /// The whole message for a protocol error.
    pub(crate) fn fault(&self, fault: &Fault) -> Vec<u8> {
        let (code, message) = (fault.code(), fault.message());
        let mut out = self.open(&format!(r#""error":{{"code":{code},"message":"{message}""#));
        if let Fault::UnsupportedVersion(requested) = fault {
            out.push_str(r#","data":{"supported":[""#);
            out.push_str(Revision::STATELESS.as_str());
            out.push_str(r#""],"requested":"#);
            write::string(&mut out, requested);
            out.push('}');
        }
        out.push_str("}}");
        self.finish(out)
    }

    /// The whole message for a result whose members are JSON already. In the stateless revision every such result is one
    /// that a client may keep.
    pub(crate) fn result(&self, members: &str) -> Vec<u8> {
        let mut out = self.open(r#""result":{"#);
        if self.revision.is_stateless() {
            out.push_str(COMPLETE);
            out.push_str(members);
            out.push_str(FRESH);
            self.push_meta(&mut out, None);
        } else {
            out.push_str(members);
        }
        out.push_str("}}");
        self.finish(out)
    }

    fn open(&self, member: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{},{member}"#, self.id)
    }

    fn start(&self, expected: usize) -> String {
        let mut out = String::with_capacity(expected.min(limits::MESSAGE_BYTES) + self.id.len() + 512);
        out.push_str(r#"{"jsonrpc":"2.0","id":"#);
        out.push_str(self.id);
        out.push_str(r#","result":{"#);
        if self.revision.is_stateless() {
            out.push_str(COMPLETE);
        }
        out.push_str(r#""content":[{"type":"text","text":"#);
        out
    }

    /// Adds `_meta` with these members, and before them, in the stateless revision, with the server's name; adds nothing
    /// if there is none of either.
    fn push_meta(&self, out: &mut String, own: impl IntoIterator<Item = (String, Value)>) {
        let name = self.revision.is_stateless().then(|| (SERVER_INFO.to_owned(), self.server.clone()));
        let meta: Object = name.into_iter().chain(own).collect();
        // Literals, words of the catalogue, small numbers and a version: always writable.
        if let Ok(meta) = write::compact_object(&meta)
            && meta != "{}"
        {
            out.push_str(r#","_meta":"#);
            out.push_str(&meta);
        }
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
