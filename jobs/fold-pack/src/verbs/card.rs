pub(crate) fn run(_: &common::process::Common, _: &crate::cli::CardArgs) -> Result<(), common::process::Failure> { Ok(()) }
