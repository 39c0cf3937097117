//! What a load of a protected asset costs, split into the derivation of the key (which is meant to cost) and everything
//! else. Prints milliseconds (p50, p95); judges nothing: a noisy machine must not fail a build.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::indexing_slicing,
    reason = "a measurement that cannot be arranged must stop, and says why"
)]

#[path = "../tests/runtime_vectors/asset_bytes.rs"]
mod asset_bytes;
#[path = "../tests/support/protect.rs"]
mod protect;
#[path = "../tests/support/mod.rs"]
mod support;
mod timing;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use kdna_broker::foundation::json::write::pretty;
use kdna_broker::foundation::time::Timestamp;
use kdna_broker::runtime::{self, InputKind, LoadProfile};
use protect::{PASSWORD, asset, envelope, long_judgment};
use support::command::{Program, Scratch};
use timing::{at, ended, times};

const ROUNDS: usize = 7;
const ARGON2ID: &str = "kdna.encryption.password";
const SCRYPT: &str = "kdna.encryption.password.scrypt";

/// KiB, passes, lanes: next to nothing, the default, and the most that is admitted.
const CHEAP: (u32, u32, u32) = (8, 1, 1);
const COSTS: [(u32, u32, u32); 3] = [CHEAP, (65_536, 3, 4), (262_144, 4, 4)];

fn main() {
    println!("{:58} {:>8} {:>8}   ({ROUNDS} rounds)", "", "p50 ms", "p95 ms");
    for cost in COSTS {
        let (memory, passes, lanes) = cost;
        row(&format!("Argon2id alone, {memory} KiB x {passes} passes, {lanes} lanes"), || derive(cost));
        let bytes = asset(&envelope(&long_judgment(2_000).bytes(), Some(cost)).bytes(), ARGON2ID);
        row("  a whole load in process, 2 KB", || load(&bytes));
        through_the_command("  kdna load --password-stdin, 2 KB", &bytes);
    }
    row("scrypt alone, 2^15, 8, 1", scrypt_alone);
    let bytes = asset(&envelope(&long_judgment(2_000).bytes(), None).bytes(), SCRYPT);
    row("  a whole load in process, 2 KB", || load(&bytes));
    through_the_command("  kdna load --password-stdin, 2 KB", &bytes);
    for size in [2_000, 100_000, 780_000] {
        let bytes = asset(&envelope(&long_judgment(size).bytes(), Some(CHEAP)).bytes(), ARGON2ID);
        row(&format!("everything but the derivation, in process, {size} bytes"), || load(&bytes));
    }
}

fn derive((memory, passes, lanes): (u32, u32, u32)) {
    let params = Params::new(memory, passes, lanes, Some(32)).expect("a cost");
    let mut blocks = vec![Block::new(); params.block_count()];
    let mut key = [0; 32];
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
        .hash_password_into_with_memory(PASSWORD, b"0123456789abcdef", &mut key, blocks.as_mut_slice())
        .expect("a key");
}

fn scrypt_alone() {
    let cost = scrypt::Params::new(15, 8, 1).expect("a cost");
    scrypt::scrypt(PASSWORD, b"0123456789abcdef", &cost, &mut [0; 32]).expect("a key");
}

fn load(bytes: &[u8]) {
    let now = Timestamp::from_milliseconds(0);
    let capsule = runtime::load(bytes, LoadProfile::Full, Some(PASSWORD), None, now, InputKind::PackagedFile);
    assert!(pretty(&capsule.expect("a Capsule")).is_ok());
}

/// Two processes beneath it: one plans, one loads.
fn through_the_command(what: &str, bytes: &[u8]) {
    let scratch = Scratch::new();
    scratch.file("a.kdna", bytes, 0o600);
    row(what, || {
        let command = scratch.command(Program::Owner, ["load", "a.kdna", "--profile=full", "--password-stdin"]);
        assert!(ended(command, PASSWORD).status.success());
    });
}

fn row(what: &str, mut once: impl FnMut()) {
    once();
    let times = times(ROUNDS, once);
    println!("{what:58} {:8.2} {:8.2}", at(&times, 50), at(&times, 95));
}
