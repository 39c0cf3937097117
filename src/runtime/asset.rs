//! One asset, parsed once, and the operations on it. The free functions read, answer and forget; [`Asset`] is for a
//! caller that wants an answer as text, or asks two questions about the same bytes.

use super::capsule::{self, InputKind, LoadInput, LoadProfile};
use super::container::{CHECKSUMS, Container, MANIFEST};
use super::decision::{INVALID, Outcome};
use super::digests::demand_readable_tree;
use super::fault::RuntimeFault;
use super::inspect::{document as inspection_of, repeats_claim};
use super::manifest::{claims_trust, is_remote};
use super::plan::{self, EntitlementStatus, PlanInput, Standing};
use super::validation::Validation;
use crate::foundation::json::{JsonFault, read_javascript_borrowing};
use crate::foundation::time::Timestamp;
use crate::foundation::value::{Tree, Value};

/// A parsed container with a readable manifest; nothing in it has been judged yet.
pub struct Asset<'c> {
    pub(super) container: &'c Container<'c>,
    pub(super) manifest: Tree<'c>,
    /// `checksums.json` as read, if there is such an entry.
    pub(super) checksums: Option<Result<Tree<'c>, JsonFault>>,
}

impl<'c> Asset<'c> {
    /// Reads the manifest. A fault here means that no document can be printed.
    pub fn read(container: &'c Container<'c>) -> Result<Self, RuntimeFault> {
        let manifest = read_javascript_borrowing(container.entry(MANIFEST).unwrap_or_default());
        let manifest = manifest.ok().filter(|manifest| !manifest.is_null()).ok_or(RuntimeFault::UNNAMED)?;
        if manifest.get("lineage").is_some_and(|lineage| lineage.as_array().is_some()) {
            return Err(RuntimeFault::UNNAMED);
        }
        let checksums = container.entry(CHECKSUMS).map(read_javascript_borrowing);
        Ok(Asset { container, manifest, checksums })
    }

    /// As [`Asset::read`], and demands what planning and loading need besides: every `.json` entry is JSON, and the
    /// manifest does not put a claim of trust where it would be repeated.
    pub fn read_for_load(container: &'c Container<'c>) -> Result<Self, RuntimeFault> {
        let asset = Self::read(container)?;
        if repeats_claim(&asset) {
            return Err(RuntimeFault::UNNAMED);
        }
        demand_readable_tree(&asset)?;
        Ok(asset)
    }

    /// The bytes of an entry; empty for a missing one.
    pub(super) fn entry(&self, name: &str) -> &'c [u8] {
        self.container.entry(name).unwrap_or_default()
    }

    /// Whether the manifest says that only a server projects this asset. Nothing here ever contacts one.
    pub fn is_remote(&self) -> bool {
        is_remote(&self.manifest)
    }

    /// What the manifest says about the asset.
    pub fn inspect(&self) -> Result<Value, RuntimeFault> {
        let document = inspection_of(self);
        if claims_trust(&document) { Err(RuntimeFault::UNNAMED) } else { Ok(document) }
    }

    /// The `LoadPlan`.
    pub fn plan(&self, input: &PlanInput<'_>) -> Result<Value, RuntimeFault> {
        plan::document(self, &Validation::of(self)?, input).map(|(document, _)| document)
    }

    /// What a resolution needs to know of a usable asset. Refuses, without a code, an asset whose plan is invalid.
    pub fn standing(&self) -> Result<Standing, RuntimeFault> {
        plan::standing(&self.manifest, &Validation::of(self)?)
    }

    /// The Runtime Capsule, or the code of the first reason against it. A container gives what its envelope holds only
    /// once: a second load that opens it is refused.
    pub fn load(self, input: &LoadInput<'_>) -> Result<Tree<'c>, RuntimeFault> {
        capsule::load(self, input)
    }

    /// The Runtime Capsule as it is printed.
    pub fn load_text(self, input: &LoadInput<'_>) -> Result<String, RuntimeFault> {
        capsule::load_text(self, input)
    }

    /// The result of validation and the exit status of the command: 0 valid, 1 invalid; with a plan also 3, valid but
    /// not loadable now.
    pub fn validate(&self, runtime: Option<&PlanInput<'_>>) -> Result<(Value, u8), RuntimeFault> {
        let validation = Validation::of(self)?;
        let mut document = validation.document(&self.manifest);
        let mut exit = u8::from(!validation.is_valid());
        if let Some(input) = runtime {
            let (plan, outcome) = plan::document(self, &validation, input)?;
            document.insert("runtime_load_plan", plan);
            exit = exit_of(outcome);
        }
        Ok((document.into(), exit))
    }
}

fn exit_of(outcome: Outcome) -> u8 {
    if outcome.state == INVALID.state {
        1
    } else if outcome.loadable {
        0
    } else {
        3
    }
}

/// The `LoadPlan` of an asset, valid or not. A fault means that nothing can be said about the bytes as an asset.
pub fn plan(bytes: &[u8], input: &PlanInput<'_>) -> Result<Value, RuntimeFault> {
    Asset::read_for_load(&Container::read(bytes)?)?.plan(input)
}

/// What a resolution needs to know of a usable asset (see [`Asset::standing`]).
pub fn standing(bytes: &[u8]) -> Result<Standing, RuntimeFault> {
    Asset::read_for_load(&Container::read(bytes)?)?.standing()
}

/// The Runtime Capsule of an asset. A protected one needs its password for every profile: `KDNA_DECRYPT_FAILED` where it
/// does not open the envelope (or the envelope is damaged, which is not told apart), `KDNA_PAYLOAD_INVALID` where what it
/// opens is no valid payload. Without a password the plan's first issue names the refusal.
pub fn load(
    bytes: &[u8],
    profile: LoadProfile,
    password: Option<&[u8]>,
    entitlement_status: Option<EntitlementStatus>,
    loaded_at: Timestamp,
    input_kind: InputKind,
) -> Result<Value, RuntimeFault> {
    let input = LoadInput { profile, password, entitlement_status, loaded_at, input_kind };
    Asset::read_for_load(&Container::read(bytes)?)?.load(&input).map(Tree::into_owned)
}

/// What a manifest says about its asset, also of an invalid one.
pub fn inspect(bytes: &[u8]) -> Result<Value, RuntimeFault> {
    Asset::read(&Container::read(bytes)?)?.inspect()
}

/// The validation result and the exit status of the command (see [`Asset::validate`]).
pub fn validate(bytes: &[u8], runtime: Option<&PlanInput<'_>>) -> Result<(Value, u8), RuntimeFault> {
    Asset::read(&Container::read(bytes)?)?.validate(runtime)
}
