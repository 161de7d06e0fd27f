use proptest::prelude::*;

use super::*;
use crate::fields::{Fields, Indexing};

fn read(decoder: &mut Decoder, block: &[u8]) -> Vec<(String, String)> {
    let mut fields = Fields::new();
    decoder.decode(block, usize::MAX, &mut fields).unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    fields
        .iter()
        .map(|(name, value, _)| (text(name), text(value)))
        .collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    let hex: String = hex.split_whitespace().collect();
    (0..hex.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
        .collect()
}

/// RFC 7541, appendix C.4: three requests with Huffman coding on one connection.
#[test]
fn requests_of_the_rfc_are_read() {
    let mut decoder = Decoder::new();
    let first = read(&mut decoder, &bytes("8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff"));
    assert_eq!(first[3], (":authority".into(), "www.example.com".into()));
    let second = read(&mut decoder, &bytes("8286 84be 5886 a8eb 1064 9cbf"));
    assert_eq!(second[3], (":authority".into(), "www.example.com".into()));
    assert_eq!(second[4], ("cache-control".into(), "no-cache".into()));
    let third = read(
        &mut decoder,
        &bytes("8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf"),
    );
    assert_eq!(third[2], (":path".into(), "/index.html".into()));
    assert_eq!(third[4], ("custom-key".into(), "custom-value".into()));
}

#[test]
fn what_came_as_never_indexed_leaves_as_never_indexed() {
    let mut fields = Fields::new();
    fields.push(b"authorization", b"Bearer x", Indexing::Never);
    let (mut encoder, mut out) = (Encoder::new(), Vec::new());
    encoder.encode(&fields, &mut out);
    assert_eq!(out[0] & 0xf0, 0x10);
    let mut again = Fields::new();
    Decoder::new().decode(&out, usize::MAX, &mut again).unwrap();
    assert_eq!(fields, again);
}

#[test]
fn what_comes_again_is_one_byte_each() {
    let mut fields = Fields::new();
    fields.push(b":path", b"/nnrf-nfm/v1", Indexing::Kept);
    fields.push(b"x-y", b"z", Indexing::Kept);
    let mut encoder = Encoder::new();
    encoder.encode(&fields, &mut Vec::new());
    let mut out = Vec::new();
    encoder.encode(&fields, &mut out);
    assert_eq!(out, [0x80 | 63, 0x80 | 62]);
}

#[test]
fn a_smaller_table_is_announced_before_anything_else() {
    let mut encoder = Encoder::new();
    encoder.bound(0);
    encoder.bound(100);
    let mut out = Vec::new();
    encoder.encode(&Fields::new(), &mut out);
    assert_eq!(out, [0x20, 0x3f, 69]);
    out.clear();
    encoder.encode(&Fields::new(), &mut out);
    assert!(out.is_empty());
}

#[test]
fn a_list_beyond_its_bound_is_cut_and_the_table_is_kept_right() {
    let mut encoder = Encoder::new();
    let mut fields = Fields::new();
    fields.push(b"a", b"1", Indexing::Kept);
    fields.push(b"b", &[b'2'; 200], Indexing::Kept);
    let mut block = Vec::new();
    encoder.encode(&fields, &mut block);
    let (mut decoder, mut cut) = (Decoder::new(), Fields::new());
    assert_eq!(decoder.decode(&block, 100, &mut cut), Ok(34 + 233));
    assert_eq!(cut.len(), 1);
    block.clear();
    encoder.encode(&fields, &mut block);
    let mut whole = Fields::new();
    assert_eq!(decoder.decode(&block, 1000, &mut whole), Ok(34 + 233));
    assert_eq!(whole, fields);
}

/// One entry of the table named again and again: an octet for four kilobytes. Reading stops, and a
/// bystander's does too.
#[test]
fn octets_that_stand_for_kilobytes_each_are_not_read_to_their_end() {
    let entry = [&[0x40, 1, b'a', 0x7f, 0xe0, 30][..], &[b'x'; 4063][..]].concat();
    for mut decoder in [Decoder::new(), Decoder::for_bystander()] {
        let mut fields = Fields::new();
        assert_eq!(decoder.decode(&entry, 65_536, &mut fields), Ok(4096));
        let bomb = [0xbe; 120_000];
        let mut fields = Fields::new();
        assert_eq!(decoder.decode(&bomb, 65_536, &mut fields), Err(Unread::TooLong));
        assert!(fields.size() <= 65_536);
    }
    // Within the allowance the length is known, and nothing beyond the bound was copied.
    let mut decoder = Decoder::new();
    decoder.decode(&entry, 65_536, &mut Fields::new()).unwrap();
    let mut fields = Fields::new();
    assert_eq!(decoder.decode(&[0xbe; 20], 65_536, &mut fields), Ok(20 * 4096));
    assert_eq!((fields.len(), fields.size()), (16, 16 * 4096));
}

/// Name, value and indexing.
type Field = (Vec<u8>, Vec<u8>, u8);

/// Names and values from few letters, so that they come again.
fn lists() -> impl Strategy<Value = Vec<Vec<Field>>> {
    let name = prop_oneof![
        Just(b":path".to_vec()),
        Just(b"content-type".to_vec()),
        "[ab]{1,3}".prop_map(String::into_bytes)
    ];
    let value = prop_oneof![
        "[xy]{0,3}".prop_map(String::into_bytes),
        proptest::collection::vec(any::<u8>(), 0..300)
    ];
    proptest::collection::vec(proptest::collection::vec((name, value, 0_u8..3), 0..12), 1..30)
}

proptest! {
    #[test]
    fn what_is_encoded_decodes_to_the_same_whatever_the_table(lists in lists(), sizes in proptest::collection::vec(0_usize..5000, 30)) {
        let (mut encoder, mut decoder) = (Encoder::new(), Decoder::new());
        for (list, size) in lists.into_iter().zip(sizes) {
            encoder.bound(size);
            let mut fields = Fields::new();
            for (name, value, indexing) in list {
                let indexing = [Indexing::Kept, Indexing::Plain, Indexing::Never][usize::from(indexing)];
                fields.push(&name, &value, indexing);
            }
            let mut block = Vec::new();
            encoder.encode(&fields, &mut block);
            let mut again = Fields::new();
            prop_assert_eq!(decoder.decode(&block, usize::MAX, &mut again), Ok(fields.size()));
            let plain = |fields: &Fields| fields.iter().map(|(name, value, _)| (name.to_vec(), value.to_vec())).collect::<Vec<_>>();
            prop_assert_eq!(plain(&fields), plain(&again));
        }
    }

    #[test]
    fn no_block_panics_or_grows_beyond_the_bound(blocks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 1..10)) {
        let mut decoder = Decoder::new();
        for block in blocks {
            let mut fields = Fields::new();
            let _ = decoder.decode(&block, 500, &mut fields);
            let size: usize = fields.iter().map(|(name, value, _)| name.len() + value.len() + OVERHEAD).sum();
            prop_assert!(size <= 500);
        }
    }
}

/// An observer that missed the first block of appendix C.4: what is in the second itself is read,
/// and what the first put into the table is left out.
#[test]
fn a_bystander_who_missed_a_block_reads_what_does_not_refer_to_it() {
    let second = bytes("8286 84be 5886 a8eb 1064 9cbf");
    assert_eq!(
        Decoder::new().decode(&second, usize::MAX, &mut Fields::new()),
        Err(Unread::Malformed)
    );
    let mut decoder = Decoder::for_bystander();
    let fields = read(&mut decoder, &second);
    assert_eq!(fields.len(), 4, "{fields:?}");
    assert_eq!(fields[3], ("cache-control".into(), "no-cache".into()));
    // The third refers to an entry of the second by its place, which counts from the newest.
    let third = read(
        &mut decoder,
        &bytes("8287 85be 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf"),
    );
    assert_eq!(third[3], ("cache-control".into(), "no-cache".into()));
    assert_eq!(third[4], ("custom-key".into(), "custom-value".into()));
}

/// The name is in the part that was missed; the value is here, and keeps its place in the table.
#[test]
fn a_value_behind_an_unknown_name_is_read_without_it() {
    let mut decoder = Decoder::for_bystander();
    let fields = read(&mut decoder, &[0x7f, 0x05, 0x03, b'a', b'b', b'c', 0xbe]);
    assert_eq!(fields, [(String::new(), "abc".into()), (String::new(), "abc".into())]);
}

#[test]
fn what_stands_before_the_cut_of_a_block_is_read() {
    let mut fields = Fields::new();
    let cut = bytes("8286 8441 8cf1 e3c2");
    assert_eq!(
        Decoder::for_bystander().decode(&cut, usize::MAX, &mut fields),
        Err(Unread::Malformed)
    );
    assert_eq!(fields.value(b":path"), Some(&b"/"[..]));
    assert_eq!(fields.value(b":authority"), None);
}

proptest! {
    #[test]
    fn a_bystander_reads_any_bytes(blocks in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..200), 0..6)) {
        let mut decoder = Decoder::for_bystander();
        for block in blocks {
            let mut fields = Fields::new();
            let _ = decoder.decode(&block, 4096, &mut fields);
            for (name, value, _) in fields.iter() {
                prop_assert!(name.len() + value.len() <= 4096);
            }
        }
    }
}
