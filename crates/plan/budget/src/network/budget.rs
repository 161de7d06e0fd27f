//! Delay budget and predicted delay of an interface.

use bartizan_deployment::{Confidentiality, Interface, InterfaceKind, Mode as EspMode, Protection as With};
use bartizan_registry::Header;
use serde::Serialize;

use crate::delay::{self, Link};
use crate::fronthaul::{Limit, Mode, O_DU, O_RU, observed_frame};
use crate::overhead::{IpVersion, Protection};
use crate::published;
use crate::queue::Service;
use crate::unit::{BitsPerSecond, Bytes, Metres, Microseconds, Share};

/// Access to the text that a figure is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reading {
    /// It was read for docs/interfaces.
    Read,
    /// It is as others cite it: hold it against the text before relying on it.
    AsCited,
}

/// Delay budget of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Budget {
    /// One way, for a packet; none where nothing was found.
    pub packet_us: Option<f64>,
    /// For a set-up, before what waits for it gives up.
    pub set_up_us: Option<f64>,
    /// Quantity that the budget limits.
    pub what: &'static str,
    /// Why it has no figure for a packet, or for a set-up; empty where it has both.
    pub without: &'static str,
    /// Document and clause.
    pub source: &'static str,
    /// Access to the text that the figure is from.
    pub reading: Reading,
}

impl Budget {
    /// Document and clause, and whether it was read.
    pub fn cited(&self) -> String {
        match self.reading {
            Reading::Read => self.source.to_owned(),
            Reading::AsCited => format!("{} (as cited, the text was not read)", self.source),
        }
    }
}

/// The widest limit of a fronthaul pair that is not of category A, in microseconds (O-RAN.WG4.CUS, annex B): B with O.
const FRONTHAUL_WIDEST: f64 = 399.0;

/// Control traffic: the timer that waits for an answer bounds the delay, not a limit per packet.
const NO_PACKET: &str = "no text within reach has a figure for a packet";
/// User data: packets are lost while no SA exists.
const NO_SET_UP: &str = "nothing waits for a set-up: packets are lost until keys are there";

/// The budgets by interface, each with its figures for a packet and a set-up, its source and access
/// to that, what it limits, and why a figure is missing.
macro_rules! budgets {
    ($of:ident; $($($kind:ident)|+ [$packet:expr, $set_up:expr] $source:literal $reading:ident
        $what:literal $without:expr;)+) => {
        match $of {
            $($(InterfaceKind::$kind)|+ => Budget {
                packet_us: $packet,
                set_up_us: $set_up,
                what: $what,
                without: $without,
                source: $source,
                reading: Reading::$reading,
            },)+
        }
    };
}

/// The budget of an interface.
pub const fn budget_of(kind: InterfaceKind) -> Budget {
    budgets! { kind;
        E2 [Some(5_000.0), Some(1e6)] "E2GAP, control loops of 10 ms to 1 s" Read
            "the fastest near-RT control loop of 10 ms, half of it one way; set-up within the slowest, 1 s"
            "";
        OpenFronthaul [Some(FRONTHAUL_WIDEST), None] "CUS, annex B, table B.2-3" Read
            "the widest limit of a pair of delay categories but those of A; a file names no categories, and `bartizan plan fronthaul` judges each pair"
            "nothing waits for keys of MACsec: frames are lost until they are there; M-plane supervision resets an O-RU after 60 s (MP)";
        N2 | Sbi [None, Some(T3510)] "TS 24.501, table 10.2.1" Read
            "T3510: a UE waits 15 s for its registration, of which set-up is a part"
            NO_PACKET;
        N32 [None, Some(T3510)] "TS 24.501, table 10.2.1" Read
            "T3510: a roaming UE waits 15 s for its registration, which asks its home network"
            NO_PACKET;
        N26 [None, Some(T3510)] "TS 24.501, table 10.2.1" Read
            "T3510: a UE that comes from EPS waits 15 s for its registration, which fetches its context"
            "no text within reach has a figure for a packet; GTPv2-C leaves T3-RESPONSE to the operator (TS 29.274, clause 7.6, as cited)";
        N4 [None, Some(T3580)] "TS 24.501, table 10.3.1" AsCited
            "T3580: a UE waits 16 s for its PDU session"
            "no text within reach has a figure for a packet; PFCP leaves T1 and N1 to the implementation (TS 29.244, clause 6.4, as cited)";
        E1 [None, Some(T3580)] "TS 24.501, table 10.3.1" AsCited
            "T3580: a UE waits 16 s for its PDU session, for which bearers are set up over E1"
            NO_PACKET;
        N3 | N9 [Some(CORE_PACKET), None] "TS 23.501, table 5.7.4-1, notes on the CN PDB" AsCited
            "the core's part of a packet delay budget, 20 ms (1 to 5 ms of delay-critical 5QIs)"
            NO_SET_UP;
        F1U [Some(MIDHAUL_PACKET), None] "TR 38.801, annex A, table A-1" AsCited
            "the longer end of what option 2 tolerates one way, 1.5 to 10 ms (XTRP, which was read, names no figure for the midhaul)"
            NO_SET_UP;
        F1C [Some(MIDHAUL_PACKET), Some(2e6)] "TS 38.331, clause 6.3.2 (UE-TimersAndConstants)" AsCited
            "10 ms one way, the longer end of what option 2 tolerates (TR 38.801, table A-1); T300: a UE waits 2 s at most for RRCSetup, which comes over F1-C"
            "";
        Xn [None, Some(SCTP_GIVES_UP)] "RFC 9260, section 16" AsCited
            "SCTP sends INIT nine times, 243 s in all"
            "no text within reach has a figure for a packet; TXnRELOCprep, by which a handover waits, is left to the operator (TS 38.423, clause 8.2.1, as cited)";
        A1 [None, Some(1e6)] "Groen et al. 2024, section 1" Read
            "the non-RT control loop begins at 1 s"
            NO_PACKET;
        O1 [None, Some(60e6)] "MP, supervision" Read
            "M-plane supervision of 60 s, after which an O-RU is reset"
            NO_PACKET;
        O2 [None, Some(180e6)] "RFC 9293, section 3.8.3" AsCited
            "TCP sends a SYN for three minutes at least"
            "no text within reach has a figure for a packet; O-RAN's texts on O2 that were read name no timer";
    }
}

/// Timers of a UE for its registration and its PDU session, in microseconds.
const T3510: f64 = 15e6;
const T3580: f64 = 16e6;
/// The core's part of the packet delay budget of 5QIs that are not delay-critical.
const CORE_PACKET: f64 = 20e3;
/// One-way delay that functional split option 2 (between CU and DU) tolerates, in microseconds.
const MIDHAUL_PACKET: f64 = 10e3;
/// From the first INIT until an association is given up: RTO.Initial of 1 s, doubled to RTO.Max of 60 s, Max.Init.Retransmits of 8.
const SCTP_GIVES_UP: f64 = 243e6;

/// The path that delays are predicted for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Conditions {
    /// Length of the fibre.
    pub distance: Metres,
    /// Rate of the line.
    pub rate: BitsPerSecond,
}

/// Predicted delay of a link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Predicted {
    /// Budget of the link.
    pub budget: Budget,
    /// Bytes of the frame that it is predicted for, unprotected and as sent.
    pub frame: [Bytes; 2],
    /// Propagation and transmission, one way.
    pub path_us: f64,
    /// Processing delay that protection adds, both ends, in microseconds.
    pub added_us: f64,
    /// Origin of the added delay.
    pub added_from: &'static str,
    /// Round trips of a set-up; none where they were not counted (MACsec).
    pub round_trips: Option<u32>,
    /// They, over this path, without time to compute.
    pub set_up_us: Option<f64>,
    /// Fronthaul only. Pairs of delay categories whose best limit (CUS, annex B, table B.2-3) the
    /// frame keeps, and the number of all pairs.
    pub category_pairs: Option<[usize; 2]>,
}

/// The long packet of E2 that Groen et al. 2024 observed (table 2).
const LONG_E2: u16 = 1425;
/// The least MTU's frame of other interfaces: a full packet.
const FULL: u16 = 1500;

impl Conditions {
    /// Predicts the delay of a link: the largest frame it is known to carry, over this path.
    ///
    /// Processing is what was measured: of ESP at most 50 us for packets up to 1500 bytes (Groen et al. 2024, section 4.2), of MACsec the published curve, of a sidecar what `bench`
    /// measured on one core. Another machine needs other time.
    pub fn predict(&self, interface: &Interface) -> Predicted {
        let frame = match interface.kind {
            InterfaceKind::OpenFronthaul => observed_frame(),
            InterfaceKind::E2 => Bytes::from(LONG_E2),
            _ => Bytes::from(FULL) + Bytes::from(Header::ETHERNET.bytes),
        };
        let (name, added_us, added_from, round_trips) = match interface.protection {
            With::Nothing => ("none", 0.0, "nothing is added", Some(0)),
            // A SYN, a full handshake, the request.
            With::Sidecar => (
                "tls:TLS_AES_256_GCM_SHA384",
                57.8,
                "experiments/peers: request by `http2` on a kept connection, one core, 57.8 us",
                Some(3),
            ),
            With::Gateway => (
                "tls:TLS_AES_256_GCM_SHA384",
                57.8,
                "experiments/peers: a sidecar's request by `http2` on a kept connection, one core, 57.8 us; a gateway's message has no record yet",
                Some(3),
            ),
            // IKE_SA_INIT, IKE_INTERMEDIATE, IKE_AUTH.
            With::Ipsec => {
                let transport = interface
                    .ipsec
                    .as_ref()
                    .is_some_and(|link| link.mode == EspMode::Transport);
                let name = if transport {
                    "esp:aes256gcm16,transport"
                } else {
                    "esp:aes256gcm16"
                };
                (
                    name,
                    50.0,
                    "Groen et al. 2024, section 4.2: at most 50 us for 62 to 1500 bytes, with AES-CBC; none with AES-GCM",
                    Some(3),
                )
            }
            With::Macsec => {
                let link = interface.macsec.as_ref();
                let integrity = link.is_some_and(|link| link.confidentiality == Confidentiality::Integrity);
                let mode = if integrity { Mode::Integrity } else { Mode::Encryption };
                let added = published::macsec_added(mode)
                    .ok()
                    .and_then(|curve| curve.at(frame).ok());
                (
                    "macsec:gcm-aes-128",
                    added.map_or(0.0, Microseconds::value),
                    "Groen et al. 2024, section 5.1: MACsec in software, a straight line between two sizes",
                    None,
                )
            }
        };
        let sent = name
            .parse::<Protection>()
            .ok()
            .and_then(|protection| protection.frame(frame, IpVersion::V4).ok())
            .map_or(frame, |layout| layout.total());
        let path = self.path(frame, sent);
        let budget = budget_of(interface.kind);
        let is_fronthaul = interface.kind == InterfaceKind::OpenFronthaul;
        Predicted {
            budget,
            frame: [frame, sent],
            path_us: path,
            added_us,
            added_from,
            round_trips,
            category_pairs: is_fronthaul.then(|| pairs_within(path + added_us)),
            set_up_us: round_trips.map(|trips| f64::from(trips) * 2.0 * delay::propagation(self.distance).value()),
        }
    }

    fn path(&self, plain: Bytes, sent: Bytes) -> f64 {
        let Ok(idle) = Share::new(0.0) else { return 0.0 };
        let link = Link {
            rate: self.rate,
            distance: self.distance,
            load: idle,
            service: Service::Exponential,
        };
        delay::of(&link, plain, sent, Microseconds::ZERO).map_or(0.0, |delay| delay.total().value())
    }
}

/// Number of delay category pairs whose best limit allows a frame this long, and the number of all
/// pairs.
fn pairs_within(packet_us: f64) -> [usize; 2] {
    let pairs = O_RU
        .iter()
        .flat_map(|radio| O_DU.iter().map(|distributed| Limit::Best.of(*distributed, *radio)));
    let within = pairs.clone().filter(|limit| packet_us <= f64::from(*limit));
    [within.count(), pairs.count()]
}

impl Predicted {
    /// One way, for the frame.
    pub fn packet_us(&self) -> f64 {
        self.path_us + self.added_us
    }

    /// Describes the exceeded limits of the budget.
    pub fn passed(&self) -> Option<String> {
        let packet = self.budget.packet_us.filter(|most| self.packet_us() > *most);
        if let Some(most) = packet {
            return Some(format!(
                "a frame of {} takes {:.1} us one way, and {most} us are the budget: {}",
                self.frame[0],
                self.packet_us(),
                self.budget.what
            ));
        }
        let (predicted, trips) = self.set_up_us.zip(self.round_trips)?;
        let set_up = self.budget.set_up_us.filter(|most| predicted > *most)?;
        Some(format!(
            "{trips} round trips of set-up take {predicted:.0} us, and {set_up} us are the budget: {}",
            self.budget.what
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::REQUIREMENTS;

    #[test]
    fn every_interface_has_a_figure_with_its_clause_and_says_why_where_one_is_missing() {
        for kind in REQUIREMENTS.iter().map(|asked| asked.kind) {
            let budget = budget_of(kind);
            let figures = [budget.packet_us, budget.set_up_us];
            assert!(figures.iter().any(Option::is_some), "{}", kind.name());
            assert!(budget.source.contains([',', 'E']), "{}: {}", kind.name(), budget.source);
            assert_eq!(
                figures.iter().all(Option::is_some),
                budget.without.is_empty(),
                "{}: {}",
                kind.name(),
                budget.without
            );
        }
    }

    #[test]
    fn fewer_pairs_of_categories_allow_a_longer_frame() {
        assert_eq!(pairs_within(0.0)[1], 168);
        assert!(pairs_within(100.0)[0] > pairs_within(300.0)[0]);
        // Beyond every category but A all that is left are its twelve.
        assert_eq!(pairs_within(400.0), [12, 168]);
        assert_eq!(pairs_within(3001.0), [0, 168]);
    }

    #[test]
    fn a_source_that_was_not_read_says_so() {
        assert_eq!(budget_of(InterfaceKind::N2).cited(), "TS 24.501, table 10.2.1");
        let cited = budget_of(InterfaceKind::N3).cited();
        assert!(cited.contains("TS 23.501") && cited.contains("not read"), "{cited}");
    }

    #[test]
    fn sctp_gives_up_after_the_sum_of_its_waits() {
        let waits = (0..=8).map(|sending| f64::from(1_u32 << sending).min(60.0));
        assert_eq!(waits.sum::<f64>() * 1e6, SCTP_GIVES_UP);
    }
}
