//! Posture of a QUIC connection: TLS 1.3, with both hellos in Initial packets, whose keys are
//! public (RFC 9001).

use bartizan_ledger::{Direction, Verdict as PolicyVerdict};
use bartizan_registry::{NamedGroup, SCTP_OVER_QUIC, Safety, quic_version};
use bartizan_wire::Side;
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::quic::Quic;
use bartizan_wire::tls::Version;

use crate::authenticity::{End, both, by_keys, by_offer, by_records, recorded_scheme, refused_by_records};
use crate::datagrams::{all, uniform};
use crate::established::Progress;
use crate::evidence::{CLOCKS, carried, disputed};
use crate::ledgers::Entry;
use crate::negotiation::{Hellos, group_safety};
use crate::{Answer, Contradiction, Interface, Judgement, Kind, Ledgers, Posture, Reply, Source, Verdict, questions};

/// Ledger records of the handshake with this connection's client random, as far as its time allows.
fn recorded<'a>(datagrams: &Datagrams, quic: &Quic, ledgers: &'a Ledgers) -> Vec<&'a Entry> {
    let Some(hello) = &quic.tls.client_hello else {
        return Vec::new();
    };
    let [first, last] = [datagrams.first, datagrams.last].map(|at| at.time.0 / 1000);
    let at_its_time =
        |entry: &&Entry| entry.at_us.saturating_add(CLOCKS) >= first && entry.at_us <= last.saturating_add(CLOCKS);
    ledgers.of(&hello.value.random).iter().filter(at_its_time).collect()
}

/// The interface whose SCTP associations this connection carries between two gateways, by ALPN and the ledgers of its ends.
pub(crate) fn interface(datagrams: &Datagrams, ledgers: &Ledgers) -> Option<Interface> {
    let quic = datagrams.quic.as_deref()?;
    let offered = &quic.tls.client_hello.as_ref()?.value.alpn;
    if !offered.iter().any(|name| name == SCTP_OVER_QUIC) {
        return None;
    }
    carried(recorded(datagrams, quic, ledgers).into_iter())
}

/// Judges a QUIC connection.
pub(crate) fn quic_posture(datagrams: &Datagrams, quic: &Quic, ledgers: &Ledgers) -> Posture {
    let entries = recorded(datagrams, quic, ledgers);
    let Some(server) = &quic.tls.server_hello else {
        return unseen(datagrams, quic);
    };
    let source = vec![Source::seen(server)];
    // A message in CRYPTO frames from their beginning is the first: nothing before it can be missing.
    let (first, retry) = (quic.tls.client_hello.as_ref(), quic.tls.hello_retry_request.as_ref());
    let hellos = Hellos::new(first, retry, quic.tls.second_client_hello.as_ref(), server, true);
    let mut confidentiality = match server.value.version {
        Version::TLS13 => hellos.judge(),
        other => {
            let because = format!("version {other} negotiated in QUIC, which has TLS 1.3 only");
            Judgement::new(Verdict::NotObservable, because, source.clone())
        }
    };
    let mut doubts = doubts(quic);
    doubts.extend(hellos.contradicted().map(|judgement| Contradiction {
        what: judgement.because().to_owned(),
        sources: judgement.sources().to_vec(),
    }));
    if confidentiality.verdict() == Verdict::QuantumSafe
        && let Some(doubt) = doubts.first()
    {
        let sources = [&doubt.sources[..], &source].concat();
        confidentiality = Judgement::new(Verdict::NotObservable, doubt.what.clone(), sources);
    }
    // An end sends packets with a short header once it has the other's Finished, and a server also before.
    let finished = quic.short.iter().all(|packets| *packets > 0);
    let refused = match &quic.closed {
        Some(closed) if !finished && quic.early_data.is_none() => {
            let because = format!("not established: refused ({})", closed.value);
            Some(Judgement::new(Verdict::NotSeen, because, vec![Source::seen(closed)]))
        }
        _ => None,
    };
    // A server records what it accepted behind the client's Finished.
    let served = |entry: &&Entry| {
        entry.handshake.direction == Direction::Inbound
            && !matches!(entry.handshake.verdict, PolicyVerdict::Refused { .. })
    };
    if !(finished && quic.answered || entries.iter().any(served)) {
        confidentiality = Progress::NotSeen.limits(confidentiality);
    }
    let group = server.value.key_share.map(|share| share.group);
    let resumed = server.value.pre_shared_key.is_some();
    let (offered, preferred) = match first {
        Some(hello) => {
            let counts = quic.tls.second_client_hello.as_ref().unwrap_or(hello);
            (questions::offer(counts, Version::TLS13), questions::preference(counts))
        }
        None => {
            let reply = Reply::new(Answer::NotSeen, "the ClientHello is not in the capture", all(datagrams));
            (reply.clone(), reply)
        }
    };
    let safe = group.map(group_safety);
    let negotiated = match (hellos.contradicted(), group, safe) {
        (Some(judgement), _, _) => Reply::new(Answer::NotObservable, judgement.because(), judgement.sources().to_vec()),
        (None, Some(group), Some(Some(Safety::QuantumSafe))) => {
            Reply::new(Answer::Yes, group.to_string(), source.clone())
        }
        (None, Some(group), Some(Some(Safety::Vulnerable))) => {
            Reply::new(Answer::No, group.to_string(), source.clone())
        }
        (None, Some(group), _) => Reply::new(Answer::NotObservable, group.to_string(), source.clone()),
        (None, None, _) => Reply::new(Answer::NotObservable, confidentiality.because(), source.clone()),
    };
    let stayed = match (negotiated.answer(), resumed) {
        (Answer::Yes, false) => "one handshake for its whole life: QUIC has no renegotiation",
        (Answer::Yes, true) => "resumed with a new post-quantum exchange",
        (Answer::No, false) => "it was not post-quantum from the start",
        (Answer::No, true) => "resumed with a new classical exchange",
        _ => "resumed without a key exchange, or with one that is not known",
    };
    let stayed = Reply::new(negotiated.answer(), stayed, source.clone());
    let hidden = if resumed {
        "resumed: authenticated by an earlier handshake that no ledger tells of"
    } else {
        "TLS 1.3 encrypts certificates, and no ledger tells of this handshake"
    };
    let end = |side| {
        let offer = || first.filter(|_| side == Side::Server && !resumed).and_then(by_offer);
        by_keys(&quic.tls, side)
            .or_else(|| by_records(&entries, recorded_scheme(entries.iter().copied(), side), side))
            .or_else(offer)
            .unwrap_or_else(|| End::new(Answer::NotObservable, Verdict::NotObservable, hidden, source.clone()))
    };
    let (server_end, client_end) = (end(Side::Server), end(Side::Client));
    let sent = [datagrams.from_client.bytes, datagrams.from_server.bytes];
    let authenticity =
        refused_by_records(&entries, sent).unwrap_or_else(|| both(&server_end.judgement, &client_end.judgement));
    let contradicted = disputed(entries.iter().copied()).into_iter();
    let contradicted = contradicted.chain(differing(&entries, group, &source));
    if let Some(refused) = refused {
        let reply = Reply::new(Answer::NotSeen, refused.because(), refused.sources().to_vec());
        let clear = Reply::new(Answer::No, "QUIC encrypts all but its first packets", all(datagrams));
        return Posture {
            offered,
            preferred,
            in_ledger: !entries.is_empty(),
            contradictions: doubts.into_iter().chain(wrong_keys(quic)).chain(contradicted).collect(),
            ..uniform(Kind::QuicNotAgreed, refused.clone(), refused, &reply, clear)
        };
    }
    let reply = |end: &End| {
        Reply::new(
            end.authenticated,
            end.judgement.because(),
            end.judgement.sources().to_vec(),
        )
    };
    Posture {
        group,
        offered,
        preferred,
        negotiated,
        stayed,
        server_authenticated: reply(&server_end),
        client_authenticated: reply(&client_end),
        clear: Reply::new(Answer::No, "QUIC encrypts all but its first packets", all(datagrams)),
        resumed,
        server_signature: recorded_scheme(entries.iter().copied(), Side::Server).map(|(scheme, _)| scheme),
        client_signature: recorded_scheme(entries.iter().copied(), Side::Client).map(|(scheme, _)| scheme),
        contradictions: doubts.into_iter().chain(wrong_keys(quic)).chain(contradicted).collect(),
        in_ledger: !entries.is_empty(),
        refused_by_size: finished && !quic.answered && !entries.iter().any(served),
        ..Posture::bare(Kind::Quic, confidentiality, authenticity)
    }
}

/// Records that name another group than the packets.
fn differing(entries: &[&Entry], group: Option<NamedGroup>, shown: &[Source]) -> Vec<Contradiction> {
    let differs = |entry: &&Entry| {
        let recorded = entry.handshake.negotiated.as_ref()?;
        let shows = group?;
        (recorded.group.code != shows.0).then(|| Contradiction {
            what: format!(
                "the ledger of {} says {}, and the packets show {shows}",
                entry.node(),
                recorded.group.name
            ),
            sources: [shown, &[entry.source()]].concat(),
        })
    };
    entries.iter().filter_map(differs).collect()
}

/// Keys that were given for this connection and are not its keys.
fn wrong_keys(quic: &Quic) -> impl Iterator<Item = Contradiction> {
    let wrong = quic.tls.opened.iter().flat_map(|opened| &opened.wrong);
    wrong.map(|seen| Contradiction {
        what: format!("the secret in {} does not open what it names", seen.value),
        sources: vec![Source::seen(seen)],
    })
}

/// Packets that contradict other packets.
fn doubts(quic: &Quic) -> Vec<Contradiction> {
    let mut doubts = Vec::new();
    if let Some(excess) = &quic.tls.excess_hello {
        doubts.push(Contradiction {
            what: format!(
                "two hellos of the {} where one is: which counts is not shown",
                excess.value
            ),
            sources: vec![Source::seen(excess)],
        });
    }
    if let Some(at) = quic.contradicted {
        doubts.push(Contradiction {
            what: "CRYPTO frames say different things of the same bytes: which of them counts is not shown".into(),
            sources: vec![Source::between(at, at)],
        });
    }
    if let (Some(at), Some(hello)) = (quic.early_data, &quic.tls.client_hello)
        && !hello.value.early_data
    {
        doubts.push(Contradiction {
            what: "early data that the ClientHello does not announce".into(),
            sources: vec![Source::seen(hello), Source::between(at, at)],
        });
    }
    doubts
}

/// Without a ServerHello: refused, never answered, or not in the capture.
fn unseen(datagrams: &Datagrams, quic: &Quic) -> Posture {
    let protected = quic.protected[0] + quic.protected[1];
    let hello = quic.tls.client_hello.as_ref();
    // An answer that is not in the capture may have been lost on its way to it.
    let refused = quic.closed.is_some() || quic.version_negotiation.is_some();
    let named = quic.version.and_then(quic_version);
    let (kind, verdict, because) = if protected == 0 && quic.opened > 0 && refused {
        let because = match &quic.closed {
            Some(closed) => format!("nothing was negotiated: {}", closed.value),
            None => "nothing was negotiated: the server wants another version".to_owned(),
        };
        (Kind::QuicNotAgreed, Verdict::NotSeen, because)
    } else if let (Some(version), None) = (quic.version, named) {
        let because = format!("QUIC of version 0x{version:08x}, whose handshake is not read");
        (Kind::QuicNotSeen, Verdict::NotObservable, because)
    } else if quic.unopened > 0 {
        let because = "Initial packets that could not be opened: what their keys follow from is not in the capture, or they are damaged";
        (Kind::QuicNotSeen, Verdict::NotSeen, because.to_owned())
    } else if hello.is_some() {
        let because = match protected {
            0 => "the server's answer is not in the capture".to_owned(),
            _ => format!("the ServerHello is not in the capture, and {protected} encrypted packets are"),
        };
        (Kind::QuicNotSeen, Verdict::NotSeen, because)
    } else {
        let because = "the Initial packets are not in the capture".to_owned();
        (Kind::QuicNotSeen, Verdict::NotSeen, because)
    };
    let judgement = Judgement::new(verdict, because.as_str(), all(datagrams));
    let answer = match verdict {
        Verdict::NotObservable => Answer::NotObservable,
        _ => Answer::NotSeen,
    };
    let posture = uniform(
        kind,
        judgement.clone(),
        judgement,
        &Reply::new(answer, because.as_str(), all(datagrams)),
        Reply::new(Answer::No, "QUIC encrypts all but its first packets", all(datagrams)),
    );
    match hello {
        Some(hello) => Posture {
            offered: questions::offer(hello, Version::TLS13),
            preferred: questions::preference(hello),
            ..posture
        },
        None => posture,
    }
}
