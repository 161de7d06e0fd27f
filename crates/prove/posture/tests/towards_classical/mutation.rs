//! A change towards classical, made in every packet it fits, and what it must take.

use std::collections::{BTreeMap, BTreeSet};

use bartizan_posture::{Answer, Posture, Reply};

use super::frame::{Capture, Frame};
use super::judged::{Judged, Subject, is_safe, judge};

/// Effect of a mutation on a frame.
pub(crate) enum Change {
    /// Nothing: it stays.
    Keep,
    /// Other bytes.
    Turn(Vec<u8>),
    /// Another frame before it.
    Before(Vec<u8>),
    /// Another frame behind it.
    Behind(Vec<u8>),
    /// It is taken out.
    Drop,
}

impl Change {
    /// The frame with `value` written at `at` of its payload, if that is in it.
    pub(crate) fn written(frame: &Frame<'_>, at: usize, value: &[u8]) -> Self {
        frame.written(at, value).map_or(Self::Keep, Self::Turn)
    }

    /// These bytes, if they are others than the frame's.
    pub(crate) fn to(frame: &Frame<'_>, bytes: Vec<u8>) -> Self {
        if bytes == frame.bytes {
            Self::Keep
        } else {
            Self::Turn(bytes)
        }
    }
}

/// Property that a mutation takes from the subjects it reaches.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    /// The verdict that it is safe from a recorder.
    Safety,
    /// That a post-quantum key exchange was offered, and preferred.
    Offer,
    /// That it stayed so.
    Staying,
}

/// A way towards classical.
pub(crate) struct Mutation {
    pub(crate) name: &'static str,
    pub(crate) change: Box<dyn Fn(&Frame<'_>) -> Change>,
    /// Subjects it reaches, among those with a packet that it changes.
    pub(crate) reaches: fn(&Subject, &Posture) -> bool,
    pub(crate) takes: Takes,
}

impl Takes {
    fn has(self, posture: &Posture) -> bool {
        match self {
            Self::Safety => is_safe(posture),
            Self::Offer => [&posture.offered, &posture.preferred].map(Reply::answer) == [Answer::Yes; 2],
            Self::Staying => posture.stayed.answer() == Answer::Yes,
        }
    }

    /// Returns true if any of it is left: no part of an offer may be.
    fn is_left(self, posture: &Posture) -> bool {
        match self {
            Self::Offer => [&posture.offered, &posture.preferred]
                .map(Reply::answer)
                .contains(&Answer::Yes),
            Self::Safety | Self::Staying => self.has(posture),
        }
    }
}

impl Mutation {
    fn apply(&self, capture: &Capture) -> (Capture, BTreeSet<super::frame::Ends>) {
        let (mut packets, mut touched) = (Vec::new(), BTreeSet::new());
        for packet in &capture.packets {
            let frame = Frame::read(&packet.bytes);
            match (self.change)(&frame) {
                Change::Keep => {
                    packets.push(packet.clone());
                    continue;
                }
                Change::Turn(bytes) => packets.push(packet.with(bytes)),
                Change::Before(bytes) => packets.extend([packet.with(bytes), packet.clone()]),
                Change::Behind(bytes) => packets.extend([packet.clone(), packet.with(bytes)]),
                Change::Drop => {}
            }
            touched.extend(frame.ends);
        }
        (capture.with(packets), touched)
    }

    /// Applies it; how many lost what it takes. All of those it reaches must, and nothing may rise.
    fn fall(&self, name: &str, capture: &Capture, before: &Judged) -> usize {
        let (turned, touched) = self.apply(capture);
        if touched.is_empty() {
            return 0;
        }
        let what = format!("{name}, {}", self.name);
        let after = judge(&turned.file());
        after.assert_no_better(before, &what);
        let mut fallen = 0;
        for (subject, was) in &before.postures {
            let reached = self.takes.has(was) && (self.reaches)(subject, was) && subject.is_touched(&touched);
            // A subject that is gone after the mutation has no verdict.
            let Some(is) = after.postures.get(subject).filter(|_| reached) else {
                continue;
            };
            let (because, stayed) = (is.confidentiality.because(), is.stayed.because());
            assert!(!self.takes.is_left(is), "{what}: {subject:?}: {because} / {stayed}");
            fallen += 1;
        }
        fallen
    }
}

/// Makes each of these mutations in a capture; how many fell by each.
pub(crate) fn fallen(name: &str, file: &[u8], mutations: &[Mutation]) -> BTreeMap<&'static str, usize> {
    let (capture, before) = (Capture::read(file), judge(file));
    assert!(before.safe() > 0, "{name} shows nothing safe");
    let fall = |mutation: &Mutation| (mutation.name, mutation.fall(name, &capture, &before));
    mutations.iter().map(fall).collect()
}
