//! Queueing delay of a packet before it is sent.

use serde::Serialize;

use crate::unit::{Microseconds, Share, UnitError};

/// Distribution of service times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// M/M/1: exponentially distributed service times, packets of very different sizes.
    Exponential,
    /// M/D/1: packets of one size.
    Constant,
}

/// A load at which a queue grows without end has no mean.
pub const MOST_LOAD: f64 = 0.999;

/// Mean time a packet waits before its service begins, of one queue with Poisson arrivals and one server:
/// `service * rho / (1 - rho)` of M/M/1, half of it of M/D/1 (Pollaczek and Khinchine; Kurose and Ross, *Computer Networking*).
///
/// Arrivals of a fronthaul are periodic, not Poisson: there this is an upper limit for one source and says nothing for sources in phase.
/// Refused above a load of 0.999, where the mean is that of hours.
pub fn waiting(service: Microseconds, load: Share, of: Service) -> Result<Microseconds, UnitError> {
    let load = load.value();
    if load > MOST_LOAD {
        return Err(UnitError::OutOfBounds {
            quantity: "load",
            given: load,
            unit: "",
            least: 0.0,
            most: MOST_LOAD,
            why: "beyond it a queue has no mean that an hour would show",
        });
    }
    let exponential = service.value() * load / (1.0 - load);
    Microseconds::new(match of {
        Service::Exponential => exponential,
        Service::Constant => exponential / 2.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn wait(service: f64, load: f64, of: Service) -> f64 {
        let service = Microseconds::new(service).unwrap();
        waiting(service, Share::new(load).unwrap(), of).unwrap().value()
    }

    #[test]
    fn waiting_is_that_of_the_closed_form() {
        // 1/(mu - lambda) - 1/mu with mu = 1 per us and lambda = 0.5 per us.
        assert_eq!(wait(1.0, 0.5, Service::Exponential), 1.0 / (1.0 - 0.5) - 1.0);
        assert_eq!(wait(1.0, 0.5, Service::Constant), 0.5);
        assert_eq!(wait(1.0, 0.0, Service::Exponential), 0.0);
        assert!(waiting(Microseconds::ZERO, Share::new(1.0).unwrap(), Service::Constant).is_err());
    }

    proptest! {
        #[test]
        fn waiting_grows_with_load_and_with_service_and_halves_with_one_size(
            service in 0.01..1000.0_f64, load in 0.0..0.99_f64, more in 0.0..0.009_f64,
        ) {
            let here = wait(service, load, Service::Exponential);
            prop_assert!(wait(service, load + more, Service::Exponential) >= here);
            prop_assert!(wait(service * 1.5, load, Service::Exponential) >= here);
            prop_assert!((wait(service, load, Service::Constant) - here / 2.0).abs() <= here * 1e-12);
            // Little's law: those waiting are rho^2 / (1 - rho).
            let waiting = here * (load / service);
            prop_assert!((waiting - load * load / (1.0 - load)).abs() < 1e-9 * (1.0 + waiting));
        }
    }
}
