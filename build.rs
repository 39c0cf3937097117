//! Links the compiler's unwinder into the executables where it is there as an archive, instead of as one more shared
//! library: a load starts three processes, and each would look it up, map it and relocate it. Without the archive, or with
//! a linker that passes it over, the executables are linked as usual.

use std::path::Path;
use std::process::Command;

const ARCHIVE: &str = "libgcc_eh.a";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    let native = std::env::var("HOST").ok() == std::env::var("TARGET").ok();
    if !native || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return;
    }
    // The compiler answers with the bare name for a file that it does not have.
    let Ok(answer) = Command::new("cc").arg(format!("-print-file-name={ARCHIVE}")).output() else { return };
    let answer = String::from_utf8_lossy(&answer.stdout);
    let archive = Path::new(answer.trim());
    if let (true, Some(folder)) = (archive.is_file(), archive.parent()) {
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=static=gcc_eh");
    }
}
