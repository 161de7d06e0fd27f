//! SSH: one key exchange up to the new keys (RFC 4253, section 7), of which nothing is encrypted, and
//! the proof of the server in it.

mod proof;

use std::io::{self, Read, Write};

use bartizan_ike::{Pending, key_exchange};
use bartizan_registry::{Safety, ssh_key_exchange, ssh_public_key};
use bartizan_wire::ike::KeyExchangeMethod;

use crate::session::Connection;
use crate::{Answer, Error, Session};

const DISCONNECT: u8 = 1;
const KEX_INIT: u8 = 20;
const NEW_KEYS: u8 = 21;
const KEX_START: u8 = 30;
const KEX_REPLY: u8 = 31;
/// Largest packet (section 6.1), and lines before the identification (section 4.2).
const PACKET: usize = 35_000;
const LINES: usize = 64;
const LINE: usize = 1024;
/// Messages that are passed over between those of the exchange.
const MESSAGES: usize = 32;

const IDENTIFICATION: &[u8] = b"SSH-2.0-Bartizan";
const CURVE25519: u16 = 31;
const POINT: [u8; 1] = [4];

/// Methods that can be begun, each with the identifiers of IKE for its parts.
const METHODS: [(&str, &[u16]); 12] = [
    ("mlkem768x25519-sha256", &[36, CURVE25519]),
    ("mlkem768nistp256-sha256", &[36, 19]),
    ("mlkem1024nistp384-sha384", &[37, 20]),
    ("sntrup761x25519-sha512", &[SNTRUP, CURVE25519]),
    ("sntrup761x25519-sha512@openssh.com", &[SNTRUP, CURVE25519]),
    ("curve25519-sha256", &[CURVE25519]),
    ("curve25519-sha256@libssh.org", &[CURVE25519]),
    ("ecdh-sha2-nistp256", &[19]),
    ("ecdh-sha2-nistp384", &[20]),
    ("ecdh-sha2-nistp521", &[21]),
    ("diffie-hellman-group14-sha256", &[14]),
    ("diffie-hellman-group16-sha512", &[16]),
];
/// Streamlined NTRU Prime 761, which IKE has no identifier for.
const SNTRUP: u16 = u16::MAX;
const HOST_KEYS: &str = "ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,\
                         rsa-sha2-256,ssh-rsa";
const CIPHERS: &str = "chacha20-poly1305@openssh.com,aes256-gcm@openssh.com,aes128-gcm@openssh.com,aes256-ctr,\
                       aes192-ctr,aes128-ctr,aes256-cbc,aes128-cbc,3des-cbc";
const MACS: &str = "hmac-sha2-256-etm@openssh.com,hmac-sha2-512-etm@openssh.com,hmac-sha2-256,hmac-sha2-512,hmac-sha1";

pub(crate) fn ask(session: &mut Session<'_>) -> Result<Vec<Answer>, Error> {
    let mut connection = session.connect("one key exchange", true)?;
    let identification = identification(&mut connection).map_err(|error| fault(&error))?;
    let (inits, lists) = init(&mut connection).map_err(|error| fault(&error))?;
    let names = |at: usize| {
        lists
            .get(at)
            .map_or("", String::as_str)
            .split(',')
            .filter(|name| !name.is_empty())
    };
    // Names that announce an extension are no methods (RFC 8308).
    let methods: Vec<_> = names(0)
        .filter(|name| !name.starts_with("ext-info") && !name.starts_with("kex-strict"))
        .collect();
    let host_keys: Vec<_> = names(1).collect();
    let mut all = vec![Answer::new(
        "identification",
        [String::from_utf8_lossy(&identification)],
    )];
    all.extend(Answer::exchanges("key exchanges", &methods, |name| {
        ssh_key_exchange(name).map(|known| known.recording)
    }));
    let safe = |name: &&str| ssh_public_key(name).map(|known| known.forgery) == Some(Safety::QuantumSafe);
    let forgeable = host_keys.is_empty() || !host_keys.iter().all(safe);
    let algorithm = HOST_KEYS.split(',').find(|name| host_keys.contains(name));
    all.push(Answer::new("host keys", host_keys).finding(forgeable, "a quantum computer can forge the signature"));
    all.push(Answer::new("ciphers", names(3)));
    all.push(Answer::new("MACs", names(5)));
    let common = METHODS.iter().find(|(name, _)| methods.contains(name));
    let (Some((name, parts)), Some(algorithm)) = (common, algorithm) else {
        all.push(Answer::new(
            "one exchange",
            ["no method, or no host key, that the probe knows"],
        ));
        return Ok(all);
    };
    // The lists stand, whatever became of the exchange.
    let outcome = exchange(&mut connection, parts);
    let proof = match &outcome {
        Ok(done) => done.is_signed([IDENTIFICATION, &identification, &inits[0], &inits[1]], name, algorithm),
        Err(_) => None,
    };
    let said = match (&outcome, proof) {
        (Err(error), _) => fault(error).to_string(),
        (Ok(_), None) => format!("{name}: done, {algorithm} not verified"),
        (Ok(_), Some(false)) => format!("{name}: the signature does not fit"),
        (Ok(_), Some(true)) => format!("{name}: done"),
    };
    all.push(Answer::new("one exchange", [said]).finding(
        proof == Some(false),
        "the server does not have the host key that it shows, or is another than it negotiates",
    ));
    // The finding of the host keys stands for it where it is classical.
    all.extend(
        proof
            .filter(|holds| *holds)
            .map(|_| Answer::new("signature", [algorithm])),
    );
    Ok(all)
}

fn fault(error: &io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::InvalidData => Error::Foreign(format!("does not answer as SSH: {error}")),
        _ => Error::of(error),
    }
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn identification(connection: &mut Connection<'_>) -> io::Result<Vec<u8>> {
    connection.write_all(&[IDENTIFICATION, b"\r\n"].concat())?;
    for _ in 0..LINES {
        let mut line = Vec::new();
        loop {
            let mut byte = [0];
            connection.read_exact(&mut byte)?;
            match byte {
                [b'\n'] => break,
                _ if line.len() == LINE => return Err(invalid("a long first line")),
                [byte] => line.push(byte),
            }
        }
        if line.starts_with(b"SSH-") {
            return Ok(line.strip_suffix(b"\r").unwrap_or(&line).to_vec());
        }
    }
    Err(invalid("no identification"))
}

/// A packet before the first keys (section 6): padded to a multiple of eight, without a MAC.
fn send(connection: &mut Connection<'_>, payload: &[u8]) -> io::Result<()> {
    let padding = 4 + 8 - (5 + payload.len() + 4) % 8;
    let mut packet = (1 + payload.len() as u32 + padding as u32).to_be_bytes().to_vec();
    packet.push(padding as u8);
    packet.extend(payload);
    packet.resize(packet.len() + padding, 0);
    connection.write_all(&packet)
}

/// The next message of one of these kinds.
fn receive(connection: &mut Connection<'_>, kind: u8) -> io::Result<Vec<u8>> {
    for _ in 0..MESSAGES {
        let mut length = [0; 4];
        connection.read_exact(&mut length)?;
        let length = u32::from_be_bytes(length) as usize;
        if !(2..=PACKET).contains(&length) {
            return Err(invalid("a packet of no possible length"));
        }
        let mut packet = vec![0; length];
        connection.read_exact(&mut packet)?;
        let end = length.checked_sub(usize::from(packet[0])).filter(|end| *end > 1);
        let payload = &packet[1..end.ok_or_else(|| invalid("a packet of padding"))?];
        match payload[0] {
            found if found == kind => return Ok(payload.to_vec()),
            DISCONNECT => return Err(io::ErrorKind::UnexpectedEof.into()),
            _ => {}
        }
    }
    Err(invalid("other messages without end"))
}

fn string(out: &mut Vec<u8>, content: &[u8]) {
    out.extend((content.len() as u32).to_be_bytes());
    out.extend(content);
}

/// Takes a string off the front.
fn split<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, behind) = rest.split_first_chunk::<4>()?;
    let (text, behind) = behind.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    *rest = behind;
    Some(text)
}

/// Exchanges SSH_MSG_KEXINIT: the messages of client and server, and the server's ten lists (section 7.1).
fn init(connection: &mut Connection<'_>) -> io::Result<([Vec<u8>; 2], Vec<String>)> {
    let mut payload = vec![KEX_INIT];
    payload.extend(random(16)?);
    let methods = METHODS.map(|(name, _)| name).join(",");
    for list in [
        &methods, HOST_KEYS, CIPHERS, CIPHERS, MACS, MACS, "none", "none", "", "",
    ] {
        string(&mut payload, list.as_bytes());
    }
    payload.extend([0; 5]);
    send(connection, &payload)?;
    let answer = receive(connection, KEX_INIT)?;
    let mut rest = answer.get(17..).unwrap_or_default();
    let mut list = || split(&mut rest).map(|text| String::from_utf8_lossy(text).into_owned());
    let lists: Option<Vec<_>> = (0..10).map(|_| list()).collect();
    let lists = lists.ok_or_else(|| invalid("a malformed SSH_MSG_KEXINIT"))?;
    Ok(([payload, answer], lists))
}

fn random(length: usize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| io::Error::other("no chance"))?;
    Ok(bytes)
}

/// An exchange that was done.
struct Done {
    share: Vec<u8>,
    /// The client's half of each part, behind which octets the server's data begin, and their number.
    halves: Vec<(Box<dyn Pending>, usize, usize)>,
    reply: Vec<u8>,
}

/// One exchange up to SSH_MSG_NEWKEYS of both ends.
fn exchange(connection: &mut Connection<'_>, parts: &[u16]) -> io::Result<Done> {
    let (mut share, mut halves) = (Vec::new(), Vec::new());
    for &part in parts {
        if part == SNTRUP {
            share.extend(random(1158)?);
            continue;
        }
        let point = if (19..=21).contains(&part) { &POINT[..] } else { &[] };
        let method = KeyExchangeMethod(part);
        let begun = key_exchange(method).and_then(|known| known.begin().ok());
        let value = match begun.zip(method.known().and_then(|known| known.responder)) {
            Some(((value, pending), length)) => {
                halves.push((pending, point.len(), length.into()));
                value
            }
            None => public(part).ok_or_else(|| io::Error::other("no key"))?,
        };
        share.extend([point, &value].concat());
    }
    // An exchange that lacks the secret of a part proves nothing.
    if halves.len() < parts.len() {
        halves.clear();
    }
    let mut start = vec![KEX_START];
    string(&mut start, &share);
    send(connection, &start)?;
    let reply = receive(connection, KEX_REPLY)?;
    receive(connection, NEW_KEYS)?;
    send(connection, &[NEW_KEYS])?;
    Ok(Done { share, halves, reply })
}

/// A public value of this method of IKE. Of a prime group, any value below the prime is one.
pub(crate) fn public(method: u16) -> Option<Vec<u8>> {
    let method = KeyExchangeMethod(method);
    if let Some(known) = key_exchange(method) {
        return known.begin().ok().map(|(data, _)| data);
    }
    let mut value = random(method.known()?.initiator?.into()).ok()?;
    if let Some(first) = value.first_mut() {
        *first = *first & 0x7f | 0x40;
    }
    Some(value)
}
