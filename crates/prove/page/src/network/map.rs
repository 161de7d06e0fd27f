//! The network drawn: hosts or nodes, and between them the links, each with two strokes and two
//! chips that are never merged.
//!
//! A verdict is shown four times: by colour, by the stroke's dashes, by the chip's sign and in
//! words. One of them is enough.

use std::collections::{BTreeSet, HashMap};

use bartizan_posture::{Concern, Link, Verdict};

use super::layout::{HEIGHT, Layout, NAME, Spot, layout, node_width};
use super::taken::Taken;
use crate::plot::Drawing;
use crate::plot::canvas::{Anchor, Canvas, text_width};

/// Width of a map on a page.
const WIDTH: f64 = 1180.0;
/// Nodes drawn.
pub(super) const NODES: usize = 200;
/// Links drawn.
pub(super) const LINKS: usize = 600;
/// Network functions named next to a node.
const FUNCTIONS: usize = 1;
/// Between a link's two strokes, from the middle; and where there are so many that they are drawn fine.
const APART: (f64, f64) = (2.9, 1.6);
/// Between links of the same two nodes.
const OFFSET: f64 = 46.0;
/// Side of a chip.
const CHIP: f64 = 15.0;
/// Links above which chips have no name of the interface next to them.
const NAMED: usize = 70;

/// A link on its way to the map.
struct Edge<'a> {
    link: &'a Link,
    number: usize,
    ends: (usize, usize),
    /// Distance from the straight line between its ends.
    offset: f64,
}

/// A link that a deployment file lists and that was not seen: its interface and the names of its
/// ends.
#[derive(Debug, Clone)]
pub struct Unseen {
    /// The interface.
    pub interface: String,
    /// The nodes at its ends.
    pub ends: [String; 2],
}

/// The map of links with their numbers, the first of them where there are too many, and how many are on it.
pub(super) fn map(title: &str, file: usize, links: &[(usize, &Link)], unseen: &[Unseen]) -> (Drawing, usize) {
    let mut names: Vec<String> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    let mut place = |name: String| -> Option<usize> {
        if let Some(&known) = places.get(&name) {
            return Some(known);
        }
        if names.len() >= NODES {
            return None;
        }
        names.push(name.clone());
        places.insert(name, names.len() - 1);
        Some(names.len() - 1)
    };
    let mut edges: Vec<Edge<'_>> = Vec::new();
    for &(number, link) in links {
        let [one, other] = [&link.ends[0], &link.ends[1]].map(ToString::to_string);
        if edges.len() < LINKS
            && let (Some(one), Some(other)) = (place(one), place(other))
        {
            edges.push(Edge {
                link,
                number,
                ends: (one, other),
                offset: 0.0,
            });
        }
    }
    let absent: Vec<(usize, usize, &Unseen)> = unseen
        .iter()
        .filter_map(|unseen| {
            let [one, other] = unseen.ends.clone();
            Some((place(one)?, place(other)?, unseen))
        })
        .collect();
    let mut pairs: Vec<(usize, usize)> = edges.iter().map(|edge| edge.ends).collect();
    pairs.extend(absent.iter().map(|&(one, other, _)| (one, other)));
    let names = labels(names, &edges);
    let layout = layout(&names, &pairs, WIDTH);
    spread(&mut edges);
    let mut canvas = Canvas::default();
    for (one, other, unseen) in absent {
        let (from, to) = (at(&layout, one), at(&layout, other));
        canvas.open(
            "absent",
            &format!("{} is in the deployment file, and was not seen", unseen.interface),
        );
        canvas.line(from, to, "stroke");
        let middle = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
        canvas.text(
            middle.0,
            middle.1 - 6.0,
            "interface",
            Anchor::Middle,
            &format!("{}: not seen", unseen.interface),
        );
        canvas.close();
    }
    let fine = edges.len() > NAMED;
    for edge in &edges {
        strokes(&mut canvas, &layout, edge, file, fine);
    }
    let mut taken = Taken::by_nodes(&names, &layout);
    let chips: Vec<Option<(f64, f64)>> = edges
        .iter()
        .map(|edge| taken.place(badge_size(edge.link, !fine), &positions(&layout, edge)))
        .collect();
    for (name, spot) in names.iter().zip(&layout.spots) {
        node(&mut canvas, name, spot);
    }
    for (edge, at) in edges.iter().zip(&chips) {
        if let Some(at) = *at {
            badge(&mut canvas, edge, at, file, !fine);
        }
    }
    let described: Vec<String> = edges.iter().map(|edge| sentence(edge.link)).collect();
    let drawn = edges.len();
    (
        canvas.finish(title, described.join("; "), layout.width, layout.height.max(40.0)),
        drawn,
    )
}

/// Labels of the nodes on the map: behind the name the network functions that requests in plaintext
/// tell of.
fn labels(names: Vec<String>, edges: &[Edge<'_>]) -> Vec<String> {
    let mut functions: Vec<BTreeSet<&str>> = vec![BTreeSet::new(); names.len()];
    for edge in edges {
        let [one, other] = &edge.link.functions;
        functions[edge.ends.0].extend(one);
        functions[edge.ends.1].extend(other);
    }
    let label = |(name, functions): (String, &BTreeSet<&str>)| {
        let shown: Vec<&str> = functions.iter().copied().take(FUNCTIONS).collect();
        let beyond = match functions.len().saturating_sub(FUNCTIONS) {
            0 => String::new(),
            count => format!(" +{count}"),
        };
        if shown.is_empty() {
            name
        } else {
            format!("{name} · {}{beyond}", shown.join(", "))
        }
    };
    names.into_iter().zip(&functions).map(label).collect()
}

/// Links of the same two nodes stand next to each other.
fn spread(edges: &mut [Edge<'_>]) {
    let mut of_pair: HashMap<(usize, usize), Vec<usize>> = HashMap::new();
    for (index, edge) in edges.iter().enumerate() {
        let (one, other) = edge.ends;
        of_pair.entry((one.min(other), one.max(other))).or_default().push(index);
    }
    for places in of_pair.values() {
        let middle = (places.len() - 1) as f64 / 2.0;
        for (order, &index) in places.iter().enumerate() {
            let turned = edges[index].ends.0 > edges[index].ends.1;
            let offset = (order as f64 - middle) * OFFSET;
            edges[index].offset = if turned { -offset } else { offset };
        }
    }
}

fn at(layout: &Layout, node: usize) -> (f64, f64) {
    layout.spots.get(node).map_or((0.0, 0.0), |spot| (spot.x, spot.y))
}

/// The two strokes.
fn strokes(canvas: &mut Canvas, layout: &Layout, edge: &Edge<'_>, file: usize, fine: bool) {
    let (apart, group) = if fine {
        (APART.1, "link fine")
    } else {
        (APART.0, "link")
    };
    let (from, to) = (at(layout, edge.ends.0), at(layout, edge.ends.1));
    canvas.open_link(group, &anchor(file, edge.number), &sentence(edge.link));
    let verdicts = [edge.link.confidentiality.verdict(), edge.link.authenticity.verdict()];
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    let length = dx.hypot(dy);
    if length < 1.0 {
        // Within a node: an arc above it.
        let peak = peak(from, edge);
        for (verdict, side) in verdicts.into_iter().zip([apart, -apart]) {
            let foot = 16.0 + side;
            let class = format!("stroke {}", class(verdict));
            canvas.bent(
                (from.0 - foot, from.1),
                (peak.0 - foot, peak.1),
                (peak.0, peak.1 - side),
                &class,
            );
            canvas.bent(
                (peak.0, peak.1 - side),
                (peak.0 + foot, peak.1),
                (from.0 + foot, from.1),
                &class,
            );
        }
    } else {
        // The first stroke is the upper one, or the left one of a vertical link.
        let (turn, normal) = normal(dx, dy);
        let bend = edge.offset * turn;
        let shifted = |point: (f64, f64), by: f64| (point.0 + normal.0 * by, point.1 + normal.1 * by);
        let middle = ((from.0 + to.0) / 2.0, (from.1 + to.1) / 2.0);
        for (verdict, side) in verdicts.into_iter().zip([apart, -apart]) {
            let class = format!("stroke {}", class(verdict));
            if bend.abs() < 1.0 {
                canvas.line(shifted(from, side), shifted(to, side), &class);
            } else {
                canvas.bent(
                    shifted(from, side),
                    shifted(middle, 2.0 * bend + side),
                    shifted(to, side),
                    &class,
                );
            }
        }
    }
    canvas.close_link();
}

/// The top of the arc of a link within a node.
fn peak(node: (f64, f64), edge: &Edge<'_>) -> (f64, f64) {
    (node.0 + edge.offset, node.1 - HEIGHT * 2.6)
}

/// The direction across a link: upwards, or to the left of a vertical one; and whether that is
/// against its direction.
fn normal(dx: f64, dy: f64) -> (f64, (f64, f64)) {
    let length = dx.hypot(dy);
    let upwards = dx < 0.0 || (dx.abs() < 1.0 && dy > 0.0);
    let turn = if upwards { -1.0 } else { 1.0 };
    (turn, (dy / length * turn, -dx / length * turn))
}

/// Places for the chips of a link, the best place first.
fn positions(layout: &Layout, edge: &Edge<'_>) -> Vec<(f64, f64)> {
    let (from, to) = (at(layout, edge.ends.0), at(layout, edge.ends.1));
    let (dx, dy) = (to.0 - from.0, to.1 - from.1);
    if dx.hypot(dy) < 1.0 {
        return vec![peak(from, edge)];
    }
    let (turn, normal) = normal(dx, dy);
    let bend = edge.offset * turn;
    let point = |towards: f64| {
        // A bent line is highest in its middle: half of the way to the point it is bent towards.
        let by = bend * 4.0 * towards * (1.0 - towards);
        (
            from.0 + dx * towards + normal.0 * by,
            from.1 + dy * towards + normal.1 * by,
        )
    };
    let best = share(layout, edge);
    let mut shares: Vec<f64> = (2..=38).map(|step| f64::from(step) / 40.0).collect();
    shares.sort_by(|one, other| (one - best).abs().total_cmp(&(other - best).abs()));
    std::iter::once(best).chain(shares).map(point).collect()
}

/// Share of a link's length at which its chips stand: half-way between what two nodes take of it,
/// and further out in a crowd, where links are further apart.
fn share(layout: &Layout, edge: &Edge<'_>) -> f64 {
    let outside = |node: usize| layout.spots.get(node).is_some_and(|spot| spot.outward.is_some());
    match (outside(edge.ends.0), outside(edge.ends.1)) {
        // Every second one a little nearer: chips of neighbours stand apart.
        (false, true) => 0.9 - 0.1 * (edge.ends.1 % 2) as f64,
        (true, false) => 0.1 + 0.1 * (edge.ends.0 % 2) as f64,
        _ => 0.5,
    }
}

/// Width and height of a link's chips with what stands next to them.
fn badge_size(link: &Link, named: bool) -> (f64, f64) {
    let chip = if named { CHIP } else { CHIP * 0.7 };
    let label = match link.interface {
        Some(interface) if named => text_width(interface.name, 11.5) + 9.0,
        _ => 0.0,
    };
    let mark = if marked(link) { chip + 1.5 } else { 0.0 };
    (label + 2.0 * chip + mark + 5.5, chip + 4.0)
}

fn badge(canvas: &mut Canvas, edge: &Edge<'_>, at: (f64, f64), file: usize, named: bool) {
    let name = match edge.link.interface {
        Some(interface) if named => interface.name,
        _ => "",
    };
    let chip = if named { CHIP } else { CHIP * 0.7 };
    let label = if name.is_empty() {
        0.0
    } else {
        text_width(name, 11.5) + 9.0
    };
    let mark = if marked(edge.link) { chip + 1.5 } else { 0.0 };
    let width = label + 2.0 * chip + mark + 3.5;
    let (left, top) = (at.0 - width / 2.0, at.1 - chip / 2.0);
    canvas.open_link("badge", &anchor(file, edge.number), &sentence(edge.link));
    canvas.rounded((left - 2.0, top - 2.0), width + 2.0, chip + 4.0, 4.0, "backdrop");
    if !name.is_empty() {
        canvas.text(left + 3.0, at.1 + 4.0, "interface", Anchor::Start, name);
    }
    for (index, verdict) in [edge.link.confidentiality.verdict(), edge.link.authenticity.verdict()]
        .into_iter()
        .enumerate()
    {
        sign(canvas, (left + label + index as f64 * (chip + 1.5), top), chip, verdict);
    }
    if mark > 0.0 {
        let at = (left + label + 2.0 * (chip + 1.5), top);
        canvas.rounded(at, chip, chip, chip / 2.0, "mark");
        let class = if chip > 12.0 { "query" } else { "query small" };
        canvas.text(at.0 + chip / 2.0, at.1 + chip * 0.8, class, Anchor::Middle, "!");
    }
    canvas.close_link();
}

/// Returns true if there is something to object to that neither verdict shows: a rekey that lost
/// its post-quantum exchange, a link in no deployment file, a ledger that says something else.
fn marked(link: &Link) -> bool {
    let shown = |concern| {
        matches!(
            concern,
            Concern::ReadableNow | Concern::Confidentiality | Concern::Authenticity | Concern::Unproven
        )
    };
    link.objections.iter().any(|objection| !shown(objection.concern))
}

/// A verdict as a chip: a tick, a cross, an open eye, a question mark, or a dash.
pub(super) fn sign(canvas: &mut Canvas, at: (f64, f64), side: f64, verdict: Verdict) {
    canvas.open(&format!("sign {}", class(verdict)), "");
    canvas.rounded(at, side, side, side * 0.22, "chip");
    let point = |x: f64, y: f64| (at.0 + x * side, at.1 + y * side);
    match verdict {
        Verdict::QuantumSafe => canvas.path(
            &[point(0.24, 0.54), point(0.43, 0.73), point(0.77, 0.3)],
            false,
            "glyph",
        ),
        Verdict::Vulnerable => {
            canvas.line(point(0.28, 0.28), point(0.72, 0.72), "glyph");
            canvas.line(point(0.72, 0.28), point(0.28, 0.72), "glyph");
        }
        Verdict::ReadableNow => {
            let lid = [0.5, 0.24, 0.76];
            for bend in [lid[1], lid[2]] {
                let over = 2.0 * bend - lid[0];
                canvas.bent(point(0.16, 0.5), point(0.5, over), point(0.84, 0.5), "glyph");
            }
            canvas.circle(point(0.5, 0.5), side * 0.09, "glyph");
        }
        Verdict::NotObservable => {
            let (x, y) = point(0.5, 0.8);
            canvas.text(
                x,
                y,
                if side > 12.0 { "query" } else { "query small" },
                Anchor::Middle,
                "?",
            );
        }
        Verdict::NotSeen => canvas.line(point(0.26, 0.5), point(0.74, 0.5), "glyph"),
    }
    canvas.close();
}

fn node(canvas: &mut Canvas, name: &str, spot: &Spot) {
    canvas.open("node", "");
    match spot.outward {
        None => {
            let width = node_width(name);
            canvas.rounded(
                (spot.x - width / 2.0, spot.y - HEIGHT / 2.0),
                width,
                HEIGHT,
                HEIGHT / 2.0,
                "host",
            );
            canvas.text(spot.x, spot.y + NAME * 0.35, "host-name", Anchor::Middle, name);
        }
        Some(angle) => {
            canvas.circle((spot.x, spot.y), 4.5, "host");
            canvas.text_along((spot.x, spot.y), angle, 9.0, "host-name", name);
        }
    }
    canvas.close();
}

/// The class of a verdict's colour and dashes.
pub(super) fn class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::QuantumSafe => "is-safe",
        Verdict::Vulnerable => "is-vulnerable",
        Verdict::ReadableNow => "is-readable",
        Verdict::NotObservable => "is-hidden",
        Verdict::NotSeen => "is-unseen",
    }
}

/// The id of a link's evidence on the page.
pub(super) fn anchor(file: usize, number: usize) -> String {
    format!("link-{}-{}", file + 1, number + 1)
}

/// A link in one line.
pub(super) fn sentence(link: &Link) -> String {
    format!(
        "{} {} to {}: confidentiality {}, authenticity {}",
        if link.interface.is_some() { link.name() } else { "link" },
        link.ends[0],
        link.ends[1],
        link.confidentiality.verdict().name(),
        link.authenticity.verdict().name()
    )
}

/// Legend of the strokes and signs.
pub(super) fn legend() -> Drawing {
    let mut canvas = Canvas::default();
    let mut x = 0.0;
    for verdict in [
        Verdict::QuantumSafe,
        Verdict::Vulnerable,
        Verdict::ReadableNow,
        Verdict::NotObservable,
        Verdict::NotSeen,
    ] {
        canvas.open("link", "");
        canvas.line((x, 13.0), (x + 42.0, 13.0), &format!("stroke {}", class(verdict)));
        canvas.close();
        sign(&mut canvas, (x + 50.0, 5.5), CHIP, verdict);
        canvas.text(x + 72.0, 17.5, "key", Anchor::Start, verdict.name());
        x += 72.0 + text_width(verdict.name(), 13.0) + 26.0;
    }
    canvas.rounded((x, 5.5), CHIP, CHIP, CHIP / 2.0, "mark");
    canvas.text(x + CHIP / 2.0, 5.5 + CHIP * 0.8, "query", Anchor::Middle, "!");
    let words = "something else to object to";
    canvas.text(x + 22.0, 17.5, "key", Anchor::Start, words);
    x += 22.0 + text_width(words, 13.0);
    canvas.finish("What strokes and signs stand for", "", x, 27.0)
}
