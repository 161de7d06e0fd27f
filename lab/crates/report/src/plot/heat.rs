//! Two factors against each other, each field coloured by its median.

use std::fmt::Write as _;

use bartizan_page::plot::canvas::{Anchor, Canvas, text_width};
use bartizan_page::plot::scale::WIDTH;
use bartizan_page::plot::{Axis, Drawing, Panel};

use super::standalone::fitting;

const FIELD: f64 = 30.0;

/// One row of fields; absent where nothing was measured.
pub(crate) type Row = (String, Vec<Option<f64>>);

/// A field for every row and column with its number in it; colour goes by the number's place among
/// all, by its logarithm where they span more than twenty times.
#[must_use]
pub(crate) fn heat_map(title: &str, axis: &Axis, columns: &[String], panels: &[Panel<Row>]) -> Drawing {
    let mut canvas = Canvas::default();
    let rows = || panels.iter().flat_map(|panel| &panel.items);
    let values = || rows().flat_map(|(_, values)| values.iter().flatten().copied());
    let (least, greatest) = (
        values().fold(f64::INFINITY, f64::min),
        values().fold(f64::NEG_INFINITY, f64::max),
    );
    let logarithmic = least > 0.0 && greatest / least > 20.0;
    let share = |value: f64| {
        let (value, least, greatest) = if logarithmic {
            (value.ln(), least.ln(), greatest.ln())
        } else {
            (value, least, greatest)
        };
        if greatest > least {
            (value - least) / (greatest - least)
        } else {
            0.5
        }
    };
    let names = rows()
        .map(|(name, _)| text_width(name, 13.0))
        .fold(40.0, f64::max)
        .min(WIDTH * 0.3);
    let left = names + 12.0;
    let width = ((WIDTH - left) / columns.len().max(1) as f64).min(150.0);
    // Names that do not fit are broken into two lines, and then cut.
    let heads: Vec<Vec<String>> = columns.iter().map(|column| wrapped(column, width - 6.0)).collect();
    let lines = heads.iter().map(Vec::len).max().unwrap_or(1);
    let mut y = 4.0;
    for panel in panels {
        if let Some(heading) = &panel.heading {
            canvas.text(0.0, y + 14.0, "heading", Anchor::Start, heading);
            y += 24.0;
        }
        for (index, head) in heads.iter().enumerate() {
            let x = left + (index as f64 + 0.5) * width;
            for (line, words) in head.iter().enumerate() {
                let line = (lines - head.len() + line) as f64;
                canvas.text(x, y + 12.0 + line * 14.0, "tick", Anchor::Middle, words);
            }
        }
        y += lines as f64 * 14.0 + 6.0;
        for (name, values) in &panel.items {
            canvas.text(
                names,
                y + FIELD / 2.0 + 4.5,
                "row-name",
                Anchor::End,
                &fitting(name, 13.0, names),
            );
            for (index, value) in values.iter().enumerate() {
                let x = left + index as f64 * width;
                let middle = (x + width / 2.0, y + FIELD / 2.0 + 4.0);
                let Some(value) = value else {
                    canvas.text(middle.0, middle.1, "tick", Anchor::Middle, "\u{2013}");
                    continue;
                };
                let column = columns.get(index).map_or("", String::as_str);
                canvas.open("t0", &format!("{name}, {column}: {}", axis.unit.value(*value)));
                let depth = 0.08 + 0.87 * share(*value);
                shade(&mut canvas, (x + 1.0, y + 1.0), width - 2.0, FIELD - 2.0, depth);
                let class = if depth > 0.55 { "on" } else { "number" };
                canvas.text(middle.0, middle.1, class, Anchor::Middle, &axis.unit.number(*value));
                canvas.close();
            }
            y += FIELD;
        }
        y += 12.0;
    }
    let mut label = format!("median {}", axis.label());
    if logarithmic {
        label.push_str(", colour by its logarithm");
    }
    canvas.text(left, y + 8.0, "axis", Anchor::Start, &label);
    canvas.finish(title, label, WIDTH, y + 18.0)
}

/// A field of a heat map: `share` of full colour.
fn shade(canvas: &mut Canvas, at: (f64, f64), width: f64, height: f64, share: f64) {
    let _ = write!(
        canvas.body,
        "<rect class=\"fill\" fill-opacity=\"{:.2}\" rx=\"2\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>",
        share, at.0, at.1
    );
}

/// In two lines at most, broken at a hyphen or a space.
fn wrapped(text: &str, width: f64) -> Vec<String> {
    if text_width(text, 11.5) <= width {
        return vec![text.to_owned()];
    }
    let breaks = text
        .char_indices()
        .filter(|(_, character)| matches!(character, '-' | ' '))
        .map(|(at, _)| at + 1);
    let best = breaks.min_by_key(|at| at.abs_diff(text.len() / 2));
    match best {
        Some(at) => [&text[..at], &text[at..]]
            .into_iter()
            .map(|line| fitting(line.trim(), 11.5, width))
            .collect(),
        None => vec![fitting(text, 11.5, width)],
    }
}
