//! Distributions of values: density, box and points of each level.

use bartizan_estimators::{Interval, Random, Sample, interquartile_range, standard_deviation};

use bartizan_page::plot::canvas::Canvas;
use bartizan_page::plot::scale::{Scale, Start};
use bartizan_page::plot::{Axis, Drawing, Panel, mark};

use super::frame::{Labels, Row, frame};
use super::rows::labels;

/// More points than this do not make a density clearer.
const KERNELS: usize = 1000;
/// Nor do more dots.
const DOTS: usize = 120;

/// Samples of one level.
#[derive(Debug, Clone)]
pub(crate) struct Cloud {
    /// The level.
    pub(crate) name: String,
    /// Its colour, one of eight.
    pub(crate) tone: usize,
    /// Every sample.
    pub(crate) samples: Sample,
    /// The median of each trial, in order: the dots, and whether the machine was in its slow mode.
    pub(crate) trials: Vec<(f64, bool)>,
    /// Values that a publication has in its place.
    pub(crate) published: Vec<f64>,
    /// A caveat for the reader in a word or two, such as that it has two modes.
    pub(crate) note: Option<String>,
    /// The median of the trials' medians.
    pub(crate) median: f64,
    /// Its interval, where there is one.
    pub(crate) interval: Option<Interval>,
}

impl Cloud {
    /// Ends of the whiskers: 5 % and 95 % of the samples, or all of fewer than a hundred.
    fn whiskers(&self) -> [f64; 2] {
        let tail = if self.samples.n() < 100 { 0.0 } else { 0.05 };
        [self.samples.quantile(tail), self.samples.quantile(1.0 - tail)]
    }
}

/// Each level as the density of its samples, a box of their quartiles with whiskers from 5 to 95 %,
/// and a dot for each trial.
#[must_use]
pub(crate) fn distribution(title: &str, axis: &Axis, panels: &[Panel<Cloud>]) -> Drawing {
    frame(title, panels, axis, Start::Free)
}

impl Row for Cloud {
    const HEIGHT: f64 = 62.0;

    fn labels(&self, axis: &Axis) -> Labels {
        labels(&self.name, self.median, self.interval, axis).with_note(self.note.as_deref())
    }

    fn values(&self) -> Vec<f64> {
        let trials = self.trials.iter().map(|(median, _)| *median);
        let published = mark::near(&self.published, self.median);
        self.whiskers().into_iter().chain(trials).chain(published).collect()
    }

    fn draw(&self, canvas: &mut Canvas, scale: &Scale, axis: &Axis, top: f64, _: f64) {
        canvas.open(&format!("t{}", self.tone % 8), "");
        let baseline = top + 34.0;
        if let Some(outline) = density(self, scale, baseline, 26.0) {
            canvas.path(&outline, true, "cloud");
        }
        let [low, high] = self.whiskers().map(|value| scale.place(value));
        let [first, third] = [0.25, 0.75].map(|share| scale.place(self.samples.quantile(share)));
        let middle = baseline + 5.5;
        canvas.line((low, middle), (first, middle), "whisker");
        canvas.line((third, middle), (high, middle), "whisker");
        canvas.rect((first, middle - 4.0), third - first, 8.0, "box");
        let median = scale.place(self.samples.median());
        canvas.line((median, middle - 4.0), (median, middle + 4.0), "middle");
        // The same jitter whenever the report is made.
        let mut random = Random::seeded(self.trials.len() as u64);
        let stride = self.trials.len().div_ceil(DOTS).max(1);
        for (value, slow) in self.trials.iter().step_by(stride) {
            let y = middle + 9.0 + random.below(100) as f64 * 0.085;
            canvas.circle((scale.place(*value), y), 1.9, if *slow { "dot slow" } else { "dot" });
        }
        canvas.close();
        super::mark::draw(&self.published, canvas, scale, axis, middle);
    }
}

/// A Gaussian kernel density along the axis, as an outline above `baseline`; Silverman's bandwidth,
/// narrowed by the quartiles so that a tail does not smear the bulk. `None` where there are too few
/// samples or they do not differ.
fn density(cloud: &Cloud, scale: &Scale, baseline: f64, height: f64) -> Option<Vec<(f64, f64)>> {
    let stride = cloud.samples.n().div_ceil(KERNELS).max(1);
    let sorted: Vec<f64> = cloud
        .samples
        .sorted()
        .iter()
        .skip(stride / 2)
        .step_by(stride)
        .map(|value| straight(scale, *value))
        .collect();
    if sorted.len() < 8 {
        return None;
    }
    let spaced = Sample::new(sorted.iter().copied()).ok()?;
    let spread = [standard_deviation(&spaced)?, interquartile_range(&spaced) / 1.34]
        .into_iter()
        .filter(|spread| *spread > 0.0)
        .fold(f64::INFINITY, f64::min);
    let bandwidth = 0.9 * spread * (sorted.len() as f64).powf(-0.2);
    if !bandwidth.is_finite() || bandwidth <= 0.0 {
        return None;
    }
    let points: Vec<(f64, f64)> = steps(scale, 240)
        .map(|value| {
            let at = straight(scale, value);
            // Beyond five bandwidths a kernel adds nothing.
            let first = sorted.partition_point(|sample| *sample < at - 5.0 * bandwidth);
            let sum: f64 = sorted[first..]
                .iter()
                .take_while(|sample| **sample <= at + 5.0 * bandwidth)
                .map(|sample| (-0.5 * ((sample - at) / bandwidth).powi(2)).exp())
                .sum();
            (scale.place(value), sum)
        })
        .collect();
    let most = points.iter().map(|(_, sum)| *sum).fold(0.0, f64::max);
    if most <= 0.0 {
        return None;
    }
    let visible: Vec<(f64, f64)> = points
        .iter()
        .map(|(x, sum)| (*x, baseline - height * sum / most))
        .filter(|(_, y)| baseline - y > 0.15)
        .collect();
    let (first, last) = (visible.first()?.0, visible.last()?.0);
    let mut outline = vec![(first, baseline)];
    outline.extend(visible);
    outline.push((last, baseline));
    Some(outline)
}

/// Values (as measured) at equal distances along the axis.
fn steps(scale: &Scale, count: usize) -> impl Iterator<Item = f64> {
    (0..=count).map(move |index| {
        let share = index as f64 / count as f64;
        let shown = if scale.logarithmic {
            scale.low * (scale.high / scale.low).powf(share)
        } else {
            scale.low + share * (scale.high - scale.low)
        };
        shown / scale.factor
    })
}

/// A value (as measured) where distances along the axis are equal.
fn straight(scale: &Scale, value: f64) -> f64 {
    if scale.logarithmic {
        (value * scale.factor).max(scale.low).ln()
    } else {
        value * scale.factor
    }
}
