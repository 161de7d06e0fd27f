//! Integration tests of `registry` in one program: `autotests` is off, so each file is named here.

mod consistency;
mod iana;
mod rustls;
mod wireshark;
