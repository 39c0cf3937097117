//! The broker without the embedded runtime is built from the packages listed in `policy/broker-packages.txt` and no
//! other; none of them parses assets, speaks to a network or brings an async runtime. Every direct dependency has its
//! reason in SECURITY.md.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that cannot be arranged must stop, and says why"
)]

mod support;

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use support::package;

const LIST: &str = "policy/broker-packages.txt";

/// Beginnings of names that no package of the trusted computing base may have: asset formats, networks, scripting.
const FOREIGN: [&str; 26] = [
    "inflate", "deflate", "miniz", "flate", "zip", "zlib", "zstd", "brotli", "cbor", "ciborium", "icu_", "argon2",
    "scrypt", "aes", "aead", "ghash", "salsa20", "base64", "tokio", "async", "hyper", "reqwest", "rustls", "openssl",
    "wasm", "regex",
];

/// `NAME VERSION` of every package but this one, or `None` where this user cannot run cargo (it is then held to by the
/// run of the user who built).
fn dependency_tree(features: &[&str]) -> Option<BTreeSet<String>> {
    let mut command = Command::new(env!("CARGO"));
    command.args(["tree", "-e", "normal", "--prefix", "none", "--locked", "--offline", "--charset", "ascii"]);
    let output = match command.args(features).current_dir(package()).output() {
        Ok(output) => output,
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            println!("skipped: this user cannot run cargo");
            return None;
        }
        Err(error) => panic!("cargo tree: {error}"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("a tree");
    let packages = text.lines().filter_map(|line| {
        let mut words = line.split(' ');
        let (name, version) = (words.next()?, words.next()?);
        (name != env!("CARGO_PKG_NAME")).then(|| format!("{name} {}", version.trim_start_matches('v')))
    });
    Some(packages.collect())
}

fn listed() -> BTreeSet<String> {
    let text = fs::read_to_string(package().join(LIST)).expect(LIST);
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let set: BTreeSet<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    assert_eq!(set.len(), lines.len(), "{LIST} says a thing twice");
    set
}

fn foreign(packages: &BTreeSet<String>) -> Vec<&String> {
    packages.iter().filter(|package| FOREIGN.iter().any(|word| package.starts_with(word))).collect()
}

/// `UPDATE_POLICY=1 cargo test --test packages` writes the list anew; read the difference before committing it.
#[test]
fn the_broker_is_built_from_the_listed_packages() {
    let Some(found) = dependency_tree(&["--no-default-features"]) else { return };
    if std::env::var_os("UPDATE_POLICY").is_some_and(|value| value == "1") {
        let head = "# The packages of the broker without the embedded runtime (NAME VERSION), this one excepted.\n\
                    # tests/packages.rs compares this list with the dependency tree; UPDATE_POLICY=1 writes it anew.\n";
        let lines: Vec<&str> = found.iter().map(String::as_str).collect();
        fs::write(package().join(LIST), format!("{head}{}\n", lines.join("\n"))).expect(LIST);
    }
    let listed = listed();
    let unlisted: Vec<_> = found.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(unlisted.is_empty() && gone.is_empty(), "not listed: {unlisted:?}; listed and gone: {gone:?}");
}

#[test]
fn no_listed_package_parses_assets_or_speaks_to_a_network() {
    let listed = listed();
    assert!(listed.len() > 20, "the list was not found");
    assert!(foreign(&listed).is_empty(), "{:?}", foreign(&listed));
}

#[test]
fn a_package_that_parses_assets_would_be_found() {
    let Some(found) = dependency_tree(&["--all-features"]) else { return };
    let names: Vec<&str> = foreign(&found).iter().filter_map(|package| package.split(' ').next()).collect();
    assert!(names.contains(&"miniz_oxide") && names.contains(&"icu_collator"), "{names:?}");
}

#[test]
fn every_direct_dependency_has_its_reason() {
    let manifest: toml::Table =
        fs::read_to_string(package().join("Cargo.toml")).expect("Cargo.toml").parse().expect("TOML");
    let security = fs::read_to_string(package().join("SECURITY.md")).expect("SECURITY.md");
    let rows: Vec<&str> = security.lines().filter(|line| line.starts_with("| `")).collect();
    let mut missing = Vec::new();
    let mut known = 0;
    for table in ["dependencies", "dev-dependencies", "build-dependencies"] {
        for name in manifest.get(table).and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys) {
            known += 1;
            let row = rows.iter().find(|row| row.starts_with(&format!("| `{name}` |")));
            if row.is_none_or(|row| row.split('|').nth(2).is_none_or(|why| why.trim().len() < 10)) {
                missing.push(name.clone());
            }
        }
    }
    assert!(known > 10, "the manifest was not understood");
    assert!(missing.is_empty(), "no reason in SECURITY.md for {missing:?}");
}
