//! Path between the two ends: a cable, or a bridge between two cables whose ports delay and lose
//! packets.

use std::time::Duration;

use bartizan_host::Namespace;
use bartizan_testing::Wiring as _;
use bartizan_testing::{Impairment, Port, connect};

use super::kind::{LOSS, ROUND_TRIP};
use super::link::INTERFACE;
use crate::workload::Levels;
use crate::workload::{Error, number};

/// Ports of the bridge, towards the initiator and the responder.
const PORTS: [&str; 2] = ["initiator", "responder"];

/// Impairments of the path.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Condition {
    /// Half of it each way.
    pub(super) round_trip: Duration,
    /// Lost packets in per cent, each way.
    pub(super) loss_percent: f64,
}

impl Condition {
    pub(super) fn of(levels: &Levels) -> Result<Self, Error> {
        let milliseconds = number(levels, ROUND_TRIP.name, 0.0)?;
        let too_long = |_| Error::Configuration(format!("a round trip of {milliseconds} ms"));
        Ok(Self {
            round_trip: Duration::try_from_secs_f64(milliseconds / 1e3).map_err(too_long)?,
            loss_percent: number(levels, LOSS.name, 0.0)?,
        })
    }

    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// The way between the ends' interfaces.
pub(super) struct Path {
    /// Namespace of the bridge; none for a cable.
    middle: Option<Namespace>,
    now: Condition,
}

impl Path {
    /// Joins the ends by a cable, or by one that can be impaired.
    pub(super) fn make(ends: &[Namespace; 2], mtu: u16, impaired: bool) -> Result<Self, Error> {
        let middle = if impaired {
            let middle = Namespace::create("path")?;
            for (end, port) in ends.iter().zip(PORTS) {
                connect(&Port::new(end, INTERFACE), &Port::new(&middle, port), mtu)?;
            }
            middle.bridge("between", &PORTS)?;
            Some(middle)
        } else {
            let [one, other] = ends.each_ref().map(|end| Port::new(end, INTERFACE));
            connect(&one, &other, mtu)?;
            None
        };
        Ok(Self {
            middle,
            now: Condition::default(),
        })
    }

    /// Does this to packets from now on. What was under way is lost: nothing of a trial arrives in the next.
    pub(super) fn set(&mut self, condition: Condition) -> Result<(), Error> {
        if self.now == condition {
            return Ok(());
        }
        let middle = self
            .middle
            .as_ref()
            .ok_or_else(|| Error::Configuration("a cable cannot be impaired".to_owned()))?;
        let impairment = Impairment {
            delay: condition.round_trip / 2,
            loss_percent: condition.loss_percent,
            ..Impairment::default()
        };
        for port in PORTS {
            middle.impair(port, &impairment)?;
        }
        self.now = condition;
        Ok(())
    }
}
