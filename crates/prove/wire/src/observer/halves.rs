//! Connections of which one direction came, in tags or tunnels: packets of the other may come in
//! others. Labels of MPLS and tunnels of GTP-U have a number for each direction, and a mirror may
//! tag one of two.

use std::net::SocketAddr;

use super::connections::Ends;
use super::keyed::Table;
use super::memory::Memory;
use super::paths::{Bare, PathId};

bartizan_registry::made! {
    /// Properties that both directions share.
    #[derive(Clone, Copy, PartialEq, Eq, Hash)]
    struct Key, new(bare: Bare, source: SocketAddr, destination: SocketAddr) {
        bare: Bare,
        ends: Ends = Ends::between(source, destination, PathId::default()),
    }
}

/// Halves of connections in tags and tunnels.
#[derive(Default)]
pub(super) struct Halves(Table<Key, PathId>);

impl Halves {
    /// A connection has begun in one direction.
    pub(super) fn begin(&mut self, bare: Bare, ends: [SocketAddr; 2], path: PathId, memory: &mut Memory) {
        let [source, destination] = ends;
        // The first of several waits; there are no more entries than connections.
        self.0.entry(Key::new(bare, source, destination)).or_insert(path);
        self.0.grown(memory);
    }

    /// Encapsulation of the half between these ends.
    pub(super) fn find(&self, bare: Bare, source: SocketAddr, destination: SocketAddr) -> Option<PathId> {
        if self.0.is_empty() {
            return None;
        }
        self.0.get(&Key::new(bare, source, destination)).copied()
    }

    /// It is no half any more.
    pub(super) fn end(&mut self, bare: Bare, [source, destination]: [SocketAddr; 2], path: PathId) {
        let key = Key::new(bare, source, destination);
        if self.0.get(&key) == Some(&path) {
            self.0.remove(&key);
        }
    }

    /// Gives room back.
    pub(super) fn shrink(&mut self, memory: &mut Memory) {
        self.0.shrink(memory);
    }
}
