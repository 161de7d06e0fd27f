//! Places of the nodes of a map. No physics and no chance: the same network has the same map.

use std::collections::VecDeque;
use std::f64::consts::{PI, TAU};

use crate::plot::canvas::text_width;

/// Size of a node's name.
pub(super) const NAME: f64 = 13.0;
/// Height of a node that has its name inside.
pub(super) const HEIGHT: f64 = 26.0;
/// Nodes of a part of the network above which names stand outside, along the radius.
const CROWD: usize = 26;
/// Between the rings of nodes.
const RING: f64 = 165.0;
/// Along a ring, between nodes with their names outside.
const CROWDED: f64 = 19.0;
/// Rings of nodes with their names inside are wider than high, as names are.
const STRETCH: f64 = 1.35;
/// Between two nodes that have only each other.
const PAIR: f64 = 250.0;
/// Around each part of the network that hangs together.
const MARGIN: f64 = 26.0;

/// A node's place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spot {
    pub(super) x: f64,
    pub(super) y: f64,
    /// Direction in radians in which a name outside the node is written. None for a name inside.
    pub(super) outward: Option<f64>,
}

/// Places of all nodes, and the size of the map.
#[derive(Debug, Default)]
pub(super) struct Layout {
    pub(super) spots: Vec<Spot>,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// Width of a node that has its name inside.
pub(super) fn node_width(name: &str) -> f64 {
    text_width(name, NAME) + 20.0
}

/// Places nodes by their names and the pairs of them that have a link, on a map about `width` wide.
pub(super) fn layout(names: &[String], pairs: &[(usize, usize)], width: f64) -> Layout {
    let mut neighbours = vec![Vec::new(); names.len()];
    for &(one, other) in pairs.iter().filter(|(one, other)| one != other) {
        neighbours[one].push(other);
        neighbours[other].push(one);
    }
    for list in &mut neighbours {
        list.sort_unstable();
        list.dedup();
    }
    let mut parts: Vec<Part> = components(&neighbours)
        .iter()
        .map(|nodes| Part::new(nodes, &neighbours, names))
        .collect();
    // The largest first; those of one size in the order of their first nodes.
    parts.sort_by(|one, other| {
        other
            .spots
            .len()
            .cmp(&one.spots.len())
            .then(one.spots[0].0.cmp(&other.spots[0].0))
    });
    let width = parts.iter().map(|part| part.width).fold(width, f64::max);
    let mut layout = Layout {
        spots: vec![
            Spot {
                x: 0.0,
                y: 0.0,
                outward: None
            };
            names.len()
        ],
        width,
        height: 0.0,
    };
    let mut shelf: Vec<&Part> = Vec::new();
    let mut used = 0.0;
    for part in &parts {
        if !shelf.is_empty() && used + part.width > width {
            layout.put(&shelf, used);
            (shelf, used) = (Vec::new(), 0.0);
        }
        used += part.width;
        shelf.push(part);
    }
    layout.put(&shelf, used);
    layout
}

impl Layout {
    /// A row of parts below all others, spread over the width.
    fn put(&mut self, shelf: &[&Part], used: f64) {
        let gap = (self.width - used) / (shelf.len() + 1) as f64;
        let height = shelf.iter().map(|part| part.height).fold(0.0, f64::max);
        let mut left = gap;
        for part in shelf {
            let top = self.height + (height - part.height) / 2.0;
            for &(node, spot) in &part.spots {
                self.spots[node] = Spot {
                    x: left + spot.x,
                    y: top + spot.y,
                    ..spot
                };
            }
            left += part.width + gap;
        }
        self.height += height;
    }
}

/// Nodes that hang together, each part in ascending order.
fn components(neighbours: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let mut seen = vec![false; neighbours.len()];
    let mut parts = Vec::new();
    for start in 0..neighbours.len() {
        if seen[start] {
            continue;
        }
        seen[start] = true;
        let (mut part, mut next) = (Vec::new(), VecDeque::from([start]));
        while let Some(node) = next.pop_front() {
            part.push(node);
            for &neighbour in &neighbours[node] {
                if !std::mem::replace(&mut seen[neighbour], true) {
                    next.push_back(neighbour);
                }
            }
        }
        part.sort_unstable();
        parts.push(part);
    }
    parts
}

/// A part of the network that hangs together, with its own origin.
struct Part {
    spots: Vec<(usize, Spot)>,
    width: f64,
    height: f64,
}

impl Part {
    fn new(nodes: &[usize], neighbours: &[Vec<usize>], names: &[String]) -> Self {
        let spots = match nodes {
            &[one, other] => vec![
                (
                    one,
                    Spot {
                        x: 0.0,
                        y: 0.0,
                        outward: None,
                    },
                ),
                (
                    other,
                    Spot {
                        x: PAIR,
                        y: 0.0,
                        outward: None,
                    },
                ),
            ],
            _ => {
                let widest = nodes.iter().map(|&node| node_width(&names[node])).fold(0.0, f64::max);
                radial(nodes, neighbours, widest)
            }
        };
        let mut part = Self {
            spots,
            width: 0.0,
            height: 0.0,
        };
        part.bound(names);
        part
    }

    /// Moves the origin to the corner of what is drawn.
    fn bound(&mut self, names: &[String]) {
        let (mut low, mut high) = ((f64::MAX, f64::MAX), (f64::MIN, f64::MIN));
        for &(node, spot) in &self.spots {
            let (dx, dy) = match spot.outward {
                None => (node_width(&names[node]) / 2.0, HEIGHT / 2.0),
                Some(angle) => {
                    let length = text_width(&names[node], NAME) + 16.0;
                    ((length * angle.cos()).abs() + 8.0, (length * angle.sin()).abs() + 8.0)
                }
            };
            low = (low.0.min(spot.x - dx), low.1.min(spot.y - dy));
            high = (high.0.max(spot.x + dx), high.1.max(spot.y + dy));
        }
        for (_, spot) in &mut self.spots {
            spot.x += MARGIN - low.0;
            spot.y += MARGIN - low.1;
        }
        self.width = high.0 - low.0 + 2.0 * MARGIN;
        self.height = high.1 - low.1 + 2.0 * MARGIN;
    }
}

/// The node with most neighbours in the middle, the others on rings by their distance from it,
/// children near their parent.
fn radial(nodes: &[usize], neighbours: &[Vec<usize>], widest: f64) -> Vec<(usize, Spot)> {
    let Some(&root) = nodes
        .iter()
        .max_by_key(|&&node| (neighbours[node].len(), std::cmp::Reverse(node)))
    else {
        return Vec::new();
    };
    let mut parent = vec![usize::MAX; neighbours.len()];
    parent[root] = root;
    let mut order = vec![(root, 0usize)];
    let mut at = 0;
    while let Some(&(node, depth)) = order.get(at) {
        at += 1;
        for &neighbour in &neighbours[node] {
            if parent[neighbour] == usize::MAX {
                parent[neighbour] = node;
                order.push((neighbour, depth + 1));
            }
        }
    }
    // Room is given by leaves.
    let mut leaves = vec![0usize; neighbours.len()];
    let mut is_leaf = vec![false; neighbours.len()];
    for &(node, _) in order.iter().rev() {
        is_leaf[node] = leaves[node] == 0;
        leaves[node] = leaves[node].max(1);
        if node != root {
            leaves[parent[node]] += leaves[node];
        }
    }
    let crowded = nodes.len() > CROWD;
    // At the top of a ring neighbours stand next to each other, names and all.
    let along = if crowded { CROWDED } else { (widest + 14.0) / STRETCH };
    let deepest = order.last().map_or(0, |&(_, depth)| depth);
    let mut radius = vec![0.0; deepest + 1];
    for depth in 1..=deepest {
        let on_ring = order.iter().filter(|(_, other)| *other == depth).count();
        // Children of one node share its wedge: the ring must hold as many of them as if all wedges were as full.
        radius[depth] = f64::max(radius[depth - 1] + RING, on_ring as f64 * along / TAU);
    }
    let mut from = vec![-PI / 2.0; neighbours.len()];
    let mut spots = Vec::with_capacity(order.len());
    let mut taken = vec![0.0; neighbours.len()];
    for &(node, depth) in &order {
        let share = TAU / leaves[root] as f64;
        if node == root {
            spots.push((
                node,
                Spot {
                    x: 0.0,
                    y: 0.0,
                    outward: None,
                },
            ));
            continue;
        }
        let start = from[parent[node]] + taken[parent[node]];
        let wedge = leaves[node] as f64 * share;
        taken[parent[node]] += wedge;
        from[node] = start;
        let angle = start + wedge / 2.0;
        let outward = (crowded && is_leaf[node]).then_some(angle);
        spots.push((
            node,
            Spot {
                x: radius[depth] * angle.cos() * if crowded { 1.0 } else { STRETCH },
                y: radius[depth] * angle.sin(),
                outward,
            },
        ));
    }
    spots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn star(leaves: usize) -> (Vec<String>, Vec<(usize, usize)>) {
        let names = (0..=leaves).map(|n| format!("10.0.0.{n}")).collect();
        (names, (1..=leaves).map(|leaf| (0, leaf)).collect())
    }

    fn closest(layout: &Layout) -> f64 {
        let mut closest = f64::MAX;
        for (index, one) in layout.spots.iter().enumerate() {
            for other in &layout.spots[index + 1..] {
                closest = closest.min((one.x - other.x).hypot(one.y - other.y));
            }
        }
        closest
    }

    #[test]
    fn two_hundred_nodes_stand_apart_and_within_the_map() {
        let (names, pairs) = star(199);
        let layout = layout(&names, &pairs, 1100.0);
        assert!(closest(&layout) > 15.0, "{}", closest(&layout));
        for spot in &layout.spots {
            assert!((0.0..=layout.width).contains(&spot.x) && (0.0..=layout.height).contains(&spot.y));
        }
    }

    #[test]
    fn in_a_crowd_the_names_of_all_that_have_one_neighbour_stand_outside_on_whatever_ring() {
        let (mut names, mut pairs) = star(40);
        names.push("10.1.0.1".into());
        pairs.push((40, 41));
        let layout = layout(&names, &pairs, 1100.0);
        let inside: Vec<usize> = (0..names.len())
            .filter(|&node| layout.spots[node].outward.is_none())
            .collect();
        assert_eq!(inside, [0, 40]);
    }

    #[test]
    fn the_same_network_has_the_same_map() {
        let (names, pairs) = star(12);
        let [one, again] = [layout(&names, &pairs, 1100.0), layout(&names, &pairs, 1100.0)];
        assert_eq!(one.spots, again.spots);
    }

    #[test]
    fn pairs_that_hang_together_with_nothing_else_stand_in_rows() {
        let names: Vec<String> = (0..20).map(|n| format!("10.77.{n}.1")).collect();
        let pairs: Vec<(usize, usize)> = (0..10).map(|n| (2 * n, 2 * n + 1)).collect();
        let layout = layout(&names, &pairs, 1100.0);
        assert!(closest(&layout) >= HEIGHT, "{}", closest(&layout));
        assert!(layout.width <= 1100.0);
    }

    #[test]
    fn a_chain_and_a_node_with_itself_alone_have_places() {
        let names: Vec<String> = (0..6).map(|n| n.to_string()).collect();
        let layout = layout(&names, &[(0, 1), (1, 2), (2, 3), (3, 4), (5, 5)], 600.0);
        assert!(closest(&layout) > HEIGHT);
        assert!(layout.spots.iter().all(|spot| spot.x.is_finite() && spot.y.is_finite()));
    }

    #[test]
    fn no_nodes_make_no_map() {
        assert!(layout(&[], &[], 600.0).spots.is_empty());
    }
}
