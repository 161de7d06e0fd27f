//! Bytes and packets of an IKEv2 set-up, message by message (RFC 7296, RFC 7383, RFC 9242, RFC 9370).

use bartizan_registry::{Header, Signature, Transform};
use serde::{Serialize, Serializer};

use super::Certificates;
use super::fragments::ip_fragments;
use crate::overhead::IpVersion;
use crate::unit::Bytes;

/// An IKEv2 set-up as strongSwan sends it, AES-256-GCM protecting IKE.
#[derive(Debug, Clone, Serialize)]
pub struct IkeHandshake {
    /// The key exchange of IKE_SA_INIT, then those of IKE_INTERMEDIATE.
    #[serde(serialize_with = "names")]
    pub key_exchanges: Vec<&'static Transform>,
    /// The signature of both ends.
    #[serde(serialize_with = "scheme_name")]
    pub scheme: &'static Signature,
    /// Certificates that each end sends.
    pub certificates: Certificates,
    /// Bytes of IP packet above which a message goes in IKE fragments (strongSwan's `fragment_size`, by default 1280); none where IKE fragmentation is off.
    pub fragment_size: Option<Bytes>,
    /// The UDP port of what follows IKE_SA_INIT.
    pub port: Port,
    /// The IP version between the ends.
    pub ip: IpVersion,
}

/// The UDP port of IKE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub enum Port {
    /// 500: no NAT was found, and ESP is not in UDP.
    #[serde(rename = "500")]
    P500,
    /// 4500: behind NAT, or with ESP in UDP; four bytes of marker are in front of every message but IKE_SA_INIT (RFC 3948, section 2.2).
    #[serde(rename = "4500")]
    P4500,
}

fn names<S: Serializer>(transforms: &[&Transform], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(transforms.iter().map(|transform| transform.name))
}

fn scheme_name<S: Serializer>(scheme: &&Signature, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(scheme.name)
}

/// A message and the packets it goes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Message {
    /// Bytes of the message, unfragmented.
    pub bytes: Bytes,
    /// IKE fragments; 1 where there are none.
    pub ike_fragments: u64,
    /// IP fragments of it all; the number of packets on the wire.
    pub packets: u64,
    /// Bytes of these packets, headers of IP included.
    pub ip_bytes: Bytes,
}

/// A request and its response: one round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Exchange {
    /// Its name.
    pub name: &'static str,
    /// Sent by the initiator.
    pub request: Message,
    /// Sent by the responder.
    pub response: Message,
}

impl Exchange {
    /// IP packets in both directions.
    pub fn packets(&self) -> u64 {
        self.request.packets + self.response.packets
    }
}

/// Size of strongSwan 6.1.0's IKE_SA_INIT without key exchange data, with one proposal, as
/// captured: header, SA, nonce, NAT detection, notifications.
const INIT_REQUEST: u16 = 200;
/// The same of the response, with its certificate request.
const INIT_RESPONSE: u16 = 233;
/// Bytes that additional key exchanges add: the INTERMEDIATE_EXCHANGE_SUPPORTED notification, and
/// one transform each.
const INTERMEDIATE_SUPPORTED: u16 = 8;
const ADDITIONAL_TRANSFORM: u16 = 8;
/// An encrypted message without its payloads with AES-GCM: header 28, payload header 4, vector 8, pad length 1, check value 16 (RFC 7296, section 3.14; RFC 5282).
const ENCRYPTED: u16 = Header::IKE.bytes + Header::IKE_PAYLOAD.bytes + 8 + 1 + 16;
/// A KE payload without its data (RFC 7296, section 3.4).
const KE_PAYLOAD: u16 = Header::IKE_PAYLOAD.bytes + 4;
/// IKE_AUTH without certificates and signature: two identities of 6 bytes (14 each), CERTREQ 25, AUTH 21, SA 32, two traffic selectors (24 each), notifications 24.
const AUTH: u16 = 14 + 14 + 25 + 21 + 32 + 24 + 24 + 24;
/// A CERT payload without the certificate.
const CERT_PAYLOAD: u16 = Header::IKE_PAYLOAD.bytes + 1;

impl IkeHandshake {
    /// Bytes of an IP packet above which strongSwan sends IKE fragments by default (`fragment_size` of strongswan.conf).
    pub const FRAGMENT_SIZE: u16 = 1280;

    /// The exchanges, in order. None where the registry has no size of a key exchange or of the signature, or nothing fits into a packet of `mtu`.
    ///
    /// IKE_SA_INIT cannot be fragmented by IKE (RFC 7383, section 2.1): where it is larger than the MTU, IP cuts it. Sizes of IKE_SA_INIT and IKE_INTERMEDIATE are those
    /// of strongSwan's capture to the byte; IKE_AUTH depends on names in certificates and is right to some tens of bytes.
    pub fn exchanges(&self, mtu: Bytes) -> Option<Vec<Exchange>> {
        let (first, more) = self.key_exchanges.split_first()?;
        let additional = match more.len() {
            0 => 0,
            several => INTERMEDIATE_SUPPORTED + ADDITIONAL_TRANSFORM * u16::try_from(several).ok()?,
        };
        let init = |fixed: u16, data: u16| {
            self.message(
                Bytes::from(fixed) + Bytes::from(additional) + Bytes::from(data),
                mtu,
                Plain::Yes,
            )
        };
        let mut exchanges = vec![Exchange {
            name: "IKE_SA_INIT",
            request: init(INIT_REQUEST, first.initiator?)?,
            response: init(INIT_RESPONSE, first.responder?)?,
        }];
        for transform in more {
            let message =
                |data: u16| self.message(Bytes::from(ENCRYPTED + KE_PAYLOAD) + Bytes::from(data), mtu, Plain::No);
            exchanges.push(Exchange {
                name: "IKE_INTERMEDIATE",
                request: message(transform.initiator?)?,
                response: message(transform.responder?)?,
            });
        }
        let each = self.certificates.each(self.scheme)? + Bytes::from(CERT_PAYLOAD);
        let chain: Bytes = (0..self.certificates.chain).map(|_| each).sum();
        let proof = chain + Bytes::from(self.scheme.signature?) + Bytes::from(ENCRYPTED) + Bytes::from(AUTH);
        let message = self.message(proof, mtu, Plain::No)?;
        exchanges.push(Exchange {
            name: "IKE_AUTH",
            request: message,
            response: message,
        });
        Some(exchanges)
    }

    fn message(&self, bytes: Bytes, mtu: Bytes, plain: Plain) -> Option<Message> {
        let ip = Bytes::from(self.ip.header().bytes);
        let headers = ip + Bytes::from(Header::UDP.bytes);
        let marked = match self.port {
            Port::P500 => headers,
            Port::P4500 => headers + Bytes::from(Header::NON_ESP_MARKER.bytes),
        };
        let in_packet = match plain {
            Plain::Yes => headers + bytes,
            Plain::No => marked + bytes,
        };
        match (self.fragment_size, plain) {
            (Some(size), Plain::No) if in_packet > size => {
                let fixed = marked + Bytes::from(ENCRYPTED) + Bytes::from(Header::IKE_FRAGMENT.bytes);
                let content = bytes.beyond(Bytes::from(ENCRYPTED));
                let count = content.pieces_of(size.beyond(fixed))?;
                let packets = ip_fragments(size, mtu, self.ip)?.checked_mul(count)?;
                Some(Message {
                    bytes,
                    ike_fragments: count,
                    packets,
                    ip_bytes: content + times(fixed, count)? + times(ip, packets.checked_sub(count)?)?,
                })
            }
            _ => {
                let packets = ip_fragments(in_packet, mtu, self.ip)?;
                Some(Message {
                    bytes,
                    ike_fragments: 1,
                    packets,
                    ip_bytes: in_packet + times(ip, packets.checked_sub(1)?)?,
                })
            }
        }
    }
}

/// The same bytes so many times.
fn times(bytes: Bytes, count: u64) -> Option<Bytes> {
    Bytes::new(bytes.value().checked_mul(count)?).ok()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plain {
    Yes,
    No,
}

#[cfg(test)]
mod tests {
    use super::*;
    use bartizan_registry::{TransformKind, signature_named, transform_named};

    fn handshake(methods: &[&str], scheme: &str) -> IkeHandshake {
        let transform = |name: &&str| transform_named(TransformKind::KeyExchange, name).unwrap();
        IkeHandshake {
            key_exchanges: methods.iter().map(transform).collect(),
            scheme: signature_named(scheme).unwrap(),
            certificates: Certificates {
                chain: 1,
                extra: Bytes::from(Certificates::CAPTURED_EXTRA),
            },
            fragment_size: Some(Bytes::from(1280_u32)),
            port: Port::P4500,
            ip: IpVersion::V4,
        }
    }

    fn sizes(exchange: &Exchange) -> (u64, u64) {
        (exchange.request.bytes.value(), exchange.response.bytes.value())
    }

    #[test]
    fn exchanges_have_the_sizes_that_strongswan_was_captured_with() {
        // strongswan-6.1.0.pcap, situations 1 to 4.
        for (methods, expected) in [
            (["x25519"], (232, 265)),
            (["mlkem768"], (1384, 1321)),
            (["mlkem1024"], (1768, 1801)),
        ] {
            let exchanges = handshake(&methods, "ecdsa_secp256r1_sha256")
                .exchanges(Bytes::from(1500_u32))
                .unwrap();
            assert_eq!(sizes(&exchanges[0]), expected, "{methods:?}");
        }
        let hybrid = handshake(&["x25519", "mlkem768"], "ecdsa_secp256r1_sha256");
        let hybrid = hybrid.exchanges(Bytes::from(1500_u32)).unwrap();
        assert_eq!(sizes(&hybrid[0]), (248, 281));
        // Situation 3: the request in two fragments (1248 and 66 bytes), the response of 1153 in one.
        assert_eq!(
            (
                hybrid[1].name,
                hybrid[1].request.ike_fragments,
                hybrid[1].response.bytes.value()
            ),
            ("IKE_INTERMEDIATE", 2, 1153)
        );
        // As captured: UDP payloads of 1248 and 66 bytes with their markers, each behind 28 bytes of IP and UDP.
        assert_eq!(hybrid[1].request.ip_bytes.value(), 1248 + 66 + 2 * 32);
        assert_eq!(hybrid[1].response.ike_fragments, 1);
    }

    #[test]
    fn on_port_500_a_public_key_of_ml_kem_768_fits_into_one_packet() {
        // 20 + 8 + 1249 are 1277; with the marker 1281, and 1280 are the limit. As sa-setup-path recorded: 6 packets in all.
        let mut hybrid = handshake(&["x25519", "mlkem768"], "ecdsa_secp256r1_sha256");
        hybrid.port = Port::P500;
        let exchanges = hybrid.exchanges(Bytes::from(1500_u32)).unwrap();
        assert_eq!(exchanges[1].request.ike_fragments, 1);
        let packets = exchanges
            .iter()
            .map(|exchange| exchange.request.packets + exchange.response.packets);
        assert_eq!(packets.sum::<u64>(), 6);
    }

    #[test]
    fn ml_kem_1024_in_ike_sa_init_is_cut_by_ip_at_1500_and_not_at_9000() {
        let exchanges = handshake(&["mlkem1024"], "mldsa87");
        let packets = |mtu: u32| exchanges.exchanges(Bytes::from(mtu)).unwrap()[0].request.packets;
        assert_eq!((packets(1500), packets(9000)), (2, 1));
    }

    #[test]
    fn certificates_with_ml_dsa_go_in_ike_fragments() {
        let auth = |scheme| {
            handshake(&["x25519", "mlkem768"], scheme)
                .exchanges(Bytes::from(1500_u32))
                .unwrap()[2]
        };
        assert_eq!(auth("ecdsa_secp256r1_sha256").request.ike_fragments, 1);
        assert!(auth("mldsa65").request.ike_fragments > 5);
        assert!(auth("mldsa87").request.ike_fragments > auth("mldsa65").request.ike_fragments);
    }

    #[test]
    fn without_ike_fragmentation_ip_cuts() {
        let mut handshake = handshake(&["x25519"], "mldsa65");
        handshake.fragment_size = None;
        let auth = handshake.exchanges(Bytes::from(1500_u32)).unwrap()[1];
        assert_eq!(auth.request.ike_fragments, 1);
        // Behind 20 bytes of IP, which every fragment has: 8 of UDP, 4 of marker, the message.
        assert_eq!(
            auth.request.ip_bytes.value(),
            auth.request.bytes.value() + 12 + 20 * auth.request.packets
        );
        assert_eq!(auth.request.packets, (auth.request.bytes.value() + 12).div_ceil(1480));
    }
}
