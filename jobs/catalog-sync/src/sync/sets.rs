//! Folded sets.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use common::formats::folded::Set;
use common::process::Failure;
use common::process::failure::InFile;
use common::state::catalog::{Catalog, CatalogError, SetRow, ShardRow, State};
use common::state::output::folder_of;

use super::Sync;
use crate::look::{is_as_recorded, look, text};

/// What was recorded before, and what this sync has met.
pub(super) struct Known {
    /// By path.
    sets: BTreeMap<String, SetRow>,
    /// The set that each recorded shard belongs to.
    owners: BTreeMap<String, String>,
    /// Shards of the sets that were looked at.
    named: BTreeSet<String>,
}

impl Known {
    pub(super) fn read(catalog: Option<&Catalog>) -> Result<Self, CatalogError> {
        let sets = catalog.map_or(Ok(vec![]), Catalog::sets)?;
        let owned = |set: &SetRow| {
            let (owner, shards) = (set.path.clone(), set.shards.clone());
            shards.into_iter().map(move |shard| (shard.path, owner.clone()))
        };
        let owners = sets.iter().flat_map(owned).collect();
        let sets = sets.into_iter().map(|set| (set.path.clone(), set)).collect();
        Ok(Self { sets, owners, named: BTreeSet::new() })
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &String> {
        self.sets.keys()
    }

    pub(super) fn state(&self, path: &str) -> Option<State> {
        self.sets.get(path).map(|set| set.state)
    }
}

impl Sync<'_> {
    /// Brings one set up to date.
    pub(super) fn set(&mut self, path: &Path) -> Result<(), Failure> {
        let name = text(path);
        let recorded = self.sets.sets.get(&name).cloned();
        let usable = recorded.as_ref().filter(|set| set.state == State::Present && !self.args.deep);
        if let Some(set) = usable.filter(|set| is_as_recorded(set)) {
            self.sets.named.extend(set.shards.iter().map(|shard| shard.path.clone()));
            self.report.unchanged += 1;
            return Ok(());
        }
        match look(path).and_then(|set| self.alone(set)) {
            Ok(set) => {
                self.sets.named.extend(set.shards.iter().map(|shard| shard.path.clone()));
                let count = match &recorded {
                    None => &mut self.report.added,
                    Some(recorded) if *recorded == set => &mut self.report.unchanged,
                    Some(_) => &mut self.report.updated,
                };
                *count += 1;
                if recorded.as_ref() != Some(&set) && !self.common.dry_run {
                    let put = self.catalog.as_mut().map_or(Ok(()), |catalog| catalog.put_set(&set));
                    put.in_file(&self.args.catalog.catalog)?;
                }
                Ok(())
            }
            Err(failure) => {
                if let Ok(set) = Set::read(path) {
                    let files = set.shards.iter().map(|shard| text(&folder_of(path).join(&shard.file)));
                    self.sets.named.extend(files);
                }
                self.refuse(name, &failure)
            }
        }
    }

    /// Refuses a set that names a shard of another set that is there: every file is recorded once.
    fn alone(&self, set: SetRow) -> Result<SetRow, Failure> {
        let taken = |shard: &ShardRow| {
            let owner = self.sets.owners.get(&shard.path).filter(|owner| **owner != set.path);
            self.sets.named.contains(&shard.path) || owner.is_some_and(|owner| Path::new(owner).exists())
        };
        match set.shards.iter().find(|shard| taken(shard)) {
            Some(shard) => Err(Failure::usage("another set names this shard too").at(&shard.path)),
            None => Ok(set),
        }
    }

    /// Reports shards that no set names.
    pub(super) fn unnamed_shards(&mut self, shards: &[PathBuf]) {
        for path in shards {
            if self.sets.named.insert(text(path)) {
                self.report
                    .leave_out(text(path), &Failure::bad_data("no set names this shard").in_file(path));
            }
        }
    }
}
