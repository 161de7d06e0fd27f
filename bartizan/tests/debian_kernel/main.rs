//! Behaviour of a kernel with nftables and ESP, as operators have it: an unmodified Debian kernel,
//! in one boot for all of these tests.

#[path = "../ipsec/stage.rs"]
#[allow(dead_code, reason = "each test binary uses its own part")]
mod stage;

#[path = "../redirect_stage/mod.rs"]
mod redirect_stage;

#[allow(dead_code, reason = "each test binary uses its own part")]
mod gateway;

mod boot;

mod as_root {
    mod at_once;
    mod charons;
    #[path = "../../ipsec/egress.rs"]
    #[allow(dead_code, reason = "each test binary uses its own part")]
    mod egress;
    mod hosts;
    mod links;
    mod macsec;
    #[path = "../../ipsec/reauthentication.rs"]
    #[allow(dead_code, reason = "each test binary uses its own part")]
    mod reauthentication;
    mod redirect;
    mod sctp;
}
