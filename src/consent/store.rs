//! Where consent lives: the source that a server is bound to, and the file that the person's commands write.
//!
//! A server only reads, through the parent directory it held since its start. Replacing is one rename over the old
//! document, so a reader sees the old one or the new one, whole; never neither, and never a copy beside it.

use super::binding::{SET_NAME_END, SET_NAME_START};
use super::document::{self, Consent};
use crate::capability::private_file::{PrivateDirectory, PrivateFault, make_private, temporary_name};
use crate::foundation::digest::Digest;
use crate::foundation::json::read_strict;
use crate::foundation::limits;
use crate::foundation::path::AbsolutePath;
use crate::foundation::refusal::{Reason, Refusal, Stage};
use crate::foundation::value::{Object, Value};
use crate::system::{Fault, Identity, Observe, System};

/// The consent that a server was started with: one file, or a set with one document for each coordinates. A bad
/// coordinate does not stop the server; it is remembered, and every load is refused with it.
pub struct ConsentSource<S: Observe>(Result<Bound<S>, Reason>);

enum Bound<S: Observe> {
    File(ConsentFile<S>),
    Set(PrivateDirectory<S>),
}

impl<S: Observe> ConsentSource<S> {
    /// Binds the parent directory of the coordinate. Remembers `consent_not_configured` (absent or empty),
    /// `consent_parent_insecure` (not an absolute normal path, or its parent is not a private directory),
    /// `consent_parent_missing` (it has none yet) or `consent_inside_workspace`.
    pub fn bind(system: &S, coordinate: Option<&str>, workspace_root: Identity) -> Self {
        Self::bind_either(system, coordinate, None, workspace_root)
    }

    /// As [`ConsentSource::bind`]; where no file is named, binds the directory of a consent set under the same rules.
    pub fn bind_either(system: &S, file: Option<&str>, set: Option<&str>, workspace_root: Identity) -> Self {
        let bound = match (file.filter(|text| !text.is_empty()), set.filter(|text| !text.is_empty())) {
            (Some(file), _) => bind_file(system, file, workspace_root).map(Bound::File),
            (None, Some(set)) => bind_set(system, set, workspace_root).map(Bound::Set),
            (None, None) => Err(Reason::ConsentNotConfigured),
        };
        Self(bound)
    }

    /// Why this source can never be read; `None` if it is bound.
    pub fn unbound(&self) -> Option<Reason> {
        self.0.as_ref().err().copied()
    }

    /// The document's bytes, 1 to [`limits::CONSENT_BYTES`], after asserting that the parent is still the bound one. For
    /// a source that is one file.
    pub fn read(&self, system: &S) -> Result<Vec<u8>, Refusal> {
        self.read_for(system, "")
    }

    /// As [`ConsentSource::read`]; of a set, the document with this name. Where a set has none, `consent_not_in_set`.
    pub fn read_for(&self, system: &S, name: &str) -> Result<Vec<u8>, Refusal> {
        match self.0.as_ref().map_err(|reason| Refusal::new(*reason))? {
            Bound::File(file) => file.read(system),
            Bound::Set(directory) => read_document(system, directory, name).map_err(|refusal| match refusal.reason() {
                Reason::ConsentMissing => Reason::ConsentNotInSet.into(),
                _ => refusal,
            }),
        }
    }
}

fn bind_file<S: Observe>(system: &S, text: &str, workspace_root: Identity) -> Result<ConsentFile<S>, Reason> {
    let path = AbsolutePath::parse(text).map_err(|_| Reason::ConsentParentInsecure)?;
    let (parent, name) = path.split_last().ok_or(Reason::ConsentParentInsecure)?;
    let directory = bind_directory(system, &parent, workspace_root)?;
    Ok(ConsentFile { directory, name: name.to_owned() })
}

fn bind_set<S: Observe>(system: &S, text: &str, workspace_root: Identity) -> Result<PrivateDirectory<S>, Reason> {
    let path = AbsolutePath::parse(text).map_err(|_| Reason::ConsentParentInsecure)?;
    bind_directory(system, &path, workspace_root)
}

fn bind_directory<S: Observe>(
    system: &S,
    path: &AbsolutePath,
    workspace_root: Identity,
) -> Result<PrivateDirectory<S>, Reason> {
    let directory = PrivateDirectory::open(system, path);
    // Said before what is wrong with the directory: a directory inside the workspace would never do.
    match is_at_or_below(system, path, workspace_root) {
        Ok(true) => Err(Reason::ConsentInsideWorkspace),
        Ok(false) => directory.map_err(|fault| match fault {
            PrivateFault::Missing => Reason::ConsentParentMissing,
            _ => Reason::ConsentParentInsecure,
        }),
        Err(_) => Err(Reason::ConsentParentInsecure),
    }
}

/// A document's bytes for a load. Refuses `consent_parent_changed`, `consent_missing`, `consent_not_private`,
/// `consent_changed_while_read`.
fn read_document<S: Observe>(system: &S, directory: &PrivateDirectory<S>, name: &str) -> Result<Vec<u8>, Refusal> {
    directory.assert_unchanged(system).map_err(|_| Reason::ConsentParentChanged)?;
    directory.read(system, name, limits::CONSENT_BYTES).map_err(|fault| reason_of_private_fault(fault).into())
}

/// Whether a directory is the given one or lies below it: by what its ancestors *are*, not by how they are spelt.
pub fn is_at_or_below<S: Observe>(system: &S, directory: &AbsolutePath, root: Identity) -> Result<bool, Fault> {
    for ancestor in directory.ancestors() {
        match system.look(&ancestor) {
            Ok(facts) if facts.identity == root => return Ok(true),
            Ok(_) | Err(Fault::NotFound) => {}
            Err(fault) => return Err(fault),
        }
    }
    Ok(false)
}

/// The one file of a consent document in its held private directory.
pub struct ConsentFile<S: Observe> {
    directory: PrivateDirectory<S>,
    name: String,
}

impl<S: Observe> ConsentFile<S> {
    /// Takes the coordinate of a command: absolute, lexically normal. Refuses `consent_coordinate`.
    pub fn coordinate(text: &str) -> Result<AbsolutePath, Refusal> {
        AbsolutePath::parse(text)
            .ok()
            .filter(|path| !path.is_filesystem_root())
            .ok_or_else(|| Reason::ConsentCoordinate.into())
    }

    /// Holds the parent directory; `None` if there is none. Refuses `consent_directory_insecure`.
    pub fn open(system: &S, path: &AbsolutePath) -> Result<Option<Self>, Refusal> {
        let (parent, name) = path.split_last().ok_or(Reason::ConsentCoordinate)?;
        match PrivateDirectory::open(system, &parent) {
            Ok(directory) => Ok(Some(Self { directory, name: name.to_owned() })),
            Err(PrivateFault::Missing) => Ok(None),
            Err(_) => Err(Reason::ConsentDirectoryInsecure.into()),
        }
    }

    /// The parent directory.
    pub fn directory(&self) -> &PrivateDirectory<S> {
        &self.directory
    }

    /// The document's bytes for a load. Refuses `consent_parent_changed`, `consent_missing`, `consent_not_private`,
    /// `consent_changed_while_read`.
    pub fn read(&self, system: &S) -> Result<Vec<u8>, Refusal> {
        read_document(system, &self.directory, &self.name)
    }

    /// The digest of what stands there, private or not: what is to be remembered of a document that goes. `None` for
    /// nothing, a link, and what cannot be read or is no document.
    pub fn digest(&self, system: &S) -> Option<Digest> {
        let file = system.open_file_in(self.directory.handle(), &self.name).ok()?;
        let bytes = system.read(&file, limits::CONSENT_STATUS_BYTES).ok()?;
        (!bytes.is_empty()).then(|| Digest::of(&bytes))
    }

    /// The bytes for a person's look, at most [`limits::CONSENT_STATUS_BYTES`]; `None` if there is no document.
    fn look(&self, system: &S) -> Result<Option<Vec<u8>>, Refusal> {
        match self.directory.read(system, &self.name, limits::CONSENT_STATUS_BYTES) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(PrivateFault::Missing) => Ok(None),
            Err(_) => Err(Reason::ConsentFileInvalid.into()),
        }
    }
}

/// The names of the documents in a consent set, sorted; none where there is no such directory. Refuses
/// `consent_directory_insecure`.
pub fn names_of_set<S: System>(system: &S, set: &AbsolutePath) -> Result<Vec<String>, Refusal> {
    let directory = match PrivateDirectory::open(system, set) {
        Err(PrivateFault::Missing) => return Ok(Vec::new()),
        other => other.map_err(|_| Reason::ConsentDirectoryInsecure)?,
    };
    let names = system.list(directory.handle()).map_err(|_| Reason::ConsentDirectoryInsecure)?;
    Ok(names.into_iter().filter(|name| name.starts_with(SET_NAME_START) && name.ends_with(SET_NAME_END)).collect())
}

/// What stands at a place before a consent is stored there.
#[derive(Clone, Debug, PartialEq)]
pub enum Standing {
    /// Nothing, or not even the directory.
    Nothing,
    /// A consent, whoever it is for.
    Consent(Box<Consent>),
    /// Something that no load would accept: not private, or no consent.
    Unreadable,
}

impl Standing {
    /// Looks at the place; follows no link, and quotes nothing of what is there.
    pub fn at<S: Observe>(system: &S, path: &AbsolutePath) -> Self {
        match ConsentFile::open(system, path)
            .and_then(|file| Ok(file.map(|file| file.look(system)).transpose()?.flatten()))
        {
            Ok(None) => Self::Nothing,
            Ok(Some(bytes)) => {
                Consent::read(&bytes).map_or(Self::Unreadable, |consent| Self::Consent(Box::new(consent)))
            }
            Err(_) => Self::Unreadable,
        }
    }
}

/// What a load says about a document that cannot be read under the private-file rule.
fn reason_of_private_fault(fault: PrivateFault) -> Reason {
    match fault {
        PrivateFault::Missing => Reason::ConsentMissing,
        PrivateFault::Changed => Reason::ConsentChangedWhileRead,
        PrivateFault::Link
        | PrivateFault::WrongKind
        | PrivateFault::WrongOwner
        | PrivateFault::TooOpen
        | PrivateFault::ManyLinks
        | PrivateFault::InsecureAncestor
        | PrivateFault::Empty
        | PrivateFault::TooLarge
        | PrivateFault::System(_) => Reason::ConsentNotPrivate,
    }
}

impl<S: System> ConsentFile<S> {
    /// As [`ConsentFile::open`], creating the parent (0700) and what is missing above it.
    pub fn create(system: &S, path: &AbsolutePath) -> Result<Self, Refusal> {
        let (parent, name) = path.split_last().ok_or(Reason::ConsentCoordinate)?;
        let directory = make_private(system, &parent).map_err(|_| Reason::ConsentDirectoryInsecure)?;
        Ok(Self { directory, name: name.to_owned() })
    }

    /// Stores a document durably in the place of the old one. On any failure (`write_failed`) the old one stands, or
    /// none if there was none, and no temporary remains. Bytes that do not read back as a consent are not stored.
    pub fn install(&self, system: &S, bytes: &[u8]) -> Result<Digest, Refusal> {
        let digest = Consent::read(bytes)?.digest();
        self.directory.assert_unchanged(system).map_err(|_| Reason::ConsentDirectoryInsecure)?;
        let before = self.look(system).unwrap_or(None);
        self.replace(system, bytes).map_err(write_failed)?;
        if let Err(fault) = system.sync_directory(self.directory.handle()) {
            // A permission that was reported as not stored must not be in force.
            self.put_back(system, before.as_deref());
            return Err(write_failed(fault));
        }
        Ok(digest)
    }

    fn replace(&self, system: &S, bytes: &[u8]) -> Result<(), Fault> {
        let temporary = temporary_name(system, ".host-processing-consent.tmp")?;
        self.directory.rename_over(system, &temporary, &self.name, bytes)
    }

    fn put_back(&self, system: &S, before: Option<&[u8]>) {
        let restored = before.is_some_and(|bytes| self.replace(system, bytes).is_ok());
        if !restored {
            let _ = system.remove(self.directory.handle(), &self.name);
        }
        let _ = system.sync_directory(self.directory.handle());
    }

    /// Removes the document durably; says whether one was there. Also ends one that is damaged or not private, an empty
    /// file whose name ends in `.json` (a lock of this program is empty too), and a link (never what it points at). Refuses `consent_file_invalid` (it cannot be removed, or is something
    /// else than a consent: a mistyped name costs nobody a file) and `revocation_not_durable`.
    pub fn revoke(&self, system: &S) -> Result<bool, Refusal> {
        let directory = self.directory.handle();
        if !self.may_end(system) {
            return Err(Reason::ConsentFileInvalid.into());
        }
        let was_there = match system.remove(directory, &self.name) {
            Ok(()) => true,
            Err(Fault::NotFound) => false,
            Err(_) => return Err(Reason::ConsentFileInvalid.into()),
        };
        // Also when nothing was there: an earlier revocation may not have reached the disk.
        system.sync_directory(directory).map_err(|_| Reason::RevocationNotDurable)?;
        Ok(was_there)
    }

    /// Whether what stands at the name is a consent, however damaged, or nothing that anybody could miss.
    fn may_end(&self, system: &S) -> bool {
        let bytes = match system.open_file_in(self.directory.handle(), &self.name) {
            Ok(file) => system.read(&file, limits::CONSENT_STATUS_BYTES),
            Err(Fault::NotFound | Fault::Link) => return true,
            Err(_) => return false,
        };
        let marker = document::DOCUMENT_TYPE.as_bytes();
        bytes.is_ok_and(|bytes| {
            (bytes.is_empty() && std::path::Path::new(&self.name).extension().is_some_and(|suffix| suffix == "json"))
                || bytes.windows(marker.len()).any(|window| window == marker)
        })
    }
}

fn write_failed(_: Fault) -> Refusal {
    Refusal::new(Reason::WriteFailed).at(Stage::Consent)
}

/// `document_type` of what the commands answer.
pub const STATUS_TYPE: &str = "kdna.cli.host-processing-consent-status";

/// The status document: what the file says, without judging whether a load would accept it. `file` is `None` when not
/// even the directory exists. A document that is there is not revoked, so `revoked` is always false; 0.1.0 does not say
/// when it was approved. Refuses `consent_file_invalid` and `consent_file_not_json`.
pub fn status<S: Observe>(system: &S, file: Option<&ConsentFile<S>>) -> Result<Value, Refusal> {
    Ok(Value::Object(recorded_status(&look(system, file)?)))
}

/// As [`status`], and which roots and attachment the document is for, and its end: `host_root_digest`, `expires_at` (both
/// null in 0.1.0), `workspace_root_digest` (in 0.1.0 the server's root), `attachment_id`.
pub fn status_with_place<S: Observe>(system: &S, file: Option<&ConsentFile<S>>) -> Result<Value, Refusal> {
    let found = look(system, file)?;
    let mut status = recorded_status(&found);
    let document = found.1.as_ref();
    let text = |value: Option<&Value>| Value::from(value.and_then(Value::as_str).map(str::to_owned));
    status.insert("host_root_digest", text(document.and_then(|document| document.get("host_root_digest"))));
    status.insert("expires_at", text(document.and_then(|document| document.get("expires_at"))));
    status.insert("workspace_root_digest", text(document.and_then(|document| document.get("workspace_root_digest"))));
    status.insert(
        "attachment_id",
        text(document.and_then(|document| document.get("use_boundary")?.get("attachment_id"))),
    );
    Ok(Value::Object(status))
}

/// The digest of the file's bytes and what they say; nothing of both where there is no file.
fn look<S: Observe>(system: &S, file: Option<&ConsentFile<S>>) -> Result<(Option<Digest>, Option<Value>), Refusal> {
    let bytes = file.map(|file| file.look(system)).transpose()?.flatten();
    let document = bytes
        .as_deref()
        .map(|bytes| read_strict(bytes, limits::CONSENT_DEPTH))
        .transpose()
        .map_err(|_| Reason::ConsentFileNotJson)?;
    Ok((bytes.as_deref().map(Digest::of), document))
}

fn recorded_status((digest, document): &(Option<Digest>, Option<Value>)) -> Object {
    let text = |value: Option<&Value>| Value::from(value.and_then(Value::as_str).map(str::to_owned));
    let member = |key: &str| text(document.as_ref().and_then(|document| document.get(key)));
    let processor = document.as_ref().and_then(|document| document.get("processing_boundary")?.get("processor"));
    let mut status = Object::new();
    status.insert("document_type", STATUS_TYPE);
    status.insert("schema_version", "0.1.0");
    status.insert("present", document.is_some());
    status.insert("consent_digest", *digest);
    status.insert("host_id", member("host_id"));
    status.insert("asset_digest", member("asset_digest"));
    status.insert("processor", text(processor));
    for key in ["capsule_profile", "approval_source"] {
        status.insert(key, member(key));
    }
    status.insert("approved_at", member("issued_at"));
    status.insert("revoked", false);
    status
}
