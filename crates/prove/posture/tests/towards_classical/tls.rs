//! TLS turned towards classical: what stands in its hellos, and what follows them.

use std::ops::Range;

use bartizan_posture::Posture;
use bartizan_registry::{NamedGroup, Safety, group};

use super::frame::Frame;
use super::judged::Subject;
use super::mutation::{Change, Mutation, Takes};

const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const SUPPORTED_GROUPS: u16 = 10;
const SUPPORTED_VERSIONS: u16 = 43;
const KEY_SHARE: u16 = 51;
const PRE_SHARED_KEY: u16 = 41;
/// An unassigned extension.
const UNKNOWN: u16 = 0x7a7a;

const X25519: u16 = 0x001d;
const SECP256R1: u16 = 0x0017;

/// Each with what it does.
pub(crate) fn mutations() -> Vec<Mutation> {
    let mutation = |name, takes, change: Box<dyn Fn(&Frame<'_>) -> Change>| Mutation {
        name,
        change,
        reaches: is_tls,
        takes,
    };
    let safety = |name, change| mutation(name, Takes::Safety, change);
    vec![
        safety("group to x25519", server_share(|share| share.to_group(X25519))),
        safety("group to secp256r1", server_share(|share| share.to_group(SECP256R1))),
        safety(
            "group to one nobody knows",
            server_share(|share| share.to_group(0x7a7b)),
        ),
        safety("group and share to x25519", server_share(|share| share.cut(X25519))),
        safety(
            "share cut to that of x25519",
            server_share(|share| share.cut(share.group)),
        ),
        safety("share dropped", server_share(without_share)),
        safety("share dropped for a pre-shared key", server_share(by_key_alone)),
        safety("version to 1.2", Box::new(|frame| version(frame, SERVER_HELLO))),
        safety("cipher to NULL", Box::new(|frame| suite(frame, 0x0000))),
        safety("cipher to integrity only", Box::new(|frame| suite(frame, 0xc0b4))),
        safety("cipher to one nobody knows", Box::new(|frame| suite(frame, 0x7a7c))),
        safety("cipher to one of TLS 1.2", Box::new(|frame| suite(frame, 0xc02f))),
        safety("cipher to one not offered", Box::new(|frame| suite(frame, 0x1304))),
        safety(
            "client's groups to secp256r1 together with an encrypted hello",
            Box::new(|frame| hidden(frame, client_groups)),
        ),
        safety("another ServerHello behind the first", Box::new(another_server_hello)),
        safety("first ClientHello stripped", Box::new(first_client_hello_dropped)),
        safety("ServerHello stripped", Box::new(|frame| dropped(frame, SERVER_HELLO))),
        safety("records cleared", Box::new(cleared_records)),
        safety("application data to text", Box::new(readable_records)),
        safety(
            "client's share to x25519",
            Box::new(|frame| client_shares(frame, Some(X25519))),
        ),
        safety("client's share cut", Box::new(|frame| client_shares(frame, None))),
        safety("client's groups to secp256r1", Box::new(client_groups)),
        safety(
            "client's version to 1.2",
            Box::new(|frame| version(frame, CLIENT_HELLO)),
        ),
        mutation("client offers secp256r1 only", Takes::Offer, Box::new(client_groups)),
        safety("ClientHello stripped", Box::new(|frame| dropped(frame, CLIENT_HELLO))),
        mutation(
            "ClientHello not seen",
            Takes::Offer,
            Box::new(|frame| dropped(frame, CLIENT_HELLO)),
        ),
    ]
}

/// Text in records that say they are encrypted.
fn readable_records(frame: &Frame<'_>) -> Change {
    let payload = frame.payload();
    let mut readable = payload.to_vec();
    let mut at = 0;
    while let Some([kind, 3, _, high, low]) = payload.get(at..at + 5) {
        let body = at + 5..at + 5 + usize::from(u16::from_be_bytes([*high, *low]));
        if *kind == 23 && body.len() >= 64 {
            text(
                readable
                    .get_mut(body.start..body.end.min(payload.len()))
                    .unwrap_or_default(),
            );
        }
        at = body.end;
    }
    // Bytes of a record that began in another segment.
    if at == 0 && frame.protocol == 6 && payload.len() > 64 && !payload.starts_with(&[22, 3]) {
        text(&mut readable);
    }
    Change::to(frame, frame.with_payload(&readable))
}

/// Writes text over bytes.
pub(super) fn text(bytes: &mut [u8]) {
    let text = b"GET /nudm-sdm/v2/imsi-001010000000001/am-data HTTP/1.1 "
        .iter()
        .cycle();
    bytes.iter_mut().zip(text).for_each(|(to, from)| *to = *from);
}

fn is_tls(subject: &Subject, posture: &Posture) -> bool {
    matches!(subject, Subject::Connection(..)) && posture.ssh_key_exchange.is_none()
}

fn is_post_quantum(code: u16) -> bool {
    group(NamedGroup(code)).is_some_and(|known| known.recording == Safety::QuantumSafe)
}

fn u16_at(payload: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes([*payload.get(at)?, *payload.get(at + 1)?]))
}

/// A hello that begins in a segment, as far as it is in there.
struct Hello<'a> {
    frame: &'a Frame<'a>,
    /// Behind its random: the length of the session identifier.
    session: usize,
    /// Types of its extensions, and where their bodies are; the last may go on in the next segment.
    extensions: Vec<(u16, Range<usize>)>,
}

impl<'a> Hello<'a> {
    fn read(frame: &'a Frame<'a>, wanted: u8) -> Option<Self> {
        let payload = frame.payload();
        // The second ClientHello follows a ChangeCipherSpec.
        let start = if payload.starts_with(&[20, 3, 3, 0, 1, 1]) {
            6
        } else {
            0
        };
        let [22, 3, _, _, _, kind, ..] = payload.get(start..)? else {
            return None;
        };
        if frame.protocol != 6 || *kind != wanted {
            return None;
        }
        let end = start + 5 + usize::from(u16_at(payload, start + 3)?);
        // Record, message, version and random.
        let session = start + 5 + 4 + 2 + 32;
        let mut at = session + 1 + usize::from(*payload.get(session)?);
        if wanted == CLIENT_HELLO {
            at += 2 + usize::from(u16_at(payload, at)?);
            at += 1 + usize::from(*payload.get(at)?);
        } else {
            at += 2 + 1;
        }
        at += 2;
        let mut extensions = Vec::new();
        while let (Some(kind), Some(length)) = (u16_at(payload, at), u16_at(payload, at + 2))
            && at < end
        {
            let body = at + 4..at + 4 + usize::from(length);
            at = body.end;
            extensions.push((kind, body));
        }
        Some(Self {
            frame,
            session,
            extensions,
        })
    }

    /// The body of an extension, as far as it is in the segment; not where nothing of it is.
    fn extension(&self, wanted: u16) -> Option<Range<usize>> {
        let mut extensions = self.extensions.iter();
        let (_, body) =
            extensions.find(|(kind, body)| *kind == wanted && body.start + 2 <= self.frame.payload().len())?;
        Some(body.clone())
    }
}

/// The key share of a post-quantum group in a ServerHello, or the group alone in a HelloRetryRequest.
struct ServerShare<'a> {
    frame: &'a Frame<'a>,
    body: Range<usize>,
    group: u16,
}

fn server_share(change: impl Fn(&ServerShare<'_>) -> Change + 'static) -> Box<dyn Fn(&Frame<'_>) -> Change> {
    Box::new(move |frame| {
        let share = Hello::read(frame, SERVER_HELLO).and_then(|hello| {
            let body = hello.extension(KEY_SHARE)?;
            let group = u16_at(frame.payload(), body.start).filter(|&group| is_post_quantum(group))?;
            Some(ServerShare { frame, body, group })
        });
        share.map_or(Change::Keep, |share| change(&share))
    })
}

impl ServerShare<'_> {
    fn to_group(&self, code: u16) -> Change {
        Change::written(self.frame, self.body.start, &code.to_be_bytes())
    }

    /// A share of 32 bytes.
    fn cut(&self, code: u16) -> Change {
        if self.body.len() == 2 {
            return if code == self.group {
                Change::Keep
            } else {
                self.to_group(code)
            };
        }
        let mut share = code.to_be_bytes().to_vec();
        share.extend([0, 32]);
        share.extend([7; 32]);
        self.in_place(KEY_SHARE, &share)
    }

    fn in_place(&self, kind: u16, body: &[u8]) -> Change {
        Change::written(self.frame, self.body.start - 4, &replaced(&self.body, kind, body))
    }
}

fn without_share(share: &ServerShare<'_>) -> Change {
    Change::written(share.frame, share.body.start - 4, &UNKNOWN.to_be_bytes())
}

/// The server takes the first pre-shared key, and no key exchange.
fn by_key_alone(share: &ServerShare<'_>) -> Change {
    match share.body.len() {
        2 => Change::Keep,
        _ => share.in_place(PRE_SHARED_KEY, &[0, 0]),
    }
}

/// Bytes to write from an extension's header on, so that a shorter extension replaces it: the rest
/// is in an unknown extension, and all lengths are right.
fn replaced(old: &Range<usize>, kind: u16, body: &[u8]) -> Vec<u8> {
    let length = |bytes: usize| u16::try_from(bytes).unwrap().to_be_bytes();
    let mut bytes = kind.to_be_bytes().to_vec();
    bytes.extend(length(body.len()));
    bytes.extend(body);
    bytes.extend(UNKNOWN.to_be_bytes());
    bytes.extend(length(old.len() - body.len() - 4));
    bytes
}

/// The version agreed on, or all of those offered above it.
fn version(frame: &Frame<'_>, of: u8) -> Change {
    let Some(body) = Hello::read(frame, of).and_then(|hello| hello.extension(SUPPORTED_VERSIONS)) else {
        return Change::Keep;
    };
    let mut bytes = frame.bytes.to_vec();
    let body = &mut bytes[frame.payload.clone()][body];
    // A client's list has its length before it.
    let skip = usize::from(of == CLIENT_HELLO);
    for version in body[skip..].chunks_exact_mut(2) {
        if version == [3, 4] {
            version[1] = 3;
        }
    }
    Change::to(frame, bytes)
}

fn suite(frame: &Frame<'_>, to: u16) -> Change {
    let Some(hello) = Hello::read(frame, SERVER_HELLO) else {
        return Change::Keep;
    };
    let at = hello.session + 1 + usize::from(frame.payload()[hello.session]);
    Change::written(frame, at, &to.to_be_bytes())
}

fn dropped(frame: &Frame<'_>, wanted: u8) -> Change {
    match Hello::read(frame, wanted) {
        Some(_) => Change::Drop,
        None => Change::Keep,
    }
}

/// The client's key shares, where one is of a post-quantum group: that one becomes another group's, or else it alone is left,
/// and cut.
fn client_shares(frame: &Frame<'_>, to: Option<u16>) -> Change {
    let payload = frame.payload();
    let Some(body) = Hello::read(frame, CLIENT_HELLO).and_then(|hello| hello.extension(KEY_SHARE)) else {
        return Change::Keep;
    };
    let mut at = body.start + 2;
    while let (Some(group), Some(length)) = (u16_at(payload, at), u16_at(payload, at + 2))
        && at < body.end
    {
        if is_post_quantum(group) {
            return match to {
                Some(code) => Change::written(frame, at, &code.to_be_bytes()),
                None => {
                    let mut cut = vec![0, 36];
                    cut.extend(group.to_be_bytes());
                    cut.extend([0, 32]);
                    cut.extend([7; 32]);
                    Change::written(frame, body.start - 4, &replaced(&body, KEY_SHARE, &cut))
                }
            };
        }
        at += 4 + usize::from(length);
    }
    Change::Keep
}

/// Post-quantum groups among those the client can do become a curve.
fn client_groups(frame: &Frame<'_>) -> Change {
    let Some(body) = Hello::read(frame, CLIENT_HELLO).and_then(|hello| hello.extension(SUPPORTED_GROUPS)) else {
        return Change::Keep;
    };
    if body.end > frame.payload().len() {
        return Change::Keep;
    }
    let mut bytes = frame.bytes.to_vec();
    let groups = &mut bytes[frame.payload.clone()][body.start + 2..body.end];
    for code in groups.chunks_exact_mut(2) {
        if is_post_quantum(u16::from_be_bytes([code[0], code[1]])) {
            code.copy_from_slice(&SECP256R1.to_be_bytes());
        }
    }
    Change::to(frame, bytes)
}

/// The first ClientHello, of one or of two.
fn first_client_hello_dropped(frame: &Frame<'_>) -> Change {
    match frame.payload() {
        [22, ..] => dropped(frame, CLIENT_HELLO),
        _ => Change::Keep,
    }
}

/// Makes the change, and turns an extension that no reader uses into Encrypted ClientHello.
fn hidden(frame: &Frame<'_>, change: fn(&Frame<'_>) -> Change) -> Change {
    const ENCRYPT_THEN_MAC: u16 = 22;
    const ENCRYPTED_CLIENT_HELLO: u16 = 0xfe0d;
    let body = Hello::read(frame, CLIENT_HELLO).and_then(|hello| {
        let mut extensions = hello.extensions.iter();
        Some(extensions.find(|(kind, _)| *kind == ENCRYPT_THEN_MAC)?.1.start)
    });
    let (Some(at), Change::Turn(mut bytes)) = (body, change(frame)) else {
        return change(frame);
    };
    let payload = &mut bytes[frame.payload.clone()];
    payload[at - 4..at - 2].copy_from_slice(&ENCRYPTED_CLIENT_HELLO.to_be_bytes());
    Change::Turn(bytes)
}

/// In the segment with the ServerHello the same again, of another random.
fn another_server_hello(frame: &Frame<'_>) -> Change {
    if Hello::read(frame, SERVER_HELLO).is_none() {
        return Change::Keep;
    }
    let payload = frame.payload();
    let end = 5 + usize::from(u16_at(payload, 3).unwrap());
    let Some(record) = payload.get(..end) else {
        return Change::Keep;
    };
    let mut another = record.to_vec();
    another[5 + 4 + 2] ^= 1;
    Change::Turn(frame.with_payload(&[record, &another, &payload[end..]].concat()))
}

/// Encrypted records at the beginning of a segment become a request in plaintext.
fn cleared_records(frame: &Frame<'_>) -> Change {
    let text = b"GET / HTTP/1.1\r\nhost: nrf\r\n\r\n";
    if frame.protocol == 6 && frame.payload().starts_with(&[23, 3, 3]) && frame.payload().len() > text.len() {
        Change::written(frame, 0, text)
    } else {
        Change::Keep
    }
}
