//! The load as data: every stage in order, what kind of step it is, and whether a resolution takes it too.
//! `operations.rs` walks this table, `load.rs` holds what each step does, and nothing else decides. Auditors read it, the
//! journal names its stages, and simulations sabotage one entry at a time to see that it bites.

use crate::broker::load::{Flow, Load};
use crate::broker::{Broker, authority, load};
use crate::foundation::refusal::{Refusal, Stage};
use crate::system::System;

/// Whether a step produces a value or only says yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// Produces a value that later steps need.
    Acquire,
    /// Only says yes, or refuses.
    Check,
}

/// One row of the table.
pub struct Step<S: System> {
    /// Its name, in the journal and in refusals.
    pub stage: Stage,
    /// Acquire or check.
    pub kind: StepKind,
    /// Whether `workspace-resolve` takes it too.
    pub resolves: bool,
    /// What it does.
    pub run: fn(&Broker<S>, &mut Load<'_, S>) -> Result<Flow, Refusal>,
}

/// Stands between a step and its verdict. The real one, [`Enforced`], changes nothing; only a broker over the simulated
/// system can be given another.
pub trait Checks: Send + Sync {
    /// A step is about to run.
    fn entering(&self, _stage: Stage) {}
    /// A *check* step gave this verdict.
    fn judge(&self, _stage: Stage, verdict: Result<(), Refusal>) -> Result<(), Refusal> {
        verdict
    }
}

/// Every check counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Enforced;

impl Checks for Enforced {}

/// A coordinate of a load, and the stages between which a change of it must suppress the result: from its first
/// acquisition to its last re-check. A change before or after is not a change *during* the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// What may change.
    pub coordinate: &'static str,
    /// Where it is first acquired.
    pub first: Stage,
    /// Where it is checked for the last time.
    pub last: Stage,
}

/// The windows of all coordinates.
pub const WINDOWS: [Window; 8] = [
    Window { coordinate: "root", first: Stage::Root, last: Stage::RootAgain },
    Window { coordinate: "record", first: Stage::RecordSearch, last: Stage::BindingAgain },
    Window { coordinate: "snapshot", first: Stage::SnapshotSeal, last: Stage::SnapshotAgain },
    Window { coordinate: "consent", first: Stage::ConsentRead, last: Stage::ConsentAgain },
    Window { coordinate: "consent-directory", first: Stage::ConsentRead, last: Stage::ConsentAgain },
    Window { coordinate: "time", first: Stage::ConsentTime, last: Stage::ConsentAgain },
    Window { coordinate: "policy", first: Stage::ManagedPolicy, last: Stage::ConsentAgain },
    Window { coordinate: "ledger", first: Stage::Ledger, last: Stage::ConsentAgain },
];

use StepKind::{Acquire, Check};

const fn step<S: System>(
    stage: Stage,
    kind: StepKind,
    resolves: bool,
    run: fn(&Broker<S>, &mut Load<'_, S>) -> Result<Flow, Refusal>,
) -> Step<S> {
    Step { stage, kind, resolves, run }
}

impl<S: System> Broker<S> {
    /// The sequence of a load. `workspace-resolve` takes the steps marked so, in the same order.
    ///
    /// `arguments` is judged before (floor 6), and `resolver-contract` is named by refusals of the step `resolve`.
    pub const SEQUENCE: [Step<S>; 31] = [
        step(Stage::Cwd, Acquire, true, load::cwd),
        step(Stage::Root, Check, true, load::root),
        step(Stage::Containment, Acquire, true, load::containment),
        step(Stage::RecordSearch, Acquire, true, load::record_search),
        step(Stage::HomeGuard, Check, true, load::home_guard),
        step(Stage::TaskText, Check, true, load::task_text),
        step(Stage::JournalOpen, Acquire, false, load::journal_open),
        step(Stage::ManagedPolicy, Acquire, false, load::managed_policy),
        step(Stage::Resolve, Acquire, true, load::resolve),
        step(Stage::ResolutionBinding, Acquire, true, load::resolution_binding),
        step(Stage::Ledger, Check, false, authority::ledger),
        step(Stage::Selection, Check, false, load::selection),
        step(Stage::AuthorizationSource, Acquire, false, load::authorization_source),
        step(Stage::ConsentRead, Acquire, false, load::consent_read),
        step(Stage::ConsentShape, Acquire, false, load::consent_shape),
        step(Stage::ConsentBinding, Check, false, load::consent_binding),
        step(Stage::Destination, Acquire, false, load::destination),
        step(Stage::ConsentTime, Check, false, authority::consent_time),
        step(Stage::PolicyAllows, Check, false, authority::policy_allows),
        step(Stage::SnapshotSeal, Acquire, false, load::snapshot_seal),
        step(Stage::Plan, Acquire, false, load::plan),
        step(Stage::BindingBeforeSecret, Check, false, load::binding_before_secret),
        step(Stage::Authorization, Acquire, false, load::authorization),
        step(Stage::Load, Acquire, false, load::load),
        step(Stage::CapsuleIdentity, Check, false, load::capsule_identity),
        step(Stage::RootAgain, Check, false, load::root_again),
        step(Stage::BindingAgain, Check, false, load::binding_again),
        step(Stage::SnapshotAgain, Check, false, load::snapshot_again),
        step(Stage::ConsentAgain, Check, false, load::consent_again),
        step(Stage::Journal, Acquire, false, load::journal),
        step(Stage::Deliver, Acquire, false, load::deliver),
    ];
}
