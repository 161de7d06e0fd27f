//! The frame of plots whose levels are rows: names on the left, numbers on the right, one axis below all panels.

use bartizan_page::plot::canvas::{Anchor, Canvas, text_width};
use bartizan_page::plot::scale::{Scale, Start, WIDTH, ticks};
use bartizan_page::plot::{Axis, Drawing, Panel};

use super::standalone::fitting;

const NAME_SIZE: f64 = 13.0;
const HEADING: f64 = 26.0;
const GAP: f64 = 10.0;
const AXIS: f64 = 40.0;
/// Room for an axis label that stands at its right end.
const TOP: f64 = 6.0;

/// Texts of a row next to its drawing.
pub(super) struct Labels {
    /// The level, on the left.
    pub(super) name: String,
    /// The number, on the right.
    pub(super) value: String,
    /// Its interval below it.
    pub(super) interval: String,
}

impl Labels {
    /// With a word or two behind the interval.
    pub(super) fn with_note(mut self, note: Option<&str>) -> Self {
        if let Some(note) = note {
            let gap = if self.interval.is_empty() { "" } else { ", " };
            self.interval = format!("{}{gap}{note}", self.interval);
        }
        self
    }

    /// All of it in one line.
    fn sentence(&self) -> String {
        format!("{}: {} {}", self.name, self.value, self.interval)
            .trim_end()
            .to_owned()
    }
}

/// A kind of row, and its drawing.
pub(super) trait Row {
    /// Height of a row.
    const HEIGHT: f64;

    /// Texts next to it.
    fn labels(&self, axis: &Axis) -> Labels;

    /// The values its axis has to hold.
    fn values(&self) -> Vec<f64>;

    /// Draws it between its upper and its lower edge.
    fn draw(&self, canvas: &mut Canvas, scale: &Scale, axis: &Axis, top: f64, bottom: f64);
}

/// Draws a frame with a row for every item, on one axis below all panels; where only panels
/// together span so much that the axis would be logarithmic, each has its own.
pub(super) fn frame<T: Row>(title: &str, panels: &[Panel<T>], axis: &Axis, start: Start) -> Drawing {
    let items = || panels.iter().flat_map(|panel| &panel.items);
    let widest = |text: fn(&Labels) -> &str, size: f64| {
        let width = |item: &T| text_width(text(&item.labels(axis)), size);
        items().map(width).fold(0.0, f64::max)
    };
    let names = widest(|labels| &labels.name, NAME_SIZE).clamp(40.0, WIDTH * 0.34);
    let numbers = widest(|labels| &labels.value, NAME_SIZE + 0.8).max(widest(|labels| &labels.interval, 11.0));
    let (left, right) = (names + 14.0, WIDTH - numbers.min(WIDTH * 0.3) - 14.0);
    let scale = |items: &[T]| Scale::new(items.iter().flat_map(Row::values), axis, start, left, right);
    let common = Scale::new(items().flat_map(Row::values), axis, start, left, right);
    let separate = start != Start::Zero && common.wide;
    let apart = separate && panels.len() > 1 && panels.iter().all(|panel| !scale(&panel.items).wide);
    let mut canvas = Canvas::default();
    let mut y = TOP;
    for (index, panel) in panels.iter().enumerate() {
        if let Some(heading) = &panel.heading {
            canvas.text(0.0, y + 17.0, "heading", Anchor::Start, heading);
            y += HEADING;
        }
        let scale = if apart { scale(&panel.items) } else { common.clone() };
        let ticks = ticks(&scale, right - left);
        let bottom = y + panel.items.len() as f64 * T::HEIGHT;
        for (place, _) in &ticks {
            canvas.line((*place, y), (*place, bottom), "grid");
        }
        canvas.line((scale.origin(), y), (scale.origin(), bottom), "base");
        for item in &panel.items {
            row(&mut canvas, &scale, axis, item, names, y);
            y += T::HEIGHT;
        }
        let last = index + 1 == panels.len();
        y += GAP;
        if apart || last {
            for (place, label) in &ticks {
                canvas.text(*place, y + 8.0, "tick", Anchor::Middle, label);
            }
            y += if last { 0.0 } else { 20.0 };
        }
        if last {
            let mut label = axis.label();
            if scale.logarithmic {
                label.push_str(", logarithmic");
            }
            canvas.text((left + right) / 2.0, y + 27.0, "axis", Anchor::Middle, &label);
        }
    }
    let described: Vec<String> = items().map(|item| item.labels(axis).sentence()).collect();
    canvas.finish(title, described.join("; "), WIDTH, y + AXIS - GAP)
}

fn row<T: Row>(canvas: &mut Canvas, scale: &Scale, axis: &Axis, item: &T, names: f64, top: f64) {
    let labels = item.labels(axis);
    let middle = top + T::HEIGHT / 2.0;
    canvas.open("row", &labels.sentence());
    let name = fitting(&labels.name, NAME_SIZE, names);
    canvas.text(names, middle + 4.5, "row-name", Anchor::End, &name);
    item.draw(canvas, scale, axis, top, top + T::HEIGHT);
    let raised = if labels.interval.is_empty() { 4.5 } else { -1.5 };
    canvas.text(WIDTH, middle + raised, "value", Anchor::End, &labels.value);
    if !labels.interval.is_empty() {
        canvas.text(WIDTH, middle + 12.5, "interval-text", Anchor::End, &labels.interval);
    }
    canvas.close();
}
