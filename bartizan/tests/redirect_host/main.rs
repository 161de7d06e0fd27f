//! Redirect, guard and fence in namespaces: what leaves the sender's host, counted by tshark.

#[path = "../redirect_stage/mod.rs"]
mod redirect_stage;

mod as_root;
