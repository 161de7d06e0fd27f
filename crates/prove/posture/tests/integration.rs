//! Integration tests of `posture` in one program: `autotests` is off, so each file is named here.

mod answerable;
mod attribution;
mod by_address;
mod dtls13;
mod dtls13_of_nss;
mod fast_open;
mod ike_ledger;
mod ike_legacy;
mod ipsec_and_sctp;
mod links;
mod merging;
mod moved;
mod mutations;
mod named;
mod ports;
mod proxies;
mod spoken;
mod ssh;
mod ssh_over_sctp;
mod starttls;
#[allow(dead_code, unused_imports, reason = "`inspect` and the binary use the rest of it")]
mod towards_classical;
mod unread;
mod verdicts;
