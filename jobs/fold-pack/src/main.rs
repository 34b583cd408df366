//! The `fold-pack` program.

fn main() -> std::process::ExitCode {
    fold_pack::main(std::env::args_os())
}
