//! The delay of a packet on one link: queueing, propagation, transmission, processing (Groen et al. 2024, equation 1).

use serde::Serialize;

use crate::queue::{self, Service};
use crate::unit::{BitsPerSecond, Bytes, Metres, Microseconds, Share, UnitError};

/// Speed of light in fibre, in metres per second. It is 5 us per km, as O-RAN WG4 (CUS annex B) and
/// Groen et al. 2024 (section 2.3) take it. Real fibre has 4.9.
pub const IN_FIBRE: f64 = 2e8;

/// The four parts of a delay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Delay {
    /// Waiting for other packets.
    pub queueing_us: Microseconds,
    /// The way through the fibre.
    pub propagation_us: Microseconds,
    /// Putting bits onto the link.
    pub transmission_us: Microseconds,
    /// Processing delay of both ends, including encryption and decryption.
    pub processing_us: Microseconds,
}

impl Delay {
    /// The sum.
    pub fn total(&self) -> Microseconds {
        self.queueing_us + self.propagation_us + self.transmission_us + self.processing_us
    }
}

/// A link as the model knows it: one hop, one queue, no switches between.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Link {
    /// Bits per second of the line.
    pub rate: BitsPerSecond,
    /// Length of the fibre.
    pub distance: Metres,
    /// The share of the rate that other traffic takes, without protection.
    pub load: Share,
    /// Distribution of that traffic's packet sizes.
    pub service: Service,
}

/// Light's way: `distance / 2e8 m/s`.
pub fn propagation(distance: Metres) -> Microseconds {
    // 100 000 km take half a second: within bounds.
    Microseconds::new(distance.value() / IN_FIBRE * 1e6).unwrap_or(Microseconds::ZERO)
}

/// Bits of a frame over bits per second: `L / R`. Preamble, check sequence and gap of Ethernet (24 bytes) are not counted, as in the publication.
pub fn transmission(frame: Bytes, rate: BitsPerSecond) -> Result<Microseconds, UnitError> {
    Microseconds::new(frame.bits() as f64 / rate.value() * 1e6)
}

/// The delay of a frame of `sent` bytes, of which the unprotected one has `plain`, with this processing delay of both ends together.
///
/// All other traffic is taken to grow by the same ratio, so that the load is `load * sent / plain`: the overhead term of the publication with its
/// dimension corrected. Refused where that load is 0.999 or more.
pub fn of(link: &Link, plain: Bytes, sent: Bytes, processing: Microseconds) -> Result<Delay, UnitError> {
    let transmission = transmission(sent, link.rate)?;
    let growth = if plain == Bytes::ZERO {
        1.0
    } else {
        sent.value() as f64 / plain.value() as f64
    };
    // Above one it is no share; the queue names its own bound.
    let load = Share::new((link.load.value() * growth).min(1.0))?;
    Ok(Delay {
        queueing_us: queue::waiting(transmission, load, link.service)?,
        propagation_us: propagation(link.distance),
        transmission_us: transmission,
        processing_us: processing,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn link(distance: f64, load: f64) -> Link {
        Link {
            rate: BitsPerSecond::new(1e10).unwrap(),
            distance: Metres::new(distance).unwrap(),
            load: Share::new(load).unwrap(),
            service: Service::Exponential,
        }
    }

    fn total(distance: f64, load: f64, sent: u32) -> f64 {
        let processing = Microseconds::new(10.0).unwrap();
        of(
            &link(distance, load),
            Bytes::from(1000_u32),
            Bytes::from(sent),
            processing,
        )
        .unwrap()
        .total()
        .value()
    }

    #[test]
    fn a_hundred_metres_take_half_a_microsecond() {
        assert_eq!(propagation(Metres::new(100.0).unwrap()).value(), 0.5);
        assert_eq!(propagation(Metres::new(1000.0).unwrap()).value(), 5.0);
    }

    #[test]
    fn overhead_can_fill_a_queue_that_plain_packets_did_not_fill() {
        let processing = Microseconds::ZERO;
        let full = of(&link(0.0, 0.98), Bytes::from(100_u32), Bytes::from(160_u32), processing);
        assert!(full.unwrap_err().to_string().starts_with("load of 1: "));
    }

    proptest! {
        #[test]
        fn delay_grows_with_distance_load_and_size(
            distance in 0.0..1e6_f64, load in 0.0..0.6_f64, sent in 1000_u32..1500, further in 0.0..1e5_f64, more in 0_u32..60,
        ) {
            let here = total(distance, load, sent);
            prop_assert!(total(distance + further, load, sent) >= here);
            prop_assert!(total(distance, load + 0.01, sent) >= here);
            prop_assert!(total(distance, load, sent + more) >= here);
        }
    }
}
