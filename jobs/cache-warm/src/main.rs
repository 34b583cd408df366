//! The `cache-warm` program.

fn main() -> std::process::ExitCode {
    cache_warm::main(std::env::args_os())
}
