//! Where rows come from. A trainer asks for the rows of its next window in the order it wants them; what is behind may
//! be decoded files, or a cache of them that knows the order in advance.

use std::collections::VecDeque;
use std::sync::Arc;

use common::formats::decisions::Group;
use common::process::Failure;
use common::process::failure::InFile;

use super::Days;

/// A row of a day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Row {
    /// Number of the day.
    pub(crate) dataset: u32,
    /// Number of the row in it.
    pub(crate) row: u64,
}

/// Where a row is: in these rows, at this place.
pub(crate) type Located = (Arc<Group>, usize);

/// Rows of days.
pub(crate) trait Rows: Send {
    /// Brings rows, in the order in which they are asked for.
    fn gather(&mut self, rows: &[Row]) -> Result<Vec<Located>, Failure>;
}

/// Row groups as they are decoded; the ones used last stay in memory.
#[derive(Debug)]
pub(crate) struct Decoded {
    days: Arc<Days>,
    /// Day and row group, the one used last at the end.
    recent: VecDeque<((u32, usize), Arc<Group>)>,
    capacity: usize,
}

impl Decoded {
    /// Keeps `capacity` row groups.
    pub(crate) fn new(days: Arc<Days>, capacity: usize) -> Self {
        Self { days, recent: VecDeque::new(), capacity }
    }

    fn group(&mut self, dataset: u32, group: usize) -> Result<Arc<Group>, Failure> {
        let key = (dataset, group);
        let found = self.recent.iter().position(|(there, _)| *there == key);
        let entry = match found.and_then(|at| self.recent.remove(at)) {
            Some(entry) => entry,
            None => {
                let day = &self.days.days[dataset as usize];
                let rows = day.day.read(group, &day.projection).in_file(&day.used.path)?;
                if self.recent.len() >= self.capacity {
                    self.recent.pop_front();
                }
                (key, Arc::new(rows))
            }
        };
        let rows = Arc::clone(&entry.1);
        self.recent.push_back(entry);
        Ok(rows)
    }
}

impl Rows for Decoded {
    fn gather(&mut self, rows: &[Row]) -> Result<Vec<Located>, Failure> {
        let mut located = Vec::with_capacity(rows.len());
        for &Row { dataset, row } in rows {
            let day = self.days.days.get(dataset as usize);
            let place = day.and_then(|day| day.place(row));
            let (group, at) =
                place.ok_or_else(|| Failure::bad_data(format!("day {dataset} has no row {row}")))?;
            located.push((self.group(dataset, group)?, at));
        }
        Ok(located)
    }
}
