//! Every job in one program, so that the tests find them: `job NAME ARGS`.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1).peekable();
    match args.peek().and_then(|name| name.to_str()) {
        Some("catalog-sync") => catalog_sync::main(args),
        Some("day-build") => day_build::main(args),
        // a build starts its own program as its workers
        Some("engine-worker") => day_build::main(std::iter::once("day-build".into()).chain(args)),
        Some("stream-write") => stream_write::main(args),
        Some("fold-pack") => fold_pack::main(args),
        name => panic!("no job is named {name:?}"),
    }
}
