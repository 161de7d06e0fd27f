//! How long an interface may take, and how long it is predicted to.

use bartizan_deployment::{Confidentiality, Interface, InterfaceKind, Mode as EspMode, Protection as With};
use bartizan_registry::Header;
use serde::Serialize;

use crate::delay::{self, Link};
use crate::fronthaul::{Mode, observed_frame};
use crate::overhead::{IpVersion, Protection};
use crate::published;
use crate::queue::Service;
use crate::unit::{BitsPerSecond, Bytes, Metres, Microseconds, Share};

/// What an interface may take.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Budget {
    /// One way, for a packet; none where nothing was found.
    pub packet_us: Option<f64>,
    /// For a set-up, before what waits for it gives up.
    pub set_up_us: Option<f64>,
    /// What the budget is.
    pub what: &'static str,
    /// Document and clause.
    pub source: &'static str,
}

/// The widest limit of a fronthaul pair that is not of category A, in microseconds (O-RAN.WG4.CUS, annex B): B with O.
const FRONTHAUL_WIDEST: f64 = 399.0;

/// The budget of an interface.
#[must_use]
pub const fn budget_of(kind: InterfaceKind) -> Budget {
    const fn budget(
        packet_us: Option<f64>,
        set_up_us: Option<f64>,
        what: &'static str,
        source: &'static str,
    ) -> Budget {
        Budget {
            packet_us,
            set_up_us,
            what,
            source,
        }
    }
    match kind {
        InterfaceKind::E2 => budget(
            Some(5_000.0),
            Some(1e6),
            "the fastest near-RT control loop of 10 ms, half of it one way; set-up within the slowest, 1 s",
            "E2GAP",
        ),
        InterfaceKind::OpenFronthaul => budget(
            Some(FRONTHAUL_WIDEST),
            None,
            "the widest limit of a pair of delay categories but those of A",
            "CUS, annex B, table B.2-3",
        ),
        InterfaceKind::N2 | InterfaceKind::Sbi => budget(
            None,
            Some(15e6),
            "T3510: a UE waits 15 s for its registration, of which set-up is a part",
            "TS 24.501, table 10.2.1",
        ),
        InterfaceKind::N4 => budget(
            None,
            Some(9e6),
            "PFCP tries three times in 3 s each, as is usual",
            "unchecked: general knowledge of implementations",
        ),
        InterfaceKind::A1 => budget(
            None,
            Some(1e6),
            "the non-RT control loop begins at 1 s",
            "Groen et al. 2024, section 1",
        ),
        InterfaceKind::O1 => budget(None, Some(60e6), "M-plane supervision of 60 s", "MP, supervision"),
        InterfaceKind::N3
        | InterfaceKind::N9
        | InterfaceKind::N26
        | InterfaceKind::N32
        | InterfaceKind::E1
        | InterfaceKind::F1C
        | InterfaceKind::F1U
        | InterfaceKind::Xn
        | InterfaceKind::O2 => budget(
            None,
            None,
            "no figure was found",
            "docs/interfaces: the class of traffic decides",
        ),
    }
}

/// The path that delays are predicted for.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Conditions {
    /// Length of the fibre.
    pub distance: Metres,
    /// Rate of the line.
    pub rate: BitsPerSecond,
}

/// What is predicted of a link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Predicted {
    /// What it may take.
    pub budget: Budget,
    /// Bytes of the frame that it is predicted for, unprotected and as sent.
    pub frame: [Bytes; 2],
    /// Propagation and transmission, one way.
    pub path_us: f64,
    /// What protection adds to processing, both ends.
    pub added_us: f64,
    /// Where that comes from.
    pub added_from: &'static str,
    /// Round trips of a set-up; none where they were not counted (MACsec).
    pub round_trips: Option<u32>,
    /// They, over this path, without time to compute.
    pub set_up_us: Option<f64>,
}

/// The long packet of E2 that Groen et al. 2024 observed (table 2).
const LONG_E2: u16 = 1425;
/// The least MTU's frame of other interfaces: a full packet.
const FULL: u16 = 1500;

impl Conditions {
    /// What is predicted of a link: the largest frame it is known to carry, over this path.
    ///
    /// Processing is what was measured: of ESP at most 50 us for packets up to 1500 bytes (Groen et al. 2024, section 4.2), of MACsec the published curve, of a sidecar what `bench`
    /// measured on one core. Another machine needs other time.
    #[must_use]
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
                61.8,
                "experiments/peers: request by `http2` on a kept connection, one core, 61.8 us",
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
        Predicted {
            budget,
            frame: [frame, sent],
            path_us: path,
            added_us,
            added_from,
            round_trips,
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

impl Predicted {
    /// One way, for the frame.
    #[must_use]
    pub fn packet_us(&self) -> f64 {
        self.path_us + self.added_us
    }

    /// What passes its budget, in words.
    #[must_use]
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
