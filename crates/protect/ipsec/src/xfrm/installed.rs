//! The CHILD_SAs of a link in the kernel, as its IKE_SAs report them.

use bartizan_ike::{Child, Requester};

use super::{Direction, Error, Path};

/// Where the SAs of a link are: in the kernel, or in what does ESP in its place.
pub trait Associations {
    /// Installs an SA of a CHILD_SA; the one to receive by comes first.
    ///
    /// # Errors
    ///
    /// Why it cannot be; then nothing of it is there.
    fn install(&self, child: &Child, direction: Direction) -> Result<(), Error>;

    /// Deletes an SA.
    ///
    /// # Errors
    ///
    /// Why it cannot be.
    fn remove(&self, spi: u32, direction: Direction) -> Result<(), Error>;
}

impl Associations for Path {
    fn install(&self, child: &Child, direction: Direction) -> Result<(), Error> {
        Path::install(self, child, direction)
    }

    fn remove(&self, spi: u32, direction: Direction) -> Result<(), Error> {
        Path::remove(self, spi, direction)
    }
}

impl<A: Associations + ?Sized> Associations for Box<A> {
    fn install(&self, child: &Child, direction: Direction) -> Result<(), Error> {
        (**self).install(child, direction)
    }

    fn remove(&self, spi: u32, direction: Direction) -> Result<(), Error> {
        (**self).remove(spi, direction)
    }
}

/// What is installed of a link.
#[derive(Debug)]
pub struct Installed<A = Path> {
    path: A,
    children: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    inbound: u32,
    outbound: u32,
    /// Whether the SA to send by is there.
    sends: bool,
    /// Where it is not: the CHILD_SA, with the keys of that SA.
    waits: Option<Box<Child>>,
}

impl<A: Associations> Installed<A> {
    /// Nothing of this link yet.
    #[must_use]
    pub fn new(path: A) -> Self {
        let children = Vec::new();
        Self { path, children }
    }

    /// A CHILD_SA was made. That its traffic must be protected is said by [`Path::require`], before it is negotiated.
    ///
    /// # Errors
    ///
    /// What the kernel says; then nothing of it is there.
    pub fn made(&mut self, child: &Child) -> Result<(), Error> {
        self.path.install(child, Direction::In)?;
        // The peer that has asked for it may not have its keys yet: until it deletes the one that is replaced, that one sends.
        let replaced = self.children.iter().any(|entry| Some(entry.inbound) == child.replaces);
        let waits = child.requester == Requester::Peer && replaced;
        if !waits && let Err(error) = self.path.install(child, Direction::Out) {
            // Half of it is none.
            let _ = self.path.remove(child.inbound.0, Direction::In);
            return Err(error);
        }
        self.children.push(Entry {
            inbound: child.inbound.0,
            outbound: child.outbound.0,
            sends: !waits,
            waits: waits.then(|| Box::new(child.clone())),
        });
        Ok(())
    }

    /// A CHILD_SA was deleted, by the SPI by which this end received.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub fn deleted(&mut self, inbound: u32) -> Result<(), Error> {
        let Some(place) = self.children.iter().position(|entry| entry.inbound == inbound) else {
            return Ok(());
        };
        let gone = self.children.remove(place);
        // What replaces it sends before it is gone: no packet waits for an SA.
        let of = |child: &mut Box<Child>| child.replaces == Some(inbound);
        let waiting: Vec<_> = self
            .children
            .iter_mut()
            .filter_map(|entry| entry.waits.take_if(of))
            .collect();
        let mut all = Ok(());
        for child in waiting {
            match self.path.install(&child, Direction::Out) {
                Ok(()) => self.sends(child.inbound.0),
                Err(error) => all = Err(error),
            }
        }
        // Whatever became of that: what is deleted is not to stay.
        self.remove(&gone).and(all)
    }

    /// All have ended, with their IKE_SA.
    ///
    /// # Errors
    ///
    /// What the kernel says.
    pub fn ended(&mut self) -> Result<(), Error> {
        let gone = std::mem::take(&mut self.children);
        let mut all = Ok(());
        for entry in &gone {
            all = self.remove(entry).and(all);
        }
        all
    }

    fn sends(&mut self, inbound: u32) {
        let mut entries = self.children.iter_mut();
        if let Some(entry) = entries.find(|entry| entry.inbound == inbound) {
            entry.sends = true;
        }
    }

    fn remove(&self, entry: &Entry) -> Result<(), Error> {
        let sending = if entry.sends {
            self.path.remove(entry.outbound, Direction::Out)
        } else {
            Ok(())
        };
        self.path.remove(entry.inbound, Direction::In).and(sending)
    }
}
