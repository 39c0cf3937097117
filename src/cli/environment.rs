//! The environment and the command line, read once, as text. What is not UTF-8 counts as unset or is refused by the
//! grammar; nothing is repaired.

use crate::broker::Settings;
use crate::launch::SESSION;
use crate::launch::variables::Variables;
use crate::system::os::ancestry;
use std::ffi::OsString;

/// Everything that the process was given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// The name the program was started by; empty for an empty argument vector.
    pub(crate) program: String,
    /// The arguments after it.
    pub(crate) arguments: Vec<String>,
    /// The coordinates.
    pub(crate) settings: Settings,
    /// `KDNA_BROKER_RUNTIME_PINS`: where an external runtime is pinned.
    pub(crate) runtime_pins: Option<String>,
    /// `XDG_RUNTIME_DIR`: believed only as far as it can be seen to be private and in memory.
    pub(crate) runtime_directory: Option<String>,
}

impl Environment {
    /// Reads the process's own.
    pub(crate) fn read() -> Self {
        let mut words = std::env::args_os().map(as_text);
        let program = words.next().unwrap_or_default();
        let in_session = variable(SESSION).is_some_and(|session| !session.is_empty());
        if in_session {
            ancestry::note_own_session();
        }
        Self {
            program,
            arguments: words.collect(),
            runtime_pins: variable("KDNA_BROKER_RUNTIME_PINS"),
            runtime_directory: variable("XDG_RUNTIME_DIR"),
            settings: Settings {
                workspace_root: variable("KDNA_MCP_WORKSPACE_ROOT"),
                host_id: variable("KDNA_MCP_HOST_ID"),
                consent_file: variable("KDNA_MCP_HOST_PROCESSING_CONSENT_FILE"),
                consent_directory: variable("KDNA_BROKER_CONSENT_DIR"),
                require_ledger: variable("KDNA_BROKER_REQUIRE_LEDGER")
                    .is_some_and(|value| !matches!(&*value, "" | "0")),
                authorization_file: variable("KDNA_MCP_AUTHORIZATION_FILE"),
                state_directory: variable("KDNA_BROKER_STATE_DIR"),
                home: variable("HOME"),
                // Below the launcher everything is judged hardened, whatever the command line says.
                hardened: in_session,
            },
        }
    }

    /// Whether the program was started by this name.
    pub(crate) fn program_is(&self, name: &str) -> bool {
        self.program.rsplit('/').next() == Some(name)
    }
}

/// Every variable of this process, as it is: for what a host is started with.
pub(crate) fn inherited() -> Variables {
    std::env::vars_os().collect()
}

/// A variable that is set. One that is not UTF-8 keeps a text that no rule accepts, so that it refuses and is not taken
/// for unset.
fn variable(name: &str) -> Option<String> {
    std::env::var_os(name).map(as_text)
}

/// No argument and no variable can hold NUL, and nothing that takes either accepts it.
fn as_text(word: OsString) -> String {
    word.into_string().unwrap_or_else(|_| "\0".to_owned())
}
