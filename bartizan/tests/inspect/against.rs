//! `bartizan inspect --against`: pass or fail against one framework.

use super::*;

#[test]
fn a_framework_passes_what_it_asks_for_and_fails_all_else_with_the_reason() {
    let judged = |framework: &str, more: &[&str]| {
        let ledgers = [
            "--ledger",
            "sidecar-hybrid.consumers.jsonl",
            "--ledger",
            "sidecar-hybrid.nrf.jsonl",
        ];
        let arguments = [&["sidecar-hybrid.pcap", "--against", framework], &ledgers[..], more].concat();
        inspect_in(&data(), &arguments)
    };
    for (framework, outcome, signatures) in [
        ("nist", "PASS", " met by 1 connection, not met by 0, not shown by 0 "),
        ("gsma", "PASS", " met by 1 connection, not met by 0, not shown by 0 "),
        (
            "bsi",
            "FAIL",
            " not met: id-ml-dsa-65 is not what it asks for: 1 connection, first ",
        ),
        (
            "anssi",
            "FAIL",
            " not met: id-ml-dsa-65 is not what it asks for: 1 connection, first ",
        ),
        (
            "cnsa2",
            "FAIL",
            " not met: X25519MLKEM768 is not what it asks for: 1 connection, first ",
        ),
    ] {
        let output = judged(framework, &[]);
        let said = words(&output);
        assert_eq!(
            output.status.code(),
            Some(i32::from(outcome == "FAIL")),
            "{framework}: {said}"
        );
        let headline = stdout(&output).lines().next().unwrap().to_owned();
        assert!(
            headline.starts_with("against ") && headline.ends_with(outcome),
            "{said}"
        );
        assert!(said.contains(signatures), "{framework}: {said}");
    }
    // The scope of an audit is in every form of the report.
    let said = words(&judged("nist", &[]));
    for line in [
        "policy: hybrid of bartizan ",
        "interfaces that no packet shows: SBI, N2, N3, ",
        "certificate of ",
        ", key of id-ml-dsa-65, ends with 20",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
    let page = tempfile::tempdir().unwrap();
    let html = page.path().join("report.html");
    let json = json_of(&judged("nist", &["--json", "--html", html.to_str().unwrap()]));
    assert_eq!(json["against"]["passed"], true);
    assert_eq!(json["against"]["subjects"][1]["met"], 1, "{}", json["against"]);
    let html = fs::read_to_string(html).unwrap();
    assert!(html.contains("against NIST IR 8547 (draft, 2024-11): PASS"));
    assert!(html.contains("interfaces that no packet shows: SBI, N2, N3, "));

    // Without ledgers nothing shows who signed, and a classical or unencrypted capture passes nothing.
    let bare = inspect_in(&data(), &["sidecar-hybrid.pcap", "--against", "nist"]);
    assert_eq!(bare.status.code(), Some(1));
    assert!(
        words(&bare).contains(" met by 0 connections, not met by 0, not shown by 1 "),
        "{}",
        words(&bare)
    );
    for capture in [
        "openssl-3.5.7.pcap",
        "sbi-free5gc-two-registrations.pcap",
        "strongswan-6.1.0.pcap",
    ] {
        let output = inspect_in(&data(), &[capture, "--against", "gsma", "--quiet"]);
        assert_eq!(
            (output.status.code(), stdout(&output).as_str()),
            (Some(1), ""),
            "{capture}"
        );
    }
    let unknown = inspect_in(&data(), &["sidecar-hybrid.pcap", "--against", "fips"]);
    assert_eq!(unknown.status.code(), Some(64));
    assert!(
        stderr(&unknown).contains("one of cnsa2, nist, bsi, anssi, gsma"),
        "{}",
        stderr(&unknown)
    );
}

/// The same packets as pcapng, whose blocks say who captured them.
#[test]
fn the_interface_and_filter_of_a_capture_are_in_a_report_against_a_framework() {
    let pcap = fs::read(data().join("sidecar-hybrid.pcap")).unwrap();
    let word = |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().unwrap());
    let option = |code: u16, value: &[u8]| {
        let mut bytes = [code.to_le_bytes(), u16::try_from(value.len()).unwrap().to_le_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    };
    let block = |kind: u32, body: &[&[u8]]| {
        let mut body = body.concat();
        body.resize(body.len().next_multiple_of(4), 0);
        let length = u32::try_from(body.len() + 12).unwrap().to_le_bytes();
        [&kind.to_le_bytes()[..], &length, &body, &length].concat()
    };
    let head = [
        0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
    ];
    let mut file = block(
        0x0a0d_0d0a,
        &[&head, &option(3, b"Linux 6.12"), &option(4, b"dumpcap 4.0")],
    );
    let link = [u8::try_from(word(20)).unwrap(), 0, 0, 0, 0, 0, 0, 0];
    file.extend(block(
        1,
        &[&link, &option(2, b"ens1f0"), &option(11, b"\0tcp port 8443")],
    ));
    let (mut at, nanoseconds) = (24, word(0) == 0xa1b2_3c4d);
    while at < pcap.len() {
        let fraction = u64::from(word(at + 4)) / if nanoseconds { 1000 } else { 1 };
        let (ticks, length) = (u64::from(word(at)) * 1_000_000 + fraction, word(at + 8));
        let time = [(ticks >> 32) as u32, ticks as u32].map(u32::to_le_bytes).concat();
        let data = &pcap[at + 16..at + 16 + length as usize];
        file.extend(block(
            6,
            &[
                &[0; 4],
                &time,
                &length.to_le_bytes(),
                &word(at + 12).to_le_bytes(),
                data,
            ],
        ));
        at += 16 + length as usize;
    }
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("n.pcapng"), file).unwrap();
    let said = words(&inspect_in(place.path(), &["n.pcapng", "--against", "nist"]));
    for line in [
        "n.pcapng: captured by dumpcap 4.0, on Linux 6.12",
        "n.pcapng: captured at interface ens1f0, filter tcp port 8443",
    ] {
        assert!(said.contains(line), "{line}: {said}");
    }
}
