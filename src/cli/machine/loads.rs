//! What a load of each enabled attachment would meet: the ledger, the consent for this host, the managed policy, the stored
//! copy, the password. Judged as a server judges it, and what is missing is named with the command to type. Hands over
//! nothing, asks nobody and opens no password.

use super::{Finding, good, missing, note, refused, shown};
use crate::broker::approval::{ApprovalRequest, ConsentPlace};
use crate::broker::settle::{self, Validity};
use crate::broker::{Profile, stored};
use crate::capability::root::PinnedRoot;
use crate::capability::state;
use crate::capability::workspace::{self, Located};
use crate::cli::broker;
use crate::cli::consent;
use crate::cli::environment::Environment;
use crate::cli::grammar::shell_word;
use crate::consent::document::Schema;
use crate::consent::managed;
use crate::delegate::Delegate;
use crate::foundation::path::AbsolutePath;
use crate::foundation::record::{Attachment, Record};
use crate::foundation::refusal::{Code, Reason, Refusal};
use crate::foundation::text::is_host_id;
use crate::system::System;

/// Of what these findings are.
pub(super) const TOPIC: &str = "load";
/// Attachments that are judged: each starts a worker.
const JUDGED: usize = 16;

/// What is judged, and by what.
struct Server<'a, S: System> {
    system: &'a S,
    environment: &'a Environment,
    delegate: Delegate<S>,
    root: &'a PinnedRoot<S>,
    host_id: &'a str,
    place: ConsentPlace,
    state: AbsolutePath,
    located: Located<S>,
}

/// One finding for each attachment that is enabled here; nothing where host or consent are not named, or cannot be judged
/// for a reason that is said elsewhere.
pub(super) fn examine<S: System>(system: &S, environment: &Environment, root: &PinnedRoot<S>) -> Vec<Finding> {
    let settings = &environment.settings;
    let host_id = settings.host_id.as_deref().filter(|id| is_host_id(id));
    let place = consent::named_place::<S>(environment).ok().flatten();
    let state = state::state_path(system, settings.state_directory.as_deref()).ok();
    let delegate = broker::delegate(system, environment).ok();
    let (Some(host_id), Some(place), Some(state), Some(delegate)) = (host_id, place, state, delegate) else {
        return Vec::new();
    };
    // Where the person is, if a server would look there at all.
    let here = system.working_directory().ok().filter(|here| root.holds(system, here));
    let start = here.unwrap_or_else(|| root.path().clone());
    let located = workspace::locate(system, start.as_str(), Some(root.path().as_str()), settings.home.as_deref());
    let located = match located {
        Ok(Some(located)) => located,
        Ok(None) => return vec![nothing_attached(&start)],
        Err(refusal) => return vec![refused(TOPIC, &refusal)],
    };
    Server { system, environment, delegate, root, host_id, place, state, located }.examine()
}

fn nothing_attached(start: &AbsolutePath) -> Finding {
    let place = shell_word(&shown(start.as_str()));
    missing(
        TOPIC,
        format!("nothing is attached in {}", shown(start.as_str())),
        format!("Next: kdna attach FILE.kdna --cwd {place}, or run this where something is attached"),
    )
}

impl<S: System> Server<'_, S> {
    fn examine(&self) -> Vec<Finding> {
        let read = self.located.settled_record(self.system);
        let record = match read.and_then(|read| Record::read(&read.bytes)) {
            Ok(record) => record,
            Err(refusal) => return vec![refused(TOPIC, &refusal)],
        };
        let enabled: Vec<&Attachment> = record.attachments().iter().filter(|entry| entry.enabled).collect();
        if enabled.is_empty() {
            let place = self.workspace();
            let next = format!("Next: kdna attachments --cwd {place}, then kdna enable ID --cwd {place}");
            return vec![missing(TOPIC, "no attachment is enabled here", next)];
        }
        let judged: Vec<_> = enabled.iter().take(JUDGED).map(|entry| (*entry, self.judge(entry))).collect();
        // One that works is a load that could work; what stands against the others is worth knowing all the same.
        let works = judged.iter().any(|(_, judged)| judged.is_ok());
        let mut found: Vec<Finding> = judged.iter().map(|(entry, judged)| self.finding(entry, judged, works)).collect();
        if enabled.len() > JUDGED {
            let says = format!("{} more attachments were not judged", enabled.len().saturating_sub(JUDGED));
            found.push(note(TOPIC, says, "Disable what is not used: 'kdna disable ID'."));
        }
        found
    }

    fn finding(&self, entry: &Attachment, judged: &Result<(), Refusal>, works: bool) -> Finding {
        match judged {
            Ok(()) => good(TOPIC, format!("{} may be loaded by {}", entry.id, self.host_id)),
            Err(refusal) => {
                let says = format!("{}: {} ({})", entry.id, refusal.message(), refusal.reason());
                let next = self.next(entry, refusal);
                if works { note(TOPIC, says, next) } else { missing(TOPIC, says, next) }
            }
        }
    }

    /// What a load would be refused for, as a server judges it: what a person has to decide first, then the asset itself.
    fn judge(&self, entry: &Attachment) -> Result<(), Refusal> {
        self.allowed(entry)?;
        let reply = stored::verify_with(self.system, &self.delegate, &self.located, &entry.asset)?;
        if let Some(policy) = managed::look(self.system)? {
            policy.allows_enforcement(Some(reply.enforcement))?;
        }
        let password = self.environment.settings.authorization_file.as_deref().filter(|text| !text.is_empty());
        if reply.value.can_load_now() || (reply.value.needs_password() && password.is_some()) {
            return Ok(());
        }
        Err(Reason::AssetNotAuthorized.into())
    }

    /// Whether a consent holds for one of the profiles that a host may ask for.
    fn allowed(&self, entry: &Attachment) -> Result<(), Refusal> {
        let settings = &self.environment.settings;
        let mut first = None;
        for profile in Profile::ALL {
            let request = ApprovalRequest {
                cwd: self.located.root.as_str(),
                attachment: Some(&entry.id),
                host_root: Some(self.root.path().as_str()),
                host_id: self.host_id,
                processor: "",
                profile: profile.as_str(),
                lifetime: None,
                schema: Schema::default(),
                require_ledger: settings.require_ledger,
                home: settings.home.as_deref(),
                state: &self.state,
            };
            let refusal = match settle::standing(self.system, &request, &self.place) {
                Ok(Validity::Valid { .. }) => return Ok(()),
                Ok(Validity::Needed(refusal)) | Err(refusal) => refusal,
            };
            // That it is for another profile, or that the set has none for this one, says less than anything else.
            let says_little = |refusal: &Refusal| {
                matches!(refusal.reason(), Reason::ConsentForOtherProfile | Reason::ConsentNotInSet)
            };
            if first.as_ref().is_none_or(says_little) {
                first = Some(refusal);
            }
        }
        Err(first.unwrap_or_else(|| Reason::Internal.into()))
    }

    /// The command to type next, or the refusal's own advice where no command of the person helps.
    fn next(&self, entry: &Attachment, refusal: &Refusal) -> String {
        let (host, place, id) = (self.host_id, self.workspace(), &entry.id);
        let root = self.root.path();
        let host_root = if *root == self.located.root {
            String::new()
        } else {
            format!(" --host-root {}", shell_word(&shown(root.as_str())))
        };
        match refusal.code() {
            Code::AttachmentNotApprovedHere if refusal.reason() != Reason::LedgerUnreadable => {
                format!("Next: kdna-broker adopt --cwd {place} --attachment {id}")
            }
            Code::AuthorizationRequired => format!(
                "Next: kdna-broker launch --host {host} --processor NAME --workspace {place}{host_root} -- COMMAND, which \
                 asks for the password; or name a file with KDNA_MCP_AUTHORIZATION_FILE"
            ),
            _ if stored::is_damaged(refusal.reason()) => {
                format!("Next: kdna switch {id} FILE.kdna --retain-scope --from-damaged --cwd {place}")
            }
            _ if settle::is_for_a_person(refusal) => format!(
                "Next: kdna-broker consent request --host {host} --processor NAME --cwd {place} --attachment {id}{host_root}"
            ),
            _ => refusal.remedy().to_owned(),
        }
    }

    fn workspace(&self) -> String {
        shell_word(&shown(self.located.root.as_str()))
    }
}
