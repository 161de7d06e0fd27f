//! Joints between slices of a capture.

use super::{Begin, End};

/// The slices of one capture as they come.
#[derive(Debug, Default)]
pub struct Joint {
    begun: Option<Begin>,
    /// End of the slice before: its place, and what it said.
    ended: Option<(u64, End)>,
}

/// It does not follow what came before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Apart;

impl Joint {
    /// A slice begins: the first of this capture, or the one behind that before, of the same bytes.
    ///
    /// # Errors
    /// [`Apart`], here and below.
    pub fn begin(&mut self, begin: Begin, file: usize) -> Result<(), Apart> {
        let follows = match &self.ended {
            None => (begin.from, begin.packets) == (0, 0),
            Some((to, end)) => (begin.from, begin.packets, &begin.sha256) == (*to, end.packets, &end.sha256),
        };
        if !follows || begin.file != file || self.begun.is_some() {
            return Err(Apart);
        }
        self.begun = Some(begin);
        Ok(())
    }

    /// Returns true if a packet may come.
    #[must_use]
    pub fn is_within(&self) -> bool {
        self.begun.is_some()
    }

    /// A slice ends; gives what it says where the capture, of so many bytes, does too.
    ///
    /// # Errors
    /// [`Apart`].
    pub fn end(&mut self, end: End, bytes: u64) -> Result<Option<&End>, Apart> {
        let to = self.begun.take().ok_or(Apart)?.to;
        let (_, end) = self.ended.insert((to, end));
        Ok((to >= bytes).then_some(&*end))
    }
}
