//! The `spill-purge` program.

fn main() -> std::process::ExitCode {
    spill_purge::main(std::env::args_os())
}
