//! The chart, the webhook and the controller with a real API server: etcd, kube-apiserver, kubectl
//! and helm, each test with its own, in a network namespace of its own. Kubernetes' own controllers
//! run where a test starts them, and no kubelet does: nothing runs of what is stored. `make
//! test-kubernetes` builds what it needs, and runs it.

#[path = "../authority/mod.rs"]
mod authority;

mod cluster;
mod controller;
mod document;
mod tools;
mod webhook;

mod budget;
mod closed;
mod controllers;
mod issuer;
mod kept;
mod leaders;
mod levels;
mod stored;
mod updates;
