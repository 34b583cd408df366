//! Every job in one program, so that the tests find them: `job NAME ARGS`, or a link of a job's name to it.

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let linked = args.first().and_then(|program| run(Path::new(program).file_name()?.to_str()?, &args));
    let named = || args.get(1).and_then(|name| run(name.to_str()?, &args[1..]));
    linked.or_else(named).unwrap_or_else(|| panic!("no job is named by {args:?}"))
}

fn run(name: &str, args: &[OsString]) -> Option<ExitCode> {
    let args = args.to_vec();
    Some(match name {
        "cache-warm" => cache_warm::main(args),
        "catalog-sync" => catalog_sync::main(args),
        "day-build" => day_build::main(args),
        // a build starts its own program as its workers
        "engine-worker" => day_build::main(std::iter::once("day-build".into()).chain(args)),
        "fold-pack" => fold_pack::main(args),
        "spill-purge" => spill_purge::main(args),
        "stream-write" => stream_write::main(args),
        _ => return None,
    })
}
