//! Records of TLS (RFC 9846, section 5; RFC 5246, section 6.2.3.3).

use bartizan_registry::{Cipher, Header, TLS_RECORD_CONTENT, TlsVersion};
use serde::{Serialize, Serializer};

use super::{Layout, OverheadError, Part, Role, most};
use crate::unit::Bytes;

/// TLS protection of application data.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Tls {
    /// The cipher suite, an AEAD.
    #[serde(serialize_with = "by_name")]
    pub cipher: &'static Cipher,
}

fn by_name<S: Serializer>(cipher: &&Cipher, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(cipher.name)
}

/// Upper bound of one write: 64 MiB.
const WRITE_MOST: u64 = 1 << 26;

impl Tls {
    /// The records of one write of `content` bytes: as many as 2^14 bytes of content each need. No padding, as every common library sends.
    pub fn records(&self, content: Bytes) -> Result<Layout, OverheadError> {
        most(content, WRITE_MOST, "a write")?;
        let records = content
            .pieces_of(Bytes::from(TLS_RECORD_CONTENT))
            .unwrap_or_default()
            .max(1);
        // At most 2^26 / 2^14 records.
        let each = |bytes: u64| Bytes::from((bytes * records) as u32);
        let header = |header: Header| {
            let part = Part::header(header);
            Part {
                bytes: each(part.bytes.value()),
                ..part
            }
        };
        let mut parts = vec![header(Header::TLS_RECORD)];
        let document = self.cipher.status.document;
        parts.push(Part::added(
            "explicit nonce",
            each(u64::from(self.cipher.explicit_nonce())),
            document,
        ));
        parts.push(Part::payload("content", content));
        if self.cipher.version == TlsVersion::Tls13 {
            parts.push(header(Header::TLS_CONTENT_TYPE));
        }
        parts.push(Part {
            role: Role::Added,
            ..Part::added("authentication tag", each(u64::from(self.cipher.tag())), document)
        });
        Ok(Layout::of(parts))
    }
}
