//! All of IPsec in a capture: which IKE_SA came from which, and which keyed what.

use std::collections::HashMap;

use bartizan_wire::Seen;
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::{self as wire, IkeSa, Origin};

use crate::ike::Parent;
use crate::keying::{self, Keying, Made};
use crate::{Ledgers, Posture, Verdict, esp, ike, ike_opened};

/// Associations with one SPI that are looked at: it is the receiver's choice alone, and those of several may be the same.
const NAMED: usize = 16;

/// An IKE_SA with what follows from it.
#[derive(Debug, Clone)]
pub struct JudgedIkeSa {
    /// The observed IKE_SA.
    pub sa: IkeSa,
    /// Its posture.
    pub posture: Posture,
}

/// An ESP security association with what follows from it.
#[derive(Debug, Clone)]
pub struct JudgedEspSa {
    /// The observed association.
    pub sa: EspSa,
    /// Negotiated parameters, if the keys of its IKE_SA show them.
    pub made: Option<Box<Seen<wire::Made>>>,
    /// Its posture.
    pub posture: Posture,
}

/// Gathers what an observer gives of IPsec; nothing can be judged before all of it is there, because ESP shows its
/// keys' origin by addresses and times only.
#[derive(Debug, Default)]
pub struct Ipsec {
    ike: Vec<IkeSa>,
    #[expect(
        clippy::vec_box,
        reason = "each is freed when it is judged, and a list that grows moves none"
    )]
    esp: Vec<Box<EspSa>>,
}

impl Ipsec {
    /// Adds an IKE_SA.
    pub fn add_ike(&mut self, sa: IkeSa) {
        self.ike.push(sa);
    }

    /// Adds an ESP security association.
    pub fn add_esp(&mut self, sa: EspSa) {
        self.esp.push(Box::new(sa));
    }

    /// Judges each, in the order of first packets, joined with ledger records of the same SPIs.
    #[must_use]
    pub fn judge(self, ledgers: &Ledgers) -> (Vec<JudgedIkeSa>, Vec<JudgedEspSa>) {
        let mut judged = self.judge_ike(ledgers);
        let mut esp = Vec::with_capacity(judged.esp.len());
        judged.judge_esp(ledgers, |sa| esp.push(sa));
        (judged.ike, esp)
    }

    /// The same of the IKE_SAs alone: of ESP there may be a million, and what follows for them need not all be there at once.
    #[must_use]
    pub fn judge_ike(mut self, ledgers: &Ledgers) -> JudgedIpsec {
        self.ike.sort_by_key(|sa| sa.first.packet);
        self.esp.sort_by_key(|sa| sa.first.packet);
        let mut keying = Keying::new(&self.ike, &self.esp);
        let mut walk = keying.walk();
        let mut judged: Vec<JudgedIkeSa> = Vec::with_capacity(self.ike.len());
        let mut opened = Opened::default();
        let mut arrived = Vec::new();
        for sa in self.ike {
            let verdict = |index: usize| verdict(&judged, index);
            let made = (sa.origin == Origin::Rekey).then(|| walk.ike(&sa, verdict));
            if matches!(made, Some(Made::Nothing | Made::Doubtful)) {
                arrived.push(judged.len());
            }
            // One that was there before the capture may be seen only later, and is not judged yet.
            let posture = |index: usize| judged.get(index).map(|judged| &judged.posture);
            let parent = match made {
                Some(Made::By(index)) => posture(index).map_or(Parent::None, Parent::Known),
                Some(Made::ByEither(one, other)) => match (posture(one), posture(other)) {
                    (Some(one), Some(other)) => Parent::Either([one, other]),
                    _ => Parent::Doubtful,
                },
                Some(Made::Doubtful) => Parent::Doubtful,
                Some(Made::Nothing | Made::Before | Made::PerhapsAnew(_)) | None => Parent::None,
            };
            let mut posture = ike::posture(&sa, parent);
            ike_opened::refine(&sa, opened.ike(&sa, &judged), &mut posture);
            ledgers.recorded().refine_ike(&sa, &mut posture);
            opened.add(judged.len(), &sa);
            judged.push(JudgedIkeSa { sa, posture });
        }
        for index in arrived {
            keying.arrived(index, &judged[index].sa);
        }
        let by_spis = judged.iter().enumerate().map(|(index, judged)| (judged.spis(), index));
        JudgedIpsec {
            by_spis: by_spis.collect(),
            ike: judged,
            esp: self.esp,
            keying,
            opened,
        }
    }
}

/// Returns true if an IKE_SA is between the hosts of an ESP association.
fn is_between(ike: &IkeSa, sa: &EspSa) -> bool {
    let hosts = keying::hosts(sa.source, sa.destination, &sa.path);
    keying::host_pairs(ike).contains(&hosts)
}

/// Confidentiality of an IKE_SA that may have made another.
fn verdict(judged: &[JudgedIkeSa], index: usize) -> Verdict {
    // One that began later made nothing before.
    judged
        .get(index)
        .map_or(Verdict::NotSeen, |judged| judged.posture.confidentiality.verdict())
}

/// Products of IKE_SAs as their keys show them, by SPIs.
#[derive(Debug, Default)]
struct Opened {
    ike: HashMap<(u64, u64), (usize, usize)>,
    /// By the SPI of either receiver: several associations may have one.
    children: HashMap<u32, Vec<(usize, usize)>>,
}

impl Opened {
    /// Adds what the IKE_SA at this place made.
    fn add(&mut self, index: usize, sa: &IkeSa) {
        let made = sa.opened.as_deref().map_or(&[][..], |opened| &opened.made.first);
        for (place, made) in made.iter().enumerate() {
            if let (true, Some(spis)) = (made.value.is_ike(), made.value.ike_spis()) {
                self.ike.insert(spis, (index, place));
            }
            for spi in made.value.esp_spis().into_iter().flatten() {
                self.children.entry(spi).or_default().push((index, place));
            }
        }
    }

    /// The exchange that made an IKE_SA from another, by that one's keys, with that one's posture.
    fn ike<'a>(&self, sa: &IkeSa, judged: &'a [JudgedIkeSa]) -> Option<(&'a Seen<wire::Made>, &'a Posture)> {
        let &(index, place) = self.ike.get(&(sa.initiator_spi, sa.responder_spi))?;
        let judged = judged.get(index).filter(|_| sa.origin == Origin::Rekey)?;
        Some((judged.sa.opened.as_deref()?.made.first.get(place)?, &judged.posture))
    }

    /// The CHILD_SA that an ESP association is one direction of, and the place of its IKE_SA.
    fn esp<'a>(&self, sa: &EspSa, judged: &'a [JudgedIkeSa]) -> Option<(usize, &'a Seen<wire::Made>)> {
        let named = self.children.get(&sa.spi)?.iter().rev().take(NAMED);
        named.copied().find_map(|(index, place)| {
            let ike = &judged.get(index)?.sa;
            let made = ike.opened.as_deref()?.made.first.get(place)?;
            (is_between(ike, sa) && ike_opened::is_received(sa, ike, &made.value)).then_some((index, made))
        })
    }
}

/// The IKE_SAs of a capture with what follows from them, and the ESP that is yet to be judged by them.
#[derive(Debug)]
#[non_exhaustive]
pub struct JudgedIpsec {
    /// IKE_SAs, in the order of first packets.
    pub ike: Vec<JudgedIkeSa>,
    #[expect(clippy::vec_box, reason = "each is freed when it is judged")]
    esp: Vec<Box<EspSa>>,
    keying: Keying,
    opened: Opened,
    by_spis: HashMap<(u64, u64), usize>,
}

impl JudgedIpsec {
    /// Gives each ESP security association with what follows for it, in the order of first packets.
    pub fn judge_esp(&mut self, ledgers: &Ledgers, mut give: impl FnMut(JudgedEspSa)) {
        let mut walk = self.keying.walk();
        for sa in std::mem::take(&mut self.esp) {
            let worth = |index: usize| verdict(&self.ike, index);
            let opened = self.opened.esp(&sa, &self.ike);
            let recorded = ledgers.recorded().keyed(&sa).and_then(|spis| self.by_spis.get(&spis));
            let recorded = recorded.copied().filter(|&index| is_between(&self.ike[index].sa, &sa));
            let made = walk.esp(&sa, worth);
            let made = match opened.map(|(index, _)| index).or(recorded) {
                Some(named) => Made::By(named),
                None if sa.first_sequence != 1 => Made::Before,
                None => made,
            };
            let mut posture = esp::posture(&sa, made, &self.ike, opened.is_some());
            if let Some((_, child)) = opened {
                ike_opened::refine_esp(child, &mut posture);
            }
            ledgers.recorded().refine_esp(&sa, &mut posture);
            esp::doubt(&sa, &mut posture);
            let made = opened.map(|(_, made)| Box::new(made.clone()));
            give(JudgedEspSa { sa: *sa, made, posture });
        }
    }
}

impl JudgedIkeSa {
    fn spis(&self) -> (u64, u64) {
        (self.sa.initiator_spi, self.sa.responder_spi)
    }
}
