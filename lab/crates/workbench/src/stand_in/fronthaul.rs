//! An open fronthaul: the O-DU's side as a source of eCPRI and PTP over Ethernet, the O-RU's as a
//! sink that looks at every byte, and a cable between them that MACsec may protect.

pub mod datagrams;
pub mod egress;
pub mod frame;
pub mod keyed;
pub mod link;
pub mod mix;
pub mod play;
pub mod probe;
pub mod protection;
pub mod replay;
pub mod tally;

pub use frame::{Frame, Kind, Plane};
pub use link::Link;
pub use mix::{Mix, Scheduled};
pub use protection::Protection;
