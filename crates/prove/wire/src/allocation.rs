//! Heap memory of a flow in bytes. Readers count it, the observer bounds it.

/// Bytes that an allocation of so many takes, with what an allocator adds: eight, rounded up to sixteen.
pub(crate) fn allocated(bytes: usize) -> usize {
    match bytes {
        0 => 0,
        bytes => (bytes + 8).next_multiple_of(16).max(32),
    }
}
