//! `kdna plan-load | load | inspect | validate`: the file is opened, bounded and sealed here and parsed in the sandboxed
//! worker. Texts and statuses are the recorded ones (docs/contract/commands.md). Never parses an asset itself.

use crate::capability::home;
use crate::capability::root;
use crate::capability::secret::{PasswordFault, Secret};
use crate::cli::grammar::{Arguments, Options};
use crate::cli::outcome::Outcome;
use crate::cli::progress;
use crate::delegate::Delegate;
use crate::delegate::contract::{LoadRequest, PlanRequest, Request};
use crate::foundation::digest::Digest;
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::Refusal;
use crate::foundation::switches::Switches;
use crate::foundation::text::display;
use crate::system::os::streams::Waiting;
use crate::system::{Cancel, ChildReport, Fault, Kind, System};
use std::io::{IsTerminal as _, Read as _};

/// Options that switch on what the base profile does not know.
const SIGNATURES: &str = "--signatures";
const MINIMAL: &str = "--minimal";
const PLAN: Options = options(&["--has-password", "--json", SIGNATURES, MINIMAL], &["--entitlement-status"]);
const LOAD: Options = options(
    &["--password-stdin", "--has-password", SIGNATURES, MINIMAL],
    &["--profile", "--as", "--entitlement-status", "--remote-server", "--task", "--context", "--mode"],
);
const INSPECT: Options = options(&["--json", SIGNATURES, MINIMAL], &[]);
const VALIDATE: Options =
    options(&["--runtime", "--has-password", "--json", SIGNATURES, MINIMAL], &["--entitlement-status"]);

const fn options(flags: &'static [&'static str], values: &'static [&'static str]) -> Options {
    Options { flags, values, repeatable: &[], flags_once: true }
}

/// The code of an envelope that does not open, and why this one was not tried.
const TOO_COSTLY: &str = "Error: operation failed safely [KDNA_DECRYPT_FAILED].\n\
    The asset asks for more memory or passes to derive a key from its password than are allowed (docs/contract/runtime.md); \
    no password was tried.";
const NOT_PACKAGED: &str = "An explicit regular packaged .kdna file is required.";
pub(crate) const NOT_CONTAINER: &str = "Target is not a KDNA container or source directory.";
const PASSWORD_ARGUMENT: &str =
    "--password is not supported because it exposes secrets in process arguments. Use --password-stdin.";

/// `kdna plan-load`.
pub(crate) fn plan_load<S: System>(system: &S, words: &[String]) -> Result<Outcome, Outcome> {
    refuse_password_argument(words)?;
    let arguments = PLAN.parse(words).map_err(|text| Outcome::not_understood(&text))?;
    let file = one_file(
        &arguments,
        "Usage: kdna plan-load <file.kdna> [--json] [--has-password] [--entitlement-status <status>]",
    )?;
    let (sealed, path) = seal_packaged(system, file, NOT_PACKAGED)?;
    let request = Request::PlanLoad(plan_request(&arguments, Some(&path))?);
    run(system, request, &sealed, b"", NOT_PACKAGED)
}

/// `kdna load`.
pub(crate) fn load<S: System>(system: &S, words: &[String]) -> Result<Outcome, Outcome> {
    refuse_password_argument(words)?;
    let arguments = LOAD.parse(words).map_err(|text| Outcome::not_understood(&text))?;
    let file = one_file(
        &arguments,
        "Usage: kdna load <file.kdna> [--profile <profile>] [--as <format>] [--password-stdin] [--audit]",
    )?;
    let (sealed, _) = seal_packaged(system, file, NOT_PACKAGED)?;
    // Bytes that are no container speak before the options do, so the worker plans first.
    let switches = switches(&arguments);
    let probe = PlanRequest { switches, ..PlanRequest::default() };
    let probe = in_worker(system, Request::PlanLoad(probe), &sealed)?;
    if probe.exit == 2 {
        return Err(Outcome::not_understood(NOT_PACKAGED));
    }
    if arguments.has("--has-password") {
        return Err(Outcome::not_understood(
            "--has-password is a plan-load diagnostic only. Load requires --password-stdin.",
        ));
    }
    let profile = arguments.value("--profile").unwrap_or("compact");
    if !["index", "compact", "scenario", "full", "minimal"].contains(&profile) {
        return Err(Outcome::not_understood("Invalid load profile."));
    }
    let format = arguments.value("--as").unwrap_or("json");
    if !["json", "prompt", "raw"].contains(&format) {
        return Err(Outcome::not_understood("Invalid output format."));
    }
    let entitlement_status = entitlement_status(&arguments)?;
    refuse_remote(&probe, &arguments)?;
    let secret = if arguments.has("--password-stdin") { Some(read_password(system)?) } else { None };
    let password = secret.as_ref().map_or(&b""[..], Secret::expose);
    let request = Request::Load(LoadRequest {
        profile: profile.to_owned(),
        password: !password.is_empty(),
        entitlement_status,
        loaded_at: system.now(),
        snapshot: None,
        switches,
    });
    let outcome = run(system, request, &sealed, password, NOT_PACKAGED)?;
    // What fails for another reason says that one.
    if outcome.exit == 0 && format != "json" {
        return Err(Outcome::not_understood("This version prints load results as json only."));
    }
    Ok(outcome)
}

/// `kdna inspect`.
pub(crate) fn inspect<S: System>(system: &S, words: &[String]) -> Result<Outcome, Outcome> {
    let arguments = INSPECT.parse(words).map_err(|text| Outcome::not_understood(&text))?;
    let file = one_file(&arguments, "Usage: kdna inspect <file.kdna|source-dir>")?;
    let Named { sealed, digest, size, .. } = named(system, file, NOT_CONTAINER)?;
    let switches = switches(&arguments);
    let outcome = run(system, Request::Inspect(switches), &sealed, b"", NOT_CONTAINER)?;
    if outcome.exit != 0 || arguments.has("--json") || !std::io::stdout().is_terminal() {
        return Ok(outcome);
    }
    let card = super::card::card(system, &sealed, digest, size, outcome.output.as_bytes(), switches);
    Ok(card.map_or(outcome, |output| Outcome { output, ..Outcome::default() }))
}

/// `kdna validate`.
pub(crate) fn validate<S: System>(system: &S, words: &[String]) -> Result<Outcome, Outcome> {
    let arguments = VALIDATE.parse(words).map_err(|text| Outcome::not_understood(&text))?;
    let file = one_file(
        &arguments,
        "Usage: kdna validate <file.kdna|source-dir> [--runtime] [--has-password] [--entitlement-status <status>]",
    )?;
    let (sealed, path) = seal_packaged(system, file, NOT_CONTAINER)?;
    let planned = arguments.has("--runtime");
    let plan = if planned {
        plan_request(&arguments, Some(&path))?
    } else {
        PlanRequest { switches: switches(&arguments), ..PlanRequest::default() }
    };
    run(system, Request::Validate { plan, planned }, &sealed, b"", NOT_CONTAINER)
}

/// Any request over sealed bytes without an input.
pub(crate) fn in_worker<S: System>(system: &S, request: Request, sealed: &S::Sealed) -> Result<ChildReport, Refusal> {
    in_worker_with(system, request, sealed, b"")
}

/// The same with an input: the password.
pub(crate) fn in_worker_with<S: System>(
    system: &S,
    request: Request,
    sealed: &S::Sealed,
    input: &[u8],
) -> Result<ChildReport, Refusal> {
    Delegate::embedded().run_sealed(system, request, sealed, input, &Cancel::new())
}

pub(crate) fn refuse_password_argument(words: &[String]) -> Result<(), Outcome> {
    let given = words.iter().any(|word| word == "--password" || word.starts_with("--password="));
    if given { Err(Outcome::not_understood(PASSWORD_ARGUMENT)) } else { Ok(()) }
}

fn one_file<'a>(arguments: &'a Arguments, usage: &str) -> Result<&'a str, Outcome> {
    arguments.only_positional().ok_or_else(|| Outcome::not_understood(usage))
}

fn switches(arguments: &Arguments) -> Switches {
    Switches { signatures: arguments.has(SIGNATURES), minimal: arguments.has(MINIMAL) }
}

fn plan_request(arguments: &Arguments, path: Option<&AbsolutePath>) -> Result<PlanRequest, Outcome> {
    Ok(PlanRequest {
        source_path: path.map(|path| path.as_str().to_owned()),
        has_password: arguments.has("--has-password"),
        entitlement_status: entitlement_status(arguments)?,
        snapshot: None,
        switches: switches(arguments),
    })
}

fn entitlement_status(arguments: &Arguments) -> Result<Option<String>, Outcome> {
    match arguments.value("--entitlement-status") {
        None => Ok(None),
        Some(status @ ("active" | "expired" | "revoked" | "offline_grace")) => Ok(Some(status.to_owned())),
        Some(_) => Err(Outcome::not_understood(
            "Invalid --entitlement-status. Use active, expired, revoked, or offline_grace.",
        )),
    }
}

pub(crate) fn seal_packaged<S: System>(
    system: &S,
    file: &str,
    irregular: &str,
) -> Result<(S::Sealed, AbsolutePath), Outcome> {
    named(system, file, irregular).map(|named| (named.sealed, named.path))
}

/// A file that the person named, sealed.
struct Named<S: System> {
    sealed: S::Sealed,
    path: AbsolutePath,
    digest: Digest,
    size: u64,
}

/// Opens, bounds and seals a file that the person named. The directory above may be reached through links, as with any
/// command line; the file itself may not be one.
fn named<S: System>(system: &S, file: &str, irregular: &str) -> Result<Named<S>, Outcome> {
    let missing = || Outcome::not_understood(&format!("File not found: {}", display(file, limits::TEXT_UNITS)));
    let path = root::named(system, file).map_err(|_| missing())?;
    let facts = match system.look(&path) {
        Err(Fault::NotFound | Fault::WrongKind) if irregular == NOT_PACKAGED => return Err(missing()),
        other => other.map_err(|_| Outcome::not_understood(irregular))?,
    };
    if facts.kind != Kind::Regular {
        return Err(Outcome::not_understood(irregular));
    }
    let sealed = open_named(system, &path).and_then(|file| match system.file_facts(&file)?.size {
        0 => Err(Fault::WrongKind),
        size => progress::during(progress::HASHING, || system.seal(&file, limits::SNAPSHOT_BYTES))
            .map(|(sealed, digest)| (sealed, digest, size)),
    });
    let (sealed, digest, size) = sealed.map_err(|_| Outcome::not_understood(irregular))?;
    Ok(Named { sealed, path, digest, size })
}

/// Opens a file by the path that a person typed: links above it are followed, the file itself is not.
pub(crate) fn open_named<S: System>(system: &S, path: &AbsolutePath) -> Result<S::File, Fault> {
    let (parent, name) = path.split_last().ok_or(Fault::WrongKind)?;
    system.open_file_in(&system.open_directory(&home::real(system, &parent)?)?, name)
}

/// Remote assets are never fetched: the recorded refusals.
fn refuse_remote(plan: &ChildReport, arguments: &Arguments) -> Result<(), Outcome> {
    let document = crate::foundation::json::read_strict(&plan.output, limits::RUNTIME_REPLY_DEPTH).ok();
    let remote = document.as_ref().and_then(|plan| plan.get("access")?.as_str()) == Some("remote");
    if remote && arguments.value("--as") == Some("raw") {
        return Err(Outcome::not_understood("Remote projection supports only json or prompt output."));
    }
    if remote && arguments.value("--remote-server").is_none() {
        return Err(
            Outcome::not_understood("This remote asset requires --remote-server or KDNA_REMOTE_SERVER.").exiting(3)
        );
    }
    if remote {
        return Err(Outcome::not_understood("This version never contacts a remote server."));
    }
    if arguments.value("--remote-server").is_some() {
        return Err(Outcome::not_understood("--remote-server applies only to remote assets."));
    }
    Ok(())
}

/// The password from standard input, read to its end; what counts of it says [`Secret::new`].
pub(crate) fn read_password<S: System>(system: &S) -> Result<Secret, Outcome> {
    let mut input = Waiting(std::io::stdin().lock());
    if input.0.is_terminal() {
        return Err(Outcome::not_understood("--password-stdin requires the password to be piped in on stdin."));
    }
    let mut buffer = Secret::buffer(system);
    let mut filled = 0;
    while let Some(rest) = buffer.as_mut_slice().get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match input.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(_) => return Err(Outcome::not_understood("Password input could not be read.")),
        }
    }
    Secret::new(buffer, filled).map_err(refused_password)
}

/// The recorded text for what is no password.
pub(crate) fn refused_password(fault: PasswordFault) -> Outcome {
    Outcome::not_understood(match fault {
        PasswordFault::Empty => "Password input is empty.",
        PasswordFault::TooLarge => "Password input exceeds the size limit.",
        PasswordFault::NotUtf8 => "Password input must be strict UTF-8.",
    })
}

fn run<S: System>(
    system: &S,
    request: Request,
    sealed: &S::Sealed,
    input: &[u8],
    unrecognised: &str,
) -> Result<Outcome, Outcome> {
    let report = in_worker_with(system, request, sealed, input)?;
    Ok(judge(&report, unrecognised))
}

fn judge(report: &ChildReport, unrecognised: &str) -> Outcome {
    let exit = u8::try_from(report.exit).unwrap_or(1);
    match String::from_utf8(report.output.clone()) {
        Ok(output) if !output.is_empty() => Outcome { output, exit, ..Outcome::default() },
        _ if exit == 2 => Outcome::not_understood(unrecognised),
        _ => Outcome::failed(match failure_code(&report.errors) {
            Some(limits::KDF_REFUSED) => TOO_COSTLY.to_owned(),
            Some(code) => format!("Error: operation failed safely [{code}]."),
            None => "Error: operation failed safely.".to_owned(),
        }),
    }
}

/// The worker's one word, if it has the form of a code; anything else is not shown.
pub(crate) fn failure_code(errors: &[u8]) -> Option<&str> {
    let word = std::str::from_utf8(errors).ok()?;
    let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    (!word.is_empty()
        && word.len() <= 64
        && word.starts_with(|first: char| first.is_ascii_uppercase())
        && word.bytes().all(plain))
    .then_some(word)
}

#[cfg(test)]
mod tests {
    use super::failure_code;

    #[test]
    fn only_a_code_is_ever_shown_of_what_the_worker_says() {
        assert_eq!(failure_code(b"KDNA_DECRYPT_FAILED"), Some("KDNA_DECRYPT_FAILED"));
        for foreign in [&b""[..], b"KDNA X", b"\x1b[2J", b"_X", b"kdna", b"A\n", &[b'A'; 65]] {
            assert_eq!(failure_code(foreign), None);
        }
    }
}
