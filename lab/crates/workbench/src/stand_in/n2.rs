//! N2 between a gNB and an AMF: what the two said in a recording, functions that say it again or
//! send messages of their own over the kernel's SCTP, and what protects the association between
//! their hosts.
//!
//! [`exchange`] is the recording, [`function`] one end of an association, and [`mod@play`] has two
//! of them say the recording again. [`protection`] has what can stand between the two, [`pair`] the
//! two programs that do: sidecars that carry SCTP whole, or `socat`, which carries its octets. The
//! cable is that of [`e2`](crate::stand_in::e2::link), and so is IPsec.

pub mod exchange;
pub mod function;
pub mod pair;
pub mod play;
pub mod protection;
mod sidecars;
mod socat;

pub use exchange::{End, Exchange, Procedure};
pub use function::{Function, Message};
pub use pair::Pair;
pub use play::{Changed, play};
pub use protection::Protection;
