//! Posture of protocols between stations: EAP and MKA at a port, MACsec, and the planes of the open
//! fronthaul.

use bartizan_registry::{Safety, macsec_suite};
use bartizan_wire::datagrams::{DatagramProtocol, Datagrams, Named, Port};
use bartizan_wire::eap::{Agreed, EAP_TLS, Eap, method_name};
use bartizan_wire::macsec::MacSec;
use bartizan_wire::mka::Mka;
use bartizan_wire::path::Encapsulation;
use bartizan_wire::tls::Version;
use bartizan_wire::{End, Moment};

use crate::datagrams::{all, uniform};
use crate::esp::nonces;
use crate::negotiation::group_safety;
use crate::{Answer, Contradiction, Evidence, Judged, Judgement, Kind, Ledgers, Posture, Reply, Source, Verdict};

/// The name of the open fronthaul's interface.
pub(crate) const FRONTHAUL: &str = "FH";

/// Judges the protocols that were seen at a port.
pub(crate) fn posture(datagrams: &Datagrams, port: &Port) -> Posture {
    match port {
        Port::Eap(eap) => eap_posture(datagrams, eap),
        Port::Mka(mka) => mka_posture(datagrams, mka),
        Port::MacSec(seen) => macsec_posture(datagrams, seen),
    }
}

/// The handshake of TLS in EAP is judged like any other: a reader of it has the keys that EAP
/// makes.
fn eap_posture(datagrams: &Datagrams, eap: &Eap) -> Posture {
    let span = [datagrams.first, datagrams.last];
    let Some(connection) = eap.as_connection(datagrams.number, span) else {
        return without_tls(datagrams, eap);
    };
    let ledgers = Ledgers::default();
    let mut posture = Evidence::new(&connection, &ledgers).posture();
    posture.kind = match posture.kind {
        Kind::TlsNotAgreed => Kind::EapTlsNotAgreed,
        Kind::TlsNotSeen => Kind::EapTlsNotSeen,
        _ => Kind::EapTls,
    };
    // In a tunnel of TLS a refusal comes behind what was said in it.
    if let (Some(at), None, [EAP_TLS]) = (eap.failure, eap.success, &eap.methods[..])
        && posture.kind == Kind::EapTls
        // A failure is not authenticated: it takes a good verdict away, and hides no bad one.
        && posture.confidentiality.verdict() == Verdict::QuantumSafe
    {
        let because = "not established: refused (EAP-Failure)";
        posture.kind = Kind::EapTlsNotAgreed;
        posture.confidentiality = Judgement::new(Verdict::NotSeen, because, vec![Source::between(at, at)]);
        posture.authenticity = posture.confidentiality.clone();
        posture.group = None;
    }
    if let Some(at) = eap.contradicted {
        let what = "a packet of EAP was sent again with other bytes: which of the two was taken is not shown";
        let sources = vec![Source::between(at, at)];
        if posture.confidentiality.verdict() == Verdict::QuantumSafe {
            posture.confidentiality = Judgement::new(Verdict::NotObservable, what, sources.clone());
        }
        posture.contradictions.push(Contradiction {
            what: what.into(),
            sources,
        });
    }
    posture
}

fn without_tls(datagrams: &Datagrams, eap: &Eap) -> Posture {
    let names: Vec<String> = eap
        .methods
        .iter()
        .map(|method| method_name(*method).map_or_else(|| format!("method {method}"), str::to_owned))
        .collect();
    let (kind, verdict, answer, because) = match names.is_empty() {
        true if eap.keys == 0 => (
            Kind::EapSilent,
            Verdict::NotSeen,
            Answer::NotSeen,
            "no method of EAP was seen".to_owned(),
        ),
        true => (
            Kind::Eap,
            Verdict::NotObservable,
            Answer::NotObservable,
            "keys of EAPOL, whose origin is not shown".to_owned(),
        ),
        false => (
            Kind::Eap,
            Verdict::NotObservable,
            Answer::NotObservable,
            format!("EAP with {}, which is not read", names.join(", ")),
        ),
    };
    same(datagrams, kind, verdict, answer, &because)
}

/// MKA is as strong as its CAK: a configured CAK is a pre-shared key, and after EAP it may come
/// from there.
fn mka_posture(datagrams: &Datagrams, mka: &Mka) -> Posture {
    let names = mka.ends.iter().flat_map(|end| &end.names);
    let mut names: Vec<String> = names.map(|(name, _)| name.to_string()).collect();
    names.sort_unstable();
    names.dedup();
    let under = match &names[..] {
        [] => String::new(),
        [one] => format!(" under CKN {one}"),
        several => format!(" under {} CKNs", several.len()),
    };
    let suite = mka.latest().map(|given| suite_name(given.suite));
    let suite = suite.map_or_else(String::new, |suite| format!(", {suite}"));
    let because = format!("MKA{under}{suite}: as safe as its CAK, whose origin it does not show");
    let withdrew = mka
        .ends
        .iter()
        .filter_map(|end| end.withdrew)
        .max_by_key(|at| at.packet);
    let because = match withdrew {
        Some(_) => format!("{because}; it took MACsec back, and frames go without it from then on"),
        None => because,
    };
    let mut posture = same(
        datagrams,
        Kind::Mka,
        Verdict::NotObservable,
        Answer::NotObservable,
        &because,
    );
    if let Some(at) = withdrew {
        let sources = vec![Source::between(at, at)];
        posture.confidentiality = Judgement::new(Verdict::NotObservable, because.as_str(), sources.clone());
        posture.clear = Reply::new(Answer::Yes, "MKA took MACsec back: frames go without it", sources);
        return posture;
    }
    posture.clear = Reply::new(Answer::No, "MKA wraps the keys that it carries", all(datagrams));
    posture
}

fn suite_name(suite: u64) -> String {
    macsec_suite(suite).map_or_else(|| format!("suite {suite:016x}"), |known| known.name.to_owned())
}

fn macsec_posture(datagrams: &Datagrams, seen: &MacSec) -> Posture {
    if let Some(at) = seen.first_readable.filter(|_| seen.is_readable()) {
        return readable(datagrams, seen, at);
    }
    let posture = encrypted(datagrams, seen);
    let (confidentiality, contradiction) = nonces(seen.reuses_nonce(), posture.confidentiality);
    Posture {
        confidentiality,
        contradictions: contradiction.into_iter().collect(),
        ..posture
    }
}

/// Frames that say they are encrypted, and show nothing against it.
fn encrypted(datagrams: &Datagrams, seen: &MacSec) -> Posture {
    if seen.irregular > 0 {
        let because =
            "MACsec that is changed without being encrypted, or encrypted without being changed, which is not read";
        return same(
            datagrams,
            Kind::MacSec,
            Verdict::NotObservable,
            Answer::NotObservable,
            because,
        );
    }
    let keying = seen.keying;
    let suite = keying.suite.map(suite_name);
    let suite = suite.map_or_else(String::new, |suite| format!(" with {suite}"));
    let offset = match keying.confidentiality_offset {
        Some(offset @ 1..) => format!("; the first {offset} octets of each frame are not encrypted"),
        _ => String::new(),
    };
    let (judged, answer, because) = match (keying.agreed, keying.eap) {
        (None, _) => (
            Verdict::NotObservable.into(),
            Answer::NotObservable,
            "MACsec whose keying is not in the capture".to_owned(),
        ),
        (Some(_), Some(agreed)) if is_classical(agreed) => (
            Judged::CLASSICAL,
            Answer::No,
            format!(
                "MACsec{suite}, keyed by MKA after EAP with {}: a classical key exchange",
                agreed_name(agreed)
            ),
        ),
        (Some(_), Some(agreed)) => (
            Verdict::NotObservable.into(),
            Answer::NotObservable,
            format!(
                "MACsec{suite}, keyed by MKA after EAP with {}: whether its CAK comes from there is not shown",
                agreed_name(agreed)
            ),
        ),
        (Some(_), None) => (
            Verdict::NotObservable.into(),
            Answer::NotObservable,
            format!("MACsec{suite}, keyed by MKA: its CAK is pre-shared or older than the capture"),
        ),
    };
    let because = format!("{because}{offset}");
    let confidentiality = Judgement::new(judged, because.as_str(), sources(datagrams, keying.agreed));
    let integrity = "MACsec authenticates its frames by the same keys";
    let authenticity = Judgement::new(Verdict::NotObservable, integrity, all(datagrams));
    let clear = match keying.confidentiality_offset {
        Some(1..) => Reply::new(Answer::Yes, "the first octets of each frame", all(datagrams)),
        _ => Reply::new(Answer::No, "MACsec says that all frames are encrypted", all(datagrams)),
    };
    let reply = Reply::new(answer, because.as_str(), all(datagrams));
    uniform(Kind::MacSec, confidentiality, authenticity, &reply, clear)
}

/// Frames that say they are encrypted, and are not.
fn readable(datagrams: &Datagrams, seen: &MacSec, at: Moment) -> Posture {
    let because = format!(
        "sent unencrypted: {} of {} frames of MACsec that say they are encrypted show headers",
        seen.readable, seen.looked
    );
    let confidentiality = Judgement::new(Verdict::ReadableNow, because.as_str(), vec![Source::between(at, at)]);
    let authenticity = Judgement::new(Verdict::NotObservable, because.as_str(), all(datagrams));
    let reply = Reply::new(Answer::No, because.as_str(), all(datagrams));
    let clear = Reply::new(Answer::Yes, because.as_str(), vec![Source::between(at, at)]);
    uniform(Kind::MacSec, confidentiality, authenticity, &reply, clear)
}

fn sources(datagrams: &Datagrams, agreed: Option<Moment>) -> Vec<Source> {
    let keyed = agreed.map(|at| Source::between(at, at));
    keyed.into_iter().chain(all(datagrams)).collect()
}

fn is_classical(agreed: Agreed) -> bool {
    match agreed.group {
        Some(group) => group_safety(group) == Some(Safety::Vulnerable),
        // No version before 1.3 has a post-quantum group.
        None => agreed.version < Version::TLS13,
    }
}

fn agreed_name(agreed: Agreed) -> String {
    match agreed.group {
        Some(group) => group.to_string(),
        None => agreed.version.to_string(),
    }
}

fn same(datagrams: &Datagrams, kind: Kind, verdict: Verdict, answer: Answer, because: &str) -> Posture {
    let judgement = Judgement::new(verdict, because, all(datagrams));
    let reply = Reply::new(answer, because, all(datagrams));
    uniform(kind, judgement.clone(), judgement, &reply, reply.clone())
}

/// Number of messages of each plane, by their types; none for a protocol that is not of the
/// fronthaul.
pub(crate) fn planes(datagrams: &Datagrams) -> Option<String> {
    type Plane = (&'static str, fn(u8) -> bool);
    /// Types of eCPRI (eCPRI 2.0, table 4; O-RAN.WG4.CUS, table 5.1.3.2.1-1).
    const ECPRI: [Plane; 4] = [
        ("C-plane", |kind| kind == 2),
        ("U-plane", |kind| kind <= 1),
        ("delay measurement", |kind| kind == 5),
        ("other", |kind| !matches!(kind, 0..=2 | 5)),
    ];
    /// Types of PTP (IEEE 1588, table 36): those that are timed are below 8.
    const PTP: [Plane; 2] = [
        ("S-plane, event", |kind| kind < 8),
        ("S-plane, general", |kind| kind >= 8),
    ];
    let planes: &[Plane] = match datagrams.protocol {
        DatagramProtocol::Named(Named::Ecpri) => &ECPRI,
        DatagramProtocol::Named(Named::Ptp) => &PTP,
        _ => return None,
    };
    let count = |of: fn(u8) -> bool| -> u64 {
        let types = datagrams.messages.types.iter();
        types
            .filter(|(kind, _)| of(*kind))
            .map(|(_, [ours, theirs])| ours + theirs)
            .sum()
    };
    let named = planes.iter().map(|(name, of)| (name, count(*of)));
    let named: Vec<String> = named
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    Some(named.join(", "))
}

/// The missing protection, in words.
pub(crate) fn protection(datagrams: &Datagrams) -> &'static str {
    match datagrams.client {
        End::Station(_) if is_authenticated(datagrams) => "in MACsec without encryption",
        End::Station(_) => "without MACsec",
        End::Socket(_) | End::Host(_) => "without IPsec",
    }
}

/// Returns true if frames between stations came in MACsec that authenticates and does not encrypt.
pub(crate) fn is_authenticated(datagrams: &Datagrams) -> bool {
    let in_macsec = |encapsulation| encapsulation == Encapsulation::MacSecUnencrypted;
    let mut layers = datagrams.path.layers().iter();
    matches!(datagrams.client, End::Station(_)) && layers.any(|layer| in_macsec(layer.encapsulation))
}
