//! Rows in the order in which they are asked for, from whatever groups they are in.

use std::collections::HashMap;

use super::columns::{Gather, Run};
use super::content::Content;
use super::shared::Inner;
use super::source::{Slot, Source};
use super::{Cache, CacheError};

/// Rows that a request may name: with every slot of every list in use, offsets still have 32 bits.
pub(super) const MOST: usize = 1 << 19;
/// How often a group is brought anew that is torn when it is read.
const TRIES: usize = 3;

/// A row of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Row {
    /// Number of the dataset.
    pub dataset: u32,
    /// Number of the row in it.
    pub row: u64,
}

/// A request, by groups.
#[derive(Debug, Default)]
struct Request {
    /// The groups, in the order of their first rows, and what is wanted of each, in the order of the request.
    groups: Vec<(Slot, Vec<Run>)>,
    /// Where in the groups' rows those of the request are.
    order: Vec<Run>,
}

impl<S: Source> Cache<S> {
    /// Rows in the order of the request, which may name any rows in any order, and rows several times. Each group of the
    /// request is accessed once, and only one at a time is held, so a request may be larger than the cache.
    pub fn gather(&self, rows: &[Row]) -> Result<S::Rows, CacheError> {
        let Request { groups, order } = self.0.request(rows)?;
        let pieces = groups.iter().map(|(slot, runs)| self.0.piece(*slot, runs));
        let mut pieces = pieces.collect::<Result<Vec<_>, _>>()?;
        if pieces.len() == 1
            && let Some(piece) = pieces.pop()
        {
            return Ok(piece);
        }
        let mut all = self.0.source.empty();
        if let Some((slot, _)) = groups.first() {
            let pieces: Vec<_> = pieces.into_iter().map(Content::into_columns).collect();
            let views: Vec<_> = pieces.iter().map(super::Columns::views).collect();
            all.gather(Gather::new(&views, &order)).ok_or(CacheError::Torn(*slot))?;
        }
        Ok(all)
    }

    /// The groups that a request accesses, in their order: what a plan for [`read_ahead`](Self::read_ahead) is made of.
    pub fn accesses(&self, rows: &[Row]) -> Result<Vec<Slot>, CacheError> {
        Ok(self.0.request(rows)?.groups.into_iter().map(|(slot, _)| slot).collect())
    }
}

impl<S: Source> Inner<S> {
    fn request(&self, rows: &[Row]) -> Result<Request, CacheError> {
        if rows.len() > MOST {
            return Err(CacheError::TooManyRows(rows.len()));
        }
        let mut request = Request::default();
        let mut known: HashMap<Slot, (usize, usize)> = HashMap::new();
        for &row in rows {
            let (slot, at) = self.find(row).ok_or(CacheError::NoRow(row))?;
            let (group, taken) = known.entry(slot).or_insert_with(|| {
                request.groups.push((slot, vec![]));
                (request.groups.len() - 1, 0)
            });
            extend(&mut request.groups[*group].1, 0, at);
            extend(&mut request.order, *group, *taken);
            *taken += 1;
        }
        Ok(request)
    }

    /// The group of a row, and the row's number in it.
    fn find(&self, Row { dataset, row }: Row) -> Option<(Slot, usize)> {
        let mut left = usize::try_from(row).ok()?;
        for (group, &rows) in self.source.groups(dataset).iter().enumerate() {
            if left < rows {
                return Some((Slot { dataset, group: group as u32 }, left));
            }
            left -= rows;
        }
        None
    }

    /// What a request wants of one group.
    fn piece(&self, slot: Slot, runs: &[Run]) -> Result<S::Rows, CacheError> {
        for _ in 0..TRIES {
            let block = self.fetch(slot)?;
            let views = [block.views()];
            let mut rows = self.source.empty();
            let whole = rows.gather(Gather::new(&views, runs)).is_some();
            if whole && !block.is_torn() {
                return Ok(rows);
            }
            self.discard(slot, &block);
        }
        Err(CacheError::Torn(slot))
    }
}

/// Appends a row to runs.
fn extend(runs: &mut Vec<Run>, group: usize, row: usize) {
    match runs.last_mut() {
        Some(run) if run.group == group && run.rows.end == row => run.rows.end += 1,
        _ => runs.push(Run { group, rows: row..row + 1 }),
    }
}
