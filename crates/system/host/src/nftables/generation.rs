//! Generation and counters of the packet filter from the kernel itself, without a listing by `nft`
//! (linux/netfilter/nf_tables.h).

use std::collections::BTreeMap;
use std::io;

use crate::Error;
use crate::netlink::{Family, Request, attribute, text};

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
/// Length of the header of every message of the subsystem.
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
    let question = Request::new(Family::Netfilter, GET_GENERATION, &[0; HEADER]);
    let done = question.ask(&mut |message| {
        found = found.or_else(|| number(attribute(message.get(HEADER..)?, GENERATION)?));
    });
    let done = done.map_err(|refused| refused.source);
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
    let question = Request::new(Family::Netfilter, GET_OBJECT, &[INET, 0, 0, 0])
        .attribute(TABLE, &[table.as_bytes(), &[0]].concat())
        .attribute(TYPE, &COUNTER.to_be_bytes());
    let (mut counters, mut same) = (BTreeMap::new(), true);
    let done = question.list(&mut |message| {
        // Behind family and version: the last 16 bits of the generation.
        same &= message.get(2..HEADER) == Some(&generation.to_be_bytes()[2..]);
        let attributes = message.get(HEADER..).unwrap_or_default();
        let of_table = attribute(attributes, TABLE).is_some_and(|name| text(name) == table);
        let name = attribute(attributes, NAME).map(text);
        let packets = attribute(attributes, DATA).and_then(|data| attribute(data, PACKETS));
        if let (true, Some(name), Some(packets)) = (of_table, name, packets.and_then(large)) {
            counters.insert(name.into_owned(), packets);
        }
    });
    done.map_err(|refused| Error::io("reading counters of the packet filter")(refused.source))?;
    Ok(same.then_some(counters))
}

fn number(content: &[u8]) -> Option<u32> {
    Some(u32::from_be_bytes(*content.first_chunk()?))
}

fn large(content: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(*content.first_chunk()?))
}
