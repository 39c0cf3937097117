//! The broker's executable. All it does is hand over to the library.
fn main() -> std::process::ExitCode {
    kdna_broker::main_entry()
}
