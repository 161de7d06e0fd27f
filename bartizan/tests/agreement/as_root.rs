//! Captures that real peers make while the tests run: each is made once and shared by the tests of this program.

mod handshakes;
mod ike;
mod links;
mod mutated;
mod tls;
