//! W3C Trace Context: what a request says of the trace that it belongs to.

use std::cell::RefCell;

use bartizan_http2::Fields;
use data_encoding::HEXLOWER;
use rustix::rand::{GetRandomFlags, getrandom};

pub(super) const PARENT: &[u8] = b"traceparent";
pub(super) const STATE: &[u8] = b"tracestate";
/// Length of `tracestate` that every participant has to pass on (section 3.3.1.5); more is passed
/// on here and not repeated in a span.
pub(super) const LONGEST_STATE: usize = 512;
/// Denominator of a share: the random part of a trace identifier is below it (level 2, section
/// 3.2.2.5.1).
pub(super) const SHARES: u64 = 1 << 56;
const SAMPLED: u8 = 1;
/// Length of a value of version 00.
const LENGTH: usize = 55;

/// `traceparent` of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Parent {
    pub(super) trace: [u8; 16],
    pub(super) span: [u8; 8],
    flags: u8,
}

impl Parent {
    /// The parent that a head names; none where it names none, or is not to be used (section
    /// 3.2.2): twice, or not in this form.
    pub(super) fn of(head: &Fields) -> Option<Self> {
        let mut all = head.iter().filter(|(name, _, _)| *name == PARENT);
        let (_, value, _) = all.next()?;
        match all.next() {
            None => Self::read(value),
            Some(_) => None,
        }
    }

    fn read(value: &[u8]) -> Option<Self> {
        let (known, later) = value.split_at_checked(LENGTH)?;
        if [known[2], known[35], known[52]] != *b"---" {
            return None;
        }
        let [version] = hexadecimal(&known[..2])?;
        // A later version may add to what this one has.
        let fits = match version {
            0 => later.is_empty(),
            0xff => false,
            _ => later.is_empty() || later[0] == b'-',
        };
        let parent = Self {
            trace: hexadecimal(&known[3..35])?,
            span: hexadecimal(&known[36..52])?,
            flags: hexadecimal::<1>(&known[53..])?[0],
        };
        (fits && parent.trace != [0; 16] && parent.span != [0; 8]).then_some(parent)
    }

    pub(super) fn is_sampled(&self) -> bool {
        self.flags & SAMPLED != 0
    }
}

/// `traceparent` for what follows a sampled span: of version 00, and flags that it does not know are 0.
pub(super) fn written(trace: [u8; 16], span: [u8; 8]) -> String {
    format!(
        "00-{}-{}-{SAMPLED:02x}",
        HEXLOWER.encode(&trace),
        HEXLOWER.encode(&span)
    )
}

/// Lower case only.
fn hexadecimal<const N: usize>(text: &[u8]) -> Option<[u8; N]> {
    let mut octets = [0; N];
    HEXLOWER.decode_mut(text, &mut octets).ok()?;
    Some(octets)
}

/// Returns true if a trace is one of a share of them. All participants with the same share decide
/// the same.
pub(super) fn is_below(trace: [u8; 16], share: u64) -> bool {
    let last = trace.last_chunk().copied().map_or(0, u64::from_be_bytes);
    last % SHARES < share
}

/// Octets kept ahead: the system is asked once for many identifiers.
const AHEAD: usize = 512;

thread_local! {
    static RANDOM: RefCell<([u8; AHEAD], usize)> = const { RefCell::new(([0; AHEAD], AHEAD)) };
}

/// An identifier, which is never zero.
pub(super) fn random<const N: usize>() -> [u8; N] {
    RANDOM.with_borrow_mut(|(octets, used)| {
        if *used + N > AHEAD {
            // Identifiers only have to differ: where the system gives nothing, those of before are used up again.
            let _ = getrandom(&mut octets[..], GetRandomFlags::empty());
            *used = 0;
        }
        let mut taken = [0; N];
        taken.copy_from_slice(&octets[*used..*used + N]);
        *used += N;
        if taken == [0; N] {
            taken[N - 1] = 1;
        }
        taken
    })
}

#[cfg(test)]
mod tests {
    use bartizan_http2::Indexing;
    use proptest::prelude::*;

    use super::*;

    const GOOD: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn what_is_not_of_the_form_is_not_gone_by() {
        let parent = Parent::read(GOOD.as_bytes()).unwrap();
        assert!(parent.is_sampled());
        assert_eq!(written(parent.trace, parent.span), GOOD);
        let zero_trace = format!("00-{}-00f067aa0ba902b7-01", "0".repeat(32));
        for wrong in [
            "",
            &GOOD.to_uppercase(),
            &GOOD[..54],
            &format!("{GOOD}-00"),
            &GOOD.replacen("00-", "ff-", 1),
            &GOOD.replace('-', "_"),
            &GOOD.replace("00f067aa0ba902b7", "0000000000000000"),
            &zero_trace,
        ] {
            assert_eq!(Parent::read(wrong.as_bytes()), None, "{wrong}");
        }
        let later = Parent::read(format!("01{}-more", &GOOD[2..]).as_bytes());
        assert_eq!(later.map(|parent| parent.trace), Some(parent.trace));
        let other = Parent::read(format!("01{}more", &GOOD[2..]).as_bytes());
        assert_eq!(other, None);
        let unsampled = Parent::read(format!("{}02", &GOOD[..53]).as_bytes()).unwrap();
        assert!(!unsampled.is_sampled());
    }

    #[test]
    fn two_of_them_are_none() {
        let mut head = Fields::new();
        head.push(PARENT, GOOD.as_bytes(), Indexing::Plain);
        assert!(Parent::of(&head).is_some());
        head.push(PARENT, GOOD.as_bytes(), Indexing::Plain);
        assert!(Parent::of(&head).is_none());
    }

    #[test]
    fn a_share_is_a_share() {
        let begun = (0..10_000).filter(|_| is_below(random(), SHARES / 4)).count();
        assert!((2_200..2_800).contains(&begun), "{begun}");
        assert!(is_below([0xff; 16], SHARES) && !is_below([0; 16], 0));
    }

    proptest! {
        #[test]
        fn whatever_a_head_says_is_read_or_not(value in "\\PC{0,70}", octets in any::<([u8; 16], [u8; 8])>()) {
            let _ = Parent::read(value.as_bytes());
            let (trace, span) = octets;
            prop_assume!(trace != [0; 16] && span != [0; 8]);
            let read = Parent::read(written(trace, span).as_bytes());
            prop_assert_eq!(read.map(|parent| (parent.trace, parent.span)), Some((trace, span)));
        }
    }
}
