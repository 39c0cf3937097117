//! Where a password may come from: the terminal, an inherited descriptor, a credential of the service manager, or what a
//! command prints. Whatever the source, it goes straight into the one buffer that is wiped, and never into a text, an
//! argument, the environment or an error.

use crate::capability::secret::Secret;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal};
use crate::launch::variables::{Variables, without_ours};
use crate::launch::{host, words};
use crate::system::os::forward::Forwarding;
use crate::system::os::hidden::{Filled, Line, ask_hidden, fill_from, inherited};
use crate::system::os::host_process::{Ending, HostOrder, HostProcess, Stream};
use crate::system::os::{Inherited, OsSystem};
use crate::system::{Fault, Kind, Observe};
use std::ffi::OsStr;

/// A source, as the person named it.
#[derive(Debug)]
pub enum SecretSource {
    /// The controlling terminal, without echo.
    Terminal,
    /// A descriptor that the launcher was started with.
    Descriptor(Inherited),
    /// A file of this name in `CREDENTIALS_DIRECTORY`.
    Credential(String),
    /// A command, in words.
    Command(Vec<String>),
}

/// What a source gave.
pub enum Given {
    /// A password.
    Password(Secret),
    /// The person cancelled, or a signal came.
    Cancelled,
}

/// What a source needs besides its name.
pub struct Surroundings<'a> {
    /// The person's variables.
    pub environment: &'a Variables,
    /// The directory that the person is in.
    pub here: &'a AbsolutePath,
    /// The signals that are taken.
    pub signals: &'a Forwarding,
}

impl SecretSource {
    /// Reads `tty`, `fd:N`, `systemd-credential:NAME` or `command:CMD`. A descriptor is taken at once, before anything
    /// else could be opened under its number. Refuses `secret_source_unreadable`; `None` for anything else.
    pub fn parse(text: &str) -> Option<Result<Self, Refusal>> {
        if text == "tty" {
            return Some(Ok(Self::Terminal));
        }
        let (kind, rest) = text.split_once(':')?;
        Some(match kind {
            "fd" => rest
                .parse()
                .map_err(|_| Fault::WrongKind)
                .and_then(inherited)
                .map(Self::Descriptor)
                .map_err(|_| Reason::SecretSourceUnreadable.into()),
            "systemd-credential" => Ok(Self::Credential(rest.to_owned())),
            "command" => words::split(rest).map(Self::Command).ok_or_else(|| Reason::SecretSourceUnreadable.into()),
            _ => return None,
        })
    }

    /// Whether asking again can give another answer.
    pub const fn may_be_asked_again(&self) -> bool {
        matches!(self, Self::Terminal)
    }

    /// Reads it. Refuses `secret_source_unreadable`, `secret_not_password` and `secret_no_terminal`.
    pub fn read(&self, system: &OsSystem, question: &str, around: &Surroundings<'_>) -> Result<Given, Refusal> {
        let mut buffer = Secret::buffer(system);
        let room = buffer.as_mut_slice();
        let filled = match self {
            Self::Terminal => match ask_hidden(question, room, around.signals) {
                Ok(Line::Whole(count)) => Filled::Whole(count),
                Ok(Line::Cancelled | Line::Interrupted) => return Ok(Given::Cancelled),
                Err(_) => return Err(Reason::SecretNoTerminal.into()),
            },
            Self::Descriptor(descriptor) => fill_from(descriptor, room, around.signals).map_err(unreadable)?,
            Self::Credential(name) => credential(*system, name, room, around).map_err(unreadable)?,
            Self::Command(words) => printed(words, room, around)?,
        };
        match filled {
            Filled::Whole(count) => match Secret::new(buffer, count) {
                Ok(secret) if !secret.expose().is_empty() => Ok(Given::Password(secret)),
                _ => Err(Reason::SecretNotPassword.into()),
            },
            Filled::TooMuch => Err(Reason::SecretNotPassword.into()),
            Filled::Interrupted => Ok(Given::Cancelled),
        }
    }
}

fn unreadable(_: Fault) -> Refusal {
    Reason::SecretSourceUnreadable.into()
}

/// A credential belongs to the person or to root, who placed it, and is closed to everybody else.
fn credential(system: OsSystem, name: &str, room: &mut [u8], around: &Surroundings<'_>) -> Result<Filled, Fault> {
    let variable = around.environment.iter().find(|(known, _)| known == OsStr::new("CREDENTIALS_DIRECTORY"));
    let path = variable.and_then(|(_, value)| AbsolutePath::parse(value.to_str()?).ok()).ok_or(Fault::NotFound)?;
    let file = system.open_file_in(&system.open_directory(&path)?, name)?;
    let facts = system.file_facts(&file)?;
    let of_root_or_own = facts.owner == 0 || facts.owner == system.user();
    if facts.kind != Kind::Regular || !of_root_or_own || facts.mode & 0o007 != 0 {
        return Err(Fault::Denied);
    }
    match system.fill(&file, room) {
        Ok(count) => Ok(Filled::Whole(count)),
        Err(Fault::TooLarge) => Ok(Filled::TooMuch),
        Err(fault) => Err(fault),
    }
}

/// What a command prints, if it ends with status 0. It has the person's terminal and standard error to ask for what it
/// needs, and no standard input.
fn printed(words: &[String], room: &mut [u8], around: &Surroundings<'_>) -> Result<Filled, Refusal> {
    let (program, arguments) = words.split_first().ok_or(Reason::SecretSourceUnreadable)?;
    let order = HostOrder {
        program: host::program(program, around.here, around.environment).map_err(|_| Reason::SecretSourceUnreadable)?,
        arguments: arguments.iter().map(Into::into).collect(),
        environment: without_ours(around.environment),
        directory: around.here.clone(),
        input: Stream::Null,
        output: Stream::Pipe,
        errors: Stream::Inherit,
    };
    let mut command = HostProcess::start_attended(order, around.signals).map_err(unreadable)?;
    let output = command.take_output().ok_or(Reason::SecretSourceUnreadable)?;
    let filled = fill_from(&output, room, around.signals).map_err(unreadable)?;
    drop(output);
    if !matches!(filled, Filled::Whole(_)) {
        // Ended as it goes out of scope.
        return Ok(filled);
    }
    // It may have closed its output and live on; whoever asks for the end meanwhile gets it.
    match command.wait_attended(around.signals) {
        Ok(Some(Ending::Exit(0))) => Ok(filled),
        Ok(None) => Ok(Filled::Interrupted),
        _ => Err(Reason::SecretSourceUnreadable.into()),
    }
}
