use super::*;
use crate::Source;
use crate::queue::Service;
use crate::unit::{BitsPerSecond, Metres, Share};
use proptest::prelude::*;

fn link(distance: f64) -> Link {
    Link {
        rate: BitsPerSecond::new(1e10).unwrap(),
        distance: Metres::new(distance).unwrap(),
        load: Share::new(0.0).unwrap(),
        service: Service::Exponential,
    }
}

fn constant(delay: f64) -> Option<DelayCurve> {
    let delay = Microseconds::new(delay).unwrap();
    Some(DelayCurve::constant(
        delay,
        Bytes::from(9000_u32),
        Source::input("a test"),
    ))
}

fn at(distance: f64, frame: u32) -> Feasibility {
    let processing = Processing {
        encryption: constant(200.0),
        integrity: constant(150.0),
        unprotected: constant(0.0),
    };
    let macsec = "macsec:gcm-aes-128".parse().unwrap();
    feasibility(&link(distance), Bytes::from(frame), &macsec, &processing, Limit::Best).unwrap()
}

fn feasible(feasibility: &Feasibility, mode: Mode) -> usize {
    let pairs = feasibility.pairs.iter().flatten();
    pairs
        .filter(|pair| pair.strongest.is_some_and(|strongest| strongest <= mode))
        .count()
}

#[test]
fn stronger_protection_fits_fewer_pairs() {
    let near = at(100.0, 7678);
    let counts = Mode::ALL.map(|mode| feasible(&near, mode));
    assert!(counts[0] < counts[1] && counts[1] < counts[2], "{counts:?}");
    // 200 of processing, 0.5 of fibre and 6.168 of transmission: K with O (219) is the last in the first row.
    assert_eq!(near.pairs[0][10].strongest, Some(Mode::Encryption));
    assert_eq!(near.pairs[0][11].strongest, Some(Mode::Integrity));
}

#[test]
fn categories_leave_no_gap() {
    for two in O_DU.windows(2).skip(1) {
        assert_eq!(two[0].low, two[1].high + 1);
    }
    for two in O_RU.windows(2) {
        assert_eq!(two[1].low, two[0].high + 1);
    }
    assert_eq!(Limit::Guaranteed.of(O_DU[0], O_RU[0]), 350);
    assert_eq!(Limit::Guaranteed.of(O_DU[13], O_RU[0]), 0);
}

#[test]
fn what_is_left_of_a_limit_is_fibre() {
    let time = |value: f64| Microseconds::new(value).unwrap();
    assert_eq!(reach_metres(time(150.0), time(50.0)), Some(20_000));
    assert_eq!(reach_metres(time(50.0), time(50.0)), Some(0));
    assert_eq!(reach_metres(time(49.0), time(50.0)), None);
}

#[test]
fn a_mode_without_a_curve_is_not_claimed_and_a_frame_beyond_it_is_refused() {
    let processing = Processing {
        encryption: None,
        integrity: None,
        unprotected: constant(0.0),
    };
    let macsec = "macsec:gcm-aes-128".parse().unwrap();
    let of = |frame: u32| feasibility(&link(0.0), Bytes::from(frame), &macsec, &processing, Limit::Best);
    assert!(
        of(1500)
            .unwrap()
            .pairs
            .iter()
            .flatten()
            .all(|pair| pair.strongest.is_none_or(|mode| mode == Mode::Unprotected))
    );
    assert!(matches!(
        of(9001),
        Err(FronthaulError::Curve(CurveError::Beyond { .. }))
    ));
}

proptest! {
    #[test]
    fn no_pair_becomes_feasible_further_away_or_with_larger_frames(
        distance in 0.0..50_000.0_f64, further in 0.0..50_000.0_f64, frame in 60_u32..8000, larger in 0_u32..1000,
    ) {
        for mode in Mode::ALL {
            let here = feasible(&at(distance, frame), mode);
            prop_assert!(feasible(&at(distance + further, frame), mode) <= here);
            prop_assert!(feasible(&at(distance, frame + larger), mode) <= here);
        }
    }
}
