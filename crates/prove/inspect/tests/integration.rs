//! Integration tests of `inspect` in one program: `autotests` is off, so each file is named here.

mod evidence;
mod overlapping;
mod reads;
mod rule;
mod strangers;
mod validity;
