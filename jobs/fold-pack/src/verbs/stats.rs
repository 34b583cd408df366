pub(crate) fn run(_: &common::process::Common, _: &crate::cli::StatsArgs) -> Result<(), common::process::Failure> { Ok(()) }
