//! Quantiles.

/// Quantile of a sorted sample that is not empty, `share` from 0 to 1: by linear interpolation
/// between order statistics (type 7 of Hyndman and Fan, 1996: the default of R and NumPy).
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    let position = (sorted.len() - 1) as f64 * share;
    let (below, above) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
    // Equal neighbours are taken as they are: infinity minus infinity is not a number.
    if below == above {
        below
    } else {
        below + (above - below) * position.fract()
    }
}
