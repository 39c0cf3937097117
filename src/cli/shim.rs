//! The shim of an external runtime: confines itself, says how, takes the command line, and becomes the pinned interpreter.
//! What follows on standard input (a task, a password) is left there for the interpreter: the shim never reads it.

use super::is_only_argument;
use crate::foundation::json::read_strict;
use crate::system::Observe;
use crate::system::os::{OsSystem, external, worker_io};

/// The one argument of a shim.
pub(crate) const FLAG: &str = "--external-shim";

/// The status of a failure before the interpreter started.
const FAILED: i32 = 1;

/// If this process was started as a shim: become the interpreter, or exit.
pub(crate) fn serve_if_asked() {
    if is_only_argument(FLAG) {
        std::process::exit(serve());
    }
}

fn serve() -> i32 {
    let Some(parent) = worker_io::parent_id() else { return FAILED };
    // The broker starts a shim in `/` exactly when it gives it no directory to read beneath.
    let readable = OsSystem::new().working_directory().is_ok_and(|path| !path.is_filesystem_root());
    let Some(programs) = worker_io::report(external::confine(readable, None, parent)) else { return FAILED };
    let words = worker_io::receive_request().ok().and_then(|request| command_line(&request));
    let Some(words) = words else { return FAILED };
    external::become_interpreter(&programs.interpreter, &words)
}

/// The arguments: a list of texts.
fn command_line(request: &[u8]) -> Option<Vec<String>> {
    let words = read_strict(request, 1).ok()?;
    words.as_array()?.iter().map(|word| word.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_list_of_texts_is_a_command_line() {
        assert_eq!(command_line(br#"["a","b c"]"#), Some(vec!["a".to_owned(), "b c".to_owned()]));
        for wrong in [&b"{}"[..], b"[1]", b"[[]]", b"", b"\"a\""] {
            assert_eq!(command_line(wrong), None);
        }
    }
}
