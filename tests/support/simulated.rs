//! Recorded cases laid out in the simulated system at the very paths where they were recorded, so that digests which bind
//! a path hold; and the recorded `LoadPlan`s, by the digest of the asset they were made for.

use super::documents::parse;
use super::package;
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::foundation::value::Value;
use kdna_broker::system::sim::{SimDirectory, SimSystem};
use kdna_broker::system::{Observe, sim::World};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folders of recorded cases: those of this repository, and all of them where the shared data is there.
fn folders() -> Vec<PathBuf> {
    let all = std::env::var_os("KDNA_SHARED").filter(|value| !value.is_empty());
    let all = all.map(|shared| PathBuf::from(shared).join("golden/cases"));
    all.into_iter().chain([package().join("fixtures/golden/cases")]).collect()
}

/// The names of the recorded cases at hand that begin so, sorted.
pub(crate) fn recorded_ids(prefix: &str) -> Vec<String> {
    let entries = folders().into_iter().flat_map(|folder| fs::read_dir(folder).expect("the cases"));
    let names = entries.map(|entry| entry.expect("a case").file_name().into_string().expect("a plain name"));
    let ids: BTreeSet<String> = names.filter(|name| name.starts_with(prefix)).collect();
    ids.into_iter().collect()
}

fn folder_of(id: &str) -> PathBuf {
    folders().into_iter().map(|folder| folder.join(id)).find(|folder| folder.is_dir()).expect("a recorded case")
}

/// One recorded case, laid out.
pub(crate) struct Recorded {
    pub(crate) id: String,
    pub(crate) system: SimSystem,
    pub(crate) arguments: Vec<String>,
    pub(crate) home: String,
    pub(crate) stdin: Vec<u8>,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
    pub(crate) environment: Value,
}

impl Recorded {
    pub(crate) fn named(id: &str) -> Recorded {
        let folder = folder_of(id);
        let read = |name: &str| fs::read(folder.join(name)).unwrap_or_default();
        let case = parse(&read("case.json")).expect("case.json");
        let root = format!("/golden/{id}");
        let text = |value: &Value| value.as_str().expect("a text").replace("{ROOT}", &root);
        let environment = case.get("env").cloned().expect("env");
        let system = SimSystem::new(1);
        system.arrange(|world| {
            world.directory("/golden/home", 0o700).unwrap();
            world.set_account_home(AbsolutePath::parse("/golden/home").ok());
            world.directory(&root, 0o755).unwrap();
            for (name, entry) in case.get("tree_before").and_then(Value::as_object).expect("tree_before").iter() {
                lay(world, &folder, &format!("{root}/{name}"), name, entry);
            }
            world.set_working_directory(&text(case.get("cwd").expect("cwd"))).unwrap();
        });
        Recorded {
            id: id.to_owned(),
            system,
            arguments: case.get("argv").and_then(Value::as_array).expect("argv").iter().map(text).collect(),
            home: environment.get("HOME").map_or_else(|| "/golden/home".to_owned(), text),
            stdin: read("stdin"),
            stdout: read("stdout"),
            stderr: String::from_utf8(read("stderr")).expect("text"),
            environment,
        }
    }

    /// The value after an option.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        let at = self.arguments.iter().position(|argument| argument == name)?;
        self.arguments.get(at + 1).map(String::as_str)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.arguments.iter().any(|argument| argument == name)
    }

    /// A directory of the case, held.
    pub(crate) fn open(&self, below: &str) -> SimDirectory {
        let path = AbsolutePath::parse(&format!("/golden/{}/{below}", self.id)).expect("a path");
        self.system.open_directory(&path).expect("a directory")
    }
}

fn lay(world: &mut World, folder: &Path, path: &str, name: &str, entry: &Value) {
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let mode = text("mode").and_then(|mode| u32::from_str_radix(mode.strip_prefix("0o")?, 8).ok());
    match text("type") {
        Some("dir") => world.directory(path, mode.expect("a mode")).unwrap(),
        Some("symlink") => world.link(path, text("target").expect("a target")).unwrap(),
        _ => {
            let stored = name.replace(".gitignore", "_gitignore");
            let bytes = fs::read(folder.join("files").join(stored)).expect("a stored file");
            world.file(path, mode.expect("a mode"), &bytes).unwrap();
        }
    }
}

/// The recorded `LoadPlan` of an asset, if its plan was recorded.
pub(crate) fn recorded_plan(asset: &[u8]) -> Option<Value> {
    static PLANS: OnceLock<HashMap<Digest, Value>> = OnceLock::new();
    let plans = PLANS.get_or_init(|| {
        let mut plans = HashMap::new();
        for id in recorded_ids("plan-") {
            let folder = folder_of(&id);
            let asset = fs::read(folder.join("files/a.kdna"));
            let plan = fs::read(folder.join("stdout")).ok().and_then(|bytes| parse(&bytes));
            if let (Ok(asset), Some(plan)) = (asset, plan)
                && plan.get("input_fingerprint").and_then(|input| input.get("has_password_input"))
                    == Some(&Value::Bool(false))
                && plan.get("input_fingerprint").and_then(|input| input.get("entitlement_input")) == Some(&Value::Null)
            {
                plans.insert(Digest::of(&asset), plan);
            }
        }
        // The one asset of the cases whose plan was not recorded; it differs from another in name only.
        let triage =
            Digest::parse_hex("c3e3316e82ea593ada6296fb22b86e4160e3205ebd54e97ea4e8b827eaa4e31e").expect("hex");
        let review = fs::read_to_string(folder_of("plan-review").join("stdout")).expect("a plan");
        plans.insert(triage, parse(review.replace("golden:review", "golden:triage").as_bytes()).expect("a plan"));
        plans
    });
    plans.get(&Digest::of(asset)).cloned()
}
