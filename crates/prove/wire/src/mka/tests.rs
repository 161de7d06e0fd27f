use proptest::prelude::*;

use super::*;
use crate::Timestamp;

fn at(packet: u64) -> Moment {
    Moment {
        packet,
        time: Timestamp(packet),
    }
}

fn set(kind: u8, second: u8, third: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind, second, third | (body.len() >> 8) as u8, body.len() as u8];
    bytes.extend(body);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

/// An MKPDU of a key server with this CAK's name and these sets, and a check value.
fn mkpdu(ckn: &[u8], sets: &[Vec<u8>]) -> Vec<u8> {
    let mut basic = vec![2, 0, 0, 0, 0, 1, 0, 1];
    basic.extend([0x11; 12]);
    basic.extend([0, 0, 0, 1]);
    basic.extend([0x00, 0x80, 0xc2, 0x01]);
    basic.extend(ckn);
    let mut bytes = set(3, 10, 0xe0, &basic);
    bytes.extend(sets.concat());
    bytes.extend([3; ICV]);
    bytes
}

fn used(numbers: u8, latest: u32) -> Vec<u8> {
    let mut body = vec![0x11; 12];
    body.extend(latest.to_be_bytes());
    body.extend([0, 0, 0, 1]);
    body.extend([0; 20]);
    set(SAK_USE, numbers, 0, &body)
}

#[test]
fn an_mkpdu_shows_name_key_server_and_the_keys_that_are_given_out_and_used() {
    let default = set(DISTRIBUTED_SAK, 0x10, 0, &[&[0, 0, 0, 1][..], &[7; 24]].concat());
    let wide = [&[0, 0, 0, 2][..], &0x0080_c200_0100_0002u64.to_be_bytes(), &[7; 40]].concat();
    let wide = set(DISTRIBUTED_SAK, 0x40, 0, &wide);
    let mut mka = Mka::default();
    assert!(mka.take(0, &mkpdu(b"0123456789abcdef", &[used(0x30, 1), default]), at(1)));
    assert!(mka.take(0, &mkpdu(b"another", &[used(0x70, 2), wide]), at(2)));
    let [end, other] = &mka.ends;
    assert_eq!((end.pdus, other.pdus), (2, 0));
    assert!(end.key_server && end.desires && !end.plain);
    assert_eq!(end.capability, 2);
    assert_eq!(end.channel.unwrap().to_string(), "02:00:00:00:00:01/1");
    let names: Vec<&[u8]> = end.names.iter().map(|(name, _)| name.octets()).collect();
    assert_eq!(names, [&b"0123456789abcdef"[..], b"another"]);
    let given: Vec<_> = end
        .distributed
        .iter()
        .map(|given| {
            (
                given.key.number,
                given.association,
                given.suite,
                given.confidentiality_offset,
            )
        })
        .collect();
    assert_eq!(
        given,
        [(1, 0, DEFAULT_SUITE, Some(0)), (2, 1, 0x0080_c200_0100_0002, None)]
    );
    assert_eq!(mka.latest().map(|given| given.key.number), Some(2));
    let in_use: Vec<_> = end
        .in_use
        .iter()
        .map(|used| (used.key.number, used.association, used.sends, used.receives))
        .collect();
    assert_eq!(in_use, [(1, 0, true, true), (2, 1, true, true)]);
}

#[test]
fn a_check_value_is_no_parameter_set() {
    // It looks like a set that says which key is used, with nothing in it.
    let mut bytes = mkpdu(b"name", &[]);
    let end = bytes.len() - ICV;
    bytes[end..end + 4].copy_from_slice(&[DISTRIBUTED_SAK, 0, 0, 0]);
    let mut mka = Mka::default();
    assert!(mka.take(1, &bytes, at(1)));
    assert!(!mka.ends[1].plain);
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic_or_grow(pdus in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..60)) {
        let mut mka = Mka::default();
        for (index, pdu) in pdus.iter().enumerate() {
            mka.take(index % 2, pdu, at(index as u64));
        }
        for end in &mka.ends {
            prop_assert!(end.names.len() <= NAMES && end.in_use.len() <= KEYS && end.distributed.len() <= KEYS);
        }
    }
}
