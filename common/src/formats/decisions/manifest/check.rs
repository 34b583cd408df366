//! What holds between the parts of a manifest.

use std::collections::{BTreeMap, HashSet};

use super::{Manifest, Member, STATUSES, USED, deck_hash};

/// Holds a manifest to itself; says what is wrong.
pub(super) fn check(manifest: &Manifest) -> Result<(), String> {
    let Manifest { date, day_id, row_groups, rows, episodes, members, .. } = manifest;
    if *day_id != date.days() {
        return Err(format!("day_id is {day_id} where {date} is {}", date.days()));
    }
    let ends = ends(row_groups).filter(|ends| ends.last().copied().unwrap_or(0) == *rows);
    let ends = ends.ok_or_else(|| format!("its row groups do not sum up to {rows} rows"))?;
    decks(&manifest.decks)?;
    let (mut names, mut ids, mut next) = (HashSet::new(), HashSet::new(), 0);
    for member in members {
        let wrong = |what: &str| Err(format!("member {:?} {what}", member.name));
        if !names.insert(&member.name) {
            return wrong("is there twice");
        }
        if !STATUSES.contains(&&*member.status) || member.steps > u64::from(u32::MAX) {
            return wrong("has a status or a number of steps that there is not");
        }
        if member.decks.iter().flatten().any(|deck| !manifest.decks.contains_key(deck.as_str())) {
            return wrong("was played with a deck that is not listed");
        }
        if member.status != USED {
            match (member.rows, member.first_row, member.row_group) {
                ([0, 0], None, None) => continue,
                _ => return wrong("is not used, and has rows"),
            }
        }
        if !member.episode_id.is_some_and(|id| ids.insert(id)) || !is_known(member) {
            return wrong("is used, and lacks an id of its own, rewards, names or decks");
        }
        let end = end(member, next, &ends);
        next = match end {
            Some(end) => end,
            None => return wrong("does not follow the one before, within one row group"),
        };
    }
    if next != *rows || ids.len() as u64 != *episodes {
        return Err(format!("its members have {next} rows of {} episodes", ids.len()));
    }
    Ok(())
}

fn is_known(member: &Member) -> bool {
    member.rewards.is_some() && member.names.is_some() && member.decks.is_some()
}

/// The row behind a member that begins at `next` and lies within its row group.
fn end(member: &Member, next: u64, ends: &[u64]) -> Option<u64> {
    let [rows0, rows1] = member.rows;
    let end = next.checked_add(rows0)?.checked_add(rows1)?;
    let group = usize::try_from(member.row_group?).ok()?;
    let start = if group == 0 { 0 } else { *ends.get(group - 1)? };
    let within = start <= next && end <= *ends.get(group)? && next < end;
    (within && member.first_row == Some(next)).then_some(end)
}

/// The row behind each row group.
fn ends(row_groups: &[u64]) -> Option<Vec<u64>> {
    let mut end = 0u64;
    let next = |&rows| {
        end = end.checked_add(rows)?;
        Some(end)
    };
    row_groups.iter().map(next).collect()
}

fn decks(decks: &BTreeMap<String, Vec<i32>>) -> Result<(), String> {
    match decks.iter().find(|(hash, cards)| deck_hash(cards).as_str() != hash.as_str()) {
        Some((hash, _)) => Err(format!("deck {hash} holds other cards, or not in ascending order")),
        None => Ok(()),
    }
}
