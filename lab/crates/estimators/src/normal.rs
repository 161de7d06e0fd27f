//! The standard normal distribution.

/// Coefficients of a polynomial, the highest power first.
fn polynomial<const N: usize>(coefficients: [f64; N], at: f64) -> f64 {
    coefficients
        .into_iter()
        .fold(0.0, |sum, coefficient| sum * at + coefficient)
}

/// The value below which this share (above 0, below 1) of a standard normal distribution lies: algorithm AS 241, PPND16
/// (Wichura, Applied Statistics 37, 1988), 16 digits.
pub(crate) fn normal_quantile(share: f64) -> f64 {
    let centred = share - 0.5;
    if centred.abs() <= 0.425 {
        let r = 0.180_625 - centred * centred;
        return centred * polynomial(CENTRE_ABOVE, r) / polynomial(CENTRE_BELOW, r);
    }
    let r = (-share.min(1.0 - share).ln()).sqrt();
    let magnitude = if r <= 5.0 {
        polynomial(TAIL_ABOVE, r - 1.6) / polynomial(TAIL_BELOW, r - 1.6)
    } else {
        polynomial(FAR_ABOVE, r - 5.0) / polynomial(FAR_BELOW, r - 5.0)
    };
    magnitude.copysign(centred)
}

/// The share of a standard normal distribution above this value (0 or more): the complementary error function by its
/// Taylor series near 0 and its continued fraction beyond (DLMF 7.6.2 and 7.9.1).
pub(crate) fn normal_upper_tail(value: f64) -> f64 {
    if value < 2.5 {
        // 1/2 - phi(z) (z + z^3/3 + z^5/(3 5) + ...): below 60 terms to the last digit.
        let (mut term, mut sum) = (value, value);
        for odd in (3..200).step_by(2) {
            term *= value * value / f64::from(odd);
            sum += term;
            if term < sum * f64::EPSILON {
                break;
            }
        }
        return 0.5 - normal_density(value) * sum;
    }
    // phi(z) / (z + 1/(z + 2/(z + 3/(z + ...)))), from the inside out.
    let inside = (1..=120_u32)
        .rev()
        .fold(value, |below, step| value + f64::from(step) / below);
    normal_density(value) / inside
}

fn normal_density(value: f64) -> f64 {
    (-0.5 * value * value).exp() / std::f64::consts::TAU.sqrt()
}

const CENTRE_ABOVE: [f64; 8] = [
    2509.0809287301227,
    33430.57558358813,
    67265.7709270087,
    45921.95393154987,
    13731.69376550946,
    1971.5909503065513,
    133.14166789178438,
    3.3871328727963665,
];
const CENTRE_BELOW: [f64; 8] = [
    5226.495278852854,
    28729.085735721943,
    39307.89580009271,
    21213.794301586597,
    5394.196021424751,
    687.1870074920579,
    42.31333070160091,
    1.0,
];
const TAIL_ABOVE: [f64; 8] = [
    0.0007745450142783414,
    0.022723844989269184,
    0.2417807251774506,
    1.2704582524523684,
    3.6478483247632045,
    5.769497221460691,
    4.630337846156546,
    1.4234371107496835,
];
const TAIL_BELOW: [f64; 8] = [
    1.0507500716444169e-09,
    0.0005475938084995345,
    0.015198666563616457,
    0.14810397642748008,
    0.6897673349851,
    1.6763848301838038,
    2.053191626637759,
    1.0,
];
const FAR_ABOVE: [f64; 8] = [
    2.0103343992922881e-07,
    2.7115555687434876e-05,
    0.0012426609473880784,
    0.026532189526576124,
    0.29656057182850487,
    1.7848265399172913,
    5.463784911164114,
    6.657904643501103,
];
const FAR_BELOW: [f64; 8] = [
    2.0442631033899397e-15,
    1.421511758316446e-07,
    1.8463183175100548e-05,
    0.0007868691311456133,
    0.014875361290850615,
    0.1369298809227358,
    0.599832206555888,
    1.0,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_scipy() {
        let reference: serde_json::Value =
            serde_json::from_str(include_str!("../tests/reference/reference.json")).unwrap();
        let cases = reference["normal_quantiles"].as_array().unwrap();
        assert_eq!(cases.len(), 11);
        for case in cases {
            let [share, expected] = [0, 1].map(|index| case[index].as_f64().unwrap());
            let got = normal_quantile(share);
            assert!((got - expected).abs() <= 1e-13 * expected.abs(), "{case}: {got}");
        }
    }

    #[test]
    fn upper_tails_are_those_of_scipy() {
        let reference: serde_json::Value =
            serde_json::from_str(include_str!("../tests/reference/reference.json")).unwrap();
        let cases = reference["normal_upper_tails"].as_array().unwrap();
        assert_eq!(cases.len(), 11);
        for case in cases {
            let [value, expected] = [0, 1].map(|index| case[index].as_f64().unwrap());
            let got = normal_upper_tail(value);
            assert!((got - expected).abs() <= 1e-12 * expected, "{case}: {got}");
        }
    }
}
