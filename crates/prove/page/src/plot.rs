//! Plots as SVG: plain data in, a drawing out.
//!
//! Colours are CSS variables, so that the same drawing follows the theme of the page it stands in;
//! a drawing by itself brings them along. No colour carries a meaning alone: what it means is
//! written next to it.

pub mod canvas;
mod lines;
pub mod mark;
pub mod scale;

pub use canvas::Drawing;
pub use lines::{Line, Point, lines, tone_class};

/// Rows with a common heading; the heading is absent where there is only one group.
#[derive(Debug, Clone)]
pub struct Panel<T> {
    /// Values of the other factors in this panel, for example `connection: kept`.
    pub heading: Option<String>,
    /// Its rows or curves.
    pub items: Vec<T>,
}

/// The quantity and the unit of an axis.
#[derive(Debug, Clone)]
pub struct Axis {
    /// The quantity, for example `latency`.
    pub quantity: String,
    /// Unit in which its values are shown.
    pub unit: crate::quantity::Shown,
}

impl Axis {
    /// Quantity and unit, as they stand at the axis.
    pub fn label(&self) -> String {
        if self.unit.symbol.is_empty() {
            self.quantity.clone()
        } else {
            format!("{} ({})", self.quantity, self.unit.symbol)
        }
    }
}

/// The colours and type of plots, as variables and classes.
pub const STYLE: &str = include_str!("plot/style.css");
