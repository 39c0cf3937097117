//! A consent that was taken back or replaced is dead, and so is every copy of it, however the document looked.

use crate::deciding::{INVALID, REQUIRED, allow, asked, broker, check, rows, serve, stored};
use crate::scene::{Reply, Scene, delivered, load};
use crate::support::command::Exit;
use kdna_broker::foundation::digest::Digest;
use std::fs;

#[test]
fn a_copy_of_a_consent_that_was_taken_back_allows_nothing() {
    let scene = asked();
    allow(&scene, "ws", &[]);
    let file = stored(&scene).pop().unwrap();
    let copy = fs::read(&file).unwrap();
    let mut server = serve(&scene, "ws", &[]);
    assert_eq!(load(&mut server, scene.at("ws")), delivered());
    let revoked = broker(&scene, &["consent", "revoke"]);
    assert_eq!(revoked.stdout_text(), "Revoked. No load is delivered under it any more.\n");
    assert_eq!(load(&mut server, scene.at("ws")), Reply::refused(REQUIRED));
    scene.scratch.file(&file, &copy, 0o600);
    assert_eq!(load(&mut server, scene.at("ws")), Reply::refused(INVALID));
    assert_eq!(check(&scene, "ws", &[]).1.as_deref(), Some("consent_taken_back"));
    assert!(rows(&scene).last().unwrap().contains("\"reason\":\"consent_taken_back\""));
    let digest = Digest::of(&copy).to_string();
    let of_events = |event: &str| {
        let event = format!("\"event\":\"{event}\"");
        rows(&scene).iter().filter(|row| row.contains(&event) && row.contains(&digest)).count()
    };
    assert_eq!((of_events("allowed"), of_events("revoked")), (1, 1), "both are recorded, with the digest");
    allow(&scene, "ws", &[]);
    assert_eq!(load(&mut server, scene.at("ws")), delivered(), "a new approval is a new consent");
}

#[test]
fn a_lock_of_this_program_is_no_consent_that_could_be_taken_back() {
    let scene = asked();
    allow(&scene, "ws", &[]);
    let ledger = fs::read(scene.at("state/attachment-ledger.json")).unwrap();
    let locks = ["state/attachment-ledger.lock", "private/a.lock", "private/plain"];
    for lock in locks.iter().skip(1) {
        scene.scratch.file(lock, b"", 0o600);
    }
    let recorded = rows(&scene).len();
    for lock in locks {
        let path = scene.text(lock);
        assert_eq!(fs::read(&path).unwrap(), b"", "{lock}: it is empty");
        let refused = broker(&scene, &["consent", "revoke", "--file", &path]);
        assert_eq!(refused.exit, Exit::Status(2), "{lock}: {}", refused.stderr_text());
        let said = refused.stderr_text();
        assert!(said.starts_with("Error: [host_consent_invalid]"), "{lock}: {said}");
        assert!(refused.stdout.is_empty() && fs::metadata(&path).is_ok(), "{lock}: it stays");
    }
    assert_eq!(fs::read(scene.at("state/attachment-ledger.json")).unwrap(), ledger, "nothing was remembered");
    assert_eq!(rows(&scene).len(), recorded, "nothing was recorded");
}

#[test]
fn a_consent_that_was_not_private_any_more_is_taken_back_or_replaced_with_all_its_copies() {
    type End = fn(&Scene, &std::path::Path);
    type Spoil = fn(&std::path::Path, &std::path::Path);
    let ends: [(&str, End); 2] = [
        ("revoked", |scene, file| {
            let revoked = broker(scene, &["consent", "revoke", "--file", file.to_str().unwrap()]);
            assert!(revoked.stdout_text().starts_with("Revoked."), "{}", revoked.stderr_text());
        }),
        ("replaced", |scene, _| allow(scene, "ws", &["--expires-in", "1h"])),
    ];
    let spoilt: [Spoil; 2] = [
        |file, _| fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap(),
        |file, beside| fs::hard_link(file, beside).unwrap(),
    ];
    for (label, end) in ends {
        for spoil in spoilt {
            let scene = asked();
            allow(&scene, "ws", &[]);
            let file = stored(&scene).pop().unwrap();
            let copy = fs::read(&file).unwrap();
            let mut server = serve(&scene, "ws", &[]);
            assert_eq!(load(&mut server, scene.at("ws")), delivered(), "the control");
            spoil(&file, &scene.at("private/beside"));
            end(&scene, &file);
            let _ = fs::remove_file(&file);
            scene.scratch.file(&file, &copy, 0o600);
            assert_eq!(load(&mut server, scene.at("ws")), Reply::refused(INVALID), "{label}");
            assert!(rows(&scene).last().unwrap().contains("\"reason\":\"consent_taken_back\""), "{label}");
        }
    }
}

#[test]
fn a_consent_that_was_replaced_is_over_and_so_is_a_copy_of_it() {
    let scene = asked();
    allow(&scene, "ws", &[]);
    let file = stored(&scene).pop().unwrap();
    let old = fs::read(&file).unwrap();
    allow(&scene, "ws", &["--expires-in", "1h"]);
    let mut server = serve(&scene, "ws", &[]);
    assert_eq!(load(&mut server, scene.at("ws")), delivered());
    scene.scratch.file(&file, &old, 0o600);
    assert_eq!(load(&mut server, scene.at("ws")), Reply::refused(INVALID));
    assert!(rows(&scene).last().unwrap().contains("\"reason\":\"consent_taken_back\""));
}
