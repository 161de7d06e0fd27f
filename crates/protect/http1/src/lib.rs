//! HTTP/1.1 connections without sockets (RFC 9112), with the messages, events and commands of
//! `bartizan-http2`: a proxy that carries requests need not know which of the two an end speaks.
//!
//! Messages have one reading only. A message that two implementations are known to read differently
//! (a bare line feed, a folded line, both lengths at once, a coding besides `chunked`) ends the
//! connection, and a written message is made anew from the parsed one.
#![forbid(unsafe_code)]

mod body;
mod connection;
mod head;
mod write;

pub use connection::{Connection, Unopened, is_repeatable};
