//! `kdna attach | attachments`
use crate::cli::environment::Environment;
use crate::cli::outcome::Outcome;
use crate::system::System;
/// x
pub fn attach<S: System>(_system: &S, _environment: &Environment, _words: &[String]) -> Result<Outcome, Outcome> { Err(Outcome::usage("later")) }
/// x
pub fn attachments<S: System>(_system: &S, _environment: &Environment, _words: &[String]) -> Result<Outcome, Outcome> { Err(Outcome::usage("later")) }
