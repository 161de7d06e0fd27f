//! All of IPsec in a capture: which IKE_SA came from which, and which keyed what.

use std::collections::HashMap;
use std::net::IpAddr;

use bartizan_wire::Seen;
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::{ExchangeType, IkeSa, Made, Origin};
use bartizan_wire::path::Path;

use crate::{Ledgers, Posture, esp, ike, ike_opened};

/// An IKE_SA with what follows from it.
#[derive(Debug, Clone)]
pub struct JudgedIkeSa {
    /// What packets showed.
    pub sa: IkeSa,
    /// What follows.
    pub posture: Posture,
}

/// An ESP security association with what follows from it.
#[derive(Debug, Clone)]
pub struct JudgedEspSa {
    /// What packets showed.
    pub sa: EspSa,
    /// What was agreed on for it, where the keys of its IKE_SA show that.
    pub made: Option<Box<Seen<Made>>>,
    /// What follows.
    pub posture: Posture,
}

/// The hosts at both ends, the lesser first, and what their packets are carried in: networks may overlap.
type Hosts = (IpAddr, IpAddr, Path);

/// Gathers what an observer gives of IPsec; nothing can be judged before all of it is there, because ESP shows its
/// keys' origin by addresses and times only.
#[derive(Debug, Default)]
pub struct Ipsec {
    ike: Vec<IkeSa>,
    esp: Vec<EspSa>,
}

impl Ipsec {
    /// Adds an IKE_SA.
    pub fn add_ike(&mut self, sa: IkeSa) {
        self.ike.push(sa);
    }

    /// Adds an ESP security association.
    pub fn add_esp(&mut self, sa: EspSa) {
        self.esp.push(sa);
    }

    /// What follows for each, in the order of first packets, joined with what ledgers say of the same SPIs.
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
        let mut judged: Vec<JudgedIkeSa> = Vec::with_capacity(self.ike.len());
        let mut between: HashMap<Hosts, Vec<usize>> = HashMap::new();
        for sa in self.ike {
            let [one, other] = [sa.initiator.ip(), sa.responder.ip()];
            // Each way may have tags and labels of its own.
            let mut ways: Vec<Path> = sa.paths.iter().flatten().cloned().collect();
            ways.dedup();
            if ways.is_empty() {
                ways.push(Path::NONE);
            }
            let posture = {
                let known = ways.first().and_then(|way| between.get(&hosts(one, other, way)));
                let known = known.map_or(&[][..], Vec::as_slice);
                let parent = (sa.origin == Origin::Rekey)
                    .then(|| parent(&sa, known, &judged))
                    .flatten();
                let mut posture = ike::posture(&sa, parent);
                ike_opened::refine(&sa, made(&sa, &judged), &mut posture);
                ledgers.recorded().refine_ike(&sa, &mut posture);
                posture
            };
            for way in &ways {
                between.entry(hosts(one, other, way)).or_default().push(judged.len());
            }
            judged.push(JudgedIkeSa { sa, posture });
        }
        JudgedIpsec {
            ike: judged,
            esp: self.esp,
            between,
        }
    }
}

/// The IKE_SAs of a capture with what follows from them, and the ESP that is yet to be judged by them.
#[derive(Debug)]
#[non_exhaustive]
pub struct JudgedIpsec {
    /// IKE_SAs, in the order of first packets.
    pub ike: Vec<JudgedIkeSa>,
    esp: Vec<EspSa>,
    /// Places of the IKE_SAs between the same hosts.
    between: HashMap<Hosts, Vec<usize>>,
}

impl JudgedIpsec {
    /// Gives each ESP security association with what follows for it, in the order of first packets.
    pub fn judge_esp(&mut self, ledgers: &Ledgers, mut give: impl FnMut(JudgedEspSa)) {
        let mut begun: HashMap<(IpAddr, IpAddr, Path), u64> = HashMap::new();
        for sa in std::mem::take(&mut self.esp) {
            let known = self.between.get(&hosts(sa.source, sa.destination, &sa.path));
            let ike: Vec<&JudgedIkeSa> = known.into_iter().flatten().map(|&index| &self.ike[index]).collect();
            let order = begun.entry((sa.source, sa.destination, sa.path.clone())).or_default();
            *order += 1;
            let keyed = ledgers.recorded().keyed(&sa);
            let keyed = keyed.and_then(|spis| ike.iter().copied().find(|judged| judged.spis() == spis));
            let opened = ike
                .iter()
                .find_map(|judged| Some((*judged, ike_opened::child(&sa, &judged.sa)?)));
            let keyed = keyed.or(opened.map(|(judged, _)| judged));
            let mut posture = esp::posture(&sa, &ike, *order, keyed);
            if let Some((_, child)) = opened {
                ike_opened::refine_esp(child, &mut posture);
            }
            ledgers.recorded().refine_esp(&sa, &mut posture);
            let made = opened.map(|(_, made)| Box::new(made.clone()));
            give(JudgedEspSa { sa, made, posture });
        }
    }
}

/// The exchange that made an IKE_SA from another, by that one's keys, with that one's posture.
fn made<'a>(sa: &IkeSa, judged: &'a [JudgedIkeSa]) -> Option<(&'a Seen<Made>, &'a Posture)> {
    if sa.origin != Origin::Rekey {
        return None;
    }
    let spis = (sa.initiator_spi, sa.responder_spi);
    judged.iter().rev().find_map(|judged| {
        let made = &judged.sa.opened.as_deref()?.made.first;
        let found = made
            .iter()
            .find(|made| made.value.is_ike() && made.value.ike_spis() == Some(spis));
        Some((found?, &judged.posture))
    })
}

fn hosts(one: IpAddr, other: IpAddr, path: &Path) -> Hosts {
    (one.min(other), one.max(other), path.clone())
}

/// The IKE_SA a rekey made this one from: any between the same hosts that had a CREATE_CHILD_SA. Of several the worst.
fn parent<'a>(sa: &IkeSa, known: &[usize], judged: &'a [JudgedIkeSa]) -> Option<&'a Posture> {
    let candidates = known
        .iter()
        .map(|&index| &judged[index])
        .filter(|candidate| candidate.sa.rekeys > 0 && candidate.sa.first.packet < sa.first.packet);
    let worst = candidates.reduce(|worst, next| {
        let verdict = |judged: &JudgedIkeSa| judged.posture.confidentiality.verdict();
        if verdict(worst).worse(verdict(next)) == verdict(worst) {
            worst
        } else {
            next
        }
    });
    worst.map(|judged| &judged.posture)
}

impl JudgedIkeSa {
    fn spis(&self) -> (u64, u64) {
        (self.sa.initiator_spi, self.sa.responder_spi)
    }

    /// Completed exchanges before a packet that make keys for ESP, and the packet of the last of them.
    pub(crate) fn keyed_before(&self, packet: u64) -> (u64, Option<u64>) {
        let exchanges = self.sa.exchanges.iter().filter(|exchange| {
            let makes_keys = matches!(exchange.kind, ExchangeType::IKE_AUTH | ExchangeType::CREATE_CHILD_SA);
            makes_keys && exchange.response.is_some_and(|response| response.last.packet < packet)
        });
        exchanges.fold((self.sa.exchanges.omitted, None), |(count, last), exchange| {
            let packet = exchange.response.map(|response| response.last.packet);
            (count + 1, last.max(packet))
        })
    }
}
