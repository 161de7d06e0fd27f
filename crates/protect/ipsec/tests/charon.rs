//! Against real charons in network namespaces: see `as_root`.

mod stage;

#[path = "charon/as_root.rs"]
mod as_root;
