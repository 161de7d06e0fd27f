//! Pages and documents of what was inspected or planned: plots, sheets, the map of a network, a bill of materials.
//!
//! Pure: values in, text out. Each page is one HTML file that needs nothing else.
#![forbid(unsafe_code)]

pub mod cbom;
pub mod frame;
pub mod network;
pub mod plot;
pub mod quantity;
pub mod sheet;
