use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// The example of strongSwan's description of VICI, with its encoding there.
fn example() -> (Section, Vec<u8>) {
    let section = Section::new().with("key1", "value1").with_section(
        "section1",
        Section::new()
            .with_section("sub-section", Section::new().with("key2", "value2"))
            .with_list("list1", ["item1", "item2"]),
    );
    let mut bytes = Vec::new();
    let mut name = |element: u8, name: &str| {
        bytes.push(element);
        bytes.push(name.len() as u8);
        bytes.extend(name.bytes());
        bytes.len()
    };
    name(3, "key1");
    bytes.extend(b"\0\x06value1");
    bytes.extend(b"\x01\x08section1\x01\x0bsub-section\x03\x04key2\0\x06value2\x02");
    bytes.extend(b"\x04\x05list1\x05\0\x05item1\x05\0\x05item2\x06\x02");
    (section, bytes)
}

fn encoded(section: &Section) -> Vec<u8> {
    let mut bytes = Vec::new();
    section.encode(&mut bytes).expect("short names and values");
    bytes
}

#[test]
fn the_example_of_the_description_is_written_and_read() {
    let (section, bytes) = example();
    assert_eq!(encoded(&section), bytes);
    assert_eq!(Section::decode(&bytes, 0), Ok(section));
}

#[test]
fn a_message_cut_anywhere_inside_an_element_is_malformed() {
    let (_, bytes) = example();
    // After key1 the message is whole again.
    let whole = [0, 14];
    for length in (0..bytes.len()).filter(|length| !whole.contains(length)) {
        assert!(Section::decode(&bytes[..length], 0).is_err(), "{length}");
    }
}

#[test]
fn a_name_of_256_bytes_and_a_value_of_65536_do_not_fit() {
    let fits = Section::new().with("n".repeat(255), "v".repeat(65_535));
    assert_eq!(Section::decode(&encoded(&fits), 0), Ok(fits));
    let mut out = Vec::new();
    for (section, length) in [
        (Section::new().with("n".repeat(256), ""), 256),
        (Section::new().with("n", "v".repeat(65_536)), 65_536),
        (Section::new().with_list("n", ["v".repeat(65_536)]), 65_536),
    ] {
        assert_eq!(section.encode(&mut out).map_err(|error| error.length), Err(length));
    }
}

#[test]
fn nesting_without_end_is_refused_before_it_costs_anything() {
    let bytes = b"\x01\x01a".repeat(100_000);
    let error = Section::decode(&bytes, 0).expect_err("no message");
    assert_eq!(
        (error.at, error.reason),
        (3 * DEEPEST + 1, "sections are nested deeper than charon nests them")
    );
}

/// Trees of at most four levels.
pub(crate) fn section() -> impl Strategy<Value = Section> {
    let data = || vec(any::<u8>(), 0..40);
    let leaf = prop_oneof![
        data().prop_map(|data| Value::Data(Zeroizing::new(data))),
        vec(data(), 0..4).prop_map(Value::List),
    ];
    let named = |value| vec(("[a-z0-9-]{0,12}", value), 0..5).prop_map(from_entries);
    let value = leaf.prop_recursive(3, 40, 5, move |inner| named(inner.boxed()).prop_map(Value::Section));
    vec(("[a-z0-9-]{0,12}", value), 0..6).prop_map(from_entries)
}

fn from_entries(entries: Vec<(String, Value)>) -> Section {
    let mut section = Section::new();
    for (name, value) in entries {
        section.push(name, value);
    }
    section
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(section in section()) {
        prop_assert_eq!(Section::decode(&encoded(&section), 0), Ok(section));
    }

    #[test]
    fn any_bytes_are_a_message_or_malformed_and_a_message_is_written_as_it_was_read(bytes in vec(any::<u8>(), 0..400)) {
        if let Ok(section) = Section::decode(&bytes, 0) {
            prop_assert_eq!(encoded(&section), bytes);
        }
    }

    #[test]
    fn elements_in_any_order_never_panic(bytes in vec(prop_oneof![0u8..8, any::<u8>()], 0..200)) {
        let _ = Section::decode(&bytes, 0);
    }
}
