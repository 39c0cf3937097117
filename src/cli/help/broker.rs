//! The commands of `kdna-broker`, as its help describes them.

use super::{Entry, Page, entry};

/// `kdna-broker help`.
pub(crate) const BROKER: Page = Page {
    program: "kdna-broker",
    head: "kdna-broker: hands a project's judgment asset to an agent host only where a person allowed it",
    entries: &ENTRIES,
    tail: "
--json-errors with consent, adopt, launch, host-config and audit: refusals as one JSON object (code, reason, message, remedy).

Environment of 'mcp': KDNA_MCP_WORKSPACE_ROOT (mandatory), KDNA_MCP_HOST_ID, KDNA_MCP_HOST_PROCESSING_CONSENT_FILE (one consent)
or KDNA_BROKER_CONSENT_DIR (a set), KDNA_BROKER_REQUIRE_LEDGER=1 (only what was approved here), KDNA_MCP_AUTHORIZATION_FILE,
KDNA_BROKER_RUNTIME_PINS (an external runtime instead of the embedded one).
KDNA_BROKER_STATE_DIR moves the broker's private state.
",
};

const ENTRIES: [Entry; 18] = [
    entry(
        &[("mcp", "[--tool-names dotted|portable] [--hardened] [--verbose]")],
        "Serve the three workspace tools on standard input and output (what a host starts). --verbose says
on standard error how each worker ended.",
    ),
    entry(
        &[(
            "consent request",
            "--host ID --processor NAME [--profile index|compact|scenario|full] [--attachment ID]
                  [--host-root DIR] [--cwd DIR] [--expires-in 30d] [--schema 0.1.0|0.2.0] [--draft-stdin] [--details]",
        )],
        "Ask the person at this terminal, once, and write the answer. A host's draft on standard input is
compared with the workspace. Exit: 0 allowed, 10 declined, 11 no terminal, 2 refused.",
    )
    .json(),
    entry(
        &[(
            "consent check",
            "--host ID --processor NAME [--profile index|compact|scenario|full] [--attachment ID]
                [--host-root DIR] [--cwd DIR] [--expires-in 30d] [--schema 0.1.0|0.2.0]",
        )],
        "Whether a load would be allowed now, without asking: one JSON line; exit 0 yes, 10 ask, 2 refused.",
    )
    .json(),
    entry(&[("consent list", ""), ("consent status", "[--file PATH]")], "What is allowed now, as JSON.").json(),
    entry(
        &[("consent show", "[--file PATH] [--cwd DIR] [--host-root DIR]")],
        "The approved question again, and whether it is still the same; exit 1 if not. Where it cannot be made
again: what the consent says, and why it does not apply here.",
    )
    .json(),
    entry(&[("consent revoke", "[--file PATH]")], "Take it back; loads in flight deliver nothing.").json(),
    entry(
        &[("adopt", "[--cwd DIR] [--attachment ID]")],
        "Ask, once, about the attachments that came with this workspace, and remember a yes on this machine.",
    )
    .json(),
    entry(
        &[(
            "launch",
            "--host ID --processor NAME [--workspace DIR] [--host-root DIR] [--profile P] [--attachment ID] [--expires-in 30d]
         [--secret-from tty|fd:N|systemd-credential:NAME|command:CMD] [--details] [--no-transcript] -- COMMAND...",
        )],
        "Settle consent, obtain a password where the asset needs one, and start a host for one session.
Ends as the host ends; 10 declined, 11 no terminal, 2 refused.",
    )
    .json(),
    entry(
        &[(
            "runtime pin",
            "--interpreter PROGRAM --package DIR --entry FILE --out FILE [--cli-version V] [--core-version V]",
        )],
        "Record an external runtime, every file by digest; a server then starts exactly it or nothing.",
    ),
    entry(
        &[(
            "host-config",
            "codex|opencode|claude-code|gemini-cli|vscode|cursor [--server workspace] [--workspace DIR] [--host ID]",
        )],
        "Print the entry for a host's configuration, and where to put it. Writes no file.",
    )
    .json(),
    entry(
        &[("audit verify", "[--journal DIR] [--checkpoint FILE] [--json]")],
        "Whether every row of the journal is whole and chained to the one before, and whether all that a checkpoint
saw is still there. Exit: 0 it is, 1 it is not (the first bad row is named), 2 that cannot be said.",
    )
    .json(),
    entry(
        &[("audit show", "[--journal DIR] [--last N] [--event WORD]")],
        "The last rows, readable (20 where N is not given; 0: all of them).",
    )
    .json(),
    entry(
        &[("audit export", "[--journal DIR] [--after ROW]")],
        "The rows as they stand, one a line, if all of the journal verifies.",
    )
    .json(),
    entry(
        &[("audit checkpoint", "[--journal DIR] [--witness NAME]")],
        "How far the journal has come, as a document to keep where nobody of this machine can change it.",
    )
    .json(),
    entry(
        &[("doctor", "[--json]")],
        "What this machine and these coordinates allow, and what to do about what is missing. Changes nothing.
Exit: 0 a load could work as far as can be told from here, 1 it could not.",
    ),
    entry(&[("demo", "")], "The whole way in a temporary workspace: attach, refuse, ask, deliver, tamper, revoke."),
    entry(
        &[("help", "[COMMAND]")],
        "What the commands do; of one command the same as 'kdna-broker COMMAND --help'.",
    ),
    entry(&[("version", "")], "The version of this program."),
];
