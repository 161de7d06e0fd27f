//! Posture of an SSH connection. Both ends list their algorithms in plaintext, so the negotiated
//! ones follow; the server's key and signature are unencrypted too. The client's authentication,
//! and key exchanges after the first, are not visible.

use bartizan_registry::{SSH_NO_CIPHER, Safety, ssh_cipher, ssh_key_exchange, ssh_public_key};
use bartizan_wire::sctp::Association;
use bartizan_wire::ssh::{Sent, Ssh};
use bartizan_wire::{Connection, Ending, Side};

use crate::{Answer, Judged, Judgement, Kind, Posture, Reply, Source, Verdict, spread};

/// Transport that carries SSH.
pub(crate) struct Transport {
    packets: Source,
    /// It ended, or was reset, within the capture.
    ended: bool,
    /// Bytes of it are missing from the capture.
    incomplete: bool,
}

impl From<&Connection> for Transport {
    fn from(connection: &Connection) -> Self {
        Self {
            packets: Source::all(connection),
            ended: is_over(connection.ending),
            incomplete: connection.from_client.stream.unseen + connection.from_server.stream.unseen > 0,
        }
    }
}

impl From<&Association> for Transport {
    fn from(association: &Association) -> Self {
        let sent = [&association.from_initiator, &association.from_responder];
        Self {
            packets: Source::between(association.first, association.last),
            ended: is_over(association.ending),
            incomplete: sent.iter().any(|sent| sent.missing + sent.unread > 0),
        }
    }
}

fn is_over(ending: Ending) -> bool {
    matches!(ending, Ending::Closed | Ending::Reset)
}

/// Judges SSH over this transport.
pub(crate) fn posture(transport: &Transport, ssh: &Ssh) -> Posture {
    let all = vec![transport.packets.clone()];
    let kind = kind(transport, ssh);
    let confidentiality = match kind {
        Kind::Ssh => confidentiality(ssh, &all),
        Kind::SshNotAgreed => Judgement::new(Verdict::NotSeen, not_agreed(ssh), all.clone()),
        _ => Judgement::new(
            Verdict::NotSeen,
            "the key exchange is missing from the capture",
            all.clone(),
        ),
    };
    let (server, authenticity) = match kind {
        Kind::Ssh => authenticity(ssh, &confidentiality, &all),
        _ => {
            let answer = Reply::new(Answer::NotSeen, confidentiality.because(), all.clone());
            (answer, confidentiality.clone())
        }
    };
    let client = match kind {
        Kind::Ssh => Reply::new(Answer::NotObservable, CLIENT, all.clone()),
        _ => server.clone(),
    };
    let (offered, preferred) = offer(ssh, &all);
    let mut posture = Posture {
        ssh_key_exchange: (kind == Kind::Ssh)
            .then(|| ssh.key_exchange().map(str::to_owned))
            .flatten(),
        offered,
        preferred,
        negotiated: negotiated(ssh, &confidentiality),
        server_authenticated: server,
        client_authenticated: client,
        stayed: stayed(&confidentiality),
        clear: clear(kind, ssh, all),
        ..Posture::bare(kind, confidentiality, authenticity)
    };
    spread::doubt(ssh.looks_encrypted(), &transport.packets, &mut posture);
    posture
}

const READABLE: &str = "sent unencrypted: messages of a service before the new keys";
const CLIENT: &str = "SSH encrypts how the client proves who it is";

fn is_first_version(ssh: &Ssh) -> bool {
    // SSH-1.99 speaks both, and in sight the second (RFC 4253, section 5.1).
    let old = |text: &str| text.starts_with("SSH-1.") && !text.starts_with("SSH-1.99");
    [&ssh.client, &ssh.server]
        .into_iter()
        .any(|end| end.identification.as_ref().is_some_and(|seen| old(&seen.value)))
}

pub(crate) fn kind(transport: &Transport, ssh: &Ssh) -> Kind {
    let ends = [&ssh.client, &ssh.server];
    if is_first_version(ssh) || ssh.established() || readable(ssh).is_some() {
        return Kind::Ssh;
    }
    if ends.iter().any(|end| end.lost.is_some()) {
        // The negotiated method may still follow from both lists.
        return match ssh.key_exchange() {
            Some(_) => Kind::Ssh,
            None => Kind::SshNotSeen,
        };
    }
    // A key exchange may finish after the end of the capture.
    let both = ssh.client.kex_init.is_some() && ssh.server.kex_init.is_some();
    let nothing_in_common = both && ssh.key_exchange().is_none();
    let ended = transport.ended || ssh.disconnected.is_some();
    match nothing_in_common || ended && !transport.incomplete {
        true => Kind::SshNotAgreed,
        false => Kind::SshNotSeen,
    }
}

fn not_agreed(ssh: &Ssh) -> String {
    let both = ssh.client.kex_init.is_some() && ssh.server.kex_init.is_some();
    if both && ssh.key_exchange().is_none() {
        return "nothing was negotiated: the ends have no key exchange method in common".into();
    }
    match &ssh.disconnected {
        Some(seen) => format!("nothing was negotiated: the {} disconnected", seen.value),
        None => "the key exchange was not finished".into(),
    }
}

/// The messages in which both ends say what they can do.
fn choice(ssh: &Ssh) -> Vec<Source> {
    let ends = [&ssh.client, &ssh.server];
    ends.into_iter()
        .filter_map(|end| end.kex_init.as_ref().map(Source::seen))
        .collect()
}

fn has_no_cipher(ssh: &Ssh) -> bool {
    [Side::Client, Side::Server]
        .into_iter()
        .any(|side| ssh.cipher(side) == Some(SSH_NO_CIPHER))
}

/// The verdict on a cipher, of either direction, that is not known to withstand an attacker.
fn weak_cipher(ssh: &Ssh) -> Option<(Judged, String)> {
    let judged = [Side::Client, Side::Server].map(|side| match ssh.cipher(side) {
        Some(name) => match ssh_cipher(name) {
            Some(Safety::QuantumSafe) => None,
            Some(Safety::Vulnerable) => Some((
                Verdict::Vulnerable.into(),
                format!("its cipher {name} can be broken without a quantum computer"),
            )),
            None => Some((Judged::UNKNOWN, format!("the registry does not know its cipher {name}"))),
        },
        None => Some((Judged::UNKNOWN, "the ends have no cipher in common".to_owned())),
    });
    judged.into_iter().flatten().min_by_key(|(judged, _)| judged.rank())
}

/// Data that only a service sends, before the keys that would encrypt it.
fn readable(ssh: &Ssh) -> Option<Source> {
    let found = ssh.client.readable.or(ssh.server.readable)?;
    Some(Source::packet(found.packet))
}

fn has_second_offer(ssh: &Ssh) -> bool {
    ssh.client.second_kex_init.is_some() || ssh.server.second_kex_init.is_some()
}

fn confidentiality(ssh: &Ssh, all: &[Source]) -> Judgement {
    if let Some(source) = readable(ssh) {
        return Judgement::new(Verdict::ReadableNow, READABLE, vec![source]);
    }
    if is_first_version(ssh) {
        let because = "SSH 1: no post-quantum key exchange exists for it";
        return Judgement::new(Verdict::Vulnerable, because, all.to_vec());
    }
    let Some(method) = ssh.key_exchange() else {
        let because = "the key exchange is missing from the capture";
        return Judgement::new(Verdict::NotSeen, because, all.to_vec());
    };
    if has_no_cipher(ssh) {
        let because = "sent unencrypted: the cipher agreed on does not encrypt";
        return Judgement::new(Verdict::ReadableNow, because, choice(ssh));
    }
    let known = ssh_key_exchange(method).map(|known| known.recording);
    let weak = weak_cipher(ssh);
    if let Some((judged, because)) = &weak
        && (*judged != Judged::UNKNOWN || known == Some(Safety::QuantumSafe))
    {
        return Judgement::new(*judged, because.as_str(), choice(ssh));
    }
    let (judged, because) = match known {
        Some(Safety::QuantumSafe) if has_second_offer(ssh) => (
            Verdict::NotObservable.into(),
            format!("{method} negotiated, if the first SSH_MSG_KEXINIT of two counts"),
        ),
        Some(Safety::QuantumSafe) if !ssh.established() => (
            Verdict::NotSeen.into(),
            format!("{method} negotiated, and whether it took place is missing from the capture"),
        ),
        Some(Safety::QuantumSafe) => match contradicted(ssh) {
            Some((what, source)) => {
                let sources = choice(ssh).into_iter().chain(source).collect();
                return Judgement::new(Verdict::NotObservable, what, sources);
            }
            None => (Verdict::QuantumSafe.into(), format!("{method} negotiated")),
        },
        Some(Safety::Vulnerable) => {
            let classical = format!("{method} negotiated: a classical key exchange");
            match weak {
                Some((_, because)) => (Verdict::Vulnerable.into(), format!("{because}; {classical}")),
                None => (Judged::CLASSICAL, classical),
            }
        }
        None => (
            Judged::UNKNOWN,
            format!("{method} negotiated, which the registry does not know"),
        ),
    };
    Judgement::new(judged, because, choice(ssh))
}

/// A contradiction of the negotiated post-quantum method: an end sent a message of another length
/// than its half of the method, or none although both ends went on to new keys.
pub(crate) fn contradicted(ssh: &Ssh) -> Option<(String, Option<Source>)> {
    let method = ssh.key_exchange()?;
    let shares = ssh_key_exchange(method)?.shares.filter(|_| ssh.established())?;
    let ends: [(Side, &Sent); 2] = [(Side::Client, &ssh.client), (Side::Server, &ssh.server)];
    ends.into_iter()
        .zip(shares)
        .find_map(|((side, sent), needed)| match &sent.share {
            Some(share) if share.value == u32::from(needed) => {
                let fault = sent.share_fault?;
                let what = format!("{method} is agreed on, and what the {side} sent is no key: {fault}");
                Some((what, Some(Source::seen(share))))
            }
            Some(share) => {
                let length = share.value;
                let what = format!(
                    "{method} is agreed on, and the {side} sent {length} bytes of key exchange data instead of {needed}"
                );
                Some((what, Some(Source::seen(share))))
            }
            None => Some((
                format!("{method} is agreed on, and the {side} sent no key exchange data for it"),
                None,
            )),
        })
}

/// Authentication of the server, and the judgement on forging either end.
fn authenticity(ssh: &Ssh, confidentiality: &Judgement, all: &[Source]) -> (Reply, Judgement) {
    if is_first_version(ssh) {
        let because = "SSH 1 has no post-quantum signature";
        let reply = Reply::new(Answer::NotObservable, because, all.to_vec());
        return (reply, Judgement::new(Verdict::Vulnerable, because, all.to_vec()));
    }
    let (answer, name, because, sources) = match (&ssh.host_key, ssh.host_key_algorithm()) {
        (Some(seen), _) => {
            let bits = seen
                .value
                .bits
                .map_or_else(String::new, |bits| format!(" of {bits} bits"));
            let because = format!(
                "signed with {}, with a key {}{bits}",
                seen.value.signature, seen.value.key
            );
            (
                Answer::Yes,
                seen.value.signature.as_str(),
                because,
                vec![Source::seen(seen)],
            )
        }
        (None, Some(name)) => {
            let because = format!("its signature is missing from the capture; {name} was agreed on");
            (Answer::NotSeen, name, because, choice(ssh))
        }
        (None, None) => {
            let because = confidentiality.because().to_owned();
            (Answer::NotSeen, "", because, all.to_vec())
        }
    };
    let reply = Reply::new(answer, because.clone(), sources.clone());
    let (judged, note) = match ssh_public_key(name).map(|known| known.forgery) {
        _ if name.is_empty() => (Verdict::NotSeen.into(), ""),
        Some(Safety::Vulnerable) => (Judged::CLASSICAL, ""),
        Some(Safety::QuantumSafe) => (Verdict::NotObservable.into(), ""),
        None => (Verdict::NotObservable.into(), ", which the registry does not know"),
    };
    let because = format!("server: {because}{note}; client: {CLIENT}");
    (reply, Judgement::new(judged, because, sources))
}

fn offer(ssh: &Ssh, all: &[Source]) -> (Reply, Reply) {
    let Some(seen) = &ssh.client.kex_init else {
        let (answer, because) = if is_first_version(ssh) {
            (Answer::No, "SSH 1")
        } else {
            (Answer::NotSeen, "what the client can do is missing from the capture")
        };
        let reply = Reply::new(answer, because, all.to_vec());
        return (reply.clone(), reply);
    };
    let source = || vec![Source::seen(seen)];
    let safe = |name: &&str| ssh_key_exchange(name).is_some_and(|known| known.recording == Safety::QuantumSafe);
    let names = || seen.value.key_exchange.split(',');
    let offered: Vec<&str> = names().filter(safe).collect();
    let offered = if offered.is_empty() {
        Reply::new(
            Answer::No,
            "no post-quantum key exchange method among those offered",
            source(),
        )
    } else {
        Reply::new(Answer::Yes, offered.join(", "), source())
    };
    let first = names().next().unwrap_or_default();
    let answer = if safe(&first) { Answer::Yes } else { Answer::No };
    (offered, Reply::new(answer, format!("{first} stands first"), source()))
}

fn negotiated(ssh: &Ssh, confidentiality: &Judgement) -> Reply {
    let method = ssh
        .key_exchange()
        .and_then(ssh_key_exchange)
        .map(|known| known.recording);
    let answer = match (confidentiality.verdict(), method) {
        (Verdict::QuantumSafe, _) => Answer::Yes,
        // The key exchange is one thing, a cipher that does not encrypt another.
        (Verdict::Vulnerable | Verdict::ReadableNow, Some(Safety::QuantumSafe)) => Answer::Yes,
        (Verdict::Vulnerable | Verdict::ReadableNow, _) => Answer::No,
        (Verdict::NotObservable, _) => Answer::NotObservable,
        (Verdict::NotSeen, _) => Answer::NotSeen,
    };
    Reply::new(answer, confidentiality.because(), confidentiality.sources().to_vec())
}

fn stayed(confidentiality: &Judgement) -> Reply {
    let sources = confidentiality.sources().to_vec();
    match confidentiality.verdict() {
        Verdict::QuantumSafe => {
            let because = "a key exchange behind the first is encrypted by it (RFC 4253, section 9)";
            Reply::new(Answer::NotObservable, because, sources)
        }
        Verdict::Vulnerable | Verdict::ReadableNow => {
            Reply::new(Answer::No, "it was not post-quantum from the start", sources)
        }
        Verdict::NotObservable => Reply::new(Answer::NotObservable, confidentiality.because(), sources),
        Verdict::NotSeen => Reply::new(Answer::NotSeen, confidentiality.because(), sources),
    }
}

fn clear(kind: Kind, ssh: &Ssh, all: Vec<Source>) -> Reply {
    if let Some(source) = readable(ssh) {
        return Reply::new(Answer::Yes, READABLE, vec![source]);
    }
    if kind == Kind::Ssh && has_no_cipher(ssh) {
        return Reply::new(Answer::Yes, "the cipher agreed on does not encrypt", choice(ssh));
    }
    if kind == Kind::SshNotSeen {
        return Reply::new(Answer::NotSeen, "the key exchange is missing from the capture", all);
    }
    Reply::new(Answer::No, "SSH packets only", all)
}
