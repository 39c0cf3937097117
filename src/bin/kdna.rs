//! The owner's executable (same program, dispatched on its name). All it does is hand over to the library.
fn main() -> std::process::ExitCode {
    kdna_broker::main_entry()
}
