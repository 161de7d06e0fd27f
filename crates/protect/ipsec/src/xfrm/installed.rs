//! The CHILD_SAs of a link in the kernel, as its IKE_SAs report them.

use std::time::{Duration, Instant};

use bartizan_ike::{Child, Requester};

use super::{Direction, Error, Path};

/// Time that a replaced CHILD_SA still receives: packets that the peer has sent by it may be behind
/// its deletion (RFC 7296, section 2.8). charon's `delete_rekeyed_delay` is as long.
const RECEIVES: Duration = Duration::from_secs(5);
/// Time that it may send: packets that have found this SA before there was another may be on their
/// way to it, and a kernel that meets a deleted one there drops the packet (the sender sees
/// EINVAL). All others take the newest.
const SENDS: Duration = Duration::from_secs(1);

/// Store of a link's SAs: the kernel, or the ESP implementation in its place.
pub trait Associations {
    /// Installs an SA of a CHILD_SA; the one to receive by comes first.
    ///
    /// # Errors
    ///
    /// Why it cannot be; then nothing of it is there.
    fn install(&self, child: &Child, direction: Direction) -> Result<(), Error>;

    /// Deletes an SA; one that is gone is deleted already.
    ///
    /// # Errors
    ///
    /// Why it cannot be.
    fn remove(&self, spi: u32, direction: Direction) -> Result<(), Error>;

    /// Returns true if an SA that was installed is gone: another program can delete one of the
    /// kernel's.
    fn is_gone(&self, _spi: u32, _direction: Direction) -> bool {
        false
    }
}

impl Associations for Path {
    fn install(&self, child: &Child, direction: Direction) -> Result<(), Error> {
        Path::install(self, child, direction)
    }

    fn remove(&self, spi: u32, direction: Direction) -> Result<(), Error> {
        Path::remove(self, spi, direction)
    }

    fn is_gone(&self, spi: u32, direction: Direction) -> bool {
        // A kernel that does not answer says nothing of it.
        matches!(self.counted(spi, direction), Ok(None))
    }
}

impl<A: Associations + ?Sized> Associations for Box<A> {
    fn install(&self, child: &Child, direction: Direction) -> Result<(), Error> {
        (**self).install(child, direction)
    }

    fn remove(&self, spi: u32, direction: Direction) -> Result<(), Error> {
        (**self).remove(spi, direction)
    }

    fn is_gone(&self, spi: u32, direction: Direction) -> bool {
        (**self).is_gone(spi, direction)
    }
}

/// Installed SAs of a link.
#[derive(Debug)]
pub struct Installed<A = Path> {
    path: A,
    children: Vec<Entry>,
    /// Those that are deleted, and still there for what is on its way; since when.
    leaving: Vec<(Instant, Entry)>,
    /// SAs that were to be deleted and are still there.
    left: Vec<(u32, Direction)>,
    /// Number of outbound SAs so far.
    sending: u64,
}

#[derive(Debug)]
struct Entry {
    inbound: u32,
    outbound: u32,
    /// Number of earlier outbound SAs if the outbound SA is installed. Of two the kernel takes the
    /// newest.
    sends: Option<u64>,
    /// The CHILD_SA, with the keys of its outbound SA, if that is not installed yet.
    waits: Option<Box<Child>>,
}

impl<A: Associations> Installed<A> {
    /// Nothing of this link yet.
    pub fn new(path: A) -> Self {
        Self {
            path,
            children: Vec::new(),
            leaving: Vec::new(),
            left: Vec::new(),
            sending: 0,
        }
    }

    /// Has the next SAs installed between these sockets: the peer may have moved.
    pub fn follow(&mut self, path: A) {
        self.path = path;
    }

    /// Number of SAs whose deletion has failed. [`keep_up`](Self::keep_up) repeats it.
    pub fn left(&self) -> usize {
        self.left.len()
    }

    /// Returns true if an installed SA of this CHILD_SA is gone.
    pub fn lacks(&self, inbound: u32) -> bool {
        let entry = self.children.iter().find(|entry| entry.inbound == inbound);
        entry.is_some_and(|entry| {
            self.path.is_gone(inbound, Direction::In)
                || entry.sends.is_some() && self.path.is_gone(entry.outbound, Direction::Out)
        })
    }

    /// A CHILD_SA was made. That its traffic must be protected is said by [`Path::require`], before it is negotiated.
    ///
    /// # Errors
    ///
    /// The kernel's error; then nothing of it is there.
    pub fn made(&mut self, child: &Child) -> Result<(), Error> {
        self.path.install(child, Direction::In)?;
        // The peer that has asked for it may not have its keys yet: until it deletes the one that is replaced, that one sends.
        let replaced = self.children.iter().any(|entry| Some(entry.inbound) == child.replaces);
        let waits = child.requester == Requester::Peer && replaced;
        if !waits && let Err(error) = self.path.install(child, Direction::Out) {
            // Half of it is none.
            let _ = self.take_out(child.inbound.0, Direction::In);
            return Err(error);
        }
        let sends = (!waits).then(|| self.newest());
        self.children.push(Entry {
            inbound: child.inbound.0,
            outbound: child.outbound.0,
            sends,
            waits: waits.then(|| Box::new(child.clone())),
        });
        Ok(())
    }

    /// A CHILD_SA was deleted, by the SPI by which this end received. Where another is there, this one stays for some seconds for what is on its
    /// way ([`keep_up`](Self::keep_up) ends that); to send by only where the other is newer, which all else is then sent by.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn deleted(&mut self, now: Instant, inbound: u32) -> Result<(), Error> {
        let Some(place) = self.children.iter().position(|entry| entry.inbound == inbound) else {
            return Ok(());
        };
        let mut gone = self.children.remove(place);
        // The successor sends before the old SA is gone: no packet waits for an SA.
        let mut all = self.send_waiting();
        let newest = self.children.iter().filter_map(|entry| entry.sends).max();
        if all.is_ok() && newest.is_some() {
            // The redundant one of two that both ends have made may be the newest: nothing is to be sent by it any more.
            if gone.sends > newest {
                all = self.remove_sending(&mut gone);
            }
            self.leaving.push((now, gone));
            return all;
        }
        // Nothing takes its place: what is deleted is not to stay.
        let before = if self.children.is_empty() {
            self.keep_up(None)
        } else {
            Ok(())
        };
        self.remove(&mut gone).and(before).and(all)
    }

    /// Removes what was deleted long enough ago, or all such without a time, and what could not be
    /// removed before.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn keep_up(&mut self, now: Option<Instant>) -> Result<(), Error> {
        let is_over = |since: Instant, limit| now.is_none_or(|now| now.saturating_duration_since(since) >= limit);
        let mut all = self.send_waiting();
        for (spi, direction) in std::mem::take(&mut self.left) {
            all = self.take_out(spi, direction).and(all);
        }
        let mut leaving = std::mem::take(&mut self.leaving);
        for (_, entry) in leaving.iter_mut().filter(|(since, _)| is_over(*since, SENDS)) {
            all = self.remove_sending(entry).and(all);
        }
        for (_, entry) in leaving.extract_if(.., |(since, _)| is_over(*since, RECEIVES)) {
            all = self.take_out(entry.inbound, Direction::In).and(all);
        }
        self.leaving = leaving;
        all
    }

    /// All have ended, with their IKE_SA.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn ended(&mut self) -> Result<(), Error> {
        let mut gone = std::mem::take(&mut self.children);
        let mut all = self.keep_up(None);
        for entry in &mut gone {
            all = self.remove(entry).and(all);
        }
        all
    }

    /// Installs the outbound SAs of those whose predecessor is deleted, now or by the next
    /// [`keep_up`](Self::keep_up).
    fn send_waiting(&mut self) -> Result<(), Error> {
        let mut all = Ok(());
        let there: Vec<u32> = self.children.iter().map(|entry| entry.inbound).collect();
        let is_free = |child: &mut Box<Child>| !child.replaces.is_some_and(|old| there.contains(&old));
        for entry in &mut self.children {
            let Some(child) = entry.waits.take_if(is_free) else {
                continue;
            };
            match self.path.install(&child, Direction::Out) {
                Ok(()) => {
                    self.sending += 1;
                    entry.sends = Some(self.sending);
                }
                Err(error) => {
                    entry.waits = Some(child);
                    all = Err(error);
                }
            }
        }
        all
    }

    /// The place of one more SA to send by.
    fn newest(&mut self) -> u64 {
        self.sending += 1;
        self.sending
    }

    fn remove(&mut self, entry: &mut Entry) -> Result<(), Error> {
        let sending = self.remove_sending(entry);
        self.take_out(entry.inbound, Direction::In).and(sending)
    }

    fn remove_sending(&mut self, entry: &mut Entry) -> Result<(), Error> {
        match entry.sends.take() {
            Some(_) => self.take_out(entry.outbound, Direction::Out),
            None => Ok(()),
        }
    }

    /// Deletes an SA, now or by the next [`keep_up`](Self::keep_up).
    fn take_out(&mut self, spi: u32, direction: Direction) -> Result<(), Error> {
        let done = self.path.remove(spi, direction);
        if done.is_err() {
            self.left.push((spi, direction));
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use bartizan_esp::{SequenceNumbers, Suite};
    use bartizan_ike::{Mode, Secret};

    use super::*;

    /// Installed SAs, by SPI and direction.
    type There = Rc<RefCell<Vec<(u32, Direction)>>>;

    struct Kernel(There);

    /// Deletes nothing while it holds.
    type Refuses = Rc<RefCell<bool>>;

    struct Refusing(Kernel, Refuses);

    impl Associations for Refusing {
        fn install(&self, child: &Child, direction: Direction) -> Result<(), Error> {
            self.0.install(child, direction)
        }

        fn remove(&self, spi: u32, direction: Direction) -> Result<(), Error> {
            match *self.1.borrow() {
                true => Err(Error::Unsupported("a refusal")),
                false => self.0.remove(spi, direction),
            }
        }
    }

    impl Associations for Kernel {
        fn install(&self, child: &Child, direction: Direction) -> Result<(), Error> {
            let end = if direction == Direction::In {
                &child.inbound
            } else {
                &child.outbound
            };
            self.0.borrow_mut().push((end.0, direction));
            Ok(())
        }

        fn remove(&self, spi: u32, direction: Direction) -> Result<(), Error> {
            self.0.borrow_mut().retain(|known| *known != (spi, direction));
            Ok(())
        }

        fn is_gone(&self, spi: u32, direction: Direction) -> bool {
            !self.0.borrow().contains(&(spi, direction))
        }
    }

    fn child(inbound: u32, replaces: Option<u32>, requester: Requester) -> Child {
        Child {
            place: 0,
            transforms: Vec::new(),
            suite: Suite::of(20, Some(256), None).expect("AES-256-GCM"),
            numbers: SequenceNumbers::Extended,
            mode: Mode::Tunnel,
            inbound: (inbound, Secret::default()),
            outbound: (inbound + 100, Secret::default()),
            local: Vec::new(),
            remote: Vec::new(),
            in_udp: false,
            requester,
            replaces,
        }
    }

    #[test]
    fn what_is_replaced_stays_for_what_is_on_its_way_and_the_last_ends_with_all_of_that() {
        use Direction::{In, Out};
        let there = There::default();
        let mut link = Installed::new(Kernel(Rc::clone(&there)));
        let now = Instant::now();
        link.made(&child(1, None, Requester::ThisEnd)).expect("installed");
        link.made(&child(2, Some(1), Requester::Peer)).expect("installed");
        // The peer has not deleted the first, and may not have the second's keys yet.
        assert_eq!(*there.borrow(), [(1, In), (101, Out), (2, In)]);
        link.deleted(now, 1).expect("removed");
        assert_eq!(*there.borrow(), [(1, In), (101, Out), (2, In), (102, Out)]);
        let later = |seconds| Some(now + Duration::from_secs(seconds));
        link.keep_up(Some(now)).expect("nothing is due");
        assert_eq!(there.borrow().len(), 4);
        link.keep_up(later(1)).expect("removed");
        assert_eq!(*there.borrow(), [(1, In), (2, In), (102, Out)]);
        link.keep_up(later(5)).expect("removed");
        assert_eq!(*there.borrow(), [(2, In), (102, Out)]);

        link.made(&child(3, Some(2), Requester::ThisEnd)).expect("installed");
        link.deleted(now, 2).expect("removed");
        assert_eq!(*there.borrow(), [(2, In), (102, Out), (3, In), (103, Out)]);
        link.deleted(now, 3).expect("removed");
        assert!(there.borrow().is_empty(), "{there:?}");
    }

    /// It was tried once, and the SA then stayed for its whole life.
    #[test]
    fn deletion_that_fails_is_repeated_until_it_is_done() {
        let later = |seconds| Some(Instant::now() + Duration::from_secs(seconds));
        for ending in 0..3 {
            let (there, refuses) = (There::default(), Refuses::default());
            let mut link = Installed::new(Refusing(Kernel(Rc::clone(&there)), Rc::clone(&refuses)));
            let now = Instant::now();
            link.made(&child(1, None, Requester::ThisEnd)).expect("installed");
            *refuses.borrow_mut() = true;
            match ending {
                // With its IKE_SA, alone, and in favour of another.
                0 => assert!(link.ended().is_err()),
                1 => assert!(link.deleted(now, 1).is_err()),
                _ => {
                    link.made(&child(2, Some(1), Requester::ThisEnd)).expect("installed");
                    link.deleted(now, 1).expect("it stays for a while");
                    assert!(link.keep_up(later(9)).is_err());
                }
            }
            assert_eq!(link.left(), 2, "{ending}");
            assert!(link.keep_up(later(9)).is_err());
            assert!(there.borrow().iter().any(|(spi, _)| *spi == 1));
            *refuses.borrow_mut() = false;
            link.keep_up(later(9)).expect("deleted");
            assert!(link.left() == 0 && !there.borrow().iter().any(|(spi, _)| [1, 101].contains(spi)));
        }
    }

    /// Takes no SA to send by while it holds.
    struct Full(Kernel, Refuses);

    impl Associations for Full {
        fn install(&self, child: &Child, direction: Direction) -> Result<(), Error> {
            match *self.1.borrow() && direction == Direction::Out {
                true => Err(Error::Unsupported("a refusal")),
                false => self.0.install(child, direction),
            }
        }

        fn remove(&self, spi: u32, direction: Direction) -> Result<(), Error> {
            self.0.remove(spi, direction)
        }
    }

    /// The link then received and did not send until the next rekey.
    #[test]
    fn a_successor_that_the_kernel_refuses_to_send_by_is_installed_as_soon_as_it_takes_it() {
        use Direction::{In, Out};
        let (there, refuses) = (There::default(), Refuses::default());
        let mut link = Installed::new(Full(Kernel(Rc::clone(&there)), Rc::clone(&refuses)));
        let now = Instant::now();
        link.made(&child(1, None, Requester::ThisEnd)).expect("installed");
        link.made(&child(2, Some(1), Requester::Peer)).expect("installed");
        *refuses.borrow_mut() = true;
        assert!(link.deleted(now, 1).is_err());
        assert!(link.keep_up(Some(now)).is_err());
        assert_eq!(*there.borrow(), [(2, In)]);
        *refuses.borrow_mut() = false;
        link.keep_up(Some(now)).expect("installed");
        assert_eq!(*there.borrow(), [(2, In), (102, Out)]);
    }

    #[test]
    fn a_child_sa_lacks_what_was_installed_and_not_what_still_waits() {
        use Direction::{In, Out};
        for gone in [(1, In), (101, Out), (2, In)] {
            let there = There::default();
            let mut link = Installed::new(Kernel(Rc::clone(&there)));
            link.made(&child(1, None, Requester::ThisEnd)).expect("installed");
            link.made(&child(2, Some(1), Requester::Peer)).expect("installed");
            let lacking = |link: &Installed<Kernel>| [1, 2, 3].map(|inbound| link.lacks(inbound));
            assert_eq!(lacking(&link), [false; 3]);
            there.borrow_mut().retain(|known| *known != gone);
            assert_eq!(lacking(&link), [gone.0 != 2, gone.0 == 2, false], "{gone:?}");
        }
    }

    #[test]
    fn of_two_that_were_made_for_one_the_newest_sends_no_more_once_it_is_deleted() {
        use Direction::{In, Out};
        let there = There::default();
        let mut link = Installed::new(Kernel(Rc::clone(&there)));
        let now = Instant::now();
        link.made(&child(1, None, Requester::ThisEnd)).expect("installed");
        link.made(&child(2, Some(1), Requester::ThisEnd)).expect("installed");
        link.made(&child(3, Some(1), Requester::ThisEnd)).expect("installed");
        link.deleted(now, 3).expect("removed");
        let left = [(1, In), (101, Out), (2, In), (102, Out), (3, In)];
        assert_eq!(*there.borrow(), left, "it still receives");
    }
}
