//! Replays a recorded case: lays its directory out in a scratch place, runs the program as it was run, and tells every
//! difference from what was recorded.
//!
//! A case was recorded below `/golden/<id>`. Here it stands elsewhere, so paths are rewritten, and so is every digest
//! whose preimage is known (root paths, files that hold such digests); a digest over a document that holds the root is
//! only held to its form.

use super::command::{Exit, Program, Scratch, run};
use super::documents::{
    at, command_layout, command_output, differences, parse, server_layout, server_output, short, with,
};
use super::tree::{Entry, copy, read_entry, replace_all, tree, tree_faults};
use kdna_broker::foundation::digest::{self, Digest};
use kdna_broker::foundation::json::write;
use kdna_broker::foundation::value::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

const RECORDED_BASE: &str = "/golden";
const MASKED_KEYS: [&str; 3] = ["consent_digest", "workspace_root_digest", "plan_digest"];

type Reader = fn(&[u8]) -> Value;
type Layout = fn(&[u8]) -> Option<String>;

/// One recorded case.
pub(crate) struct Case {
    pub(crate) id: String,
    folder: PathBuf,
    program: Program,
    arguments: Vec<String>,
    directory: String,
    environment: Vec<(String, Option<String>)>,
    input: Option<Vec<u8>>,
    needs_terminal: bool,
    /// What is typed at the question.
    pub(crate) typed: Option<String>,
    pub(crate) exit: i32,
    before: BTreeMap<String, Entry>,
    after: BTreeMap<String, Option<Entry>>,
    volatile: Vec<String>,
    path_dependent: Vec<String>,
    phrase_only: bool,
}

/// What this product answers on purpose where it differs from a recorded reply.
#[derive(Clone, Debug)]
pub(crate) enum Deviation {
    /// Another value at a pointer; `None`: nothing there.
    Value { at: String, expect: Option<String> },
    /// Another exit status.
    Exit(i32),
    /// Another text on standard error, of which this is a part.
    Stderr(String),
    /// The recorded text on standard error with this code before it, and what to do about it on one more line.
    StderrCode(String),
    /// A file that stays behind, beside the recorded ones.
    LeftBehind(String),
}

impl Case {
    /// Every case below a folder, sorted by id.
    pub(crate) fn all(below: &Path) -> Vec<Case> {
        let entries = fs::read_dir(below).unwrap_or_else(|error| panic!("{}: {error}", below.display()));
        let mut folders: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder").path()).collect();
        folders.sort();
        folders.iter().filter(|folder| folder.join("case.json").is_file()).map(|folder| Case::read(folder)).collect()
    }

    fn read(folder: &Path) -> Case {
        let bytes = fs::read(folder.join("case.json")).expect("case.json");
        let case = parse(&bytes).unwrap_or_else(|| panic!("{}: not a document", folder.display()));
        let text = |key: &str| case.get(key).and_then(Value::as_str).map(str::to_owned);
        let texts = |key: &str| -> Vec<String> {
            let items = case.get(key).and_then(Value::as_array).expect("a list");
            items.iter().map(|item| item.as_str().expect("a text").to_owned()).collect()
        };
        let members = |key: &str| case.get(key).and_then(Value::as_object).expect("a map").clone();
        Case {
            id: text("id").expect("an id"),
            folder: folder.to_owned(),
            program: if text("program").as_deref() == Some("kdna") { Program::Owner } else { Program::Broker },
            arguments: texts("argv"),
            directory: text("cwd").expect("a directory"),
            environment: members("env")
                .into_iter()
                .map(|(name, value)| (name.into_owned(), value.as_str().map(str::to_owned)))
                .collect(),
            input: text("stdin").map(|name| fs::read(folder.join(name)).expect("stdin")),
            needs_terminal: case.get("tty_answer").is_some_and(|answer| !answer.is_null()),
            typed: text("tty_answer"),
            exit: case
                .get("expected_exit")
                .and_then(Value::as_number)
                .map_or(-1, |exit| format!("{exit}").parse().expect("an exit status")),
            before: members("tree_before")
                .iter()
                .map(|(name, entry)| (name.to_owned(), read_entry(entry).expect("an entry")))
                .collect(),
            after: members("tree_changes")
                .iter()
                .map(|(name, change)| (name.to_owned(), change.get("after").and_then(read_entry)))
                .collect(),
            volatile: texts("volatile_fields"),
            path_dependent: texts("path_dependent_fields"),
            phrase_only: text("note").is_some_and(|note| note.contains("only the phrase matters")),
        }
    }

    /// One of the recorded streams, or of its other files.
    pub(crate) fn recorded(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join(name)).expect("a recorded file")
    }

    /// What is wrong with the stored files: every one named must be there with its digest, and no other.
    pub(crate) fn stored_faults(&self) -> Vec<String> {
        let scratch = Scratch::new();
        let root = scratch.path().join(&self.id);
        self.copy_files(&root);
        tree_faults(&tree(&root), &self.before)
    }

    /// Runs the case and tells every difference that no deviation explains, and every deviation that is none.
    pub(crate) fn problems(&self, deviations: &[Deviation]) -> Vec<String> {
        if self.needs_terminal {
            return vec!["not run: the case types at a terminal".to_owned()];
        }
        let stage = Stage::of(self);
        let (given, arguments_fault) = stage.run();
        let mut problems: Vec<String> = arguments_fault.into_iter().collect();
        problems.extend(self.exit_problems(given.exit, deviations));
        problems.extend(self.stdout_problems(&stage, &given.stdout, deviations));
        problems.extend(self.stderr_problems(&stage, &given.stderr, deviations));
        problems.extend(self.tree_problems(&stage, deviations));
        problems
    }

    fn exit_problems(&self, given: Exit, deviations: &[Deviation]) -> Vec<String> {
        let declared = deviations.iter().find_map(|deviation| match deviation {
            Deviation::Exit(exit) => Some(*exit),
            _ => None,
        });
        let mut problems = Vec::new();
        if declared == Some(self.exit) {
            problems.push("a declared exit is the recorded one".to_owned());
        }
        let expected = declared.unwrap_or(self.exit);
        if given != Exit::Status(expected) {
            problems.push(format!("exit {given:?}, expected {expected}"));
        }
        problems
    }

    fn stdout_problems(&self, stage: &Stage, given: &[u8], deviations: &[Deviation]) -> Vec<String> {
        let recorded = fs::read(self.folder.join("stdout")).expect("stdout");
        let (read, layout): (Reader, Layout) = match self.program {
            Program::Broker => (server_output, server_layout),
            Program::Owner => (command_output, command_layout),
        };
        let original = read(&recorded);
        let mut recorded = read(&stage.rewrite(&recorded));
        let mut given_document = read(given);
        let mut problems = Vec::new();
        for deviation in deviations {
            if let Deviation::Value { at: pointer, expect } = deviation {
                problems.extend(deviate(stage, pointer, expect.as_deref(), &mut recorded, &mut given_document));
            }
        }
        for pointer in &self.volatile {
            mask(pointer, &mut recorded, &mut given_document, |value| value.as_str().is_some());
        }
        for pointer in self.path_dependent.iter().cloned().chain(masked_places(&original)) {
            // Not rewritten: its preimage holds the root and cannot be recomputed here.
            if at(&recorded, &pointer).is_some_and(|value| Some(value) == at(&original, &pointer)) {
                mask(&pointer, &mut recorded, &mut given_document, is_digest);
            }
        }
        if self.volatile.iter().any(|pointer| pointer == "/") {
            return problems;
        }
        problems.extend(layout(given));
        problems.extend(differences(&recorded, &given_document).into_iter().map(|found| format!("stdout {found}")));
        problems
    }

    fn stderr_problems(&self, stage: &Stage, given: &[u8], deviations: &[Deviation]) -> Vec<String> {
        if self.volatile.iter().any(|pointer| pointer == "stderr") {
            return Vec::new();
        }
        let recorded = stage.rewrite(&fs::read(self.folder.join("stderr")).expect("stderr"));
        let said = String::from_utf8_lossy(given);
        let parts: Vec<&String> = deviations
            .iter()
            .filter_map(|deviation| match deviation {
                Deviation::Stderr(part) => Some(part),
                _ => None,
            })
            .collect();
        let phrase = String::from_utf8_lossy(&recorded);
        if let Some(code) = deviations.iter().find_map(|deviation| match deviation {
            Deviation::StderrCode(code) => Some(code),
            _ => None,
        }) {
            let message = phrase.strip_prefix("Error: ").unwrap_or("nothing was recorded");
            let rest = said.strip_prefix(&format!("Error: [{code}] {message}"));
            let agrees = rest.is_some_and(|rest| rest.lines().count() == 1 && rest.ends_with(".\n"));
            return if agrees {
                Vec::new()
            } else {
                vec![format!("stderr: expected [{code}] {message:?}, given {said:?}")]
            };
        }
        let one_line = said.ends_with('\n') && said.lines().count() == 1;
        let agrees = given == recorded || (self.phrase_only && one_line && said.contains(phrase.trim()));
        match (parts.is_empty(), agrees) {
            (true, true) => Vec::new(),
            (true, false) => vec![format!("stderr: recorded {:?}, given {said:?}", phrase.trim())],
            (false, true) => vec!["a declared standard error is the recorded one".to_owned()],
            (false, false) => parts
                .into_iter()
                .filter(|part| !said.contains(part.as_str()))
                .map(|part| format!("stderr: {part:?} is not in {said:?}"))
                .collect(),
        }
    }

    /// Nothing may be left behind but what was recorded, and what was there stays as it was.
    fn tree_problems(&self, stage: &Stage, deviations: &[Deviation]) -> Vec<String> {
        let mut expected = stage.laid.clone();
        for (name, entry) in &self.after {
            match entry {
                Some(entry) => drop(expected.insert(name.clone(), entry.clone())),
                None => drop(expected.remove(name)),
            }
        }
        let mut found = tree(&stage.root);
        let mut problems = Vec::new();
        for deviation in deviations {
            if let Deviation::LeftBehind(name) = deviation
                && found.remove(name).is_none()
            {
                problems.push(format!("{name} is declared as left behind and is not there"));
            }
        }
        // A record holds new ids and times: what it says is compared through the program's own answer.
        let is_new_record = |name: &str| name.ends_with("attachments.json") && self.after.contains_key(name);
        for (name, entry) in &mut expected {
            if let (true, Entry::File { digest, .. }, Some(Entry::File { digest: new, .. })) =
                (is_new_record(name), entry, found.get(name))
            {
                digest.clone_from(new);
            }
        }
        problems.extend(tree_faults(&found, &expected));
        problems
    }

    fn copy_files(&self, root: &Path) {
        fs::create_dir_all(root).expect("the case's directory");
        let files = self.folder.join("files");
        if files.is_dir() {
            copy(&files, root);
        }
        for (name, entry) in &self.before {
            let path = root.join(name);
            match entry {
                Entry::Directory { .. } => fs::create_dir_all(path).expect("a directory"),
                // Stored as a file that holds the target, as git does where it cannot make links.
                Entry::Link { target } if fs::read(&path).is_ok_and(|stored| stored == target.as_bytes()) => {
                    fs::remove_file(&path).and_then(|()| symlink(target, &path)).expect("a link");
                }
                _ => {}
            }
        }
        // Deepest first, so that no directory closes itself before its content is done.
        for (name, entry) in self.before.iter().rev() {
            if let Entry::Directory { mode } | Entry::File { mode, .. } = entry {
                let path = root.join(name);
                if path.exists() {
                    fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).expect("a mode");
                }
            }
        }
    }
}

/// A case laid out, ready to run.
pub(crate) struct Stage<'a> {
    case: &'a Case,
    scratch: Scratch,
    root: PathBuf,
    laid: BTreeMap<String, Entry>,
    rewrites: Vec<(String, String)>,
}

impl<'a> Stage<'a> {
    pub(crate) fn of(case: &'a Case) -> Self {
        let scratch = Scratch::new();
        let root = scratch.path().join(&case.id);
        case.copy_files(&root);
        let mut stage = Stage { case, scratch, root, laid: BTreeMap::new(), rewrites: Vec::new() };
        stage.rewrites = stage.root_rewrites();
        stage.rebind();
        stage.rewrites.extend(stage.plan_rewrite());
        stage.laid = tree(&stage.root);
        stage
    }

    fn root_text(&self) -> String {
        self.root.to_str().expect("a plain path").to_owned()
    }

    fn root_rewrites(&self) -> Vec<(String, String)> {
        let (old, new) = (format!("{RECORDED_BASE}/{}", self.case.id), self.root_text());
        let digest = |root: &str, below: &str| Digest::of(format!("{root}{below}").as_bytes()).hex();
        let digests = ["", "/ws", "/ws/sub"].map(|below| (digest(&old, below), digest(&new, below)));
        let home = (format!("{RECORDED_BASE}/home"), self.scratch.home().to_str().expect("a plain path").to_owned());
        [vec![(old, new)], digests.to_vec(), vec![home]].concat()
    }

    /// Documents in the case name the place where it was recorded: let them name this one, and remember the digests of
    /// those that changed.
    fn rebind(&mut self) {
        for (name, entry) in &self.case.before {
            let Entry::File { digest, mode } = entry else { continue };
            let path = self.root.join(name);
            if Path::new(name).extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let bytes = fs::read(&path).expect("a document");
            let rewritten = self.rewrite(&bytes);
            if rewritten != bytes {
                fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("a mode");
                fs::write(&path, &rewritten).expect("a document");
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode)).expect("a mode");
                self.rewrites.push((digest.clone(), Digest::of(&rewritten).hex()));
            }
        }
    }

    /// A selection's plan digest binds the root: recomputed here where it is the one of the recorded answer's plan.
    fn plan_rewrite(&self) -> Option<(String, String)> {
        let recorded = fs::read(self.case.folder.join("stdout")).expect("stdout");
        let (answer, task) = match self.case.program {
            Program::Owner => (command_output(&recorded), self.case.input.clone()?),
            Program::Broker => {
                let call = parse(self.case.input.as_ref()?)?;
                let task = at(&call, "/params/arguments/task")?.as_str()?.as_bytes().to_vec();
                (at(&server_output(&recorded), "/0/result/content/0/text/resolution")?.clone(), task)
            }
        };
        let record = Digest::of(&fs::read(self.root.join("ws/.kdna/attachments.json")).ok()?);
        let candidates = digest::of_document(answer.get("candidates")?)?;
        let plan = |root: &str| {
            digest::of_document(&Value::object([
                ("document_type", Value::from("kdna.workspace-selection-plan")),
                ("schema_version", Value::from("0.3.0")),
                ("workspace_root", answer.get("workspace_root").cloned().unwrap_or(Value::Null)),
                ("absolute_workspace_root", Value::from(format!("{root}/ws"))),
                ("task_digest", Value::from(Digest::of(&task))),
                ("record_digest", Value::from(record)),
                ("candidate_set_digest", Value::from(candidates)),
            ]))
        };
        let old = plan(&format!("{RECORDED_BASE}/{}", self.case.id))?.hex();
        Some((old, plan(&self.root_text())?.hex()))
    }

    fn rewrite(&self, bytes: &[u8]) -> Vec<u8> {
        self.rewrites
            .iter()
            .fold(bytes.to_vec(), |bytes, (old, new)| replace_all(&bytes, old.as_bytes(), new.as_bytes()))
    }

    fn place(&self, text: &str) -> String {
        let text = text.replace("{ROOT}", &self.root_text());
        String::from_utf8(self.rewrite(text.as_bytes())).expect("text")
    }

    fn run(&self) -> (super::command::Finished, Option<String>) {
        let mut arguments: Vec<String> = self.case.arguments.iter().map(|argument| self.place(argument)).collect();
        let mut fault = None;
        if self.case.id == "attach-confirm" {
            match self.preview(&arguments) {
                Some(digest) => drop(arguments.pop().map(|_| arguments.push(digest))),
                None => fault = Some("the preview gave no digest to confirm".to_owned()),
            }
        }
        (run(self.command(&arguments), self.input().as_deref()), fault)
    }

    /// The digest of the same request, previewed here: the recorded one binds the place of the recording.
    fn preview(&self, arguments: &[String]) -> Option<String> {
        let request = arguments.iter().take_while(|argument| *argument != "--yes").cloned();
        let arguments: Vec<String> = request.chain(["--preview".to_owned()]).collect();
        let shown = run(self.command(&arguments), self.input().as_deref());
        let document = parse(&shown.stdout)?;
        at(&document, "/preview/consent_digest").and_then(Value::as_str).map(str::to_owned)
    }

    /// The whole command of the case.
    pub(crate) fn whole_command(&self) -> std::process::Command {
        let arguments: Vec<String> = self.case.arguments.iter().map(|argument| self.place(argument)).collect();
        self.command(&arguments)
    }

    /// Something in the case's directory.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// What the case sends, with paths of this place.
    pub(crate) fn input(&self) -> Option<Vec<u8>> {
        self.case.input.as_ref().map(|input| self.rewrite(input))
    }

    /// The case's program with these arguments, in its directory and environment.
    pub(crate) fn command(&self, arguments: &[String]) -> std::process::Command {
        let server = (self.case.program == Program::Broker).then(|| "mcp".to_owned());
        let mut command = self.scratch.command(self.case.program, server.iter().chain(arguments));
        command.current_dir(self.place(&self.case.directory));
        for (name, value) in &self.case.environment {
            match value {
                Some(value) => {
                    let home = self.scratch.home();
                    let value = self.place(value).replace("/golden/home", home.to_str().expect("a plain path"));
                    command.env(name, value)
                }
                None => command.env_remove(name),
            };
        }
        command
    }
}

/// Checks one declared value on both sides and takes it out of the comparison.
fn deviate(
    stage: &Stage,
    pointer: &str,
    expect: Option<&str>,
    recorded: &mut Value,
    given: &mut Value,
) -> Option<String> {
    let expect = expect.map(|json| {
        let json = json.replace("{VERSION}", env!("CARGO_PKG_VERSION"));
        parse(stage.place(&json).as_bytes()).unwrap_or_else(|| panic!("{}: {json} is no JSON", stage.case.id))
    });
    let text = |value: Option<&Value>| value.map(|value| write::compact(value).unwrap_or_default());
    let problem = if text(at(recorded, pointer)) == text(expect.as_ref()) {
        Some(format!("{pointer} is declared as a deviation and is the recorded value"))
    } else if text(at(given, pointer)) != text(expect.as_ref()) {
        let shown = at(given, pointer).map_or_else(|| "nothing".to_owned(), short);
        Some(format!("{pointer}: declared deviation not met, given {shown}"))
    } else {
        None
    };
    let both = at(recorded, pointer).is_some() && at(given, pointer).is_some();
    for document in [recorded, given] {
        let whole = std::mem::replace(document, Value::Null);
        *document = with(whole, pointer, both.then(|| Value::from("<deviates>")));
    }
    problem
}

/// Takes a value out of the comparison where both sides have one of the right form.
fn mask(pointer: &str, recorded: &mut Value, given: &mut Value, fits: fn(&Value) -> bool) {
    if at(recorded, pointer).is_some_and(fits) && at(given, pointer).is_some_and(fits) {
        for document in [recorded, given] {
            let whole = std::mem::replace(document, Value::Null);
            *document = with(whole, pointer, Some(Value::from("<masked>")));
        }
    }
}

fn is_digest(value: &Value) -> bool {
    value.as_str().is_some_and(|text| Digest::parse(text).is_some())
}

/// Where a document holds digests that may be over something that holds the root.
fn masked_places(document: &Value) -> Vec<String> {
    fn walk(value: &Value, at: &str, found: &mut Vec<String>) {
        match value {
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(place, item)| walk(item, &format!("{at}/{place}"), found));
            }
            Value::Object(object) => {
                for (key, value) in object.iter() {
                    if MASKED_KEYS.contains(&key) && is_digest(value) {
                        found.push(format!("{at}/{key}"));
                    } else {
                        walk(value, &format!("{at}/{key}"), found);
                    }
                }
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(document, "", &mut found);
    found
}
