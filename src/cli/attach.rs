//! `kdna attach | attachments`
use crate::cli::environment::Environment;
use crate::cli::outcome::Outcome;
use crate::system::System;
/// x
pub(crate) fn attach<S: System>(
    _system: &S,
    _environment: &Environment,
    _words: &[String],
) -> Result<Outcome, Outcome> {
    Err(Outcome::usage("later"))
}
/// x
pub(crate) fn attachments<S: System>(
    _system: &S,
    _environment: &Environment,
    _words: &[String],
) -> Result<Outcome, Outcome> {
    Err(Outcome::usage("later"))
}
