//! What becomes of links while packets still come: what is to be seen now, and what has changed since it was last reported.

pub mod event;
mod tracker;
mod view;

pub use event::{Event, LinkName};
pub use tracker::{Tracker, cleared, found};
pub use view::{Recent, View, Viewing};
