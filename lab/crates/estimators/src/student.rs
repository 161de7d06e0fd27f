//! Student's t distribution and the interval of a mean.

use crate::{Confidence, Error, Estimate, Interval, Sample, standard_deviation};

/// The mean of a sample with Student's interval.
///
/// Over the medians of repeated runs this is how published experiments on the SBI report latency.
/// It takes the values to be independent and about normal, which medians of many requests are and
/// single latencies are not.
///
/// # Errors
/// [`Error::TooFew`] for a single value.
pub fn t_interval(sample: &Sample, confidence: Confidence) -> Result<Estimate, Error> {
    let deviation = standard_deviation(sample).ok_or(Error::TooFew { n: sample.n() })?;
    let n = sample.n() as f64;
    let reach = t_quantile(1.0 - confidence.tail(), n - 1.0) * deviation / n.sqrt();
    let value = sample.mean();
    Ok(Estimate {
        value,
        interval: Interval {
            low: value - reach,
            high: value + reach,
        },
    })
}

/// The value below which this share (0.5 to below 1) of Student's distribution lies.
pub(crate) fn t_quantile(share: f64, degrees: f64) -> f64 {
    let upper_tail = 1.0 - share;
    // P(T > t) = I_x(degrees/2, 1/2) / 2 with x = degrees / (degrees + t^2): bisected for t, whose sign is known.
    let tail = |t: f64| 0.5 * incomplete_beta(degrees / (degrees + t * t), degrees / 2.0, 0.5);
    let (mut low, mut high) = (0.0, 1.0);
    while tail(high) > upper_tail && high < 1e300 {
        high *= 2.0;
    }
    // A double has 53 bits; the bracket is halved until it cannot be.
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if tail(middle) > upper_tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// The regularised incomplete beta function I_x(a, b) for x from 0 to 1, by its continued fraction (DLMF 8.17.22).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast on this side of the mean only.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = (a * x.ln() + b * (-x).ln_1p() + ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b)).exp() / a;
    front / continued_fraction(x, a, b)
}

/// 1 + d1/(1 + d2/(1 + ...)) by Lentz's method (Thompson and Barnett, 1986).
fn continued_fraction(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let (mut whole, mut c, mut d) = (1.0, 1.0, 0.0);
    // The fraction needs about sqrt(max(a, b)) terms: enough for 10^8 degrees of freedom.
    for term in 1..20_000_u32 {
        let m = f64::from(term / 2);
        let coefficient = if term % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        d = 1.0 / away_from_zero(1.0 + coefficient * d);
        c = away_from_zero(1.0 + coefficient / c);
        whole *= c * d;
        if (c * d - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    whole
}

/// The logarithm of the gamma function above 0, by Stirling's series (DLMF 5.11.1) after a shift to where it converges.
fn ln_gamma(x: f64) -> f64 {
    let (mut shifted, mut product) = (x, 1.0);
    while shifted < 10.0 {
        product *= shifted;
        shifted += 1.0;
    }
    let inverse = 1.0 / (shifted * shifted);
    let series = (1.0 / 12.0
        - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse * (1.0 / 1680.0 - inverse * (1.0 / 1188.0)))))
        / shifted;
    (shifted - 0.5) * shifted.ln() - shifted + 0.5 * std::f64::consts::TAU.ln() + series - product.ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_value_has_no_interval() {
        let sample = Sample::new([1.0]).unwrap();
        assert_eq!(t_interval(&sample, Confidence::P95), Err(Error::TooFew { n: 1 }));
    }

    #[test]
    fn values_that_do_not_differ_have_an_interval_of_no_width() {
        let sample = Sample::new([3.0; 5]).unwrap();
        let estimate = t_interval(&sample, Confidence::P95).unwrap();
        assert_eq!(
            (estimate.value, estimate.interval.low, estimate.interval.high),
            (3.0, 3.0, 3.0)
        );
    }

    #[test]
    fn quantiles_are_those_of_scipy() {
        let reference: serde_json::Value =
            serde_json::from_str(include_str!("../tests/reference/reference.json")).unwrap();
        let cases = reference["t_quantiles"].as_array().unwrap();
        assert_eq!(cases.len(), 54);
        for case in cases {
            let [share, degrees, expected] = [0, 1, 2].map(|index| case[index].as_f64().unwrap());
            let got = t_quantile(share, degrees);
            // Gamma functions of a million degrees cost digits.
            let relative = if degrees > 1e5 { 1e-8 } else { 1e-10 };
            assert!((got - expected).abs() <= relative * expected.max(1e-6), "{case}: {got}");
        }
    }

    #[test]
    fn the_gamma_function_is_the_factorial_of_one_less() {
        let mut factorial = 1.0_f64;
        for n in 1..30_u32 {
            assert!(
                (ln_gamma(f64::from(n)) - factorial.ln()).abs() < 1e-12 * factorial.ln().max(1.0),
                "{n}"
            );
            factorial *= f64::from(n);
        }
        // Gamma(1/2) is the square root of pi.
        assert!((ln_gamma(0.5) - 0.5 * std::f64::consts::PI.ln()).abs() < 1e-13);
    }
}
