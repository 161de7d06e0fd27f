//! The view of an authenticator's other end of the frames of a port while wpa_supplicant answers
//! them: the group that the authenticator chose, and the CAK under which MKA runs. It decides
//! nothing, and says nothing of how authentication ended: any host on the wire can send such
//! frames.

use bartizan_registry::NamedGroup;
use bartizan_wire::eap::{BEGINS, EAP_TLS, REQUEST};
use bartizan_wire::eapol::{kind, pdu};
use bartizan_wire::mka;
use bartizan_wire::tls::ServerHello;

use super::message::{Incoming, Part};
use super::packet::Packet;
use crate::mka::Ckn;

/// ContentType handshake, and the type of a ServerHello in it (RFC 8446, sections 5.1 and 4).
const HANDSHAKE: u8 = 22;
const SERVER_HELLO: u8 = 2;

/// An authenticator's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// The key exchange group; none where no key is exchanged.
    pub group: Option<NamedGroup>,
    /// The cipher suite.
    pub cipher: u16,
}

/// Observer of an authentication.
#[derive(Debug, Default)]
pub struct EapObserver {
    incoming: Incoming,
    identifier: Option<u8>,
    hello: Option<Hello>,
}

impl EapObserver {
    /// The authenticator's last choice.
    #[must_use]
    pub const fn hello(&self) -> Option<Hello> {
        self.hello
    }

    /// Takes the payload of a frame; the name of the CAK where it is one of MKA.
    pub fn receive(&mut self, payload: &[u8]) -> Option<Ckn> {
        let pdu = pdu(payload).filter(|pdu| pdu.missing == 0)?;
        match pdu.kind {
            kind::MKA => {
                let (_, ckn) = mka::ckn(pdu.body)?;
                return Ckn::parse(&ckn.to_string());
            }
            kind::EAP => {}
            _ => return None,
        }
        let packet = Packet::read(pdu.body)?;
        if let (REQUEST, Some((EAP_TLS, data))) = (packet.code, packet.method)
            && self.identifier != Some(packet.identifier)
        {
            self.identifier = Some(packet.identifier);
            self.request(data);
        }
        None
    }

    fn request(&mut self, data: &[u8]) {
        if data.first().is_some_and(|flags| flags & BEGINS != 0) {
            *self = Self {
                identifier: self.identifier,
                ..Self::default()
            };
            return;
        }
        match self.incoming.take(data) {
            Part::Whole(message) => {
                if let Some(hello) = server_hello(&message) {
                    self.hello = Some(hello);
                }
            }
            Part::More => {}
            Part::Unfit => self.incoming = Incoming::default(),
        }
    }
}

/// The ServerHello at the beginning of a message of records, where it is one and chose.
fn server_hello(message: &[u8]) -> Option<Hello> {
    let (&[content, _, _, high, low], rest) = message.split_first_chunk::<5>()?;
    let record = rest.get(..usize::from(u16::from_be_bytes([high, low])))?;
    let (&[handshake, first, second, third], body) = record.split_first_chunk::<4>()?;
    let length = u32::from_be_bytes([0, first, second, third]);
    let body = body.get(..usize::try_from(length).ok()?)?;
    if (content, handshake) != (HANDSHAKE, SERVER_HELLO) {
        return None;
    }
    let hello = ServerHello::read(body)
        .ok()
        .filter(|hello| !hello.is_hello_retry_request())?;
    Some(Hello {
        group: hello.key_share.map(|share| share.group),
        cipher: hello.cipher_suite,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A handshake is read in the authenticator's tests.
    #[test]
    fn mkpdu_names_its_cak() {
        // Version, priority, flags and length; SCI, member, number of messages, algorithm, and the CAK's name (IEEE 802.1X, figure 11-8).
        let mut body = vec![3, 16, 0xf0, 30];
        body.extend([2, 0, 0, 0, 0, 1, 0, 1]);
        body.extend([7; 12]);
        body.extend([0, 0, 0, 1, 0, 0x80, 0xc2, 1]);
        body.extend([0x0a, 0x0b, 0, 0]);
        let mut payload = vec![3, kind::MKA, 0, body.len() as u8];
        payload.extend(&body);
        let saw = EapObserver::default().receive(&payload);
        assert_eq!(saw, Some(Ckn::parse("0a0b").unwrap()));
    }

    proptest! {
        #[test]
        fn any_frames_show_something_or_nothing(frames in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..80), 0..20)) {
            let mut observer = EapObserver::default();
            for mut frame in frames {
                if frame.len() > 12 {
                    let length = (frame.len() as u16 - 4).to_be_bytes();
                    let identifier = frame[5];
                    frame[..4].copy_from_slice(&[3, kind::EAP, length[0], length[1]]);
                    frame[4..8].copy_from_slice(&[REQUEST, identifier, length[0], length[1]]);
                    frame[8] = EAP_TLS;
                    frame[9] &= !BEGINS;
                }
                let _ = observer.receive(&frame);
            }
        }
    }
}
