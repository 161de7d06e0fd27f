//! Values printed by Perera et al. 2026 about the set-up of SAs, compared one by one with the
//! repository's file.

use std::path::Path;

use bartizan_workbench::runner::experiment::Collection;

#[test]
fn every_value_of_tables_2_to_4_is_recorded_as_printed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let published = Collection::find(Some(&folder))
        .load("sa-setup")
        .unwrap()
        .published
        .unwrap();
    assert_eq!(published.paper.number(), Some(1));
    // Initiation, authorisation, CHILD_SA; average, then median; microseconds.
    let printed = [
        ("x25519", "table 2", [1363.0, 1284.0, 2093.0, 1998.0, 1658.0, 1508.0]),
        ("mlkem768", "table 3", [4306.0, 4281.0, 2141.0, 2020.0, 1633.0, 1548.0]),
        ("mlkem1024", "table 4", [6026.0, 6146.0, 2198.0, 2014.0, 1768.0, 1649.0]),
    ];
    for (key_exchange, table, values) in printed {
        let names = [
            "init-average",
            "init-median",
            "auth-average",
            "auth-median",
            "child-average",
            "child-median",
        ];
        for (name, value) in names.into_iter().zip(values) {
            let id = format!("{key_exchange}-{name}");
            let recorded = published.values.iter().find(|one| one.id == id).unwrap();
            assert_eq!((recorded.value, recorded.unit.as_str()), (value, "us"), "{id}");
            assert_eq!(recorded.place, table, "{id}");
        }
    }
    assert_eq!(published.values.len(), 22);
}

/// The differences of the text are those of the tables' averages, rounded.
#[test]
fn differences_in_the_text_are_those_of_the_tables() {
    let rounded = |of: f64, over: f64| ((of - over) / 100.0).round() / 10.0;
    assert_eq!(rounded(4306.0, 1363.0), 2.9);
    assert_eq!(rounded(6026.0, 1363.0), 4.7);
    // And the 3 and 5 ms of the abstract those of all exchanges of a table.
    let sums = [
        [1363.0, 2093.0, 1658.0],
        [4306.0, 2141.0, 1633.0],
        [6026.0, 2198.0, 1768.0],
    ];
    let [x25519, mlkem768, mlkem1024] = sums.map(|averages: [f64; 3]| averages.iter().sum::<f64>());
    assert_eq!((rounded(mlkem768, x25519), rounded(mlkem1024, x25519)), (3.0, 4.9));
}

/// Figure 14 is a picture of three printed lines: two times since 1970, and what is between them.
#[test]
fn the_number_of_figure_14_is_recorded_as_printed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let published = Collection::find(Some(&folder))
        .load("xapp-start")
        .unwrap()
        .published
        .unwrap();
    let printed: Vec<_> = published
        .values
        .iter()
        .map(|one| (one.value, one.place.as_str()))
        .collect();
    assert_eq!(printed, [(2.033_528, "figure 14")]);
    let (start, first_packet) = (1_756_279_277.158_345_f64, 1_756_279_279.191_873_f64);
    assert!((first_packet - start - 2.033_528).abs() < 1e-5);
}
