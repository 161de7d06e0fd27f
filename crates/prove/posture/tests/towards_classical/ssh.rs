//! SSH turned towards classical: the key exchange methods in plaintext.

use bartizan_posture::Posture;

use super::frame::Frame;
use super::judged::Subject;
use super::mutation::{Change, Mutation, Takes};

const KEX_INIT: u8 = 20;
const NEW_KEYS: u8 = 21;

/// Each with what it does.
pub(crate) fn mutations() -> Vec<Mutation> {
    let mutation = |name, change| Mutation {
        name,
        change,
        reaches: is_ssh,
        takes: Takes::Safety,
    };
    vec![
        mutation("SSH server has curve25519 only", methods(true, "curve25519-sha256")),
        mutation("SSH client offers P-256 only", methods(false, "ecdh-sha2-nistp256")),
        mutation("SSH methods nobody knows", methods(false, "mlkem9999")),
        mutation("SSH with a broken cipher", ciphers("3des-cbc,arcfour,des-cbc")),
        mutation("SSH with a cipher of no registry", ciphers("mine@example.org")),
        mutation("SSH packets to text", Box::new(readable_packets)),
        mutation("SSH_MSG_NEWKEYS dropped", Box::new(without_new_keys)),
    ]
}

fn is_ssh(_: &Subject, posture: &Posture) -> bool {
    posture.ssh_key_exchange.is_some()
}

/// The message in plaintext that a segment begins with: behind the length of packet and padding.
fn message(frame: &Frame<'_>) -> Option<u8> {
    frame.payload().get(5).copied().filter(|_| frame.protocol == 6)
}

/// Key exchange methods in what one end says it can do: post-quantum ones turned into another name of the same length.
fn methods(from_server: bool, to: &'static str) -> Box<dyn Fn(&Frame<'_>) -> Change> {
    Box::new(move |frame| {
        let of_server = frame.ends.is_some_and(|(source, _)| source.port() < 5000);
        if of_server != from_server || message(frame) != Some(KEX_INIT) {
            return Change::Keep;
        }
        let mut bytes = frame.bytes.to_vec();
        for name in [
            "mlkem768x25519-sha256",
            "sntrup761x25519-sha512@openssh.com",
            "sntrup761x25519-sha512",
        ] {
            let mut at = 0;
            while let Some(found) = bytes[at..]
                .windows(name.len())
                .position(|window| window == name.as_bytes())
            {
                // A list stays a list: the rest of the longer name becomes an unknown name.
                let rest = name.len() - to.len() - 1;
                let text = format!("{to},{}", "z".repeat(rest));
                bytes[at + found..at + found + name.len()].copy_from_slice(text.as_bytes());
                at += found + name.len();
            }
        }
        Change::to(frame, bytes)
    })
}

/// Ciphers in what both ends say they can do: the first of each list turned into others, as long.
fn ciphers(to: &'static str) -> Box<dyn Fn(&Frame<'_>) -> Change> {
    Box::new(move |frame| {
        if message(frame) != Some(KEX_INIT) {
            return Change::Keep;
        }
        let mut bytes = frame.bytes.to_vec();
        let name = b"chacha20-poly1305@openssh.com";
        let text = format!("{to},{}", "z".repeat(name.len() - to.len() - 1));
        while let Some(at) = bytes.windows(name.len()).position(|window| window == name) {
            bytes[at..at + name.len()].copy_from_slice(text.as_bytes());
        }
        Change::to(frame, bytes)
    })
}

/// Text in packets that are encrypted: the length before it is encrypted too, or short.
fn readable_packets(frame: &Frame<'_>) -> Change {
    let payload = frame.payload();
    let is_plain =
        payload.starts_with(b"SSH-") || matches!(message(frame), Some(1..50)) && payload.starts_with(&[0, 0]);
    if frame.protocol != 6 || payload.len() < 64 || is_plain {
        return Change::Keep;
    }
    let mut readable = payload.to_vec();
    super::tls::text(&mut readable);
    Change::to(frame, frame.with_payload(&readable))
}

/// SSH's new keys never come, from one end.
fn without_new_keys(frame: &Frame<'_>) -> Change {
    if message(frame) == Some(NEW_KEYS) {
        Change::Drop
    } else {
        Change::Keep
    }
}
