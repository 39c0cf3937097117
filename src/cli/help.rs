//! The help texts. Each names only what this version does.

/// `kdna help`.
pub(crate) const OWNER: &str = "\
kdna: judgment assets attached to one project

  attach FILE.kdna --cwd DIR (--attachment-stdin | --role TEXT --applies-to TEXT... [--does-not-apply-to TEXT...]
         [--closed-world-scope] | --all-workspace) [--preview | --yes (--consent-digest DIGEST | --scope-user-approved)]
                         Approve one exact asset for one workspace. --preview shows what would be approved and changes nothing.
  attachments [--cwd DIR] [--workspace-root DIR]
                         Print the nearest attachment record.
  resolve --cwd DIR [--workspace-root DIR] (--task-stdin | --task-file FILE)
                         Decide one task: load, ask, skip or block.
  plan-load FILE [--has-password] [--entitlement-status STATUS]
                         What a load of this asset would need.
  load FILE [--profile index|compact|scenario|full] [--password-stdin]
                         Print the Runtime Capsule of an asset that may be loaded.
  inspect FILE           The manifest's facts.
  validate FILE [--runtime]
                         Run every gate and list the problems.
  host-consent [--json] [--status | --revoke | --from-workspace --host ID --processor NAME [--profile P]]
                         The recorded consent command; 'kdna-broker consent' says more.

  help, version

Exit: 0 done, 1 failed or invalid, 2 refused or not understood, 3 not loadable now.
";

/// `kdna-broker help`.
pub(crate) const BROKER: &str = "\
kdna-broker: hands a project's judgment asset to an agent host only where a person allowed it

  mcp [--tool-names dotted|portable] [--verbose]
                         Serve the three workspace tools on standard input and output (what a host starts). --verbose says
                         on standard error how each worker ended.
  consent request --host ID --processor NAME [--profile index|compact|scenario|full] [--attachment ID]
                  [--host-root DIR] [--cwd DIR] [--details]
                         Ask the person at this terminal, once, and write the answer.
                         Exit: 0 allowed, 10 declined, 11 no terminal, 2 refused.
  consent status         What is allowed now, as JSON.
  consent revoke         Take it back; loads in flight deliver nothing.
  doctor [--json]        What this machine and these coordinates allow, and what to do about what is missing. Changes nothing.
                         Exit: 0 a load could work as far as can be told from here, 1 it could not.
  demo                   The whole way in a temporary workspace: attach, refuse, ask, deliver, tamper, revoke.

  help, version

Environment of 'mcp': KDNA_MCP_WORKSPACE_ROOT (mandatory), KDNA_MCP_HOST_ID, KDNA_MCP_HOST_PROCESSING_CONSENT_FILE,
KDNA_MCP_AUTHORIZATION_FILE. KDNA_BROKER_STATE_DIR moves the broker's private state.
";
