//! The scripted runtime. A script sees what a runtime process would get, and reads through a system whose calls are
//! marked as the child's and bounded as its sandbox bounds them. Starts no process.

use super::{SimDirectory, SimFile, SimSystem};
use crate::system::{Cancel, ChildFault, ChildOrder, ChildReport, Fault, Program};
use std::time::Duration;

/// Plays the runtime process. It may read through the system it is given, and change the world through
/// [`SimSystem::arrange`] as another process would. It must not panic.
pub type Script = Box<dyn Fn(&SimSystem, &SimOrder<'_>) -> Result<ChildReport, ChildFault> + Send + Sync>;

/// What a runtime process gets.
#[derive(Clone, Copy)]
pub struct SimOrder<'a> {
    /// What is run.
    pub program: Program<'a, SimFile, SimDirectory>,
    /// The directory that it may read beneath.
    pub directory: Option<&'a SimDirectory>,
    /// The sealed bytes.
    pub sealed: Option<&'a [u8]>,
    /// The request document.
    pub request: &'a [u8],
    /// The task's text or the password.
    pub input: &'a [u8],
    /// The virtual time it may take.
    pub deadline: Duration,
    /// The bytes it may write to its standard output.
    pub output_limit: usize,
    /// Set when the caller cancels.
    pub cancel: &'a Cancel,
}

impl<'a> SimOrder<'a> {
    pub(super) fn of(order: &ChildOrder<'a, SimSystem>) -> Self {
        SimOrder {
            program: order.program,
            directory: order.directory,
            sealed: order.sealed.map(super::SimSealed::bytes),
            request: order.request,
            input: order.input,
            deadline: order.deadline,
            output_limit: order.output_limit,
            cancel: order.cancel,
        }
    }
}

/// Runs the script and holds it to the order's bounds, in virtual time.
pub(super) fn run(system: &SimSystem, order: &SimOrder<'_>) -> Result<ChildReport, ChildFault> {
    let (script, started) = {
        let world = system.world();
        (world.script.clone(), world.monotonic)
    };
    let script = script.ok_or(ChildFault::NotStarted(Fault::Unsupported("a runtime script")))?;
    if order.cancel.is_set() {
        return Err(ChildFault::Cancelled);
    }
    let report = script(&system.as_child(order.directory), order);
    let took = system.world().monotonic.saturating_sub(started);
    if order.cancel.is_set() {
        return Err(ChildFault::Cancelled);
    }
    if took > order.deadline {
        return Err(ChildFault::Deadline);
    }
    match report {
        Ok(report) if report.output.len() > order.output_limit => Err(ChildFault::OutputTooLarge),
        other => other,
    }
}
