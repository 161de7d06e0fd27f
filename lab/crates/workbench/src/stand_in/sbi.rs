//! SBI as network functions speak it to their NRF: registration, discovery and heart-beat, one
//! after the other or many at once, unencrypted or over TLS, to an NRF of our own or to one that a
//! user names.
//!
//! A [`Client`] connects to a [`Target`]; [`Session`] says what is asked next and checks what is
//! answered. [`Stage`] is what lies between: nothing, or a pair of sidecars, as processes of this
//! same binary.

mod channel;
mod client;
mod error;
mod function;
pub(crate) mod packets;
mod papers;
mod session;
mod stage;
mod target;
mod uuid;
pub mod wrapper;

pub use channel::{Channel, Question, Said};
pub use client::{Client, Connections, Exchanged};
pub use error::Error;
pub use function::Function;
pub use papers::{Authority, Papers};
pub use session::{Procedure, Session};
pub(crate) use stage::{CONSUMER, NRF};
pub use stage::{Deployment, Handshakes, Spent, Stage, Wanted};
pub use target::Target;
pub use uuid::uuid;
