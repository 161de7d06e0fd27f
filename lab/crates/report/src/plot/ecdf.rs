//! Empirical distribution functions: which share of the samples is at most this large.

use bartizan_estimators::Sample;

use bartizan_page::plot::canvas::{Anchor, Canvas};
use bartizan_page::plot::scale::{Scale, Start, WIDTH, ticks};
use bartizan_page::plot::{Axis, Drawing, Panel, tone_class};

const HEIGHT: f64 = 250.0;
const LEFT: f64 = 44.0;
/// More steps than this cannot be seen.
const STEPS: usize = 400;

/// One level's samples.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    /// The level.
    pub(crate) name: String,
    /// Its colour, one of eight; from the ninth on dashed.
    pub(crate) tone: usize,
    /// Every sample.
    pub(crate) samples: Sample,
}

/// A curve for each level, from nothing to all of its samples. The axis ends where 99.5 % of every level are.
#[must_use]
pub(crate) fn ecdf(title: &str, axis: &Axis, panels: &[Panel<Curve>]) -> Drawing {
    let mut canvas = Canvas::default();
    let ends = |curve: &Curve| [curve.samples.quantile(0.0), curve.samples.quantile(0.995)];
    let scale = |curves: &[Curve]| Scale::new(curves.iter().flat_map(ends), axis, Start::Free, LEFT, WIDTH - 24.0);
    let all = panels.iter().flat_map(|panel| &panel.items).flat_map(ends);
    let common = Scale::new(all, axis, Start::Free, LEFT, WIDTH - 24.0);
    // As with rows: an axis of its own where only panels together span so much.
    let apart = panels.len() > 1 && common.wide && panels.iter().all(|panel| !scale(&panel.items).wide);
    let mut names: Vec<(String, usize)> = Vec::new();
    let mut y = 8.0;
    for panel in panels {
        let scale = if apart { scale(&panel.items) } else { common.clone() };
        if let Some(heading) = &panel.heading {
            canvas.text(0.0, y + 13.0, "heading", Anchor::Start, heading);
            y += 26.0;
        }
        let place = |share: f64| y + (1.0 - share) * HEIGHT;
        for share in [0.0, 0.25, 0.5, 0.75, 1.0] {
            canvas.line((LEFT, place(share)), (WIDTH - 24.0, place(share)), "grid");
            let label = format!("{:.0}\u{a0}%", share * 100.0);
            canvas.text(LEFT - 8.0, place(share) + 4.0, "tick", Anchor::End, &label);
        }
        let marks = ticks(&scale, WIDTH - LEFT);
        for (x, label) in &marks {
            canvas.line((*x, y), (*x, y + HEIGHT), "grid");
            canvas.text(*x, y + HEIGHT + 17.0, "tick", Anchor::Middle, label);
        }
        for curve in &panel.items {
            let class = tone_class(curve.tone);
            canvas.open(&class.0, &curve.name);
            canvas.path(&steps(curve, &scale, place), false, class.1);
            canvas.close();
            if !names.iter().any(|(name, _)| *name == curve.name) {
                names.push((curve.name.clone(), curve.tone));
            }
        }
        y += HEIGHT + 30.0;
    }
    let mut label = axis.label();
    if common.logarithmic && !apart {
        label.push_str(", logarithmic");
    }
    canvas.text((LEFT + WIDTH) / 2.0, y + 8.0, "axis", Anchor::Middle, &label);
    let described = names
        .iter()
        .map(|(name, _)| name.as_str())
        .collect::<Vec<_>>()
        .join(", ");
    canvas.finish(title, described, WIDTH, y + 18.0).with_keys(&names)
}

fn steps(curve: &Curve, scale: &Scale, place: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    let sorted = curve.samples.sorted();
    let n = sorted.len();
    let stride = n.div_ceil(STEPS).max(1);
    let mut points = vec![(scale.place(sorted[0]), place(0.0))];
    let mut share = 0.0;
    for index in (0..n).step_by(stride).chain([n - 1]) {
        // Samples beyond the axis are not drawn at its edge.
        let x = scale.place(sorted[index]);
        if x > WIDTH - 24.0 {
            break;
        }
        points.push((x, place(share)));
        share = (index + 1) as f64 / n as f64;
        points.push((x, place(share)));
    }
    points
}
