//! The one table of the contract's limits. Bytes unless a name says otherwise; every bound is inclusive. Sizes that one
//! mechanism alone knows (the transport's queue, the sandbox, the question's rows) live beside their code.

/// Longest text of a record, in UTF-16 code units.
pub const TEXT_UNITS: usize = 4096;
/// Phrases in one scope list.
pub const PHRASES: usize = 256;
/// Attachments in a record, and history entries of one attachment.
pub const ATTACHMENTS: usize = 1024;
/// Size of `.kdna/attachments.json`.
pub const RECORD_BYTES: u64 = 1_048_576;
/// A record that a server reads to say that it is none; a larger one is no workspace to it.
pub const SERVED_RECORD_BYTES: u64 = 16_777_216;
/// What is read and dropped of a standard input that is too large, so that its writer is told and not cut off.
pub const DRAINED_BYTES: u64 = 16_777_216;
/// Nesting of a record.
pub const RECORD_DEPTH: usize = 8;
/// Size of a task, and of an attachment policy on standard input.
pub const TASK_BYTES: u64 = 65_536;
/// Size of an asset file or a snapshot.
pub const SNAPSHOT_BYTES: u64 = 268_435_456;
/// Size of `.kdna/.gitignore`.
pub const GITIGNORE_BYTES: u64 = 65_536;
/// Size of `.kdna/attachments.lock`.
pub const LOCK_FILE_BYTES: u64 = 4096;
/// Size of the plan of an interrupted cleanup.
pub const CLEANUP_PLAN_BYTES: u64 = 16_777_216;
/// Size of a host processing consent document.
pub const CONSENT_BYTES: u64 = 16_384;
/// Size of a consent document that `status` still reads.
pub const CONSENT_STATUS_BYTES: u64 = 65_536;
/// Nesting of a consent document.
pub const CONSENT_DEPTH: usize = 4;
/// Size of the ledger of approved attachments.
pub const LEDGER_BYTES: u64 = 4_194_304;
/// Attachments that the ledger remembers, and consents that were taken back; the oldest are forgotten first.
pub const LEDGER_ROWS: usize = 4096;
/// Size of the managed policy.
pub const MANAGED_POLICY_BYTES: u64 = 262_144;
/// Nesting of a draft or a policy on standard input.
pub const POLICY_DEPTH: usize = 4;
/// Bytes of a host identifier.
pub const HOST_ID_BYTES: usize = 128;
/// UTF-16 code units of a processor name.
pub const PROCESSOR_UNITS: usize = 256;
/// Bytes of a password file: the longest password and its line end.
pub const PASSWORD_FILE_BYTES: u64 = 16_386;
/// Bytes of a password.
pub const PASSWORD_BYTES: usize = 16_384;
/// UTF-16 code units of a path given as a coordinate or as `cwd`.
pub const PATH_UNITS: usize = 4096;

/// Candidates that an MCP reply may carry.
pub const CANDIDATES: usize = 64;
/// UTF-16 code units of an asset id in an MCP reply.
pub const ASSET_ID_UNITS: usize = 512;
/// UTF-16 code units of an asset version in an MCP reply.
pub const VERSION_UNITS: usize = 128;
/// UTF-16 code units of a role in an MCP reply.
pub const ROLE_UNITS: usize = 512;

/// Delivered one-task selections that a server remembers; a further one is refused.
pub const RECEIPTS: usize = 1024;

/// One inbound MCP line.
pub const FRAME_BYTES: usize = 1_048_576;
/// One outbound MCP message.
pub const MESSAGE_BYTES: usize = 8_388_608;
/// Standard output of one runtime process.
pub const RUNTIME_OUTPUT_BYTES: usize = 16_777_216;
/// Nesting of a runtime reply (an asset may use 64 levels below the Capsule's own).
pub const RUNTIME_REPLY_DEPTH: usize = 80;
/// Values of a runtime reply, counted as those of an entry: a Capsule may hold a manifest and a payload.
pub const RUNTIME_REPLY_VALUES: usize = 1_048_576;
/// Standard error kept of one runtime process; what is older is dropped.
pub const RUNTIME_STDERR_BYTES: usize = 4096;
/// The request of one runtime process.
pub const RUNTIME_REQUEST_BYTES: usize = 1_048_576;
/// What follows the request on a runtime process's input (a task, a policy or a password).
pub const RUNTIME_INPUT_BYTES: usize = 1_048_576;
/// Milliseconds that one runtime process may take.
pub const RUNTIME_MILLISECONDS: u64 = 30_000;

/// A runtime-pins document.
pub const PINS_BYTES: u64 = 8_388_608;
/// Nesting of a runtime-pins document.
pub const PINS_DEPTH: usize = 5;
/// Files (and links) of a pinned package.
pub const PIN_FILES: usize = 20_000;
/// Directories below each other in a pinned package.
pub const PIN_DEPTH: usize = 64;
/// One file of a pinned package, or its interpreter.
pub const PIN_FILE_BYTES: u64 = 536_870_912;
/// Shared libraries of a pinned interpreter, its loader among them.
pub const PIN_LIBRARIES: usize = 60;

/// Size of a container.
pub const CONTAINER_BYTES: u64 = 26_214_400;
/// Entries of a container.
pub const CONTAINER_ENTRIES: usize = 128;
/// Uncompressed size of one entry.
pub const ENTRY_BYTES: u64 = 5_242_880;
/// Uncompressed size divided by compressed size, of one entry.
pub const ENTRY_RATIO: u64 = 100;
/// Uncompressed size of all entries.
pub const CONTAINER_INFLATED_BYTES: u64 = 12_582_912;
/// Distance from the end in which the end record of a container is looked for.
pub const END_RECORD_WINDOW: usize = 65_557;
/// Nesting of a JSON or CBOR entry, the root at 0.
pub const ENTRY_DEPTH: usize = 64;
/// Items of one list in an entry.
pub const ENTRY_ITEMS: usize = 10_000;
/// UTF-16 code units of one text in an entry.
pub const ENTRY_TEXT_UNITS: usize = 1_048_576;
/// Memory of one Argon2id derivation, in KiB.
pub const KDF_MEMORY_KIB: u32 = 262_144;
/// Passes of one Argon2id derivation.
pub const KDF_PASSES: u32 = 16;
/// Lanes of one Argon2id derivation.
pub const KDF_LANES: u32 = 8;
/// Memory times passes of one Argon2id derivation, in KiB: more than five times the default of 64 MiB and 3 passes.
/// Without it an asset could ask for 4 GiB of work and use up the time of a whole call.
pub const KDF_WORK_KIB: u64 = 1_048_576;
/// A worker's word for an envelope that asks for more than these. Its cost is in the clear, so saying so tells nothing of
/// a password; the code stays that of every envelope that does not open.
pub const KDF_REFUSED: &str = "KDNA_KDF_COST_REFUSED";
/// Values of one entry: the root, every item, and every member twice (its key and its value). A decoded value takes at
/// most 64 bytes of memory for each of them, so this and not the entry's size bounds what decoding takes.
pub const ENTRY_VALUES: usize = 500_000;
/// Schema errors of one document that are still listed; a document with more is refused.
pub const PROBLEMS: usize = 20_000;

/// Names that are read of one directory.
pub const DIRECTORY_NAMES: usize = 65_536;

/// One journal row.
pub const JOURNAL_ROW_BYTES: u64 = 16_384;
/// Nesting of a row: the root, its members, the members of `enforcement`, the list in `asked_by`.
pub const JOURNAL_ROW_DEPTH: usize = 3;
/// One journal segment; the row that would not fit begins the next one.
pub const JOURNAL_SEGMENT_BYTES: u64 = 1_048_576;
/// Most bytes of rows that one export prints.
pub const JOURNAL_EXPORT_BYTES: usize = 67_108_864;
/// Most bytes of a checkpoint's file.
pub const CHECKPOINT_BYTES: u64 = 65_536;
/// Milliseconds to wait for the journal's or a record's lock.
pub const LOCK_MILLISECONDS: u64 = 5_000;
