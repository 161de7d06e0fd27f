//! Test for one mode (Hartigan and Hartigan, 1985): the dip, the least distance between the values'
//! distribution function and one that bends upwards to a mode and downwards after it.

use crate::{Random, Sample};

/// Above this size the dip times the root of the size has the distribution that it has there.
const LARGEST: usize = 500;
/// Samples of uniform values, which of all distributions with one mode dip most: the p value's last
/// digit is a thousandth.
const SIMULATED: usize = 1000;

/// Distribution of the dip in samples of one size with one mode.
#[derive(Debug, Clone)]
pub struct OneMode {
    /// Dips of uniform samples times the root of their size, ascending.
    dips: Vec<f64>,
}

impl OneMode {
    /// Distribution for samples of so many values; the same seed gives the same.
    #[must_use]
    pub fn of_size(n: usize, seed: u64) -> Self {
        let n = n.clamp(1, LARGEST);
        let mut random = Random::seeded(seed);
        let mut dips: Vec<f64> = (0..SIMULATED)
            .map(|_| {
                let mut values: Vec<f64> = (0..n).map(|_| random.below(1 << 52) as f64).collect();
                values.sort_by(f64::total_cmp);
                dip_of_sorted(&values) * (n as f64).sqrt()
            })
            .collect();
        dips.sort_by(f64::total_cmp);
        Self { dips }
    }

    /// Probability that a sample of this size with one mode dips as much.
    #[must_use]
    pub fn p(&self, sample: &Sample) -> f64 {
        let dip = dip(sample) * (sample.n() as f64).sqrt();
        let below = self.dips.partition_point(|one| *one < dip);
        (self.dips.len() - below + 1) as f64 / (self.dips.len() + 1) as f64
    }
}

/// The dip of a sample: from 1/(2n) to 1/4; 0 where all values are the same.
#[must_use]
pub fn dip(sample: &Sample) -> f64 {
    dip_of_sorted(sample.sorted())
}

/// Points of a curve around a distribution function, each with the one before it on the curve.
struct Curves<'a> {
    values: &'a [f64],
    /// Points of the greatest convex curve below, read towards the first value.
    below: Vec<usize>,
    /// Points of the least concave curve above, read towards the last value.
    above: Vec<usize>,
}

impl<'a> Curves<'a> {
    fn around(values: &'a [f64]) -> Self {
        let n = values.len();
        let mut below = vec![0; n];
        for end in 1..n {
            let mut start = end - 1;
            // A point stays on the curve while the slope behind it is greater than the one before it.
            while start > 0 && !steeper(values, below[start], start, end) {
                start = below[start];
            }
            below[end] = start;
        }
        let mut above = vec![n - 1; n];
        for start in (0..n - 1).rev() {
            let mut end = start + 1;
            while end < n - 1 && !steeper_reversed(values, above[end], end, start) {
                end = above[end];
            }
            above[start] = end;
        }
        Self { values, below, above }
    }

    /// Corners of the convex curve from `high` down to `low`.
    fn convex(&self, low: usize, high: usize) -> Vec<usize> {
        let mut corners = vec![high];
        let mut at = high;
        while at > low {
            at = self.below[at];
            corners.push(at);
        }
        corners
    }

    /// Corners of the concave curve from `low` up to `high`.
    fn concave(&self, low: usize, high: usize) -> Vec<usize> {
        let mut corners = vec![low];
        let mut at = low;
        while at < high {
            at = self.above[at];
            corners.push(at);
        }
        corners
    }

    /// On the straight line between two corners, counted in values.
    fn line(&self, from: usize, to: usize, at: usize) -> f64 {
        let span = self.values[to] - self.values[from];
        if span <= 0.0 {
            return 0.0;
        }
        (self.values[at] - self.values[from]) * (to - from) as f64 / span
    }
}

/// Returns true if the slope from the middle to the end is greater than from the start to the
/// middle.
fn steeper(values: &[f64], start: usize, middle: usize, end: usize) -> bool {
    (values[end] - values[middle]) * ((middle - start) as f64)
        < (values[middle] - values[start]) * ((end - middle) as f64)
}

/// The same from the other end, for the concave curve.
fn steeper_reversed(values: &[f64], start: usize, middle: usize, end: usize) -> bool {
    (values[middle] - values[end]) * ((start - middle) as f64)
        < (values[start] - values[middle]) * ((middle - end) as f64)
}

fn dip_of_sorted(values: &[f64]) -> f64 {
    let n = values.len();
    if n < 2 || values[0] == values[n - 1] {
        return 0.0;
    }
    let curves = Curves::around(values);
    // Twice n times the dip; a step of the distribution function alone makes 1.
    let mut dip = 1.0_f64;
    let (mut low, mut high) = (0, n - 1);
    loop {
        let (convex, concave) = (curves.convex(low, high), curves.concave(low, high));
        let (distance, from, to) = widest(&curves, &convex, &concave);
        if distance < dip {
            break;
        }
        // Outside of the interval where both curves are farthest apart, how far the distribution function is from them.
        let left = convex[from..]
            .windows(2)
            .map(|corner| farthest_below(&curves, corner[1], corner[0]));
        let right = concave[to..]
            .windows(2)
            .map(|corner| farthest_above(&curves, corner[0], corner[1]));
        dip = left.chain(right).fold(dip, f64::max);
        if (low, high) == (convex[from], concave[to]) {
            break;
        }
        (low, high) = (convex[from], concave[to]);
    }
    dip / (2 * n) as f64
}

/// The largest distance between the two curves, and at which corner of either the interval of the mode begins and ends.
fn widest(curves: &Curves<'_>, convex: &[usize], concave: &[usize]) -> (f64, usize, usize) {
    let (mut distance, mut from, mut to) = (0.0, convex.len() - 1, concave.len() - 1);
    if convex.len() == 2 && concave.len() == 2 {
        return (1.0, from, to);
    }
    // Corners of both in ascending order: the convex ones stand the other way round.
    let (mut left, mut right) = (convex.len() - 2, 1);
    loop {
        let (corner, other) = (convex[left], concave[right]);
        if corner > other {
            let before = convex[left + 1];
            let apart = (other - before + 1) as f64 - curves.line(before, corner, other);
            if apart >= distance {
                (distance, from, to) = (apart, left + 1, right);
            }
            right += 1;
        } else {
            let before = concave[right - 1];
            let apart = curves.line(before, other, corner) - (corner as f64 - before as f64 - 1.0);
            if apart >= distance {
                (distance, from, to) = (apart, left, right);
            }
            if left == 0 {
                break;
            }
            left -= 1;
        }
        right = right.min(concave.len() - 1);
        if convex[left] == concave[right] {
            break;
        }
    }
    (distance, from, to)
}

/// Largest distance of the distribution function above a line of the convex curve.
fn farthest_below(curves: &Curves<'_>, from: usize, to: usize) -> f64 {
    let apart = |at: usize| (at - from + 1) as f64 - curves.line(from, to, at);
    if to - from > 1 && curves.values[from] < curves.values[to] {
        (from..=to).map(apart).fold(1.0, f64::max)
    } else {
        1.0
    }
}

/// Largest distance of it below a line of the concave curve.
fn farthest_above(curves: &Curves<'_>, from: usize, to: usize) -> f64 {
    let apart = |at: usize| curves.line(from, to, at) - (at as f64 - from as f64 - 1.0);
    if to - from > 1 && curves.values[from] < curves.values[to] {
        (from..=to).map(apart).fold(1.0, f64::max)
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(random: &mut Random, n: usize) -> Vec<f64> {
        (0..n).map(|_| random.below(1_000_000) as f64).collect()
    }

    #[test]
    fn equal_distances_dip_least_and_two_places_most() {
        let steps = Sample::new((0..50).map(f64::from)).unwrap();
        assert!((dip(&steps) - 0.01).abs() < 1e-12, "{}", dip(&steps));
        let places = Sample::new((0..50).map(|index| f64::from(index % 2) * 1e6 + f64::from(index))).unwrap();
        assert!(dip(&places) > 0.23, "{}", dip(&places));
        assert_eq!(dip(&Sample::new([3.0; 9]).unwrap()), 0.0);
        assert_eq!(dip(&Sample::new([3.0]).unwrap()), 0.0);
    }

    #[test]
    fn one_mode_is_called_two_in_one_of_twenty_at_most() {
        let mut random = Random::seeded(11);
        for n in [12, 40, 200] {
            let one = OneMode::of_size(n, 1);
            let wrong = (0..400)
                .filter(|_| one.p(&Sample::new(uniform(&mut random, n)).unwrap()) < 0.05)
                .count();
            // Three standard deviations above 20 of 400.
            assert!(wrong <= 33, "{wrong} of 400 with {n} values");
        }
    }

    #[test]
    fn sizes_beyond_the_largest_are_judged_by_its_distribution() {
        let mut random = Random::seeded(12);
        let one = OneMode::of_size(3000, 1);
        let wrong = (0..100)
            .filter(|_| one.p(&Sample::new(uniform(&mut random, 3000)).unwrap()) < 0.05)
            .count();
        assert!(wrong <= 12, "{wrong} of 100");
    }
}
