//! Both ends in one process, and what an attacker between them can try.

mod roots;

use std::time::{Duration, SystemTime};

use bartizan_pki::{
    Algorithm, AlternativeName, Anyway, Authority, Certificate, InitOptions, Intermediate, Invitation, InvitationState,
    Invite, KeySource, Leaf, Lifetime, PrivateKey, Profile, State, Successor,
};
use proptest::prelude::*;
use tempfile::TempDir;
use zeroize::Zeroizing;

use super::*;
use crate::{Credential, Enrolled, Inquiry, Next, Requester, Trust, encoding};

const DAY: Duration = Duration::from_secs(86_400);

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + DAY * 20_000
}

struct Stage {
    _dir: TempDir,
    authority: Authority,
    responder: Responder,
}

impl Stage {
    fn new(algorithm: Algorithm) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut options = InitOptions::new(algorithm);
        options.intermediate = Some(Intermediate {
            algorithm,
            key: KeySource::Fresh,
            lifetime: Lifetime::Days(1000),
        });
        let mut authority = Authority::init(&dir.path().join("ca"), options, now()).unwrap();
        let identity = identity(&mut authority, "responder", Profile::Responder);
        Self {
            _dir: dir,
            authority,
            responder: Responder::new(identity),
        }
    }

    fn invite(&mut self, name: &str) -> Invitation {
        let invite = Invite {
            name: name.parse().unwrap(),
            names: vec![AlternativeName::dns(&format!("{name}.ran")).unwrap()],
            functions: Vec::new(),
            profile: Profile::NetworkFunction,
            days: 30,
            long_life: false,
            classical: true,
            open_for: DAY,
            vendor: None,
        };
        self.authority.invite(&invite, now()).unwrap()
    }

    fn answer(&mut self, request: &[u8]) -> Answer {
        self.answer_at(request, now())
    }

    fn answer_at(&mut self, request: &[u8], now: SystemTime) -> Answer {
        let mut received = Received::read(request);
        let reference = received.reference().map(str::to_owned);
        let invitation = reference.and_then(|reference| self.authority.invitation(&reference, now).unwrap());
        if let Some(invitation) = invitation {
            received.verify(&invitation);
        }
        let derived = protection::DERIVED.get();
        let answer = self.responder.answer(&mut self.authority, &received, now).unwrap();
        // Rounds are computed before the authority is opened.
        assert_eq!(protection::DERIVED.get(), derived);
        answer
    }

    /// Runs an exchange to its end.
    fn run(&mut self, requester: &mut Requester, first: Vec<u8>) -> Result<Enrolled, Error> {
        let answer = self.answer(&first).der;
        let Next::Store { enrolled, confirmation } = requester.receive(&answer, now())? else {
            panic!("a certificate is due");
        };
        let answer = self.answer(&confirmation).der;
        assert!(matches!(requester.receive(&answer, now())?, Next::Done));
        Ok(enrolled)
    }

    fn enrol(&mut self, name: &str, algorithm: Algorithm) -> (Enrolled, PrivateKey) {
        let invitation = self.invite(name);
        let (mut requester, first) = begin(&invitation, PrivateKey::generate(algorithm).unwrap());
        let enrolled = self.run(&mut requester, first).unwrap();
        (enrolled, requester.into_key())
    }
}

fn identity(authority: &mut Authority, name: &str, profile: Profile) -> Identity {
    let leaf = Leaf::new(name).unwrap().dns("ca.ran").unwrap().profile(profile);
    let issued = authority.issue(&leaf, now()).unwrap();
    let key = PrivateKey::from_pkcs8(issued.key.as_ref().unwrap().to_pkcs8()).unwrap();
    let chain = [std::slice::from_ref(&issued.certificate), &issued.between].concat();
    Identity::new(key, chain).unwrap()
}

fn secret_of(invitation: &Invitation) -> Credential {
    Credential::Secret {
        reference: invitation.reference().to_owned(),
        secret: Zeroizing::new(invitation.secret().unwrap().to_owned()),
    }
}

fn begin(invitation: &Invitation, key: PrivateKey) -> (Requester, Vec<u8>) {
    Requester::begin(secret_of(invitation), key, invitation.name(), now()).unwrap()
}

fn update(held: Enrolled, key: PrivateKey, next: PrivateKey) -> (Requester, Vec<u8>) {
    let credential = Credential::Certificate {
        identity: Identity::new(key, held.chain).unwrap(),
        trust: Trust::new(held.roots),
    };
    Requester::begin(credential, next, "gnb", now()).unwrap()
}

/// Changes octets, cuts off, puts in and takes out.
fn change(bytes: &mut Vec<u8>, changes: &[(prop::sample::Index, u8, u8)]) {
    for (at, octet, what) in changes {
        if bytes.is_empty() {
            break;
        }
        let at = at.index(bytes.len());
        match what {
            0 => bytes[at] = *octet,
            1 => bytes.truncate(at),
            2 => bytes.insert(at, *octet),
            _ => {
                bytes.remove(at);
            }
        }
    }
}

/// A general message with one question.
fn asking(kind: der::asn1::ObjectIdentifier, value: &[u8]) -> Vec<u8> {
    let kind = der::Encode::to_der(&kind).unwrap();
    encoding::sequence(&[&encoding::sequence(&[&kind, value]).unwrap()]).unwrap()
}

/// CRLStatus of a list of this issuer that is older than any, and of one at a place.
fn known_lists(issuer: &[u8]) -> Vec<u8> {
    let names = encoding::sequence(&[&encoding::explicit(4, issuer).unwrap()]).unwrap();
    let time = encoding::element(der::Tag::UtcTime, b"200101000000Z").unwrap();
    let by_issuer = encoding::sequence(&[&encoding::explicit(1, &names).unwrap(), &time]).unwrap();
    let url = encoding::element(encoding::context(6, false), b"http://ca.ran/crl.der").unwrap();
    let point = encoding::explicit(0, &encoding::explicit(0, &url).unwrap()).unwrap();
    encoding::sequence(&[&by_issuer, &encoding::sequence(&[&point]).unwrap()]).unwrap()
}

fn fresh() -> PrivateKey {
    PrivateKey::generate(Algorithm::Ed25519).unwrap()
}

#[test]
fn every_algorithm_enrols_by_a_secret_and_updates_by_its_certificate() {
    let mut stage = Stage::new(Algorithm::MlDsa44);
    for (at, algorithm) in Algorithm::ALL.into_iter().enumerate() {
        let name = format!("gnb{at}");
        let (held, key) = stage.enrol(&name, algorithm);
        assert_eq!(held.chain.len(), 2, "the intermediate comes along");
        assert_eq!(held.chain[0].names(), [format!("DNS:{name}.ran")]);
        let der = |roots: &[Certificate]| roots.iter().map(|root| root.der().to_vec()).collect::<Vec<_>>();
        assert_eq!(der(&held.roots), der(&stage.authority.roots()));
        let next = PrivateKey::generate(algorithm).unwrap();
        let public = next.public_key().clone();
        let (mut requester, first) = update(held, key, next);
        let updated = stage.run(&mut requester, first).unwrap();
        assert_eq!(updated.chain[0].public_key(), &public);
    }
}

#[test]
fn a_request_that_comes_again_gets_the_same_answer_and_no_second_certificate() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let invitation = stage.invite("gnb");
    let (_, first) = begin(&invitation, fresh());
    let before = stage.answer(&first);
    let again = stage.answer(&first);
    assert_eq!(before.der, again.der);
    assert!(again.event.again && !before.event.again);
    // The process was restarted in between: another answer, the same certificate.
    let identity = identity(&mut stage.authority, "another", Profile::Responder);
    stage.responder = Responder::new(identity);
    assert_eq!(stage.answer(&first).event.serial, before.event.serial);
    let issued = stage.authority.list().unwrap();
    assert_eq!(issued.iter().filter(|entry| &entry.name == "gnb").count(), 1);
}

#[test]
fn an_answer_that_was_lost_is_made_up_for_by_asking_again_with_the_same_key() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let invitation = stage.invite("gnb");
    let key = fresh();
    let copy = PrivateKey::from_pkcs8(key.to_pkcs8()).unwrap();
    let (_, lost) = begin(&invitation, key);
    let serial = stage.answer(&lost).event.serial;
    let (mut requester, first) = begin(&invitation, copy);
    let enrolled = stage.run(&mut requester, first).unwrap();
    assert_eq!(enrolled.chain[0].serial(), serial);
    // Confirmed: the secret opens nothing more, even for the same key.
    let (mut requester, first) = begin(&invitation, requester.into_key());
    assert!(matches!(
        stage.run(&mut requester, first),
        Err(Error::Refused {
            failure: Some(Failure::BadMessageCheck),
            ..
        })
    ));
}

#[test]
fn a_secret_that_is_wrong_and_a_reference_that_is_not_there_are_refused_alike() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let invitation = stage.invite("gnb");
    let wrong = |reference: &str| Credential::Secret {
        reference: reference.to_owned(),
        secret: Zeroizing::new("wrong".to_owned()),
    };
    let refusals: Vec<String> = [invitation.reference(), "nobody"]
        .map(|reference| {
            let (mut requester, first) = Requester::begin(wrong(reference), fresh(), "gnb", now()).unwrap();
            stage.run(&mut requester, first).unwrap_err().to_string()
        })
        .to_vec();
    assert_eq!(refusals[0], refusals[1]);
    assert!(refusals[0].contains("badMessageCheck"), "{}", refusals[0]);
    assert!(stage.authority.show("gnb").is_err(), "nothing was issued");
}

/// The answer was that a certificate is missing, of a message that needs none.
#[test]
fn a_mac_of_another_kind_is_refused_by_its_name() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let invitation = stage.invite("gnb");
    let (_, first) = begin(&invitation, fresh());
    let message = Message::read(&first).unwrap();
    let draft = Draft {
        header: Header {
            protection: Some(encoding::algorithm_identifier(crate::oid::OTHER_MACS[0], None).unwrap()),
            ..message.header
        },
        kind: message.kind,
        body: message.body,
        certificates: Vec::new(),
    };
    let answer = stage.answer(&draft.protect(|_| Ok(vec![0; 32])).unwrap());
    let (failure, why) = answer.event.refused.unwrap();
    assert_eq!(failure, Failure::BadAlgorithm);
    assert!(why.contains("1.2.840.113533.7.66.30"), "{why}");
}

#[test]
fn request_protected_by_pbmac1_is_answered_with_pbmac1() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let invitation = stage.invite("gnb");
    let (mut requester, first) = begin(&invitation, fresh());
    let message = Message::read(&first).unwrap();
    let draft = |kind, body| Draft {
        header: message.header.clone(),
        kind,
        body,
        certificates: Vec::new(),
    };
    let mac = crate::protection::PasswordMac::pbmac1();
    let protect = |secret: &str| {
        let draft = draft(message.kind, message.body.clone());
        protection::authenticate(draft, &mac, invitation.reference(), secret).unwrap()
    };
    let refused = stage.answer(&protect("another secret")).event.refused;
    assert_eq!(refused.map(|(failure, _)| failure), Some(Failure::BadMessageCheck));
    let answer = stage.answer(&protect(invitation.secret().unwrap())).der;
    let protected = Message::read(&answer).unwrap().header.protection.unwrap();
    // The same but for the salt.
    assert_eq!(protected.len(), mac.identifier().unwrap().len());
    assert_ne!(protected, mac.identifier().unwrap());
    assert!(matches!(requester.receive(&answer, now()), Ok(Next::Store { .. })));
}

/// The records can change between the verification and the answer.
#[test]
fn a_mac_that_was_not_verified_by_the_invitation_s_own_secret_proves_nothing() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let (invitation, other) = (stage.invite("gnb"), stage.invite("other"));
    let (_, first) = begin(&invitation, fresh());
    let mut received = Received::read(&first);
    assert_eq!(received.reference(), Some(invitation.reference()));
    for verified_by in [None, Some(&other)] {
        verified_by.into_iter().for_each(|other| received.verify(other));
        let answer = stage.responder.answer(&mut stage.authority, &received, now()).unwrap();
        let refused = answer.event.refused.map(|(failure, _)| failure);
        assert_eq!(refused, Some(Failure::BadMessageCheck));
    }
    received.verify(&invitation);
    let answer = stage.responder.answer(&mut stage.authority, &received, now()).unwrap();
    assert_eq!(answer.event.refused, None);
}

#[test]
fn another_key_gets_nothing_on_an_invitation_that_was_used() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let invitation = stage.invite("gnb");
    let (_, first) = begin(&invitation, fresh());
    stage.answer(&first);
    let (mut requester, second) = begin(&invitation, fresh());
    assert!(matches!(
        stage.run(&mut requester, second),
        Err(Error::Refused {
            failure: Some(Failure::NotAuthorized),
            ..
        })
    ));
}

/// `bartizan enrol --name smf` with the invitation of amf got the certificate of amf, which it
/// could not use, and amf got none.
#[test]
fn a_request_for_another_name_is_refused_and_does_not_use_the_invitation() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let invitation = stage.invite("amf");
    let (mut other, first) = Requester::begin(secret_of(&invitation), fresh(), "smf", now()).unwrap();
    let refused = other.receive(&stage.answer(&first).der, now()).unwrap_err();
    let said = refused.to_string();
    assert!(
        said.contains("for the name amf") && said.contains("asks for smf"),
        "{said}"
    );
    let kept = stage
        .authority
        .invitation(invitation.reference(), now())
        .unwrap()
        .unwrap();
    assert_eq!(kept.state_at(now()), InvitationState::Open);
    for name in ["amf.ran", "amf"] {
        let invitation = stage.invite("amf");
        let (mut requester, first) = Requester::begin(secret_of(&invitation), fresh(), name, now()).unwrap();
        stage.run(&mut requester, first).unwrap();
    }
    let (mut requester, first) = begin(&invitation, fresh());
    stage.run(&mut requester, first).unwrap();
}

#[test]
fn only_the_one_who_asked_confirms_and_only_what_was_sent() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let (one, other) = (stage.invite("one"), stage.invite("other"));
    let (mut requester, first) = begin(&one, fresh());
    let answer = stage.answer(&first).der;
    let Next::Store { confirmation, .. } = requester.receive(&answer, now()).unwrap() else {
        panic!("a confirmation is due");
    };
    // The same confirmation, protected by the secret of another requester.
    let message = Message::read(&confirmation).unwrap();
    let forge = |body: Vec<u8>, invitation: &Invitation| {
        let draft = Draft {
            header: message.header.clone(),
            kind: kind::CONFIRMATION,
            body,
            certificates: Vec::new(),
        };
        let mac = crate::protection::PasswordMac::fresh().unwrap();
        let secret = invitation.secret().unwrap();
        protection::authenticate(draft, &mac, invitation.reference(), secret).unwrap()
    };
    let refused = |answer: Answer| answer.event.refused.map(|(failure, _)| failure);
    assert_eq!(
        refused(stage.answer(&forge(message.body.clone(), &other))),
        Some(Failure::NotAuthorized)
    );
    let (another, _) = body::Confirmation::accepting(0, stage.authority.root().der()).unwrap();
    assert_eq!(
        refused(stage.answer(&forge(another, &one))),
        Some(Failure::BadCertificateId)
    );
    assert_eq!(refused(stage.answer(&confirmation)), None);
    // Once more, and in new octets: it is confirmed.
    assert_eq!(refused(stage.answer(&confirmation)), None);
    assert_eq!(
        refused(stage.answer(&forge(message.body.clone(), &one))),
        Some(Failure::BadMessageCheck),
        "the invitation is closed"
    );
}

#[test]
fn a_certificate_that_its_receiver_refuses_is_revoked() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let invitation = stage.invite("gnb");
    let (mut requester, first) = begin(&invitation, fresh());
    let answer = stage.answer(&first).der;
    let Next::Store { confirmation, .. } = requester.receive(&answer, now()).unwrap() else {
        panic!("a confirmation is due");
    };
    let message = Message::read(&confirmation).unwrap();
    let draft = Draft {
        header: message.header.clone(),
        kind: kind::CONFIRMATION,
        body: encoding::sequence(&[]).unwrap(),
        certificates: Vec::new(),
    };
    let mac = crate::protection::PasswordMac::fresh().unwrap();
    let refusal = protection::authenticate(draft, &mac, invitation.reference(), invitation.secret().unwrap()).unwrap();
    let answer = stage.answer(&refusal);
    assert!(answer.event.refused.is_some());
    assert_eq!(stage.authority.show("gnb").unwrap().state, State::Abandoned);
}

/// It was refused as a request that is not known.
#[test]
fn an_error_of_the_requester_is_acknowledged_and_ends_its_transaction_alone() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let (one, other) = (stage.invite("one"), stage.invite("other"));
    let (mut requester, first) = begin(&one, fresh());
    let answer = stage.answer(&first);
    let serial = answer.event.serial.unwrap();
    let Next::Store { confirmation, .. } = requester.receive(&answer.der, now()).unwrap() else {
        panic!("a confirmation is due");
    };
    let message = Message::read(&confirmation).unwrap();
    let error = |invitation: &Invitation| {
        let status = Status::rejected(Failure::BadMessageCheck, "what is this?".to_owned());
        let draft = Draft {
            header: message.header.clone(),
            kind: kind::ERROR,
            body: body::error(&status).unwrap(),
            certificates: Vec::new(),
        };
        let mac = crate::protection::PasswordMac::fresh().unwrap();
        let secret = invitation.secret().unwrap();
        protection::authenticate(draft, &mac, invitation.reference(), secret).unwrap()
    };
    let refused = stage.answer(&error(&other));
    assert_eq!(Message::read(&refused.der).unwrap().kind, kind::ERROR);
    assert_eq!(stage.responder.transactions.len(), 1, "it is somebody else's");
    let acknowledged = stage.answer(&error(&one));
    assert_eq!(Message::read(&acknowledged.der).unwrap().kind, kind::ACKNOWLEDGED);
    let (_, why) = acknowledged.event.refused.unwrap();
    assert_eq!(
        why,
        "the requester ends the transaction: what is this? (badMessageCheck)"
    );
    assert_eq!(stage.responder.forget(now()), [serial], "nobody confirmed it");
    assert_eq!(stage.authority.show("one").unwrap().state, State::Issued);
    // The transaction is over, and its request may be made again.
    let refused = stage.answer(&confirmation).event.refused;
    assert_eq!(refused.map(|(failure, _)| failure), Some(Failure::BadRequest));
    assert_eq!(stage.answer(&first).event.serial, Some(serial));
}

#[test]
fn who_is_revoked_or_over_or_of_another_authority_updates_nothing() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let (held, key) = stage.enrol("gnb", Algorithm::Ed25519);
    let copy = || PrivateKey::from_pkcs8(key.to_pkcs8()).unwrap();
    let again = || Enrolled {
        chain: held.chain.clone(),
        roots: held.roots.clone(),
        unproven: Vec::new(),
    };
    let failure = |stage: &mut Stage, first: &[u8], now| {
        let answer = stage.answer_at(first, now);
        answer.event.refused.map(|(failure, _)| failure)
    };
    let (_, late) = update(again(), copy(), fresh());
    assert_eq!(
        failure(&mut stage, &late, now() + DAY * 31),
        Some(Failure::SignerNotTrusted)
    );
    let (_, same) = update(again(), copy(), copy());
    assert_eq!(failure(&mut stage, &same, now()), Some(Failure::BadTemplate));
    let serial = held.chain[0].serial().unwrap().to_string();
    stage
        .authority
        .revoke(&serial, bartizan_pki::Reason::KeyCompromise, now())
        .unwrap();
    let (_, revoked) = update(again(), copy(), fresh());
    assert_eq!(failure(&mut stage, &revoked, now()), Some(Failure::CertificateRevoked));
    let mut elsewhere = Stage::new(Algorithm::Ed25519);
    let (held, key) = elsewhere.enrol("gnb", Algorithm::Ed25519);
    let (_, foreign) = update(held, key, fresh());
    assert_eq!(failure(&mut stage, &foreign, now()), Some(Failure::SignerNotTrusted));
}

/// A network function under the same root answers in place of the authority.
#[test]
fn a_network_function_is_not_taken_for_the_authority() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let (held, key) = stage.enrol("gnb", Algorithm::Ed25519);
    let rogue = identity(&mut stage.authority, "rogue", Profile::NetworkFunction);
    stage.responder.replace_identity(rogue);
    let (mut requester, first) = update(held, key, fresh());
    let error = stage.run(&mut requester, first).unwrap_err();
    assert!(error.to_string().contains("id-kp-cmcRA"), "{error}");
}

/// Clients that decode by OpenSSL's BIO_f_base64 without BIO_FLAGS_BASE64_NO_NL read nothing of one long line.
#[test]
fn certificates_of_est_come_in_lines_of_base64() {
    let stage = Stage::new(Algorithm::MlDsa44);
    let published = stage.authority.published().unwrap();
    let body = crate::est::authority_certificates(&published.certificates).unwrap();
    assert!(body.len() > 4000 && body.lines().all(|line| line.len() <= 76));
    let der = data_encoding::BASE64_MIME.decode(body.as_bytes()).unwrap();
    let issuing = stage.authority.intermediate().unwrap().der();
    assert!(der.windows(issuing.len()).any(|octets| octets == issuing));
    // DER sorts the members of a SET OF (X.690, 11.6), whatever their order was.
    let mut reversed = published.certificates.to_vec();
    reversed.reverse();
    assert_eq!(crate::est::authority_certificates(&reversed).unwrap(), body);
}

#[test]
fn the_responders_certificate_is_renewed_by_no_request() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let own = stage.responder.identity().certificate().der().to_vec();
    let outcome = crate::est::enrol(
        &mut stage.authority,
        crate::est::Client::Certificate(&own),
        true,
        b"",
        now(),
    );
    assert_eq!(outcome.body.unwrap_err().0, Failure::SignerNotTrusted);
}

#[test]
fn transactions_are_forgotten_after_five_minutes_and_unconfirmed_ones_are_named() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let invitation = stage.invite("gnb");
    let (_, first) = begin(&invitation, fresh());
    let serial = stage.answer(&first).event.serial.unwrap();
    assert!(stage.responder.forget(now() + Duration::from_secs(300)).is_empty());
    // A message that is answered meanwhile drops what is over too.
    let late = now() + Duration::from_secs(301);
    stage.answer_at(b"", late);
    assert!(stage.responder.transactions.is_empty());
    assert_eq!(stage.responder.forget(late), [serial]);
    assert!(stage.responder.forget(late).is_empty());
}

/// Transactions of a clock that was ahead took all places until that time had come.
#[test]
fn transactions_that_began_in_the_future_are_forgotten() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let invitation = stage.invite("gnb");
    let (_, first) = begin(&invitation, fresh());
    let ahead = now() + DAY / 2;
    let serial = stage.answer_at(&first, ahead).event.serial.unwrap();
    // A clock that is set back a little ends no exchange.
    assert!(stage.responder.forget(ahead - Duration::from_secs(2)).is_empty());
    assert_eq!(stage.responder.forget(now()), [serial]);
    assert!(stage.responder.transactions.is_empty());
}

#[test]
fn many_transactions_are_bounded() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let ask = |stage: &mut Stage, invitation: &Invitation, key: &PrivateKey| {
        let copy = PrivateKey::from_pkcs8(key.to_pkcs8()).unwrap();
        let (_, first) = begin(invitation, copy);
        stage.answer(&first)
    };
    for at in 0..MOST / OF_A_NAME {
        let (invitation, key) = (stage.invite(&format!("gnb{at}")), fresh());
        // One requester has its share, however often it asks.
        let more = usize::from(at == 0) * 3;
        for _ in 0..OF_A_NAME + more {
            assert_eq!(ask(&mut stage, &invitation, &key).event.refused, None);
        }
        assert_eq!(stage.responder.transactions.len(), (at + 1) * OF_A_NAME);
    }
    let (invitation, key) = (stage.invite("gnb"), fresh());
    let (_, first) = begin(&invitation, key);
    let refused = stage.answer(&first).event.refused.map(|(failure, _)| failure);
    assert_eq!(refused, Some(Failure::Unavailable));
    assert_eq!(stage.responder.transactions.len(), MOST);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A message that was changed on the way, whatever the change, issues nothing, and neither end
    /// fails.
    #[test]
    fn a_message_that_was_changed_gets_nothing(at: prop::sample::Index, octet: u8) {
        let mut stage = Stage::new(Algorithm::Ed25519);
        let invitation = stage.invite("gnb");
        let (mut requester, mut first) = begin(&invitation, fresh());
        let at = at.index(first.len());
        prop_assume!(first[at] != octet);
        first[at] = octet;
        let answer = stage.answer(&first);
        prop_assert!(answer.event.refused.is_some());
        prop_assert!(stage.authority.show("gnb").is_err());
        prop_assert!(requester.receive(&answer.der, now()).is_err());
    }

    #[test]
    fn an_answer_that_was_changed_is_not_taken(at: prop::sample::Index, octet: u8) {
        let mut stage = Stage::new(Algorithm::Ed25519);
        let invitation = stage.invite("gnb");
        let (mut requester, first) = begin(&invitation, fresh());
        let mut answer = stage.answer(&first).der;
        // Certificates stand outside what is protected: the way to the root is found without them, or not.
        let protected = answer.len() - Message::read(&answer).unwrap().certificates.concat().len() - 8;
        let at = at.index(protected);
        prop_assume!(answer[at] != octet);
        answer[at] = octet;
        prop_assert!(requester.receive(&answer, now()).is_err());
    }

    /// A sender that is entitled and malicious: anything may stand in a body that is protected as
    /// it should be. There is always an answer, and a certificate is for a key whose owner asked.
    #[test]
    fn any_body_of_somebody_who_is_known_is_answered(
        kind in prop::sample::select(vec![0_u32, 2, 4, 7, 11, 19, 21, 23, 24, 25]),
        of in 0_usize..8,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..4), 0..4),
        by_certificate: bool,
    ) {
        let mut stage = Stage::new(Algorithm::Ed25519);
        let invitation = stage.invite("gnb");
        let asked = fresh();
        let (held, key) = stage.enrol("holder", Algorithm::Ed25519);
        let serial = held.chain[0].serial().unwrap();
        let (issuer, number) = body::issuer_and_serial(held.chain[0].der()).unwrap();
        let number = encoding::element(encoding::context(1, false), &number).unwrap();
        let mut bytes = match of {
            0 => crate::request::write("gnb", &asked, None).unwrap(),
            1 => crate::request::write("gnb", &asked, Some((&issuer, serial.as_bytes()))).unwrap(),
            2 => encoding::sequence(&[&encoding::sequence(&[&encoding::sequence(&[&number]).unwrap()]).unwrap()]).unwrap(),
            3 => body::Confirmation::accepting(0, held.chain[0].der()).unwrap().0,
            4 => encoding::sequence(&[&encoding::sequence(&[
                &der::Encode::to_der(&crate::oid::CA_CERTIFICATES).unwrap(),
            ]).unwrap()]).unwrap(),
            5 => asking(crate::oid::ROOT_CERTIFICATE, stage.authority.root().der()),
            6 => asking(crate::oid::LIST_STATUS, &known_lists(&body::subject(stage.authority.root().der()).unwrap())),
            _ => Vec::new(),
        };
        change(&mut bytes, &changes);
        let draft = Draft {
            header: Header {
                version: 2,
                sender: header::nobody().unwrap(),
                recipient: header::nobody().unwrap(),
                time: None,
                protection: None,
                sender_key: None,
                transaction: Some(vec![7; 16]),
                sender_nonce: Some(vec![8; 16]),
                recipient_nonce: None,
                implicit_confirm: true,
            },
            kind,
            body: bytes,
            certificates: Vec::new(),
        };
        let message = if by_certificate {
            Identity::new(key, held.chain).unwrap().sign(draft).unwrap()
        } else {
            let mac = crate::protection::PasswordMac::fresh().unwrap();
            protection::authenticate(draft, &mac, invitation.reference(), invitation.secret().unwrap()).unwrap()
        };
        let answer = stage.answer(&message);
        prop_assert!(Message::read(&answer.der).is_ok());
        if let (Some(serial), 0 | 2 | 4 | 7) = (answer.event.serial, kind) {
            let issued = stage.authority.show(&serial.to_string()).unwrap();
            prop_assert_eq!(issued.certificate.public_key(), asked.public_key());
        }
    }

    /// An authority that is malicious: what it protects as it should is taken as a certificate only
    /// if it is one, for the key and under the root.
    #[test]
    fn any_body_of_the_authority_is_taken_for_what_it_is(
        kind in prop::sample::select(vec![1_u32, 3, 8, 19, 23, 24]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..4), 0..3),
    ) {
        let mut stage = Stage::new(Algorithm::Ed25519);
        let invitation = stage.invite("gnb");
        let (mut requester, first) = begin(&invitation, fresh());
        let answer = Message::read(&stage.answer(&first).der).unwrap();
        let mut bytes = answer.body.clone();
        change(&mut bytes, &changes);
        let draft = Draft {
            header: answer.header.clone(),
            kind,
            body: bytes.clone(),
            certificates: answer.certificates.clone(),
        };
        let mac = crate::protection::PasswordMac::fresh().unwrap();
        let message = protection::authenticate(draft, &mac, invitation.reference(), invitation.secret().unwrap()).unwrap();
        let taken = matches!(requester.receive(&message, now()), Ok(Next::Store { .. }));
        let whole = body::CertificateAnswer::read(answer.content().unwrap()).unwrap().certificate;
        let now_there = der::Decode::from_der(&bytes)
            .ok()
            .and_then(|element| body::CertificateAnswer::read(element).ok())
            .and_then(|read| read.certificate);
        prop_assert!(!taken || (kind == 1 && whole == now_there), "another certificate was taken");
        if changes.is_empty() {
            prop_assert_eq!(taken, kind == 1);
        }
    }

    /// The same of what a question for its certificates is answered by.
    #[test]
    fn any_answer_to_a_question_is_read_or_refused(
        kind in prop::sample::select(vec![22_u32, 1, 19, 23]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..4), 0..3),
    ) {
        let mut stage = Stage::new(Algorithm::Ed25519);
        let (held, key) = stage.enrol("gnb", Algorithm::Ed25519);
        let (trust, identity) = (Trust::new(held.roots), Identity::new(key, held.chain).unwrap());
        let (inquiry, question) = Inquiry::begin(&identity, trust, now()).unwrap();
        let answer = Message::read(&stage.answer(&question).der).unwrap();
        let mut bytes = answer.body.clone();
        change(&mut bytes, &changes);
        let (header, certificates) = (answer.header.clone(), answer.certificates.clone());
        let draft = Draft { header, kind, body: bytes, certificates };
        let message = stage.responder.identity().sign(draft).unwrap();
        let given = inquiry.receive(&message, now());
        prop_assert!(kind == 22 || given.is_err());
        if changes.is_empty() && kind == 22 {
            prop_assert_eq!(given.unwrap().len(), 2);
        }
    }
}

#[test]
fn an_answer_of_somebody_else_or_to_another_question_is_not_taken() {
    let mut stage = Stage::new(Algorithm::Ed25519);
    let mut other = Stage::new(Algorithm::Ed25519);
    let (held, key) = stage.enrol("gnb", Algorithm::Ed25519);
    let identity = Identity::new(key, held.chain).unwrap();
    let ask = || Inquiry::begin(&identity, Trust::new(held.roots.clone()), now()).unwrap();
    let ((one, question), (two, _)) = (ask(), ask());
    let answer = stage.answer(&question).der;
    assert_eq!(one.receive(&answer, now()).unwrap().len(), 2);
    assert!(matches!(two.receive(&answer, now()), Err(Error::Untrusted(_))));
    let (three, question) = ask();
    assert!(matches!(
        three.receive(&other.answer(&question).der, now()),
        Err(Error::Untrusted(_))
    ));
}
