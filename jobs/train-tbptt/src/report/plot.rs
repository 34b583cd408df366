//! Plots as inline SVG.

use std::fmt::Write as _;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 220.0;
const LEFT: f64 = 52.0;
const BOTTOM: f64 = 26.0;
const TOP: f64 = 8.0;
/// Points of a line; more are not seen.
const POINTS: usize = 600;

/// Points of one kind.
pub(super) struct Series {
    points: Vec<(f64, f64)>,
    is_line: bool,
}

impl Series {
    /// Joined by a line; of many points every so many are taken as their mean.
    pub(super) fn line(points: Vec<(f64, f64)>) -> Self {
        let together = points.len().div_ceil(POINTS).max(1);
        let mean = |points: &[(f64, f64)]| {
            let count = points.len() as f64;
            let sum = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
            (sum.0 / count, sum.1 / count)
        };
        Self { points: points.chunks(together).map(mean).collect(), is_line: true }
    }

    /// Each for itself.
    pub(super) fn dots(points: Vec<(f64, f64)>) -> Self {
        Self { points, is_line: false }
    }
}

/// A scale: what lies at its two ends.
#[derive(Clone, Copy)]
struct Scale {
    values: [f64; 2],
    places: [f64; 2],
}

impl Scale {
    fn of(values: impl Iterator<Item = f64> + Clone, places: [f64; 2]) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let least = finite.clone().fold(f64::INFINITY, f64::min);
        let most = finite.fold(f64::NEG_INFINITY, f64::max);
        let values = match (least, most) {
            _ if least > most => [0.0, 1.0],
            _ if least == most => [least - 0.5 * least.abs().max(1.0), least + 0.5 * least.abs().max(1.0)],
            _ => [least, most],
        };
        Self { values, places }
    }

    fn place(&self, value: f64) -> f64 {
        let [from, to] = self.values;
        let share = ((value - from) / (to - from)).clamp(0.0, 1.0);
        self.places[0] + share * (self.places[1] - self.places[0])
    }
}

/// Lines and dots over a common x axis named `x`.
pub(super) fn lines(x: &str, series: &[Series]) -> String {
    let points = series.iter().flat_map(|series| &series.points);
    let across = Scale::of(points.clone().map(|point| point.0), [LEFT, WIDTH - 10.0]);
    let up = Scale::of(points.map(|point| point.1), [HEIGHT - BOTTOM, TOP]);
    let mut out = frame(HEIGHT, x, across, up);
    for series in series {
        let places = series.points.iter().filter(|point| point.1.is_finite());
        let places = places.map(|point| (across.place(point.0), up.place(point.1)));
        if series.is_line {
            let path: String = places.map(|(x, y)| format!("{x:.1},{y:.1} ")).collect();
            let _ = write!(out, "<polyline class=\"a\" points=\"{}\"/>", path.trim_end());
        } else {
            places.for_each(|(x, y)| dot(&mut out, x, y, 3.5));
        }
    }
    out + "</svg>"
}

/// Dots of (x, y, weight) on [−1, 1] × [−1, 1], beside the line on which both are the same.
pub(super) fn scatter(x: &str, points: &[(f64, f64, f64)]) -> String {
    let height = 320.0;
    let across = Scale { values: [-1.0, 1.0], places: [LEFT, LEFT + height] };
    let up = Scale { values: [-1.0, 1.0], places: [height - BOTTOM, TOP] };
    let mut out = frame(height, x, across, up);
    let [from, to] = [-1.0, 1.0].map(|end| (across.place(end), up.place(end)));
    let _ = write!(out, "<polyline class=\"a\" points=\"{},{} {},{}\"/>", from.0, from.1, to.0, to.1);
    let most = points.iter().map(|point| point.2).fold(1.0, f64::max);
    for &(x, y, weight) in points {
        dot(&mut out, across.place(x), up.place(y), 3.0 + 7.0 * (weight / most).sqrt());
    }
    out + "</svg>"
}

/// Bars from 0 to 1, with their names.
pub(super) fn bars(named: &[(String, f64)]) -> String {
    let row = 18.0;
    let height = row * named.len() as f64 + TOP;
    let mut out = open(height);
    for (at, (name, share)) in named.iter().enumerate() {
        let y = TOP + row * at as f64;
        let (text, length) = (y + 11.0, (WIDTH - 190.0) * share.clamp(0.0, 1.0));
        let _ = write!(
            out,
            "<text x=\"0\" y=\"{text}\">{name}</text><rect class=\"bar\" x=\"130\" y=\"{y}\" width=\"{length:.1}\" height=\"14\"/>\
             <text x=\"{:.1}\" y=\"{text}\">{:.0} %</text>",
            136.0 + length,
            100.0 * share
        );
    }
    out + "</svg>"
}

fn dot(out: &mut String, x: f64, y: f64, radius: f64) {
    let _ = write!(out, "<circle class=\"dot\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\"/>");
}

fn open(height: f64) -> String {
    format!("<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\">")
}

/// Grid and labels.
fn frame(height: f64, x: &str, across: Scale, up: Scale) -> String {
    let mut out = open(height);
    let between = |scale: Scale, share: f64| scale.values[0] + share * (scale.values[1] - scale.values[0]);
    for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
        let value = between(up, share);
        let (y, to) = (up.place(value), across.places[1]);
        let _ = write!(
            out,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{to}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text x=\"0\" y=\"{:.1}\">{}</text>",
            y + 4.0,
            short(value)
        );
    }
    for (share, anchor) in [(0.0, "start"), (0.5, "middle"), (1.0, "end")] {
        let value = between(across, share);
        let name = if share == 0.5 { format!("{x} {}", short(value)) } else { short(value) };
        let (place, y) = (across.place(value), height - 8.0);
        let _ = write!(out, "<text x=\"{place:.1}\" y=\"{y}\" text-anchor=\"{anchor}\">{name}</text>");
    }
    out
}

/// A number in few characters.
fn short(value: f64) -> String {
    match value.abs() {
        size if size >= 1e5 => format!("{value:.0e}"),
        size if size >= 100.0 => format!("{value:.0}"),
        _ => format!("{value:.2}"),
    }
}
