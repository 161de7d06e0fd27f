//! The instances that are registered.

use std::collections::BTreeMap;

use serde_json::Value;

use super::HEART_BEAT_TIMER;
use super::discovery::Search;

/// Instances that are kept; one more is refused. A core has tens.
const MOST_INSTANCES: usize = 100_000;

/// The instances that are registered, by their ids.
#[derive(Debug, Default)]
pub struct Registry {
    instances: BTreeMap<String, Value>,
}

/// Result of a registration.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Registered {
    Created(Value),
    Replaced(Value),
    Full,
}

impl Registry {
    /// Number of instances.
    #[must_use]
    pub fn len(&self) -> usize {
        self.instances.len()
    }

    /// True if there is no instance.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty()
    }

    /// Takes a profile that was checked, with the heart-beat timer that holds.
    pub(super) fn register(&mut self, id: &str, mut profile: Value) -> Registered {
        if let Some(members) = profile.as_object_mut() {
            members
                .entry("heartBeatTimer")
                .or_insert_with(|| HEART_BEAT_TIMER.into());
        }
        if let Some(known) = self.instances.get_mut(id) {
            known.clone_from(&profile);
            return Registered::Replaced(profile);
        }
        if self.instances.len() >= MOST_INSTANCES {
            return Registered::Full;
        }
        self.instances.insert(id.to_owned(), profile.clone());
        Registered::Created(profile)
    }

    pub(super) fn profile(&self, id: &str) -> Option<&Value> {
        self.instances.get(id)
    }

    pub(super) fn update(&mut self, id: &str, profile: Value) {
        self.instances.insert(id.to_owned(), profile);
    }

    pub(super) fn deregister(&mut self, id: &str) -> bool {
        self.instances.remove(id).is_some()
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        self.instances.keys().map(String::as_str)
    }

    pub(super) fn search(&self, search: &Search) -> Vec<Value> {
        let found = self.instances.values().filter_map(|profile| search.found(profile));
        found.take(search.limit.unwrap_or(usize::MAX)).collect()
    }
}
