//! The pins of an external runtime: which interpreter, which libraries, and every file of its package, by digest. A person
//! writes the document with `kdna-broker runtime pin`; a server only reads it, and starts nothing that does not agree.
//!
//! `kdna.broker.runtime-pins` 0.1.0, described in docs/contract/runtime.md. Read strictly: exact keys in their order, paths
//! lexically normal, lists in ascending order without repetition.

mod elf;
mod held;
mod libraries;
mod record;
mod tree;

pub use held::{Held, PinnedRuntime};
pub use record::{PinRequest, record};

use crate::foundation::digest::Digest;
use crate::foundation::json::{read_strict, write};
use crate::foundation::limits;
use crate::foundation::load_plan::in_order;
use crate::foundation::path::{AbsolutePath, RelativePath};
use crate::foundation::refusal::{Reason, Refusal};
use crate::foundation::value::{Object, Value};

/// `document_type` of the pins.
pub const DOCUMENT_TYPE: &str = "kdna.broker.runtime-pins";
/// `schema_version` that this version writes and reads.
pub const SCHEMA_VERSION: &str = "0.1.0";
/// The only workspace schema that the requests speak.
pub const WORKSPACE_SCHEMA: &str = "0.3.0";

const KEYS: [&str; 8] =
    ["document_type", "schema_version", "cli", "core", "workspace_schema", "interpreter", "libraries", "package"];
const INTERPRETER_KEYS: [&str; 4] = ["path", "digest", "size", "mode"];
const LIBRARIES_KEYS: [&str; 3] = ["owner", "writable_by_others", "files"];
const PACKAGE_KEYS: [&str; 4] = ["path", "entry", "files", "links"];

/// What a regular file must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Content {
    /// SHA-256 of its bytes.
    pub digest: Digest,
    /// Its bytes, at most [`limits::PIN_FILE_BYTES`].
    pub size: u32,
    /// Its permission bits.
    pub mode: u32,
}

/// What one name in the package must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A regular file.
    File(Content),
    /// A symbolic link to this place in the package.
    Link(RelativePath),
}

/// The pins of one external runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuntimePins {
    /// The CLI as `name@version`.
    pub cli: String,
    /// The Core as `name@version`.
    pub core: String,
    /// The program that is started.
    pub interpreter: (AbsolutePath, Content),
    /// Its loader and shared libraries, with their permission bits: they belong to root and nobody else may write to them
    /// or to a directory above them. Not pinned by digest, so that the system's security updates take effect.
    pub libraries: Vec<(AbsolutePath, u32)>,
    /// Where the package lies.
    pub package: AbsolutePath,
    /// The script that is run, in the package.
    pub entry: RelativePath,
    /// Every file and link of the package, in ascending order.
    pub entries: Vec<(RelativePath, Entry)>,
}

impl RuntimePins {
    /// Reads a document. Refuses `pins_malformed` and `pins_version_unknown`.
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        let document = read_strict(bytes, limits::PINS_DEPTH).map_err(|_| Reason::PinsMalformed)?;
        let text = |key: &str| document.get(key).and_then(Value::as_str);
        if text("document_type") != Some(DOCUMENT_TYPE) || text("schema_version") != Some(SCHEMA_VERSION) {
            return Err(Reason::PinsVersionUnknown.into());
        }
        from_document(&document).ok_or_else(|| Reason::PinsMalformed.into())
    }

    /// The document: pretty JSON with a final newline. `None` only if a value had no JSON form.
    pub fn write(&self) -> Option<String> {
        write::pretty(&self.document()).ok()
    }

    fn document(&self) -> Value {
        let (interpreter, content) = &self.interpreter;
        let library = |(path, mode): &(AbsolutePath, u32)| {
            Value::object([("path", Value::copied(path.as_str())), ("mode", octal(*mode).into())])
        };
        let mut files = Vec::new();
        let mut links = Vec::new();
        for (path, entry) in &self.entries {
            match entry {
                Entry::File(content) => files.push(content_value(path.as_str(), content)),
                Entry::Link(target) => links.push(Value::object([
                    ("path", Value::copied(path.as_str())),
                    ("target", Value::copied(target.as_str())),
                ])),
            }
        }
        let libraries = Value::object([
            ("owner", Value::from("root")),
            ("writable_by_others", Value::from(false)),
            ("files", Value::Array(self.libraries.iter().map(library).collect())),
        ]);
        let package = Value::object([
            ("path", Value::copied(self.package.as_str())),
            ("entry", Value::copied(self.entry.as_str())),
            ("files", Value::Array(files)),
            ("links", Value::Array(links)),
        ]);
        Value::object([
            ("document_type", Value::from(DOCUMENT_TYPE)),
            ("schema_version", Value::from(SCHEMA_VERSION)),
            ("cli", Value::copied(self.cli.as_str())),
            ("core", Value::copied(self.core.as_str())),
            ("workspace_schema", Value::from(WORKSPACE_SCHEMA)),
            ("interpreter", content_value(interpreter.as_str(), content)),
            ("libraries", libraries),
            ("package", package),
        ])
    }
}

fn content_value(path: &str, content: &Content) -> Value {
    Value::object([
        ("path", Value::copied(path)),
        ("digest", content.digest.into()),
        ("size", content.size.into()),
        ("mode", octal(content.mode).into()),
    ])
}

fn from_document(document: &Value) -> Option<RuntimePins> {
    let pins = in_order(document, &KEYS)?;
    let name = |key: &str| pins.get(key)?.as_str().filter(|name| is_versioned_name(name)).map(str::to_owned);
    (pins.get("workspace_schema")?.as_str()? == WORKSPACE_SCHEMA).then_some(())?;
    let interpreter = in_order(pins.get("interpreter")?, &INTERPRETER_KEYS)?;
    let libraries = in_order(pins.get("libraries")?, &LIBRARIES_KEYS)?;
    (libraries.get("owner")?.as_str()? == "root" && !libraries.get("writable_by_others")?.as_bool()?).then_some(())?;
    let package = in_order(pins.get("package")?, &PACKAGE_KEYS)?;
    let entry = RelativePath::parse(package.get("entry")?.as_str()?)?;
    let entries = entries(package)?;
    let runnable = entries.iter().any(|(path, kind)| *path == entry && matches!(kind, Entry::File(_)));
    runnable.then_some(())?;
    Some(RuntimePins {
        cli: name("cli")?,
        core: name("core")?,
        interpreter: (absolute(interpreter.get("path")?)?, content(interpreter)?),
        libraries: library_list(libraries.get("files")?)?,
        package: absolute(package.get("path")?)?,
        entry,
        entries,
    })
}

fn library_list(value: &Value) -> Option<Vec<(AbsolutePath, u32)>> {
    let files = value.as_array()?;
    let one = |value: &Value| {
        let file = in_order(value, &["path", "mode"])?;
        Some((absolute(file.get("path")?)?, from_octal(file.get("mode")?)?))
    };
    let list = files.iter().map(one).collect::<Option<Vec<_>>>()?;
    let ascending = list.is_sorted_by(|(before, _), (after, _)| before.as_str() < after.as_str());
    (ascending && list.len() <= limits::PIN_LIBRARIES).then_some(list)
}

fn entries(package: &Object) -> Option<Vec<(RelativePath, Entry)>> {
    let file = |value: &Value| {
        let file = in_order(value, &INTERPRETER_KEYS)?;
        Some((below(file.get("path")?)?, Entry::File(content(file)?)))
    };
    let link = |value: &Value| {
        let link = in_order(value, &["path", "target"])?;
        Some((below(link.get("path")?)?, Entry::Link(RelativePath::parse(link.get("target")?.as_str()?)?)))
    };
    let files = package.get("files")?.as_array()?.iter().map(file).collect::<Option<Vec<_>>>()?;
    let links = package.get("links")?.as_array()?.iter().map(link).collect::<Option<Vec<_>>>()?;
    let ascending =
        |list: &[(RelativePath, Entry)]| list.is_sorted_by(|(before, _), (after, _)| before.as_str() < after.as_str());
    (ascending(&files) && ascending(&links) && files.len() + links.len() <= limits::PIN_FILES).then_some(())?;
    let mut entries: Vec<_> = files.into_iter().chain(links).collect();
    entries.sort_by(|(before, _), (after, _)| before.as_str().cmp(after.as_str()));
    ascending(&entries).then_some(entries)
}

fn content(file: &Object) -> Option<Content> {
    let size = file.get("size")?.as_number().and_then(write::number)?.parse().ok()?;
    (u64::from(size) <= limits::PIN_FILE_BYTES).then_some(())?;
    Some(Content { digest: Digest::parse(file.get("digest")?.as_str()?)?, size, mode: from_octal(file.get("mode")?)? })
}

fn absolute(value: &Value) -> Option<AbsolutePath> {
    AbsolutePath::parse(value.as_str()?).ok().filter(|path| !path.is_filesystem_root())
}

fn below(value: &Value) -> Option<RelativePath> {
    RelativePath::parse(value.as_str()?).filter(|path| !path.is_here())
}

fn octal(mode: u32) -> String {
    format!("{mode:04o}")
}

fn from_octal(value: &Value) -> Option<u32> {
    let text = value.as_str()?;
    u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777 && octal(*mode) == text)
}

/// `name@version`, as a package registry writes both.
fn is_versioned_name(text: &str) -> bool {
    text.rsplit_once('@').is_some_and(|(name, version)| is_package_name(name) && is_version(version))
}

fn is_package_name(text: &str) -> bool {
    (1..=214).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"@._/-".contains(&byte))
}

fn is_version(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pins() -> RuntimePins {
        let absolute = |text| AbsolutePath::parse(text).unwrap();
        let below = |text| RelativePath::parse(text).unwrap();
        let content = Content { digest: Digest::of(b"x"), size: 1, mode: 0o644 };
        RuntimePins {
            cli: "@kdna/cli@1.0.0".into(),
            core: "kdna-core@0.21.0".into(),
            interpreter: (absolute("/usr/bin/node"), Content { mode: 0o755, ..content }),
            libraries: vec![(absolute("/lib/ld.so"), 0o755), (absolute("/lib/libc.so"), 0o644)],
            package: absolute("/opt/kdna"),
            entry: below("src/cli.js"),
            entries: vec![
                (below("a-link"), Entry::Link(below("src/cli.js"))),
                (below("package.json"), Entry::File(content)),
                (below("src/cli.js"), Entry::File(content)),
            ],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let text = pins().write().unwrap();
        assert_eq!(RuntimePins::read(text.as_bytes()), Ok(pins()));
    }

    #[test]
    fn every_other_document_is_refused() {
        let text = pins().write().unwrap();
        let changes = [
            ("\"0.1.0\"", "\"0.2.0\"", Reason::PinsVersionUnknown),
            ("runtime-pins", "other", Reason::PinsVersionUnknown),
            ("\"workspace_schema\": \"0.3.0\"", "\"workspace_schema\": \"0.4.0\"", Reason::PinsMalformed),
            ("\"owner\": \"root\"", "\"owner\": \"me\"", Reason::PinsMalformed),
            ("\"writable_by_others\": false", "\"writable_by_others\": true", Reason::PinsMalformed),
            ("\"mode\": \"0755\"", "\"mode\": \"755\"", Reason::PinsMalformed),
            ("\"size\": 1", "\"size\": 1.5", Reason::PinsMalformed),
            ("\"size\": 1", "\"size\": 4294967295", Reason::PinsMalformed),
            ("\"path\": \"package.json\"", "\"path\": \"../package.json\"", Reason::PinsMalformed),
            ("\"path\": \"package.json\"", "\"path\": \"src/cli.js\"", Reason::PinsMalformed),
            ("\"path\": \"package.json\"", "\"path\": \"zzz\"", Reason::PinsMalformed),
            ("\"path\": \"a-link\"", "\"path\": \"src/cli.js\"", Reason::PinsMalformed),
            ("\"entry\": \"src/cli.js\"", "\"entry\": \"a-link\"", Reason::PinsMalformed),
            ("\"path\": \"/opt/kdna\"", "\"path\": \"opt/kdna\"", Reason::PinsMalformed),
            ("\"path\": \"/lib/libc.so\"", "\"path\": \"/lib/ld.so\"", Reason::PinsMalformed),
            ("\"cli\": \"@kdna/cli@1.0.0\"", "\"cli\": \"kdna\"", Reason::PinsMalformed),
            ("\"cli\": \"@kdna/cli@1.0.0\"", "\"cli\": \"kdna@1\\u0007\"", Reason::PinsMalformed),
            ("\"cli\":", "\"cli\": \"a@1\", \"cli\":", Reason::PinsMalformed),
            ("\"cli\":", "\"more\": 1, \"cli\":", Reason::PinsMalformed),
            ("sha256:", "sha512:", Reason::PinsMalformed),
        ];
        for (from, to, reason) in changes {
            assert!(text.contains(from), "{from}");
            let refused = RuntimePins::read(text.replacen(from, to, 1).as_bytes()).unwrap_err();
            assert_eq!(refused.reason(), reason, "{from} -> {to}");
        }
        assert_eq!(RuntimePins::read(b"").unwrap_err().reason(), Reason::PinsMalformed);
    }
}
