//! The lines of a key log (RFC 9850), and of other files of keys.

use bartizan_wire::Side;
use bartizan_wire::keys::Epoch;
use data_encoding::HEXLOWER_PERMISSIVE;
use zeroize::Zeroizing;

use crate::ike_table::{self, IkeSecret};

/// Longest line that is read: the longest secret in hexadecimal is 96 digits, what is passed over (ECH configurations)
/// is longer.
const LONGEST_LINE: usize = 64 * 1024;
/// Bytes of the longest secret: an output of SHA-384.
const LONGEST_SECRET: usize = 48;
/// Bytes of the shortest: an output of SHA-256.
const SHORTEST_SECRET: usize = 32;

/// The use of a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Label {
    /// TLS 1.3: a traffic secret.
    Traffic(Side, Epoch),
    /// TLS 1.2: the master secret, which both directions' keys come from.
    Master,
}

impl Label {
    /// By its name; none for what opens nothing here, like secrets for exporters and of Encrypted ClientHello.
    fn named(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"CLIENT_EARLY_TRAFFIC_SECRET" => Self::Traffic(Side::Client, Epoch::Early),
            b"CLIENT_HANDSHAKE_TRAFFIC_SECRET" => Self::Traffic(Side::Client, Epoch::Handshake),
            b"SERVER_HANDSHAKE_TRAFFIC_SECRET" => Self::Traffic(Side::Server, Epoch::Handshake),
            b"CLIENT_TRAFFIC_SECRET_0" => Self::Traffic(Side::Client, Epoch::Application),
            b"SERVER_TRAFFIC_SECRET_0" => Self::Traffic(Side::Server, Epoch::Application),
            b"CLIENT_RANDOM" => Self::Master,
            _ => return None,
        })
    }
}

/// A secret, where it stands, and what it is for.
pub(crate) struct Secret {
    pub(crate) label: Label,
    pub(crate) client_random: [u8; 32],
    pub(crate) bytes: Zeroizing<Vec<u8>>,
    /// Line in its key log, from 1.
    pub(crate) line: u64,
}

/// A line that is none of a key log. It quotes nothing of the line, which may hold a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct LineError {
    /// Number of the line, from 1.
    pub line: u64,
    /// Its fault.
    pub what: &'static str,
}

/// The kind of a file of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// A key log of TLS.
    #[default]
    Tls,
    /// A table of IKE keys, as Wireshark has it.
    Ike,
}

/// A line's keys.
pub(crate) enum Read {
    Tls(Secret),
    Ike(IkeSecret, u64),
}

/// Reads a file of keys piece by piece.
#[derive(Default)]
pub struct KeyLog {
    format: Format,
    /// The line in the making.
    line: Zeroizing<Vec<u8>>,
    /// Lines that have ended.
    lines: u64,
    too_long: bool,
}

impl KeyLog {
    /// At the first byte.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            // As long as any line of a secret: a vector that grows leaves copies behind.
            line: Zeroizing::new(Vec::with_capacity(256)),
            ..Self::default()
        }
    }

    /// Takes the next bytes; gives each secret and each line that is none.
    pub(crate) fn push(&mut self, bytes: &[u8], give: &mut impl FnMut(Result<Read, LineError>)) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (text, ended) = match piece.split_last() {
                Some((b'\n', text)) => (text, true),
                _ => (piece, false),
            };
            if self.line.len() + text.len() > LONGEST_LINE {
                self.too_long = true;
            }
            if !self.too_long {
                let (held, longer) = (self.line.len(), self.line.len() + text.len());
                if longer > self.line.capacity() {
                    let mut roomier = Zeroizing::new(Vec::with_capacity(longer.next_power_of_two()));
                    roomier.extend_from_slice(&self.line[..held]);
                    self.line = roomier;
                }
                self.line.extend_from_slice(text);
            }
            if ended {
                self.end(give);
            }
        }
    }

    /// No more will come: a last line need not end.
    pub(crate) fn finish(&mut self, give: &mut impl FnMut(Result<Read, LineError>)) {
        if self.too_long || !self.line.is_empty() {
            self.end(give);
        }
    }

    fn end(&mut self, give: &mut impl FnMut(Result<Read, LineError>)) {
        self.lines += 1;
        let line = self.lines;
        let read = match self.format {
            _ if self.too_long => Err("longer than any line of keys"),
            Format::Tls => read(&self.line).map(|read| {
                let (label, client_random, bytes) = read?;
                Some(Read::Tls(Secret {
                    label,
                    client_random,
                    bytes,
                    line,
                }))
            }),
            Format::Ike => ike_table::read(&self.line).map(|read| Some(Read::Ike(read?, line))),
        };
        match read {
            Ok(Some(read)) => give(Ok(read)),
            Ok(None) => {}
            Err(what) => give(Err(LineError { line, what })),
        }
        self.too_long = false;
        self.line.iter_mut().for_each(|byte| *byte = 0);
        self.line.clear();
    }
}

type Line = (Label, [u8; 32], Zeroizing<Vec<u8>>);

/// A line's secret; none in a comment, an empty line, and one whose label is of no use here.
fn read(line: &[u8]) -> Result<Option<Line>, &'static str> {
    let line = line.trim_ascii();
    if line.is_empty() || line[0] == b'#' {
        return Ok(None);
    }
    let mut words = line.split(|byte| *byte == b' ');
    let (label, random, secret) = (words.next(), words.next(), words.next());
    let (Some(label), Some(random), Some(secret), None) = (label, random, secret, words.next()) else {
        return Err("not a label, a client random and a secret");
    };
    if !label.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') {
        return Err("its label is none");
    }
    let Some(label) = Label::named(label) else {
        return Ok(None);
    };
    let random = hexadecimal(random).filter(|bytes| bytes.len() == 32);
    let random = random.ok_or("its client random is not 64 hexadecimal digits")?;
    let secret = hexadecimal(secret).ok_or("its secret is not hexadecimal")?;
    if !(SHORTEST_SECRET..=LONGEST_SECRET).contains(&secret.len()) {
        return Err("its secret has the length of none");
    }
    let mut client_random = [0; 32];
    client_random.copy_from_slice(&random);
    Ok(Some((label, client_random, secret)))
}

/// The bytes that hexadecimal digits of either case stand for, in memory that is zeroized.
pub(crate) fn hexadecimal(text: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
    let mut bytes = Zeroizing::new(vec![0; HEXLOWER_PERMISSIVE.decode_len(text.len()).ok()?]);
    let length = HEXLOWER_PERMISSIVE.decode_mut(text, &mut bytes).ok()?;
    debug_assert_eq!(length, bytes.len());
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Seen = (Vec<(Label, u64, usize)>, Vec<LineError>);

    fn log(bytes: &[u8], size: usize) -> Seen {
        let mut log = KeyLog::new(Format::Tls);
        let mut read = Seen::default();
        let mut give = |one: Result<Read, LineError>| match one {
            Ok(Read::Tls(secret)) => read.0.push((secret.label, secret.line, secret.bytes.len())),
            Ok(Read::Ike(..)) => panic!("a key log has none"),
            Err(error) => read.1.push(error),
        };
        for piece in bytes.chunks(size) {
            log.push(piece, &mut give);
        }
        log.finish(&mut give);
        read
    }

    fn line(label: &str, random: &str, secret: &str) -> String {
        format!("{label} {random} {secret}")
    }

    #[test]
    fn secrets_are_read_by_their_labels_and_everything_else_is_passed_over() {
        let random = "ab".repeat(32);
        let text = [
            "# made by a test".to_owned(),
            String::new(),
            line("CLIENT_HANDSHAKE_TRAFFIC_SECRET", &random, &"0a".repeat(48)) + "\r",
            line("EXPORTER_SECRET", &random, &"0b".repeat(48)),
            line("SERVER_TRAFFIC_SECRET_0", &random, &"0C".repeat(32)),
            line("CLIENT_RANDOM", &random, &"0d".repeat(48)),
        ]
        .join("\n");
        let expected = vec![
            (Label::Traffic(Side::Client, Epoch::Handshake), 3, 48),
            (Label::Traffic(Side::Server, Epoch::Application), 5, 32),
            (Label::Master, 6, 48),
        ];
        for size in [1, 7, 100, 10_000] {
            assert_eq!(log(text.as_bytes(), size), (expected.clone(), Vec::new()));
        }
    }

    #[test]
    fn a_line_that_is_none_is_reported_by_its_number_and_never_quoted() {
        let (random, secret) = ("ab".repeat(32), "5e".repeat(32));
        let label = "SERVER_TRAFFIC_SECRET_0";
        for (text, what) in [
            (line(label, &random[1..], &secret), "client random"),
            (line(label, &random, &secret[1..]), "not hexadecimal"),
            (line(label, &random, &secret[2..]), "length of none"),
            (line(label, &random, "5e5e5e5exx"), "not hexadecimal"),
            (format!("{label} {random}"), "not a label"),
            (line(label, &random, &secret) + " more", "not a label"),
            (line("\u{1b}[31m", &random, &secret), "its label is none"),
            ("5e".repeat(40_000), "longer than any line"),
        ] {
            let (secrets, errors) = log(format!("#\n{text}\n").as_bytes(), 1000);
            assert!(secrets.is_empty());
            assert_eq!((errors.len(), errors[0].line), (1, 2));
            let reported = errors[0].to_string();
            assert!(reported.contains(what) && !reported.contains("5e5e"), "{reported}");
        }
    }

    #[test]
    fn a_line_cut_short_costs_itself_and_no_other() {
        let whole = line("SERVER_TRAFFIC_SECRET_0", &"ab".repeat(32), &"5e".repeat(32));
        let text = format!("{whole}\n{}", &whole[..whole.len() - 9]);
        let (secrets, errors) = log(text.as_bytes(), 33);
        assert_eq!((secrets.len(), errors.len(), errors[0].line), (1, 1, 2));
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_read_alike_and_never_panic(
            bytes in prop::collection::vec(any::<u8>(), 0..2000),
            size in 1..300usize,
        ) {
            prop_assert_eq!(log(&bytes, size), log(&bytes, bytes.len().max(1)));
        }
    }
}
