//! Decisions to rows. What a decision saw becomes a [`Frame`] once; each of its rows takes from it, and adds the picks
//! that were made before.

mod frame;
mod options;
mod targets;
#[cfg(test)]
mod tests;
mod token;
mod tracker;

use std::time::Instant;

use common::formats::decisions::columns::SUBMIT;
use common::formats::decisions::manifest::Counts;
use common::formats::decisions::{Cell, Date, Group, column};
use common::state::digest::Digest;

use crate::cards::Catalog;
use crate::effects::Effects;
use crate::elo::Ratings;
use crate::game::{Decision, Decisions, Facts, Reason, on_time};
use frame::Frame;
use targets::Targets;
pub(crate) use tracker::Tracker;

/// Revision of what rows hold. It changes with every change of a value.
pub(crate) const ENCODER_VERSION: &str = "1";

/// Days that the position of a day in the competition is measured by.
const COMPETITION_DAYS: f64 = 60.0;
const MAIN: i32 = 0;
/// Type of an option that attacks.
pub(crate) const ATTACK: i32 = 13;

/// What a look-ahead found for each option of a decision: KO rate, expected prizes / 6, probability of a win. `None`
/// where there was none, and the features stay 0.
pub(crate) type LookAhead = Vec<Option<[f32; 3]>>;

/// What rows depend on beside the replay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Encoder<'a> {
    pub(crate) cards: &'a Catalog,
    pub(crate) ratings: &'a Ratings,
    pub(crate) effects: &'a Effects,
    pub(crate) date: Date,
    /// The first day of the competition, where it is known.
    pub(crate) start: Option<Date>,
    pub(crate) self_aliases: &'a [String],
    /// Rows of our own side alone.
    pub(crate) self_only: bool,
}

/// What stands on every row of a side.
struct Lane<'a> {
    episode: i64,
    side: usize,
    names: [&'a str; 2],
    hashes: [String; 2],
    is_self: bool,
    buckets: [i32; 2],
    day_norm: f32,
}

impl Encoder<'_> {
    /// Appends the rows of an episode, and counts those of each side.
    pub(crate) fn episode(
        &self,
        facts: &Facts,
        decisions: &Decisions<'_>,
        look_ahead: &mut dyn FnMut(&Decision<'_>, &Tracker) -> LookAhead,
        deadline: Option<Instant>,
        out: &mut Group,
    ) -> Result<([u64; 2], Counts), Reason> {
        let malformed = || Reason::Malformed("no names, decks or rewards".into());
        let (Some(id), Some(names), Some(decks)) = (facts.id, &facts.names, &facts.decks) else {
            return Err(malformed());
        };
        let targets = targets::of(decisions, facts.rewards.ok_or_else(malformed)?);
        let (mut rows, mut counts) = ([0; 2], Counts::default());
        for (side, lane) in decisions.iter().enumerate() {
            let is_self = self.self_aliases.iter().any(|alias| *alias == names[side]);
            let kept = is_self || !self.self_only;
            let lane_facts = Lane {
                episode: id,
                side,
                names: [names[side].as_str(), names[1 - side].as_str()],
                hashes: [decks[side].hash.to_string(), decks[1 - side].hash.to_string()],
                is_self,
                buckets: [self.ratings.agent(&names[1 - side]), self.deck_bucket(&decks[1 - side].hash)],
                day_norm: self.day_norm(),
            };
            let mut tracker = Tracker::new(side);
            // (round, whether it has rows)
            let mut round = None;
            for (number, (decision, targets)) in lane.iter().zip(&targets[side]).enumerate() {
                on_time(deadline)?;
                tracker.see(decision);
                let ahead = look_ahead(decision, &tracker);
                let frame = Frame::of(self, decision, &tracker, &decks[side].cards, &ahead, &mut counts);
                count(decision, targets, &mut counts);
                if round.is_none_or(|(of, _)| of != decision.round()) {
                    round = Some((decision.round(), false));
                }
                let mut begun = round.is_some_and(|(_, begun)| begun);
                let picks = decision.label.len();
                let submits = picks < usize::try_from(decision.select.max_count).unwrap_or(0);
                for substep in 0..picks + usize::from(submits) {
                    let y = decision.label.get(substep).copied().unwrap_or(SUBMIT);
                    if substep < picks && y >= SUBMIT {
                        counts.rows_label_cut += 1;
                        continue;
                    }
                    counts.submit_rows += u64::from(y == SUBMIT);
                    if kept {
                        let row = Row { decision, number, substep, y, new_episode: !begun, targets };
                        row.write(&frame, &lane_facts, self.date, out);
                        rows[side] += 1;
                    }
                    begun = true;
                }
                round = Some((decision.round(), begun));
                tracker.answered(decision);
            }
        }
        if rows == [0; 2] {
            return Err(Reason::NoRows);
        }
        Ok((rows, counts))
    }

    fn deck_bucket(&self, hash: &Digest) -> i32 {
        self.ratings.deck(hash)
    }

    fn day_norm(&self) -> f32 {
        let day = self.start.map(|start| f64::from(self.date.days() - start.days() + 1));
        day.map_or(0.5, |day| ((day - 1.0) / (COMPETITION_DAYS - 1.0)).clamp(0.0, 1.0) as f32)
    }
}

fn count(decision: &Decision, targets: &Targets, counts: &mut Counts) {
    let options = &decision.select.option;
    counts.decisions += 1;
    counts.empty_answers += u64::from(decision.label.is_empty());
    counts.max_options = counts.max_options.max(options.len as u64);
    counts.options_cut += (options.len - options.first.len()) as u64;
    counts.aux_invalid_decisions += u64::from(!targets.valid);
    counts.unknown_options +=
        options.first.iter().filter(|choice| !options::is_known(choice.kind)).count() as u64;
    counts.unknown_logs += decision.logs.iter().filter(|log| !tracker::is_known(log.kind)).count() as u64;
}

/// One row: a decision after some of its picks.
struct Row<'a> {
    decision: &'a Decision<'a>,
    number: usize,
    substep: usize,
    y: usize,
    new_episode: bool,
    targets: &'a Targets,
}

impl Row<'_> {
    fn write(&self, frame: &Frame, lane: &Lane<'_>, date: Date, out: &mut Group) {
        let select = &self.decision.select;
        let picks = &self.decision.label[..self.substep];
        out.push(const { column("select_type") }, Cell::I32(select.kind));
        out.push(const { column("select_context") }, Cell::I32(select.context));
        out.push(const { column("day_index_norm") }, Cell::F32(lane.day_norm));
        out.push(const { column("opponent_agent_bucket") }, Cell::I32(lane.buckets[0]));
        out.push(const { column("opponent_deck_bucket") }, Cell::I32(lane.buckets[1]));
        frame.write(picks, out);
        out.push(const { column("y") }, Cell::I32(self.y as i32));
        out.push(const { column("is_attack") }, Cell::I8(i8::from(offers_attack(self.decision))));
        self.write_targets(out);
        out.push(const { column("is_self") }, Cell::I8(i8::from(lane.is_self)));
        out.push(const { column("episode_id") }, Cell::I64(lane.episode));
        out.push(const { column("side") }, Cell::I8(lane.side as i8));
        out.push(const { column("step_id") }, Cell::I32(self.decision.step as i32));
        out.push(const { column("decision_id") }, Cell::I32(self.number as i32));
        out.push(const { column("substep") }, Cell::I8(i8::try_from(self.substep).unwrap_or(i8::MAX)));
        out.push(const { column("new_episode") }, Cell::I8(i8::from(self.new_episode)));
        out.push(const { column("day_id") }, Cell::I32(date.days()));
        out.push(const { column("player_name") }, Cell::Text(lane.names[0]));
        out.push(const { column("opponent_name") }, Cell::Text(lane.names[1]));
        out.push(const { column("player_deck_hash") }, Cell::Text(&lane.hashes[0]));
        out.push(const { column("opponent_deck_hash") }, Cell::Text(&lane.hashes[1]));
        out.end_row();
    }

    fn write_targets(&self, out: &mut Group) {
        let Targets { outcome, reward, ko, prize_delta, terminal, valid, ret } = *self.targets;
        out.push(const { column("outcome") }, Cell::I8(outcome));
        out.push(const { column("reward") }, Cell::F32(reward as f32));
        out.push(const { column("aux_ko") }, Cell::I8(i8::from(ko)));
        out.push(const { column("aux_prize_delta") }, Cell::F32(prize_delta as f32));
        out.push(const { column("aux_terminal") }, Cell::I8(i8::from(terminal)));
        out.push(const { column("aux_return") }, Cell::F32(ret as f32));
        out.push(const { column("aux_valid") }, Cell::I8(i8::from(valid)));
        out.push(const { column("terminal") }, Cell::I8(i8::from(terminal)));
    }
}

fn offers_attack(decision: &Decision) -> bool {
    decision.select.kind == MAIN && decision.select.option.first.iter().any(|choice| choice.kind == ATTACK)
}
