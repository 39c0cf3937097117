//! A private file is a regular file of this user, with one name, closed to everybody else, in a directory that only this
//! user can change. Every other one is refused with its own fault, unread, on the real system and on the simulated one.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test that cannot be arranged must stop, and says why"
)]

use kdna_broker::capability::private_file::{PrivateDirectory, PrivateFault};
use kdna_broker::consent::ConsentSource;
use kdna_broker::foundation::limits::CONSENT_BYTES;
use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::foundation::refusal::Reason;
use kdna_broker::system::os::OsSystem;
use kdna_broker::system::sim::{Call, HookAction, SimSystem};
use kdna_broker::system::{Identity, Observe};
use std::os::unix::fs::PermissionsExt as _;

const LIMIT: u64 = CONSENT_BYTES;
const CANARY: &[u8] = b"canary";

/// What a test needs to set a scene in either system. Names are relative to the machine's own private place.
trait Machine {
    type S: Observe;
    fn system(&self) -> &Self::S;
    fn path(&self, name: &str) -> String;
    fn directory(&self, name: &str, mode: u32);
    fn file(&self, name: &str, mode: u32, content: &[u8]);
    fn link(&self, name: &str, target: &str);
    fn hard_link(&self, from: &str, to: &str);
    fn fifo(&self, name: &str);
    /// Gives it to another user; false if this test may not.
    fn give_away(&self, name: &str) -> bool;

    fn open(&self, directory: &str) -> Result<PrivateDirectory<Self::S>, PrivateFault> {
        PrivateDirectory::open(self.system(), &AbsolutePath::parse(&self.path(directory)).unwrap())
    }

    fn read(&self, directory: &str, name: &str) -> Result<Vec<u8>, PrivateFault> {
        self.open(directory)?.read(self.system(), name, LIMIT)
    }

    /// What a load says.
    fn reason(&self, file: &str) -> Option<Reason> {
        let nowhere = Identity { device: 0, inode: 0 };
        let source = ConsentSource::bind(self.system(), Some(&self.path(file)), nowhere);
        source.read(self.system()).err().map(|refusal| refusal.reason())
    }
}

struct Simulated(SimSystem);

impl Simulated {
    fn new() -> Self {
        let system = SimSystem::new(3);
        system.arrange(|world| world.directory("/home/p/place", 0o700)).unwrap();
        Self(system)
    }
}

impl Machine for Simulated {
    type S = SimSystem;
    fn system(&self) -> &SimSystem {
        &self.0
    }
    fn path(&self, name: &str) -> String {
        format!("/home/p/place/{name}")
    }
    fn directory(&self, name: &str, mode: u32) {
        self.0.arrange(|world| world.directory(&self.path(name), mode)).unwrap();
    }
    fn file(&self, name: &str, mode: u32, content: &[u8]) {
        self.0.arrange(|world| world.file(&self.path(name), mode, content)).unwrap();
    }
    fn link(&self, name: &str, target: &str) {
        self.0.arrange(|world| world.link(&self.path(name), &self.path(target))).unwrap();
    }
    fn hard_link(&self, from: &str, to: &str) {
        self.0.arrange(|world| world.hard_link(&self.path(from), &self.path(to))).unwrap();
    }
    fn fifo(&self, name: &str) {
        self.0.arrange(|world| world.fifo(&self.path(name), 0o600)).unwrap();
    }
    fn give_away(&self, name: &str) -> bool {
        self.0.arrange(|world| world.set_owner(&self.path(name), 4711)).unwrap();
        true
    }
}

struct Real(OsSystem, tempfile::TempDir);

impl Real {
    fn new() -> Self {
        let place = tempfile::tempdir().unwrap();
        std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        Self(OsSystem::new(), place)
    }
    fn mode(&self, name: &str, mode: u32) {
        std::fs::set_permissions(self.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }
}

impl Machine for Real {
    type S = OsSystem;
    fn system(&self) -> &OsSystem {
        &self.0
    }
    fn path(&self, name: &str) -> String {
        self.1.path().canonicalize().unwrap().join(name).to_str().unwrap().to_owned()
    }
    fn directory(&self, name: &str, mode: u32) {
        std::fs::create_dir_all(self.path(name)).unwrap();
        self.mode(name, mode);
    }
    fn file(&self, name: &str, mode: u32, content: &[u8]) {
        let _ = std::fs::remove_file(self.path(name));
        std::fs::write(self.path(name), content).unwrap();
        self.mode(name, mode);
    }
    fn link(&self, name: &str, target: &str) {
        std::os::unix::fs::symlink(self.path(target), self.path(name)).unwrap();
    }
    fn hard_link(&self, from: &str, to: &str) {
        std::fs::hard_link(self.path(from), self.path(to)).unwrap();
    }
    fn fifo(&self, name: &str) {
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::from_raw_mode(0o600));
        rustix::fs::mknodat(rustix::fs::CWD, self.path(name), kind, mode, 0).unwrap();
    }
    fn give_away(&self, name: &str) -> bool {
        std::os::unix::fs::chown(self.path(name), Some(4711), None).is_ok()
    }
}

/// The same promise in both systems.
macro_rules! in_both {
    ($($(#[$meta:meta])* $name:ident)+) => { mod simulated { $($(#[$meta])* #[test] fn $name() { super::$name(&super::Simulated::new()); })+ }
        mod real { $($(#[$meta])* #[test] fn $name() { super::$name(&super::Real::new()); })+ } };
}

in_both! {
    only_an_owner_only_file_in_an_owner_only_directory_is_read
    every_directory_above_is_closed_to_others_or_sticky
    what_is_no_regular_file_is_refused_unread
    a_second_name_is_refused
    a_size_outside_its_limit_is_refused
    what_belongs_to_somebody_else_is_refused
    a_directory_that_was_replaced_or_opened_is_noticed
    a_link_on_the_way_is_refused
}

fn only_an_owner_only_file_in_an_owner_only_directory_is_read(machine: &impl Machine) {
    for (parent, closed) in [(0o700, true), (0o750, false), (0o755, false), (0o770, false), (0o1777, false)] {
        machine.directory("d", parent);
        for (mode, private) in [
            (0o600, true),
            (0o400, true),
            (0o640, false),
            (0o604, false),
            (0o620, false),
            (0o602, false),
            (0o660, false),
            (0o666, false),
            (0o700, false),
            (0o4600, false),
            (0o2600, false),
            (0o1600, false),
        ] {
            machine.file("d/f", mode, CANARY);
            let expected = if closed && private { Ok(CANARY.to_vec()) } else { Err(PrivateFault::TooOpen) };
            assert_eq!(machine.read("d", "f"), expected, "{mode:o} in {parent:o}");
            let reason = match (closed, private) {
                (true, true) => None,
                (true, false) => Some(Reason::ConsentNotPrivate),
                (false, _) => Some(Reason::ConsentParentInsecure),
            };
            assert_eq!(machine.reason("d/f"), reason, "{mode:o} in {parent:o}");
        }
    }
}

fn every_directory_above_is_closed_to_others_or_sticky(machine: &impl Machine) {
    machine.directory("a", 0o755);
    machine.directory("a/b", 0o755);
    machine.directory("a/b/private", 0o700);
    machine.file("a/b/private/f", 0o600, CANARY);
    for (mode, secure) in [(0o755, true), (0o1777, true), (0o777, false), (0o775, false), (0o757, false), (0o711, true)]
    {
        machine.directory("a", mode);
        let expected = if secure { Ok(CANARY.to_vec()) } else { Err(PrivateFault::InsecureAncestor) };
        assert_eq!(machine.read("a/b/private", "f"), expected, "{mode:o}");
        assert_eq!(machine.reason("a/b/private/f"), (!secure).then_some(Reason::ConsentParentInsecure));
    }
}

fn what_is_no_regular_file_is_refused_unread(machine: &impl Machine) {
    machine.directory("d", 0o700);
    machine.file("d/target", 0o600, CANARY);
    machine.link("d/link", "d/target");
    machine.link("d/dangling", "d/nothing");
    machine.fifo("d/fifo");
    machine.directory("d/directory", 0o700);
    for (name, fault, reason) in [
        ("link", PrivateFault::Link, Reason::ConsentNotPrivate),
        ("dangling", PrivateFault::Link, Reason::ConsentNotPrivate),
        ("fifo", PrivateFault::WrongKind, Reason::ConsentNotPrivate),
        ("directory", PrivateFault::WrongKind, Reason::ConsentNotPrivate),
        ("absent", PrivateFault::Missing, Reason::ConsentMissing),
    ] {
        assert_eq!(machine.read("d", name), Err(fault), "{name}");
        assert_eq!(machine.reason(&format!("d/{name}")), Some(reason), "{name}");
    }
}

fn a_second_name_is_refused(machine: &impl Machine) {
    machine.directory("d", 0o700);
    machine.directory("elsewhere", 0o755);
    machine.file("d/f", 0o600, CANARY);
    assert!(machine.read("d", "f").is_ok());
    machine.hard_link("d/f", "elsewhere/f");
    assert_eq!(machine.read("d", "f"), Err(PrivateFault::ManyLinks));
    assert_eq!(machine.reason("d/f"), Some(Reason::ConsentNotPrivate));
}

fn a_size_outside_its_limit_is_refused(machine: &impl Machine) {
    machine.directory("d", 0o700);
    let limit = usize::try_from(LIMIT).unwrap();
    for (size, expected) in [
        (0, Err(PrivateFault::Empty)),
        (1, Ok(1)),
        (limit - 1, Ok(limit - 1)),
        (limit, Ok(limit)),
        (limit + 1, Err(PrivateFault::TooLarge)),
    ] {
        machine.file("d/f", 0o600, &vec![b' '; size]);
        assert_eq!(machine.read("d", "f").map(|bytes| bytes.len()), expected, "{size}");
        assert_eq!(machine.reason("d/f"), expected.err().map(|_| Reason::ConsentNotPrivate));
    }
}

fn what_belongs_to_somebody_else_is_refused(machine: &impl Machine) {
    machine.directory("d", 0o700);
    machine.file("d/f", 0o600, CANARY);
    if !machine.give_away("d/f") {
        println!("skipped: only root can give files away");
        return;
    }
    assert_eq!(machine.read("d", "f"), Err(PrivateFault::WrongOwner), "root gets no exemption");
    assert_eq!(machine.reason("d/f"), Some(Reason::ConsentNotPrivate));
    machine.directory("theirs", 0o700);
    machine.file("theirs/f", 0o600, CANARY);
    machine.give_away("theirs");
    assert_eq!(machine.open("theirs").err(), Some(PrivateFault::WrongOwner));
    machine.directory("above", 0o755);
    machine.directory("above/mine", 0o700);
    machine.give_away("above");
    assert_eq!(machine.open("above/mine").err(), Some(PrivateFault::InsecureAncestor));
}

fn a_directory_that_was_replaced_or_opened_is_noticed(machine: &impl Machine) {
    machine.directory("d", 0o700);
    let held = machine.open("d").unwrap();
    assert_eq!(held.assert_unchanged(machine.system()), Ok(()));
    machine.directory("d", 0o750);
    assert_eq!(held.assert_unchanged(machine.system()), Err(PrivateFault::TooOpen));
    machine.directory("other", 0o700);
    let elsewhere = machine.open("other").unwrap();
    assert_eq!(elsewhere.assert_unchanged(machine.system()), Ok(()));
}

fn a_link_on_the_way_is_refused(machine: &impl Machine) {
    machine.directory("d", 0o700);
    machine.file("d/f", 0o600, CANARY);
    machine.directory("d/e", 0o700);
    machine.link("way", "d");
    assert_eq!(machine.open("way").err(), Some(PrivateFault::Link));
    assert_eq!(machine.open("way/e").err(), Some(PrivateFault::Link));
    assert_eq!(machine.open("d/absent").err(), Some(PrivateFault::Missing));
    assert_eq!(machine.open("d/f").err(), Some(PrivateFault::WrongKind));
    assert_eq!(machine.reason("way/f"), Some(Reason::ConsentParentInsecure));
}

#[test]
fn a_device_or_a_socket_is_refused() {
    let machine = Real::new();
    machine.directory("d", 0o700);
    let _listener = std::os::unix::net::UnixListener::bind(machine.path("d/socket")).unwrap();
    machine.mode("d/socket", 0o600);
    assert!(machine.read("d", "socket").is_err());
    assert_eq!(machine.reason("d/socket"), Some(Reason::ConsentNotPrivate));
    let (kind, mode) = (rustix::fs::FileType::CharacterDevice, rustix::fs::Mode::from_raw_mode(0o600));
    let zero = rustix::fs::makedev(1, 5);
    match rustix::fs::mknodat(rustix::fs::CWD, machine.path("d/zero"), kind, mode, zero) {
        Ok(()) => assert_eq!(machine.reason("d/zero"), Some(Reason::ConsentNotPrivate)),
        Err(_) => println!("skipped: this user cannot make devices"),
    }
}

#[test]
fn a_sparse_giant_is_refused_by_its_facts() {
    let machine = Real::new();
    machine.directory("d", 0o700);
    machine.file("d/f", 0o600, b"");
    let file = std::fs::File::options().write(true).open(machine.path("d/f")).unwrap();
    if file.set_len(1 << 40).is_err() {
        println!("skipped: no sparse files here");
        return;
    }
    assert_eq!(machine.read("d", "f"), Err(PrivateFault::TooLarge));
}

#[test]
fn a_file_that_changes_while_it_is_read_is_refused() {
    // Each change happens right before the read, after the facts were judged.
    type Change = fn(&mut kdna_broker::system::sim::World);
    let changes: [(&str, Change, PrivateFault); 4] = [
        ("other bytes", |world| world.set_content("/home/p/place/d/f", b"CANARY").unwrap(), PrivateFault::Changed),
        ("shorter", |world| world.set_content("/home/p/place/d/f", b"c").unwrap(), PrivateFault::Changed),
        (
            "grown past the limit",
            |world| world.set_content("/home/p/place/d/f", &vec![b'x'; 20_000]).unwrap(),
            PrivateFault::TooLarge,
        ),
        ("opened to others", |world| world.set_mode("/home/p/place/d/f", 0o644).unwrap(), PrivateFault::Changed),
    ];
    for (what, change, expected) in changes {
        let machine = Simulated::new();
        machine.directory("d", 0o700);
        machine.file("d/f", 0o600, CANARY);
        machine.0.set_hook(move |world, event| {
            if event.call == Call::Read {
                change(world);
            }
            HookAction::Proceed
        });
        assert_eq!(machine.read("d", "f"), Err(expected), "{what}");
        assert_eq!(machine.0.calls(Call::Read), 1, "the change happened");
    }
}

#[test]
fn a_rotation_during_a_read_is_seen_before_or_after_and_never_as_a_broken_file() {
    for moment in [Call::OpenFileIn, Call::FileFacts, Call::Read] {
        for rotations in [1, 3, u32::MAX] {
            let machine = Simulated::new();
            machine.directory("d", 0o700);
            machine.file("d/f", 0o600, b"before");
            let mut left = rotations;
            machine.0.set_hook(move |world, event| {
                if event.call == moment && left > 0 {
                    left -= 1;
                    world.file("/home/p/place/d/next", 0o600, CANARY).unwrap();
                    world.rename("/home/p/place/d/next", "/home/p/place/d/f").unwrap();
                }
                HookAction::Proceed
            });
            let read = machine.read("d", "f");
            if rotations == u32::MAX && moment != Call::OpenFileIn {
                assert_eq!(read, Err(PrivateFault::Changed), "{moment:?}: it does not go on for ever");
            } else {
                assert_eq!(read, Ok(CANARY.to_vec()), "{moment:?}, {rotations} rotations");
            }
        }
    }
}

#[test]
fn nothing_is_read_of_what_is_refused() {
    let machine = Simulated::new();
    machine.directory("d", 0o700);
    machine.fifo("d/fifo");
    machine.file("d/open", 0o644, CANARY);
    machine.file("d/large", 0o600, &vec![b'x'; 20_000]);
    for name in ["fifo", "open", "large"] {
        assert!(machine.read("d", name).is_err());
    }
    assert_eq!(machine.0.calls(Call::Read), 0);
}
