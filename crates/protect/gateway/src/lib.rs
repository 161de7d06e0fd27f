//! SCTP associations carried whole between two nodes: frames and state, without sockets or a clock.
//!
//! A node terminates the association of its network function, and its peer makes the same association towards the other function. What
//! is between the two nodes is a *carrier*, one for each association: a reliable ordered byte stream, or several of which each message's
//! stream has its own ([`Carriage`]). An [`Association`] takes what the
//! function's socket and the carrier give, with the time, and answers with [`Command`]s for the function's socket and bytes for the
//! carrier. Stream, payload protocol identifier, order flag and boundaries of each message are kept, and so is the association's life:
//! set-up with its stream counts, shutdown, abort with its cause, restart.
//!
//! Memory is bounded by [`WINDOW`] in each direction, whatever function or peer send. A message is handed to a function at most once: a
//! carrier that is lost ends the association, and nothing is sent again.
#![forbid(unsafe_code)]

mod association;
mod cause;
mod frame;

pub use association::{Association, Carriage, Command, End, Ending, Patience, Side, Totals};
pub use cause::Cause;
pub use frame::{
    Decoder, Delivery, FRAGMENT, Fragment, Frame, LARGEST_MESSAGE, Lane, Malformed, Message, Order, PathState, Streams,
    VERSION, WINDOW,
};
