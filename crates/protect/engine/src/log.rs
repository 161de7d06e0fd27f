//! The daemon's log in charon's words, which tools that monitor a charon read. It goes into a file,
//! and to clients that listen.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use bartizan_ike::{Ends, Port, SaId, Transmit};
use bartizan_wire::ike::{Header, PayloadType};
use bartizan_wire::udp::IKE_NAT;
use time::OffsetDateTime;
use time::macros::format_description;

use crate::Daemon;
use crate::commands::Waiting;
use bartizan_ipsec::vici::Section;

/// Bytes that the file may have; then it begins anew.
const LARGEST: u64 = 16 << 20;

#[derive(Debug)]
pub(crate) struct Log {
    file: File,
    written: u64,
}

impl Log {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let file = File::options()
            .create(true)
            .write(true)
            .truncate(true)
            .mode(0o600)
            .open(path)?;
        Ok(Self { file, written: 0 })
    }

    fn write(&mut self, connection: &str, number: u32, line: &str) {
        if self.written > LARGEST && self.file.set_len(0).is_ok() && io::Seek::rewind(&mut self.file).is_ok() {
            self.written = 0;
        }
        let format = format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]");
        let time = OffsetDateTime::now_utc().format(&format).unwrap_or_default();
        let text = format!("{time} <{connection}|{number}> {line}\n");
        // A failed log write does not stop the daemon.
        if self.file.write_all(text.as_bytes()).is_ok() {
            self.written += text.len() as u64;
        }
    }
}

impl Daemon {
    /// A line about an IKE_SA.
    pub(crate) fn say(&mut self, id: SaId, line: &str) {
        let Some(sa) = self.sas.get(&id) else { return };
        let (connection, number) = (sa.connection().to_owned(), sa.number);
        self.say_of(&connection, number, line);
    }

    /// A line about an IKE_SA of this connection and number.
    pub(crate) fn say_of(&mut self, connection: &str, number: u32, line: &str) {
        self.log.write(connection, number, line);
        let message = Section::new()
            .with("group", "IKE")
            .with("level", "1")
            .with("ikesa-name", connection)
            .with("ikesa-uniqueid", number.to_string())
            .with("msg", line);
        self.control.event("log", &message);
        // Log lines of a connection go to the command that waits for it.
        let listening = self.waiting.iter().filter_map(|waiting| match waiting {
            Waiting::Initiate(initiate) if initiate.connection == connection => Some(initiate.client),
            _ => None,
        });
        let listening: Vec<_> = listening.collect();
        for client in listening {
            self.control.event_to(client, "control-log", message.clone());
        }
    }

    /// The IKE_SA of a message that this end sends or receives, by the SPI of this end.
    fn of_message(&self, header: &Header, is_sent: bool) -> Option<SaId> {
        self.endpoint
            .with_spi(match header.flags.is_from_initiator() == is_sent {
                true => header.initiator_spi,
                false => header.responder_spi,
            })
    }

    /// The IKE_SA that a received datagram names; what names none is not logged.
    pub(crate) fn of_datagram(&self, message: &[u8]) -> Option<SaId> {
        self.of_message(&Header::read(message).ok()?, false)
    }

    pub(crate) fn log_received(&mut self, id: SaId, ends: Ends, message: &[u8]) {
        let Ok(header) = Header::read(message) else { return };
        let line = format!(
            "received packet: from {} to {} ({} bytes)",
            shown(ends.remote),
            shown(ends.local),
            message.len()
        );
        self.say(id, &line);
        if let Some((number, total)) = fragment(&header, message) {
            self.say(id, &format!("received fragment #{number} of {total}"));
        }
    }

    pub(crate) fn log_sent(&mut self, ends: Ends, transmit: &Transmit) {
        let Ok(header) = Header::read(&transmit.datagram) else {
            return;
        };
        let Some(id) = self.of_message(&header, true) else {
            return;
        };
        if let Some((1, total)) = fragment(&header, &transmit.datagram) {
            self.say(
                id,
                &format!("splitting IKE message ({} bytes) into {total} fragments", header.length),
            );
        }
        let (mut from, to) = (ends.local, ends.to(transmit.port));
        if transmit.port == Port::Nat {
            from.set_port(IKE_NAT);
        }
        let bytes = transmit.datagram.len();
        let line = format!("sending packet: from {} to {} ({bytes} bytes)", shown(from), shown(to));
        self.say(id, &line);
    }
}

fn shown(socket: std::net::SocketAddr) -> String {
    format!("{}[{}]", socket.ip(), socket.port())
}

/// Which fragment a message is, and of how many (RFC 7383, section 2.5).
fn fragment(header: &Header, message: &[u8]) -> Option<(u16, u16)> {
    if header.next != PayloadType::ENCRYPTED_FRAGMENT {
        return None;
    }
    let content = message.get(Header::LENGTH + 4..)?.first_chunk::<4>()?;
    let [a, b, c, d] = *content;
    Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
}
