//! The report of a run, `report.html`: one file with its plots inside, made from `metrics.jsonl` alone.

mod plot;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use common::process::Failure;
use common::process::failure::InFile;
use common::state::output::write_whole;
use serde::Deserialize;

use crate::validate::Metrics;
use crate::verbs::eval::verb_name;
use plot::{Series, bars, lines, scatter};

const STYLE: &str = "
:root { color-scheme: light dark; --paper: #f7f6f2; --ink: #1c2128; --soft: #59626d; --grid: #ddd; --a: #2a5f9e; --b: #b4561a }
@media (prefers-color-scheme: dark) { :root { --paper: #121519; --ink: #e5e8ec; --soft: #9da6b2; --grid: #333a42; --a: #7fb2ec;
--b: #eda267 } }
body { background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
padding: 0 1rem } h1, h2 { font-weight: 600 } p { color: var(--soft) } table { border-collapse: collapse }
td, th { text-align: right; padding: .1rem .8rem .1rem 0 } td:first-child, th:first-child { text-align: left }
svg { display: block; width: 100%; height: auto } svg text { fill: var(--ink); font-size: 11px }
.grid { stroke: var(--grid) } .a { stroke: var(--a); fill: none } .b { stroke: var(--b); fill: none }
.bar { fill: var(--a) } .dot { fill: var(--b) }";

/// What an update came to.
#[derive(Debug, Clone, Deserialize)]
struct Update {
    step: u64,
    rows: u64,
    loss: f64,
    policy: f64,
    norm: f64,
    wait_s: f64,
    step_s: f64,
}

#[derive(Debug, Clone, Deserialize)]
struct Validation {
    step: u64,
    validation: Metrics,
}

/// What happened in a run, by update; of several lines about one the last counts.
#[derive(Debug, Default)]
struct Story {
    updates: BTreeMap<u64, Update>,
    validations: BTreeMap<u64, Metrics>,
}

/// Makes the report of a run's folder.
pub(crate) fn write(run: &Path) -> Result<(), Failure> {
    let path = run.join("metrics.jsonl");
    let text = fs_err::read_to_string(&path).in_file(&path)?;
    let page = page(&run.file_name().unwrap_or_default().to_string_lossy(), &Story::read(&text));
    Ok(write_whole(&run.join("report.html"), page.as_bytes())?)
}

impl Story {
    /// A line that is cut off, as a killed process may leave one, is passed over.
    fn read(text: &str) -> Self {
        let mut story = Self::default();
        for line in text.lines() {
            if let Ok(update) = serde_json::from_str::<Update>(line) {
                story.updates.insert(update.step, update);
            } else if let Ok(one) = serde_json::from_str::<Validation>(line) {
                story.validations.insert(one.step, one.validation);
            }
        }
        story
    }

    /// A value of each update.
    fn of(&self, value: impl Fn(&Update) -> f64) -> Vec<(f64, f64)> {
        self.updates.values().map(|update| (update.step as f64, value(update))).collect()
    }
}

fn page(name: &str, story: &Story) -> String {
    let mut body = String::new();
    let mut section = |head: &str, about: &str, content: &str| {
        let _ = write!(body, "<h2>{head}</h2><p>{about}</p>{content}");
    };
    let held_out: Vec<(f64, f64)> =
        story.validations.iter().map(|(&step, metrics)| (step as f64, metrics.policy)).collect();
    section(
        "Cross-entropy of the choice",
        "In nats, by update: line, in training; dots, on held-out episodes.",
        &lines("update", &[Series::line(story.of(|update| update.policy)), Series::dots(held_out)]),
    );
    section(
        "Loss",
        "All losses, weighted.",
        &lines("update", &[Series::line(story.of(|update| update.loss))]),
    );
    section(
        "Norm of the gradient",
        "Before it is clipped.",
        &lines("update", &[Series::line(story.of(|update| update.norm))]),
    );
    if let Some(last) = story.validations.values().next_back() {
        section("Held-out episodes", &last.to_string(), &verbs(last));
        section(
            "Calibration of the value",
            "Half the return that was met, by the value that was said; on the line both are the same. Larger dots are more rows.",
            &scatter("value", &last.aux.calibration.iter().filter_map(|bin| bin.mean()).collect::<Vec<_>>()),
        );
    }
    section("Where the time went", "Seconds of all updates.", &times(story));
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{name}</title><style>{STYLE}</style>\
         <h1>Training run {name}</h1><p>{} updates, {} rows.</p>{body}</html>\n",
        story.updates.len(),
        story.updates.values().map(|update| update.rows).sum::<u64>(),
        name = escape(name),
    )
}

/// Share of hits by verb, as bars and as a table.
fn verbs(metrics: &Metrics) -> String {
    let named: Vec<(String, f64)> =
        metrics.by_verb.iter().map(|(&verb, part)| (verb_name(verb), part.top1)).collect();
    let mut table = "<table><tr><th>choice<th>rows<th>cross-entropy<th>top-1</tr>".to_owned();
    let all = metrics.by_verb.iter().map(|(&verb, part)| (verb_name(verb), part));
    for (name, part) in all.chain([("attack offered".to_owned(), &metrics.attacks)]) {
        let (rows, policy, top1) = (part.rows, part.policy, 100.0 * part.top1);
        let _ = write!(table, "<tr><td>{name}<td>{rows}<td>{policy:.4}<td>{top1:.1} %</tr>");
    }
    format!("{}{table}</table>", bars(&named))
}

fn times(story: &Story) -> String {
    let sum = |value: fn(&Update) -> f64| story.updates.values().map(value).sum::<f64>();
    let (wait, step) = (sum(|update| update.wait_s), sum(|update| update.step_s));
    let all = (wait + step).max(f64::MIN_POSITIVE);
    let mut table = "<table><tr><th>what<th>seconds<th>share</tr>".to_owned();
    for (name, seconds) in [("updates", step), ("waiting for data", wait)] {
        let _ = write!(table, "<tr><td>{name}<td>{seconds:.1}<td>{:.1} %</tr>", 100.0 * seconds / all);
    }
    table + "</table>"
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    const UPDATE: &str =
        r#"{"step":1,"epoch":0,"rows":9,"loss":3.5,"policy":1.5,"norm":1.0,"wait_s":0.25,"step_s":0.75}"#;

    #[test]
    fn of_several_lines_about_an_update_the_last_counts() {
        let text = format!("{UPDATE}\n{}\n{}", UPDATE.replace("3.5", "2.5"), &UPDATE[..30]);
        let story = Story::read(&text);
        assert_eq!((story.updates.len(), story.updates[&1].loss), (1, 2.5));
    }

    #[test]
    fn a_validation_is_read_as_it_was_written() {
        let part = crate::validate::Part { rows: 4, policy: 0.5, top1: 0.25 };
        let metrics = Metrics { rows: 4, by_verb: [(-1, part), (13, part)].into(), ..Metrics::default() };
        let line = serde_json::json!({ "step": 7, "epoch": 1, "validation": metrics }).to_string();
        let story = Story::read(&line);
        assert_eq!(story.validations[&7], metrics);
        let page = page("a", &story);
        assert!(page.contains("<td>submit<td>4<td>0.5000<td>25.0 %") && page.contains("<td>attack<td>4"));
    }

    #[test]
    fn a_page_of_anything_is_whole_and_names_no_other_file() {
        for text in ["", UPDATE, &UPDATE.replace("3.5", "1e300"), &UPDATE.replace("1.0", "0")] {
            let page = page("a<b", &Story::read(text));
            assert!(page.contains("a&lt;b") && page.ends_with("</html>\n"));
            assert!(!page.contains("NaN") && !page.contains("src=") && !page.contains("http"), "{page}");
        }
        assert!(page("a", &Story::read(UPDATE)).contains("25.0 %"));
    }
}
