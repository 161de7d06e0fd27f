//! A classical link is never called safe: every safe connection and security association of the captures in the tree is
//! changed towards classical, one way after the other, and its verdict falls; nobody else's rises. Captures are damaged as well.

use crate::towards_classical;
use std::collections::BTreeMap;

use towards_classical::{Mutation, assert_borne, assert_no_rise, fallen, ike, ssh, tls};

const OPENSSL: &[u8] = include_bytes!("../../wire/tests/data/openssl-3.5.7.pcap");
const SIDECAR: &[u8] = include_bytes!("../../wire/tests/data/sidecar-hybrid.pcap");
const STRONGSWAN: &[u8] = include_bytes!("../../wire/tests/data/strongswan-6.1.0.pcap");
const OPENSSH: &[u8] = include_bytes!("../../wire/tests/data/openssh-10.0.pcap");

/// Makes each mutation in each of these; one that reaches nobody is none.
fn assert_falls(captures: &[(&str, &[u8])], mutations: &[Mutation]) {
    let mut all: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, file) in captures {
        for (mutation, count) in fallen(name, file, mutations) {
            *all.entry(mutation).or_default() += count;
        }
    }
    assert_eq!(all.len(), mutations.len(), "two mutations have one name");
    for (mutation, count) in all {
        assert!(count > 0, "{mutation} reaches nobody");
    }
}

#[test]
fn every_safe_connection_of_tls_turned_towards_classical_falls_and_nothing_rises() {
    assert_falls(&[("openssl", OPENSSL), ("sidecar", SIDECAR)], &tls::mutations());
}

#[test]
fn every_safe_association_of_ipsec_turned_towards_classical_falls_and_nothing_rises() {
    assert_falls(&[("strongswan", STRONGSWAN)], &ike::mutations());
}

#[test]
fn every_safe_connection_of_ssh_turned_towards_classical_falls_and_nothing_rises() {
    assert_falls(&[("openssh", OPENSSH)], &ssh::mutations());
}

#[test]
fn segments_and_datagrams_swapped_doubled_or_overlapping_change_no_verdict() {
    for (name, file) in [("openssl", OPENSSL), ("strongswan", STRONGSWAN), ("openssh", OPENSSH)] {
        assert_borne(name, file);
    }
}

#[test]
fn packets_lost_or_cut_make_nothing_safe_and_accuse_nobody() {
    for (name, file) in [("openssl", OPENSSL), ("strongswan", STRONGSWAN), ("openssh", OPENSSH)] {
        assert_no_rise(name, file);
    }
}
