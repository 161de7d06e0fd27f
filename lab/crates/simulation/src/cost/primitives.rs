//! Computations of each end, exchange by exchange, in a set-up between ends that know each other's
//! certificates.

use super::record::CryptoCost;
use super::suite::{Engine, KeyExchangeTimes, Suite, authentication_us};
use super::{CostError, ike, tls};

/// Microseconds of primitives in one exchange.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ExchangePrimitives {
    /// The exchange's first message.
    pub name: &'static str,
    /// The initiator's before it sends.
    pub before_us: f64,
    /// The responder's before it answers.
    pub responder_us: f64,
    /// The initiator's with the answer.
    pub after_us: f64,
}

impl ExchangePrimitives {
    /// Both of the initiator's.
    #[must_use]
    pub fn initiator_us(&self) -> f64 {
        self.before_us + self.after_us
    }
}

impl Suite {
    /// The exchanges of a whole set-up with what primitives take in each: key exchange, one
    /// signature and one verification at each end. Chains are not in it: signatures of certificates
    /// that were seen before are not verified again, by the sidecar as by strongSwan.
    ///
    /// # Errors
    /// [`CostError`] where the record lacks a primitive.
    pub fn primitives(&self, crypto: &CryptoCost) -> Result<Vec<ExchangePrimitives>, CostError> {
        let (sign, verify) = authentication_us(crypto, self.authentication, 1)?;
        match self.engine {
            Engine::StrongSwan => {
                let parts = ike::parts(&self.key_exchange);
                let mut exchanges = parts
                    .iter()
                    .enumerate()
                    .map(|(index, part)| {
                        let of = KeyExchangeTimes::of(crypto, part)?;
                        Ok(ExchangePrimitives {
                            name: if index == 0 { "IKE_SA_INIT" } else { "IKE_INTERMEDIATE" },
                            before_us: of.before_us,
                            responder_us: of.responder_us,
                            after_us: of.after_us,
                        })
                    })
                    .collect::<Result<Vec<_>, CostError>>()?;
                exchanges.push(ExchangePrimitives {
                    name: "IKE_AUTH",
                    before_us: sign,
                    responder_us: verify + sign,
                    after_us: verify,
                });
                Ok(exchanges)
            }
            Engine::Bartizan => {
                let (_, _, parts) = tls::parts(&self.key_exchange)?;
                let times = parts
                    .iter()
                    .map(|part| KeyExchangeTimes::of(crypto, part))
                    .collect::<Result<Vec<_>, CostError>>()?;
                let sum = |of: fn(&KeyExchangeTimes) -> f64| times.iter().map(of).sum::<f64>();
                Ok(vec![
                    ExchangePrimitives {
                        name: "ClientHello",
                        before_us: sum(|of| of.before_us),
                        responder_us: sum(|of| of.responder_us) + sign,
                        after_us: sum(|of| of.after_us) + verify,
                    },
                    ExchangePrimitives {
                        name: "Finished",
                        before_us: sign,
                        responder_us: verify,
                        after_us: 0.0,
                    },
                ])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Authentication;
    use super::*;

    fn suite(engine: Engine, key_exchange: &str) -> Suite {
        Suite {
            engine,
            key_exchange: key_exchange.to_owned(),
            authentication: Authentication::named("ml-dsa-65").unwrap(),
            chain: 1,
            resumes: false,
        }
    }

    fn record() -> CryptoCost {
        CryptoCost::parse(include_str!("../../../../experiments/crypto-cost/record.json")).unwrap()
    }

    #[test]
    fn a_hybrid_of_ike_is_an_exchange_more_and_one_of_tls_is_not() {
        let record = record();
        let exchanges = |engine, name: &str| suite(engine, name).primitives(&record).unwrap();
        let ike = exchanges(Engine::StrongSwan, "x25519-ke1_mlkem768");
        let names: Vec<_> = ike.iter().map(|exchange| exchange.name).collect();
        assert_eq!(names, ["IKE_SA_INIT", "IKE_INTERMEDIATE", "IKE_AUTH"]);
        let tls = exchanges(Engine::Bartizan, "X25519MLKEM768");
        assert_eq!(tls.len(), 2);
        // The same primitives are computed, whatever the protocol.
        let sum = |exchanges: &[ExchangePrimitives]| {
            let of = |end: fn(&ExchangePrimitives) -> f64| exchanges.iter().map(end).sum::<f64>();
            (
                of(ExchangePrimitives::initiator_us),
                of(|exchange| exchange.responder_us),
            )
        };
        let ((one, other), (first, second)) = (sum(&ike), sum(&tls));
        assert!((one - first).abs() < 1e-6 && (other - second).abs() < 1e-6);
    }

    #[test]
    fn a_primitive_that_was_not_measured_is_named() {
        let mut record = record();
        record.primitives.retain(|cost| cost.primitive != "ML-KEM-768");
        let refused = suite(Engine::Bartizan, "X25519MLKEM768")
            .primitives(&record)
            .unwrap_err();
        assert!(refused.to_string().contains("ML-KEM-768"), "{refused}");
    }
}
