//! The card catalog: what the card and attack files say of a number.

use std::path::Path;

use common::process::Failure;
use common::process::failure::InFile;
use common::process::table::{Row, Table};
use common::state::digest::Digest;

/// Greatest id of a card or an attack: models have embeddings of a fixed size.
pub(crate) const MAX_ID: i32 = 2046;

/// Cards and attacks.
#[derive(Debug)]
pub(crate) struct Catalog {
    /// By id; whether the card is a Tera Pokémon.
    cards: Vec<Option<bool>>,
    attacks: Vec<Option<Attack>>,
    /// Digest over both files, each after its length.
    pub(crate) digest: Digest,
    names: Names,
}

/// What an attack does, as far as the files say.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Attack {
    pub(crate) damage: f32,
    /// Number of energies.
    pub(crate) cost: f32,
    /// Whether there is text beside the damage.
    pub(crate) has_text: bool,
}

/// Names for people.
#[derive(Debug, Default)]
pub(crate) struct Names {
    cards: Vec<Option<String>>,
    attacks: Vec<Option<String>>,
}

impl Catalog {
    /// Reads both files.
    pub(crate) fn read(cards: &Path, attacks: &Path) -> Result<Self, Failure> {
        let (card_text, attack_text) =
            (fs_err::read(cards).in_file(cards)?, fs_err::read(attacks).in_file(attacks)?);
        let digest = Digest::of_fields([&card_text[..], &attack_text[..]]);
        let mut catalog = Self { cards: vec![], attacks: vec![], digest, names: Names::default() };
        catalog.read_cards(&card_text).map_err(|failure| failure.in_file(cards))?;
        catalog.read_attacks(&attack_text).map_err(|failure| failure.in_file(attacks))?;
        Ok(catalog)
    }

    fn read_cards(&mut self, text: &[u8]) -> Result<(), Failure> {
        let table = Table::parse(text)?;
        let (id, name, tera) = (table.column("card_id")?, table.column("name")?, table.column("tera")?);
        for row in table.rows() {
            let at = row.id(id, MAX_ID)?;
            put(&mut self.cards, at, row.number::<u8>(tera)? != 0, &row)?;
            put(&mut self.names.cards, at, row.text(name).to_owned(), &row)?;
        }
        if self.cards.is_empty() {
            return Err(Failure::bad_data("it has no cards"));
        }
        Ok(())
    }

    fn read_attacks(&mut self, text: &[u8]) -> Result<(), Failure> {
        let table = Table::parse(text)?;
        let (id, name) = (table.column("attack_id")?, table.column("name")?);
        let (damage, energies) = (table.column("damage")?, table.column("energies")?);
        let has_text = table.column("has_text")?;
        for row in table.rows() {
            let cost = row.text(energies).split(',').filter(|energy| !energy.is_empty()).count() as f32;
            let damage = f32::from(row.number::<u16>(damage)?);
            let attack = Attack { damage, cost, has_text: row.number::<u8>(has_text)? != 0 };
            let at = row.id(id, MAX_ID)?;
            put(&mut self.attacks, at, attack, &row)?;
            put(&mut self.names.attacks, at, row.text(name).to_owned(), &row)?;
        }
        Ok(())
    }

    /// The id that stands for a card nobody knows: one past the greatest.
    pub(crate) fn unknown(&self) -> i32 {
        self.cards.len() as i32
    }

    /// Whether the catalog holds a card.
    pub(crate) fn knows(&self, id: i32) -> bool {
        at(&self.cards, id).is_some()
    }

    /// Whether a card is a Tera Pokémon.
    pub(crate) fn is_tera(&self, id: i32) -> bool {
        at(&self.cards, id).is_some_and(|&tera| tera)
    }

    /// An attack.
    pub(crate) fn attack(&self, id: i32) -> Option<Attack> {
        at(&self.attacks, id).copied()
    }

    /// Name of a card.
    pub(crate) fn card_name(&self, id: i32) -> Option<&str> {
        at(&self.names.cards, id).map(String::as_str)
    }

    /// Name of an attack.
    pub(crate) fn attack_name(&self, id: i32) -> Option<&str> {
        at(&self.names.attacks, id).map(String::as_str)
    }
}

fn at<T>(list: &[Option<T>], id: i32) -> Option<&T> {
    list.get(usize::try_from(id).ok()?)?.as_ref()
}

fn put<T>(list: &mut Vec<Option<T>>, at: usize, value: T, row: &Row<'_>) -> Result<(), Failure> {
    while list.len() <= at {
        list.push(None);
    }
    match list[at].replace(value) {
        None => Ok(()),
        Some(_) => Err(row.refuse(format!("id {at} is there twice"))),
    }
}

#[cfg(test)]
impl Catalog {
    /// A catalog from texts, for tests.
    pub(crate) fn of(cards: &str, attacks: &str) -> Self {
        let (cards, attacks) = (
            format!("card_id\tname\ttera\n{cards}"),
            format!("attack_id\tname\tdamage\tenergies\thas_text\n{attacks}"),
        );
        let mut catalog =
            Self { cards: vec![], attacks: vec![], digest: Digest::of(b""), names: Names::default() };
        catalog.read_cards(cards.as_bytes()).expect("cards");
        catalog.read_attacks(attacks.as_bytes()).expect("attacks");
        catalog
    }
}
