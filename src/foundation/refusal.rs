//! The closed catalogue of refusals: every code on the wire, every reason behind it, its stage, its message and what
//! to do about it. A message holds no foreign byte; the one place that may add a label is [`Refusal::labelled`].
//!
//! A *code* is what the contract names (docs/contract/codes.md); a *reason* is finer and closed: one for each check.
//! `policy/refusals.json` lists the same rows for auditors; a test keeps the two equal.

use std::borrow::Cow;
use std::fmt;

macro_rules! closed {
    ($(#[$meta:meta])* $name:ident { $($variant:ident = $text:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[allow(missing_docs)]
        pub enum $name { $($variant),+ }
        impl $name {
            /// Every member, in the order of the catalogue.
            pub const ALL: &'static [$name] = &[$($name::$variant),+];
            /// The word used on the wire and in the journal.
            pub const fn as_str(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }
        }
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { f.write_str(self.as_str()) }
        }
    };
}

closed! {
    /// The codes of the contract.
    Code {
        // MCP tool errors
        WorkspaceUnavailable = "workspace_unavailable",
        WorkspaceOutsideHostRoot = "workspace_outside_host_root",
        HostWorkspaceRootChanged = "host_workspace_root_changed",
        WorkspaceHomeAmbiguous = "workspace_home_ambiguous",
        WorkspaceContractInvalid = "workspace_contract_invalid",
        WorkspaceBindingChanged = "workspace_binding_changed",
        TaskInputInvalid = "task_input_invalid",
        RuntimeUnavailable = "runtime_unavailable",
        RuntimeRejected = "runtime_rejected",
        RuntimeOutputInvalid = "runtime_output_invalid",
        ResolverContractInvalid = "resolver_contract_invalid",
        AuthorizationSourceInvalid = "authorization_source_invalid",
        AuthorizationRequired = "authorization_required",
        AuthorizationRejected = "authorization_rejected",
        HostProcessingConsentRequired = "host_processing_consent_required",
        HostProcessingConsentInvalid = "host_processing_consent_invalid",
        LocalProcessingAttestationRequired = "local_processing_attestation_required",
        HostProcessingDestinationUnknown = "host_processing_destination_unknown",
        AdapterInternalError = "adapter_internal_error",
        // codes of this product
        HostRootInvalid = "host_root_invalid",
        ArgumentsInvalid = "arguments_invalid",
        PlatformUnsupported = "platform_unsupported",
        SandboxUnavailable = "sandbox_unavailable",
        RuntimeBindingInvalid = "runtime_binding_invalid",
        JournalUnavailable = "journal_unavailable",
        ResultTooLarge = "result_too_large",
        ConsentExpired = "consent_expired",
        ConsentNotYetValid = "consent_not_yet_valid",
        ClockWentBack = "clock_went_back",
        AttachmentNotApprovedHere = "attachment_not_approved_here",
        PolicyForbids = "policy_forbids",
        SelectionReceiptSpent = "selection_receipt_spent",
        Cancelled = "cancelled",
        StateDirectoryInvalid = "state_directory_invalid",
        // attachments
        InputInvalid = "input_invalid",
        AssetInvalid = "asset_invalid",
        SnapshotMissing = "snapshot_missing",
        SnapshotDigestMismatch = "snapshot_digest_mismatch",
        AttachmentSchemaUnsupported = "attachment_schema_unsupported",
        AttachmentSchemaMigrationRequired = "attachment_schema_migration_required",
        AttachmentNotFound = "attachment_not_found",
        ApprovalRequired = "approval_required",
        ApprovalBindingChanged = "approval_binding_changed",
        HistoryEmpty = "history_empty",
        WorkspaceInvalid = "workspace_invalid",
        WorkspaceBoundaryEscape = "workspace_boundary_escape",
        WorkspaceBoundaryAmbiguous = "workspace_boundary_ambiguous",
        HomeWorkspaceAmbiguous = "home_workspace_ambiguous",
        WorkspaceRootAmbiguous = "workspace_root_ambiguous",
        WorkspaceLocked = "workspace_locked",
        StorageFailed = "storage_failed",
        CleanupUnsafePath = "cleanup_unsafe_path",
        CleanupPlanChanged = "cleanup_plan_changed",
        CleanupRecoveryRequired = "cleanup_recovery_required",
        CleanupPartial = "cleanup_partial",
        // host consent
        HostConsentCoordinateInvalid = "host_consent_coordinate_invalid",
        HostConsentUsageInvalid = "host_consent_usage_invalid",
        HostConsentInvalid = "host_consent_invalid",
        HostConsentDraftInvalid = "host_consent_draft_invalid",
        HostConsentDraftRequired = "host_consent_draft_required",
        HostConsentWorkspaceMissing = "host_consent_workspace_missing",
        HostConsentAttachmentAmbiguous = "host_consent_attachment_ambiguous",
        HostConsentConfirmationUnavailable = "host_consent_confirmation_unavailable",
        HostConsentParentInsecure = "host_consent_parent_insecure",
        // the launcher
        LaunchFailed = "launch_failed",
    }
}

closed! {
    /// Where in the work a refusal arises. The load's own stages are those of the table in `broker::checks`.
    Stage {
        Start = "start",
        Arguments = "arguments",
        Cwd = "cwd",
        Root = "root",
        Containment = "containment",
        RecordSearch = "record-search",
        HomeGuard = "home-guard",
        TaskText = "task-text",
        JournalOpen = "journal-open",
        ManagedPolicy = "managed-policy",
        Resolve = "resolve",
        ResolverContract = "resolver-contract",
        ResolutionBinding = "resolution-binding",
        Ledger = "ledger",
        Selection = "selection",
        AuthorizationSource = "authorization-source",
        ConsentRead = "consent-read",
        ConsentShape = "consent-shape",
        ConsentBinding = "consent-binding",
        Destination = "destination",
        ConsentTime = "consent-time",
        PolicyAllows = "policy-allows",
        SnapshotSeal = "snapshot-seal",
        Plan = "plan",
        BindingBeforeSecret = "binding-before-secret",
        Authorization = "authorization",
        Load = "load",
        CapsuleIdentity = "capsule-identity",
        RootAgain = "root-again",
        BindingAgain = "binding-again",
        SnapshotAgain = "snapshot-again",
        ConsentAgain = "consent-again",
        Journal = "journal",
        Deliver = "deliver",
        Record = "record",
        Attach = "attach",
        Consent = "consent",
        CommandLine = "command-line",
    }
}

macro_rules! catalogue {
    ($($variant:ident = $name:literal, $code:ident, $stage:ident, $message:literal, $remedy:literal;)+) => {
        closed! {
            /// The closed reasons: one for each check.
            Reason { $($variant = $name),+ }
        }
        impl Reason {
            /// The code this reason speaks under.
            pub const fn code(self) -> Code { match self { $(Reason::$variant => Code::$code),+ } }
            /// The stage it arises in.
            pub const fn stage(self) -> Stage { match self { $(Reason::$variant => Stage::$stage),+ } }
            /// The message, without any label.
            pub const fn message(self) -> &'static str { match self { $(Reason::$variant => $message),+ } }
            /// What a person can do about it.
            pub const fn remedy(self) -> &'static str { match self { $(Reason::$variant => $remedy),+ } }
        }
    };
}

catalogue! {
    // --- start: the workspace root (docs/contract/workspace.md)
    RootUnset = "root_unset", HostRootInvalid, Start, "The KDNA MCP Host workspace root is invalid.", "Set KDNA_MCP_WORKSPACE_ROOT to the absolute path of one project directory.";
    RootNotAbsolute = "root_not_absolute", HostRootInvalid, Start, "The KDNA MCP Host workspace root is invalid.", "Give an absolute path.";
    RootNotNormal = "root_not_normal", HostRootInvalid, Start, "The KDNA MCP Host workspace root is invalid.", "Give the path without '.', '..', doubled or trailing slashes.";
    RootMissing = "root_missing", HostRootInvalid, Start, "The KDNA MCP Host workspace root is invalid.", "Create the directory or correct the path.";
    RootNotDirectory = "root_not_directory", HostRootInvalid, Start, "The KDNA MCP Host workspace root is invalid.", "Name a directory.";
    RootSymlink = "root_symlink", HostRootInvalid, Start, "The KDNA MCP Host workspace root is invalid.", "Give the real path: neither the directory nor one above it may be a symbolic link.";
    RootUnreadable = "root_unreadable", HostRootInvalid, Start, "The KDNA MCP Host workspace root is invalid.", "Make the directory readable for this user.";
    RootIsHome = "root_is_home", HostRootInvalid, Start, "The KDNA MCP Host workspace root is invalid.", "Choose a project directory below the home directory, not the home directory itself.";
    RootIsFilesystemRoot = "root_is_filesystem_root", HostRootInvalid, Start, "The KDNA MCP Host workspace root is invalid.", "Choose a project directory.";
    RootHoldsState = "root_holds_state", HostRootInvalid, Start, "The KDNA MCP Host workspace root is invalid.", "The broker's private state lies inside this directory: choose a smaller project directory or move the state with KDNA_BROKER_STATE_DIR.";
    RootInsideState = "root_inside_state", HostRootInvalid, Start, "The KDNA MCP Host workspace root is invalid.", "This directory lies in the broker's private state: choose a project directory elsewhere or move the state with KDNA_BROKER_STATE_DIR.";
    HomeUnresolvable = "home_unresolvable", HostRootInvalid, Start, "The KDNA MCP Host workspace root is invalid.", "Neither HOME nor the account's home can be resolved: set HOME to the account's home directory.";
    StateCoordinateInvalid = "state_coordinate_invalid", StateDirectoryInvalid, Start, "The broker state directory is invalid.", "Set KDNA_BROKER_STATE_DIR to an absolute, normal path outside every workspace, or unset it.";
    StateInsecure = "state_insecure", StateDirectoryInvalid, Start, "The broker state directory is not private.", "It must be a directory of yours with mode 0700, reached without symbolic links.";
    KernelTooOld = "kernel_too_old", PlatformUnsupported, Start, "This system lacks a kernel facility that the broker requires.", "openat2 needs Linux 5.6 and Landlock Linux 5.13 or later, enabled.";
    RuntimeAbsent = "runtime_absent", RuntimeBindingInvalid, Start, "The KDNA MCP runtime binding is invalid.", "This build has no embedded runtime: pin an external one with 'kdna-broker runtime pin' and name the document in KDNA_BROKER_RUNTIME_PINS.";

    // --- tool calls: workspace (docs/contract/workspace.md)
    ArgumentsRefused = "arguments_refused", ArgumentsInvalid, Arguments, "The tool arguments are invalid.", "Send exactly the arguments that tools/list describes.";
    CwdUnavailable = "cwd_unavailable", WorkspaceUnavailable, Cwd, "The requested Host workspace is unavailable.", "Name an existing directory inside the workspace root.";
    RootChanged = "root_changed", HostWorkspaceRootChanged, Root, "The Host workspace root changed after MCP startup.", "Restart the server for the directory that is there now.";
    CwdOutsideRoot = "cwd_outside_root", WorkspaceOutsideHostRoot, Containment, "The requested workspace is outside the current Host root.", "Name a directory inside the workspace root.";
    KdnaDirectoryInvalid = "kdna_directory_invalid", WorkspaceContractInvalid, RecordSearch, "The workspace attachment directory is invalid.", ".kdna must be a real directory.";
    RecordFileInvalid = "record_file_invalid", WorkspaceContractInvalid, RecordSearch, "The workspace attachment record is invalid.", ".kdna/attachments.json must be a readable regular file on the same file system.";
    RecordInHome = "record_in_home", WorkspaceHomeAmbiguous, HomeGuard, "The home-level .kdna directory cannot act as project attachment authority.", "Attach assets to a project directory, not to the home directory.";
    RecordNotOwn = "record_not_own", WorkspaceContractInvalid, RecordSearch, "The workspace attachment record is invalid.", "In hardened mode .kdna and .kdna/attachments.json must be yours and writable by nobody else.";
    TaskNotUtf8 = "task_not_utf8", TaskInputInvalid, TaskText, "The task input is not valid UTF-8.", "Send the task as well-formed Unicode text.";
    RecordChanged = "record_changed", WorkspaceBindingChanged, BindingAgain, "The approved workspace attachment changed during loading.", "Ask again; if nobody changed the attachments, look at who writes to .kdna.";
    AttachmentChanged = "attachment_changed", WorkspaceBindingChanged, ResolutionBinding, "The approved workspace attachment changed during loading.", "The resolution does not agree with the record: ask again.";
    ScopeChanged = "scope_changed", WorkspaceBindingChanged, BindingAgain, "The approved workspace attachment changed during loading.", "The attachment's scope changed: ask again.";
    SnapshotChanged = "snapshot_changed", WorkspaceBindingChanged, SnapshotAgain, "The approved workspace attachment changed during loading.", "The stored asset is not the approved one: attach it again.";
    SnapshotUnreadable = "snapshot_unreadable", WorkspaceBindingChanged, SnapshotSeal, "The approved workspace attachment changed during loading.", "The stored asset cannot be read safely: attach it again.";
    SnapshotNotOwn = "snapshot_not_own", WorkspaceBindingChanged, SnapshotSeal, "The approved workspace attachment changed during loading.", "In hardened mode .kdna/assets and the stored asset must be yours and writable by nobody else.";
    CapsuleForeign = "capsule_foreign", WorkspaceBindingChanged, CapsuleIdentity, "The approved workspace attachment changed during loading.", "The runtime delivered another asset than the approved one; nothing was handed over.";

    // --- the delegated runtime (docs/contract/runtime.md)
    RuntimeNotStarted = "runtime_not_started", RuntimeUnavailable, Load, "The pinned KDNA CLI runtime is unavailable.", "The runtime process could not be started.";
    RuntimeDeadline = "runtime_deadline", RuntimeUnavailable, Load, "The pinned KDNA CLI runtime is unavailable.", "The runtime took longer than 30 seconds and was ended.";
    RuntimeOutputTooLarge = "runtime_output_too_large", RuntimeUnavailable, Load, "The pinned KDNA CLI runtime is unavailable.", "The runtime wrote more than 16 MiB and was ended.";
    RuntimeDied = "runtime_died", RuntimeUnavailable, Load, "The pinned KDNA CLI runtime is unavailable.", "The runtime was ended by a signal: a limit was reached or a forbidden call was made.";
    RuntimeRefused = "runtime_refused", RuntimeRejected, Load, "The pinned KDNA CLI rejected the request.", "Try 'kdna resolve', 'kdna plan-load' or 'kdna load' to see why.";
    RecordRefused = "record_refused", RuntimeRejected, Resolve, "The pinned KDNA CLI rejected the request.", "Run 'kdna attachments' to see what is wrong with the record.";
    TaskRefused = "task_refused", RuntimeRejected, Resolve, "The pinned KDNA CLI rejected the request.", "Send a task that is not blank.";
    RuntimeOutputRefused = "runtime_output_refused", RuntimeOutputInvalid, Load, "The pinned KDNA CLI returned invalid output.", "The runtime's reply is not the document that the contract describes.";
    ResolutionRefused = "resolution_refused", ResolverContractInvalid, ResolverContract, "The official resolver returned an invalid contract.", "The resolver's reply is not the document that the contract describes.";
    SelectionSpent = "selection_spent", SelectionReceiptSpent, Selection, "The one-task selection was used before.", "A selection holds for one delivery: put the task in other words and choose again.";
    SelectionsFull = "selections_full", SelectionReceiptSpent, Selection, "No further one-task selection can be used in this session.", "Restart the server: it remembers 1024 used selections and forgets none.";
    SandboxIncomplete = "sandbox_incomplete", SandboxUnavailable, Load, "The runtime sandbox could not be set up.", "Run 'kdna-broker mcp --verbose' to see which measure failed.";
    PinsCoordinateInvalid = "pins_coordinate_invalid", RuntimeBindingInvalid, Start, "The KDNA MCP runtime binding is invalid.", "KDNA_BROKER_RUNTIME_PINS must be the absolute, normal path of a runtime-pins document; unset it to use the embedded runtime.";
    PinsNotPrivate = "pins_not_private", RuntimeBindingInvalid, Start, "The KDNA MCP runtime binding is invalid.", "The runtime pins must be a regular file of yours with mode 0600 in a directory of yours with mode 0700, reached without symbolic links.";
    PinsInsideWorkspace = "pins_inside_workspace", RuntimeBindingInvalid, Start, "The KDNA MCP runtime binding is invalid.", "Keep the runtime pins outside the workspace: what a host may write must not choose the runtime.";
    PinsMalformed = "pins_malformed", RuntimeBindingInvalid, Start, "The KDNA MCP runtime binding is invalid.", "The runtime pins are not the document that 'kdna-broker runtime pin' writes: pin the runtime again.";
    PinsVersionUnknown = "pins_version_unknown", RuntimeBindingInvalid, Start, "The KDNA MCP runtime binding is invalid.", "The type or version of the runtime pins is not read by this program: pin the runtime again.";
    InterpreterChanged = "interpreter_changed", RuntimeBindingInvalid, Start, "The KDNA MCP runtime binding is invalid.", "The pinned interpreter is not the program that was pinned: if you updated it, pin the runtime again.";
    LibraryInsecure = "library_insecure", RuntimeBindingInvalid, Start, "The KDNA MCP runtime binding is invalid.", "A loader or library of the interpreter, or a directory above it, does not belong to root, can be written by others, or has another mode than the pinned one.";
    LibraryMissing = "library_missing", RuntimeBindingInvalid, Start, "The KDNA MCP runtime binding is invalid.", "A loader or library of the interpreter was not found in the system's library directories.";
    PackageFileChanged = "package_file_changed", RuntimeBindingInvalid, Start, "The KDNA MCP runtime binding is invalid.", "A file of the pinned package is not the one that was pinned: install the package again, or pin the new one after looking at it.";
    PackageFileAdded = "package_file_added", RuntimeBindingInvalid, Start, "The KDNA MCP runtime binding is invalid.", "The package holds a file that was not pinned: remove it, or pin the runtime again after looking at it.";
    PackageFileMissing = "package_file_missing", RuntimeBindingInvalid, Start, "The KDNA MCP runtime binding is invalid.", "A file of the pinned package is missing: install the package again.";
    PackageSpecialFile = "package_special_file", RuntimeBindingInvalid, Start, "The KDNA MCP runtime binding is invalid.", "The package holds a device, socket or FIFO: remove it.";
    PackageUnreadable = "package_unreadable", RuntimeBindingInvalid, Start, "The KDNA MCP runtime binding is invalid.", "The package must be a directory that this user can read, on one file system, reached without symbolic links, with names in UTF-8.";
    PackageTooLarge = "package_too_large", RuntimeBindingInvalid, Start, "The KDNA MCP runtime binding is invalid.", "A runtime may have 20000 files of at most 512 MiB in 64 directories below each other, and 60 libraries.";
    RequestNotPublic = "request_not_public", RuntimeBindingInvalid, Load, "The KDNA MCP runtime binding is invalid.", "The pinned external runtime has no command for this request.";
    InterpreterScript = "interpreter_is_script", RuntimeBindingInvalid, CommandLine, "The runtime cannot be pinned.", "A script names its interpreter by path, which another program could take: pin the program itself, for example /usr/bin/node.";
    InterpreterNotProgram = "interpreter_not_program", RuntimeBindingInvalid, CommandLine, "The runtime cannot be pinned.", "The interpreter must be an executable ELF program for this machine that this user can read.";
    PackageLinkLeaves = "package_link_leaves", RuntimeBindingInvalid, CommandLine, "The runtime cannot be pinned.", "A symbolic link of the package leads out of it: replace it by a copy.";
    PackageOpenToOthers = "package_open_to_others", RuntimeBindingInvalid, CommandLine, "The runtime cannot be pinned.", "Everybody may write to a file or a directory of the package: take that permission away (chmod -R o-w).";
    PackageEntryMissing = "package_entry_missing", RuntimeBindingInvalid, CommandLine, "The runtime cannot be pinned.", "--entry must name a regular file in the package, relative to it.";
    PinVersionsUnknown = "pin_versions_unknown", RuntimeBindingInvalid, CommandLine, "The runtime cannot be pinned.", "No package.json names a version: give --cli-version and --core-version.";
    PinsNotWritten = "pins_not_written", RuntimeBindingInvalid, CommandLine, "The runtime cannot be pinned.", "--out must be a new file or an earlier pin, in a directory of yours with mode 0700, outside the package.";

    // --- authorization and consent (docs/contract/consent.md)
    AuthorizationFileInvalid = "authorization_file_invalid", AuthorizationSourceInvalid, AuthorizationSource, "The process authorization source is invalid.", "The password file must be a regular file of yours with mode 0600, outside the workspace.";
    AssetNotAuthorized = "asset_not_authorized", AuthorizationRequired, Authorization, "The selected asset is not authorized for loading.", "The asset needs an authorization that this server does not have.";
    PasswordRejected = "password_rejected", AuthorizationRejected, Load, "The process authorization source did not authorize the load.", "The password does not open this asset.";
    ConsentNotConfigured = "consent_not_configured", HostProcessingConsentRequired, ConsentRead, "Host processing consent is required before any Runtime Capsule delivery.", "Run 'kdna-broker consent request --host ID --processor NAME' in the workspace, and give the server the values that it prints (KDNA_BROKER_CONSENT_DIR or KDNA_MCP_HOST_PROCESSING_CONSENT_FILE).";
    ConsentParentInsecure = "consent_parent_insecure", HostProcessingConsentRequired, ConsentRead, "Host processing consent is required before any Runtime Capsule delivery.", "The directory of the consent document must be yours with mode 0700, reached without symbolic links.";
    ConsentParentMissing = "consent_parent_missing", HostProcessingConsentRequired, ConsentRead, "Host processing consent is required before any Runtime Capsule delivery.", "The directory of the consent document must exist when the server starts: 'kdna-broker consent request', with the same KDNA_BROKER_CONSENT_DIR or KDNA_MCP_HOST_PROCESSING_CONSENT_FILE, makes it; restart the server afterwards.";
    ConsentInsideWorkspace = "consent_inside_workspace", HostProcessingConsentRequired, ConsentRead, "Host processing consent is required before any Runtime Capsule delivery.", "Keep the consent document, or the directory of consents, outside the workspace.";
    ConsentParentChanged = "consent_parent_changed", HostProcessingConsentInvalid, ConsentRead, "The Host processing consent is invalid or unavailable.", "The directory of the consent document was replaced: restart the server.";
    ConsentMissing = "consent_missing", HostProcessingConsentInvalid, ConsentRead, "The Host processing consent is invalid or unavailable.", "Nobody has allowed this yet, or it was revoked: run 'kdna-broker consent request --host ID --processor NAME'.";
    ConsentNotInSet = "consent_not_in_set", HostProcessingConsentRequired, ConsentRead, "Host processing consent is required before any Runtime Capsule delivery.", "Nobody has allowed this yet, or it was revoked: run 'kdna-broker consent request --host ID --processor NAME' in the workspace.";
    ConsentNotPrivate = "consent_not_private", HostProcessingConsentInvalid, ConsentRead, "The Host processing consent is invalid or unavailable.", "The consent document must be a regular file of yours, mode 0600, with one link, at most 16 KiB.";
    ConsentChangedWhileRead = "consent_changed_while_read", HostProcessingConsentInvalid, ConsentRead, "The Host processing consent is invalid or unavailable.", "Ask again.";
    ConsentNotJson = "consent_not_json", HostProcessingConsentInvalid, ConsentRead, "The Host processing consent is invalid or unavailable.", "Run 'kdna-broker consent request --host ID --processor NAME' to write a new one.";
    ConsentAmbiguousJson = "consent_ambiguous_json", HostProcessingConsentInvalid, ConsentRead, "The Host processing consent is invalid or unavailable.", "The document repeats a key or is nested too deeply: run 'kdna-broker consent request --host ID --processor NAME' to write a new one.";
    HostIdInvalid = "host_id_invalid", HostProcessingConsentInvalid, ConsentShape, "The Host processing consent is invalid.", "Set KDNA_MCP_HOST_ID to 1 to 128 characters of a-z 0-9 . _ -, beginning with a letter or digit.";
    ConsentFieldsWrong = "consent_fields_wrong", HostProcessingConsentInvalid, ConsentShape, "The Host processing consent is invalid.", "The document has missing or unknown fields: run 'kdna-broker consent request --host ID --processor NAME'.";
    ConsentVersionUnknown = "consent_version_unknown", HostProcessingConsentInvalid, ConsentShape, "The Host processing consent is invalid.", "The document's type or version is not read by this server.";
    ConsentNonceInvalid = "consent_nonce_invalid", HostProcessingConsentInvalid, ConsentShape, "The Host processing consent is invalid.", "Run 'kdna-broker consent request --host ID --processor NAME' to write a new one.";
    ConsentApprovalMissing = "consent_approval_missing", HostProcessingConsentInvalid, ConsentShape, "The Host processing consent is invalid.", "The document does not say that a person approved: run 'kdna-broker consent request --host ID --processor NAME'.";
    ConsentForOtherHost = "consent_for_other_host", HostProcessingConsentInvalid, ConsentBinding, "The Host processing consent is invalid.", "The consent names another host: ask for one for this host.";
    ConsentForOtherRoot = "consent_for_other_root", HostProcessingConsentInvalid, ConsentBinding, "The Host processing consent is invalid.", "The consent is for another workspace root: ask for one for this root.";
    ConsentForOtherWorkspace = "consent_for_other_workspace", HostProcessingConsentInvalid, ConsentBinding, "The Host processing consent is invalid.", "The consent is for a record in another directory: ask for one for this one.";
    ConsentForOtherAsset = "consent_for_other_asset", HostProcessingConsentInvalid, ConsentBinding, "The Host processing consent is invalid.", "The consent is for another asset or version: ask again.";
    ConsentForOtherUse = "consent_for_other_use", HostProcessingConsentInvalid, ConsentBinding, "The Host processing consent is invalid.", "The consent is for another attachment or scope: ask again.";
    ConsentForOtherAttachment = "consent_for_other_attachment", HostProcessingConsentInvalid, ConsentBinding, "The Host processing consent is invalid.", "The consent is for another attachment: ask again.";
    ConsentForOtherScope = "consent_for_other_scope", HostProcessingConsentInvalid, ConsentBinding, "The Host processing consent is invalid.", "The attachment's scope is not the one that was allowed: ask again.";
    ConsentEntryChanged = "consent_entry_changed", HostProcessingConsentInvalid, ConsentBinding, "The Host processing consent is invalid.", "The attachment was changed after the consent was given (its role, its state, its version, its history): ask again.";
    ConsentOlderThanChange = "consent_older_than_change", HostProcessingConsentInvalid, ConsentBinding, "The Host processing consent is invalid.", "The attachment was switched, rolled back, disabled or enabled after the consent was given: ask again.";
    ConsentTakenBack = "consent_taken_back", HostProcessingConsentInvalid, ConsentBinding, "The Host processing consent is invalid.", "This consent was revoked; a copy of it allows nothing: ask again.";
    ConsentForOtherProfile = "consent_for_other_profile", HostProcessingConsentInvalid, ConsentBinding, "The Host processing consent is invalid.", "The consent is for another capsule profile: request that profile or ask again.";
    ConsentBoundaryInvalid = "consent_boundary_invalid", HostProcessingConsentInvalid, ConsentShape, "The Host processing consent is invalid.", "The document names no destination: run 'kdna-broker consent request --host ID --processor NAME'.";
    ConsentTimesInvalid = "consent_times_invalid", HostProcessingConsentInvalid, ConsentShape, "The Host processing consent is invalid.", "The document's times are no UTC times, or it ends before it begins: run 'kdna-broker consent request --host ID --processor NAME'.";
    DestinationUnattested = "destination_unattested", LocalProcessingAttestationRequired, Destination, "This adapter cannot accept a Host's unverified local-only claim.", "Name the processor that will receive the content.";
    DestinationUnknown = "destination_unknown", HostProcessingDestinationUnknown, Destination, "The Host processing destination is unknown.", "Name one processor with 1 to 256 characters.";
    ConsentIssuedLater = "consent_issued_later", ConsentNotYetValid, ConsentTime, "The Host processing consent is not valid yet.", "It was given at a later time than this machine's clock shows: set the clock, or ask again.";
    ConsentEnded = "consent_ended", ConsentExpired, ConsentTime, "The Host processing consent has expired.", "Ask again: run 'kdna-broker consent request --host ID --processor NAME'.";
    ClockBehindJournal = "clock_behind_journal", ClockWentBack, ConsentTime, "The clock went back behind the last recorded event.", "Set this machine's clock; until then a consent's end cannot be judged. If a row was written while the clock was ahead, move the journal away and start the server again.";
    ConsentChanged = "consent_changed", HostProcessingConsentInvalid, ConsentAgain, "The Host processing consent is invalid or changed.", "The consent was replaced or revoked while the load ran; nothing was handed over.";

    // --- journal, policy, delivery
    ManagedPolicyUnread = "managed_policy_unread", PolicyForbids, ManagedPolicy, "The managed policy of this machine does not allow the load.", "/etc/kdna-broker/policy.json is there and cannot be read, or is not the document that this version knows; it is never ignored: ask whoever manages this machine.";
    ManagedPolicyInsecure = "managed_policy_insecure", PolicyForbids, ManagedPolicy, "The managed policy of this machine does not allow the load.", "/etc/kdna-broker/policy.json, or a directory above it, does not belong to root or can be written by others: ask whoever manages this machine.";
    PolicyHostForbidden = "policy_host_forbidden", PolicyForbids, PolicyAllows, "The managed policy of this machine does not allow the load.", "/etc/kdna-broker/policy.json does not list this host: ask whoever manages this machine.";
    PolicyProcessorForbidden = "policy_processor_forbidden", PolicyForbids, PolicyAllows, "The managed policy of this machine does not allow the load.", "/etc/kdna-broker/policy.json does not list this destination: ask whoever manages this machine.";
    PolicyAssetRevoked = "policy_asset_revoked", PolicyForbids, PolicyAllows, "The managed policy of this machine does not allow the load.", "/etc/kdna-broker/policy.json names this asset as revoked: ask whoever manages this machine.";
    PolicyConsentRevoked = "policy_consent_revoked", PolicyForbids, PolicyAllows, "The managed policy of this machine does not allow the load.", "/etc/kdna-broker/policy.json names this consent as revoked: ask again, or ask whoever manages this machine.";
    PolicyConsentAge = "policy_consent_age", PolicyForbids, PolicyAllows, "The managed policy of this machine does not allow the load.", "/etc/kdna-broker/policy.json limits how long a consent holds, and this one is older or tells no time: ask again with a shorter --expires-in.";
    PolicyEnforcement = "policy_enforcement", PolicyForbids, PolicyAllows, "The managed policy of this machine does not allow the load.", "/etc/kdna-broker/policy.json asks for a stronger sandbox than this machine gave the runtime.";
    LedgerUnreadable = "ledger_unreadable", AttachmentNotApprovedHere, Ledger, "The ledger of approved attachments cannot be read.", "attachment-ledger.json in the broker's state directory must be a private file of yours, as this program wrote it. Move a damaged one away; then 'kdna-broker adopt' in each workspace.";
    AttachmentNotInLedger = "attachment_not_in_ledger", AttachmentNotApprovedHere, Ledger, "The attachment was not approved by this person on this machine.", "If you want it, run 'kdna-broker adopt' in the workspace: a record that came with a repository approves nothing.";
    LedgerEntryOther = "ledger_entry_other", AttachmentNotApprovedHere, Ledger, "The attachment was not approved by this person on this machine.", "It is not the entry that was approved here: look with 'kdna attachments', then run 'kdna-broker adopt'.";
    LedgerNotWritten = "ledger_not_written", StorageFailed, Consent, "The ledger of approved attachments could not be written.", "Make the broker's state directory private and writable, then run 'kdna-broker adopt' in the workspace.";
    AdoptionTooMany = "adoption_too_many", HostConsentAttachmentAmbiguous, Consent, "More attachments are not approved here than one question can show.", "Adopt them one by one: 'kdna-broker adopt --attachment ID'.";
    JournalUnwritable = "journal_unwritable", JournalUnavailable, JournalOpen, "The journal cannot be written.", "A load that cannot be recorded is not delivered: free space, or make the state directory private and writable.";
    JournalTorn = "journal_torn", JournalUnavailable, JournalOpen, "The journal cannot be continued.", "A row or a segment is missing, damaged or does not chain: keep the files for inspection, move them away and start the server again.";
    JournalUnreadable = "journal_unreadable", JournalUnavailable, CommandLine, "The journal cannot be read.", "Name the directory that holds journal-000001.jsonl. It must be yours alone (0700, its files 0600), a copy too.";
    JournalDamaged = "journal_damaged", JournalUnavailable, CommandLine, "The journal does not verify.", "Keep the files as they are for inspection. 'kdna-broker audit verify' names the place.";
    OutcomeNotRecorded = "outcome_not_recorded", JournalUnavailable, Journal, "The journal cannot be written.", "The outcome could not be recorded; nothing was handed over.";
    ResultOverLimit = "result_over_limit", ResultTooLarge, Deliver, "The result is larger than one message may be (8 MiB).", "Request a smaller profile (index or compact).";
    CallCancelled = "call_cancelled", Cancelled, Deliver, "The call was cancelled.", "Nothing was handed over.";
    Internal = "internal", AdapterInternalError, Deliver, "The KDNA adapter could not complete the request.", "Please report it with the journal's row.";

    // --- the record (docs/contract/record.md); labelled messages carry the field's place
    RecordNotJson = "record_not_json", AttachmentSchemaUnsupported, Record, "Workspace attachment record is not valid JSON.", "Restore the record from a backup, or remove .kdna and attach again.";
    RecordMigration = "record_migration", AttachmentSchemaMigrationRequired, Record, "Workspace attachment schema is an unreleased historical candidate; re-attach under schema 0.3.0 so switch history preserves exact policy and open/closed-world applicability.", "Remove .kdna and attach again.";
    RecordShape = "record_shape", AttachmentSchemaUnsupported, Record, "Unsupported workspace attachment document or schema.", "Restore the record from a backup, or remove .kdna and attach again.";
    RecordTooLarge = "record_too_large", AttachmentSchemaUnsupported, Record, "Workspace attachment record exceeds its size limit.", "Remove attachments that are no longer used.";
    KdnaDirectoryIrregular = "kdna_directory_irregular", AttachmentSchemaUnsupported, RecordSearch, "Workspace attachment directory is not a regular directory.", ".kdna must be a real directory.";
    RecordFileIrregular = "record_file_irregular", AttachmentSchemaUnsupported, RecordSearch, "Workspace attachment record is not a regular file.", ".kdna/attachments.json must be a regular file.";
    RecordUninspectable = "record_uninspectable", AttachmentSchemaUnsupported, RecordSearch, "Workspace attachment record cannot be inspected.", "Make .kdna readable for this user.";
    RecordUnsafe = "record_unsafe", AssetInvalid, Record, "Workspace attachment record could not be read safely.", "It must be a regular file of at most 1 MiB that nobody changes while it is read.";
    SnapshotNotFound = "snapshot_not_found", SnapshotMissing, Resolve, "Workspace snapshot was not found.", "Attach the asset again.";
    SnapshotIrregular = "snapshot_irregular", AssetInvalid, Resolve, "Workspace snapshot is not a regular readable file.", "Attach the asset again.";
    SnapshotOtherBytes = "snapshot_other_bytes", SnapshotDigestMismatch, Resolve, "Workspace snapshot digest differs from the attachment record.", "Remove the damaged file below .kdna/assets ('kdna doctor' names it), then attach the asset again.";
    SnapshotNotAsset = "snapshot_not_asset", AssetInvalid, Resolve, "Workspace snapshot is not a valid KDNA container.", "Attach a valid asset.";
    SnapshotOtherIdentity = "snapshot_other_identity", AssetInvalid, Resolve, "Workspace snapshot identity or LoadPlan is invalid.", "Attach a valid asset.";

    // --- locating a workspace and attaching (docs/contract/record.md)
    DirectoryMissing = "directory_missing", WorkspaceInvalid, Cwd, "Working directory does not exist.", "Name an existing directory.";
    DirectoryIrregular = "directory_irregular", WorkspaceInvalid, Cwd, "Working directory must be a regular directory.", "Name a directory that is not a symbolic link.";
    BoundaryEscape = "boundary_escape", WorkspaceBoundaryEscape, Containment, "Working directory must stay inside the explicit workspace root boundary.", "Name a directory inside --workspace-root.";
    HomeAmbiguous = "home_ambiguous", HomeWorkspaceAmbiguous, HomeGuard, "The home-level .kdna directory cannot act as project attachment authority.", "Use a project directory.";
    BoundaryAmbiguous = "boundary_ambiguous", WorkspaceBoundaryAmbiguous, HomeGuard, "An implicit HOME or filesystem-root record cannot act as project attachment authority.", "Use a project directory.";
    RootAmbiguous = "root_ambiguous", WorkspaceRootAmbiguous, Attach, "The filesystem root cannot act as project attachment authority.", "Use a project directory.";
    MutationRootChanged = "mutation_root_changed", WorkspaceBindingChanged, Attach, "The exact workspace root changed after attachment approval.", "Preview again.";
    SourceNotKdna = "source_not_kdna", AssetInvalid, Attach, "Attachment source must be an explicit .kdna file.", "Name a file that ends in .kdna.";
    SourceUnsafe = "source_unsafe", AssetInvalid, Attach, "Attachment source must be a bounded regular non-symlink .kdna file.", "Name a regular file of 1 byte to 256 MiB.";
    SourceNotContainer = "source_not_container", AssetInvalid, Attach, "Attachment source is not a valid KDNA container.", "Run 'kdna validate' on the file.";
    SourceNotPlannable = "source_not_plannable", AssetInvalid, Attach, "Attachment source does not produce a valid identity and LoadPlan.", "Run 'kdna plan-load' on the file.";
    PhraseUnbounded = "phrase_unbounded", InputInvalid, Attach, "Scope phrases must be non-empty bounded strings.", "Use phrases of 1 to 4096 characters.";
    PhraseNotText = "phrase_not_text", InputInvalid, Attach, "Scope phrases must be strings.", "Write each phrase as a JSON string.";
    PhraseRepeated = "phrase_repeated", InputInvalid, Attach, "Scope phrases must be unique.", "Remove the phrase that says the same.";
    PhraseTooMany = "phrase_too_many", InputInvalid, Attach, "Too many scope phrases.", "Use at most 256 phrases.";
    PhraseDeceptive = "phrase_deceptive", InputInvalid, Attach, "Role and scope phrases must not hold control, invisible or reordering characters.", "Write the text without such characters.";
    ScopeNotExecutable = "scope_not_executable", InputInvalid, Attach, "Attachment scope requires positive task hints or an explicit all-workspace authorization.", "Give at least one applies_to phrase, or choose all_workspace.";
    RoleUnbounded = "role_unbounded", InputInvalid, Attach, "Attachment role must be a meaningful bounded value approved for this workspace.", "Give a role of at most 512 characters.";
    AttachmentLimit = "attachment_limit", InputInvalid, Attach, "Workspace attachment limit reached.", "Remove attachments that are no longer used.";
    ApprovalNotInteractive = "approval_not_interactive", ApprovalRequired, Attach, "Non-interactive attachment approval requires --yes.", "Run with --preview, then with --yes --consent-digest DIGEST.";
    ApprovalWindowTooSmall = "approval_window_too_small", ApprovalRequired, Attach, "The terminal's window is too small to show what would be attached.", "Enlarge it, or run with --preview, then with --yes --consent-digest DIGEST.";
    ApprovalDeclined = "approval_declined", ApprovalRequired, Attach, "Attachment approval was not granted.", "Nothing was changed.";
    ApprovalDrift = "approval_drift", ApprovalBindingChanged, Attach, "The attachment workspace, asset, role, scope, or authorization facts changed after preview.", "Preview again and confirm the new digest.";
    ApprovalAssetChanged = "approval_asset_changed", ApprovalBindingChanged, Attach, "The exact attachment asset changed after approval.", "Preview again.";
    SnapshotNameTaken = "snapshot_name_taken", SnapshotDigestMismatch, Attach, "Existing workspace snapshot digest does not match its name.", "Remove the damaged file below .kdna/assets ('kdna doctor' names it), then try again.";
    StorageIrregular = "storage_irregular", WorkspaceInvalid, Attach, "Workspace attachment storage must be a regular directory.", ".kdna and .kdna/assets must be real directories.";
    GitignoreIrregular = "gitignore_irregular", WorkspaceInvalid, Attach, ".kdna/.gitignore must be a regular file.", "Replace it by a regular file or remove it.";
    RecordLocked = "record_locked", WorkspaceLocked, Attach, "Another workspace attachment mutation holds the lock.", "Try again when the other command has ended.";
    WriteFailed = "write_failed", StorageFailed, Attach, "The change could not be stored; what was there before is unchanged.", "Free space or make the directory writable, then try again.";

    // --- changing what is attached (docs/contract/commands.md)
    RecordNotFound = "record_not_found", AttachmentNotFound, Record, "No workspace attachment record was found.", "Name the project with --cwd, or attach an asset first: 'kdna attach FILE --cwd DIR --role TEXT --applies-to TEXT'.";
    AttachmentIdInvalid = "attachment_id_invalid", InputInvalid, Attach, "Attachment ID must be att_ plus 24 lowercase hexadecimal characters.", "'kdna attachments' lists the ids.";
    AttachmentUnknown = "attachment_unknown", AttachmentNotFound, Attach, "The attachment was not found.", "'kdna attachments' lists the ids.";
    AttachmentMoved = "attachment_moved", ApprovalBindingChanged, Attach, "The attachment record or policy changed after switch approval.", "Look with 'kdna attachments', then try again.";
    HistoryMissing = "history_missing", HistoryEmpty, Attach, "Attachment has no retained version.", "Only an attachment that was switched can be rolled back.";
    SwitchDrift = "switch_drift", ApprovalBindingChanged, Attach, "The switch workspace, old/new asset, role, scope, or authorization facts changed after preview.", "Preview again and confirm the new digest.";
    CleanupPathUnsafe = "cleanup_path_unsafe", CleanupUnsafePath, Attach, "Workspace snapshot storage holds something that is not a regular file.", "Look at .kdna/assets and remove what does not belong there; 'kdna doctor' names it.";
    CleanupSnapshotOther = "cleanup_snapshot_other", SnapshotDigestMismatch, Attach, "Workspace managed snapshot digest does not match its name.", "Remove the damaged file below .kdna/assets; 'kdna doctor' names it.";
    CleanupPlanOther = "cleanup_plan_other", CleanupPlanChanged, Attach, "Cleanup plan changed or was not the exact preview; run cleanup preview again.", "Run 'kdna cleanup' again and confirm the new digest.";
    CleanupUnrecoverable = "cleanup_unrecoverable", CleanupRecoveryRequired, Attach, "An interrupted cleanup could not be recovered.", "Look into .kdna/.cleanup-staging-*: move the snapshots in it back to .kdna/assets and remove the directory.";
    CleanupIncomplete = "cleanup_incomplete", CleanupPartial, Attach, "Cleanup deleted only some of the snapshots; the others were put back.", "Make .kdna writable, then run 'kdna cleanup' again.";

    // --- host consent commands (docs/contract/consent.md)
    ConsentCoordinate = "consent_coordinate", HostConsentCoordinateInvalid, Consent, "KDNA_MCP_HOST_PROCESSING_CONSENT_FILE must name one absolute regular-file path.", "Give an absolute path without '.', '..' or a trailing slash.";
    ConsentUsage = "consent_usage", HostConsentUsageInvalid, Consent, "The consent command cannot be understood.", "See 'kdna help' and 'kdna-broker help'.";
    ConsentFileInvalid = "consent_file_invalid", HostConsentInvalid, Consent, "The Host processing consent file must be one private regular file.", "Name a consent document; it must be a regular file of yours with mode 0600. Any other file is left alone.";
    ConsentFileNotJson = "consent_file_not_json", HostConsentInvalid, Consent, "The Host processing consent document is not valid JSON.", "If it is a damaged consent, remove it with 'kdna-broker consent revoke --file PATH'.";
    ConsentDraftInvalid = "consent_draft_invalid", HostConsentDraftInvalid, Consent, "The Host consent request is invalid.", "Correct the named field.";
    ConsentDraftMismatch = "consent_draft_mismatch", HostConsentDraftInvalid, Consent, "The Host consent draft says something else than the workspace.", "Nothing was shown: write the draft from the record as it is now, or leave it out; the facts come from the workspace.";
    ConsentLifetimeInvalid = "consent_lifetime_invalid", HostConsentUsageInvalid, Consent, "The lifetime of a consent is a number and one of m, h, d.", "Write --expires-in 30d, 12h or 45m; at most 3660 days.";
    ConsentDraftNeeded = "consent_draft_needed", HostConsentDraftRequired, Consent, "Host consent needs a draft on standard input, or --from-workspace.", "Use --from-workspace --host ID --processor NAME, or 'kdna-broker consent request'.";
    ConsentWorkspaceMissing = "consent_workspace_missing", HostConsentWorkspaceMissing, Consent, "No KDNA workspace attachment record was found from the current directory.", "Attach an asset first: 'kdna attach FILE --cwd . --role TEXT --applies-to TEXT'.";
    ConsentAttachmentAmbiguous = "consent_attachment_ambiguous", HostConsentAttachmentAmbiguous, Consent, "Host processing consent requires exactly one enabled workspace attachment.", "Leave exactly one enabled, or name one with the option --attachment ID of 'kdna-broker consent request'.";
    ConsentNoTerminal = "consent_no_terminal", HostConsentConfirmationUnavailable, Consent, "Host processing consent requires an interactive Allow/Decline confirmation; no terminal is available.", "Run the command in a terminal.";
    ConsentWindowTooSmall = "consent_window_too_small", HostConsentConfirmationUnavailable, Consent, "The terminal's window is too small to show host, destination and question at once.", "Enlarge it to 24 rows of 80 columns or more, then run the command again.";
    ConsentAskedTooOften = "consent_asked_too_often", HostConsentConfirmationUnavailable, Consent, "Three questions were declined; nobody is asked for a minute.", "Wait a minute. If you did not start these commands, look at what asks in your name.";
    ConsentAskedByHost = "consent_asked_by_host", HostConsentConfirmationUnavailable, Consent, "Consent is not asked for below a host's session or a server.", "Run the command yourself, in a terminal that no agent host controls.";
    ConsentAskerUnknown = "consent_asker_unknown", HostConsentConfirmationUnavailable, Consent, "It cannot be told what started this command.", "The processes above it must be readable in /proc.";
    ConsentForOtherProcessor = "consent_for_other_processor", HostProcessingConsentInvalid, ConsentBinding, "The Host processing consent is invalid.", "The consent names another destination: ask for one for this destination.";
    ConsentChoiceNeeded = "consent_choice_needed", HostConsentUsageInvalid, Consent, "Several consents are stored; say which one is meant.", "'kdna-broker consent list' names them: give the file with --file PATH.";
    ConsentDirectoryInsecure = "consent_directory_insecure", HostConsentParentInsecure, Consent, "The Host processing consent parent directory must be private and symlink-free.", "Make it yours with mode 0700.";
    ConsentPlaceInWorkspace = "consent_place_in_workspace", HostConsentParentInsecure, Consent, "The Host processing consent parent directory must be private and symlink-free.", "Keep the consent outside the workspace root: name another file in KDNA_MCP_HOST_PROCESSING_CONSENT_FILE.";
    RevocationNotDurable = "revocation_not_durable", StorageFailed, Consent, "The consent was removed, but the removal may not survive a power loss.", "Run 'kdna-broker consent revoke' again.";

    // --- the launcher (docs/contract/launch.md)
    SessionNested = "session_nested", LaunchFailed, CommandLine, "This is a session of the launcher already.", "Start the host from a terminal of yours, not from within a host.";
    SessionPlaceMissing = "session_place_missing", LaunchFailed, Start, "There is no private place in memory for the session.", "Have XDG_RUNTIME_DIR name a directory of yours with mode 0700 on a tmpfs, or provide /dev/shm.";
    SessionNotMade = "session_not_made", LaunchFailed, Start, "The session's directory could not be made.", "Free memory, or look at who writes to XDG_RUNTIME_DIR or /dev/shm.";
    HostNotFound = "host_not_found", LaunchFailed, CommandLine, "The host's command was not found.", "Give its path, or put its directory into PATH as an absolute path.";
    HostNotStarted = "host_not_started", LaunchFailed, Start, "The host's command could not be started.", "Look at its permissions, and at the program that its first line names.";
    TranscriptFlagUnknown = "transcript_flag_unknown", LaunchFailed, CommandLine, "This host has no known flag that keeps no transcript.", "Leave --no-transcript out, and expect that the host keeps what it receives.";
    SecretSourceUnreadable = "secret_source_unreadable", AuthorizationSourceInvalid, Authorization, "The source of the password cannot be read.", "A descriptor must be open (3 or more, no terminal), a credential must lie in CREDENTIALS_DIRECTORY and be readable for you and root alone, a command must be found and end with status 0.";
    SecretNotPassword = "secret_not_password", AuthorizationSourceInvalid, Authorization, "The source of the password gave no password.", "It must give 1 to 16384 bytes of UTF-8, and after them at most one line end.";
    SecretNoTerminal = "secret_no_terminal", AuthorizationSourceInvalid, Authorization, "There is no terminal to ask for the password on.", "Run the command in a terminal, or name another source with --secret-from.";
    PasswordTriesSpent = "password_tries_spent", AuthorizationRejected, Authorization, "The password does not open the asset.", "Start again when you have the right one; nothing was started.";

    // --- command line
    Usage = "usage", InputInvalid, CommandLine, "The command line cannot be understood.", "See 'kdna help COMMAND' or 'kdna-broker help COMMAND'.";
    InputUnreadable = "input_unreadable", InputInvalid, CommandLine, "The input cannot be read.", "Check the input and try again.";
    CheckpointInvalid = "checkpoint_invalid", InputInvalid, CommandLine, "The checkpoint cannot be understood.", "Give the file as 'kdna-broker audit checkpoint' printed it.";
    AssetNotMade = "asset_not_made", AssetInvalid, CommandLine, "Nothing was written: the asset could not be made.", "Repair what the message names and make it again; what was there before is unchanged.";
}

/// One refusal: a reason, and where needed a message that names the place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    reason: Reason,
    stage: Stage,
    message: Cow<'static, str>,
}

impl Refusal {
    /// A refusal with the catalogue's message.
    pub const fn new(reason: Reason) -> Self {
        Self { reason, stage: reason.stage(), message: Cow::Borrowed(reason.message()) }
    }

    /// A refusal whose message names the place. The label must be built from literals, indexes, digests and
    /// identifiers that were validated, or from the person's own command line through `text::display`.
    pub fn labelled(reason: Reason, message: impl Into<Cow<'static, str>>) -> Self {
        Self { reason, stage: reason.stage(), message: message.into() }
    }

    /// The same refusal, met at another stage than its usual one.
    #[must_use]
    pub fn at(self, stage: Stage) -> Self {
        Self { stage, ..self }
    }

    /// The closed reason.
    pub const fn reason(&self) -> Reason {
        self.reason
    }
    /// The code on the wire.
    pub const fn code(&self) -> Code {
        self.reason.code()
    }
    /// Where it arose.
    pub const fn stage(&self) -> Stage {
        self.stage
    }
    /// The message on the wire.
    pub fn message(&self) -> &str {
        &self.message
    }
    /// What a person can do about it.
    pub const fn remedy(&self) -> &'static str {
        self.reason.remedy()
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        Self::new(reason)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_word_of_the_catalogue_is_unique_and_plain() {
        for words in [
            Reason::ALL.iter().map(|reason| reason.as_str()).collect::<Vec<_>>(),
            Code::ALL.iter().map(|code| code.as_str()).collect(),
            Stage::ALL.iter().map(|stage| stage.as_str()).collect(),
        ] {
            assert_eq!(words.iter().collect::<BTreeSet<_>>().len(), words.len());
            assert!(words.iter().all(|word| {
                word.bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_' || byte == b'-')
            }));
        }
    }

    #[test]
    fn every_reason_says_what_happened_and_what_to_do() {
        for reason in Reason::ALL {
            assert!(reason.message().ends_with('.') && reason.remedy().ends_with('.'), "{reason}");
        }
    }
}
