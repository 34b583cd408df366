//! Decision days.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use common::formats::decisions::{Date, Manifest};
use common::process::failure::InFile;
use common::process::{Exit, Failure};
use common::state::catalog::{Catalog, CatalogError, DayRow, Put, State};

use super::{Elsewhere, Sync};
use crate::discover::Place;
use crate::look::{is_day_as_recorded, look_at_day, text};

/// What was recorded before, and what this sync has met.
pub(super) struct Known {
    /// By path.
    days: BTreeMap<String, DayRow>,
    /// The path of each day's dataset, as a dry run would leave it.
    taken: BTreeMap<Date, String>,
    /// Days that were looked at.
    met: BTreeSet<Date>,
}

impl Known {
    pub(super) fn read(catalog: Option<&Catalog>) -> Result<Self, CatalogError> {
        let days = catalog.map_or(Ok(vec![]), Catalog::days)?;
        let taken = days.iter().map(|day| (day.date, day.path.clone())).collect();
        let days = days.into_iter().map(|day| (day.path.clone(), day)).collect();
        Ok(Self { days, taken, met: BTreeSet::new() })
    }

    pub(super) fn paths(&self) -> impl Iterator<Item = &String> {
        self.days.keys()
    }

    /// State of the dataset at a path, while it is the one of its day.
    pub(super) fn state(&self, path: &str) -> Option<State> {
        let day = self.days.get(path)?;
        (self.taken.get(&day.date) == Some(&day.path)).then_some(day.state)
    }
}

impl Sync<'_> {
    /// Brings one day up to date.
    pub(super) fn day(&mut self, place: &Place) -> Result<(), Failure> {
        self.days.met.insert(place.date);
        let name = text(&place.parquet());
        let recorded = self.days.days.get(&name).cloned();
        let usable = recorded.as_ref().filter(|day| day.state == State::Present && !self.args.deep);
        if usable.is_some_and(is_day_as_recorded) {
            self.report.unchanged += 1;
            return Ok(());
        }
        let (day, manifest) = match look_at_day(place) {
            Ok(found) => found,
            Err(failure) => return self.refuse(name, &failure),
        };
        if recorded.as_ref() == Some(&day) {
            self.report.unchanged += 1;
            return Ok(());
        }
        match self.put(&day, &manifest)? {
            Put::Taken(other) => {
                self.report.leave_out(name, &second_build(&day, &other));
            }
            Put::Done => {
                let known = self.days.taken.insert(day.date, day.path.clone());
                let count = if known.is_none() { &mut self.report.added } else { &mut self.report.updated };
                *count += 1;
            }
        }
        Ok(())
    }

    fn put(&mut self, day: &DayRow, manifest: &Manifest) -> Result<Put, Failure> {
        let gives_way = |other: &str| self.args.replace || matches!(Path::new(other).try_exists(), Ok(false));
        match &mut self.catalog {
            Some(catalog) if !self.common.dry_run => {
                catalog.put_day(day, manifest, gives_way).in_file(&self.args.catalog.catalog)
            }
            _ => {
                let other = self.days.taken.get(&day.date).filter(|other| **other != day.path);
                Ok(other.filter(|other| !gives_way(other)).cloned().map_or(Put::Done, Put::Taken))
            }
        }
    }

    /// Marks and reports Parquet files of days that no manifest stands beside.
    pub(super) fn unnamed_days(&mut self, places: &BTreeSet<Place>) -> Result<(), Failure> {
        for path in places.iter().map(Place::parquet) {
            if self.seen.insert(text(&path)) {
                let failure =
                    Failure::new(Exit::Missing, "no manifest stands beside this day").in_file(&path);
                let failure =
                    failure.hint("`day-build build` writes DATE.manifest.json when the day is whole");
                self.refuse(text(&path), &failure)?;
            }
        }
        Ok(())
    }

    /// Reports episodes that stand in the file of another day too.
    pub(super) fn tell_elsewhere(&mut self) -> Result<(), Failure> {
        let Some(catalog) = &self.catalog else { return Ok(()) };
        for &date in &self.days.met {
            let episodes = catalog.elsewhere(date).in_file(&self.args.catalog.catalog)?;
            if episodes > 0 {
                self.report.elsewhere.push(Elsewhere { date, episodes });
            }
        }
        Ok(())
    }
}

fn second_build(day: &DayRow, other: &str) -> Failure {
    Failure::new(Exit::Mixed, format!("another file is the dataset of {}", day.date))
        .at(&day.path)
        .found(&day.path, other)
        .hint("`--replace` records this one instead; builds of other kinds go into a catalog of their own")
}
