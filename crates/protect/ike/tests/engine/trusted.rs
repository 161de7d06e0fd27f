//! Roots, and the signatures on certificates below them.

use std::sync::Arc;

use bartizan_ike::{Anchors, Failure};
use rustls_pki_types::{SignatureVerificationAlgorithm, UnixTime};
use webpki::aws_lc_rs::{ECDSA_P256_SHA256, ML_DSA_65};

use crate::SOON;
use crate::link::{Algorithm, Authority, HYBRID, Link, config};

/// Refusal of the initiator, with a certificate of `issuer` and this one behind it, by a responder
/// with these anchors.
fn refused(issuer: &Authority, behind: Option<&Authority>, anchors: Anchors) -> Option<Failure> {
    let mut one = config(0, issuer, &[HYBRID]);
    one.certificates.extend(behind.map(Authority::certificate));
    // The responder is not in question.
    let own = Authority::new(Algorithm::EcdsaP256);
    let mut other = config(1, &own, &[HYBRID]);
    one.trust = Arc::new(trusting(vec![own.certificate()]));
    other.trust = Arc::new(anchors);
    let mut link = Link::new(one, other, 17);
    link.run_well(SOON);
    link.closed(1).cloned()
}

fn trusting(roots: Vec<Vec<u8>>) -> Anchors {
    Anchors::new(roots, UnixTime::now())
}

#[test]
fn a_root_that_has_ended_is_trusted_no_more_but_by_a_certificate_that_continues_it() {
    let authority = Authority::new(Algorithm::EcdsaP256);
    let ended = authority.certificate_until(2021);
    let why = Failure::Authentication("the root behind its certificate is outside its dates");
    assert_eq!(refused(&authority, None, trusting(vec![ended.clone()])), Some(why));
    // A successor of another name next to it changes nothing.
    let successor = Authority::new(Algorithm::Ed25519).below(Algorithm::EcdsaP256, true);
    let both = trusting(vec![ended.clone(), successor.certificate()]);
    assert!(refused(&authority, None, both).is_some());
    let renewed = authority.certificate_until(2040);
    assert_eq!(refused(&authority, None, trusting(vec![ended, renewed])), None);
}

#[test]
fn a_leaf_among_the_roots_makes_its_holder_no_authority() {
    let authority = Authority::new(Algorithm::EcdsaP256);
    let holder = authority.below(Algorithm::EcdsaP256, false);
    let why = Failure::Authentication("its certificate leads to no authority that is trusted");
    let among = |roots: &[&Authority]| trusting(roots.iter().map(|root| root.certificate()).collect());
    assert_eq!(refused(&holder, None, among(&[&holder])), Some(why.clone()));
    assert_eq!(refused(&holder, None, among(&[&authority, &holder])), Some(why));
    assert!(refused(&holder, Some(&holder), among(&[&authority, &holder])).is_some());
}

#[test]
fn signatures_on_certificates_are_those_that_are_accepted_up_to_the_root() {
    let root = Authority::new(Algorithm::EcdsaP256);
    let issuer = root.below(Algorithm::MlDsa65, true);
    let accepting = |accepted: &[&'static dyn SignatureVerificationAlgorithm]| {
        let anchors = trusting(vec![root.certificate()]).accepting_of_chains(accepted.to_vec());
        refused(&issuer, Some(&issuer), anchors)
    };
    let why = Failure::Authentication("a certificate of its chain is signed by an algorithm that is not accepted");
    assert_eq!(accepting(&[ML_DSA_65]), Some(why.clone()));
    assert_eq!(
        accepting(&[ECDSA_P256_SHA256]),
        Some(why),
        "and not its own certificate either"
    );
    assert_eq!(accepting(&[ML_DSA_65, ECDSA_P256_SHA256]), None);
}
