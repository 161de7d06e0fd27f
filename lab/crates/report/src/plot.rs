//! Plots of trials, made of the parts of the product's plots: plain data in, a drawing out.

mod bars;
mod distribution;
mod ecdf;
mod frame;
mod heat;
mod mark;
mod rows;
mod stacked;
mod standalone;

pub(crate) use bars::{Bar, bars, line_of};
pub(crate) use distribution::{Cloud, distribution};
pub(crate) use ecdf::{Curve, ecdf};
pub(crate) use heat::heat_map;
pub(crate) use stacked::{Stack, stacked};
pub use standalone::standalone;
