//! Sizes of a batch, and where its parts lie in its two buffers.

use std::ops::Range;

use common::formats::decisions::columns::{OPTION_ATTRS, UNIT_ATTRS};

use crate::schema::{BAG, CLS_SCALARS, HEAD, SCRATCH};

/// Sizes of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    /// Lanes whose memories are carried along, whether they have rows in this batch or not.
    pub(crate) lanes: usize,
    /// Rows.
    pub(crate) rows: usize,
    /// Card tokens.
    pub(crate) cards: usize,
    /// Unit tokens.
    pub(crate) units: usize,
    /// Options: one of the buckets.
    pub(crate) options: usize,
}

impl Shape {
    /// Tokens of the state.
    pub(crate) fn state(&self) -> usize {
        HEAD.len() + self.cards + self.units
    }

    /// Tokens of a sequence.
    pub(crate) fn tokens(&self) -> usize {
        self.state() + SCRATCH + self.options
    }

    /// Options and SUBMIT.
    pub(crate) fn actions(&self) -> usize {
        self.options + 1
    }

    /// Length of the ints.
    pub(crate) fn ints_len(&self) -> usize {
        Ints::ALL.iter().map(|&part| self.ints_of(part)).sum()
    }

    /// Length of the floats.
    pub(crate) fn floats_len(&self) -> usize {
        Floats::ALL.iter().map(|&part| self.floats_of(part)).sum()
    }

    /// Where a part of the ints lies.
    pub(crate) fn ints_at(&self, part: Ints) -> Range<usize> {
        let start = Ints::ALL[..part as usize].iter().map(|&part| self.ints_of(part)).sum();
        start..start + self.ints_of(part)
    }

    /// Where a part of the floats lies.
    pub(crate) fn floats_at(&self, part: Floats) -> Range<usize> {
        let start = Floats::ALL[..part as usize].iter().map(|&part| self.floats_of(part)).sum();
        start..start + self.floats_of(part)
    }

    fn ints_of(&self, part: Ints) -> usize {
        match part {
            Ints::NextMemory => self.lanes,
            Ints::CardType => self.cards,
            Ints::UnitType => self.units,
            Ints::LaneOfRow
            | Ints::SelectType
            | Ints::SelectContext
            | Ints::AgentBucket
            | Ints::DeckBucket
            | Ints::Label => self.rows,
            Ints::CardId | Ints::CardBucket => self.rows * self.cards,
            Ints::BagId | Ints::BagBucket => self.rows * self.units * BAG,
            Ints::SourceToken
            | Ints::SourceCard
            | Ints::TargetToken
            | Ints::TargetCard
            | Ints::Verb
            | Ints::Attack => self.rows * self.options,
            Ints::Group => self.rows * self.actions(),
        }
    }

    fn floats_of(&self, part: Floats) -> usize {
        match part {
            Floats::Day
            | Floats::AuxValid
            | Floats::Ko
            | Floats::PrizeDelta
            | Floats::Terminal
            | Floats::Return => self.rows,
            Floats::Cls => self.rows * CLS_SCALARS,
            Floats::CardFlag => self.rows * self.cards,
            Floats::Keys => self.rows * self.tokens(),
            Floats::UnitAttr => self.rows * self.units * UNIT_ATTRS,
            Floats::OptionAttr => self.rows * self.options * OPTION_ATTRS,
            Floats::Legal => self.rows * self.actions(),
        }
    }
}

/// Parts of a batch that are whole numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ints {
    /// `[lanes]`: where each lane's memory after this batch is, among those before it and, behind, those of its rows.
    NextMemory,
    /// `[rows]`: the lane whose memory a row reads.
    LaneOfRow,
    /// `[rows]`
    SelectType,
    /// `[rows]`
    SelectContext,
    /// `[rows]`
    AgentBucket,
    /// `[rows]`
    DeckBucket,
    /// `[cards]`: type of each card token.
    CardType,
    /// `[units]`: type of each unit token.
    UnitType,
    /// `[rows, cards]`
    CardId,
    /// `[rows, cards]`
    CardBucket,
    /// `[rows, units, BAG]`: cards of each unit.
    BagId,
    /// `[rows, units, BAG]`
    BagBucket,
    /// `[rows, options]`: number of the token among all rows' state tokens, plus one; 0 for none.
    SourceToken,
    /// `[rows, options]`: the card that stands in for a token; 0 for none.
    SourceCard,
    /// `[rows, options]`
    TargetToken,
    /// `[rows, options]`
    TargetCard,
    /// `[rows, options]`
    Verb,
    /// `[rows, options]`
    Attack,
    /// `[rows]`: the action that was chosen; the last one is SUBMIT.
    Label,
    /// `[rows, actions]`: the first action that comes to the same.
    Group,
}

impl Ints {
    const ALL: [Self; 20] = [
        Self::NextMemory,
        Self::LaneOfRow,
        Self::SelectType,
        Self::SelectContext,
        Self::AgentBucket,
        Self::DeckBucket,
        Self::CardType,
        Self::UnitType,
        Self::CardId,
        Self::CardBucket,
        Self::BagId,
        Self::BagBucket,
        Self::SourceToken,
        Self::SourceCard,
        Self::TargetToken,
        Self::TargetCard,
        Self::Verb,
        Self::Attack,
        Self::Label,
        Self::Group,
    ];
}

/// Parts of a batch that are floats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Floats {
    /// `[rows]`
    Day,
    /// `[rows, CLS_SCALARS]`
    Cls,
    /// `[rows, cards]`
    CardFlag,
    /// `[rows, tokens]`: 1 for a token that is there, 0 for padding.
    Keys,
    /// `[rows, units, UNIT_ATTRS]`
    UnitAttr,
    /// `[rows, options, OPTION_ATTRS]`
    OptionAttr,
    /// `[rows, actions]`: 1 for what may be chosen.
    Legal,
    /// `[rows]`: 1 where the auxiliary targets count.
    AuxValid,
    /// `[rows]`
    Ko,
    /// `[rows]`
    PrizeDelta,
    /// `[rows]`
    Terminal,
    /// `[rows]`
    Return,
}

impl Floats {
    const ALL: [Self; 12] = [
        Self::Day,
        Self::Cls,
        Self::CardFlag,
        Self::Keys,
        Self::UnitAttr,
        Self::OptionAttr,
        Self::Legal,
        Self::AuxValid,
        Self::Ko,
        Self::PrizeDelta,
        Self::Terminal,
        Self::Return,
    ];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lie_behind_each_other_in_the_order_of_their_names() {
        let shape = Shape { lanes: 2, rows: 3, cards: 5, units: 4, options: 32 };
        let mut at = 0;
        for (number, &part) in Ints::ALL.iter().enumerate() {
            assert_eq!(part as usize, number);
            assert_eq!(shape.ints_at(part).start, at);
            at = shape.ints_at(part).end;
        }
        assert_eq!(at, shape.ints_len());
        let mut at = 0;
        for (number, &part) in Floats::ALL.iter().enumerate() {
            assert_eq!(part as usize, number);
            assert_eq!(shape.floats_at(part).start, at);
            at = shape.floats_at(part).end;
        }
        assert_eq!(at, shape.floats_len());
    }
}
