//! The gates that every asset passes through, in the order of the contract; the problems they list are its words.
//! Only says what is wrong; whether the asset may be loaded is decided by the plan.

use super::asset::Asset;
use super::cbor::{self, CborFault};
use super::checksums;
use super::container::PAYLOAD;
use super::fault::RuntimeFault;
use super::manifest::{is_loader_compatible, loader_version, min_loader_version, truthy};
use super::payload;
use super::schema::Shape;
use super::signature::Signature;
use crate::foundation::switches::Switches;
use crate::foundation::value::{Object, Tree, Value};

/// What the gates found.
pub(super) struct Validation<'c> {
    schema: bool,
    payload: bool,
    checksums: Option<bool>,
    /// What the signature entry proves; judged only where signatures are switched on.
    pub(super) signature: Signature,
    load_contract: bool,
    /// What is switched on.
    pub(super) switches: Switches,
    /// Every problem, in order.
    pub(super) problems: Vec<String>,
    /// The decoded payload, where it could be decoded.
    pub(super) decoded: Option<Tree<'c>>,
}

const REMOVED_NAMES: [&str; 3] = ["kdna_spec", "kdna_version", "spec_version"];

impl<'c> Validation<'c> {
    /// Runs all gates. A payload that is nothing at all (`null`), or holds more values than the limit, is refused without
    /// a code.
    pub(super) fn of(asset: &Asset<'c>) -> Result<Self, RuntimeFault> {
        let mut found = Validation {
            schema: true,
            payload: true,
            checksums: Some(true),
            signature: Signature::Absent,
            load_contract: true,
            switches: asset.container.switches,
            problems: Vec::new(),
            decoded: None,
        };
        found.check_manifest(&asset.manifest)?;
        let payload = match cbor::decode(asset.entry(PAYLOAD)) {
            Ok(Tree::Null | Tree::Undefined) | Err(CborFault::TooManyValues) => return Err(RuntimeFault::UNNAMED),
            Ok(payload) => payload,
            Err(fault) => {
                found.payload = false;
                found.problems.push(format!("payload: not valid KDNA payload ({fault})"));
                return Ok(found);
            }
        };
        found.payload = found.adds(payload::problems(&asset.manifest, &payload)?);
        let verdict = checksums::verify(asset)?;
        found.problems.extend(verdict.problems);
        found.checksums = verdict.valid;
        found.check_signature(asset);
        found.check_load_contract(&asset.manifest)?;
        found.decoded = Some(payload);
        Ok(found)
    }

    /// Adds problems; whether there were none.
    fn adds(&mut self, problems: impl IntoIterator<Item = String>) -> bool {
        let before = self.problems.len();
        self.problems.extend(problems);
        self.problems.len() == before
    }

    fn check_manifest(&mut self, manifest: &Tree<'_>) -> Result<(), RuntimeFault> {
        let shape = Shape::manifest(self.switches).errors(manifest)?;
        self.schema &= self.adds(shape.iter().map(|error| format!("manifest: {error}")));
        let removed = REMOVED_NAMES.iter().filter(|name| manifest.get(name).is_some());
        self.schema &= self.adds(removed.map(|name| format!("kdna.json: {name} is not allowed. Use format_version.")));
        Ok(())
    }

    fn check_signature(&mut self, asset: &Asset<'_>) {
        self.signature = Signature::of(asset);
        if let Signature::Invalid(problem) = self.signature {
            self.problems.push(problem.text());
        }
    }

    fn check_load_contract(&mut self, manifest: &Tree<'_>) -> Result<(), RuntimeFault> {
        if let Some(contract) = truthy(manifest, "load_contract") {
            let shape = Shape::load_contract(self.switches).errors(contract)?;
            self.load_contract = self.adds(shape.iter().map(|error| format!("load_contract: {error}")));
        }
        Ok(())
    }

    /// Whether every gate passed.
    pub(super) fn is_valid(&self) -> bool {
        self.overall() == Some(true)
    }

    /// The conjunction; `None` where it cannot be said because of a foreign digest algorithm.
    fn overall(&self) -> Option<bool> {
        if self.schema && self.payload && self.signature.is_valid() {
            self.checksums.map(|valid| valid && self.load_contract)
        } else {
            Some(false)
        }
    }

    /// The gates one by one, as plans print them; validation results also say what a signature proves.
    fn gates(&self, detailed: bool) -> Object {
        let mut gates = Object::with_room_for(8);
        gates.insert("format_valid", true);
        gates.insert("schema_valid", self.schema);
        gates.insert("payload_valid", self.payload);
        if let Some(valid) = self.checksums {
            gates.insert("checksums_valid", valid);
        }
        if self.switches.signatures {
            gates.insert("signature_valid", self.signature.is_valid());
            if detailed {
                gates.insert("signature_state", Tree::text(self.signature.state()));
                gates.insert("signature_evidence", self.signature.evidence().map(Value::from));
            }
        }
        gates.insert("load_contract_valid", self.load_contract);
        gates
    }

    fn insert_overall(&self, document: &mut Object) {
        if let Some(valid) = self.overall() {
            document.insert("overall_valid", valid);
        }
    }

    /// `checks` of a plan.
    pub(super) fn checks(&self) -> Value {
        let mut checks = self.gates(false);
        self.insert_overall(&mut checks);
        checks.into()
    }

    /// The result of `validate`.
    pub(super) fn document(&self, manifest: &Tree<'_>) -> Object {
        let mut document = self.gates(true);
        document.insert("loader_version", loader_version(self.switches));
        document.insert("min_loader_version", min_loader_version(manifest).map(str::to_owned));
        document.insert("loader_compatible", is_loader_compatible(manifest, self.switches));
        self.insert_overall(&mut document);
        document.insert("problems", self.problems.iter().map(|text| Value::copied(text)).collect::<Vec<Value>>());
        document
    }
}
