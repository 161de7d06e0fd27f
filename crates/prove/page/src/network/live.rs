//! The page of what is followed: its markup, its style and its script, and where its map draws what.
//!
//! Unlike the other pages it is served, and changes: its script asks for the state and puts it in
//! place, always as text. It needs nothing else, and nothing of it is inline, so that its server
//! can forbid all that is.

use std::collections::HashMap;

use maud::{Markup, PreEscaped, html as markup};
use serde::Serialize;

use super::layout::{layout, node_width};
use super::map::{NODES, legend};
use crate::{frame, plot};

/// The script, to be served at `/page.js`.
pub const SCRIPT: &str = include_str!("live/page.js");

/// The icon, to be served at `/icon.svg`: the two strokes of a link.
pub const ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\">\
    <path d=\"M1 6h14\" stroke=\"#0072b2\" stroke-width=\"3\"/><path d=\"M1 11h14\" stroke=\"#c9540a\" stroke-width=\"3\"/></svg>";

/// Width of a map on the page.
const WIDTH: f64 = 900.0;

/// The style, to be served at `/page.css`.
pub fn style() -> String {
    [
        plot::STYLE,
        include_str!("../html/style.css"),
        include_str!("style.css"),
        include_str!("live/page.css"),
    ]
    .concat()
}

/// The page, to be served at `/`. It holds nothing of what is followed.
pub fn html() -> String {
    let head = markup! {
        (PreEscaped("<link rel=\"icon\" href=\"/icon.svg\"/><link rel=\"stylesheet\" href=\"/page.css\"/>"))
        (PreEscaped("<script src=\"/page.js\" defer=\"defer\"></script>"))
    };
    frame::shell("What the packets show now", &head, "live", &body())
}

fn body() -> Markup {
    markup! {
        a.skip href="#links" { "To the links" }
        header {
            p.kicker { "Bartizan inspect, live" }
            h1 { "What the packets show now" }
            div.bar {
                p id="status" role="status" { "Connecting." }
                button id="pause" type="button" aria-pressed="false" { "Pause" }
            }
            ul id="sources" {}
        }
        noscript { p.warnings { "This page shows nothing without its script. " code { "bartizan inspect --follow --json" } " prints the same as lines." } }
        p.answer id="answer" {}
        div id="interfaces" role="group" aria-label="Links of which interface" {}
        div.columns {
            div {
                section aria-labelledby="map-heading" {
                    h2 id="map-heading" { "Map" }
                    figure.map {
                        div.legend aria-hidden="true" { (PreEscaped(legend().inline())) }
                        div.drawing id="drawing" aria-hidden="true" {}
                        figcaption id="drawn" {}
                    }
                }
                section aria-labelledby="links-heading" {
                    h2 id="links-heading" { "Links" }
                    p.meta { "Of the two signs of a link the first is " b { "recording" } ": can what is recorded today be read with a quantum computer later; the second "
                        b { "forgery" } ": can somebody with one pass for an end. Arrow keys go from link to link." }
                    div id="links" tabindex="-1" {}
                    p.meta id="links-beyond" {}
                }
            }
            div {
                section aria-labelledby="detail-heading" {
                    h2 id="detail-heading" { "Link" }
                    div id="detail" { p.meta { "Choose a link." } }
                }
                section aria-labelledby="findings-heading" {
                    h2 id="findings-heading" { "Findings, and what to do" }
                    div id="findings" {}
                    p.meta id="findings-beyond" {}
                }
            }
        }
        section.rows aria-labelledby="handshakes-heading" {
            h2 id="handshakes-heading" { "Handshakes as they come" }
            p.meta id="handshakes-total" {}
            div.wide { table {
                thead { tr { th { "Began" } th { "Ends" } th { "What" } th { "Key exchange" } th { "Recording" } th { "Forgery" } } }
                tbody id="handshakes" {}
            } }
        }
        section.rows aria-labelledby="events-heading" {
            h2 id="events-heading" { "Events" }
            p.meta id="events-total" {}
            div.wide { table {
                thead { tr { th { "Time" } th { "Event" } th { "Link" } th { "What happened" } } }
                tbody id="events" {}
            } }
        }
        footer { "Made by Bartizan " (env!("CARGO_PKG_VERSION")) ". Times are those of this browser." }
    }
}

/// Places of the ends of links.
#[derive(Debug, Default, PartialEq, Serialize)]
pub struct Map {
    width: f64,
    height: f64,
    nodes: Vec<Node>,
}

#[derive(Debug, PartialEq, Serialize)]
struct Node {
    name: String,
    x: f64,
    y: f64,
    /// Width of a node that has its name inside.
    width: Option<f64>,
    /// Direction in degrees in which a name outside the node is written.
    outward: Option<f64>,
}

impl Map {
    /// Map of links, each with the rank of its verdict, its number and its ends. If they have too
    /// many ends those of the worst are drawn.
    pub fn of<'a>(links: impl Iterator<Item = (u8, u64, &'a [String; 2])>) -> Self {
        let mut links: Vec<_> = links.collect();
        links.sort_by_key(|(_, number, _)| *number);
        let mut ends: Vec<&String> = links.iter().flat_map(|(.., ends)| *ends).collect();
        ends.sort_unstable();
        ends.dedup();
        if ends.len() > NODES {
            links.sort_by_key(|(rank, number, _)| (*rank, *number));
        }
        let (mut names, mut places) = (Vec::new(), HashMap::new());
        let mut pairs = Vec::new();
        for (.., ends) in links {
            let mut place = |name: &'a String| {
                if let Some(&known) = places.get(name) {
                    return Some(known);
                }
                (names.len() < NODES).then(|| {
                    names.push(name.clone());
                    places.insert(name, names.len() - 1);
                    names.len() - 1
                })
            };
            if let (Some(one), Some(other)) = (place(&ends[0]), place(&ends[1])) {
                pairs.push((one, other));
            }
        }
        let layout = layout(&names, &pairs, WIDTH);
        let rounded = |value: f64| (value * 10.0).round() / 10.0;
        let nodes = names.into_iter().zip(&layout.spots).map(|(name, spot)| Node {
            x: rounded(spot.x),
            y: rounded(spot.y),
            width: spot.outward.is_none().then(|| rounded(node_width(&name))),
            outward: spot.outward.map(|angle| rounded(angle.to_degrees())),
            name,
        });
        Self {
            nodes: nodes.collect(),
            width: rounded(layout.width),
            height: rounded(layout.height),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_the_page_is_inline_and_all_it_names_is_served_next_to_it() {
        let page = html();
        let document = page.strip_prefix("<!DOCTYPE html>").unwrap();
        let document = roxmltree::Document::parse(document).unwrap();
        let mut named = Vec::new();
        for node in document.descendants().filter(roxmltree::Node::is_element) {
            assert_ne!(node.tag_name().name(), "style");
            if node.tag_name().name() == "script" {
                assert_eq!((node.attribute("src"), node.text()), (Some("/page.js"), None));
            }
            for attribute in node.attributes() {
                assert!(
                    attribute.name() != "style" && !attribute.name().starts_with("on"),
                    "{attribute:?}"
                );
                if ["src", "href"].contains(&attribute.name()) && !attribute.value().starts_with('#') {
                    named.push(attribute.value());
                }
            }
        }
        assert_eq!(named, ["/icon.svg", "/page.css", "/page.js"]);
        let style = style();
        assert!(!style.contains("url(") && !style.contains("@import"));
    }

    #[test]
    fn the_script_makes_text_of_what_it_is_given_and_asks_nobody_else() {
        for way in [
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "DOMParser",
            "createContextualFragment",
            "srcdoc",
            "eval(",
            "Function(",
            "setAttribute('on",
            "javascript:",
            "import(",
            "WebSocket",
            "localStorage",
            "https:",
        ] {
            assert!(!SCRIPT.contains(way), "{way}");
        }
        // The one address is the name of SVG.
        assert_eq!(SCRIPT.matches("http:").count(), 1);
        assert_eq!(SCRIPT.matches("fetch(").count(), 1);
        assert!(SCRIPT.contains("textContent"));
    }

    #[test]
    fn every_element_that_the_script_looks_up_is_on_the_page() {
        let page = html();
        let mut looked_up = 0;
        for part in SCRIPT.split("byId('").skip(1) {
            let id = part.split('\'').next().unwrap();
            assert!(page.contains(&format!("id=\"{id}\"")), "{id}");
            looked_up += 1;
        }
        assert!(looked_up > 10);
    }

    #[test]
    fn of_a_thousand_links_the_worst_have_their_ends_on_the_map() {
        let ends: Vec<[String; 2]> = (0..1000)
            .map(|n| [format!("10.9.{}.{}", n / 250, n % 250), "10.1.1.1".to_owned()])
            .collect();
        let links = || {
            ends.iter()
                .enumerate()
                .map(|(n, ends)| (u8::from(n < 990), n as u64, ends))
        };
        let map = Map::of(links());
        assert_eq!(map.nodes.len(), NODES);
        assert!(map.nodes.iter().any(|node| node.name == "10.9.3.249"));
        assert!(
            map.nodes
                .iter()
                .all(|node| node.width.is_some() != node.outward.is_some())
        );
        assert_eq!(map, Map::of(links()));
        // A few keep their places when one of them gets worse.
        let few = |worse: usize| {
            Map::of(
                ends[..20]
                    .iter()
                    .enumerate()
                    .map(move |(n, ends)| (u8::from(n != worse), n as u64, ends)),
            )
        };
        assert_eq!(few(3), few(17));
    }
}
