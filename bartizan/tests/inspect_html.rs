//! Output of `bartizan inspect --html`: complete, well-formed, self-contained, and bounded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use roxmltree::{Document, Node, ParsingOptions};

fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../crates/prove/wire/tests/data")
}

fn page_in(directory: &Path, arguments: &[&str]) -> String {
    let scratch = tempfile::tempdir().unwrap();
    let out = scratch.path().join("page.html");
    let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .arg("inspect")
        .args(arguments)
        .args(["--html", out.to_str().unwrap()])
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    fs::read_to_string(out).unwrap()
}

fn parse(page: &str) -> Document<'_> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(page, options).unwrap_or_else(|error| panic!("{error}"))
}

fn with_class<'a>(document: &'a Document<'_>, class: &str) -> Vec<Node<'a, 'a>> {
    let has = |node: &Node<'_, '_>| {
        node.attribute("class")
            .is_some_and(|own| own.split(' ').any(|one| one == class))
    };
    document.descendants().filter(has).collect()
}

/// A capture of TCP: each pair of addresses speaks HTTP/2 in plaintext, in one packet.
fn clear_links(pairs: impl Iterator<Item = ([u8; 4], [u8; 4])>) -> Vec<u8> {
    let mut capture = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 101] {
        capture.extend(word.to_le_bytes());
    }
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    for (source, destination) in pairs {
        let mut packet = vec![0x45, 0, 0, 0, 0, 0, 0, 0, 64, 6, 0, 0];
        packet.extend(source);
        packet.extend(destination);
        packet.extend([
            0xc0, 0x00, 0x1f, 0x40, 0, 0, 0, 1, 0, 0, 0, 1, 0x50, 0x18, 0xff, 0xff, 0, 0, 0, 0,
        ]);
        packet.extend(preface);
        let length = u16::try_from(packet.len()).unwrap();
        packet[2..4].copy_from_slice(&length.to_be_bytes());
        for word in [1_763_000_000_u32, 0, u32::from(length), u32::from(length)] {
            capture.extend(word.to_le_bytes());
        }
        capture.extend(packet);
    }
    capture
}

#[test]
fn every_capture_in_the_tree_makes_a_page_that_needs_nothing_from_anywhere() {
    for file in [
        "openssl-3.5.7.pcap",
        "strongswan-6.1.0.pcap",
        "sbi-free5gc-two-registrations.pcap",
        "n2-free5gc-two-registrations.pcap",
        "e2-flexric-kpm.pcap",
    ] {
        let page = page_in(&data(), &[file]);
        let document = parse(&page);
        let ids: BTreeSet<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
        for node in document.descendants().filter(Node::is_element) {
            assert!(!["script", "link", "img", "iframe", "object", "embed"].contains(&node.tag_name().name()));
            for attribute in node.attributes() {
                assert!(!attribute.name().starts_with("on"), "{attribute:?}");
                if ["src", "href", "srcset", "action"].contains(&attribute.name()) {
                    let target = attribute
                        .value()
                        .strip_prefix('#')
                        .unwrap_or_else(|| panic!("{attribute:?}"));
                    assert!(ids.contains(target), "{file}: nothing has the id {target}");
                }
            }
        }
        assert!(!page.contains("url(") && !page.contains("@import"));
        assert!(!with_class(&document, "card").is_empty(), "{file}");
    }
}

#[test]
fn a_map_has_every_host_and_of_each_link_two_strokes_and_two_signs() {
    let page = page_in(&data(), &["sbi-free5gc-two-registrations.pcap"]);
    let document = parse(&page);
    let map = with_class(&document, "drawing")[0];
    let inside = |class: &str| {
        with_class(&document, class)
            .into_iter()
            .filter(|node| node.ancestors().any(|up| up == map))
            .count()
    };
    assert_eq!(inside("node"), 7);
    assert_eq!((inside("stroke"), inside("sign")), (12, 12));
    // Confidentiality is readable now, authenticity vulnerable.
    assert_eq!((inside("is-readable"), inside("is-vulnerable")), (12, 12));
    assert_eq!(inside("is-safe"), 0);
}

#[test]
fn nodes_are_called_by_the_functions_that_requests_tell_of() {
    let name = "sbi-free5gc-two-registrations.pcap";
    let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .args(["inspect", "--json", name])
        .current_dir(data())
        .output()
        .unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut reported: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for connection in report["files"][0]["connections"].as_array().unwrap() {
        for end in ["client", "server"] {
            let address = connection[end].as_str().unwrap().rsplit_once(':').unwrap().0;
            let functions = connection["functions"][end].as_array().into_iter().flatten();
            let functions = functions.map(|function| function.as_str().unwrap().to_owned());
            reported.entry(address.to_owned()).or_default().extend(functions);
        }
    }
    let label = |(address, functions): (&String, &BTreeSet<String>)| {
        let functions: Vec<&str> = functions.iter().map(String::as_str).collect();
        match functions.as_slice() {
            [] => address.clone(),
            all if all.len() > 1 => format!("{address} · {} +{}", all[0], all.len() - 1),
            all => format!("{address} · {}", all.join(", ")),
        }
    };
    let expected: BTreeSet<String> = reported.iter().map(label).collect();
    let page = page_in(&data(), &[name]);
    let document = parse(&page);
    let drawn = with_class(&document, "host-name")
        .into_iter()
        .filter_map(|node| node.text());
    assert_eq!(drawn.map(str::to_owned).collect::<BTreeSet<_>>(), expected);
    assert!(expected.iter().any(|name| name.ends_with(" · NRF")), "{expected:?}");
}

#[test]
fn two_verdicts_of_a_link_are_drawn_apart() {
    let page = page_in(&data(), &["strongswan-6.1.0.pcap"]);
    let document = parse(&page);
    let both = with_class(&document, "badge").into_iter().filter(|badge| {
        let has = |class: &str| {
            badge.descendants().any(|node| {
                node.attribute("class")
                    .is_some_and(|own| own.split(' ').any(|one| one == class))
            })
        };
        has("is-safe") && has("is-hidden")
    });
    assert_eq!(
        both.count(),
        8,
        "quantum-safe keys, and nobody tells how the ends proved who they are"
    );
    // A rekey that lost its post-quantum exchange leaves both verdicts as they are, and is marked.
    assert_eq!(with_class(&document, "mark").len(), 1 + 2, "one of them in the legend");
}

#[test]
fn ledgers_make_both_strokes_safe() {
    let ledgers = [
        "--ledger",
        "sidecar-hybrid.nrf.jsonl",
        "--ledger",
        "sidecar-hybrid.consumers.jsonl",
    ];
    let page = page_in(&data(), &[&["sidecar-hybrid.pcap"][..], &ledgers].concat());
    let document = parse(&page);
    let map = with_class(&document, "drawing")[0];
    let strokes: Vec<&str> = map
        .descendants()
        .filter_map(|node| node.attribute("class"))
        .filter(|class| class.starts_with("stroke"))
        .collect();
    assert_eq!(strokes, ["stroke is-safe", "stroke is-safe"]);
}

#[test]
fn names_from_files_and_ledgers_are_words_and_no_markup() {
    let scratch = tempfile::tempdir().unwrap();
    let evil = "<script>alert(1)<\u{7f}\u{202e}br>.pcap";
    fs::copy(data().join("e2-flexric-kpm.pcap"), scratch.path().join(evil)).unwrap();
    let page = page_in(scratch.path(), &[evil]);
    parse(&page);
    assert!(!page.contains("<script"));
    assert!(!page.contains('\u{7f}'));
}

#[test]
fn a_network_of_a_thousand_hosts_has_a_map_of_two_hundred_and_says_so() {
    let scratch = tempfile::tempdir().unwrap();
    let host = |number: u16| [10, 9, number.to_be_bytes()[0], number.to_be_bytes()[1]];
    let capture = clear_links((0..1000).map(|number| (host(number + 1), [10, 1, 1, 1])));
    fs::write(scratch.path().join("many.pcap"), capture).unwrap();
    let page = page_in(scratch.path(), &["many.pcap"]);
    let document = parse(&page);
    assert_eq!(with_class(&document, "node").len(), 200);
    assert!(page.contains("Drawn are 199 of 1000 links"));
    assert!(page.contains("The evidence of 400 further links, none of them worse, is in the JSON."));
    assert!(page.len() < 4 << 20, "{} bytes", page.len());
}

#[test]
fn the_evidence_of_the_worst_links_is_on_the_page_whenever_they_began() {
    let scratch = tempfile::tempdir().unwrap();
    let host = |number: u16| [10, 9, number.to_be_bytes()[0], number.to_be_bytes()[1]];
    // 700 links of which nothing is known, and behind them one in plaintext.
    let mut capture = clear_links((0..701).map(|number| (host(number + 1), [10, 1, 1, 1])));
    let packet = (capture.len() - 24) / 701;
    for number in 0..700 {
        let end = 24 + (number + 1) * packet;
        capture[end - 24..end].fill(0xee);
    }
    fs::write(scratch.path().join("late.pcap"), capture).unwrap();
    let page = page_in(scratch.path(), &["late.pcap"]);
    let document = parse(&page);
    let cards = with_class(&document, "card");
    assert_eq!(cards.len(), 600);
    let text: String = cards[0].descendants().filter_map(|node| node.text()).collect();
    assert!(text.contains("10.9.2.189") && text.contains("HTTP/2"), "{text}");
    // Every link to evidence has a target.
    let ids: BTreeSet<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    let mut targets = document
        .descendants()
        .filter_map(|node| node.attribute("href")?.strip_prefix('#'));
    assert!(targets.all(|target| ids.contains(target)));
}

#[test]
fn the_same_capture_makes_the_same_page() {
    let [one, again] = [(); 2].map(|()| page_in(&data(), &["openssl-3.5.7.pcap"]));
    assert_eq!(one, again);
}

/// Rectangles of a class on the map: left, top, right, bottom.
fn rectangles(document: &Document<'_>, class: &str) -> Vec<[f64; 4]> {
    let number = |node: &Node<'_, '_>, name: &str| node.attribute(name).unwrap().parse::<f64>().unwrap();
    with_class(document, class)
        .iter()
        .filter(|node| node.tag_name().name() == "rect")
        .map(|node| {
            let [x, y, width, height] = ["x", "y", "width", "height"].map(|name| number(node, name));
            [x, y, x + width, y + height]
        })
        .collect()
}

#[test]
fn at_dense_hubs_no_sign_covers_a_name_or_another_sign() {
    let scratch = tempfile::tempdir().unwrap();
    let all = |count: u8| {
        (1..=count).flat_map(move |one| (one + 1..=count).map(move |other| ([10, 2, 0, one], [10, 2, 0, other])))
    };
    let hubs = (2..62).flat_map(|node| (1..=3).map(move |hub| ([10, 1, 0, node], [10, 9, 0, hub])));
    fs::write(scratch.path().join("all.pcap"), clear_links(all(12))).unwrap();
    fs::write(scratch.path().join("hubs.pcap"), clear_links(hubs)).unwrap();
    for (file, links) in [("all.pcap", 66), ("hubs.pcap", 180)] {
        let page = page_in(scratch.path(), &[file]);
        let document = parse(&page);
        let mut rectangles = [rectangles(&document, "backdrop"), rectangles(&document, "host")].concat();
        assert!(rectangles.len() > links / 3, "{file}: {}", rectangles.len());
        while let Some(one) = rectangles.pop() {
            for other in &rectangles {
                let apart = one[2] <= other[0] || other[2] <= one[0] || one[3] <= other[1] || other[3] <= one[1];
                assert!(apart, "{file}: {one:?} {other:?}");
            }
        }
        // A link without room for its signs has its strokes.
        assert_eq!(
            with_class(&document, "link")
                .iter()
                .filter(|node| node.tag_name().name() == "a")
                .count(),
            links
        );
    }
}

#[test]
fn the_page_has_the_links_and_findings_of_the_table() {
    for file in [
        "openssl-3.5.7.pcap",
        "strongswan-6.1.0.pcap",
        "n2-free5gc-two-registrations.pcap",
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_bartizan"))
            .args(["inspect", "--json", file])
            .current_dir(data())
            .output()
            .unwrap();
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let report = &report["files"][0];
        let page = page_in(&data(), &[file]);
        let document = parse(&page);
        let text = |node: &Node<'_, '_>| {
            node.descendants()
                .filter(Node::is_text)
                .filter_map(|one| one.text())
                .collect::<String>()
        };
        let answer = text(&with_class(&document, "answer")[0]);
        let links = report["answer"]["links"].as_u64().unwrap();
        assert!(answer.contains(&format!("Of {links} link")), "{answer}");
        assert_eq!(report["links"].as_array().unwrap().len() as u64, links);
        let rows = with_class(&document, "links")[0]
            .descendants()
            .filter(|node| node.has_tag_name("tr"))
            .count();
        assert_eq!(rows as u64, links + 1, "{file}");
        let judged = text(&with_class(&document, "first")[0]);
        assert!(
            judged.contains(report["answer"]["bytes"]["judged_percent"].as_str().unwrap()),
            "{judged}"
        );
        let findings = text(&with_class(&document, "findings")[0]);
        for finding in report["findings"].as_array().unwrap() {
            for part in ["severity", "concern", "because", "remedy"] {
                // Words between backticks are code in the page.
                let words = finding[part].as_str().unwrap().replace('`', "");
                assert!(findings.contains(&words), "{file}: {finding}");
            }
        }
    }
}
