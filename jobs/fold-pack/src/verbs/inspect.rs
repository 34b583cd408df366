pub(crate) fn run(_: &common::process::Common, _: &crate::cli::InspectArgs) -> Result<(), common::process::Failure> { Ok(()) }
