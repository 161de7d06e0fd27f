//! Output of `bartizan inspect`, compared with that of tshark 4.4 of the lab root as code points:
//! on captures recorded in the tree, and on captures that OpenSSL 3.5 and strongSwan 6.1 make while
//! the tests run (see `as_root`).

mod as_root;
mod certificates;
#[expect(dead_code, reason = "some of it serves the tests of crates/protect/ipsec alone")]
#[path = "../../../crates/protect/ipsec/tests/stage/mod.rs"]
mod charons;
mod datagrams;
mod dtls;
mod ike;
mod recorded;
mod sctp;
mod timing;
mod tls;
#[allow(dead_code, unused_imports, reason = "SSH is mutated in the recorded captures alone")]
#[path = "../../../crates/prove/posture/tests/towards_classical/mod.rs"]
mod towards_classical;
mod tshark;
mod tunnels;
