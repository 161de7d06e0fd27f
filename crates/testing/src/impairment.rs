//! Impairment of the packets that leave by a link: delay, jitter, loss and rate, by netem of the
//! kernel (tc-netem(8)).

use std::time::Duration;

use bartizan_host::Error;

/// The longest delay; netem counts nanoseconds in 64 bits, `tc` microseconds in 32.
const LONGEST: Duration = Duration::from_secs(3600);

/// Impairment of the packets that leave by an interface; the default is none.
///
/// A round trip is delayed by what both ends say together. Jitter reorders packets that are closer
/// to each other than it is.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Impairment {
    /// Every packet waits this long.
    pub delay: Duration,
    /// And up to this much more or less, each packet its own; not above the delay.
    pub jitter: Duration,
    /// Packets of a hundred that are lost, each by its own chance.
    pub loss_percent: f64,
    /// Bits per second, headers counted; `None` is no bound.
    pub rate: Option<u64>,
}

impl Impairment {
    /// Packets that wait at a link; more are lost, as in a switch. At 10 Gb/s and full frames this is 12 ms.
    pub const QUEUE: &str = "10000";

    /// Arguments behind `tc qdisc replace dev INTERFACE root`.
    ///
    /// # Errors
    ///
    /// [`Error::Unfit`] for values that cannot be.
    pub fn arguments(&self) -> Result<Vec<String>, Error> {
        let unfit = |what: String, reason: &str| Error::Unfit {
            what,
            reason: reason.to_owned(),
        };
        if *self == Self::default() {
            return Ok(vec!["noqueue".to_owned()]);
        }
        if self.delay > LONGEST {
            return Err(unfit(format!("delay of {:?}", self.delay), "an hour at most"));
        }
        if self.jitter > self.delay {
            return Err(unfit(
                format!("jitter of {:?}", self.jitter),
                "no more than the delay: no packet arrives before it was sent",
            ));
        }
        if !(0.0..=100.0).contains(&self.loss_percent) {
            return Err(unfit(format!("loss of {} %", self.loss_percent), "from 0 to 100"));
        }
        let mut arguments: Vec<String> = ["netem", "limit", Self::QUEUE].map(str::to_owned).into();
        if !self.delay.is_zero() {
            arguments.extend(["delay".to_owned(), format!("{}us", self.delay.as_micros())]);
        }
        if !self.jitter.is_zero() {
            arguments.push(format!("{}us", self.jitter.as_micros()));
        }
        if self.loss_percent > 0.0 {
            arguments.extend(["loss".to_owned(), format!("{}%", self.loss_percent)]);
        }
        match self.rate {
            Some(0) => {
                return Err(unfit(
                    "rate of 0 bit/s".to_owned(),
                    "a link that carries nothing is down",
                ));
            }
            Some(rate) => arguments.extend(["rate".to_owned(), format!("{rate}bit")]),
            None => {}
        }
        Ok(arguments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(impairment: Impairment) -> Result<String, String> {
        let arguments = impairment.arguments().map_err(|error| error.to_string())?;
        Ok(arguments.join(" "))
    }

    #[test]
    fn values_are_what_tc_reads_and_nothing_takes_the_impairment_away() {
        let milliseconds = Duration::from_millis;
        assert_eq!(said(Impairment::default()).unwrap(), "noqueue");
        let all = Impairment {
            delay: milliseconds(10),
            jitter: Duration::from_micros(1500),
            loss_percent: 0.5,
            rate: Some(3_500_000),
        };
        assert_eq!(
            said(all).unwrap(),
            "netem limit 10000 delay 10000us 1500us loss 0.5% rate 3500000bit"
        );
        let loss = Impairment {
            loss_percent: 5.0,
            ..Impairment::default()
        };
        assert_eq!(said(loss).unwrap(), "netem limit 10000 loss 5%");
    }

    #[test]
    fn values_that_cannot_be_are_refused_by_name() {
        let none = Impairment::default();
        let (jitter, delay) = (Duration::from_millis(2), Duration::from_millis(1));
        for (impairment, wanted) in [
            (Impairment { jitter, delay, ..none }, "jitter of 2ms"),
            (
                Impairment {
                    loss_percent: f64::NAN,
                    ..none
                },
                "loss of NaN %",
            ),
            (
                Impairment {
                    loss_percent: 100.5,
                    ..none
                },
                "loss of 100.5 %",
            ),
            (
                Impairment {
                    loss_percent: -1.0,
                    ..none
                },
                "loss of -1 %",
            ),
            (Impairment { rate: Some(0), ..none }, "rate of 0 bit/s"),
            (
                Impairment {
                    delay: LONGEST * 2,
                    ..none
                },
                "delay of 7200s",
            ),
        ] {
            let error = said(impairment).unwrap_err();
            assert!(error.starts_with(wanted), "{error}");
        }
    }
}
