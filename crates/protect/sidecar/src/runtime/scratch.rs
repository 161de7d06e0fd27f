//! One read buffer per thread: a connection at rest holds none.

use std::cell::RefCell;

/// Four TLS records of plain text: what one read may bring and one vectored write may take.
pub(crate) const SCRATCH: usize = 64 * 1024;

thread_local! {
    static BUFFER: RefCell<Box<[u8]>> = RefCell::new(vec![0; SCRATCH].into_boxed_slice());
}

/// Lends the thread's buffer. Its content is whatever the last borrower left; nested use gets a buffer of its own.
pub(crate) fn with_scratch<R>(work: impl FnOnce(&mut [u8]) -> R) -> R {
    BUFFER.with(|buffer| match buffer.try_borrow_mut() {
        Ok(mut buffer) => work(&mut buffer),
        Err(_) => work(&mut vec![0; SCRATCH]),
    })
}
