//! `bartizan up`, `status`, `rekey`, `down` and `watch` against real charons: see `as_root`.

#[path = "ipsec/stage.rs"]
mod stage;

#[path = "ipsec/as_root.rs"]
mod as_root;
