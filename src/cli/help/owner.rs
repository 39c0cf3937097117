//! The commands of `kdna`, as its help describes them.

use super::{Entry, Page, Shared, entry};

const LOOKS: Shared = Shared { whose: "All of these but attach", options: "[--cwd DIR] [--workspace-root DIR]" };
const SWITCHES: Shared = Shared {
    whose: "These four",
    options: "[--signatures] verify a signature entry; [--minimal] know the profile minimal",
};

/// Recorded usage lines, as an error says them.
const LOOKED_UP: &str = "[--cwd <start>] [--workspace-root <boundary>]";
const WITH_ID: &str = "<attachment-id> [--cwd <start>] [--workspace-root <boundary>]";
const ATTACH: &str = "<file.kdna> [--cwd <workspace>] (--attachment-stdin | [--role <text>] (--applies-to <text>... \
    [--closed-world-scope] | --all-workspace) [--does-not-apply-to <text>...]) [--preview | (--yes \
    (--scope-user-approved | --consent-digest <sha256:...>))]";
const SWITCH: &str = "<attachment-id> <file.kdna> [--cwd <start>] [--workspace-root <boundary>] (--retain-scope | \
    --attachment-stdin | [--role <text>] (--applies-to <text>... [--closed-world-scope] | --all-workspace) \
    [--does-not-apply-to <text>...]) [--preview | (--yes (--scope-user-approved | --consent-digest <sha256:...>))]";
const CLEANUP: &str = "[--cwd <start>] [--workspace-root <boundary>] [--plan-digest <sha256:...> --yes]";
const RESOLVE: &str = "--cwd <start> [--workspace-root <boundary>] (--task-stdin | --task-file <file>) \
    [--adapter-schema 0.3.0] [--select-attachment <id> --selection-task-digest <sha256:...> \
    [--selection-plan-digest <sha256:...>] --selection-approved] [--defer-password-authorization]";

/// `kdna help`.
pub(crate) const OWNER: Page = Page {
    program: "kdna",
    head: "kdna: judgment assets attached to one project",
    entries: &ENTRIES,
    tail: "
--json-errors with any command about workspaces or consent, and with pack and protect: refusals as one JSON object (code, reason,
message, remedy).
Exit: 0 done, 1 failed or invalid (doctor: something would be refused), 2 refused or not understood, 3 not loadable now.
",
};

const ENTRIES: [Entry; 18] = [
    entry(
        &[(
            "attach",
            "FILE.kdna --cwd DIR (--attachment-stdin | --role TEXT --applies-to TEXT... [--does-not-apply-to TEXT...]
         [--closed-world-scope] | --all-workspace) [--preview | --yes (--consent-digest DIGEST | --scope-user-approved)]",
        )],
        "Approve one exact asset for one workspace. --preview shows what would be approved and changes nothing.",
    )
    .recorded(ATTACH)
    .json(),
    entry(&[("attachments", "")], "The nearest attachment record: a table on a terminal, else JSON.").sharing(&LOOKS).recorded(LOOKED_UP)
    .json(),
    entry(
        &[("enable", "ID"), ("disable", "ID")],
        "Switch one attachment on (its stored copy is verified first) or off.",
    )
    .sharing(&LOOKS)
    .recorded(WITH_ID)
    .json(),
    entry(
        &[(
            "switch",
            "ID FILE.kdna (--retain-scope | --attachment-stdin | [--role TEXT] (--applies-to TEXT... [--closed-world-scope] |
         --all-workspace) [--does-not-apply-to TEXT...]) [--from-damaged] [--preview | --yes (--consent-digest DIGEST |
         --scope-user-approved)]",
        )],
        "Put another asset in the place of the attached one; the former version is kept.
--from-damaged leaves a version whose stored copy is missing or damaged.",
    )
    .sharing(&LOOKS)
    .recorded(SWITCH)
    .json(),
    entry(
        &[("rollback", "ID")],
        "Go back to the version before the last switch; the present one is lost from the record.",
    )
    .sharing(&LOOKS)
    .recorded(WITH_ID)
    .json(),
    entry(&[("remove", "ID")], "Take an attachment out of the record; stored copies stay.").sharing(&LOOKS).recorded(WITH_ID)
    .json(),
    entry(
        &[("cleanup", "[--plan-digest DIGEST --yes]")],
        "Show the stored copies that nothing names any more, or delete exactly those.",
    )
    .sharing(&LOOKS)
    .recorded(CLEANUP)
    .json(),
    entry(&[("doctor", "")], "What in this workspace would be refused, and what to do about it.").sharing(&LOOKS).json(),
    entry(
        &[(
            "resolve",
            "--cwd DIR [--workspace-root DIR] (--task-stdin | --task-file FILE) [--hardened]
          [--select-attachment ID --selection-task-digest DIGEST --selection-plan-digest DIGEST --selection-approved]",
        )],
        "Decide one task: load, ask, skip or block. --hardened asks where a word denies or restricts.",
    )
    .recorded(RESOLVE)
    .json(),
    entry(
        &[("plan-load", "FILE [--has-password] [--entitlement-status STATUS]")],
        "What a load of this asset would need.",
    )
    .sharing(&SWITCHES),
    entry(
        &[("load", "FILE [--profile index|compact|scenario|full|minimal] [--password-stdin]")],
        "Print the Runtime Capsule of an asset that may be loaded.",
    )
    .sharing(&SWITCHES),
    entry(&[("inspect", "FILE [--json]")], "The manifest's facts: a card on a terminal, JSON anywhere else.")
        .sharing(&SWITCHES),
    entry(&[("validate", "FILE [--runtime]")], "Run every gate and list the problems.").sharing(&SWITCHES),
    entry(
        &[("pack", "SOURCE_DIR FILE.kdna [--force]")],
        "Make an asset from kdna.json, payload.json (or payload.kdnab) and attachments/.",
    )
    .json(),
    entry(
        &[("protect", "SOURCE_DIR|FILE.kdna FILE.kdna [--password-stdin] [--force]")],
        "Make the password-protected form of a directory or an asset. The password is typed twice, or piped
in. Only the payload is encrypted: kdna.json and attachments stay readable.",
    )
    .json(),
    entry(
        &[(
            "host-consent",
            "[--json] [--status | --revoke | --from-workspace --host ID --processor NAME [--profile P] | --input-file FILE]",
        )],
        "The recorded consent command; 'kdna-broker consent' says more.",
    )
    .json(),
    entry(
        &[("help", "[COMMAND]")],
        "What the commands do; of one command the same as 'kdna COMMAND --help'.",
    ),
    entry(&[("version", "")], "The version of this program."),
];
