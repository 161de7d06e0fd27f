use super::*;

/// Returns true if a computed value has the printed digits.
fn same(value: &Value) -> bool {
    let computed = value.computed.unwrap();
    let digits = format!("{}", value.printed);
    let places = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    format!("{computed:.places$}") == format!("{:.places$}", value.printed)
}

#[test]
fn every_value_agrees_to_its_digits_or_says_why_it_cannot() {
    let all = [table_1(), table_2(), section_2_3(), figure_8()]
        .map(Result::unwrap)
        .concat();
    assert_eq!(all.len(), 22);
    for value in &all {
        match value.verdict {
            Verdict::Agrees => assert!(same(value), "{value:?}"),
            Verdict::CannotBeRight(why) => {
                assert!(why.len() > 20, "{value:?}");
                // A value that contradicts by its form alone (32 or more) has the same number.
                assert!(!same(value) || value.what.contains("or more"), "{value:?}");
            }
            Verdict::WithinBound => assert!(value.computed.unwrap() >= value.printed, "{value:?}"),
            Verdict::NotDetermined(_) => {}
        }
    }
}

#[test]
fn the_sizes_that_cannot_be_right_are_those_of_table_2_without_padding() {
    let table = table_2().unwrap();
    let sizes: Vec<(f64, f64)> = table
        .iter()
        .filter(|value| value.unit == "bytes")
        .map(|value| (value.printed, value.computed.unwrap()))
        .collect();
    assert_eq!(sizes, [(138.0, 138.0), (255.0, 266.0), (1485.0, 1498.0)]);
}

#[test]
fn all_168_cells_of_table_4_follow_from_the_categories() {
    let cells = table_4();
    assert_eq!(cells.len(), 168);
    assert!(cells.iter().all(|cell| cell.printed == cell.computed));
}

#[test]
fn the_condition_of_section_2_3_has_the_digits_of_another_unit() {
    // sqrt(480 bits in Gb / 1e-5) below 10 Gb/s.
    let other = 10.0 - f64::sqrt(480.0 / 1e9 / 1e-5);
    assert_eq!(format!("{other:.2}"), "9.78");
}

#[test]
fn one_frame_of_9000_is_best_and_5000_is_no_better_than_8000_on_a_straight_line() {
    let at = |mtu: u16, filling| figure_15(Bytes::from(mtu), filling).unwrap().unwrap();
    let sum = |mtu| at(mtu, Filling::Full).delay_us.value();
    assert!(FIGURE_15_MTUS.windows(2).all(|two| sum(two[0]) >= sum(two[1]) - 1e-9));
    assert_eq!(
        (
            at(9000, Filling::Full).fragments,
            at(8000, Filling::Full).fragments,
            at(5000, Filling::Full).fragments
        ),
        (1, 2, 2)
    );
    assert!((sum(8000) - sum(5000)).abs() < 1e-9);
    // The longest single frame is shorter at 5000, and shortest where the halves are equal.
    assert!(at(5000, Filling::Full).longest_us < at(8000, Filling::Full).longest_us);
    assert!(at(8000, Filling::Even).longest_us < at(5000, Filling::Full).longest_us);
}
