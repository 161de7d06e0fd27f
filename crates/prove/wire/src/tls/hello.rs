//! ClientHello, ServerHello and HelloRetryRequest (RFC 9846, section 4.1).

use bartizan_registry::{NamedGroup, SignatureScheme};

use super::Version;
use crate::Side;
use crate::allocation::allocated;
use crate::cursor::Cursor;
use crate::share::{self, NotAKey};

/// Items kept of one list; OpenSSL, with everything switched on, sends under 100. More are counted in
/// [`ClientHello::omitted`].
const LIST: usize = 256;
/// Bytes kept of a server name: no DNS name is longer.
const SERVER_NAME: usize = 255;

/// Extension types.
mod extension {
    pub(super) const SERVER_NAME: u16 = 0;
    pub(super) const SUPPORTED_GROUPS: u16 = 10;
    pub(super) const SIGNATURE_ALGORITHMS: u16 = 13;
    pub(super) const ALPN: u16 = 16;
    pub(super) const PRE_SHARED_KEY: u16 = 41;
    pub(super) const EARLY_DATA: u16 = 42;
    pub(super) const SUPPORTED_VERSIONS: u16 = 43;
    pub(super) const PSK_KEY_EXCHANGE_MODES: u16 = 45;
    pub(super) const SIGNATURE_ALGORITHMS_CERT: u16 = 50;
    pub(super) const KEY_SHARE: u16 = 51;
    pub(super) const ENCRYPTED_CLIENT_HELLO: u16 = 0xfe0d;
}

/// The random that makes a ServerHello a HelloRetryRequest: SHA-256 of "HelloRetryRequest" (RFC 9846, section 4.1.3).
pub(super) const HELLO_RETRY_REQUEST: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91, 0xc2, 0xa2, 0x11,
    0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// Transport of a ClientHello: over datagrams it has a cookie.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Transport {
    Stream,
    Datagrams,
}

/// A message that does not follow its standard; names the part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub &'static str);

bartizan_registry::made! {
    /// A key share: its group, and how long the key exchange data is. The data itself is of no use to a bystander.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct KeyShare, new(group: NamedGroup, side: Side, data: &[u8]) {
        /// The group.
        pub group: NamedGroup = group,
        /// Bytes of key exchange data.
        // A vector behind a two-byte length is at most 65535 bytes.
        pub length: u16 = data.len() as u16,
        /// The reason for which they are no key of a post-quantum group.
        pub fault: Option<NotAKey> = share::of_group(group, side, data),
    }
}

/// A session id, at most 32 bytes. It stays where it is: of a million connections each has two.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct SessionId {
    bytes: [u8; Self::LONGEST],
    length: u8,
}

impl SessionId {
    const LONGEST: usize = 32;

    /// None where it is longer than any.
    pub fn new(id: &[u8]) -> Option<Self> {
        let mut bytes = [0; Self::LONGEST];
        bytes.get_mut(..id.len())?.copy_from_slice(id);
        let length = id.len() as u8;
        Some(Self { bytes, length })
    }
}

impl std::ops::Deref for SessionId {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }
}

impl std::fmt::Debug for SessionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// A client's offer. Lists are in the order sent, GREASE included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientHello {
    /// `legacy_version`; what counts is [`supported_versions`](Self::supported_versions).
    pub legacy_version: Version,
    /// The random: what a ledger knows this handshake by.
    pub random: [u8; 32],
    /// In TLS 1.2 it names the session to resume.
    pub session_id: SessionId,
    /// Cipher suites.
    pub cipher_suites: Vec<u16>,
    /// `server_name`; bytes that are not UTF-8 are replaced.
    pub server_name: Option<String>,
    /// Application protocols; bytes that are not UTF-8 are replaced.
    pub alpn: Vec<String>,
    /// `supported_versions`; empty where the client knows nothing above TLS 1.2.
    pub supported_versions: Vec<Version>,
    /// `supported_groups`.
    pub supported_groups: Vec<NamedGroup>,
    /// `key_share`.
    pub key_shares: Vec<KeyShare>,
    /// `signature_algorithms`.
    pub signature_algorithms: Vec<SignatureScheme>,
    /// `signature_algorithms_cert`; empty where one list serves both.
    pub signature_algorithms_cert: Vec<SignatureScheme>,
    /// Number of PSK identities in `pre_shared_key`: sessions the client wants to resume.
    pub pre_shared_keys: usize,
    /// True if `early_data` is present: application data follows at once.
    pub early_data: bool,
    /// True for the outer hello of Encrypted ClientHello, whose offer may differ from that of the
    /// inner one.
    pub encrypted_client_hello: bool,
    /// Items left out of the lists above because there were too many.
    pub omitted: usize,
    /// Bytes of the message, with its header.
    pub length: usize,
}

/// A server's choice: ServerHello or HelloRetryRequest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerHello {
    /// The version chosen: that of `supported_versions`, or else of the message.
    pub version: Version,
    /// The random.
    pub random: [u8; 32],
    /// Echoed in TLS 1.3, in TLS 1.2 equal to the client's where a session is resumed.
    pub session_id: SessionId,
    /// Cipher suite.
    pub cipher_suite: u16,
    /// The group chosen; in a HelloRetryRequest the group asked for, with no data.
    pub key_share: Option<KeyShare>,
    /// Index of the chosen PSK among those offered.
    pub pre_shared_key: Option<u16>,
    /// Application protocol; TLS 1.3 encrypts it.
    pub alpn: Option<String>,
    /// Bytes of the message, with its header.
    pub length: usize,
}

impl ServerHello {
    /// Returns true if this asks the client for another ClientHello.
    #[must_use]
    pub fn is_hello_retry_request(&self) -> bool {
        self.random == HELLO_RETRY_REQUEST
    }

    /// Reads the body of a ServerHello.
    ///
    /// # Errors
    /// The part that does not follow RFC 9846, section 4.1.3.
    pub fn read(body: &[u8]) -> Result<Self, Malformed> {
        let fail = Malformed("ServerHello");
        let mut cursor = Cursor::new(body);
        let legacy_version = Version(cursor.u16().ok_or(fail)?);
        let random = cursor.random().ok_or(fail)?;
        let mut hello = Self {
            version: legacy_version,
            random,
            session_id: session_id(&mut cursor)?,
            cipher_suite: cursor.u16().ok_or(fail)?,
            key_share: None,
            pre_shared_key: None,
            alpn: None,
            length: body.len() + 4,
        };
        // The compression method.
        cursor.u8().ok_or(fail)?;
        let retry = hello.is_hello_retry_request();
        extensions(cursor, |kind, mut data| {
            match kind {
                extension::SUPPORTED_VERSIONS => hello.version = Version(data.u16()?),
                extension::KEY_SHARE => {
                    let group = NamedGroup(data.u16()?);
                    let share = if retry { &[] } else { data.vector16()?.rest() };
                    hello.key_share = Some(KeyShare::new(group, Side::Server, share));
                }
                extension::PRE_SHARED_KEY => hello.pre_shared_key = Some(data.u16()?),
                extension::ALPN => hello.alpn = Some(text(data.vector16()?.vector8()?.rest())),
                _ => return Some(()),
            }
            // A value that is read here must fill its extension, or another reader could see
            // something else in it.
            (kind == extension::ALPN || data.is_empty()).then_some(())
        })?;
        Ok(hello)
    }
}

impl ClientHello {
    /// Bytes its lists hold.
    pub(crate) fn held(&self) -> usize {
        let two = [
            self.cipher_suites.len(),
            self.supported_versions.len(),
            self.supported_groups.len(),
            3 * self.key_shares.len(),
            self.signature_algorithms.len(),
            self.signature_algorithms_cert.len(),
        ];
        let names = self.alpn.iter().map(|name| allocated(name.capacity()));
        two.into_iter().map(|count| allocated(2 * count)).sum::<usize>()
            + allocated(self.alpn.len() * size_of::<String>())
            + names.sum::<usize>()
            + allocated(self.server_name.as_ref().map_or(0, String::capacity))
    }

    /// Returns true if the client offers this version.
    #[must_use]
    pub fn offers_version(&self, version: Version) -> bool {
        if self.supported_versions.is_empty() {
            return match version.is_dtls() {
                // Its versions count down (RFC 6347, section 4.1).
                true => self.legacy_version.is_dtls() && self.legacy_version <= version,
                false => self.legacy_version >= version,
            };
        }
        self.supported_versions.contains(&version)
    }

    /// Reads the body of a ClientHello.
    ///
    /// # Errors
    /// The part that does not follow RFC 9846, section 4.1.2.
    pub fn read(body: &[u8]) -> Result<Self, Malformed> {
        Self::read_as(body, Transport::Stream)
    }

    /// Reads the body of a ClientHello of DTLS.
    ///
    /// # Errors
    /// The part that does not follow RFC 6347, section 4.2.1, or RFC 9147, section 5.3.
    pub(crate) fn read_dtls(body: &[u8]) -> Result<Self, Malformed> {
        Self::read_as(body, Transport::Datagrams)
    }

    fn read_as(body: &[u8], transport: Transport) -> Result<Self, Malformed> {
        let fail = Malformed("ClientHello");
        let mut cursor = Cursor::new(body);
        let mut omitted = 0;
        let legacy_version = Version(cursor.u16().ok_or(fail)?);
        let random = cursor.random().ok_or(fail)?;
        let session_id = session_id(&mut cursor)?;
        if transport == Transport::Datagrams {
            // The cookie.
            cursor.vector8().ok_or(fail)?;
        }
        let mut hello = Self {
            legacy_version,
            random,
            session_id,
            cipher_suites: list(cursor.vector16().ok_or(fail)?, Cursor::u16, &mut omitted).ok_or(fail)?,
            server_name: None,
            alpn: Vec::new(),
            supported_versions: Vec::new(),
            supported_groups: Vec::new(),
            key_shares: Vec::new(),
            signature_algorithms: Vec::new(),
            signature_algorithms_cert: Vec::new(),
            pre_shared_keys: 0,
            early_data: false,
            encrypted_client_hello: false,
            omitted: 0,
            length: body.len() + 4,
        };
        // Compression methods.
        cursor.vector8().ok_or(fail)?;
        extensions(cursor, |kind, mut data| {
            let omitted = &mut omitted;
            match kind {
                extension::SERVER_NAME => hello.server_name = server_name(&mut data)?,
                extension::SUPPORTED_GROUPS => {
                    hello.supported_groups = list(data.vector16()?, |item| item.u16().map(NamedGroup), omitted)?;
                }
                extension::SIGNATURE_ALGORITHMS => {
                    hello.signature_algorithms =
                        list(data.vector16()?, |item| item.u16().map(SignatureScheme), omitted)?;
                }
                extension::SIGNATURE_ALGORITHMS_CERT => {
                    hello.signature_algorithms_cert =
                        list(data.vector16()?, |item| item.u16().map(SignatureScheme), omitted)?;
                }
                extension::ALPN => {
                    hello.alpn = list(data.vector16()?, |item| Some(text(item.vector8()?.rest())), omitted)?;
                }
                extension::SUPPORTED_VERSIONS => {
                    hello.supported_versions = list(data.vector8()?, |item| item.u16().map(Version), omitted)?;
                }
                extension::PSK_KEY_EXCHANGE_MODES => {
                    data.vector8()?;
                }
                extension::KEY_SHARE => hello.key_shares = list(data.vector16()?, key_share, omitted)?,
                extension::PRE_SHARED_KEY => {
                    let mut identities = data.vector16()?;
                    while !identities.is_empty() {
                        identities.vector16()?;
                        identities.take(4)?;
                        hello.pre_shared_keys += 1;
                    }
                    // The binders.
                    data.vector16()?;
                }
                extension::EARLY_DATA => hello.early_data = true,
                extension::ENCRYPTED_CLIENT_HELLO => {
                    // Zero marks the outer hello (RFC 9849, section 5); the rest is sealed.
                    hello.encrypted_client_hello = data.u8()? == 0;
                    return Some(());
                }
                _ => return Some(()),
            }
            data.is_empty().then_some(())
        })?;
        hello.omitted = omitted;
        Ok(hello)
    }
}

/// A server's extensions in protected messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct EncryptedExtensions {
    /// The application protocol chosen.
    pub(super) alpn: Option<String>,
}

impl EncryptedExtensions {
    /// Reads the body of the message (RFC 9846, section 4.3.1).
    pub(super) fn read(body: &[u8]) -> Result<Self, Malformed> {
        let mut read = Self::default();
        extensions(Cursor::new(body), |kind, mut data| {
            if kind == extension::ALPN {
                read.alpn = Some(text(data.vector16()?.vector8()?.rest()));
            }
            Some(())
        })?;
        Ok(read)
    }
}

fn session_id(cursor: &mut Cursor<'_>) -> Result<SessionId, Malformed> {
    let id = cursor.vector8().ok_or(Malformed("session id"))?.rest();
    SessionId::new(id).ok_or(Malformed("session id over 32 bytes"))
}

/// Reads each extension; `read` gives none where its data is not well formed.
fn extensions<'a>(
    mut cursor: Cursor<'a>,
    mut read: impl FnMut(u16, Cursor<'a>) -> Option<()>,
) -> Result<(), Malformed> {
    if cursor.is_empty() {
        // TLS 1.2 and older need not have any.
        return Ok(());
    }
    let mut block = cursor.vector16().ok_or(Malformed("extensions"))?;
    if !cursor.is_empty() {
        return Err(Malformed("bytes behind the extensions"));
    }
    let mut known = 0u64;
    while !block.is_empty() {
        let kind = block.u16().ok_or(Malformed("extensions"))?;
        let data = block.vector16().ok_or(Malformed("extensions"))?;
        // All that are read here but one are below 64. Two of a kind would leave open which one the peer obeys.
        if let Some(bit) = 1u64.checked_shl(kind.into()) {
            if known & bit != 0 {
                return Err(Malformed("an extension that appears twice"));
            }
            known |= bit;
        }
        read(kind, data).ok_or(Malformed(name(kind)))?;
    }
    Ok(())
}

fn name(kind: u16) -> &'static str {
    match kind {
        extension::SERVER_NAME => "extension server_name",
        extension::SUPPORTED_GROUPS => "extension supported_groups",
        extension::SIGNATURE_ALGORITHMS => "extension signature_algorithms",
        extension::ALPN => "extension application_layer_protocol_negotiation",
        extension::PRE_SHARED_KEY => "extension pre_shared_key",
        extension::EARLY_DATA => "extension early_data",
        extension::SUPPORTED_VERSIONS => "extension supported_versions",
        extension::PSK_KEY_EXCHANGE_MODES => "extension psk_key_exchange_modes",
        extension::SIGNATURE_ALGORITHMS_CERT => "extension signature_algorithms_cert",
        extension::KEY_SHARE => "extension key_share",
        extension::ENCRYPTED_CLIENT_HELLO => "extension encrypted_client_hello",
        _ => "extension",
    }
}

/// Reads a vector to its end, keeping the first [`LIST`] items.
fn list<'a, T>(
    mut cursor: Cursor<'a>,
    mut item: impl FnMut(&mut Cursor<'a>) -> Option<T>,
    omitted: &mut usize,
) -> Option<Vec<T>> {
    let mut items = Vec::new();
    while !cursor.is_empty() {
        let value = item(&mut cursor)?;
        if items.len() < LIST {
            items.push(value);
        } else {
            *omitted += 1;
        }
    }
    // A million connections may live: what a vector keeps for growing adds up.
    items.shrink_to_fit();
    Some(items)
}

fn key_share(cursor: &mut Cursor<'_>) -> Option<KeyShare> {
    let group = NamedGroup(cursor.u16()?);
    Some(KeyShare::new(group, Side::Client, cursor.vector16()?.rest()))
}

/// The first `host_name` (RFC 6066, section 3).
fn server_name(data: &mut Cursor<'_>) -> Option<Option<String>> {
    let mut names = data.vector16()?;
    let mut found = None;
    while !names.is_empty() {
        let kind = names.u8()?;
        let name = names.vector16()?.rest();
        if kind == 0 && found.is_none() {
            found = Some(text(&name[..name.len().min(SERVER_NAME)]));
        }
    }
    Some(found)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests;
