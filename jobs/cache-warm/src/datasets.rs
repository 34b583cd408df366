//! Datasets as they are named on a command line. This is the one place that turns a selection into files, and a catalog
//! that knows paths, digests and states of files gives them here as [`Known`] ones.

use std::path::{Path, PathBuf};

use common::formats::decisions::manifest::{Manifest, manifest_path};
use common::formats::folded::Set;
use common::process::failure::InFile;
use common::process::{Common, Exit, Failure};
use common::state::cache::{Days, Shards, Slot, Source};
use common::state::catalog::Catalog;
use common::state::digest::Digest;
use common::state::output::folder_of;
use common::state::store::{Known, Store};

use crate::cli::SelectArgs;

/// What is selected, by kind.
pub(crate) struct Selected {
    pub(crate) days: Chosen<Days>,
    pub(crate) shards: Chosen<Shards>,
}

/// Datasets of one kind.
pub(crate) struct Chosen<S> {
    pub(crate) source: S,
    /// The file of each.
    pub(crate) paths: Vec<PathBuf>,
    /// Row groups of each, ascending.
    pub(crate) groups: Vec<Vec<u32>>,
}

impl<S: Source> Chosen<S> {
    fn new(source: S) -> Self {
        Self { source, paths: vec![], groups: vec![] }
    }

    /// All row groups, in order.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        let of = |(dataset, groups): (usize, &Vec<u32>)| {
            let slot = move |&group: &u32| Slot { dataset: dataset as u32, group };
            groups.iter().map(slot).collect::<Vec<_>>()
        };
        self.groups.iter().enumerate().flat_map(of)
    }

    /// Takes in the dataset that the source was given last, in some of its row groups or in all. It is held to the digest
    /// that its record states.
    fn push(&mut self, path: PathBuf, stated: &Digest, groups: Option<&[u64]>) -> Result<(), Failure> {
        let dataset = self.source.datasets() - 1;
        is_stated(&self.source, &path, stated)?;
        let all = 0..self.source.groups(dataset).len() as u32;
        self.groups.push(match groups {
            Some(groups) => all.filter(|&group| groups.contains(&group.into())).collect(),
            None => all.collect(),
        });
        self.paths.push(path);
        Ok(())
    }
}

/// Opens all datasets of a selection.
pub(crate) fn select(common: &Common, args: &SelectArgs) -> Result<Selected, Failure> {
    let store = common.store.as_deref().map(|root| Store::open(root).in_file(root)).transpose()?;
    let know = |path: &Path| store.as_ref().map(|store| store.know(path).in_file(path)).transpose();
    let days = Chosen::new(Days::new(args.projection.into()));
    let mut selected = Selected { days, shards: Chosen::new(Shards::new()) };
    if let (Some(wanted), Some(path)) = (args.selection.wanted(), &args.catalog) {
        let selection = Catalog::open(path).in_file(path)?.select(&wanted).in_file(path)?;
        for day in selection.days {
            selected.add_day(day.path.into(), know, &day.sha256, Some(&day.row_groups))?;
        }
    }
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
            selected.add_day(named.clone(), know, &manifest.parquet_sha256, None)?;
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
        groups: Option<&[u64]>,
    ) -> Result<(), Failure> {
        self.days.source.add(&path, know(&path)?.as_ref())?;
        self.days.push(path, stated, groups)
    }

    fn add_shard(
        &mut self,
        path: PathBuf,
        know: impl Fn(&Path) -> Result<Option<Known>, Failure>,
        stated: &Digest,
    ) -> Result<(), Failure> {
        self.shards.source.add(&path, know(&path)?.as_ref())?;
        self.shards.push(path, stated, None)
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
