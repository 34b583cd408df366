//! The `day-build` program.

fn main() -> std::process::ExitCode {
    day_build::main(std::env::args_os())
}
