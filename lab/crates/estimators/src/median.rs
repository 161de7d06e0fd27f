//! Medians of values in any order.

/// Median of values in any order, not empty, which are put into another; takes time in proportion
/// to their number.
pub(crate) fn median_in_place(values: &mut [f64]) -> f64 {
    let half = values.len() / 2;
    let odd = values.len() % 2 == 1;
    let (below, &mut middle, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    if odd {
        return middle;
    }
    let before = below.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    before + (middle - before) * 0.5
}
