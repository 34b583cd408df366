//! The `stream-write` program.

fn main() -> std::process::ExitCode {
    stream_write::main(std::env::args_os())
}
