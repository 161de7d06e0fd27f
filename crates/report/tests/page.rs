//! The page: whole, well-formed, and in need of nothing else.

mod synthetic;

use bartizan_report::{Report, html, markdown};
use roxmltree::{Document, ParsingOptions};

fn parse(page: &str) -> Document<'_> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    Document::parse_with_options(page, options).unwrap_or_else(|error| panic!("{error}"))
}

fn report(repetitions: usize) -> Report {
    let experiment = synthetic::experiment();
    let file = synthetic::file(&experiment, repetitions, 7);
    Report::of(&experiment, Some(&synthetic::published()), &[file])
}

#[test]
fn the_page_is_well_formed_and_needs_nothing_from_anywhere() {
    let report = report(30);
    let page = html(&report);
    // To be looked at: target/tmp/report.html.
    std::fs::write(format!("{}/report.html", env!("CARGO_TARGET_TMPDIR")), &page).unwrap();
    std::fs::write(format!("{}/report.md", env!("CARGO_TARGET_TMPDIR")), markdown(&report)).unwrap();
    let document = parse(&page);
    let mut drawings = 0;
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        drawings += usize::from(node.tag_name().name() == "svg");
        assert!(!["script", "link", "img", "iframe", "object", "embed"].contains(&node.tag_name().name()));
        for attribute in node.attributes() {
            let local = ["#", "data:"].iter().any(|start| attribute.value().starts_with(start));
            assert!(
                !["src", "href", "srcset", "action"].contains(&attribute.name()) || local,
                "{attribute:?}"
            );
            assert!(!attribute.name().starts_with("on"), "{attribute:?}");
        }
    }
    assert_eq!(drawings, 7);
    let styles: Vec<&str> = document
        .descendants()
        .filter(|node| node.has_tag_name("style"))
        .filter_map(|node| node.text())
        .collect();
    assert!(
        !styles.is_empty()
            && styles
                .iter()
                .all(|style| !style.contains("url(") && !style.contains("@import"))
    );
}
