//! `inspect`: what a day states and holds, and one of its decisions as people read it.

use std::collections::BTreeMap;
use std::fmt;

use common::formats::decisions::columns::{MAX_OPTIONS, OPTION_NAMES, SUBMIT, UNITS};
use common::formats::decisions::manifest::Counts;
use common::formats::decisions::{COLUMNS, Data, Group, column};
use common::process::failure::InFile;
use common::process::{Common, Failure, emit};
use serde::Serialize;

use super::day_file::DayFile;
use crate::cards::Catalog;
use crate::cli::InspectArgs;

const SELECTS: [&str; 11] = [
    "main",
    "card",
    "attached card",
    "card or attached card",
    "energy",
    "skill",
    "attack",
    "evolve",
    "count",
    "yes or no",
    "condition",
];

#[derive(Serialize)]
struct InspectReport {
    day: String,
    date: String,
    rows: u64,
    episodes: u64,
    row_groups: Vec<u64>,
    /// Compressed bytes of all columns together.
    bytes: u64,
    encoder_version: String,
    episode_failures: BTreeMap<String, u64>,
    counts: Counts,
    /// Name, type, length.
    schema: Vec<(&'static str, String, usize)>,
    decision: Option<Shown>,
}

/// A decision, with numbers as names.
#[derive(Serialize)]
struct Shown {
    row: u64,
    episode: i64,
    side: i8,
    step: i32,
    substep: i8,
    player: String,
    opponent: String,
    select: String,
    context: i32,
    zones: Vec<(&'static str, Vec<String>)>,
    options: Vec<ShownOption>,
    may_submit: bool,
    outcome: i8,
    reward: f32,
    aux_return: f32,
}

#[derive(Serialize)]
struct ShownOption {
    option: usize,
    verb: String,
    what: String,
    legal: bool,
    picked: bool,
    label: bool,
    /// The first option that this one can be exchanged for.
    group: i32,
}

/// Runs the verb.
pub(crate) fn run(common: &Common, args: &InspectArgs) -> Result<(), Failure> {
    let file = DayFile::open(&args.day)?;
    let catalog = match args.cards.as_ref().zip(args.attacks.as_ref()) {
        Some((cards, attacks)) => Some(Catalog::read(cards, attacks)?),
        None => None,
    };
    let manifest = &file.manifest;
    let names = Names { catalog: catalog.as_ref(), unknown: manifest.unknown_card };
    let kind = |column: &common::formats::decisions::Column| format!("{:?}", column.kind).to_lowercase();
    let report = InspectReport {
        day: file.parquet.display().to_string(),
        date: manifest.date.to_string(),
        rows: file.day.rows(),
        episodes: manifest.episodes,
        row_groups: (0..file.day.footer().groups())
            .map(|at| file.day.footer().group_rows(at) as u64)
            .collect(),
        bytes: manifest.parquet_bytes,
        encoder_version: manifest.encoder_version.clone(),
        episode_failures: manifest.episode_failures.clone(),
        counts: manifest.counts,
        schema: COLUMNS.iter().map(|column| (column.name, kind(column), column.list.unwrap_or(1))).collect(),
        decision: show(&file, args.row, names)?,
    };
    emit(common, &report)
}

/// Numbers to names.
#[derive(Clone, Copy)]
struct Names<'a> {
    catalog: Option<&'a Catalog>,
    unknown: i32,
}

impl Names<'_> {
    fn card(&self, id: i32) -> String {
        match self.catalog.and_then(|catalog| catalog.card_name(id)) {
            Some(name) => name.to_owned(),
            None if id == self.unknown => "?".to_owned(),
            None => format!("#{id}"),
        }
    }

    fn attack(&self, id: i32) -> String {
        let name = self.catalog.and_then(|catalog| catalog.attack_name(id));
        name.map_or_else(|| format!("attack {id}"), str::to_owned)
    }
}

fn show(file: &DayFile, row: u64, names: Names<'_>) -> Result<Option<Shown>, Failure> {
    let (mut before, mut at) = (0, None);
    for group in 0..file.day.footer().groups() {
        let rows = file.day.footer().group_rows(group) as u64;
        if row < before + rows {
            at = Some((group, (row - before) as usize));
            break;
        }
        before += rows;
    }
    let Some((group, within)) = at else {
        if file.day.rows() == 0 {
            return Ok(None);
        }
        return Err(Failure::usage("no such row")
            .in_file(&file.parquet)
            .found(row, format!("0 to {}", file.day.rows() - 1)));
    };
    let projection = file.day.project_all().in_file(&file.parquet)?;
    let group = file.day.read(group, &projection).in_file(&file.parquet)?;
    Ok(Some(RowView { group: &group, row: within }.shown(row, names)))
}

/// One row of a group of all columns.
pub(super) struct RowView<'a> {
    pub(super) group: &'a Group,
    pub(super) row: usize,
}

impl RowView<'_> {
    /// An integer of a row, or of a slot of its list.
    pub(super) fn int(&self, column: usize, slot: usize) -> i64 {
        match self.group.get(column) {
            Some(Data::I8(all)) => all[self.row].into(),
            Some(Data::I32(all)) => all[self.row].into(),
            Some(Data::I64(all)) => all[self.row],
            Some(Data::I32s(lists)) => lists.get(&COLUMNS[column], self.row, slot).into(),
            _ => 0,
        }
    }

    /// A float of a row, or of a slot of its list.
    pub(super) fn float(&self, column: usize, slot: usize) -> f32 {
        match self.group.get(column) {
            Some(Data::F32(all)) => all[self.row],
            Some(Data::F32s(lists)) => lists.get(&COLUMNS[column], self.row, slot),
            _ => 0.0,
        }
    }

    /// A text of a row.
    pub(super) fn text(&self, column: usize) -> &str {
        match self.group.get(column) {
            Some(Data::Text(texts)) => texts.row(self.row),
            _ => "",
        }
    }

    fn shown(&self, row: u64, names: Names<'_>) -> Shown {
        let int = |column| self.int(column, 0);
        let select = int(const { column("select_type") });
        Shown {
            row,
            episode: int(const { column("episode_id") }),
            side: int(const { column("side") }) as i8,
            step: int(const { column("step_id") }) as i32,
            substep: int(const { column("substep") }) as i8,
            player: self.text(const { column("player_name") }).into(),
            opponent: self.text(const { column("opponent_name") }).into(),
            select: named(&SELECTS, select),
            context: int(const { column("select_context") }) as i32,
            zones: self.zones(names),
            options: self.options(names),
            may_submit: self.float(const { column("action_mask") }, SUBMIT) > 0.0,
            outcome: int(const { column("outcome") }) as i8,
            reward: self.float(const { column("reward") }, 0),
            aux_return: self.float(const { column("aux_return") }, 0),
        }
    }

    fn zones(&self, names: Names<'_>) -> Vec<(&'static str, Vec<String>)> {
        let zones = [
            ("our hand", const { column("self_hand_id") }, const { column("self_hand_mask") }),
            ("our units", const { column("self_unit_top_id") }, const { column("self_unit_mask") }),
            ("their units", const { column("opp_unit_top_id") }, const { column("opp_unit_mask") }),
            ("their hand", const { column("opp_hand_id") }, const { column("opp_hand_mask") }),
            ("our prizes", const { column("self_prize_id") }, const { column("self_prize_mask") }),
            ("their prizes", const { column("opp_prize_id") }, const { column("opp_prize_mask") }),
            ("our discard", const { column("self_discard_id") }, const { column("self_discard_mask") }),
            ("their discard", const { column("opp_discard_id") }, const { column("opp_discard_mask") }),
            ("stadium", const { column("stadium_id") }, const { column("stadium_mask") }),
            ("effect", const { column("effect_id") }, const { column("effect_mask") }),
        ];
        let cards = |ids: usize, mask: usize| {
            let slots = 0..COLUMNS[ids].list.unwrap_or(0);
            let present = slots.filter(|&slot| self.float(mask, slot) > 0.0);
            present.map(|slot| names.card(self.int(ids, slot) as i32)).collect()
        };
        zones.into_iter().map(|(name, ids, mask)| (name, cards(ids, mask))).collect()
    }

    fn options(&self, names: Names<'_>) -> Vec<ShownOption> {
        let mask = const { column("action_mask") };
        let (verbs, picked) = (const { column("opt_verb") }, const { column("opt_attr") });
        let legal = |option| self.float(mask, option) > 0.0;
        let is_picked = |option: usize| self.float(picked, 36 * option + 14) > 0.0;
        let last = (0..MAX_OPTIONS).rev().find(|&option| legal(option) || is_picked(option));
        let y = self.int(const { column("y") }, 0);
        let options = 0..last.map_or(0, |last| last + 1);
        let shown = options.map(|option| ShownOption {
            option,
            verb: named(&OPTION_NAMES, self.int(verbs, option)),
            what: self.what(option, names),
            legal: legal(option),
            picked: is_picked(option),
            label: y == option as i64,
            group: self.int(const { column("opt_group") }, option) as i32,
        });
        shown.collect()
    }

    /// What an option is about, in words.
    fn what(&self, option: usize, names: Names<'_>) -> String {
        let mut words = vec![];
        let attack = self.int(const { column("opt_attack_id") }, option);
        if attack != 0 {
            words.push(names.attack(attack as i32));
        }
        for (before, position, card) in [
            ("", const { column("opt_src_pos") }, const { column("opt_src_card") }),
            ("-> ", const { column("opt_tgt_pos") }, const { column("opt_tgt_card") }),
        ] {
            let (position, card) = (self.int(position, option), self.int(card, option));
            if attack == 0 && position >= 0 {
                words.push(format!("{before}{}", self.token(position, names)));
            } else if card != 0 {
                words.push(format!("{before}{}", names.card(card as i32)));
            }
        }
        words.join(" ")
    }

    /// The card at a token.
    fn token(&self, token: i64, names: Names<'_>) -> String {
        let zones = [
            ("our prize", 123, 6, const { column("self_prize_id") }),
            ("their prize", 129, 6, const { column("opp_prize_id") }),
            ("hand", 135, 30, const { column("self_hand_id") }),
            ("their hand", 165, 30, const { column("opp_hand_id") }),
            ("discard", 195, 60, const { column("self_discard_id") }),
            ("their discard", 255, 60, const { column("opp_discard_id") }),
            ("stadium", 315, 2, const { column("stadium_id") }),
            ("our unit", 319, UNITS as i64, const { column("self_unit_top_id") }),
            ("their unit", 328, UNITS as i64, const { column("opp_unit_top_id") }),
        ];
        let zone = zones.iter().find(|(_, first, slots, _)| (*first..first + slots).contains(&token));
        zone.map_or(format!("token {token}"), |(name, first, _, ids)| {
            let slot = token - first;
            format!("{} ({name} {slot})", names.card(self.int(*ids, slot as usize) as i32))
        })
    }
}

fn named(names: &[&str], number: i64) -> String {
    let name = usize::try_from(number).ok().and_then(|at| names.get(at));
    name.map_or_else(|| format!("type {number}"), |name| (*name).to_owned())
}

impl fmt::Display for InspectReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { day, rows, episodes, row_groups, bytes, .. } = self;
        writeln!(f, "{day}")?;
        writeln!(f, "  {rows} rows of {episodes} episodes in row groups of {row_groups:?}, {bytes} bytes")?;
        for (reason, n) in &self.episode_failures {
            writeln!(f, "  {n} members without rows: {reason}")?;
        }
        let Counts { decisions, max_options, unknown_options, unknown_logs, .. } = self.counts;
        writeln!(
            f,
            "  {decisions} decisions of {max_options} options at most; of unknown types: {unknown_options} options, {unknown_logs} log entries"
        )?;
        writeln!(f, "  {} columns:", self.schema.len())?;
        for (name, kind, len) in &self.schema {
            writeln!(f, "    {name:<29} {kind} x {len}")?;
        }
        self.decision.as_ref().map_or(Ok(()), |decision| write!(f, "{decision}"))
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { row, episode, side, step, substep, player, opponent, .. } = self;
        writeln!(f, "row {row}: episode {episode}, side {side}, step {step}, substep {substep}")?;
        writeln!(f, "  {player} against {opponent}; {}, context {}", self.select, self.context)?;
        for (zone, cards) in self.zones.iter().filter(|(_, cards)| !cards.is_empty()) {
            writeln!(f, "  {zone:<14} {}", cards.join(" · "))?;
        }
        for ShownOption { option, verb, what, legal, picked, label, group } in &self.options {
            let mark = if *label { "=>" } else { "  " };
            let state = match (picked, legal) {
                (true, _) => " [picked]",
                (_, false) => " [illegal]",
                _ => "",
            };
            let like = if *group == *option as i32 { String::new() } else { format!(" [as {group}]") };
            writeln!(f, "  {mark} {option:>3}  {verb:<10} {what}{state}{like}")?;
        }
        if self.may_submit || self.options.iter().all(|option| !option.label) {
            let mark = if self.options.iter().any(|option| option.label) { "  " } else { "=>" };
            writeln!(f, "  {mark} {SUBMIT}  no further pick")?;
        }
        writeln!(f, "  outcome {}, reward {:+.3}, return {:+.3}", self.outcome, self.reward, self.aux_return)
    }
}
