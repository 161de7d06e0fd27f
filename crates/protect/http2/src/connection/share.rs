//! Division of a connection's window between the owners of its streams.

use std::collections::BTreeMap;

/// Bytes of the window that each owner has, looked up when the window is scarce.
///
/// An owner may have twice as much as is left for everybody. However many hold what they have got,
/// and whether or not it is ever given back, another one finds some: so one whose reader does not
/// read never stops the others. An owner alone may have all. (The rule is that of shared switch
/// buffers: Choudhury and Hahne, "Dynamic queue length thresholds", 1998.)
#[derive(Debug, Default)]
pub(super) struct Shares(Option<BTreeMap<u64, i64>>);

impl Shares {
    /// Bytes that `owner` may still take of a window of which `left` is left; `all` gives owner and
    /// outstanding bytes of each stream.
    pub(super) fn of<I>(&mut self, owner: u64, left: i64, all: impl FnOnce() -> I) -> i64
    where
        I: Iterator<Item = (u64, i64)>,
    {
        let taken = self.0.get_or_insert_with(|| {
            let mut taken = BTreeMap::new();
            for (owner, outstanding) in all() {
                *taken.entry(owner).or_insert(0) += outstanding;
            }
            taken
        });
        let own = taken.get(&owner).copied().unwrap_or(0);
        if taken.len() > 1 || !taken.contains_key(&owner) {
            // The largest x with own + x <= 2 (left - x).
            (2 * left - own) / 3
        } else {
            left
        }
    }

    /// An owner took so many bytes.
    pub(super) fn took(&mut self, owner: u64, bytes: usize) {
        if let Some(taken) = &mut self.0 {
            *taken.entry(owner).or_insert(0) += bytes as i64;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_owner_alone_may_have_all_and_next_to_another_two_thirds() {
        let left = 90_000;
        assert_eq!(Shares::default().of(1, left, || [(1, 0), (1, 0)].into_iter()), left);
        assert_eq!(Shares::default().of(1, left, || [(1, 0), (2, 0)].into_iter()), 60_000);
    }

    proptest! {
        #[test]
        fn whoever_took_all_he_could_leaves_something_to_the_next(whole in 1000_i64..5_000_000, owners in 1_u64..6) {
            let mut shares = Shares::default();
            let mut left = whole;
            for owner in 0..owners {
                let share = shares.of(owner, left, || (0..=owners).map(|owner| (owner, 0)));
                prop_assert!(share > 0);
                shares.took(owner, share as usize);
                left -= share;
            }
            prop_assert!(left > 0);
        }
    }
}
