//! `kdna protect SOURCE FILE.kdna`: the password-protected form of an authoring directory or of a packaged public asset.
//! The sandboxed worker parses, encrypts and draws the keys; here is only the password, in locked memory, on its way from
//! standard input or the terminal to the worker. The result takes its name after the same password opened it.

use crate::capability::secret::Secret;
use crate::cli::asset::{
    NOT_CONTAINER, failure_code, in_worker_with, read_password, refuse_password_argument, refused_password,
    seal_packaged,
};
use crate::cli::grammar::Options;
use crate::cli::help::OWNER;
use crate::cli::made::{Target, full_load, judge, nothing_written, refused_by, seal};
use crate::cli::outcome::Outcome;
use crate::cli::pack;
use crate::delegate::contract::Request;
use crate::foundation::value::Value;
use crate::runtime::writer::ProtectFault;
use crate::system::{Kind, NoTerminal, System};

const OPTIONS: Options =
    Options { flags: &["--password-stdin", "--force"], values: &[], repeatable: &[], flags_once: true };
const NO_TERMINAL: &str = "A password is typed on a terminal, and there is none. Use --password-stdin.";

/// `kdna protect`.
pub(crate) fn protect<S: System>(system: &S, words: &[String]) -> Result<Outcome, Outcome> {
    refuse_password_argument(words)?;
    let arguments = OPTIONS.parse(words).map_err(|text| Outcome::not_understood(&text))?;
    let [source, target] = arguments.positionals() else {
        return Err(Outcome::not_understood(&OWNER.usage("protect")));
    };
    let target = Target::of(system, target, arguments.has("--force"))?;
    let public = public_form(system, source, &target)?;
    demand_loadable(&judge(system, &public)?)?;
    let password = if arguments.has("--password-stdin") { read_password(system) } else { typed_password(system) }?;
    if password.expose().is_empty() {
        return Err(Outcome::not_understood("Password input is empty."));
    }
    let made = in_worker_with(system, Request::Protect, &public, password.expose())?;
    if made.exit != 0 {
        return Err(not_protected(&made.errors));
    }
    let plan = target.store(system, &made.output, |sealed| judge_protected(system, sealed, &password))?;
    Ok(Outcome::document(&protected(&plan, &made.output)))
}

/// The asset as it is before: packed from a directory, or the named file.
fn public_form<S: System>(system: &S, source: &str, target: &Target) -> Result<S::Sealed, Outcome> {
    let path = crate::capability::root::named(system, source).ok();
    let kind = path.and_then(|path| system.look(&path).ok()).map(|facts| facts.kind);
    if kind != Some(Kind::Directory) {
        return seal_packaged(system, source, NOT_CONTAINER).map(|(sealed, _)| sealed);
    }
    let (bytes, _) = pack::packed_source(system, source, target)?;
    seal(system, &bytes)
}

/// What the worker would refuse anyway is refused before anybody types a password.
fn demand_loadable(plan: &Value) -> Result<(), Outcome> {
    let loadable = plan.get("can_load_now").and_then(Value::as_bool) == Some(true);
    if loadable || needs_password(plan) { Ok(()) } else { Err(nothing_written(&ProtectFault::NotLoadable.to_string())) }
}

fn needs_password(plan: &Value) -> bool {
    plan.get("state").and_then(Value::as_str) == Some("needs_password")
}

/// What a person is told who typed no whole line: Control-C, end of input, or more than a password may have.
const CANCELLED: &str = "Cancelled: no password of at most 1,024 bytes was typed. Nothing was written.";

/// Asked twice, without being shown.
fn typed_password<S: System>(system: &S) -> Result<Secret, Outcome> {
    let ask = |question| {
        let mut buffer = Secret::buffer(system);
        let filled = system.ask_secret(question, buffer.as_mut_slice());
        let filled = filled.map_err(|NoTerminal| Outcome::not_understood(NO_TERMINAL))?;
        let filled = filled.ok_or_else(|| Outcome::not_understood(CANCELLED))?;
        Secret::new(buffer, filled).map_err(refused_password)
    };
    let password = ask("Password for the protected asset: ")?;
    if ask("The same again: ")?.expose() == password.expose() {
        return Ok(password);
    }
    Err(Outcome::not_understood("The two passwords differ. Nothing was written."))
}

fn not_protected(errors: &[u8]) -> Outcome {
    match failure_code(errors).and_then(ProtectFault::parse) {
        Some(fault) => nothing_written(&fault.to_string()),
        None => nothing_written("the worker could not make the protected asset"),
    }
}

/// It asks for a password and nothing else, and this password opens it.
fn judge_protected<S: System>(system: &S, sealed: &S::Sealed, password: &Secret) -> Result<Value, Outcome> {
    let plan = judge(system, sealed)?;
    if !needs_password(&plan) {
        return Err(nothing_written("the result would not ask for a password"));
    }
    let report = in_worker_with(system, full_load(system, true), sealed, password.expose())?;
    if report.exit == 0 { Ok(plan) } else { Err(refused_by(&report)) }
}

/// What is printed of a protected asset.
fn protected(plan: &Value, bytes: &[u8]) -> Value {
    let mut document = pack::made(plan, bytes);
    document.insert("entitlement_profile", plan.get("entitlement_profile").cloned());
    document.insert("encrypted_entries", vec![Value::from("payload.kdnab")]);
    document.into()
}
