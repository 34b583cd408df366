//! The fixed table of card features, one row a card id, from the card catalog (the tables that decision days are built
//! with). It is domain data: no gradient, no optimizer state. Checkpoints hold it, and its catalog's digest.

use std::path::Path;

use common::process::Failure;
use common::process::failure::InFile;
use common::process::table::{Row, Table};
use common::state::digest::Digest;

use crate::schema::CARDS;

/// Kinds of cards, by their number.
const KINDS: usize = 7;
/// Kinds of energy, by their number.
const ENERGIES: usize = 12;
/// Columns that hold 0 or 1.
const FLAGS: [&str; 7] = ["basic", "stage1", "stage2", "ex", "mega_ex", "tera", "ace_spec"];
/// Numbers, and what they are divided by.
const NUMBERS: [(&str, f32); 3] = [("hp", 340.0), ("retreat", 4.0), ("n_skills", 2.0)];
/// Features of the attacks: number, greatest damage, least cost.
const OF_ATTACKS: usize = 3;

/// Features of a card: kind, energy, weakness, resistance (one of each), flags, numbers, attacks.
pub(crate) const FEATURES: usize = KINDS + 3 * ENERGIES + FLAGS.len() + NUMBERS.len() + OF_ATTACKS;

/// The table.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CardTable {
    /// `CARDS` rows of [`FEATURES`]; zeros for ids that are no card's.
    pub(crate) features: Vec<f32>,
    /// Digest over both files, as decision days record it.
    pub(crate) digest: Digest,
}

impl CardTable {
    /// Reads the tables of cards and attacks. A table without a needed column, or with a field that is no number, is
    /// refused (exit 3).
    pub(crate) fn read(cards: &Path, attacks: &Path) -> Result<Self, Failure> {
        let (card_text, attack_text) =
            (fs_err::read(cards).in_file(cards)?, fs_err::read(attacks).in_file(attacks)?);
        let digest = Digest::of_fields([&card_text[..], &attack_text[..]]);
        let attack_table = read_attacks(&attack_text).map_err(|failure| failure.in_file(attacks))?;
        let features = read_cards(&card_text, &attack_table).map_err(|failure| failure.in_file(cards))?;
        Ok(Self { features, digest })
    }
}

/// Damage and cost of each attack, by its id.
fn read_attacks(text: &[u8]) -> Result<Vec<[f32; 2]>, Failure> {
    let table = Table::parse(text)?;
    let (id, damage, energies) =
        (table.column("attack_id")?, table.column("damage")?, table.column("energies")?);
    let mut attacks = vec![[0.0; 2]; CARDS];
    for row in table.rows() {
        attacks[row.below(id, CARDS)?] = [finite(&row, damage)?, list(row.text(energies)).count() as f32];
    }
    Ok(attacks)
}

fn read_cards(text: &[u8], of_attacks: &[[f32; 2]]) -> Result<Vec<f32>, Failure> {
    let table = Table::parse(text)?;
    let names = ["card_id", "card_type", "energy_type", "weakness", "resistance", "attacks"];
    let [id, kind, energy, weakness, resistance, attacks] = table.columns(names)?;
    let flags = table.columns(FLAGS)?;
    let numbers = table.columns(NUMBERS.map(|(name, _)| name))?;
    let mut features = vec![0.0; CARDS * FEATURES];
    for row in table.rows() {
        let card = row.below(id, CARDS)?;
        let mut out = Features { values: &mut features[card * FEATURES..][..FEATURES], at: 0 };
        for (column, len) in [(kind, KINDS), (energy, ENERGIES), (weakness, ENERGIES), (resistance, ENERGIES)]
        {
            let of = (!row.text(column).is_empty()).then(|| row.below(column, len)).transpose()?;
            out.one_of(of, len);
        }
        for column in flags {
            out.push(finite(&row, column)?);
        }
        for (column, (_, scale)) in numbers.into_iter().zip(NUMBERS) {
            out.push(finite(&row, column)? / scale);
        }
        let attacks = list(row.text(attacks)).map(|text| {
            let id = text.parse().ok().filter(|&id: &usize| id < CARDS);
            id.map(|id| of_attacks[id]).ok_or_else(|| {
                row.refuse(format!("{text:?} where ids of attacks between commas are expected"))
            })
        });
        let attacks = attacks.collect::<Result<Vec<_>, _>>()?;
        let most = attacks.iter().map(|attack| attack[0]).fold(0.0, f32::max);
        let least = attacks.iter().map(|attack| attack[1]).reduce(f32::min).unwrap_or(0.0);
        out.push(attacks.len() as f32 / 2.0);
        out.push(most / 340.0);
        out.push(least / 4.0);
    }
    Ok(features)
}

/// Features of a card in the making.
struct Features<'a> {
    values: &'a mut [f32],
    at: usize,
}

impl Features<'_> {
    fn push(&mut self, value: f32) {
        self.values[self.at] = value;
        self.at += 1;
    }

    fn one_of(&mut self, which: Option<usize>, len: usize) {
        if let Some(which) = which {
            self.values[self.at + which] = 1.0;
        }
        self.at += len;
    }
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|part| !part.is_empty())
}

/// A field that must be a finite number.
fn finite(row: &Row<'_>, column: usize) -> Result<f32, Failure> {
    let number = row.number::<f32>(column)?;
    if number.is_finite() {
        Ok(number)
    } else {
        Err(row.refuse(format!("{number} where a number is expected")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CARDS_TEXT: &str = "card_id\tcard_type\tenergy_type\thp\tretreat\tweakness\tresistance\tbasic\tstage1\t\
                              stage2\tex\tmega_ex\ttera\tace_spec\tn_skills\tattacks\n\
                              7\t0\t3\t170\t2\t4\t\t1\t0\t0\t0\t0\t1\t0\t1\t5,6\n";
    const ATTACKS_TEXT: &str = "attack_id\tdamage\tenergies\n5\t34\t0,0\n6\t340\t3\n";

    #[test]
    fn a_card_by_hand() {
        let features =
            read_cards(CARDS_TEXT.as_bytes(), &read_attacks(ATTACKS_TEXT.as_bytes()).unwrap()).unwrap();
        let card = &features[7 * FEATURES..8 * FEATURES];
        let mut expected = vec![0.0; FEATURES];
        for at in [0, KINDS + 3, KINDS + ENERGIES + 4, KINDS + 3 * ENERGIES, KINDS + 3 * ENERGIES + 5] {
            expected[at] = 1.0;
        }
        expected[FEATURES - 6..].copy_from_slice(&[0.5, 0.5, 0.5, 1.0, 1.0, 0.25]);
        assert_eq!(card, expected);
        assert!(features[..7 * FEATURES].iter().all(|&value| value == 0.0));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let attacks = read_attacks(ATTACKS_TEXT.as_bytes()).unwrap();
        for (from, to) in
            [("170", "many"), ("7\t0", "2048\t0"), ("5,6", "5,x"), ("ex\t", "xe\t"), ("\t4\t", "\t12\t")]
        {
            let text = CARDS_TEXT.replacen(from, to, 1);
            assert!(read_cards(text.as_bytes(), &attacks).is_err(), "{to}");
        }
        assert!(read_cards(&[0xff], &attacks).is_err());
    }
}
