//! Links between two namespaces of a guest: the kernel's MACsec, and controllers at both ends of a cable. One boot for all of these tests.

#![allow(missing_docs, reason = "a test file has no readers of its documentation")]

mod boot;
mod stage;
mod traffic;

mod as_root {
    mod eap;
    mod faults;
    mod kernel;
    mod links;
    mod mka;
}
