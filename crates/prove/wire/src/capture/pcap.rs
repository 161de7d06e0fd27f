//! The classic format: a 24-byte header, then records (draft-ietf-opsawg-pcap).

use super::{CaptureError, LARGEST_BLOCK, Order, Record, Step};
use crate::Timestamp;
use crate::link::LinkType;

/// Bytes of the file header.
pub(super) const HEADER: usize = 24;
/// Bytes of a record's header.
const RECORD: usize = 16;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// A variant of the 1990s with longer record headers.
const KUZNETSOV: u32 = 0xa1b2_cd34;

/// Properties of all records, from the file header.
pub(super) struct Header {
    order: Order,
    /// Nanoseconds in one unit of a record's second time field.
    unit: u32,
    link: LinkType,
}

impl Header {
    /// Reads the file header; none while it is not complete.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Self>, CaptureError> {
        let Some(&magic) = bytes.first_chunk::<4>() else {
            return Ok(None);
        };
        let (order, number) = if magic[0] == 0xa1 {
            (Order::Big, u32::from_be_bytes(magic))
        } else {
            (Order::Little, u32::from_le_bytes(magic))
        };
        let unit = match number {
            MICROSECONDS => 1000,
            NANOSECONDS => 1,
            KUZNETSOV => {
                return Err(CaptureError::Unsupported {
                    what: "the \"modified\" format of libpcap 0.4",
                });
            }
            _ => return Err(compressed(magic).unwrap_or(CaptureError::NotACapture { magic })),
        };
        let Some(header) = bytes.first_chunk::<HEADER>() else {
            return Ok(None);
        };
        let major = order.u16([header[4], header[5]]);
        if major != 2 {
            return Err(CaptureError::Unsupported {
                what: "a major version other than 2",
            });
        }
        let network = order.u32([header[20], header[21], header[22], header[23]]);
        // The upper half says how long a frame check sequence is; the lower half is the link type.
        let link = LinkType(network as u16);
        Ok(Some(Self { order, unit, link }))
    }

    /// Reads the record at `offset` of the file, or reports that it is incomplete.
    pub(super) fn record(&self, bytes: &[u8], offset: u64) -> Result<Step, CaptureError> {
        let Some(header) = bytes.first_chunk::<RECORD>() else {
            return Ok(Step::More);
        };
        let [seconds, fraction, captured, original_length] = [0, 4, 8, 12].map(|at| {
            self.order
                .u32([header[at], header[at + 1], header[at + 2], header[at + 3]])
        });
        if captured > LARGEST_BLOCK {
            return Err(CaptureError::Damaged {
                offset,
                what: format!("a record claims {captured} bytes"),
            });
        }
        let length = RECORD + captured as usize;
        if bytes.len() < length {
            return Ok(Step::More);
        }
        let time = u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * u64::from(self.unit);
        Ok(Step::Packet {
            length,
            record: Record {
                time: Timestamp(time),
                link: self.link,
                data: RECORD..length,
                original_length: original_length.max(captured),
                interface: 0,
            },
        })
    }
}

fn compressed(magic: [u8; 4]) -> Option<CaptureError> {
    let with = match magic {
        [0x1f, 0x8b, _, _] => "gzip",
        [0x28, 0xb5, 0x2f, 0xfd] => "zstd",
        [0xfd, b'7', b'z', b'X'] => "xz",
        [b'B', b'Z', b'h', _] => "bzip2",
        [0x04, 0x22, 0x4d, 0x18] => "lz4",
        _ => return None,
    };
    Some(CaptureError::Compressed { with })
}
