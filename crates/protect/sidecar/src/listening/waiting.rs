//! Values on their way to a thread that may be slow, which their sender can drop meanwhile.

use std::sync::{Arc, Mutex, PoisonError};

/// A value until the thread takes it or its sender drops [`Sent`].
#[derive(Debug)]
pub(crate) struct Waiting<T>(Arc<Mutex<Option<T>>>);

/// The sender's end: dropping it drops what was not taken, with its descriptors.
#[derive(Debug)]
pub(crate) struct Sent<T>(Arc<Mutex<Option<T>>>);

impl<T> Waiting<T> {
    /// Both ends of a value.
    pub(crate) fn new(value: T) -> (Self, Sent<T>) {
        let value = Arc::new(Mutex::new(Some(value)));
        (Self(Arc::clone(&value)), Sent(value))
    }

    /// The value; none where the sender has dropped its end.
    pub(crate) fn take(self) -> Option<T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<T> Drop for Sent<T> {
    fn drop(&mut self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_whose_sender_goes_is_dropped_while_it_waits_and_one_that_was_taken_is_not() {
        let ours = Arc::new(());
        let (waiting, sent) = Waiting::new(Arc::clone(&ours));
        drop(sent);
        assert_eq!(Arc::strong_count(&ours), 1);
        assert!(waiting.take().is_none());
        let (waiting, sent) = Waiting::new(Arc::clone(&ours));
        let taken = waiting.take().expect("it waits");
        drop(sent);
        assert_eq!(Arc::strong_count(&ours), 2);
        drop(taken);
    }
}
