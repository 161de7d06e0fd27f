//! Integration tests of `inspect` in one program: `autotests` is off, so each file is named here.

mod evidence;
mod many;
mod overlapping;
mod reads;
mod rule;
mod validity;
