//! The three operations over the table of `checks.rs`, and what the journal learns of them.

use crate::broker::checks::StepKind;
use crate::broker::load::{Flow, Load};
use crate::broker::{Answer, Broker, Operations, Profile, Selection, Task, adoption};
use crate::capability::root::PinnedRoot;
use crate::foundation::record::Record;
use crate::foundation::refusal::{Reason, Refusal, Stage};
use crate::foundation::resolution::Resolution;
use crate::foundation::value::Value;
use crate::system::{Cancel, System};

impl<S: System> Operations for Broker<S> {
    fn status(&self, cwd: &str, _: &Cancel) -> Result<Answer, Refusal> {
        let canonical = PinnedRoot::canonical_cwd(&self.system, cwd)?;
        self.root.assert_unchanged(&self.system)?;
        let start = self.root.contain(&canonical)?;
        let attachments = match self.find_record(&start)? {
            None => Value::Null,
            Some(found) => {
                self.guard_home(&found)?;
                let record = Record::read(&found.bytes.bytes).map_err(|_| Reason::RecordRefused)?;
                self.record_unchanged(&found, Stage::BindingAgain)?;
                record.document()
            }
        };
        let document = Value::object([
            ("document_type", Value::from("kdna.mcp.workspace-status")),
            ("schema_version", Value::from("0.3.0")),
            ("attachments", attachments),
        ]);
        Ok(Answer { document, enforcement: None })
    }

    fn resolve(
        &self,
        cwd: &str,
        task: &Task,
        selection: Option<&Selection>,
        cancel: &Cancel,
    ) -> Result<Answer, Refusal> {
        let mut load = Load::new(cwd, task, selection, cancel);
        let resolution = match self.walk(&mut load, true)? {
            Some(resolution) => *resolution,
            None => load.take_resolution()?,
        };
        Ok(Answer { document: resolution.document().clone(), enforcement: load.enforcement })
    }

    fn load(
        &self,
        cwd: &str,
        task: &Task,
        selection: Option<&Selection>,
        profile: Profile,
        render: &dyn Fn(&Answer) -> Result<Vec<u8>, Refusal>,
        cancel: &Cancel,
    ) -> Result<Vec<u8>, Refusal> {
        let mut load = Load::new(cwd, task, selection, cancel).delivering(profile, render);
        match self.walk(&mut load, false) {
            Ok(None) => load.message.take().ok_or_else(|| Reason::Internal.into()),
            Ok(Some(resolution)) => {
                let document = adoption::withheld(&resolution, self.delegate.pinned_names());
                let answer = Answer { document, enforcement: load.enforcement };
                let message = render(&answer)?;
                self.journal_withheld(&load);
                Ok(message)
            }
            Err(refusal) => {
                self.journal_refusal(&load, &refusal);
                Err(refusal)
            }
        }
    }
}

impl<S: System> Broker<S> {
    /// Walks the table. `Some` is an answer that ends it early: a decision other than load.
    fn walk(&self, load: &mut Load<'_, S>, resolving: bool) -> Result<Option<Box<Resolution>>, Refusal> {
        for step in Self::SEQUENCE.iter().filter(|step| step.resolves || !resolving) {
            self.checks.entering(step.stage);
            if load.cancel.is_set() {
                return Err(Refusal::new(Reason::CallCancelled).at(step.stage));
            }
            let verdict = (step.run)(self, load);
            match step.kind {
                StepKind::Check => self.checks.judge(step.stage, verdict.map(|_| ()))?,
                StepKind::Acquire => {
                    if let Flow::Answer(resolution) = verdict? {
                        return Ok(Some(resolution));
                    }
                }
            }
        }
        Ok(None)
    }
}
