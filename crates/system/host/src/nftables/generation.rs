//! Generation and counters of the packet filter from the kernel itself, without a listing by `nft`
//! (linux/netfilter/nf_tables.h).

use std::collections::BTreeMap;
use std::io;

use crate::Error;
use crate::netlink::{ACKNOWLEDGE, DUMP, exchange, request};

const SUBSYSTEM: u16 = 10 << 8;
const GET_GENERATION: u16 = SUBSYSTEM | 16;
const GET_OBJECT: u16 = SUBSYSTEM | 19;
const INET: u8 = 1;
/// Attributes of a generation, of an object, and of a counter in an object.
const GENERATION: u16 = 1;
const TABLE: u16 = 1;
const NAME: u16 = 2;
const TYPE: u16 = 3;
const DATA: u16 = 4;
const PACKETS: u16 = 2;
/// The type of object that a counter is.
const COUNTER: u32 = 1;
/// Length of the header of every message of the subsystem, and of an attribute.
const HEADER: usize = 4;

/// The number of the rules' generation in this network namespace. Every transaction makes another
/// of it, whichever table it changes, and nothing of the rules changes without one: while it is the
/// same the rules are.
///
/// # Errors
///
/// Without CAP_NET_ADMIN, and where the kernel has no nftables.
pub fn generation() -> Result<u32, Error> {
    let mut found = None;
    let question = request(GET_GENERATION, ACKNOWLEDGE, &[0; HEADER]);
    let done = exchange(libc::NETLINK_NETFILTER, &question, &mut |message| {
        found = found.or_else(|| number(attribute(message.get(HEADER..)?, GENERATION)?));
    });
    let found = done.and_then(|()| found.ok_or_else(|| io::ErrorKind::InvalidData.into()));
    found.map_err(Error::io("asking for the generation of the packet filter's rules"))
}

/// Packets of each counter that has a name in a table of the family `inet`, of rules of this
/// generation; none where they have another by now.
///
/// # Errors
///
/// Those of [`generation`].
pub fn counters(table: &str, generation: u32) -> Result<Option<BTreeMap<String, u64>>, Error> {
    let mut content = vec![INET, 0, 0, 0];
    append(&mut content, TABLE, &[table.as_bytes(), &[0]].concat());
    append(&mut content, TYPE, &COUNTER.to_be_bytes());
    let (mut counters, mut same) = (BTreeMap::new(), true);
    let question = request(GET_OBJECT, DUMP, &content);
    let done = exchange(libc::NETLINK_NETFILTER, &question, &mut |message| {
        // Behind family and version: the last 16 bits of the generation.
        same &= message.get(2..HEADER) == Some(&generation.to_be_bytes()[2..]);
        let attributes = message.get(HEADER..).unwrap_or_default();
        let of_table = attribute(attributes, TABLE).and_then(text) == Some(table);
        let name = attribute(attributes, NAME).and_then(text);
        let packets = attribute(attributes, DATA).and_then(|data| attribute(data, PACKETS));
        if let (true, Some(name), Some(packets)) = (of_table, name, packets.and_then(large)) {
            counters.insert(name.to_owned(), packets);
        }
    });
    done.map_err(Error::io("reading counters of the packet filter"))?;
    Ok(same.then_some(counters))
}

/// Adds an attribute: its length, its type, its content, filled up to a multiple of four.
fn append(message: &mut Vec<u8>, kind: u16, content: &[u8]) {
    let length = u16::try_from(HEADER + content.len()).unwrap_or(u16::MAX);
    message.extend(length.to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(content);
    message.resize(message.len().next_multiple_of(4), 0);
}

/// The content of the first attribute of a type.
fn attribute(mut attributes: &[u8], wanted: u16) -> Option<&[u8]> {
    loop {
        let (header, _) = attributes.split_first_chunk::<HEADER>()?;
        let [a, b, c, d] = *header;
        let length = usize::from(u16::from_ne_bytes([a, b]));
        let content = attributes.get(HEADER..length)?;
        // The two highest bits say how the content is written.
        if u16::from_ne_bytes([c, d]) & 0x3fff == wanted {
            return Some(content);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

fn text(content: &[u8]) -> Option<&str> {
    let end = content.iter().position(|byte| *byte == 0).unwrap_or(content.len());
    std::str::from_utf8(&content[..end]).ok()
}

fn number(content: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*content.first_chunk()?))
}

fn large(content: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*content.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn attributes_are_found_by_their_type_behind_others_of_any_length() {
        let mut message = Vec::new();
        append(&mut message, NAME, b"kept\0");
        append(&mut message, DATA | 0x8000, &[1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(attribute(&message, NAME).and_then(text), Some("kept"));
        assert_eq!(attribute(&message, DATA).and_then(large), Some(0x0102_0304_0506_0708));
        assert_eq!(attribute(&message, TYPE), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_reader_panic_or_go_on_without_end(bytes: Vec<u8>, wanted: u16) {
            let found = attribute(&bytes, wanted);
            let _ = (found.and_then(text), found.and_then(number), found.and_then(large));
        }
    }
}
