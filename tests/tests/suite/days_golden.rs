//! Values of chosen decisions, derived by hand from what the replay shows. `tests/data/tcg/golden.tsv` names each with its
//! reason; select types that the bundled games do not have stand in the unit tests of `day-build`.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;

use common::formats::decisions::columns::find;
use common::formats::decisions::{COLUMNS, Data, Day, Group, column};
use end_to_end::tcg;

use crate::folder;

/// Where a row stands: episode, side, step, substep.
type Key = (i64, i64, i64, i64);

struct Wanted {
    key: Key,
    column: usize,
    slot: usize,
    value: f64,
    line: String,
}

fn wanted() -> HashMap<String, Vec<Wanted>> {
    let text = fs_err::read_to_string(tcg("golden.tsv")).unwrap();
    let mut days: HashMap<String, Vec<Wanted>> = HashMap::new();
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |at: usize| fields[at].parse::<i64>().unwrap();
        let column = find(fields[5]).unwrap_or_else(|| panic!("no such column: {line}"));
        let (slot, value) = (fields[6].parse().unwrap(), fields[7].parse().unwrap());
        let key = (number(1), number(2), number(3), number(4));
        days.entry(fields[0].into()).or_default().push(Wanted {
            key,
            column,
            slot,
            value,
            line: line.into(),
        });
    }
    days
}

fn value(group: &Group, column: usize, row: usize, slot: usize) -> f64 {
    match group.get(column) {
        Some(Data::I8(all)) => all[row].into(),
        Some(Data::I32(all)) => all[row].into(),
        Some(Data::I64(all)) => all[row] as f64,
        Some(Data::F32(all)) => all[row].into(),
        Some(Data::I32s(lists)) => lists.get(&COLUMNS[column], row, slot).into(),
        Some(Data::F32s(lists)) => lists.get(&COLUMNS[column], row, slot).into(),
        other => panic!("no numbers: {other:?}"),
    }
}

#[test]
fn values_that_were_derived_by_hand() {
    let (folder, mut decisions, mut wrong) = (folder(), BTreeSet::new(), vec![]);
    for (day, mut wanted) in wanted() {
        folder.build(&format!("{day}.zip"), "out", "");
        let file = File::open(folder.join(&format!("out/{day}.parquet"))).unwrap();
        let day = Day::open(file).unwrap();
        let projection = day.project_all().unwrap();
        for group in 0..day.footer().groups() {
            let group = day.read(group, &projection).unwrap();
            for row in 0..group.rows() {
                let int = |column| value(&group, column, row, 0) as i64;
                let key = (
                    int(column("episode_id")),
                    int(column("side")),
                    int(column("step_id")),
                    int(column("substep")),
                );
                wanted.retain(|wanted| {
                    if wanted.key != key {
                        return true;
                    }
                    decisions.insert(key);
                    let found = value(&group, wanted.column, row, wanted.slot);
                    if (found - wanted.value).abs() > 1e-6 {
                        wrong.push(format!("{found} where {}", wanted.line));
                    }
                    false
                });
            }
        }
        assert!(wanted.is_empty(), "no such rows: {:?}", wanted.iter().map(|w| &w.line).collect::<Vec<_>>());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(decisions.len() >= 30, "{}", decisions.len());
}
