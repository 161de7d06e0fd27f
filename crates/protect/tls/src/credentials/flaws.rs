//! Flaws of a node's own files although each of them can be read: its peers would find them, or no
//! check would.

use std::time::{SystemTime, UNIX_EPOCH};

use bartizan_deployment::{Policy, Revocation, day_of};
use bartizan_pki::{Unknown, Untrusted, no_current_root};
use rustls::pki_types::{SignatureVerificationAlgorithm, UnixTime};
use webpki::{EndEntityCert, KeyUsage, RevocationOptionsBuilder};

use super::{Credentials, OwnCertificate, RevocationList};
use crate::proven::{Proven, Remembering};
use crate::terms::names;
use crate::{Peer, verify};

/// Something that is wrong with a node's own files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    /// The file it is in.
    pub place: String,
    /// The flaw in a sentence.
    pub cause: String,
    /// Advice for the operator.
    pub hint: String,
    /// Consequence for handshakes.
    pub weight: Weight,
}

/// Consequence of a flaw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Weight {
    /// No handshake succeeds.
    Fatal,
    /// No handshake succeeds unless the peers trust other roots than this node; one that does shows that they do.
    FatalAmongEquals,
    /// No handshake with this certificate succeeds. Those with another one of the node do.
    Partial,
    /// Handshakes succeed, and protect less than it seems.
    Warning,
}

impl Credentials {
    /// Flaws of these files at this time, for a node with these peers, the most severe first.
    #[must_use]
    pub fn flaws(&self, peers: &[Peer], now: SystemTime) -> Vec<Flaw> {
        self.flaws_remembering(peers, now, &Proven::default())
    }

    /// The same with signatures that need not be verified again.
    pub(crate) fn flaws_remembering(&self, peers: &[Peer], now: SystemTime, proven: &Proven) -> Vec<Flaw> {
        let mut flaws = Vec::new();
        if let Some((cause, hint)) = no_current_root(&self.anchors.validities(), now) {
            flaws.push(flaw(&self.roots_place, Weight::Fatal, cause, hint));
        }
        flaws.extend(self.of_own(peers, now, proven));
        let not_authorities = self.not_authorities.iter();
        flaws.extend(not_authorities.map(|subject| {
            let cause = format!("{subject} is no authority's certificate: it is not trusted as one");
            flaw(
                &self.roots_place,
                Weight::Warning,
                cause,
                "list roots of your CAs alone",
            )
        }));
        flaws.extend(self.of_lists(peers, now));
        for open in self.own.iter().filter_map(|own| own.of_folder.as_ref()) {
            if !flaws.contains(open) {
                flaws.push(open.clone());
            }
        }
        // Lists that are all of authorities unknown here are reported already.
        let given = self.lists.in_effect.iter().filter(|list| list.is_given).count();
        let unknown = self.lists.unknown.iter().filter(|_| self.lists.unknown.len() < given);
        flaws.extend(unknown.map(|unknown| flaw(&self.crl_place, Weight::Warning, unknown.to_string(), Unknown::HINT)));
        flaws.extend(self.lists.older.iter().map(|older| {
            let hint = "put the newest list there: `bartizan ca crl`; an authority that was restored from a backup has to count on from its \
                        last number";
            flaw(&self.crl_place, Weight::Warning, older.to_string(), hint)
        }));
        flaws.sort_by_key(|flaw| flaw.weight as u8);
        flaws
    }

    /// Flaws of the node's certificates that a policy accepts now. The others are not shown to a
    /// peer.
    fn of_own(&self, peers: &[Peer], now: SystemTime, proven: &Proven) -> Vec<Flaw> {
        let in_use: Vec<_> = self.in_use(peers, now).collect();
        let flaws_of = |own: &&OwnCertificate| self.of_certificate(own, now, proven);
        let mut all: Vec<Vec<Flaw>> = in_use.iter().map(flaws_of).collect();
        if all.is_empty() {
            let schemes: Vec<_> = self.own.iter().map(OwnCertificate::scheme).collect();
            let cause = format!("signs by {}, which no policy of a peer accepts now", names(&schemes));
            let hint = "`bartizan check core.yaml --node NAME` shows what each policy accepts; an exception that has ended accepts no classical certificate";
            return vec![flaw(&self.own[0].place, Weight::Fatal, cause, hint)];
        }
        let today = day_of(now);
        let policies: Vec<_> = peers.iter().map(|peer| peer.policy.in_effect(today)).collect();
        let suits = |own: &OwnCertificate, policy: &Policy| own.suits(&policy.signatures, &policy.chain_signatures);
        let is_sound = |flaws: &[Flaw]| flaws.iter().all(|flaw| flaw.weight == Weight::Warning);
        let sound = in_use.iter().zip(&all).filter(|(_, flaws)| is_sound(flaws));
        let sound: Vec<_> = sound.map(|(own, _)| *own).collect();
        for (own, flaws) in in_use.iter().zip(&mut all) {
            // A handshake shows one within its dates where the policy accepts one.
            let is_current = own.not_before() <= now && now <= own.not_after();
            let mut suited = policies.iter().filter(|policy| suits(own, policy));
            let replaced = suited.all(|policy| sound.iter().any(|other| suits(other, policy)));
            if !is_current && replaced && !sound.is_empty() {
                for flaw in flaws {
                    flaw.weight = flaw.weight.max(Weight::Partial);
                }
            }
        }
        all.into_iter().flatten().collect()
    }

    fn of_certificate(&self, own: &OwnCertificate, now: SystemTime, proven: &Proven) -> Vec<Flaw> {
        let mut flaws = Vec::new();
        let (begins, ends) = (own.not_before(), own.not_after());
        if ends < now {
            let cause = format!("ended with {}: every peer refuses it", day_of(ends));
            let hint = format!(
                "compare the clocks of this host and of its peers, then renew it: {}",
                own.renewal()
            );
            flaws.push(flaw(&own.place, Weight::Fatal, cause, &hint));
        } else if now < begins {
            let cause = format!("begins with {}: every peer refuses it until then", day_of(begins));
            let hint = format!(
                "compare the clocks of this host and of its authority, or issue one that has begun: {}",
                own.renewal()
            );
            flaws.push(flaw(&own.place, Weight::Fatal, cause, &hint));
        }
        let at = now.min(ends).max(begins);
        match self.verify_own(own, at, proven) {
            Ok(()) => {}
            Err(Untrusted::Path(error)) => flaws.extend(self.own_path(own, error)),
            // That no root is current is said once.
            Err(Untrusted::RootOutsideDates) if no_current_root(&self.anchors.validities(), at).is_some() => {}
            Err(Untrusted::RootOutsideDates) => flaws.push(flaw(
                &self.roots_place,
                Weight::FatalAmongEquals,
                format!(
                    "the root that the chain in {} leads to is outside its dates: peers refuse this node",
                    &own.place
                ),
                &format!("issue a certificate under a root that is current: {}", own.renewal()),
            )),
        }
        flaws
    }

    /// Flaw by which a peer with the same roots and lists refuses this node's chain, dates aside.
    fn own_path(&self, own: &OwnCertificate, error: webpki::Error) -> Option<Flaw> {
        let flaw = |place: &str, weight, cause, hint: &str| Some(flaw(place, weight, cause, hint));
        match error {
            // Dates are looked at elsewhere; what a certificate is for is judged by who is asked for it.
            webpki::Error::CertExpired { .. }
            | webpki::Error::CertNotValidYet { .. }
            | webpki::Error::RequiredEkuNotFoundContext(_) => None,
            webpki::Error::CertRevoked => flaw(
                &self.crl_place,
                Weight::Fatal,
                format!(
                    "has revoked this node's own certificate, in {}: every peer that has the list refuses it",
                    &own.place
                ),
                "issue a new key and certificate: `bartizan ca issue --dns NAME`",
            ),
            webpki::Error::InvalidCrlSignatureForPublicKey | webpki::Error::IssuerNotCrlSigner => flaw(
                &self.crl_place,
                Weight::Fatal,
                format!("holds a list in the name of this node's own authority that it has not signed: {error}"),
                "give the list as its authority wrote it: `bartizan ca crl`",
            ),
            _ => flaw(
                &self.roots_place,
                Weight::FatalAmongEquals,
                format!(
                    "holds no root that the chain in {} leads to: peers with the same roots refuse this node, and it refuses them",
                    &own.place
                ),
                "give the root of this node's own authority, and any intermediate behind the certificate",
            ),
        }
    }

    fn verify_own(&self, own: &OwnCertificate, at: SystemTime, proven: &Proven) -> Result<(), Untrusted> {
        let leaf = own.certified.cert.split_first().ok_or(webpki::Error::BadDer);
        let (leaf, between) = leaf.map_err(Untrusted::Path)?;
        let leaf = EndEntityCert::try_from(leaf).map_err(Untrusted::Path)?;
        let lists: Vec<_> = self.lists.in_effect.iter().map(RevocationList::verifiable).collect();
        let revocation = RevocationOptionsBuilder::new(&lists).ok();
        let signed_with = own.signed_with().iter().flatten();
        let remembering: Vec<_> = signed_with.filter_map(|&code| Remembering::new(code, proven)).collect();
        let algorithms = remembering.iter().map(|one| one as &dyn SignatureVerificationAlgorithm);
        let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.anchors.verify(
            &leaf,
            &algorithms.collect::<Vec<_>>(),
            between,
            UnixTime::since_unix_epoch(since),
            KeyUsage::client_auth(),
            revocation.map(|builder| verify::checked(builder, Revocation::IfPresent)),
        )
    }

    fn of_lists(&self, peers: &[Peer], now: SystemTime) -> Option<Flaw> {
        let requires = |peer: &&Peer| peer.policy.revocation == Revocation::Require;
        let required = peers.iter().find(requires);
        let weight = if required.is_some() && peers.iter().all(|peer| requires(&peer)) {
            Weight::Fatal
        } else {
            Weight::Warning
        };
        // Start of the report: with a policy that requires a list, the peer that it concerns.
        let follows = |without: &str| match required {
            Some(peer) => format!(
                "{} to {} requires one: no peer is accepted",
                peer.interface.name(),
                peer.node
            ),
            None => without.to_owned(),
        };
        let flaw = |place: &str, weight, cause, hint: &str| Some(flaw(place, weight, cause, hint));
        if self.lists.in_effect.is_empty() {
            return flaw(
                "trust.crl",
                weight,
                format!(
                    "names no revocation list: {}",
                    follows("a certificate that was revoked is accepted until it ends")
                ),
                "write one with `bartizan ca crl` and name it: `trust: { crl: FILE }`",
            );
        }
        let given: Vec<_> = self.lists.in_effect.iter().filter(|list| list.is_given).collect();
        let known: Vec<_> = self.lists.in_effect.iter().filter(|list| self.knows(list)).collect();
        if known.is_empty() {
            let issuers: Vec<_> = given.iter().map(|list| list.list.issuer()).collect();
            let cause = format!(
                "is of {}, and no authority that is trusted here: {}",
                issuers.join(" and "),
                follows("it says nothing")
            );
            let hint = "give the lists of the authorities that issue this network's certificates: `bartizan ca crl`";
            return flaw(&self.crl_place, weight, cause, hint);
        }
        // Those of issuers of before too: their certificates are valid until they end.
        let is_late = |list: &&&RevocationList| list.list.is_overdue(now) || list.list.is_of_the_future(now);
        let late = given.iter().copied().find(|list| is_late(&list))?;
        let (issuer, hint) = (late.list.issuer(), "publish a new one: `bartizan ca crl`");
        let weight = match known.iter().all(|list| is_late(&list)) {
            true => weight,
            false => Weight::Warning,
        };
        let follows = |without: &str| match (required, weight) {
            (Some(_), Weight::Warning) => {
                "no peer whose certificate it has issued is accepted where a list is required".to_owned()
            }
            _ => follows(without),
        };
        if late.list.is_of_the_future(now) {
            let begins = day_of(late.list.this_update());
            let cause = format!(
                "has a list of {issuer} that is signed on {begins}, which is to come: {}",
                follows("it is not current")
            );
            return flaw(
                &self.crl_place,
                weight,
                cause,
                "compare the clocks of this host and of its authority; then `bartizan ca crl`",
            );
        }
        let due = late.list.next_update().map(|due| day_of(due).to_string());
        let which = match weight == Weight::Warning && given.len() > 1 {
            true => format!(", the list of {issuer}"),
            false => String::new(),
        };
        let cause = format!(
            "was due to be replaced by {}{which}: {}",
            due.unwrap_or_default(),
            follows("what was revoked since is not known here")
        );
        flaw(&self.crl_place, weight, cause, hint)
    }

    /// Returns true if a list is of a root, or of an authority on the way from this node's own
    /// certificate to one.
    fn knows(&self, list: &RevocationList) -> bool {
        let issuer = list.verifiable().issuer();
        self.anchors
            .all()
            .iter()
            .any(|anchor| anchor.subject.as_ref() == issuer)
            || self
                .own
                .iter()
                .flat_map(|own| &own.certified.cert)
                .any(|der| EndEntityCert::try_from(der).is_ok_and(|own| own.issuer() == issuer))
    }
}

fn flaw(place: &str, weight: Weight, cause: String, hint: &str) -> Flaw {
    Flaw {
        place: place.to_owned(),
        cause,
        hint: hint.to_owned(),
        weight,
    }
}
