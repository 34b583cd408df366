//! Tokens of a batch, from what the rows hold.
//!
//! A card is its embedding plus a projection of its fixed features, and id 0 is the zero vector. A card token adds type,
//! bucket and flag; a unit token is the sum of its cards and their buckets, a projection of its numbers, and its type. An
//! option reads the *input* tokens that it refers to.

use common::formats::decisions::columns::{OPTION_ATTRS, UNIT_ATTRS};
use tch::{Kind, Tensor};

use super::{Linear, Parameter, Parameters, embedding, linear, parameter, uniform};
use crate::batch::{Batch, Floats, Ints};
use crate::cards::FEATURES;
use crate::schema::{
    ATTACKS, BAG, BUCKETS, CARDS, CLS_SCALARS, SELECT_CONTEXTS, SELECT_TYPES, TYPES, Token, VERBS,
};

#[derive(Debug)]
pub(super) struct Tokens {
    /// `[CARDS, FEATURES]`, fixed.
    features: Tensor,
    /// `[CARDS, 1]`: 0 for id 0, 1 for all others; cards and attacks have as many rows.
    real: Tensor,
    card: Tensor,
    card_features: Tensor,
    bucket: Tensor,
    flag: Tensor,
    kind: Tensor,
    unit: Linear,
    cls: Linear,
    select_type: Tensor,
    select_context: Tensor,
    day: Linear,
    agent: Tensor,
    deck: Tensor,
    source: Tensor,
    target: Tensor,
    attr: Tensor,
    verb: Tensor,
    attack: Tensor,
}

/// Embeddings with a zero vector for id 0.
#[derive(Debug)]
pub(crate) struct Tables {
    /// `[CARDS, width]`: embedding plus projected features.
    cards: Tensor,
    /// `[ATTACKS, width]`
    attacks: Tensor,
}

impl Tokens {
    pub(super) fn new(parameters: &Parameters, features: Tensor) -> Self {
        let get = |name: &str| parameters.get(name);
        let real = Tensor::ones([CARDS as i64, 1], (Kind::Float, features.device()));
        let _ = real.narrow(0, 0, 1).fill_(0.0);
        Self {
            features,
            real,
            card: get("card.embedding"),
            card_features: get("card.features.weight"),
            bucket: get("bucket.embedding"),
            flag: get("flag.weight"),
            kind: get("type.embedding"),
            unit: Linear::new(parameters, "unit"),
            cls: Linear::new(parameters, "cls"),
            select_type: get("select_type.embedding"),
            select_context: get("select_context.embedding"),
            day: Linear::new(parameters, "meta.day"),
            agent: get("meta.agent.embedding"),
            deck: get("meta.deck.embedding"),
            source: get("option.source.weight"),
            target: get("option.target.weight"),
            attr: get("option.attr.weight"),
            verb: get("verb.embedding"),
            attack: get("attack.embedding"),
        }
    }

    pub(super) fn tables(&self) -> Tables {
        let cards = &self.card + self.features.linear(&self.card_features, None::<&Tensor>);
        Tables { cards: cards * &self.real, attacks: &self.attack * &self.real }
    }

    /// `[rows, tokens, width]`: head, cards, units, `memory` as scratch registers, options.
    pub(super) fn sequence(&self, tables: &Tables, batch: &Batch, memory: &Tensor) -> Tensor {
        let parts = [self.head(batch), self.cards(tables, batch), self.units(tables, batch)];
        let state = Tensor::cat(&parts, 1);
        let options = self.options(tables, batch, &state);
        let scratch = memory + self.type_of(Token::Scratch);
        Tensor::cat(&[state, scratch, options], 1)
    }

    /// `[width]`
    fn type_of(&self, token: Token) -> Tensor {
        self.kind.select(0, token as i64)
    }

    /// `[rows, 6, width]`
    fn head(&self, batch: &Batch) -> Tensor {
        let rows = batch.shape.rows;
        let pick = |table: &Tensor, part| lookup(table, &batch.ints(part, &[rows]));
        let all = |token| self.type_of(token).unsqueeze(0).expand([rows as i64, -1], false);
        let day = self.day.run(&batch.floats(Floats::Day, &[rows, 1]));
        let meta = day + pick(&self.agent, Ints::AgentBucket) + pick(&self.deck, Ints::DeckBucket);
        let tokens = [
            self.cls.run(&batch.floats(Floats::Cls, &[rows, CLS_SCALARS])) + self.type_of(Token::Cls),
            all(Token::Value),
            all(Token::Submit),
            pick(&self.select_type, Ints::SelectType) + self.type_of(Token::SelectType),
            pick(&self.select_context, Ints::SelectContext) + self.type_of(Token::SelectContext),
            meta + self.type_of(Token::MetaContext),
        ];
        Tensor::stack(&tokens, 1)
    }

    /// `[rows, cards, width]`
    fn cards(&self, tables: &Tables, batch: &Batch) -> Tensor {
        let (rows, cards) = (batch.shape.rows, batch.shape.cards);
        let ids = lookup(&tables.cards, &batch.ints(Ints::CardId, &[rows, cards]));
        let buckets = lookup(&self.bucket, &batch.ints(Ints::CardBucket, &[rows, cards]));
        let types = lookup(&self.kind, &batch.ints(Ints::CardType, &[cards]));
        ids + buckets + types + batch.floats(Floats::CardFlag, &[rows, cards, 1]) * &self.flag
    }

    /// `[rows, units, width]`
    fn units(&self, tables: &Tables, batch: &Batch) -> Tensor {
        let (rows, units) = (batch.shape.rows, batch.shape.units);
        let ids = batch.ints(Ints::BagId, &[rows, units, BAG]);
        let there = ids.gt(0).to_kind(Kind::Float).unsqueeze(-1);
        let buckets = lookup(&self.bucket, &batch.ints(Ints::BagBucket, &[rows, units, BAG])) * there;
        let bag = (lookup(&tables.cards, &ids) + buckets).sum_dim_intlist(2, false, Kind::Float);
        let attrs = self.unit.run(&batch.floats(Floats::UnitAttr, &[rows, units, UNIT_ATTRS]));
        bag + attrs + lookup(&self.kind, &batch.ints(Ints::UnitType, &[units]))
    }

    /// `[rows, options, width]`, from `state`, the tokens that options refer to.
    fn options(&self, tables: &Tables, batch: &Batch, state: &Tensor) -> Tensor {
        let dims = [batch.shape.rows, batch.shape.options];
        let width = state.size()[2];
        // number 0 is the zero vector, for options that refer to no token
        let zero = Tensor::zeros([1, width], (Kind::Float, state.device()));
        let tokens = Tensor::cat(&[zero, state.reshape([-1, width])], 0);
        let end = |token, card| {
            let ids = batch.ints(card, &dims);
            let there = ids.gt(0).to_kind(Kind::Float).unsqueeze(-1);
            let made = lookup(&tables.cards, &ids) + there * self.type_of(Token::CardSynth);
            lookup(&tokens, &batch.ints(token, &dims)) + made
        };
        let none = None::<&Tensor>;
        let source = end(Ints::SourceToken, Ints::SourceCard).linear(&self.source, none);
        let target = end(Ints::TargetToken, Ints::TargetCard).linear(&self.target, none);
        let attrs = batch.floats(Floats::OptionAttr, &[dims[0], dims[1], OPTION_ATTRS]);
        source
            + target
            + attrs.linear(&self.attr, none)
            + lookup(&self.verb, &batch.ints(Ints::Verb, &dims))
            + lookup(&tables.attacks, &batch.ints(Ints::Attack, &dims))
            + self.type_of(Token::Option)
    }
}

fn lookup(table: &Tensor, ids: &Tensor) -> Tensor {
    Tensor::embedding(table, ids, -1, false, false)
}

pub(super) fn list(width: usize) -> Vec<Parameter> {
    let table = |name: &str, rows| parameter(name, &[rows, width], embedding(width));
    let matrix = |name: &str, inputs| parameter(name, &[width, inputs], uniform(inputs));
    let mut list = vec![
        table("card.embedding", CARDS),
        matrix("card.features.weight", FEATURES),
        table("bucket.embedding", BUCKETS),
        parameter("flag.weight", &[width], embedding(width)),
        table("type.embedding", TYPES),
        table("select_type.embedding", SELECT_TYPES),
        table("select_context.embedding", SELECT_CONTEXTS),
        table("meta.agent.embedding", BUCKETS),
        table("meta.deck.embedding", BUCKETS),
        matrix("option.source.weight", width),
        matrix("option.target.weight", width),
        matrix("option.attr.weight", OPTION_ATTRS),
        table("verb.embedding", VERBS),
        table("attack.embedding", ATTACKS),
    ];
    for (name, inputs) in [("unit", UNIT_ATTRS), ("cls", CLS_SCALARS), ("meta.day", 1)] {
        list.extend(linear(name, inputs, width));
    }
    list
}
