//! The tables as their reader sees them.

use super::*;

fn text(kinds: &[Kind], filter: Option<&str>) -> String {
    as_text(&sections(kinds, filter), Colour::No)
}

#[test]
fn groups_are_one_aligned_table() {
    insta::assert_snapshot!(text(&[Kind::Group], None));
}

#[test]
fn signatures_are_schemes_and_the_algorithms_under_them() {
    insta::assert_snapshot!(text(&[Kind::Signature], None));
}

#[test]
fn cipher_suites_tell_the_version_they_belong_to() {
    insta::assert_snapshot!(text(&[Kind::CipherSuite], None));
}

#[test]
fn ike_is_transforms_methods_and_hashes() {
    insta::assert_snapshot!(text(&[Kind::Ike], None));
}

#[test]
fn ssh_is_key_exchange_methods_and_public_keys() {
    insta::assert_snapshot!(text(&[Kind::Ssh], None));
}

#[test]
fn macsec_suites_name_the_legacy_identifier() {
    insta::assert_snapshot!(text(&[Kind::Macsec], None));
}

#[test]
fn x509_algorithms_show_key_and_spki() {
    insta::assert_snapshot!(text(&[Kind::X509], None));
}

#[test]
fn kems_show_every_size() {
    insta::assert_snapshot!(text(&[Kind::Kem], None));
}

#[test]
fn a_filter_finds_one_algorithm_in_every_table() {
    insta::assert_snapshot!(text(&[], Some("ML-KEM-768")));
}

#[test]
fn json_carries_a_schema_and_only_what_was_asked_for() {
    insta::assert_snapshot!(as_json(sections(&[Kind::Group, Kind::Macsec], Some("x25519mlkem768"))));
}

#[test]
fn every_row_of_the_registry_is_listed() {
    let listed: usize = sections(&[], None).iter().map(|section| section.rows.len()).sum();
    let known = GROUPS.len()
        + SIGNATURES.len()
        + CIPHERS.len()
        + TRANSFORMS.len()
        + AUTHENTICATION_METHODS.len()
        + HASH_ALGORITHMS.len()
        + SSH_KEY_EXCHANGES.len()
        + SSH_PUBLIC_KEYS.len()
        + MACSEC_SUITES.len()
        + X509_ALGORITHMS.len()
        + bartizan_registry::PRIMITIVES.len();
    assert_eq!(listed, known);
}

#[test]
fn a_code_point_selects_its_row_alone() {
    let shown = text(&[Kind::Group], Some("0X11EC"));
    assert_eq!(shown.lines().count(), 3, "{shown}");
    assert!(shown.contains("X25519MLKEM768"));
}

#[test]
fn what_matches_nothing_shows_nothing() {
    assert_eq!(text(&[], Some("rot13")), "");
    let json: Value = serde_json::from_str(&as_json(sections(&[Kind::Kem], Some("rot13")))).unwrap();
    assert_eq!(json, json!({ "schema": SCHEMA, "kems": [] }));
}

#[test]
fn colour_marks_the_verdict_and_moves_no_column() {
    let plain = text(&[Kind::Group], None);
    let coloured = as_text(&sections(&[Kind::Group], None), Colour::Yes);
    assert!(coloured.contains("\x1b[31mvulnerable\x1b[0m"));
    assert!(coloured.contains("\x1b[32msafe\x1b[0m"));
    let stripped = coloured
        .replace("\x1b[31m", "")
        .replace("\x1b[32m", "")
        .replace("\x1b[0m", "");
    assert_eq!(stripped, plain);
}

#[test]
fn no_line_ends_in_a_blank() {
    for line in text(&[], None).lines() {
        assert_eq!(line, line.trim_end());
    }
}

#[test]
fn a_filter_without_letter_or_digit_is_a_usage_error() {
    let args = Args {
        filter: Some("--".into()),
        kind: Vec::new(),
        json: false,
    };
    assert!(run(&args).is_err());
}
