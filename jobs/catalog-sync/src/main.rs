//! The `catalog-sync` program.

fn main() -> std::process::ExitCode {
    catalog_sync::main(std::env::args_os())
}
