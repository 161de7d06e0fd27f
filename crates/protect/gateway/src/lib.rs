//! SCTP associations carried whole between two nodes: frames and state, without sockets or a clock.
//!
//! A node terminates the association of its network function, and its peer makes the same
//! association towards the other function. What is between the two nodes is a *carrier*, one at a
//! time for each association: a reliable ordered byte stream, or several of which each message's
//! stream has its own ([`Carriage`]). An [`Association`] takes what the function's socket and the
//! carrier give, with the time, and answers with [`Command`]s for the function's socket and bytes
//! for the carrier. Stream, payload protocol identifier, order flag and boundaries of each message
//! are kept, and so is the association's life: set-up with its stream counts, shutdown, abort with
//! its cause, restart.
//!
//! An association outlives its carrier: where one is lost, or is to be replaced, the initiator's
//! node makes another, and both continue where the other has read to. Every message is handed to a
//! function once, in the order of its stream. A peer node that is not reached for as long as
//! [`Patience::resume`] says ends it.
//!
//! Memory is bounded by a few [`WINDOW`]s in each direction, whatever function or peer send.
#![forbid(unsafe_code)]

mod association;
mod cause;
mod frame;

pub use association::{Association, Carriage, Command, End, Ending, LARGEST_STATE, Loss, Patience, Side, Totals};
pub use cause::Cause;
pub use frame::{
    Decoder, Delivery, FRAGMENT, Fragment, Frame, LARGEST_MESSAGE, Lane, Malformed, Message, Order, PathState,
    Received, Resume, Streams, Token, VERSION, WINDOW,
};
