//! A protection, or a tunnel that needs room as one does, by the name people write: `gtp-u`,
//! `vxlan`, `none`, `esp:aes256gcm16`, `esp:aes256-sha256,udp`, `macsec:gcm-aes-256`,
//! `tls:TLS_AES_256_GCM_SHA384`.

use std::str::FromStr;

use bartizan_registry::{
    Header, MacsecSuite, TransformKind, cipher_named, esp_encryption, esp_integrity, macsec_suite_named,
    transform_named,
};
use serde::Serialize;
use thiserror::Error;

use super::{Esp, EspCipher, IpVersion, Layout, Macsec, Mode, OverheadError, Part, Sci, Tls, UdpEncapsulation, least};
use crate::unit::Bytes;

bartizan_registry::made! {
    /// Protection of a link's frames.
    #[derive(Debug, Clone, Serialize)]
    pub struct Protection,
    /// Nothing.
    pub none() {
        name: String = "none".to_owned(),
        #[serde(skip)]
        kind: Kind = Kind::None,
    }
}

#[derive(Debug, Clone)]
enum Kind {
    None,
    Esp(Esp),
    Macsec(Macsec),
    Tls(Tls),
    Tunnel(Tunnel),
}

/// Headers in front of a packet that protect nothing.
#[derive(Debug, Clone)]
struct Tunnel {
    headers: Vec<Part>,
    /// IP version of the outer packet; none where the packet keeps its own.
    outer: Option<IpVersion>,
}

/// Why a name is no protection.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NameError {
    /// The word before the colon is none of those known.
    #[error(
        "`{0}` is no protection: it begins with none, esp, macsec, tls, gtp-u, vxlan, geneve, vlan, pppoe or ipv6-extension, such as esp:aes256gcm16"
    )]
    Protocol(String),
    /// The registry has no such cipher.
    #[error("{protocol} {}: names are those of `bartizan algorithms --kind {kind}`", lacking(.name))]
    Cipher {
        /// `ESP`, `MACsec` or `TLS`.
        protocol: &'static str,
        /// Requested name.
        name: String,
        /// The table of names.
        kind: &'static str,
    },
    /// A cipher that does not authenticate stands alone, or an AEAD with an integrity transform.
    #[error(
        "ESP with `{0}`: an AEAD stands alone, any other cipher with an integrity algorithm, such as aes256-sha256"
    )]
    Combination(String),
    /// A word behind a comma means nothing here.
    #[error("`{word}` is no option of {protocol}: options are {known}")]
    Word {
        /// `ESP`, `MACsec` or `TLS`.
        protocol: &'static str,
        /// Requested word.
        word: String,
        /// Known words.
        known: &'static str,
    },
}

fn lacking(name: &str) -> String {
    match name {
        "" => "needs a cipher behind a colon".to_owned(),
        name => format!("has no cipher `{name}`"),
    }
}

impl FromStr for Protection {
    type Err = NameError;

    fn from_str(name: &str) -> Result<Self, NameError> {
        let (protocol, rest) = name.split_once(':').unwrap_or((name, ""));
        let mut words = rest.split(',').map(str::trim);
        let cipher = words.next().unwrap_or_default();
        let kind = match protocol.trim() {
            "none" if rest.is_empty() => Kind::None,
            "esp" => Kind::Esp(esp(cipher, words)?),
            "macsec" => Kind::Macsec(macsec(cipher, words)?),
            "tls" => Kind::Tls(tls(cipher, words)?),
            other => match tunnel(other, rest)? {
                Some(tunnel) => Kind::Tunnel(tunnel),
                None => return Err(NameError::Protocol(shortened(name))),
            },
        };
        Ok(Self {
            name: name.trim().to_owned(),
            kind,
        })
    }
}

/// A tunnel by its name; none where no tunnel is called so.
fn tunnel(name: &str, rest: &str) -> Result<Option<Tunnel>, NameError> {
    let words: Vec<&str> = rest.split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    let version = match words.contains(&"ipv6") {
        true => IpVersion::V6,
        false => IpVersion::V4,
    };
    let known = |protocol, known: &'static [&'static str], text: &'static str| match words
        .iter()
        .find(|word| !known.contains(word))
    {
        None => Ok(()),
        Some(word) => Err(NameError::Word {
            protocol,
            word: shortened(word),
            known: text,
        }),
    };
    let in_udp = |headers: &[Header]| Tunnel {
        headers: [version.header(), Header::UDP]
            .iter()
            .chain(headers)
            .copied()
            .map(Part::header)
            .collect(),
        outer: Some(version),
    };
    let below = |header: Header| Tunnel {
        headers: vec![Part::header(header)],
        outer: None,
    };
    Ok(Some(match name {
        "gtp-u" => {
            known("GTP-U", &["ipv4", "ipv6", "no-container"], "ipv4, ipv6, no-container")?;
            // N3 and N9 mark the QoS flow of each packet (TS 38.415); S1-U has no container.
            in_udp(&[match words.contains(&"no-container") {
                true => Header::GTP_U,
                false => Header::GTP_U_EXTENDED,
            }])
        }
        "vxlan" => {
            known("VXLAN", &["ipv4", "ipv6"], "ipv4, ipv6")?;
            in_udp(&[Header::VXLAN, Header::ETHERNET])
        }
        "geneve" => {
            known("Geneve", &["ipv4", "ipv6"], "ipv4, ipv6")?;
            in_udp(&[Header::GENEVE, Header::ETHERNET])
        }
        "vlan" => {
            known("VLAN", &[], "none")?;
            below(Header::VLAN_TAG)
        }
        "pppoe" => {
            known("PPPoE", &[], "none")?;
            below(Header::PPPOE)
        }
        "ipv6-extension" => {
            let bytes = rest
                .parse()
                .ok()
                .filter(|bytes: &u32| bytes.is_multiple_of(8) && (8..=2048).contains(bytes));
            let bytes = bytes.ok_or_else(|| NameError::Word {
                protocol: "IPv6 extension headers",
                word: shortened(rest),
                known: "their bytes, a multiple of 8 up to 2048",
            })?;
            Tunnel {
                headers: vec![Part::added("IPv6 extension headers", bytes, "RFC 8200, section 4")],
                outer: None,
            }
        }
        _ => return Ok(None),
    }))
}

fn shortened(name: &str) -> String {
    name.chars().take(60).collect()
}

fn esp<'a>(cipher: &'a str, words: impl Iterator<Item = &'a str>) -> Result<Esp, NameError> {
    let mut esp = Esp {
        mode: Mode::Tunnel,
        udp: UdpEncapsulation::Direct,
        outer: IpVersion::V4,
        cipher: esp_cipher(cipher)?,
    };
    for word in words {
        match word {
            "tunnel" => esp.mode = Mode::Tunnel,
            "transport" => esp.mode = Mode::Transport,
            "udp" => esp.udp = UdpEncapsulation::InUdp,
            "ipv4" => esp.outer = IpVersion::V4,
            "ipv6" => esp.outer = IpVersion::V6,
            _ => {
                return Err(NameError::Word {
                    protocol: "ESP",
                    word: shortened(word),
                    known: "tunnel, transport, udp, ipv4, ipv6",
                });
            }
        }
    }
    Ok(esp)
}

/// A proposal of strongSwan (`aes256-sha256`, `aes128gcm16`), or with the mode's name (`aes256-cbc-sha256`, `aes256-gcm`).
fn esp_cipher(name: &str) -> Result<EspCipher, NameError> {
    let unknown = || NameError::Cipher {
        protocol: "ESP",
        name: shortened(name),
        kind: "ike",
    };
    let integrity =
        |name: &str| transform_named(TransformKind::Integrity, name).and_then(|known| esp_integrity(known.id));
    let (cipher, integrity) = match name.rsplit_once('-') {
        Some((cipher, last)) if integrity(last).is_some() => (cipher, integrity(last)),
        _ => (name, None),
    };
    // Key lengths have one size on the wire; the registry names that of 256 bits.
    let of_256 = ["128", "192"]
        .iter()
        .fold(cipher.to_ascii_lowercase(), |name, bits| name.replace(bits, "256"));
    let named =
        |name: &str| transform_named(TransformKind::Encryption, name).and_then(|known| esp_encryption(known.id));
    let encryption = [of_256.clone(), of_256.replace("cbc", ""), format!("{of_256}16")]
        .iter()
        .find_map(|name| named(name))
        .ok_or_else(unknown)?;
    EspCipher::new(encryption, integrity).ok_or_else(|| NameError::Combination(shortened(name)))
}

fn macsec<'a>(suite: &'a str, words: impl Iterator<Item = &'a str>) -> Result<Macsec, NameError> {
    let suite: &'static MacsecSuite = macsec_suite_named(suite).ok_or_else(|| NameError::Cipher {
        protocol: "MACsec",
        name: shortened(suite),
        kind: "macsec",
    })?;
    let mut sci = Sci::Sent;
    for word in words {
        match word {
            "sci" => sci = Sci::Sent,
            "no-sci" => sci = Sci::Omitted,
            _ => {
                return Err(NameError::Word {
                    protocol: "MACsec",
                    word: shortened(word),
                    known: "sci, no-sci",
                });
            }
        }
    }
    Ok(Macsec { suite, sci })
}

fn tls<'a>(cipher: &'a str, mut words: impl Iterator<Item = &'a str>) -> Result<Tls, NameError> {
    if let Some(word) = words.next() {
        return Err(NameError::Word {
            protocol: "TLS",
            word: shortened(word),
            known: "none",
        });
    }
    let cipher = cipher_named(cipher).ok_or_else(|| NameError::Cipher {
        protocol: "TLS",
        name: shortened(cipher),
        kind: "cipher-suite",
    })?;
    Ok(Tls { cipher })
}

impl Protection {
    /// As it was written.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns true for MACsec.
    #[must_use]
    pub const fn is_macsec(&self) -> bool {
        matches!(self.kind, Kind::Macsec(_))
    }

    /// Returns true if it adds nothing.
    #[must_use]
    pub fn is_none(&self) -> bool {
        matches!(self.kind, Kind::None)
    }

    /// Returns true for ESP in UDP.
    #[must_use]
    pub fn is_in_udp(&self) -> bool {
        matches!(&self.kind, Kind::Esp(esp) if esp.udp == UdpEncapsulation::InUdp)
    }

    /// The Ethernet frame (without check sequence) that is sent for an Ethernet frame of this size which carries an IP packet of this version.
    ///
    /// TLS is taken to put each packet's bytes behind the TCP header into one record.
    pub fn frame(&self, frame: Bytes, inner: IpVersion) -> Result<Layout, OverheadError> {
        let ethernet = Part::kept(Header::ETHERNET);
        match &self.kind {
            Kind::None => {
                let carried = least(frame, Header::ETHERNET, "Ethernet")?;
                Ok(Layout::of(vec![
                    ethernet,
                    Part::payload("payload of Ethernet", carried),
                ]))
            }
            Kind::Macsec(macsec) => macsec.frame(frame),
            Kind::Esp(esp) => {
                let packet = least(frame, Header::ETHERNET, "Ethernet")?;
                let mut parts = vec![ethernet];
                parts.extend(esp.packet(packet, inner)?.parts);
                Ok(Layout::of(parts))
            }
            Kind::Tunnel(tunnel) => {
                let packet = least(frame, Header::ETHERNET, "Ethernet")?;
                let mut parts = vec![ethernet];
                parts.extend(tunnel.headers.iter().cloned());
                parts.push(Part::payload("IP packet", packet));
                Ok(Layout::of(parts))
            }
            Kind::Tls(tls) => {
                let packet = least(frame, Header::ETHERNET, "Ethernet")?;
                let segment = least(packet, inner.header(), "IP")?;
                let content = least(segment, Header::TCP, "TCP")?;
                let mut parts = vec![ethernet, Part::kept(inner.header()), Part::kept(Header::TCP)];
                parts.extend(tls.records(content)?.parts);
                Ok(Layout::of(parts))
            }
        }
    }

    /// Bytes behind the Ethernet header that are sent for an IP packet of this size: another IP packet, or with MACsec tag, packet and check value.
    pub fn packet(&self, packet: Bytes, inner: IpVersion) -> Result<Bytes, OverheadError> {
        let ethernet = Bytes::from(Header::ETHERNET.bytes);
        Ok(self.frame(packet + ethernet, inner)?.total().beyond(ethernet))
    }

    /// The IP version of what is sent for a packet of this version.
    pub fn outer(&self, inner: IpVersion) -> IpVersion {
        match &self.kind {
            Kind::Esp(esp) if esp.mode == Mode::Tunnel => esp.outer,
            Kind::Tunnel(tunnel) => tunnel.outer.unwrap_or(inner),
            _ => inner,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sent(name: &str, frame: u32) -> u64 {
        let protection: Protection = name.parse().unwrap();
        protection
            .frame(Bytes::from(frame), IpVersion::V4)
            .unwrap()
            .total()
            .value()
    }

    #[test]
    fn names_of_strongswan_and_of_the_modes_mean_the_same() {
        for name in [
            "esp:aes256-sha256",
            "esp:aes256-cbc-sha256",
            "esp:aes128-sha256",
            "esp:AES256-CBC-SHA256",
        ] {
            assert_eq!(sent(name, 62), 138, "{name}");
        }
        for name in [
            "esp:aes256gcm16",
            "esp:aes128-gcm",
            "esp:chacha20poly1305",
            "esp:aes256-ccm",
        ] {
            assert_eq!(sent(name, 62), 118, "{name}");
        }
    }

    #[test]
    fn options_change_what_they_name() {
        // Tunnel: 20 outer + 8 + 8 + 48 + 2 to 52 + 16. Transport: 20 kept + 8 + 8 + 28 + 2 to 32 + 16.
        assert_eq!(sent("esp:aes256gcm16", 62), 14 + 20 + 8 + 8 + 52 + 16);
        assert_eq!(sent("esp:aes256gcm16,transport", 62), 14 + 20 + 8 + 8 + 32 + 16);
        assert_eq!(sent("esp:aes256gcm16,udp", 62), 118 + 8);
        assert_eq!(sent("esp:aes256gcm16,ipv6", 62), 118 + 20);
        assert_eq!(sent("esp:aes256gcm8", 62), 118 - 8);
        assert_eq!(sent("macsec:gcm-aes-128", 7678), 7678 + 32);
        assert_eq!(sent("macsec:gcm-aes-xpn-256", 7678), 7678 + 32);
        assert_eq!(sent("macsec:gcm-aes-128,no-sci", 7678), 7678 + 24);
        assert_eq!(sent("tls:TLS_AES_256_GCM_SHA384", 100), 100 + 5 + 1 + 16);
        assert_eq!(sent("tls:TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", 100), 100 + 5 + 8 + 16);
        assert_eq!(sent("tls:TLS_AES_128_CCM_8_SHA256", 100), 100 + 5 + 1 + 8);
        assert_eq!(sent("none", 62), 62);
    }

    #[test]
    fn what_is_no_protection_is_refused_with_what_there_is() {
        let refused = |name: &str| name.parse::<Protection>().unwrap_err().to_string();
        assert!(refused("ipsec").contains("none, esp, macsec, tls, gtp-u"));
        assert!(refused("esp:rot13").contains("ESP has no cipher `rot13`"));
        assert!(refused("macsec").contains("MACsec needs a cipher behind a colon: names are those of"));
        assert!(refused("esp:aes256").contains("an AEAD stands alone"));
        assert!(refused("esp:aes256gcm16-sha256").contains("an AEAD stands alone"));
        assert!(refused("esp:aes256gcm16,fast").contains("tunnel, transport, udp"));
        assert!(refused("macsec:gcm-aes-128,wan").contains("sci, no-sci"));
        assert!(refused("none:x").contains("`none:x` is no protection"));
        assert!(refused("vxlan:fast").contains("options are ipv4, ipv6"));
        for bytes in ["", "0", "12", "4096", "-8"] {
            assert!(refused(&format!("ipv6-extension:{bytes}")).contains("a multiple of 8"));
        }
    }

    #[test]
    fn a_frame_without_its_headers_is_refused() {
        let esp: Protection = "esp:aes256gcm16".parse().unwrap();
        let refused = esp.frame(Bytes::from(20_u32), IpVersion::V4).unwrap_err();
        assert_eq!(refused.to_string(), "a packet of 6 bytes: IP needs 20 at least");
        let refused = esp.frame(Bytes::from(70_000_u32), IpVersion::V4).unwrap_err();
        assert_eq!(refused.to_string(), "an IP packet of 69986 bytes: it has 65535 at most");
    }

    const ESP: [&str; 6] = [
        "esp:aes256-sha256",
        "esp:aes256-sha512,udp",
        "esp:aes256gcm16",
        "esp:aes256ccm8,transport",
        "esp:3des-sha1,ipv6",
        "esp:chacha20poly1305,udp,ipv6",
    ];

    proptest! {
        #[test]
        fn a_larger_frame_is_never_sent_smaller_and_padding_stays_below_a_block(frame in 34_u32..9000, which in 0..ESP.len()) {
            let protection: Protection = ESP[which].parse().unwrap();
            let layout = |frame: u32| protection.frame(Bytes::from(frame), IpVersion::V4).unwrap();
            let here = layout(frame);
            prop_assert!(layout(frame + 1).total() >= here.total());
            let padding: u64 = here.parts.iter().filter(|part| part.role == super::super::Role::Padding).map(|part| part.bytes.value()).sum();
            prop_assert!(padding < 16);
            prop_assert_eq!(here.total().value(), u64::from(frame) + here.overhead().value());
            // Payload, padding and trailer fill four bytes.
            let ciphertext = here.parts.iter().skip_while(|part| part.name != "initialization vector").skip(1);
            let filled: u64 = ciphertext.take_while(|part| part.name != "integrity check value").map(|part| part.bytes.value()).sum();
            prop_assert_eq!(filled % 4, 0);
        }

        #[test]
        fn macsec_adds_the_same_to_every_frame(frame in 14_u32..9000) {
            prop_assert_eq!(sent("macsec:gcm-aes-256", frame), u64::from(frame) + 32);
        }

        #[test]
        fn tls_adds_its_parts_once_for_each_record(content in 0_u32..100_000) {
            let tls = Tls { cipher: cipher_named("TLS_AES_256_GCM_SHA384").unwrap() };
            let records = u64::from(content.div_ceil(16_384).max(1));
            prop_assert_eq!(tls.records(Bytes::from(content)).unwrap().overhead().value(), records * 22);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = text.parse::<Protection>();
        }
    }
}
