//! Arguments that select rows of decision days from a catalog, alike in every job that reads days.

use clap::Args;

use crate::formats::decisions::Date;
use crate::state::catalog::{Chosen, Wanted};

/// Rows of decision days.
#[derive(Debug, Args)]
pub struct SelectionArgs {
    #[command(flatten)]
    days: DaysArgs,
    /// Select only episodes whose players are both among the N best of their day
    #[arg(long, value_name = "N", requires = "days", value_parser = clap::value_parser!(u32).range(1..))]
    top_elo: Option<u32>,
    /// Select whole episodes of each day until they have at least M rows
    #[arg(long, value_name = "M", requires = "days", value_parser = clap::value_parser!(u64).range(1..))]
    max_rows_per_day: Option<u64>,
}

/// Which days.
#[derive(Debug, Args)]
#[group(id = "days", multiple = false)]
struct DaysArgs {
    /// Select these days: 2026-07-28, or 2026-07-28..2026-08-03, both included
    #[arg(long = "days", value_name = "DAYS", value_delimiter = ',', value_parser = span)]
    spans: Vec<(Date, Date)>,
    /// Select the last N days
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    last_n_days: Option<u32>,
    /// Select all days
    #[arg(long)]
    all_days: bool,
}

impl SelectionArgs {
    /// What is asked for; `None` where no days are.
    pub fn wanted(&self) -> Option<Wanted> {
        let days = match (self.days.last_n_days, self.days.all_days) {
            (Some(n), _) => Chosen::Last(n),
            (None, true) => Chosen::All,
            (None, false) if self.days.spans.is_empty() => return None,
            (None, false) => Chosen::Spans(self.days.spans.clone()),
        };
        Some(Wanted { days, top_elo: self.top_elo, max_rows_per_day: self.max_rows_per_day })
    }
}

fn span(text: &str) -> Result<(Date, Date), String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let (from, to): (Date, Date) = (from.parse()?, to.parse()?);
    if from > to {
        return Err(format!("{to} is before {from}"));
    }
    Ok((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        let date = |text: &str| text.parse::<Date>().unwrap();
        let (a, b) = (date("2026-07-28"), date("2026-08-03"));
        let good = [("2026-07-28", (a, a)), ("2026-07-28..2026-08-03", (a, b))];
        good.into_iter().for_each(|(text, expected)| assert_eq!(span(text), Ok(expected)));
        for text in ["", "..", "2026-07-28..", "2026-08-03..2026-07-28", "2026-07-28...2026-08-03", "2026-07"]
        {
            assert!(span(text).is_err(), "{text}");
        }
    }
}
