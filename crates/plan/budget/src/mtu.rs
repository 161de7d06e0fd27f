//! Packet capacity, fragments per handshake, and round trips per handshake.

mod fragments;
mod ike;
mod path;
mod rounds;
mod setup;
mod tls;

pub use fragments::{Filling, Fragments, ip_fragments};
pub use ike::{Exchange, IkeHandshake, Message, Port};
pub use path::{PathError, path_mtu};
pub use rounds::{Flight, quic_rounds, segment, tcp_rounds};
pub use setup::{Leg, Retransmission, SetUp, Within, set_up_within, share_interval};
pub use tls::{Certificates, TlsHandshake};
