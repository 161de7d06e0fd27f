//! SOCKS, versions 4, 4A and 5 (RFC 1928, RFC 1929).

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::session::{Known, Progress, View};
use super::{Command, Hop, Place, ProxyProtocol, Secret, Stage};
use crate::cursor::Cursor;
use crate::{Seen, Side};

/// Bytes of a user's name in version 4, and of a name to be resolved.
const LONGEST: usize = 255;

/// Reason to stop at a part of a negotiation: incomplete, or invalid.
enum Halt {
    More,
    Not,
}

impl Halt {
    fn progress(self, known: &Known) -> Progress {
        match self {
            Self::More => Progress::More,
            // A proxy has answered: what it goes on with must be SOCKS.
            Self::Not if known.confirmed => Progress::Stop(Stage::Malformed),
            Self::Not => Progress::Not,
        }
    }
}

type Part<T> = Result<T, Halt>;

fn whole<T>(part: Option<T>) -> Part<T> {
    part.ok_or(Halt::More)
}

/// Reads version 5, all of it anew: it is short.
pub(super) fn five(view: &View<'_>, hop: &mut Hop, known: &mut Known) -> Progress {
    let read = negotiate_5(view, hop, known);
    read.unwrap_or_else(|halt| halt.progress(known))
}

fn negotiate_5(view: &View<'_>, hop: &mut Hop, known: &mut Known) -> Part<Progress> {
    let (mut client, mut server) = (Cursor::new(view.client), Cursor::new(view.server));
    is(client.u8(), 5)?;
    let offered = whole(client.vector8())?.rest();
    known.asked = view.client.len() - client.rest().len();
    is(server.u8(), 5)?;
    let method = whole(server.u8())?;
    // The request, or what an authentication method begins with.
    let follows = matches!(client.rest().first(), None | Some(5 | 1));
    if !follows || method != NONE_ACCEPTABLE && !offered.contains(&method) {
        return Err(Halt::Not);
    }
    known.confirmed = true;
    match method {
        NONE_ACCEPTABLE => return Ok(Progress::Stop(Stage::Refused(NONE_ACCEPTABLE.into()))),
        0 => {}
        2 => {
            let begin = view.client.len() - client.rest().len();
            is(client.u8(), 1)?;
            whole(client.vector8())?;
            whole(client.vector8())?;
            let end = view.client.len() - client.rest().len();
            known.asked = end;
            if let (None, Some((first, last))) = (&hop.secret, view.span(Side::Client, begin, end)) {
                hop.secret = Some(Seen::new(Secret::UserPassword, first, last));
            }
            is(server.u8(), 1)?;
            let status = whole(server.u8())?;
            if status != 0 {
                return Ok(Progress::Stop(Stage::Refused(status.into())));
            }
        }
        other => return Ok(Progress::Stop(Stage::Method(other))),
    }
    is(client.u8(), 5)?;
    hop.command = match whole(client.u8())? {
        1 => Command::Connect,
        2 => Command::Bind,
        3 => Command::UdpAssociate,
        _ => return Err(Halt::Not),
    };
    whole(client.u8())?;
    hop.destination = Some(place(&mut client)?);
    known.asked = view.client.len() - client.rest().len();
    let mut answers = if hop.command == Command::Bind { 2 } else { 1 };
    while answers > 0 {
        is(server.u8(), 5)?;
        let reply = whole(server.u8())?;
        whole(server.u8())?;
        let bound = place(&mut server)?;
        if reply != 0 {
            return Ok(Progress::Stop(Stage::Refused(reply.into())));
        }
        hop.bound = Some(bound);
        answers -= 1;
    }
    Ok(match hop.command {
        Command::UdpAssociate => Progress::Stop(Stage::Relay),
        _ => open(view, [client, server]),
    })
}

/// No acceptable method (RFC 1928, section 3).
const NONE_ACCEPTABLE: u8 = 0xff;

fn is(byte: Option<u8>, wanted: u8) -> Part<()> {
    if whole(byte)? == wanted { Ok(()) } else { Err(Halt::Not) }
}

/// Address type, address and port (RFC 1928, section 5).
fn place(cursor: &mut Cursor<'_>) -> Part<Place> {
    let address = match whole(cursor.u8())? {
        1 => IpAddr::from(whole(cursor.array::<4>())?),
        3 => {
            let name = whole(cursor.vector8())?.rest();
            return Ok(Place::name(name, whole(cursor.u16())?));
        }
        4 => IpAddr::from(whole(cursor.array::<16>())?),
        _ => return Err(Halt::Not),
    };
    Ok(Place::Socket(SocketAddr::new(address, whole(cursor.u16())?)))
}

/// Reads versions 4 and 4A.
pub(super) fn four(view: &View<'_>, hop: &mut Hop, known: &mut Known) -> Progress {
    let read = negotiate_4(view, hop, known);
    read.unwrap_or_else(|halt| halt.progress(known))
}

fn negotiate_4(view: &View<'_>, hop: &mut Hop, known: &mut Known) -> Part<Progress> {
    let (mut client, mut server) = (Cursor::new(view.client), Cursor::new(view.server));
    is(client.u8(), 4)?;
    hop.command = match whole(client.u8())? {
        1 => Command::Connect,
        2 => Command::Bind,
        _ => return Err(Halt::Not),
    };
    let port = whole(client.u16())?;
    let [a, b, c, d] = whole(client.array())?;
    if !text(&mut client)?.iter().all(u8::is_ascii_graphic) {
        return Err(Halt::Not);
    }
    // An address that cannot be one says that a name follows.
    hop.destination = Some(if [a, b, c] == [0; 3] && d != 0 {
        hop.protocol = ProxyProtocol::Socks4a;
        Place::name(text(&mut client)?, port)
    } else {
        Place::Socket(SocketAddr::new(Ipv4Addr::new(a, b, c, d).into(), port))
    });
    known.asked = view.client.len() - client.rest().len();
    let mut answers = if hop.command == Command::Bind { 2 } else { 1 };
    while answers > 0 {
        is(server.u8(), 0)?;
        let code = whole(server.u8())?;
        if !(0x5a..=0x5d).contains(&code) {
            return Err(Halt::Not);
        }
        let port = whole(server.u16())?;
        let address = IpAddr::from(whole(server.array::<4>())?);
        known.confirmed = true;
        if code != 0x5a {
            return Ok(Progress::Stop(Stage::Refused(code.into())));
        }
        hop.bound = Some(Place::Socket(SocketAddr::new(address, port)));
        answers -= 1;
    }
    Ok(open(view, [client, server]))
}

/// All that these have passed is read.
fn open(view: &View<'_>, [client, server]: [Cursor<'_>; 2]) -> Progress {
    Progress::Open([
        view.client.len() - client.rest().len(),
        view.server.len() - server.rest().len(),
    ])
}

/// The bytes before the next zero.
fn text<'a>(cursor: &mut Cursor<'a>) -> Part<&'a [u8]> {
    let rest = cursor.rest();
    let looked_at = &rest[..rest.len().min(LONGEST + 1)];
    let Some(end) = looked_at.iter().position(|byte| *byte == 0) else {
        return Err(if looked_at.len() > LONGEST {
            Halt::Not
        } else {
            Halt::More
        });
    };
    whole(cursor.take(end + 1))?;
    Ok(&rest[..end])
}
