//! Token schema, version 1: what the model's input consists of. Encoder, model, loader, checkpoint and agent know tokens
//! from here alone. A sequence is
//!
//! | tokens | what |
//! |---|---|
//! | 0..6 | CLS, VALUE, SUBMIT, SELECT_TYPE, SELECT_CONTEXT, META_CONTEXT |
//! | 6..340 | streams: zones of cards, then units |
//! | 340..356 | scratch registers |
//! | 356..548 | options |
//!
//! before compaction takes out what every row pads.

use common::formats::decisions::columns::{MAX_OPTIONS, UNITS, column};
use common::state::digest::Digest;

/// Version of the schema.
pub(crate) const VERSION: u32 = 1;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Token {
    Cls,
    SelfDeck,
    OppDeck,
    SelfPrize,
    OppPrize,
    SelfHand,
    OppHand,
    SelfDiscard,
    OppDiscard,
    Stadium,
    SelfActive,
    SelfBench,
    OppActive,
    OppBench,
    Option,
    Effect,
    SelectType,
    SelectContext,
    CardSynth,
    MetaContext,
    Scratch,
    Value,
    Submit,
}

/// Number of types.
pub(crate) const TYPES: usize = Token::Submit as usize + 1;

/// Tokens at the head of every sequence, by their position.
pub(crate) const HEAD: [Token; 6] =
    [Token::Cls, Token::Value, Token::Submit, Token::SelectType, Token::SelectContext, Token::MetaContext];
/// Scratch registers, which carry memory from decision to decision.
pub(crate) const SCRATCH: usize = 16;
/// Cards of a unit: the top one, 2 pre-evolutions, 4 tools, 4 energies.
pub(crate) const BAG: usize = 11;
/// What fits between the head and the options is filled up to one of these.
pub(crate) const OPTION_BUCKETS: [usize; 4] = [32, 64, 128, MAX_OPTIONS];
/// The state's length is a multiple of this, or its whole length.
pub(crate) const STATE_STEP: usize = 32;

/// Rows of the embedding of cards, and of that of attacks.
pub(crate) const CARDS: usize = 2048;
/// Rows of the embedding of attacks.
pub(crate) const ATTACKS: usize = 2048;
/// Rows of the embedding of verbs.
pub(crate) const VERBS: usize = 17;
/// Rows of the embedding of select types.
pub(crate) const SELECT_TYPES: usize = 16;
/// Rows of the embedding of select contexts.
pub(crate) const SELECT_CONTEXTS: usize = 64;
/// Rows of the embeddings of buckets.
pub(crate) const BUCKETS: usize = 11;
/// Floats of the whole board.
pub(crate) const CLS_SCALARS: usize = 19;

/// A zone of cards: one token a slot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Zone {
    pub(crate) token: Token,
    pub(crate) slots: usize,
    pub(crate) id: usize,
    pub(crate) mask: usize,
    pub(crate) bucket: usize,
    pub(crate) flag: Option<usize>,
}

macro_rules! zone {
    ($name:literal, $token:ident, $slots:literal $(, $flag:literal)?) => {
        Zone {
            token: Token::$token,
            slots: $slots,
            id: column(concat!($name, "_id")),
            mask: column(concat!($name, "_mask")),
            bucket: column(concat!($name, "_meta_bucket")),
            flag: zone!(@flag $($flag)?),
        }
    };
    (@flag $flag:literal) => { Some(column($flag)) };
    (@flag) => { None };
}

/// Zones in the order of their tokens, from raw position 3 on.
pub(crate) const ZONES: [Zone; 10] = [
    zone!("self_deck", SelfDeck, 60, "self_deck_flag"),
    zone!("opp_deck", OppDeck, 60, "opp_deck_flag"),
    zone!("self_prize", SelfPrize, 6),
    zone!("opp_prize", OppPrize, 6),
    zone!("self_hand", SelfHand, 30),
    zone!("opp_hand", OppHand, 30, "opp_hand_flag"),
    zone!("self_discard", SelfDiscard, 60),
    zone!("opp_discard", OppDiscard, 60),
    zone!("stadium", Stadium, 2),
    zone!("effect", Effect, 2),
];
/// Tokens of all zones.
pub(crate) const CARD_TOKENS: usize = 316;
/// Tokens of both sides' units.
pub(crate) const UNIT_TOKENS: usize = 2 * UNITS;
/// Raw positions before the streams.
pub(crate) const RAW_HEAD: usize = 3;
/// Raw positions in all.
pub(crate) const RAW: usize = RAW_HEAD + CARD_TOKENS + UNIT_TOKENS;

/// Units of a side.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side {
    /// Columns of the bag: ids, buckets, slots of a unit.
    pub(crate) bag: [(usize, usize, usize); 4],
    pub(crate) attr: usize,
    pub(crate) mask: usize,
    pub(crate) active: Token,
    pub(crate) bench: Token,
}

macro_rules! side {
    ($name:literal, $active:ident, $bench:ident) => {
        Side {
            bag: [
                side!(@part $name, "_unit_top", 1),
                side!(@part $name, "_unit_preevo", 2),
                side!(@part $name, "_unit_tool", 4),
                side!(@part $name, "_unit_energy", 4),
            ],
            attr: column(concat!($name, "_unit_attr")),
            mask: column(concat!($name, "_unit_mask")),
            active: Token::$active,
            bench: Token::$bench,
        }
    };
    (@part $name:literal, $part:literal, $slots:literal) => {
        (column(concat!($name, $part, "_id")), column(concat!($name, $part, "_meta_bucket")), $slots)
    };
}

/// Both sides' units, ours first: the active one, then the bench.
pub(crate) const SIDES: [Side; 2] = [side!("self", SelfActive, SelfBench), side!("opp", OppActive, OppBench)];

/// Token of a card token, by its number among them.
pub(crate) fn card_type(mut token: usize) -> Token {
    for zone in &ZONES {
        if token < zone.slots {
            return zone.token;
        }
        token -= zone.slots;
    }
    Token::CardSynth
}

/// Token of a unit token, by its number among them.
pub(crate) fn unit_type(token: usize) -> Token {
    let side = &SIDES[usize::from(token >= UNITS)];
    if token.is_multiple_of(UNITS) { side.active } else { side.bench }
}

/// Where a raw position of `opt_src_pos` and `opt_tgt_pos` lies: CLS, SELECT_TYPE and SELECT_CONTEXT, then the streams.
pub(crate) fn place(raw: usize) -> Option<Place> {
    const FIRST_UNIT: usize = RAW_HEAD + CARD_TOKENS;
    match raw {
        0 => Some(Place::Head(0)),
        1..RAW_HEAD => Some(Place::Head(raw + 2)),
        RAW_HEAD..FIRST_UNIT => Some(Place::Card(raw - RAW_HEAD)),
        FIRST_UNIT..RAW => Some(Place::Unit(raw - FIRST_UNIT)),
        _ => None,
    }
}

/// A token of the state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// By its position.
    Head(usize),
    /// By its number among cards.
    Card(usize),
    /// By its number among units.
    Unit(usize),
}

/// Columns that a model reads of each row.
pub(crate) fn input_columns() -> Vec<usize> {
    let mut columns = vec![
        column("select_type"),
        column("select_context"),
        column("day_index_norm"),
        column("opponent_agent_bucket"),
        column("opponent_deck_bucket"),
        column("cls_scalars"),
    ];
    for zone in &ZONES {
        columns.extend([zone.id, zone.mask, zone.bucket]);
        columns.extend(zone.flag);
    }
    for side in &SIDES {
        columns.extend(side.bag.iter().flat_map(|&(ids, buckets, _)| [ids, buckets]));
        columns.extend([side.attr, side.mask]);
    }
    columns.extend([
        column("opt_attr"),
        column("opt_verb"),
        column("opt_src_pos"),
        column("opt_tgt_pos"),
        column("opt_src_card"),
        column("opt_tgt_card"),
        column("opt_attack_id"),
        column("action_mask"),
        column("opt_group"),
    ]);
    columns
}

/// Digest of everything above that decides what a weight means.
pub(crate) fn digest() -> Digest {
    let zones = ZONES.iter().map(|zone| (zone.token, zone.slots)).collect::<Vec<_>>();
    let sizes = [SCRATCH, BAG, CARDS, ATTACKS, VERBS, SELECT_TYPES, SELECT_CONTEXTS, BUCKETS, CLS_SCALARS];
    Digest::of(format!("{VERSION} {HEAD:?} {zones:?} {sizes:?} {:?}", Token::Submit as u8).as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use common::formats::decisions::COLUMNS;

    #[test]
    fn a_sequence_has_548_tokens_at_most() {
        assert_eq!(ZONES.iter().map(|zone| zone.slots).sum::<usize>(), CARD_TOKENS);
        assert_eq!(HEAD.len() + CARD_TOKENS + UNIT_TOKENS, 340);
        assert_eq!(340 + SCRATCH + MAX_OPTIONS, 548);
        assert_eq!(RAW, 337);
    }

    #[test]
    fn all_types_are_told_apart() {
        let mut seen: Vec<u8> = HEAD.iter().map(|&token| token as u8).collect();
        seen.extend((0..CARD_TOKENS).map(|token| card_type(token) as u8));
        seen.extend((0..UNIT_TOKENS).map(|token| unit_type(token) as u8));
        seen.extend([Token::Option, Token::CardSynth, Token::Scratch].map(|token| token as u8));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen, (0..TYPES as u8).collect::<Vec<_>>());
    }

    #[test]
    fn zones_have_as_many_slots_as_their_columns() {
        for zone in &ZONES {
            for at in [zone.id, zone.mask, zone.bucket].into_iter().chain(zone.flag) {
                assert_eq!(COLUMNS[at].list, Some(zone.slots), "{}", COLUMNS[at].name);
            }
        }
        for side in &SIDES {
            for (ids, buckets, slots) in side.bag {
                assert_eq!(COLUMNS[ids].list, Some(slots * UNITS));
                assert_eq!(COLUMNS[buckets].list, Some(slots * UNITS));
            }
        }
    }

    #[test]
    fn raw_positions_meet_their_zones() {
        // as the encoder of decision days numbers them
        let cases = [
            (3, Token::SelfDeck),
            (62, Token::SelfDeck),
            (63, Token::OppDeck),
            (123, Token::SelfPrize),
            (129, Token::OppPrize),
            (135, Token::SelfHand),
            (165, Token::OppHand),
            (195, Token::SelfDiscard),
            (255, Token::OppDiscard),
            (315, Token::Stadium),
            (317, Token::Effect),
            (319, Token::SelfActive),
            (320, Token::SelfBench),
            (327, Token::SelfBench),
            (328, Token::OppActive),
            (329, Token::OppBench),
            (336, Token::OppBench),
            (0, Token::Cls),
            (1, Token::SelectType),
            (2, Token::SelectContext),
        ];
        for (raw, token) in cases {
            let found = place(raw).map(|place| match place {
                Place::Head(at) => HEAD[at],
                Place::Card(at) => card_type(at),
                Place::Unit(at) => unit_type(at),
            });
            assert_eq!(found, Some(token), "{raw}");
        }
        assert_eq!(place(RAW), None);
    }
}
