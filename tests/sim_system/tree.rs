//! Paths, handles, links, mounts, facts.

use crate::support::{absolute, relative};
use crate::{read, scene};
use kdna_broker::foundation::digest::Digest;
use kdna_broker::system::sim::{SimSystem, World};
use kdna_broker::system::{Fault, Observe, System};

#[test]
fn a_handle_survives_renaming_and_replacing_its_path() {
    let (system, root) = scene();
    let file = system.open_file_beneath(&root, &relative("notes")).unwrap();
    system.arrange(|world| {
        world.rename("/w/app", "/w/app.old").unwrap();
        world.file("/w/app/notes", 0o600, b"other").unwrap();
    });
    assert_eq!(system.read(&file, 10).unwrap(), b"first");
    let again = system.open_file_beneath(&root, &relative("notes")).unwrap();
    assert_eq!(system.read(&again, 10).unwrap(), b"first", "the held directory is still the old one");
    assert_ne!(system.look(&absolute("/w/app")).unwrap().identity, system.directory_facts(&root).unwrap().identity);

    system.arrange(|world| world.link("/w/app", "/w/app.old")).unwrap();
    assert_eq!(system.open_directory(&absolute("/w/app")).err(), Some(Fault::Link));
    assert_eq!(system.list(&root).unwrap(), ["notes"]);
}

#[test]
fn a_removed_directory_is_empty_and_takes_no_files() {
    let (system, root) = scene();
    system.arrange(|world| world.remove("/w/app")).unwrap();
    assert_eq!(system.list(&root), Ok(vec![]));
    assert_eq!(system.directory_facts(&root).unwrap().links, 0);
    assert_eq!(system.create_file(&root, "late", 0o600).err(), Some(Fault::NotFound));
    assert_eq!(system.arrange(|world| world.paths()), ["/", "/w"]);
}

#[test]
fn new_content_keeps_the_identity_and_a_new_file_changes_it() {
    let (system, root) = scene();
    let file = system.open_file_beneath(&root, &relative("notes")).unwrap();
    let facts = system.file_facts(&file).unwrap();
    system.arrange(|world| world.set_content("/w/app/notes", b"FIRST")).unwrap();
    let changed = system.file_facts(&file).unwrap();
    assert_eq!((changed.identity, changed.size), (facts.identity, facts.size));
    assert!(changed.modified > facts.modified && changed.changed > facts.changed, "though no time passed");

    system.arrange(|world| world.set_modified("/w/app/notes", facts.modified)).unwrap();
    let back_dated = system.file_facts(&file).unwrap();
    assert_eq!(back_dated.modified, facts.modified);
    assert_ne!(back_dated, facts, "the time of change tells");

    system.arrange(|world| world.file("/w/app/notes", 0o600, b"first")).unwrap();
    assert_ne!(system.look(&absolute("/w/app/notes")).unwrap().identity, facts.identity);
    assert_eq!(system.file_facts(&file).unwrap().links, 0, "the old file has lost its name");
}

#[test]
fn every_change_of_facts_shows() {
    type Change = fn(&mut World) -> Result<(), Fault>;
    let changes: [(&str, Change); 4] = [
        ("mode", |world| world.set_mode("/w/app/notes", 0o644)),
        ("owner", |world| world.set_owner("/w/app/notes", 0)),
        ("links", |world| world.hard_link("/w/app/notes", "/w/second")),
        ("moved", |world| world.rename("/w/app/notes", "/w/elsewhere")),
    ];
    for (name, change) in changes {
        let (system, root) = scene();
        let file = system.open_file_beneath(&root, &relative("notes")).unwrap();
        let before = system.file_facts(&file).unwrap();
        system.arrange(change).unwrap();
        let after = system.file_facts(&file).unwrap();
        assert_ne!(after, before, "{name}");
        assert_eq!((after.identity, after.modified), (before.identity, before.modified), "{name}");
    }
}

#[test]
fn another_mount_is_refused_beneath_and_taken_by_absolute_path() {
    let (system, root) = scene();
    system.arrange(|world| {
        world.directory("/w/app/disk", 0o700).unwrap();
        world.mount("/w/app/disk", 9).unwrap();
        world.file("/w/app/disk/notes", 0o600, b"foreign").unwrap();
        world.directory("/w/app/same", 0o700).unwrap();
        world.bind("/w/app/same").unwrap();
        world.file("/w/app/bound", 0o600, b"bound").unwrap();
        world.bind("/w/app/bound").unwrap();
    });
    for path in ["disk", "same"] {
        assert_eq!(system.open_directory_beneath(&root, &relative(path)).err(), Some(Fault::Escapes), "{path}");
        assert_eq!(system.look_beneath(&root, &relative(path)), Err(Fault::Escapes), "{path}");
    }
    for path in ["disk/notes", "bound"] {
        assert_eq!(system.open_file_beneath(&root, &relative(path)).err(), Some(Fault::Escapes), "{path}");
    }
    assert!(system.open_file_in(&root, "bound").is_ok(), "a private file may be a bind mount");
    let disk = system.open_directory(&absolute("/w/app/disk")).unwrap();
    assert_eq!(system.directory_facts(&disk).unwrap().identity.device, 9);
    assert!(system.open_file_beneath(&disk, &relative("notes")).is_ok(), "within one mount");
    assert_eq!(system.remove(&root, "bound"), Err(Fault::Io(16)));
}

#[test]
fn a_name_that_leaves_the_directory_escapes() {
    let (system, root) = scene();
    for name in ["..", "../notes", "/w", "a/b", ""] {
        assert_eq!(system.open_file_in(&root, name).err(), Some(Fault::Escapes), "{name:?}");
        assert_eq!(system.create_file(&root, name, 0o600).err(), Some(Fault::Escapes), "{name:?}");
    }
    assert_eq!(system.arrange(|world| world.paths()), ["/", "/w", "/w/app", "/w/app/notes"]);
}

#[test]
fn a_ring_of_links_ends() {
    let system = SimSystem::new(1);
    system.arrange(|world| {
        world.link("/one", "/other").unwrap();
        world.link("/other", "one").unwrap();
    });
    assert_eq!(system.look(&absolute("/one/x")), Err(Fault::Link));
    assert_eq!(system.canonical_directory(&absolute("/one/x")), Err(Fault::Link));
}

#[test]
fn links_with_dots_are_followed_in_questions() {
    let (system, _) = scene();
    system.arrange(|world| world.link("/w/app/up", "./../../w/./app")).unwrap();
    assert!(system.look(&absolute("/w/app/up/notes")).is_ok());
    system.arrange(|world| world.directory("/w/app/deep", 0o700)).unwrap();
    assert_eq!(system.canonical_directory(&absolute("/w/app/up/deep")), Ok(absolute("/w/app/deep")));
}

#[test]
fn a_denied_file_is_not_opened_and_a_denied_directory_not_searched() {
    let (system, root) = scene();
    system.arrange(|world| world.set_denied("/w/app/notes", true)).unwrap();
    assert_eq!(system.open_file_beneath(&root, &relative("notes")).err(), Some(Fault::Denied));
    assert!(system.look(&absolute("/w/app/notes")).is_ok(), "its facts can be asked for");
    system.arrange(|world| world.set_denied("/w/app", true)).unwrap();
    assert_eq!(system.open_directory(&absolute("/w/app")).err(), Some(Fault::Denied));
    assert_eq!(system.look(&absolute("/w/app/notes")), Err(Fault::Denied));
    assert_eq!(system.create_file(&root, "new", 0o600).err(), Some(Fault::Denied));
}

#[test]
fn who_and_where_are_arranged() {
    let (system, root) = scene();
    assert_eq!((system.user(), system.account_home()), (1000, Some(absolute("/home/person"))));
    system.arrange(|world| {
        world.set_user(0);
        world.set_account_home(None);
        world.set_working_directory("/w/app").unwrap();
        world.rename("/w/app", "/w/moved").unwrap();
    });
    assert_eq!((system.user(), system.account_home()), (0, None));
    assert_eq!(system.working_directory(), Ok(absolute("/w/moved")));
    let made = system.create_file(&root, "made", 0o600).unwrap();
    assert_eq!(system.file_facts(&made).unwrap().owner, 0);
    system.arrange(|world| world.remove("/w/moved")).unwrap();
    assert_eq!(system.working_directory(), Err(Fault::NotFound));
}

#[test]
fn a_seal_is_immune_to_later_changes() {
    let (system, root) = scene();
    let file = system.open_file_beneath(&root, &relative("notes")).unwrap();
    let (sealed, digest) = system.seal(&file, 100).unwrap();
    system.arrange(|world| world.set_content("/w/app/notes", b"later")).unwrap();
    assert_eq!(sealed.bytes(), b"first");
    assert_eq!(digest, Digest::of(b"first"));
    assert_eq!(system.read(&file, 100).unwrap(), b"later", "the change did happen");
}

#[test]
fn a_directory_is_never_moved_into_itself() {
    let (system, _) = scene();
    let refused = system.arrange(|world| {
        [world.rename("/w", "/w/app/w"), world.swap("/w/app", "/w/app/notes"), world.swap("/w/app/notes", "/w/app")]
    });
    assert_eq!(refused, [Err(Fault::Io(22)); 3]);
    assert_eq!(system.arrange(|world| world.paths()), ["/", "/w", "/w/app", "/w/app/notes"]);
}

#[test]
fn handles_of_another_world_are_refused() {
    let ((system, root), (other, _)) = (scene(), scene());
    let file = system.open_append(&root, "notes", 0o600).unwrap();
    assert_eq!(other.list(&root), Err(Fault::Io(9)));
    assert_eq!(other.write(&file, b"stray"), Err(Fault::Io(9)));
    assert_eq!(read(&other, "/w/app/notes").unwrap(), b"first");
    assert_eq!(system.list(&root).unwrap(), ["notes"]);
}
