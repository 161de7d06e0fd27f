//! Roots and lists that a renewal brings or obeys.

use super::*;

fn next(days: u32) -> Successor {
    Successor {
        algorithm: None,
        key: KeySource::Fresh,
        out_of_token: false,
        lifetime: Lifetime::Days(days),
    }
}

fn ders(roots: &[Certificate]) -> Vec<Vec<u8>> {
    roots.iter().map(|root| root.der().to_vec()).collect()
}

/// The key of an intermediate was enough to give a root to every node that renews.
#[test]
fn a_root_that_no_root_held_has_signed_is_not_taken_and_is_dropped_where_it_was() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let (held, key) = stage.enrol("gnb", Algorithm::Ed25519);
    let real = ders(&held.roots);
    let forged = Stage::new(Algorithm::Ed25519).authority.root().clone();
    let again = |roots: Vec<Certificate>| {
        let copy = PrivateKey::from_pkcs8(key.to_pkcs8()).unwrap();
        let before = Enrolled {
            chain: held.chain.clone(),
            roots,
            unproven: Vec::new(),
        };
        update(before, copy, fresh())
    };
    // It was taken before this was mended, and the authority gives no roots.
    let (mut requester, first) = again(vec![held.roots[0].clone(), forged.clone()]);
    assert_eq!(ders(&stage.run(&mut requester, first).unwrap().roots), real);
    // The key of the intermediate has a responder, which gives the forged root alone, or next to
    // the right one.
    for given in [vec![forged.der()], vec![&real[0], forged.der()]] {
        let (mut requester, first) = again(held.roots.clone());
        let message = Message::read(&stage.answer(&first).der).unwrap();
        let granted = body::CertificateAnswer::read(message.content().unwrap()).unwrap();
        let draft = Draft {
            body: body::certificate_answer(0, &Status::accepted(), granted.certificate.as_deref(), &given).unwrap(),
            header: message.header.clone(),
            kind: message.kind,
            certificates: [&message.certificates[..], &[forged.der().to_vec()]].concat(),
        };
        let answer = stage.responder.identity.sign(draft).unwrap();
        let Next::Store { enrolled, .. } = requester.receive(&answer, now()).unwrap() else {
            panic!("a certificate is due");
        };
        assert_eq!(ders(&enrolled.roots), real);
        assert_eq!(ders(&enrolled.unproven), [forged.der()]);
    }
}

/// Answers by the key of an intermediate that was revoked were believed.
#[test]
fn an_answer_of_an_authority_that_a_list_revokes_is_not_believed() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let (held, key) = stage.enrol("gnb", Algorithm::Ed25519);
    let intermediate = stage.authority.intermediate().unwrap().serial().unwrap();
    let begin = |stage: &Stage| {
        let text = stage.authority.crl().unwrap();
        let lists = bartizan_pki::RevocationList::read(text.as_bytes()).unwrap();
        let own = PrivateKey::from_pkcs8(key.to_pkcs8()).unwrap();
        let credential = Credential::Certificate {
            identity: Identity::new(own, held.chain.clone()).unwrap(),
            trust: Trust::new(held.roots.clone()).revoking(lists),
        };
        Requester::begin(credential, fresh(), "gnb", now()).unwrap()
    };
    let (mut requester, first) = begin(&stage);
    stage.run(&mut requester, first).unwrap();
    let reason = bartizan_pki::Reason::CaCompromise;
    stage
        .authority
        .revoke(&intermediate.to_string(), reason, now())
        .unwrap();
    let (mut requester, first) = begin(&stage);
    let error = requester.receive(&stage.answer(&first).der, now()).unwrap_err();
    assert!(error.to_string().contains("was revoked"), "{error}");
}

#[test]
fn who_has_enrolled_learns_of_a_root_that_takes_the_place_of_its_own() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let (mut held, mut key) = stage.enrol("gnb", Algorithm::Ed25519);
    let mut again = |stage: &mut Stage| {
        let next = fresh();
        let copy = PrivateKey::from_pkcs8(next.to_pkcs8()).unwrap();
        let old = std::mem::replace(&mut key, copy);
        let before = Enrolled {
            chain: held.chain.clone(),
            roots: held.roots.clone(),
            unproven: Vec::new(),
        };
        let (mut requester, first) = update(before, old, next);
        held = stage.run(&mut requester, first).unwrap();
        (held.chain.len(), ders(&held.roots))
    };
    let old = stage.authority.root().der().to_vec();
    assert_eq!(again(&mut stage), (2, vec![old.clone()]));
    let new = stage.authority.publish_root(next(1000), now()).unwrap();
    assert_eq!(again(&mut stage), (2, vec![old.clone(), new.der().to_vec()]));
    stage.authority.activate_root(next(900), Anyway::No, now()).unwrap();
    // The responder's certificate is below the root of before still, and then below the new one.
    assert_eq!(again(&mut stage), (2, vec![new.der().to_vec(), old]));
    let renewed = identity(&mut stage.authority, "responder", Profile::Responder);
    stage.responder.replace_identity(renewed);
    stage.authority.retire_roots(Anyway::No, now()).unwrap();
    assert_eq!(again(&mut stage), (2, vec![new.der().to_vec()]));
    assert_eq!(again(&mut stage), (2, vec![new.der().to_vec()]));
}
