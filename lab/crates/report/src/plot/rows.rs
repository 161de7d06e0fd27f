//! Parts that rows of one value have in common.

use bartizan_estimators::Interval;

use bartizan_page::plot::Axis;

use super::frame::Labels;

/// A row's labels: its median and the interval of it.
pub(super) fn labels(name: &str, value: f64, interval: Option<Interval>, axis: &Axis) -> Labels {
    let (value, interval) = match interval {
        Some(interval) => axis.unit.parts(value, interval),
        None => (axis.unit.number(value), String::new()),
    };
    let value = if axis.unit.symbol.is_empty() {
        value
    } else {
        format!("{value}\u{a0}{}", axis.unit.symbol)
    };
    Labels {
        name: name.to_owned(),
        value,
        interval,
    }
}
