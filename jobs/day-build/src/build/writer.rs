//! The Parquet file of a day in the making: episodes gather in a group, groups are encoded and made durable, and the
//! journal tells the next run how far this one came.

use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::formats::decisions::manifest::{Member, USED};
use common::formats::decisions::{COLUMNS, GROUP_ROWS, Group, check, day_writer, encode_column, resume_day};
use common::formats::parquet::{self, EncodedChunk, FileWriter};
use common::process::Failure;
use common::process::failure::InFile;
use common::process::parallel::{ahead, ordered};
use common::state::digest::Digest;
use common::state::output::Output;
use rayon::Scope;

use super::journal::{Done, Journal};
use crate::examine::{Rows, Tally};
use crate::game::{Facts, Reason};

/// A day in the making.
pub(super) struct DayWriter {
    file: FileWriter<Summing>,
    journal: Journal,
    /// Rows that no row group holds yet.
    group: Group,
    /// Episodes among them.
    episodes: u32,
    /// Members before the group, then those of the group.
    members: Vec<Member>,
    closed: usize,
    /// Cards of the members' decks, ascending, by hash.
    decks: BTreeMap<String, Vec<i32>>,
    used: HashSet<i64>,
    row_groups: Vec<u64>,
    /// Of the episodes in closed groups, and of those in the open one.
    tallies: [Tally; 2],
    spent: Duration,
}

/// A day whose Parquet file stands under its name.
pub(super) struct Finished {
    pub(super) members: Vec<Member>,
    pub(super) decks: BTreeMap<String, Vec<i32>>,
    pub(super) row_groups: Vec<u64>,
    pub(super) tally: Tally,
    pub(super) bytes: u64,
    pub(super) digest: Digest,
    /// Time that columns and files took.
    pub(super) spent: Duration,
    journal: Journal,
}

impl Finished {
    /// Removes what a stopped build would go on with, once the manifest is there.
    pub(super) fn forget_journal(&self) -> Result<(), Failure> {
        self.journal.remove()
    }
}

/// Writes to a file, and sums up a row group.
struct Summing {
    output: Output,
    crc: crc32fast::Hasher,
}

impl Write for Summing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.output.write(bytes)?;
        self.crc.update(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

impl DayWriter {
    /// Starts a day, or goes on with one of the same fingerprint.
    pub(super) fn open(
        path: &Path,
        fingerprint: &Digest,
        pairs: &[(String, String)],
    ) -> Result<Self, Failure> {
        let mut output = Output::resume(path).in_file(path)?;
        let partial = output.partial().to_owned();
        let (journal, done) = Journal::open(path, &partial, fingerprint)?;
        output.cut(done.last().map_or(0, |last| last.end)).in_file(path)?;
        let summing = Summing { output, crc: crc32fast::Hasher::new() };
        let groups: Vec<Vec<u8>> = done.iter().map(|done| done.footer.clone()).collect();
        let file = match done.last() {
            Some(last) => resume_day(summing, last.end, pairs, &groups),
            None => day_writer(summing, pairs),
        };
        let mut tally = Tally::default();
        done.iter().for_each(|done| tally.add(&done.tally));
        let row_groups = done.iter().map(|done| done.rows).collect();
        let decks = done.iter().flat_map(|done| done.decks.clone()).collect();
        let members: Vec<Member> = done.into_iter().flat_map(|done| done.members).collect();
        let used =
            members.iter().filter(|member| member.status == USED).filter_map(|member| member.episode_id);
        Ok(Self {
            file: file.in_file(path)?,
            journal,
            group: Group::whole(),
            episodes: 0,
            used: used.collect(),
            closed: members.len(),
            members,
            decks,
            row_groups,
            tallies: [tally, Tally::default()],
            spent: Duration::ZERO,
        })
    }

    /// Members that were added, by this run or by earlier ones.
    pub(super) fn members(&self) -> &[Member] {
        &self.members
    }

    /// Whether an episode has rows already.
    pub(super) fn has(&self, id: i64) -> bool {
        self.used.contains(&id)
    }

    /// Adds a member.
    pub(super) fn add(&mut self, name: String, facts: Facts, outcome: Result<Rows, Reason>) {
        for deck in facts.decks.iter().flatten() {
            self.decks.entry(deck.hash.to_string()).or_insert_with(|| deck.ascending());
        }
        let mut member = Member {
            name,
            status: USED.into(),
            why: None,
            episode_id: facts.id,
            steps: facts.steps,
            rewards: facts.rewards,
            names: facts.names,
            decks: facts.decks.map(|decks| decks.map(|deck| deck.hash)),
            rows: [0; 2],
            first_row: None,
            row_group: None,
        };
        match outcome {
            Ok(rows) => {
                self.used.extend(facts.id);
                member.rows = rows.of_side;
                member.first_row = Some(self.row_groups.iter().sum::<u64>() + self.group.rows() as u64);
                member.row_group = Some(self.row_groups.len() as u64);
                self.tallies[1].add(&rows.tally);
                self.group.append(&rows.group);
                self.episodes += 1;
            }
            Err(reason) => {
                member.status = reason.name().into();
                member.why = reason.why().map(Into::into);
            }
        }
        self.members.push(member);
    }

    /// Whether the group should be closed: it holds whole episodes.
    pub(super) fn is_full(&self, flush: u32) -> bool {
        self.episodes >= flush || self.group.rows() >= GROUP_ROWS
    }

    /// Encodes the group on all threads, makes it durable, and says so in the journal.
    pub(super) fn close_group<'scope>(
        &mut self,
        scope: &Scope<'scope>,
        threads: usize,
    ) -> Result<(), Failure> {
        let start = Instant::now();
        let path = self.file.out_mut().output.target().to_owned();
        let rows = self.group.rows();
        if rows > 0 {
            check(&self.group).in_file(&path)?;
            let group = Arc::new(std::mem::replace(&mut self.group, Group::new([])));
            let columns = (0..COLUMNS.len()).map(|at| (Arc::clone(&group), at));
            let chunks = ordered(scope, columns, ahead(threads, u64::MAX), &encode_at);
            self.file.append_chunks(rows, chunks).in_file(&path)?;
            // every worker has given its part back
            self.group = Arc::try_unwrap(group).unwrap_or_else(|_| Group::whole());
            self.group.clear();
            self.row_groups.push(rows as u64);
        }
        self.file.out_mut().output.sync().in_file(&path)?;
        let crc = std::mem::take(&mut self.file.out_mut().crc).finalize();
        let tally = std::mem::take(&mut self.tallies[1]);
        self.tallies[0].add(&tally);
        if rows > 0 {
            self.journal.append(&Done {
                end: self.file.len(),
                crc,
                rows: rows as u64,
                footer: self.file.last_group().in_file(&path)?,
                members: self.members[self.closed..].to_vec(),
                decks: self.decks_since(self.closed),
                tally,
            })?;
            self.closed = self.members.len();
        }
        self.episodes = 0;
        self.spent += start.elapsed();
        Ok(())
    }

    /// Decks of the members from one on.
    fn decks_since(&self, member: usize) -> BTreeMap<String, Vec<i32>> {
        let named = self.members[member..].iter().flat_map(|member| member.decks.iter().flatten());
        named
            .filter_map(|deck| self.decks.get_key_value(deck.as_str()))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect()
    }

    /// Writes the footer and gives the file its name.
    pub(super) fn finish(self) -> Result<Finished, Failure> {
        let Self { mut file, journal, members, decks, row_groups, tallies: [tally, _], spent, .. } = self;
        let path = file.out_mut().output.target().to_owned();
        let mut output = file.finish().in_file(&path)?.output;
        output.sync().in_file(&path)?;
        let mut written = File::open(output.partial()).in_file(&path)?;
        let (digest, bytes) =
            (Digest::of_file(&mut written).in_file(&path)?, written.metadata().in_file(&path)?.len());
        output.publish().in_file(&path)?;
        Ok(Finished { members, decks, row_groups, tally, bytes, digest, spent, journal })
    }
}

fn encode_at((group, at): (Arc<Group>, usize)) -> Result<EncodedChunk, parquet::Error> {
    encode_column(&group, at)
}
