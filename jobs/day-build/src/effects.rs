//! What rules text says, as a table of its own, since the card files hold none.
//!
//! Columns between tabs: `kind` (`attack` or `card`), `id`, `variable`, `offence`, `defence`, then up to 21 flags of
//! any name. Of an attack count `variable` and the flags; of a card the damage that it adds to attacks of the unit it
//! is or lies on (`offence`), and that it takes from attacks on it (`defence`). A stadium counts for both sides.

use std::collections::HashMap;
use std::path::Path;

use common::formats::decisions::manifest;
use common::process::Failure;
use common::process::failure::InFile;
use common::process::table::Table;
use common::state::digest::Digest;

use crate::cards::MAX_ID;

/// Flags of an attack.
pub(crate) const FLAGS: usize = 21;
const KEYS: [&str; 5] = ["kind", "id", "variable", "offence", "defence"];

/// The table; without one every value is 0.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    attacks: HashMap<i32, AttackEffect>,
    cards: HashMap<i32, Buff>,
    /// What the manifest says of it.
    pub(crate) stated: Option<manifest::Effects>,
}

/// What an attack's text does.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct AttackEffect {
    /// Whether its damage varies.
    pub(crate) variable: bool,
    pub(crate) flags: [bool; FLAGS],
}

/// What a card adds to damage done, and takes from damage taken.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Buff {
    pub(crate) offence: f32,
    pub(crate) defence: f32,
}

impl Effects {
    /// Reads a table, where one is given.
    pub(crate) fn read(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self::default()) };
        let text = fs_err::read(path).in_file(path)?;
        Self::parse(&text).map_err(|failure| failure.in_file(path))
    }

    fn parse(text: &[u8]) -> Result<Self, Failure> {
        let table = Table::parse(text)?;
        let mut at = [0; KEYS.len()];
        for (at, name) in at.iter_mut().zip(KEYS) {
            *at = table.column(name)?;
        }
        let [kind, id, variable, offence, defence] = at;
        let flags: Vec<(usize, &str)> =
            table.names().iter().copied().enumerate().filter(|(_, name)| !KEYS.contains(name)).collect();
        if flags.len() > FLAGS {
            return Err(Failure::bad_data("it has more flags than an option has room for")
                .found(flags.len(), format!("{FLAGS} at most")));
        }
        let names = flags.iter().map(|&(_, name)| name.to_owned()).collect();
        let stated = Some(manifest::Effects { sha256: Digest::of(text), flags: names });
        let mut effects = Self { stated, ..Self::default() };
        for row in table.rows() {
            let key = row.id(id, MAX_ID)? as i32;
            let known = match row.text(kind) {
                "attack" => {
                    let mut effect = AttackEffect {
                        variable: row.number::<u8>(variable)? != 0,
                        ..AttackEffect::default()
                    };
                    for (flag, &(at, _)) in effect.flags.iter_mut().zip(&flags) {
                        *flag = row.number::<u8>(at)? != 0;
                    }
                    effects.attacks.insert(key, effect).is_some()
                }
                "card" => {
                    let (offence, defence) = (row.number::<u16>(offence)?, row.number::<u16>(defence)?);
                    let buff = Buff { offence: offence.into(), defence: defence.into() };
                    effects.cards.insert(key, buff).is_some()
                }
                other => return Err(row.refuse(format!("kind is {other:?}, neither attack nor card"))),
            };
            if known {
                return Err(row.refuse(format!("id {key} is there twice")));
            }
        }
        Ok(effects)
    }

    pub(crate) fn attack(&self, id: i32) -> AttackEffect {
        self.attacks.get(&id).copied().unwrap_or_default()
    }

    /// Sum of what cards do together.
    pub(crate) fn buff(&self, ids: impl Iterator<Item = i32>) -> Buff {
        if self.cards.is_empty() {
            return Buff::default();
        }
        let buffs = ids.filter_map(|id| self.cards.get(&id));
        buffs.fold(Buff::default(), |sum, buff| Buff {
            offence: sum.offence + buff.offence,
            defence: sum.defence + buff.defence,
        })
    }
}

#[cfg(test)]
impl Effects {
    /// A table from its text, for tests.
    pub(crate) fn of(text: &str) -> Self {
        Self::parse(text.as_bytes()).expect("a table")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_attacks_and_cards() {
        let text = "kind\tid\tvariable\toffence\tdefence\theals\tdraws\nattack\t5\t1\t\t\t0\t1\ncard\t9\t\t30\t0\t\t\n";
        let effects = Effects::parse(text.as_bytes()).unwrap();
        let attack = effects.attack(5);
        assert_eq!((attack.variable, &attack.flags[..3]), (true, &[false, true, false][..]));
        assert_eq!(effects.buff([9, 1, 9].into_iter()).offence, 60.0);
        assert_eq!(effects.stated.unwrap().flags, ["heals", "draws"]);
        for bad in ["kind\tid\n", &text.replace("attack\t5", "attack\t0"), &text.replace("card", "deck")] {
            assert!(Effects::parse(bad.as_bytes()).is_err(), "{bad}");
        }
    }
}
