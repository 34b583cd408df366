//! Datasets as they are named on a command line. This is the one place that turns a selection into files, and a catalog
//! that knows paths, digests and states of files gives them here as [`Known`] ones.

use std::path::{Path, PathBuf};

use common::formats::decisions::manifest::{Manifest, manifest_path};
use common::formats::folded::Set;
use common::process::failure::InFile;
use common::process::{Common, Exit, Failure};
use common::state::cache::{Days, Shards, Slot, Source};
use common::state::digest::Digest;
use common::state::output::folder_of;
use common::state::store::{Known, Store};

use crate::cli::SelectArgs;

/// What is selected, by kind; a file each of them.
pub(crate) struct Selected {
    pub(crate) days: (Days, Vec<PathBuf>),
    pub(crate) shards: (Shards, Vec<PathBuf>),
}

/// Opens all datasets of a selection.
pub(crate) fn select(common: &Common, args: &SelectArgs) -> Result<Selected, Failure> {
    let store = common.store.as_deref().map(|root| Store::open(root).in_file(root)).transpose()?;
    let know = |path: &Path| store.as_ref().map(|store| store.know(path).in_file(path)).transpose();
    let mut selected =
        Selected { days: (Days::new(args.projection.into()), vec![]), shards: (Shards::new(), vec![]) };
    for named in &args.datasets {
        let name = named.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".set.json") {
            let set = Set::read(named).in_file(named)?;
            for shard in &set.shards {
                let path = folder_of(named).join(&shard.file);
                selected.add_shard(path, know, &shard.sha256)?;
            }
        } else if let Some(date) = name.strip_suffix(".parquet").and_then(|stem| stem.parse().ok()) {
            let manifest = manifest_path(folder_of(named), date);
            let manifest = Manifest::read(&manifest).in_file(&manifest)?;
            selected.add_day(named.clone(), know, &manifest.parquet_sha256)?;
        } else {
            return Err(Failure::usage(
                "no dataset: days are named DATE.parquet, folded sets PREFIX.set.json",
            )
            .in_file(named));
        }
    }
    Ok(selected)
}

impl Selected {
    fn add_day(
        &mut self,
        path: PathBuf,
        know: impl Fn(&Path) -> Result<Option<Known>, Failure>,
        stated: &Digest,
    ) -> Result<(), Failure> {
        let (days, paths) = &mut self.days;
        days.add(&path, know(&path)?.as_ref())?;
        is_stated(days, &path, stated)?;
        paths.push(path);
        Ok(())
    }

    fn add_shard(
        &mut self,
        path: PathBuf,
        know: impl Fn(&Path) -> Result<Option<Known>, Failure>,
        stated: &Digest,
    ) -> Result<(), Failure> {
        let (shards, paths) = &mut self.shards;
        shards.add(&path, know(&path)?.as_ref())?;
        is_stated(shards, &path, stated)?;
        paths.push(path);
        Ok(())
    }
}

/// Holds the last dataset to the digest that its record states.
fn is_stated<S: Source>(source: &S, path: &Path, stated: &Digest) -> Result<(), Failure> {
    let slot = Slot { dataset: source.datasets() - 1, group: 0 };
    let Some(key) = source.key(slot).filter(|key| key.dataset != *stated) else { return Ok(()) };
    Err(Failure::new(Exit::Unlike, "the SHA-256 is not what its record states")
        .in_file(path)
        .found(key.dataset, stated)
        .hint("build the dataset anew, or put its record back"))
}
