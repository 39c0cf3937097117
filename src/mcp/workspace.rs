//! The three workspace tools: arguments in, one call of [`Operations`], the document or the refusal out. Decides
//! nothing and changes no document.

use super::arguments::{self, Request};
use super::envelope::text_of;
use super::reply::ReplyFrame;
use super::revisions::Revision;
use super::schema::{self, Tool, ToolNames};
use super::session::{ReadFault, Toolset};
use crate::broker::{Answer, Operations};
use crate::foundation::refusal::{Code, Reason, Refusal};
use crate::system::Cancel;
use serde_json::value::RawValue;
use std::sync::Arc;

/// The tools over the broker's operations.
pub(crate) struct Workspace {
    pub(crate) operations: Arc<dyn Operations>,
    pub(crate) names: ToolNames,
}

impl Toolset for Workspace {
    type Request = Request;

    fn list(&self, revision: Revision) -> String {
        schema::list(self.names, revision)
    }

    fn read(&self, name: Option<&RawValue>, arguments: Option<&RawValue>) -> Result<Request, ReadFault> {
        let name = name.and_then(|raw| text_of(raw.get())).ok_or(ReadFault::UnknownTool)?;
        let tool = Tool::named(&name, self.names).ok_or(ReadFault::UnknownTool)?;
        arguments::read(tool, arguments).ok_or(ReadFault::Arguments)
    }

    fn delivers(&self, request: &Request) -> bool {
        matches!(request, Request::Load { .. })
    }

    fn call(&self, request: &Request, reply: &ReplyFrame<'_>, cancel: &Cancel) -> Vec<u8> {
        self.answer(request, reply, cancel).unwrap_or_else(|refusal| {
            // The word is for the journal: a client that cancelled reads nothing, and nobody else asked for it.
            let internal = refusal.code() == Code::Cancelled;
            reply.refusal(&if internal { Refusal::new(Reason::Internal) } else { refusal })
        })
    }
}

impl Workspace {
    fn answer(&self, request: &Request, reply: &ReplyFrame<'_>, cancel: &Cancel) -> Result<Vec<u8>, Refusal> {
        let operations = &self.operations;
        match request {
            Request::Status { cwd } => reply.answer(&operations.status(cwd, cancel)?),
            Request::Resolve { cwd, task, selection } => {
                reply.answer(&operations.resolve(cwd, task, selection.as_ref(), cancel)?)
            }
            Request::Load { cwd, task, selection, profile } => {
                let render = |answer: &Answer| reply.answer(answer);
                operations.load(cwd, task, selection.as_ref(), *profile, &render, cancel)
            }
        }
    }
}
