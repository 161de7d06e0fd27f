//! The tags and tunnels that conversations are distinguished by, each combination under a number.

use std::hash::{BuildHasher, Hash, Hasher};

use super::keyed::Table;
use super::memory::Memory;
use crate::Timestamp;
use crate::allocation::allocated;
use crate::path::{Layer, Path};

/// A combination of tags and tunnels; the default is none at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub(super) struct PathId(pub(super) u32);

/// Most combinations at a time: the number of one shares its word with a flag.
const MOST: u32 = u32::MAX >> 1;

struct Known {
    path: Path,
    /// The same without tags and numbers: what is left is as well around packets of the other
    /// direction, which may have other tags and numbers.
    bare: Bare,
    last: Timestamp,
}

/// A combination of tunnels without tags and numbers, as a number of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Bare(pub(super) u64);

/// All combinations that are in use.
#[derive(Default)]
pub(super) struct Paths {
    ids: Table<Box<[Layer]>, PathId>,
    known: Table<PathId, Known>,
    given: u32,
    /// The one of the packet before: most packets have the same.
    before: Option<(Vec<Layer>, PathId)>,
}

impl Paths {
    /// The number of these layers; none where memory has no room for another combination.
    pub(super) fn id(&mut self, layers: &[Layer], at: Timestamp, memory: &mut Memory) -> Option<PathId> {
        if layers.is_empty() {
            return Some(PathId::default());
        }
        let id = match &self.before {
            Some((known, id)) if known == layers => *id,
            _ => {
                let id = match self.ids.get(layers) {
                    Some(id) => *id,
                    None => self.begin(layers, at, memory)?,
                };
                let (known, before) = self.before.get_or_insert_default();
                known.clear();
                known.extend_from_slice(layers);
                *before = id;
                id
            }
        };
        if let Some(known) = self.known.get_mut(&id) {
            known.last = known.last.max(at);
        }
        Some(id)
    }

    /// The number of these layers, if they have one.
    pub(super) fn known(&self, layers: &[Layer]) -> Option<PathId> {
        if layers.is_empty() {
            return Some(PathId::default());
        }
        self.ids.get(layers).copied()
    }

    /// The layers under a number.
    pub(super) fn path(&self, id: PathId) -> Path {
        self.known.get(&id).map(|known| known.path.clone()).unwrap_or_default()
    }

    /// The part of a combination that both directions share.
    pub(super) fn bare(&self, id: PathId) -> Bare {
        self.known.get(&id).map(|known| known.bare).unwrap_or_default()
    }

    fn bare_of(&self, layers: &[Layer]) -> Bare {
        let mut tunnels = layers.iter().filter(|layer| !layer.encapsulation.is_tag()).peekable();
        if tunnels.peek().is_none() {
            return Bare::default();
        }
        let mut hasher = self.ids.hasher().build_hasher();
        tunnels.for_each(|layer| (layer.encapsulation, layer.between).hash(&mut hasher));
        // Zero is nothing at all.
        Bare(hasher.finish() | 1)
    }

    /// Forgets those that no packet had since `since`: no conversation that is still there has them.
    pub(super) fn forget_idle(&mut self, since: Timestamp, memory: &mut Memory) {
        let mut gone = 0;
        self.known.retain(|_, known| {
            let stays = known.last >= since;
            if !stays {
                gone += held(known.path.layers());
            }
            stays
        });
        if gone == 0 {
            return;
        }
        let known = &self.known;
        self.ids.retain(|_, id| known.contains_key(id));
        self.before = None;
        memory.gone(gone);
        self.known.shrink(memory);
        self.ids.shrink(memory);
    }

    fn begin(&mut self, layers: &[Layer], at: Timestamp, memory: &mut Memory) -> Option<PathId> {
        let growth = self.ids.growth() + self.known.growth();
        if self.given >= MOST || !memory.has_room(held(layers) + growth) {
            return None;
        }
        self.given += 1;
        let id = PathId(self.given);
        memory.arrived(held(layers));
        self.ids.insert(layers.into(), id);
        let known = Known {
            path: Path::new(layers),
            bare: self.bare_of(layers),
            last: at,
        };
        self.known.insert(id, known);
        self.ids.grown(memory);
        self.known.grown(memory);
        Some(id)
    }
}

/// Bytes that a combination takes besides its places in the tables: it is there twice.
fn held(layers: &[Layer]) -> usize {
    2 * allocated(size_of_val(layers) + 16)
}
