//! The help texts. Each names only what this version does.

/// `kdna help`.
pub(crate) const OWNER: &str = "\
kdna: judgment assets attached to one project

  attach FILE.kdna --cwd DIR (--attachment-stdin | --role TEXT --applies-to TEXT... [--does-not-apply-to TEXT...]
         [--closed-world-scope] | --all-workspace) [--preview | --yes (--consent-digest DIGEST | --scope-user-approved)]
                         Approve one exact asset for one workspace. --preview shows what would be approved and changes nothing.
  attachments            The nearest attachment record: a table on a terminal, else JSON.
  enable ID, disable ID  Switch one attachment on (its stored copy is verified first) or off.
  switch ID FILE.kdna (--retain-scope | --attachment-stdin | [--role TEXT] (--applies-to TEXT... [--closed-world-scope] |
         --all-workspace) [--does-not-apply-to TEXT...]) [--from-damaged] [--preview | --yes (--consent-digest DIGEST |
         --scope-user-approved)]
                         Put another asset in the place of the attached one; the former version is kept.
                         --from-damaged leaves a version whose stored copy is missing or damaged.
  rollback ID            Go back to the version before the last switch; the present one is lost from the record.
  remove ID              Take an attachment out of the record; stored copies stay.
  cleanup [--plan-digest DIGEST --yes]
                         Show the stored copies that nothing names any more, or delete exactly those.
  doctor                 What in this workspace would be refused, and what to do about it.
                         All of these: [--cwd DIR] [--workspace-root DIR].
  resolve --cwd DIR [--workspace-root DIR] (--task-stdin | --task-file FILE) [--hardened]
          [--select-attachment ID --selection-task-digest DIGEST --selection-plan-digest DIGEST --selection-approved]
                         Decide one task: load, ask, skip or block. --hardened asks where a word denies or restricts.
  plan-load FILE [--has-password] [--entitlement-status STATUS]
                         What a load of this asset would need.
  load FILE [--profile index|compact|scenario|full|minimal] [--password-stdin]
                         Print the Runtime Capsule of an asset that may be loaded.
  inspect FILE [--json]  The manifest's facts: a card on a terminal, JSON anywhere else.
  validate FILE [--runtime]
                         Run every gate and list the problems.
                         These four: [--signatures] verify a signature entry; [--minimal] know the profile minimal.
  pack SOURCE_DIR FILE.kdna [--force]
                         Make an asset from kdna.json, payload.json (or payload.kdnab) and attachments/.
  protect SOURCE_DIR|FILE.kdna FILE.kdna [--password-stdin] [--force]
                         Make the password-protected form of a directory or an asset. The password is typed twice, or piped
                         in. Only the payload is encrypted: kdna.json and attachments stay readable.
  host-consent [--json] [--status | --revoke | --from-workspace --host ID --processor NAME [--profile P] | --input-file FILE]
                         The recorded consent command; 'kdna-broker consent' says more.

  help, version

--json-errors with any command about workspaces or consent, launch and host-config excepted: refusals as one JSON object (code, reason, message, remedy).
Exit: 0 done, 1 failed or invalid (doctor: something would be refused), 2 refused or not understood, 3 not loadable now.
";

/// `kdna-broker help`.
pub(crate) const BROKER: &str = "\
kdna-broker: hands a project's judgment asset to an agent host only where a person allowed it

  mcp [--tool-names dotted|portable] [--hardened] [--verbose]
                         Serve the three workspace tools on standard input and output (what a host starts). --verbose says
                         on standard error how each worker ended.
  consent request --host ID --processor NAME [--profile index|compact|scenario|full] [--attachment ID]
                  [--host-root DIR] [--cwd DIR] [--expires-in 30d] [--schema 0.1.0|0.2.0] [--draft-stdin] [--details]
                         Ask the person at this terminal, once, and write the answer. A host's draft on standard input is
                         compared with the workspace. Exit: 0 allowed, 10 declined, 11 no terminal, 2 refused.
  consent check --host ID --processor NAME [the same options]
                         Whether a load would be allowed now, without asking: one JSON line; exit 0 yes, 10 ask, 2 refused.
  consent list, consent status [--file PATH]
                         What is allowed now, as JSON.
  consent show [--file PATH] [--cwd DIR] [--host-root DIR]
                         The approved question again, and whether it is still the same; exit 1 if not.
  consent revoke [--file PATH]
                         Take it back; loads in flight deliver nothing. --json-errors with any of these.
  adopt [--cwd DIR] [--attachment ID]
                         Ask, once, about the attachments that came with this workspace, and remember a yes on this machine.
  launch --host ID --processor NAME [--workspace DIR] [--host-root DIR] [--profile P] [--attachment ID] [--expires-in 30d]
         [--secret-from tty|fd:N|systemd-credential:NAME|command:CMD] [--details] [--no-transcript] -- COMMAND...
                         Settle consent, obtain a password where the asset needs one, and start a host for one session.
                         Ends as the host ends; 10 declined, 11 no terminal, 2 refused.
  runtime pin --interpreter PROGRAM --package DIR --entry FILE --out FILE [--cli-version V] [--core-version V]
                         Record an external runtime, every file by digest; a server then starts exactly it or nothing.
  host-config codex|opencode|claude-code|gemini-cli|vscode|cursor [--server workspace] [--workspace DIR] [--host ID]
                         Print the entry for a host's configuration, and where to put it. Writes no file.
  doctor [--json]        What this machine and these coordinates allow, and what to do about what is missing. Changes nothing.
                         Exit: 0 a load could work as far as can be told from here, 1 it could not.
  demo                   The whole way in a temporary workspace: attach, refuse, ask, deliver, tamper, revoke.

  help, version

Environment of 'mcp': KDNA_MCP_WORKSPACE_ROOT (mandatory), KDNA_MCP_HOST_ID, KDNA_MCP_HOST_PROCESSING_CONSENT_FILE (one consent)
or KDNA_BROKER_CONSENT_DIR (a set), KDNA_BROKER_REQUIRE_LEDGER=1 (only what was approved here), KDNA_MCP_AUTHORIZATION_FILE, KDNA_BROKER_RUNTIME_PINS (an external runtime instead of the embedded one).
KDNA_BROKER_STATE_DIR moves the broker's private state.
";
