use super::*;
use crate::Timestamp;

const ONE: Station = Station([2, 0, 0, 0, 0, 1]);

fn at(packet: u64) -> Moment {
    Moment {
        packet,
        time: Timestamp(packet),
    }
}

/// The tag of a frame as Linux sends it, with its channel: association 1, packet number 7.
const TAGGED: [u8; 15] = [0x2d, 0, 0, 0, 0, 7, 2, 0, 0, 0, 0, 1, 0, 1, 0xaa];

#[test]
fn a_tag_shows_association_packet_number_channel_and_whether_it_encrypts() {
    let (seen, rest) = tag(&TAGGED).unwrap();
    assert!(seen.encrypted && seen.changed);
    assert_eq!((seen.association, seen.packet_number), (1, 7));
    assert_eq!(seen.channel.unwrap().to_string(), "02:00:00:00:00:01/1");
    assert_eq!(rest, [0xaa]);
    // Without a channel, from an end station, and of an unknown version.
    let (short, rest) = tag(&[0x4c, 0, 0, 0, 1, 0, 9]).unwrap();
    assert_eq!((short.channel, short.packet_number, rest), (None, 256, &[9][..]));
    assert_eq!(tag(&[0x8c, 0, 0, 0, 1, 0]), None);
    // An end station names no channel (IEEE 802.1AE, clause 9.5).
    assert_eq!(tag(&[&[0x6d], &TAGGED[1..]].concat()), None);
    assert_eq!(tag(&TAGGED[..9]), None);
}

#[test]
fn associations_are_counted_by_channel_and_number_and_a_number_that_begins_again_is_another_key() {
    let mut seen = MacSec::default();
    let mut send = |association: u8, packet_number: u32| {
        let tag = SecTag {
            encrypted: true,
            changed: true,
            association,
            packet_number,
            channel: None,
        };
        seen.take(ONE, &tag, (&[0x5a; 60], 0), at(u64::from(packet_number)));
    };
    for number in [1, 2, 4, 3, 5] {
        send(0, number);
    }
    for number in [5000, 5001, 1, 2] {
        send(1, number);
    }
    let [zero, one] = &seen.associations[..] else {
        panic!("{seen:?}")
    };
    assert_eq!(
        (zero.frames, zero.highest_number, zero.late, zero.restarted),
        (5, 5, 1, 0)
    );
    assert_eq!((one.first_number, one.highest_number, one.restarted), (5000, 2, 1));
    assert_eq!((seen.encrypted, seen.irregular, seen.is_readable()), (9, 0, false));
}

#[test]
fn frames_that_say_they_are_encrypted_and_hold_headers_are_readable() {
    let mut seen = MacSec::default();
    let (tag, _) = tag(&TAGGED).unwrap();
    for number in 0..3 {
        seen.take(ONE, &tag, (&[0x08, 0x00, 0x45, 0, 0, 84], 0), at(number));
    }
    assert!(seen.is_readable());
    assert_eq!(seen.first_readable, Some(at(0)));
}

/// One that either end has named for all association numbers at this time.
fn named(number: u32, named_at: Moment) -> Keying {
    let member = [7; 12];
    Keying {
        named: [Some((KeyIdentifier { member, number }, named_at)); 4],
        ..Keying::default()
    }
}

#[test]
fn one_mkpdu_does_not_name_the_keys_of_all_later_turns() {
    let mut seen = MacSec::default();
    seen.keyed(named(1, at(0)));
    let mut packet = 0;
    for association in [0, 1, 2, 3, 0, 1] {
        for packet_number in 1..20 {
            packet += 1;
            let tag = SecTag {
                encrypted: true,
                changed: true,
                association,
                packet_number,
                channel: None,
            };
            let mut moment = at(packet);
            moment.time = Timestamp(packet * 1_000_000_000);
            seen.take(ONE, &tag, (&[packet as u8; 60], 0), moment);
        }
    }
    assert_eq!(seen.reuses_nonce(), None);
}

#[test]
fn mkpdu_that_names_another_key_hides_no_packet_number_that_is_used_twice() {
    let key = |number| named(number, at(1));
    let frame = |seen: &mut MacSec, packet_number: u32, content: u8| {
        let tag = SecTag {
            encrypted: true,
            changed: true,
            association: 0,
            packet_number,
            channel: None,
        };
        seen.take(ONE, &tag, (&[content; 60], 0), at(u64::from(packet_number)));
    };
    // A forged MKPDU stands between, and the next one of the ends names their key again.
    let mut seen = MacSec::default();
    seen.keyed(key(1));
    (1..20).for_each(|number| frame(&mut seen, number, 1));
    seen.keyed(key(2));
    frame(&mut seen, 20, 1);
    seen.keyed(key(1));
    (1..20).for_each(|number| frame(&mut seen, number, 2));
    assert!(seen.reuses_nonce().unwrap().several);
    // One that gives out another key for each of many is kept within bounds, and what was found
    // stays.
    for number in 2..40 {
        seen.keyed(key(number));
        frame(&mut seen, 1, 3);
    }
    assert!(seen.reuses_nonce().unwrap().several);
    assert!(seen.held() < 60_000, "{}", seen.held());
    // Keys that follow each other count anew.
    let mut seen = MacSec::default();
    for number in 1..40 {
        seen.keyed(key(number));
        (1..20).for_each(|packet| frame(&mut seen, packet, number as u8));
    }
    assert_eq!(seen.reuses_nonce(), None);
}
