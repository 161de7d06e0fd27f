//! Steps that readers take, counted in builds with debug assertions: a bound on them is a test,
//! where a time would be none.

use std::cell::Cell;

thread_local! {
    static TAKEN: Cell<u64> = const { Cell::new(0) };
}

/// Counts extra work: bytes looked at again, entries of a list passed by. The cost of each byte's
/// first read is not counted.
#[inline]
pub(crate) fn steps(count: usize) {
    if cfg!(debug_assertions) {
        TAKEN.with(|taken| taken.set(taken.get().wrapping_add(count as u64)));
    }
}

/// Steps that readers have taken in this thread so far; none are counted without debug assertions.
#[must_use]
pub fn taken() -> u64 {
    TAKEN.with(Cell::get)
}
