//! The password: where it may lie, when it is read, what is left of it.

use super::simulated::{broker, load, settings, system};
use crate::support::real::{Place, delivered};
use kdna_broker::broker::{Broker, Settings};
use kdna_broker::capability::home::Homes;
use kdna_broker::capability::root::PinnedRoot;
use kdna_broker::capability::secret::{AuthorizationSource, Secret};
use kdna_broker::delegate::Delegate;
use kdna_broker::foundation::path::AbsolutePath;
use kdna_broker::foundation::refusal::{Reason, Refusal};
use kdna_broker::system::memory::LockedBuffer;
use kdna_broker::system::os::OsSystem;
use std::fs;

/// Binds and reads a password file beside a real workspace.
fn read(place: &Place, name: &str) -> Result<Secret, Refusal> {
    let system = OsSystem::new();
    let text = |path: std::path::PathBuf| path.to_str().unwrap().to_owned();
    let homes = Homes::find(&system, Some(&text(place.scratch.home())))?;
    let state = AbsolutePath::parse(&text(place.scratch.state())).unwrap();
    let root = PinnedRoot::pin(&system, Some(&text(place.path("ws"))), &homes, &state)?;
    AuthorizationSource::bind(&system, &text(place.path(name)), &root)?.read(&system)
}

fn password(place: &Place, content: &[u8]) -> Result<Vec<u8>, Refusal> {
    place.scratch.file("private/password", content, 0o600);
    read(place, "private/password").map(|secret| secret.expose().to_vec())
}

#[test]
fn secret_newline() {
    let place = Place::new();
    for (content, expected) in [("pw", "pw"), ("pw\n", "pw"), ("pw\r\n", "pw"), ("p\nw", "p\nw"), ("pw\n\n", "pw\n")] {
        assert_eq!(password(&place, content.as_bytes()).unwrap(), expected.as_bytes(), "{content:?}");
    }
}

#[test]
fn secret_inside_workspace() {
    let place = Place::new();
    place.scratch.file("ws/password", "canary", 0o600);
    let refusal = read(&place, "ws/password").map(drop).unwrap_err();
    assert_eq!(refusal.reason(), Reason::AuthorizationFileInvalid);
    place.scratch.file("private/password", "canary", 0o600);
    assert!(read(&place, "private/password").is_ok(), "the control");
}

#[test]
fn secret_log_error() {
    let place = Place::new();
    let long = [b"canary".repeat(3000), b"x".to_vec()].concat();
    for content in [&b""[..], b"\n", b"canary\xff\xfe", &long] {
        let refusal = password(&place, content).unwrap_err();
        let said = format!("{refusal:?} {refusal} {} {}", refusal.message(), refusal.remedy());
        assert_eq!(refusal.reason(), Reason::AuthorizationFileInvalid);
        assert!(!said.contains("canary") && !said.contains("18001"), "{said}");
    }
    // End to end: a password beside a load that needs none is in no channel.
    place.scratch.file("private/password", "canary-secret", 0o600);
    let mut server =
        place.serve_with(|command| command.env("KDNA_MCP_AUTHORIZATION_FILE", place.path("private/password")));
    let answer = server.ask(&place.load(1));
    assert!(delivered(&answer) && !answer.contains("canary-secret"), "{answer}");
    let ended = server.close();
    assert!(!ended.stderr_text().contains("canary") && !place.journal().contains("canary"));
}

#[test]
fn secret_read_when_not_needed() {
    let system = system();
    system.arrange(|world| world.fifo("/private/password", 0o600)).unwrap();
    let settings = Settings { authorization_file: Some("/private/password".into()), ..settings() };
    let server = Broker::start(system.clone(), settings, Delegate::embedded()).unwrap();
    assert!(load(&server).is_ok(), "a public asset needs no password");
    assert_eq!(system.opens("/private/password"), 0);
    system.arrange(|world| world.remove("/private/consent.json")).unwrap();
    assert!(load(&server).is_err());
    assert_eq!(system.opens("/private/password"), 0, "a load that is refused earlier does not open it either");
    drop(broker(&system, Delegate::embedded(), None));
}

#[test]
fn secret_swap() {
    // Locked or not, the buffer says which; that a failure is noticed is tried in tests/broker_process.rs.
    let place = Place::new();
    place.scratch.file("private/password", "pw", 0o600);
    let secret = read(&place, "private/password").unwrap();
    assert_eq!(secret.is_locked(), LockedBuffer::new(16_386).is_locked());
    let locked = fs::read_to_string("/proc/self/status").unwrap();
    let locked = locked.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap().trim().to_owned();
    assert_eq!(secret.is_locked(), locked != "0 kB", "what it says is what the kernel says: {locked}");
}
