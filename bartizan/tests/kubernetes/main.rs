//! The chart, the webhook and the controller with a real API server: etcd, kube-apiserver, kubectl and helm, each test with its own, in a
//! network namespace of its own. No controllers and no kubelet: nothing is made or run of what is stored. `make test-kubernetes` builds what it needs, and runs it.

#[path = "../authority/mod.rs"]
mod authority;

mod cluster;
mod controller;
mod document;
mod tools;
mod webhook;

mod budget;
mod closed;
mod issuer;
mod kept;
mod leaders;
mod levels;
mod stored;
mod updates;
