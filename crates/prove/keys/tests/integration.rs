//! Integration tests of `keys` in one program: `autotests` is off, so each file is named here.

mod datagrams;
mod proxies_opened;
mod quic_opened;
