//! The launcher: consent first, then the session, then the password, then the host; and nothing is left when it has ended,
//! however it ends. Never shows a secret, never starts the host without consent.

use crate::broker::approval::{ApprovalRequest, ConsentPlace, NOT_REMEMBERED};
use crate::broker::settle::SettledSubject;
use crate::capability::secret::Secret;
use crate::consent::prompt::in_quotes;
use crate::consent::store::is_at_or_below;
use crate::delegate::Delegate;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::launch::host;
use crate::launch::place::{self, MemoryPlace};
use crate::launch::protected::{self, Protected};
use crate::launch::secret::{Given, SecretSource, Surroundings};
use crate::launch::session::{self, Session};
use crate::launch::settle::{Settled, settle};
use crate::launch::variables::{self, Variables};
use crate::system::os::forward::Forwarding;
use crate::system::os::hidden::Silence;
use crate::system::os::host_process::Ending;
use crate::system::os::{Directory, OsSystem, start};
use crate::system::{Ancestor, Observe, System as _};
use std::ffi::OsString;
use std::io::Write;

/// Names the directory of the session that a process belongs to. Its server resolves hardened, and no consent is asked for
/// below it.
pub use crate::system::SESSION;
/// Has the server load only what this person attached on this machine.
pub const REQUIRE_LEDGER: &str = "KDNA_BROKER_REQUIRE_LEDGER";
/// How often a person may type.
const TRIES: u32 = 3;
/// Longest title of an asset in the question for its password.
const TITLE: usize = 60;

/// What is to be launched.
pub struct LaunchOrder<'a> {
    /// What the host may do, and where.
    pub request: ApprovalRequest<'a>,
    /// Where consents are kept.
    pub consent: &'a ConsentPlace,
    /// The command that takes back the consent in a file.
    pub take_back: fn(&AbsolutePath) -> String,
    /// Whether the question shows the machine fields.
    pub details: bool,
    /// Where a password comes from, should one be needed.
    pub secret: SecretSource,
    /// The directory that the host starts in, and the person is in.
    pub here: &'a AbsolutePath,
    /// The host's program.
    pub program: OsString,
    /// Its arguments.
    pub arguments: &'a [String],
    /// The person's variables.
    pub environment: &'a Variables,
    /// `XDG_RUNTIME_DIR`.
    pub runtime_directory: Option<&'a str>,
}

/// How a launch ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launched {
    /// The host was started, and ended so.
    Ended(Ending),
    /// The person declined; the host was not started.
    Declined,
    /// Nobody could be asked; the host was not started.
    NoTerminal,
    /// The person cancelled, or this signal came, before the host was started.
    Cancelled(Option<i32>),
}

/// Runs the launch to its end. What a person should know goes to `says`, one line each.
pub fn launch(
    system: &OsSystem,
    delegate: &Delegate<OsSystem>,
    order: LaunchOrder<'_>,
    says: &mut dyn Write,
) -> Result<Launched, Refusal> {
    if order.environment.iter().any(|(name, value)| name == SESSION && !value.is_empty()) || is_below_launcher(*system)
    {
        return Err(Reason::SessionNested.into());
    }
    let places = place::places(system, order.runtime_directory)?;
    for place in &places {
        if session::sweep(system, place).is_err() {
            let _ =
                writeln!(says, "kdna-broker: {} cannot be searched for what ended sessions left.", place.path.as_str());
        }
    }
    let subjects = match settle(system, delegate, &order.request, order.consent, order.details)? {
        Settled::Hold { subjects, allowed } => {
            if allowed.is_empty() {
                let unused = if order.request.lifetime.is_some() { " --expires-in changes nothing of it." } else { "" };
                let _ = writeln!(says, "kdna-broker: the consent is there and holds; nothing is asked.{unused}");
            }
            for one in &allowed {
                let instead = if one.replaced { ", in place of the one before" } else { "" };
                let take_back = (order.take_back)(&one.file);
                let _ = writeln!(says, "kdna-broker: allowed{instead}. Take it back with: {take_back}");
                if !one.remembered {
                    let _ = writeln!(says, "Note: {NOT_REMEMBERED}");
                }
            }
            subjects
        }
        Settled::Declined => return Ok(Launched::Declined),
        Settled::NoTerminal => return Ok(Launched::NoTerminal),
    };
    let first = subjects.first().ok_or(Reason::Internal)?;
    // From here on something could be left behind: nothing but SIGKILL ends this process unnoticed.
    let signals = Forwarding::begin().map_err(|_| Reason::HostNotStarted)?;
    let mut session = Session::begin(system, outside(*system, &places, &first.host_root)?)?;
    let password = match unlock(*system, delegate, &order, &subjects, &signals, says)? {
        Unlocked::Public => None,
        Unlocked::Password(secret) => Some(session.place_password(&secret)?),
        Unlocked::Cancelled => return Ok(Launched::Cancelled(signals.asked_to_end())),
    };
    if let Some(signal) = signals.asked_to_end() {
        return Ok(Launched::Cancelled(Some(signal)));
    }
    start::keep_new_files_private();
    let environment = variables::for_host(
        order.environment,
        &added(order.request.host_id, first, order.consent, session.path(), password.as_ref()),
    );
    let mut host = host::start(order.program, order.arguments, environment, order.here, &signals)?;
    let ended = host::attend(&mut host, &signals, || session.remove());
    session.remove();
    ended.map(Launched::Ended).map_err(|_| Reason::HostNotStarted.into())
}

/// Whether a process above is a launcher, whatever became of the variable. Where what is above cannot be told the variable
/// alone decides; a question of consent is then refused all the same.
fn is_below_launcher(system: OsSystem) -> bool {
    let is_launcher = |process: &Ancestor| process.is_ours && process.command == "launch";
    system.ancestors().is_ok_and(|above| above.iter().any(is_launcher))
}

/// The first place that does not lie in what the host may show to its model.
fn outside<'a>(
    system: OsSystem,
    places: &'a [MemoryPlace<Directory>],
    root: &AbsolutePath,
) -> Result<&'a MemoryPlace<Directory>, Refusal> {
    let root = system.look(root).map_err(|_| Reason::SessionPlaceMissing)?.identity;
    let mut places = places.iter();
    places
        .find(|place| is_at_or_below(&system, &place.path, root) == Ok(false))
        .ok_or_else(|| Reason::SessionPlaceMissing.into())
}

/// What is added to the person's variables.
fn added<'a>(
    host_id: &'a str,
    about: &'a SettledSubject,
    consent: &'a ConsentPlace,
    session: &'a AbsolutePath,
    password: Option<&'a AbsolutePath>,
) -> Vec<(&'static str, &'a str)> {
    let consent = consent.variable();
    let mut added = vec![
        ("KDNA_MCP_WORKSPACE_ROOT", about.host_root.as_str()),
        ("KDNA_MCP_HOST_ID", host_id),
        (consent.0, consent.1.as_str()),
        (REQUIRE_LEDGER, "1"),
        (SESSION, session.as_str()),
    ];
    added.extend(password.map(|path| ("KDNA_MCP_AUTHORIZATION_FILE", path.as_str())));
    added
}

enum Unlocked {
    Public,
    Password(Secret),
    Cancelled,
}

/// The password, if an asset needs one: tried on every asset that does before anything is started. A server is given one
/// password.
fn unlock(
    system: OsSystem,
    delegate: &Delegate<OsSystem>,
    order: &LaunchOrder<'_>,
    subjects: &[SettledSubject],
    signals: &Forwarding,
    says: &mut dyn Write,
) -> Result<Unlocked, Refusal> {
    let place = (order.request.cwd, order.request.home);
    let mut assets = Vec::new();
    for subject in subjects {
        assets.extend(protected::needed(&system, delegate, place, &subject.attachment_id)?);
    }
    let Some(asset) = assets.first() else { return Ok(Unlocked::Public) };
    let around = Surroundings { environment: order.environment, here: order.here, signals };
    let tries = if order.secret.may_be_asked_again() { TRIES } else { 1 };
    // Who types on while a password is tried does not show it either.
    let _silence = order.secret.may_be_asked_again().then(Silence::begin).flatten();
    for number in 1..=tries {
        let secret = match order.secret.read(&system, &question(asset, assets.len() - 1, number), &around) {
            Ok(Given::Password(secret)) => secret,
            Ok(Given::Cancelled) => return Ok(Unlocked::Cancelled),
            Err(refusal) if refusal.reason() == Reason::SecretNotPassword && tries > 1 => {
                let _ = writeln!(says, "That is no password.");
                continue;
            }
            Err(refusal) => return Err(refusal),
        };
        let mut opens = true;
        for asset in &assets {
            opens = opens && asset.opens(&system, delegate, &secret)?;
        }
        if opens {
            return Ok(Unlocked::Password(secret));
        }
        let _ = writeln!(says, "The password does not open it.");
    }
    Err(Reason::PasswordTriesSpent.into())
}

/// The title is the asset's own words: escaped, in quotes and bounded.
fn question(asset: &Protected<OsSystem>, more: usize, number: u32) -> String {
    let title = in_quotes(asset.title(), TITLE);
    let more = if more == 0 { String::new() } else { format!(" and {more} more") };
    format!("Password for the asset {title}{more} (not shown, try {number} of {TRIES}): ")
}
