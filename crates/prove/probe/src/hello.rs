//! One ClientHello without a key share, and the answer. A server that agrees to a group asks for its
//! share by a HelloRetryRequest (RFC 9846, section 4.2.8): the answer needs no key of ours.

use std::io::{Read, Write};

use bartizan_registry::{CipherSuite, NamedGroup, SIGNATURES};
use bartizan_wire::tls::{ServerHello, Version};

use crate::{Error, Session};

const ALERT: u8 = 21;
const HANDSHAKE: u8 = 22;
const SERVER_HELLO: u8 = 2;
/// Longest ServerHello that is read.
const LONGEST: usize = 1 << 14;

/// Answer to a ClientHello.
pub(crate) enum Reply {
    Chosen(ServerHello),
    /// An alert, or the end of the connection.
    Refused(String),
}

/// Algorithms that one hello offers.
#[derive(Clone, Copy)]
pub(crate) struct Offer<'a> {
    pub(crate) version: Version,
    pub(crate) ciphers: &'a [CipherSuite],
    pub(crate) groups: &'a [NamedGroup],
}

/// Sends a hello, and gives the answer.
pub(crate) fn ask(session: &mut Session<'_>, question: &str, offer: Offer<'_>) -> Result<Reply, Error> {
    let name = session.name.clone();
    let hello = encode(offer, name.as_deref())?;
    let mut connection = session.connect(question, false)?;
    let answer = connection.write_all(&hello).and_then(|()| {
        let mut message = Vec::new();
        loop {
            let mut header = [0; 5];
            connection.read_exact(&mut header)?;
            let mut record = vec![0; usize::from(u16::from_be_bytes([header[3], header[4]]))];
            if !matches!(header[0], ALERT | HANDSHAKE) || header[1] != 3 || record.len() > LONGEST {
                return Ok(None);
            }
            connection.read_exact(&mut record)?;
            if header[0] == ALERT {
                match record[..] {
                    // A warning other than the end: the answer follows, as behind unrecognized_name.
                    [1, description, ..] if description > 0 => continue,
                    _ => return Ok(Some((ALERT, record))),
                }
            }
            message.extend(record);
            let length = message
                .get(1..4)
                .map(|length| u32::from_be_bytes([0, length[0], length[1], length[2]]));
            if let Some(length) = length
                && message.len() >= length as usize + 4
            {
                message.truncate(length as usize + 4);
                return Ok(Some((HANDSHAKE, message)));
            }
            if message.len() > LONGEST {
                return Ok(None);
            }
        }
    });
    let foreign = || Error::Foreign("does not answer as TLS".to_owned());
    match answer.map_err(|error| Error::of(&error)) {
        Ok(Some((ALERT, alert))) => match alert[..] {
            [_, description] => Ok(Reply::Refused(format!("alert {description}"))),
            _ => Err(foreign()),
        },
        Ok(Some((_, message))) if message[0] == SERVER_HELLO => match ServerHello::read(&message[4..]) {
            Ok(hello) => Ok(Reply::Chosen(hello)),
            Err(_) => Err(foreign()),
        },
        Ok(_) => Err(foreign()),
        Err(Error::Closed) => Ok(Reply::Refused("closed".to_owned())),
        Err(error) => Err(error),
    }
}

fn vector8(out: &mut Vec<u8>, content: &[u8]) {
    out.push(content.len() as u8);
    out.extend(content);
}

fn vector16(out: &mut Vec<u8>, content: &[u8]) {
    out.extend((content.len() as u16).to_be_bytes());
    out.extend(content);
}

/// Numbers as a vector of a vector.
fn list(codes: impl Iterator<Item = u16>) -> Vec<u8> {
    let mut out = Vec::new();
    vector16(&mut out, &codes.flat_map(u16::to_be_bytes).collect::<Vec<_>>());
    out
}

/// A record with the hello (RFC 9846, section 4.1.2).
fn encode(offer: Offer<'_>, name: Option<&str>) -> Result<Vec<u8>, Error> {
    let mut random = [0; 64];
    aws_lc_rs::rand::fill(&mut random).map_err(|error| Error::Ours(error.to_string()))?;
    let newest = offer.version == Version::TLS13;
    let mut extensions = Vec::new();
    let mut extension = |kind: u16, content: &[u8]| {
        extensions.extend(kind.to_be_bytes());
        vector16(&mut extensions, content);
    };
    // server_name: an address is none (RFC 6066, section 3).
    if let Some(name) = name {
        let mut entry = vec![0];
        vector16(&mut entry, name.as_bytes());
        let mut names = Vec::new();
        vector16(&mut names, &entry);
        extension(0, &names);
    }
    extension(10, &list(offer.groups.iter().map(|group| group.0)));
    extension(11, &[1, 0]);
    extension(13, &list(SIGNATURES.iter().map(|known| known.code.0)));
    extension(23, &[]);
    extension(0xff01, &[0]);
    if newest {
        extension(43, &[2, 3, 4]);
        extension(45, &[1, 1]);
        extension(51, &[0, 0]);
    }
    let legacy = if newest { Version::TLS12 } else { offer.version };
    let mut body = legacy.0.to_be_bytes().to_vec();
    body.extend(&random[..32]);
    vector8(&mut body, &random[32..]);
    let ciphers = offer.ciphers.iter().flat_map(|cipher| cipher.0.to_be_bytes());
    vector16(&mut body, &ciphers.collect::<Vec<_>>());
    vector8(&mut body, &[0]);
    vector16(&mut body, &extensions);
    let mut message = vec![1, 0];
    vector16(&mut message, &body);
    let mut record = vec![HANDSHAKE, 3, 1];
    vector16(&mut record, &message);
    Ok(record)
}
