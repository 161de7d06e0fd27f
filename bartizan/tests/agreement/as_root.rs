//! Captures that real peers make while the tests run: each is made once and shared by the tests of this program.

mod dtls;
mod handshakes;
mod ike;
mod in_sctp;
mod links;
mod mutated;
mod tls;
