//! A workspace is the nearest directory with a record, found without following a link and never above its boundary; a
//! home directory is none.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test that cannot be arranged must stop, and says why"
)]

use kdna_broker::capability::workspace::{SearchFault, locate, nearest_record, read_record};
use kdna_broker::foundation::digest::Digest;
use kdna_broker::foundation::path::{AbsolutePath, RelativePath};
use kdna_broker::foundation::refusal::Reason;
use kdna_broker::system::sim::{Call, HookAction, SimSystem};
use kdna_broker::system::{Fault, Observe};

const HOME: &str = "/home/me";

fn world() -> SimSystem {
    let system = SimSystem::new(1);
    system.arrange(|world| {
        world.directory(HOME, 0o700).unwrap();
        world.set_account_home(AbsolutePath::parse(HOME).ok());
        world.directory("/w/a/b/c", 0o755).unwrap();
        world.file("/w/.kdna/attachments.json", 0o600, b"outer").unwrap();
        world.file("/w/a/b/.kdna/attachments.json", 0o600, b"inner").unwrap();
        world.set_working_directory("/w").unwrap();
    });
    system
}

fn search(system: &SimSystem, start: &str) -> Result<Option<String>, SearchFault> {
    let root = system.open_directory(&AbsolutePath::parse("/w").unwrap()).unwrap();
    system.clear_log();
    let found = nearest_record(system, &root, &RelativePath::parse(start).unwrap())?;
    Ok(found.map(|found| found.workspace.as_str().to_owned()))
}

fn command(system: &SimSystem, cwd: &str, boundary: Option<&str>) -> Result<Option<(String, String)>, Reason> {
    let found = locate(system, cwd, boundary, Some(HOME)).map_err(|refusal| refusal.reason())?;
    Ok(found.map(|found| (found.root.as_str().to_owned(), found.display)))
}

fn at(root: &str, display: &str) -> (String, String) {
    (root.to_owned(), display.to_owned())
}

#[test]
fn the_nearest_record_wins_and_nothing_outside_the_root_is_asked_for() {
    let system = world();
    for (start, found) in [("", ""), ("a", ""), ("a/b", "a/b"), ("a/b/c", "a/b")] {
        assert_eq!(search(&system, start), Ok(Some(found.to_owned())), "{start:?}");
        let beneath = [Call::OpenDirectoryBeneath, Call::LookBeneath, Call::DirectoryFacts];
        assert!(system.log().iter().all(|event| beneath.contains(&event.call) && event.at.starts_with("/w")));
    }
    system.arrange(|world| world.remove("/w/.kdna/attachments.json")).unwrap();
    assert_eq!(search(&system, "a"), Ok(None));
}

#[test]
fn a_link_a_mount_or_another_kind_in_the_way_is_a_fault_and_not_a_miss() {
    type Change = fn(&SimSystem);
    let rows: [(SearchFault, Change); 6] = [
        (SearchFault::KdnaDirectory, |system| system.arrange(|world| world.link("/w/a/.kdna", "/w/.kdna")).unwrap()),
        (SearchFault::KdnaDirectory, |system| system.arrange(|world| world.file("/w/a/.kdna", 0o600, b"")).unwrap()),
        (SearchFault::KdnaDirectory, |system| {
            system
                .arrange(|world| {
                    world.file("/w/a/.kdna/attachments.json", 0o600, b"")?;
                    world.bind("/w/a/.kdna")
                })
                .unwrap();
        }),
        (SearchFault::RecordFile, |system| {
            system.arrange(|world| world.link("/w/a/.kdna/attachments.json", "/w/.kdna/attachments.json")).unwrap();
        }),
        (SearchFault::RecordFile, |system| {
            system.arrange(|world| world.fifo("/w/a/.kdna/attachments.json", 0o600)).unwrap();
        }),
        (SearchFault::RecordFile, |system| {
            system.arrange(|world| world.directory("/w/a/.kdna/attachments.json", 0o700)).unwrap();
        }),
    ];
    for (number, (fault, change)) in rows.into_iter().enumerate() {
        let system = world();
        change(&system);
        assert_eq!(search(&system, "a"), Err(fault), "{number}");
        assert_eq!(command(&system, "/w/a", None), Err(fault.reason()), "{number}");
    }
    let system = world();
    system.arrange(|world| world.link("/w/a/b", "/w/a")).unwrap();
    assert_eq!(search(&system, "a/b"), Err(SearchFault::Directory(Fault::Link)));
}

#[test]
fn what_the_system_does_not_say_is_no_miss() {
    let system = world();
    let root = system.open_directory(&AbsolutePath::parse("/w").unwrap()).unwrap();
    system.set_hook(|_, event| {
        if event.call == Call::LookBeneath { HookAction::Fail(Fault::Denied) } else { HookAction::Proceed }
    });
    let fault = nearest_record(&system, &root, &RelativePath::default()).map(|_| ()).unwrap_err();
    assert_eq!(fault, SearchFault::Uninspectable(Fault::Denied));
}

#[test]
fn a_record_is_read_in_one_open_bounded_and_unchanged() {
    let system = world();
    let root = system.open_directory(&AbsolutePath::parse("/w").unwrap()).unwrap();
    let inner = RelativePath::parse("a/b").unwrap();
    system.clear_log();
    let read = read_record(&system, &root, &inner).unwrap();
    assert_eq!((read.bytes.as_slice(), read.digest), (b"inner".as_slice(), Digest::of(b"inner")));
    assert_eq!(system.calls(Call::OpenFileBeneath), 1);
    system.set_hook(|world, event| {
        if event.call == Call::Read {
            world.set_content("/w/a/b/.kdna/attachments.json", b"other").unwrap();
        }
        HookAction::Proceed
    });
    assert_eq!(read_record(&system, &root, &inner), Err(Fault::Changed));
    system.clear_hook();
    system.arrange(|world| world.set_content("/w/.kdna/attachments.json", &vec![b' '; 1_048_577])).unwrap();
    system.clear_log();
    assert_eq!(read_record(&system, &root, &RelativePath::default()), Err(Fault::TooLarge));
    assert_eq!(system.calls(Call::Read), 0);
}

#[test]
fn a_command_finds_the_nearest_workspace_within_its_boundary() {
    let system = world();
    assert_eq!(command(&system, "a/b/c", None), Ok(Some(at("/w/a/b", ".."))));
    assert_eq!(command(&system, "/w/a", None), Ok(Some(at("/w", ".."))));
    assert_eq!(command(&system, ".", None), Ok(Some(at("/w", "."))));
    assert_eq!(command(&system, "/w/a", Some("a")), Ok(None));
    assert_eq!(command(&system, "/w", Some("/w/a")), Err(Reason::BoundaryEscape));
    assert_eq!(command(&system, "/w/a", Some("/absent")), Err(Reason::DirectoryMissing));
    assert_eq!(command(&system, "/w/absent", None), Err(Reason::DirectoryMissing));
    system.arrange(|world| world.link("/link", "/w")).unwrap();
    assert_eq!(command(&system, "/link", None), Err(Reason::DirectoryIrregular));
    // Links above the last part are resolved, and the real path counts.
    assert_eq!(command(&system, "/link/a", Some("/w")), Ok(Some(at("/w", ".."))));
    system.arrange(|world| world.bind("/w/a")).unwrap();
    assert_eq!(command(&system, "/w/a", None), Ok(Some(at("/w", ".."))));
}

#[test]
fn a_home_or_the_end_of_an_implicit_search_is_no_workspace() {
    let system = world();
    system.arrange(|world| {
        world.file("/home/me/.kdna/attachments.json", 0o600, b"").unwrap();
        world.directory("/home/me/project", 0o755).unwrap();
        world.directory("/srv", 0o755).unwrap();
        world.file("/.kdna/attachments.json", 0o600, b"").unwrap();
    });
    assert_eq!(command(&system, "/home/me/project", None), Err(Reason::HomeAmbiguous));
    assert_eq!(command(&system, "/home/me/project", Some("/home")), Err(Reason::HomeAmbiguous));
    assert_eq!(command(&system, "/srv", None), Err(Reason::BoundaryAmbiguous));
    assert_eq!(command(&system, "/srv", Some("/")), Ok(Some(at("/", ".."))));
    system.arrange(|world| world.remove("/home/me/.kdna/attachments.json")).unwrap();
    assert_eq!(command(&system, "/home/me/project", None), Ok(None));
    for home in ["", "relative", "/absent"] {
        let refusal = locate(&system, "/w", None, Some(home)).map(|_| ()).unwrap_err();
        assert_eq!(refusal.reason(), Reason::HomeUnresolvable, "{home:?}");
    }
}

#[test]
fn an_ancestor_that_may_be_passed_but_not_read_does_not_end_the_search() {
    let system = world();
    system.arrange(|world| world.directory("/closed/open/project", 0o755)).unwrap();
    system.set_hook(|_, event| {
        let closed = event.call == Call::OpenDirectory && event.at == "/closed";
        if closed { HookAction::Fail(Fault::Denied) } else { HookAction::Proceed }
    });
    assert_eq!(command(&system, "/closed/open/project", None), Ok(None));
    system.arrange(|world| world.file("/closed/.kdna/attachments.json", 0o600, b"")).unwrap();
    assert_eq!(command(&system, "/closed/open/project", None), Err(Reason::RecordUninspectable));
}
