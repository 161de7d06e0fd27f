//! Traffic of OpenSSL and strongSwan, changed towards classical and damaged: safe verdicts fall,
//! and none rises.

use super::handshakes::handshakes;
use super::links::links;
use crate::towards_classical::{Mutation, assert_borne, assert_no_rise, fallen, ike, tls};

/// Fewest that each mutation must reach.
fn assert_falls(name: &str, file: &[u8], mutations: &[Mutation], fewest: usize) {
    for (mutation, count) in fallen(name, file, mutations) {
        assert!(count >= fewest, "{name}, {mutation}: reaches {count}");
    }
}

#[test]
fn every_safe_handshake_turned_towards_classical_falls_and_nothing_rises() {
    assert_falls("OpenSSL", &handshakes().bytes, &tls::mutations(), 10);
}

#[test]
fn every_safe_ike_sa_and_what_it_keyed_turned_towards_classical_falls_and_nothing_rises() {
    assert_falls("strongSwan", links(), &ike::mutations(), 1);
}

#[test]
fn segments_and_datagrams_swapped_doubled_or_overlapping_change_no_verdict() {
    assert_borne("OpenSSL", &handshakes().bytes);
    assert_borne("strongSwan", links());
}

#[test]
fn packets_lost_or_cut_make_nothing_safe_and_accuse_nobody() {
    assert_no_rise("OpenSSL", &handshakes().bytes);
    assert_no_rise("strongSwan", links());
}
