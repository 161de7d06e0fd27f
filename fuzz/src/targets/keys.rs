//! Files of keys, and the secrets that a capture holds: where pieces begin decides nothing, no line
//! that is none is quoted, and what was read opens nothing by a panic.

use std::sync::Arc;

use bartizan_keys::{Added, Format, KeyLog, Keyring};
use bartizan_registry::CIPHERS;
use bartizan_wire::ike::{Header, Party};
use bartizan_wire::keys::{Epoch, Keys, TlsDirection};
use bartizan_wire::tls::Version;
use bartizan_wire::{CapturePart, CaptureReader, Limits, Observer, Side, Totals};

use super::{Everything, slices};

/// Lines whose keys are tried.
const TRIED: usize = 8;
/// Bytes of a record that keys are tried on.
const RECORD: usize = 300;

/// Results of all pieces.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sum {
    secrets: u64,
    beyond: u64,
    damaged: Vec<String>,
}

impl Sum {
    fn take(&mut self, added: &Added) {
        self.secrets += added.secrets;
        self.beyond += added.beyond;
        self.damaged.extend(added.damaged.iter().map(ToString::to_string));
    }
}

fn read(bytes: &[u8], format: Format, piece: usize) -> (Keyring, Sum) {
    let (keyring, mut log) = (Keyring::new(), KeyLog::new(format));
    let mut sum = Sum::default();
    for piece in bytes.chunks(piece) {
        sum.take(&keyring.add("keys", &mut log, Some(piece)));
    }
    sum.take(&keyring.add("keys", &mut log, None));
    (keyring, sum)
}

/// The same whole and in pieces; what is reported of a damaged line quotes nothing that may be a secret.
fn keyring(bytes: &[u8], format: Format) -> Keyring {
    let (keyring, whole) = read(bytes, format, bytes.len().max(1));
    let (pieces, sum) = read(bytes, format, 7);
    assert_eq!(whole, sum);
    assert_eq!(keyring.secrets(), pieces.secrets());
    assert!(keyring.secrets() <= whole.secrets);
    let digits = |word: &str| word.len() > 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    assert!(!whole.damaged.iter().any(|of_records| of_records.split(' ').any(digits)));
    keyring
}

/// A number of so many hexadecimal digits.
fn hexadecimal<const BYTES: usize>(word: &[u8]) -> Option<[u8; BYTES]> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    if word.len() != 2 * BYTES {
        return None;
    }
    let mut bytes = [0; BYTES];
    for (byte, pair) in bytes.iter_mut().zip(word.chunks_exact(2)) {
        *byte = u8::try_from(digit(pair[0])? << 4 | digit(pair[1])?).ok()?;
    }
    Some(bytes)
}

/// A key log (RFC 9850). Its keys are tried on its own text.
pub(super) fn key_log(bytes: &[u8]) {
    let keyring = keyring(bytes, Format::Tls);
    let words = bytes.split(u8::is_ascii_whitespace);
    let randoms = words
        .filter_map(hexadecimal::<32>)
        .filter(|random| keyring.knows_tls(random));
    for random in randoms.take(TRIED) {
        for cipher in CIPHERS {
            for (version, epoch) in [
                (Version::TLS12, Epoch::Application),
                (Version::TLS13, Epoch::Early),
                (Version::TLS13, Epoch::Handshake),
                (Version::TLS13, Epoch::Application),
            ] {
                for side in [Side::Client, Side::Server] {
                    let wanted = TlsDirection {
                        client_random: &random,
                        server_random: &random,
                        version,
                        cipher_suite: cipher.code,
                        side,
                        epoch,
                    };
                    for mut candidate in keyring.tls(&wanted) {
                        let mut body = bytes[..bytes.len().min(RECORD)].to_vec();
                        let length = body.len().to_be_bytes();
                        let header = [23, 3, 3, length[6], length[7]];
                        assert!(!candidate.key.open(u64::MAX, &header, &mut body), "text is a record");
                        candidate.key.update();
                    }
                }
            }
        }
    }
}

/// A table of IKE keys up to the first zero; behind it messages, each behind its length, on which all keys are tried.
pub(super) fn ike_keys(bytes: &[u8]) {
    opened_by_ike_keys(bytes);
}

/// Number of messages of such an input that its keys open.
pub fn opened_by_ike_keys(bytes: &[u8]) -> u64 {
    let mut count = 0;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    let (table, messages) = bytes.split_at(end);
    let keyring = keyring(table, Format::Ike);
    for line in table.split(|byte| *byte == b'\n').take(TRIED) {
        let mut fields = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let mut spi = || fields.next().and_then(hexadecimal::<8>).map(u64::from_be_bytes);
        let (Some(initiator), Some(responder)) = (spi(), spi()) else {
            continue;
        };
        for candidate in keyring.ike(initiator, responder) {
            for message in slices(messages.get(1..).unwrap_or_default()).take(TRIED) {
                for start in [0, Header::LENGTH + 4, message.len() + 1] {
                    for party in [Party::Initiator, Party::Responder] {
                        let opened = candidate.key.open(party, message, start);
                        count += u64::from(opened.is_some());
                        assert!(opened.is_none_or(|opened| opened.len() < message.len()));
                    }
                }
            }
        }
    }
    count
}

/// Totals observed, conversations judged, records opened, and secrets read.
fn capture(bytes: &[u8], piece: usize) -> (Totals, u64, u64, u64) {
    let (keyring, mut log) = (Arc::new(Keyring::new()), KeyLog::new(Format::Tls));
    let mut reader = CaptureReader::new();
    let mut observer = Observer::new(Limits::default()).with_keys(Arc::<Keyring>::clone(&keyring));
    let mut everything = Everything::default();
    'file: for piece in bytes.chunks(piece) {
        reader.push(piece);
        loop {
            match reader.next_part() {
                Ok(Some(CapturePart::Packet(packet))) => observer.observe(&packet, &mut everything),
                Ok(Some(CapturePart::KeyLog(secrets))) => {
                    keyring.add("the capture", &mut log, Some(secrets));
                    keyring.add("the capture", &mut log, Some(b"\n"));
                }
                Ok(None) => break,
                Err(_) => break 'file,
            }
        }
    }
    observer.finish_into(&mut everything);
    let opened = everything.opened;
    (observer.totals().clone(), everything.judge(), opened, keyring.secrets())
}

/// Number of records of TLS that the secrets of a capture open.
pub fn opened_by_secrets(bytes: &[u8]) -> u64 {
    let (_, _, opened, _) = capture(bytes, bytes.len().max(1));
    opened
}

/// A capture with secrets of its own (pcapng's Decryption Secrets Block), read to verdicts.
pub(super) fn secrets(bytes: &[u8]) {
    let whole = capture(bytes, bytes.len().max(1));
    assert_eq!(whole, capture(bytes, 7));
}
