use proptest::prelude::*;

use super::*;
use crate::Timestamp;

fn moment(packet: u64) -> Moment {
    Moment {
        packet,
        time: Timestamp(packet),
    }
}

fn seen(pieces: &[&[u8]]) -> Vec<(Exposed, u64)> {
    let (mut scanner, mut sightings) = (Scanner::default(), None);
    for (index, piece) in pieces.iter().enumerate() {
        scanner.text(piece, moment(index as u64), &mut sightings);
    }
    let all = sightings.map_or_else(Vec::new, |found| found.0);
    all.into_iter().map(|one| (one.what, one.count)).collect()
}

/// {"alg":"RS256","typ":"JWT"} and {"typ":"JWT","alg":"ES256"}, with payload and signature.
const TEXT: &[u8] = br#"{"supiOrSuci":"suci-0-208-93-0000-0-0-0000000001","x":"suci-0-001-01-0-1-27-aa","access_token":"eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.e30.AA","y":"eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.e30.AA"}"#;

fn expected() -> Vec<(Exposed, u64)> {
    vec![
        (Exposed::Suci(0), 1),
        (Exposed::Suci(1), 1),
        (Exposed::Token("RS256".into()), 1),
        (Exposed::Token("ES256".into()), 1),
    ]
}

/// Steps for a text that is nothing but beginnings: of tokens, of SUCIs, of SUCIs whose field does not end.
fn steps(begins: &[u8], times: usize) -> u64 {
    let text = begins.repeat(times);
    let before = crate::work::taken();
    seen(&[&text]);
    crate::work::taken() - before
}

#[test]
fn ten_times_as_many_beginnings_take_ten_times_as_many_steps() {
    for begins in [b"eyJ".as_slice(), b"suci-0-", b"suci-0-1", b"s", b"eyJ."] {
        let [few, many] = [2_000, 20_000].map(|times| steps(begins, times));
        assert!(
            many <= 11 * few,
            "{few} and {many} for {}",
            String::from_utf8_lossy(begins)
        );
        assert!(many <= 260 * 20_000 * begins.len() as u64);
    }
}

#[test]
fn schemes_and_algorithms_are_read_wherever_the_text_is_cut() {
    assert_eq!(seen(&[TEXT]), expected());
    for cut in 1..TEXT.len() {
        let (one, other) = TEXT.split_at(cut);
        assert_eq!(seen(&[one, other]), expected(), "cut at {cut}");
    }
    let bytes: Vec<&[u8]> = TEXT.chunks(1).collect();
    assert_eq!(seen(&bytes), expected());
}

#[test]
fn what_only_looks_so_is_nothing() {
    for text in [
        &b"suci-0-208-93-0000-x-0-1 "[..],
        b"suci-1-nai.example-0-1-1-aa ",
        b"suci-0--93-0000-1-0-1 ",
        b"suci-0-208-93-0000-12-0-1 ",
        b"eyJ4Ijoi.e30.AA ",
        b"eyJhbGciOiJSUzI1NiJ9 and no dot",
        b"the seven eyes see",
    ] {
        assert_eq!(seen(&[text]), [], "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn a_suci_in_a_registration_request_says_its_scheme() {
    // As captured between free5GC and UERANSIM; then profile A.
    let mut message = vec![0, 0x26, 0x1a, 0x19];
    message.extend([
        0x7e, 0, 0x41, 0x79, 0, 13, 1, 2, 0xf8, 0x39, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
    ]);
    let mut sightings = Sightings::default();
    sightings.ngap(&message, moment(1));
    message[4 + 12] = 1;
    sightings.ngap(&message, moment(2));
    let schemes: Vec<Exposed> = sightings.all().iter().map(|one| one.what.clone()).collect();
    assert_eq!(schemes, [Exposed::Suci(0), Exposed::Suci(1)]);
    message.truncate(20);
    let mut cut = Sightings::default();
    cut.ngap(&message, moment(3));
    assert_eq!(cut.all(), []);
}

proptest! {
    #[test]
    fn any_bytes_in_any_pieces_give_the_same(
        bytes in prop::collection::vec(prop::sample::select(b"suci-0-19eyJhbGciOiJSUzI1NiJ9.\"x".to_vec()), 0..400),
        cut in any::<prop::sample::Index>(),
    ) {
        let (one, other) = bytes.split_at(cut.index(bytes.len() + 1));
        prop_assert_eq!(seen(&[one, other]), seen(&[&bytes]));
        let mut sightings = Sightings::default();
        sightings.ngap(&bytes, moment(1));
        prop_assert!(sightings.all().len() <= KINDS);
    }
}
