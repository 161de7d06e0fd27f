//! Links while packets still come: their present state, and the changes since it was last reported.

pub mod event;
mod handshakes;
pub mod live;
pub mod metric;
pub mod otlp;
mod tracker;
mod view;

pub use event::{Event, LinkName};
pub use handshakes::{Handshake, Handshakes};
pub use tracker::{Tracker, cleared, found};
pub use view::{Recent, View, Viewing};
