//! Confidentiality of TLS 1.3 by its hellos, over TCP, SCTP or UDP.
//!
//! A name from one end counts only if everything else that both ends said agrees with it. A group
//! without a key share of the group's length, an answer to something that the client did not offer,
//! or a second answer is no evidence of the exchange it names. No two ends that follow RFC 9846 go
//! on from there.

use bartizan_registry::{self as registry, CipherSuite, NamedGroup, Safety, TlsVersion};
use bartizan_wire::Seen;
use bartizan_wire::tls::{self, ClientHello, KeyShare, ServerHello, Version};

use crate::{Judged, Judgement, Source, Verdict};

/// Reason where no key exchange of its own took part.
const BY_PRE_SHARED_KEY: &str =
    "keyed by a pre-shared key alone: as safe as the handshake that made it, which is not shown here";
/// Reason where early data came first.
const BEHIND_EARLY_DATA: &str = "early data came before it, keyed by an earlier handshake that is not shown here";

impl Judgement {
    /// Returns true if it rests on keys of an earlier TLS handshake.
    #[must_use]
    pub fn is_by_earlier_keys(&self) -> bool {
        let because = self.because();
        [BY_PRE_SHARED_KEY, BEHIND_EARLY_DATA]
            .iter()
            .any(|reason| because.ends_with(reason))
    }
}

/// Both hellos, where there was one ClientHello; all four behind a HelloRetryRequest.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hellos<'a> {
    /// The first ClientHello; none where it is not in the capture, or may not be.
    first: Option<&'a Seen<ClientHello>>,
    retry: Option<&'a Seen<ServerHello>>,
    second: Option<&'a Seen<ClientHello>>,
    server: &'a Seen<ServerHello>,
}

impl<'a> Hellos<'a> {
    /// From these messages, as a reader recorded them. The HelloRetryRequest decides if `first` is
    /// the first ClientHello: one that came after it answers it. `begun` is true if nothing before
    /// `first` can be missing.
    pub(crate) fn new(
        first: Option<&'a Seen<ClientHello>>,
        retry: Option<&'a Seen<ServerHello>>,
        second: Option<&'a Seen<ClientHello>>,
        server: &'a Seen<ServerHello>,
        begun: bool,
    ) -> Self {
        let late = |hello: &Seen<ClientHello>| retry.is_some_and(|retry| hello.first.packet > retry.last.packet);
        match first {
            Some(hello) if second.is_none() && late(hello) => Self {
                first: None,
                retry,
                second: first,
                server,
            },
            _ => Self {
                // With one hello seen, of a connection whose beginning was not, another may have come before it.
                first: first.filter(|_| begun || retry.is_some()),
                retry,
                second: second.or(first.filter(|_| !begun && retry.is_none())),
                server,
            },
        }
    }

    /// The ClientHello that the ServerHello answers.
    fn answered(&self) -> Option<&'a Seen<ClientHello>> {
        match self.retry {
            Some(_) => self.second,
            None => self.first.or(self.second),
        }
    }

    /// Can a recorder read it with a quantum computer?
    pub(crate) fn judge(&self) -> Judgement {
        let (hello, sources) = (&self.server.value, vec![Source::seen(self.server)]);
        let suite = hello.cipher_suite;
        if tls::is_null_cipher(suite) {
            return Judgement::new(
                Verdict::ReadableNow,
                format!("sent unencrypted: cipher suite 0x{suite:04x} does not encrypt"),
                sources,
            );
        }
        let Some(share) = hello.key_share else {
            let because = if hello.pre_shared_key.is_some() {
                BY_PRE_SHARED_KEY
            } else {
                "the ServerHello names no key exchange"
            };
            return Judgement::new(Verdict::NotObservable, because, sources);
        };
        let judgement = by_group(share.group, sources);
        if judgement.verdict() != Verdict::QuantumSafe {
            return judgement;
        }
        self.contradicted()
            .or_else(|| self.unknown_suite())
            .or_else(|| self.early_data(share.group))
            .unwrap_or(judgement)
    }

    /// Contradiction of the post-quantum group in the ServerHello by other packets.
    pub(crate) fn contradicted(&self) -> Option<Judgement> {
        let share = self.server.value.key_share?;
        let known = registry::group(share.group).filter(|known| known.recording == Safety::QuantumSafe)?;
        let group = share.group;
        let mut sources = vec![Source::seen(self.server)];
        let because = if share.length != known.server_share {
            let (length, needed) = (share.length, known.server_share);
            format!("{group} is named in the ServerHello, with {length} bytes of key exchange data instead of {needed}")
        } else if let Some(fault) = share.fault {
            format!("{group} is named in the ServerHello, and the server's share is no key: {fault}")
        } else if let Some(asked) = self.retry.and_then(|retry| other_group(retry, group)) {
            sources.extend(self.retry.map(Source::seen));
            format!("{group} is named in the ServerHello, and the HelloRetryRequest asked for {asked}")
        } else {
            let answered = self.answered()?;
            sources.push(Source::seen(answered));
            let what = not_asked_for(&answered.value, &self.server.value, share, known.client_share)?;
            format!("{group} is named in the ServerHello, and {what}")
        };
        Some(Judgement::new(Verdict::NotObservable, because, sources))
    }

    /// An unknown cipher suite may not encrypt.
    fn unknown_suite(&self) -> Option<Judgement> {
        let because = unknown_suite(self.server.value.cipher_suite)?;
        Some(Judgement::new(
            Judged::UNKNOWN,
            because,
            vec![Source::seen(self.server)],
        ))
    }

    /// Effect of early data on a connection that is safe from its handshake on. Early data is keyed
    /// by an earlier handshake, even if the server rejects it. Only the first ClientHello shows
    /// that there is some.
    fn early_data(&self, group: NamedGroup) -> Option<Judgement> {
        let server = Source::seen(self.server);
        let Some(first) = self.first else {
            let because = if self.second.is_some() {
                format!("{group}, but what came before its ClientHello is not in the capture: early data may have")
            } else {
                format!("{group}, but the ClientHello is not in the capture: early data may have come before")
            };
            return Some(Judgement::new(Verdict::NotSeen, because, vec![server]));
        };
        behind_early_data(group, first, server)
    }
}

/// The judgement of a group where this ClientHello announces early data before it.
pub(crate) fn behind_early_data(group: NamedGroup, hello: &Seen<ClientHello>, named_by: Source) -> Option<Judgement> {
    hello.value.early_data.then(|| {
        let because = format!("{group}, but {BEHIND_EARLY_DATA}");
        Judgement::new(Verdict::NotObservable, because, vec![Source::seen(hello), named_by])
    })
}

/// The group that a HelloRetryRequest asks for, where it is another.
fn other_group(retry: &Seen<ServerHello>, group: NamedGroup) -> Option<NamedGroup> {
    let asked = retry.value.key_share?.group;
    (asked != group).then_some(asked)
}

/// Contradiction of a ClientHello to the answer to it; `length` is that of the client's share in
/// bytes. An Encrypted ClientHello, or a list too long to be kept, may have offered it: that is no
/// evidence that it did.
fn not_asked_for(hello: &ClientHello, answer: &ServerHello, share: KeyShare, length: u16) -> Option<String> {
    let hidden = if hello.encrypted_client_hello {
        ", as far as it is not encrypted"
    } else if hello.omitted > 0 {
        ", as far as it was kept"
    } else {
        ""
    };
    if !hello.offers_version(answer.version) {
        return Some(format!("the client does not offer {}{hidden}", answer.version));
    }
    if !hello.supported_groups.contains(&share.group) {
        return Some(format!("the client does not offer it{hidden}"));
    }
    if !hello.cipher_suites.contains(&answer.cipher_suite) {
        let suite = CipherSuite(answer.cipher_suite);
        return Some(format!("the client does not offer {suite}{hidden}"));
    }
    let mut sent = hello.key_shares.iter();
    match sent.find(|sent| sent.group == share.group) {
        None => Some(format!("the client sent no key share for it{hidden}")),
        Some(sent) if sent.length != length => {
            let sent = sent.length;
            Some(format!("the client sent {sent} bytes for it instead of {length}"))
        }
        Some(sent) => Some(format!("the client's share is no key: {}", sent.fault?)),
    }
}

/// Safety of a group against a recorder; none if the registry does not know it.
pub(crate) fn group_safety(group: NamedGroup) -> Option<Safety> {
    registry::group(group).map(|known| known.recording)
}

/// The reason why a suite may not encrypt what TLS 1.3 carries, where the registry does not say that it does.
pub(crate) fn unknown_suite(suite: u16) -> Option<String> {
    let suite = CipherSuite(suite);
    match registry::cipher(suite) {
        Some(known) if known.version == TlsVersion::Tls13 => None,
        Some(_) => Some(format!("cipher suite {suite} is none of TLS 1.3")),
        None => Some(format!("cipher suite {suite}, which the registry does not know")),
    }
}

/// Judges a group by its name alone.
pub(crate) fn by_group(group: NamedGroup, sources: Vec<Source>) -> Judgement {
    match group_safety(group) {
        Some(Safety::QuantumSafe) => Judgement::new(Verdict::QuantumSafe, format!("{group} negotiated"), sources),
        Some(Safety::Vulnerable) => Judgement::new(
            Judged::CLASSICAL,
            format!("{group} negotiated: a classical key exchange"),
            sources,
        ),
        None => Judgement::new(
            Judged::UNKNOWN,
            format!("group {group} negotiated, which the registry does not know"),
            sources,
        ),
    }
}

/// Returns true if a version has post-quantum groups.
pub(crate) fn has_post_quantum(version: Version) -> bool {
    matches!(version, Version::TLS13 | Version::DTLS13)
}
