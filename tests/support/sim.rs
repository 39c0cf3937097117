//! What every `System` promises, checked over any of them: the simulated one, a hooked one, the real one.
//!
//! `conforms` needs an empty directory of the current user (mode 0700, reached without links, on a file system with hard
//! links) and uses nothing but the trait. `conforms_on_links` needs the scene that it describes.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::path::{AbsolutePath, RelativePath};
use kdna_broker::system::{Facts, Fault, Kind, System};
use std::time::Duration;

pub(crate) fn absolute(text: &str) -> AbsolutePath {
    AbsolutePath::parse(text).unwrap()
}

pub(crate) fn relative(text: &str) -> RelativePath {
    RelativePath::parse(text).unwrap()
}

/// Everything that can be asked with the trait alone.
pub(crate) fn conforms<S: System>(system: &S, base: &AbsolutePath) {
    let directory = system.open_directory(base).unwrap();
    assert_eq!(system.list(&directory), Ok(vec![]), "the base must be empty");
    creates_exclusively(system, &directory);
    appends_and_reads_within_limits(system, &directory);
    facts_tell_changes(system, &directory);
    renames_and_links(system, &directory);
    links_across_directories(system, &directory);
    handles_hold_directories(system, base, &directory);
    refuses_the_wrong_kind(system, base, &directory);
    seals_what_was_read(system, &directory);
    locks_exclude(system, &directory);
    clocks_and_random_bytes(system);
}

fn named<S: System>(system: &S, directory: &S::Directory, name: &str) -> Result<Facts, Fault> {
    system.look_beneath(directory, &relative(name))
}

fn write_file<S: System>(system: &S, directory: &S::Directory, name: &str, bytes: &[u8]) -> S::File {
    let file = system.create_file(directory, name, 0o600).unwrap();
    system.write(&file, bytes).unwrap();
    file
}

fn content<S: System>(system: &S, directory: &S::Directory, path: &str) -> Result<Vec<u8>, Fault> {
    system.open_file_beneath(directory, &relative(path)).and_then(|file| system.read(&file, 1000))
}

fn creates_exclusively<S: System>(system: &S, base: &S::Directory) {
    let file = system.create_file(base, "made", 0o640).unwrap();
    let facts = system.file_facts(&file).unwrap();
    assert_eq!((facts.kind, facts.mode, facts.owner), (Kind::Regular, 0o640, system.user()));
    assert_eq!((facts.links, facts.size), (1, 0));
    system.write(&file, b"kept").unwrap();
    assert_eq!(system.create_file(base, "made", 0o600).err(), Some(Fault::Exists));
    assert_eq!(content(system, base, "made").unwrap(), b"kept", "a refused creation changes nothing");

    assert_eq!(system.make_directory(base, "private", 0o700), Ok(()));
    assert_eq!(system.make_directory(base, "shared", 0o777), Ok(()));
    assert_eq!(system.make_directory(base, "private", 0o755), Err(Fault::Exists));
    assert_eq!(system.make_directory(base, "made", 0o755), Err(Fault::Exists));
    let modes = ["private", "shared"].map(|name| named(system, base, name).unwrap().mode);
    assert_eq!(modes, [0o700, 0o777], "whatever the umask");
    let shared = system.open_directory_beneath(base, &relative("shared")).unwrap();
    system.set_directory_mode(&shared, 0o711).unwrap();
    assert_eq!(system.directory_facts(&shared).unwrap().mode, 0o711);

    let appended = system.open_append(base, "journal", 0o600).unwrap();
    assert_eq!(system.file_facts(&appended).unwrap().mode, 0o600);
    assert_eq!(system.list(base).unwrap(), ["journal", "made", "private", "shared"]);
}

fn appends_and_reads_within_limits<S: System>(system: &S, base: &S::Directory) {
    let file = system.create_file(base, "rows", 0o600).unwrap();
    system.write(&file, b"one\n").unwrap();
    let again = system.open_append(base, "rows", 0o640).unwrap();
    system.write(&again, b"two\n").unwrap();
    system.write(&file, b"three\n").unwrap();
    assert_eq!(system.file_facts(&again).unwrap().mode, 0o600, "an existing file keeps its mode");
    assert_eq!(system.read(&file, 14).unwrap(), b"one\ntwo\nthree\n", "read from the start, to the limit");
    assert_eq!(system.read(&file, 13), Err(Fault::TooLarge));
    system.truncate(&file, 4).unwrap();
    system.write(&again, b"2\n").unwrap();
    assert_eq!(content(system, base, "rows").unwrap(), b"one\n2\n", "a write goes to the end that there is");
    assert_eq!((system.sync_file(&file), system.sync_directory(base)), (Ok(()), Ok(())));

    let reader = system.open_file_in(base, "rows").unwrap();
    assert!(system.write(&reader, b"x").is_err(), "a file opened for reading");
    assert_eq!(content(system, base, "rows").unwrap(), b"one\n2\n");
}

fn facts_tell_changes<S: System>(system: &S, base: &S::Directory) {
    let file = write_file(system, base, "watched", b"before");
    let facts = system.file_facts(&file).unwrap();
    system.read(&file, 100).unwrap();
    assert_eq!(system.file_facts(&file).unwrap(), facts, "reading changes no fact");
    let opened = system.open_file_beneath(base, &relative("watched")).unwrap();
    assert_eq!(system.file_facts(&opened).unwrap(), facts, "every way tells the same");
    assert_eq!(named(system, base, "watched").unwrap(), facts);

    system.write(&file, b", after").unwrap();
    let after = system.file_facts(&file).unwrap();
    assert_ne!(after, facts);
    assert_eq!(after.identity, facts.identity, "new content, same file");
    assert_eq!(after.size, 13);
    system.remove(base, "watched").unwrap();
    let replacement = write_file(system, base, "watched", b"before, after");
    assert_ne!(system.file_facts(&replacement).unwrap().identity, facts.identity, "a held inode is not used again");
    assert_eq!(system.file_facts(&file).unwrap().links, 0);
}

fn renames_and_links<S: System>(system: &S, base: &S::Directory) {
    let old = write_file(system, base, "document", b"old");
    let new = write_file(system, base, "document.new", b"new");
    let identity = system.file_facts(&new).unwrap().identity;
    system.rename(base, "document.new", "document").unwrap();
    assert_eq!(named(system, base, "document").unwrap().identity, identity);
    assert_eq!(named(system, base, "document.new"), Err(Fault::NotFound));
    assert_eq!(system.read(&old, 10).unwrap(), b"old", "the handle holds the file, not its name");
    assert_eq!(system.rename(base, "absent", "document"), Err(Fault::NotFound));
    assert_eq!(content(system, base, "document").unwrap(), b"new");

    system.link(base, "document", "second").unwrap();
    let second = named(system, base, "second").unwrap();
    assert_eq!((second.identity, second.links), (identity, 2));
    assert_eq!(system.link(base, "made", "second"), Err(Fault::Exists));
    assert_eq!(system.link(base, "absent", "third"), Err(Fault::NotFound));
    system.remove(base, "document").unwrap();
    assert_eq!(named(system, base, "second").unwrap().links, 1);
    assert_eq!(system.remove(base, "document"), Err(Fault::NotFound));
    assert_eq!(system.open_file_in(base, "document").err(), Some(Fault::NotFound));
}

fn links_across_directories<S: System>(system: &S, base: &S::Directory) {
    system.make_directory(base, "aside", 0o700).unwrap();
    let aside = system.open_directory_beneath(base, &relative("aside")).unwrap();
    system.link_across(base, "second", &aside, "kept").unwrap();
    assert_eq!(named(system, base, "aside/kept").unwrap().identity, named(system, base, "second").unwrap().identity);
    assert_eq!(system.link_across(base, "second", &aside, "kept"), Err(Fault::Exists));
    assert_eq!(system.link_across(base, "absent", &aside, "other"), Err(Fault::NotFound));
    assert!(system.remove_directory(base, "aside").is_err(), "only empty ones");
    assert_eq!(content(system, base, "aside/kept").unwrap(), b"new");
    system.remove(&aside, "kept").unwrap();
    assert_eq!(system.remove_directory(base, "second"), Err(Fault::WrongKind), "only directories");
    system.remove_directory(base, "aside").unwrap();
    assert_eq!(named(system, base, "aside"), Err(Fault::NotFound));
}

fn handles_hold_directories<S: System>(system: &S, path: &AbsolutePath, base: &S::Directory) {
    system.make_directory(base, "root", 0o700).unwrap();
    let root = path.join(&relative("root"));
    let held = system.open_directory(&root).unwrap();
    write_file(system, &held, "inside", b"first");
    let same = system.open_directory_beneath(&held, &relative("")).unwrap();
    assert_eq!(system.directory_facts(&same), system.directory_facts(&held));
    assert_eq!(system.look(&root).unwrap().identity, system.directory_facts(&held).unwrap().identity);

    system.rename(base, "root", "root.old").unwrap();
    system.make_directory(base, "root", 0o700).unwrap();
    assert_eq!(content(system, &held, "inside").unwrap(), b"first", "renaming the path moves no handle");
    assert_eq!(content(system, base, "root/inside"), Err(Fault::NotFound));
    assert_eq!(content(system, base, "root.old/inside").unwrap(), b"first");
    assert_ne!(system.look(&root).unwrap().identity, system.directory_facts(&held).unwrap().identity);
    assert_eq!(system.canonical_directory(&root), Ok(root));
}

fn refuses_the_wrong_kind<S: System>(system: &S, path: &AbsolutePath, base: &S::Directory) {
    let below = |name: &str| path.join(&relative(name));
    assert_eq!(system.open_directory(&below("made")).err(), Some(Fault::WrongKind));
    assert_eq!(system.open_directory(&below("made/x")).err(), Some(Fault::WrongKind));
    assert_eq!(system.open_directory(&below("absent")).err(), Some(Fault::NotFound));
    assert_eq!(system.open_directory_beneath(base, &relative("made")).err(), Some(Fault::WrongKind));
    assert_eq!(system.open_file_beneath(base, &relative("made/x")).err(), Some(Fault::WrongKind));
    assert_eq!(system.canonical_directory(&below("made")), Err(Fault::WrongKind));
    assert_eq!(system.look(&below("absent")), Err(Fault::NotFound));
    assert_eq!(system.remove(base, "root"), Err(Fault::WrongKind), "only files are removed");
    assert_eq!(system.open_append(base, "root", 0o600).err(), Some(Fault::WrongKind));
    assert_eq!(system.link(base, "root", "second-root"), Err(Fault::Denied));

    // A directory opens as a file, as on Linux, and is refused by what it is.
    let itself = system.open_file_beneath(base, &relative("")).unwrap();
    assert_eq!(system.file_facts(&itself), system.directory_facts(base));
    let file = system.open_file_beneath(base, &relative("root")).unwrap();
    assert_eq!(system.file_facts(&file).unwrap().kind, Kind::Directory);
    assert_eq!(system.read(&file, 1000), Err(Fault::WrongKind));
    assert_eq!(system.seal(&file, 1000).err(), Some(Fault::WrongKind));

    let names = system.list(base).unwrap();
    for name in ["", ".", "..", "../made", "root/x"] {
        assert!(system.open_file_in(base, name).is_err(), "{name:?}");
        assert!(system.create_file(base, name, 0o600).is_err(), "{name:?}");
        assert!(system.open_append(base, name, 0o600).is_err(), "{name:?}");
        assert!(system.make_directory(base, name, 0o700).is_err(), "{name:?}");
        assert!(system.rename(base, "made", name).is_err(), "{name:?}");
        assert!(system.link(base, "made", name).is_err(), "{name:?}");
        assert!(system.remove(base, name).is_err(), "{name:?}");
    }
    assert_eq!(system.list(base).unwrap(), names, "a refused name changes nothing");
}

fn seals_what_was_read<S: System>(system: &S, base: &S::Directory) {
    let file = write_file(system, base, "asset", b"0123456789");
    let (_sealed, digest) = system.seal(&file, 10).unwrap();
    assert_eq!(digest, Digest::of(b"0123456789"));
    assert_eq!(system.seal(&file, 9).err(), Some(Fault::TooLarge));
    system.truncate(&file, 0).unwrap();
    assert_eq!(system.seal(&file, 0).unwrap().1, Digest::of(b""));
}

fn locks_exclude<S: System>(system: &S, base: &S::Directory) {
    let (one, other) =
        (system.open_append(base, "lock", 0o600).unwrap(), system.open_append(base, "lock", 0o600).unwrap());
    let held = system.lock(&one, Duration::ZERO).unwrap();
    let started = system.monotonic();
    assert_eq!(system.lock(&other, Duration::from_millis(30)).err(), Some(Fault::Locked));
    assert!(system.monotonic() >= started + Duration::from_millis(30), "it waited");
    drop(held);
    let taken = system.lock(&other, Duration::ZERO).unwrap();
    assert_eq!(system.lock(&one, Duration::ZERO).err(), Some(Fault::Locked));
    drop(taken);
}

fn clocks_and_random_bytes<S: System>(system: &S) {
    let (mut one, mut other) = ([0; 19], [0; 19]);
    system.random(&mut one).unwrap();
    system.random(&mut other).unwrap();
    assert_ne!(one, other);
    assert_ne!(one.last_chunk::<8>(), Some(&[0; 8]), "the whole buffer is filled");
    let before = system.monotonic();
    assert!(system.monotonic() >= before);
    assert!(system.now().milliseconds() > 0);
}

/// What needs links and a FIFO, which the trait cannot make. Beneath `base`, of the current user:
/// `real/file` (holding "inside"), `real/deep/`, `link -> real`, `file-link -> real/file`, `dangling -> nowhere`,
/// `absolute-link ->` the absolute path of `real`, `fifo`.
pub(crate) fn conforms_on_links<S: System>(system: &S, base: &AbsolutePath) {
    let directory = system.open_directory(base).unwrap();
    opens_refuse_links(system, base, &directory);
    questions_follow_links(system, base, &directory);
    a_fifo_never_blocks(system, &directory);
    writes_replace_links(system, &directory);
}

fn opens_refuse_links<S: System>(system: &S, path: &AbsolutePath, base: &S::Directory) {
    let names = system.list(base).unwrap();
    for link in ["link", "link/deep", "absolute-link", "absolute-link/deep", "file-link", "dangling"] {
        assert_eq!(system.open_directory(&path.join(&relative(link))).err(), Some(Fault::Link), "{link}");
        assert_eq!(system.open_directory_beneath(base, &relative(link)).err(), Some(Fault::Link), "{link}");
        assert_eq!(system.open_file_beneath(base, &relative(link)).err(), Some(Fault::Link), "{link}");
    }
    for link in ["link", "absolute-link", "file-link", "dangling"] {
        assert_eq!(system.open_file_in(base, link).err(), Some(Fault::Link), "{link}");
        assert_eq!(system.create_file(base, link, 0o600).err(), Some(Fault::Exists), "{link}");
        assert_eq!(system.make_directory(base, link, 0o700), Err(Fault::Exists), "{link}");
        assert_eq!(system.open_append(base, link, 0o600).err(), Some(Fault::Link), "{link}");
    }
    assert_eq!(system.open_file_beneath(base, &relative("link/file")).err(), Some(Fault::Link));
    assert_eq!(content(system, base, "real/file").unwrap(), b"inside", "the control: without a link it opens");
    assert_eq!(system.list(base).unwrap(), names, "no link was written through");
}

fn questions_follow_links<S: System>(system: &S, path: &AbsolutePath, base: &S::Directory) {
    let below = |name: &str| path.join(&relative(name));
    for link in ["link", "absolute-link", "file-link", "dangling"] {
        assert_eq!(system.look(&below(link)).unwrap().kind, Kind::Link, "{link}");
        assert_eq!(named(system, base, link).unwrap().kind, Kind::Link, "{link}");
        assert_eq!(system.canonical_directory(&below(link)), Err(Fault::Link), "{link}");
    }
    let file = named(system, base, "real/file").unwrap();
    assert_eq!(system.look(&below("link/file")), Ok(file));
    assert_eq!(system.look(&below("absolute-link/file")), Ok(file));
    assert_eq!(named(system, base, "link/file"), Err(Fault::Link), "beneath a capability no link is followed");
    assert_eq!(system.canonical_directory(&below("link/deep")), Ok(below("real/deep")));
    assert_eq!(system.canonical_directory(&below("absolute-link/deep")), Ok(below("real/deep")));
    assert_eq!(system.look(&below("dangling/x")), Err(Fault::NotFound));
}

fn a_fifo_never_blocks<S: System>(system: &S, base: &S::Directory) {
    let fifo = system.open_file_beneath(base, &relative("fifo")).unwrap();
    assert_eq!(system.file_facts(&fifo).unwrap().kind, Kind::Special);
    assert_eq!(system.read(&fifo, 10), Err(Fault::WrongKind));
    assert_eq!(system.seal(&fifo, 10).err(), Some(Fault::WrongKind));
    assert_eq!(system.open_append(base, "fifo", 0o600).err(), Some(Fault::WrongKind));
    let directly = system.open_file_in(base, "fifo").unwrap();
    assert_eq!(system.file_facts(&directly).unwrap().kind, Kind::Special);
}

fn writes_replace_links<S: System>(system: &S, base: &S::Directory) {
    write_file(system, base, "fresh", b"fresh");
    system.rename(base, "fresh", "file-link").unwrap();
    assert_eq!(named(system, base, "file-link").unwrap().kind, Kind::Regular, "the link went, not its target");
    assert_eq!(content(system, base, "real/file").unwrap(), b"inside");
    system.remove(base, "link").unwrap();
    assert_eq!(content(system, base, "real/file").unwrap(), b"inside");
}
