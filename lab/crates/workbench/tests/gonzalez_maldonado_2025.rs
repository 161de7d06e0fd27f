//! Values printed by González Maldonado 2025, compared one by one with the repository's file.

use std::collections::BTreeMap;
use std::path::Path;

use bartizan_workbench::runner::experiment::Collection;

fn collection() -> Collection {
    Collection::find(Some(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments")))
}

#[test]
fn every_value_of_gonzalez_maldonado_is_recorded_as_printed() {
    let published = ["paper4-tls", "paper4-registrations"].map(|id| collection().load(id).unwrap().published.unwrap());
    assert!(published.iter().all(|one| one.paper.number() == Some(4)));
    let all = || published.iter().flat_map(|one| &one.values);
    let recorded: BTreeMap<&str, (f64, &str)> = all()
        .map(|value| (value.id.as_str(), (value.value, value.unit.as_str())))
        .collect();
    let printed = [
        ("x25519-bytes-per-packet", (693.71, "B")),
        ("kyber512-bytes-per-packet", (682.99, "B")),
        ("kyber1024-bytes-per-packet", (775.59, "B")),
        ("x25519-gap", (0.06696, "s")),
        ("kyber512-gap", (0.059702, "s")),
        ("kyber1024-gap", (0.051873, "s")),
        ("latency-bound", (1.0, "ms")),
        ("x25519-throughput", (10496.87, "B/s")),
        ("kyber1024-throughput", (14958.19, "B/s")),
        ("x25519-loss", (0.0, "%")),
        ("kyber512-loss", (0.0, "%")),
        ("kyber1024-loss", (0.0, "%")),
    ];
    assert_eq!(recorded, printed.into_iter().collect());
    let gap = all().find(|value| value.id == "x25519-gap").unwrap();
    assert!(gap.note.as_ref().unwrap().contains("0.066.96"), "{gap:?}");
    assert_eq!(published[1].conflicts.len(), 5);
}

/// The numbers that the last conflict reasons with.
#[test]
fn printed_throughput_is_printed_size_over_printed_gap() {
    for (size, gap, throughput, within) in [
        (693.71, 0.06696, 10_496.87, 0.014),
        (775.59, 0.051873, 14_958.19, 0.0005),
    ] {
        let ratio: f64 = throughput / (size / gap);
        assert!((ratio - 1.0).abs() < within, "{ratio}");
    }
}

#[test]
fn a_value_is_compared_only_with_a_metric_of_its_unit() {
    for id in ["paper4-tls", "paper4-registrations", "scale"] {
        let found = collection().load(id).unwrap();
        for value in found.published.iter().flat_map(|published| &published.values) {
            let (Some(part), Some(metric)) = (&value.part, &value.metric) else {
                continue;
            };
            let part = found.experiment.parts.iter().find(|one| one.id == *part).unwrap();
            let metric = part.metrics.iter().find(|one| one.name == *metric).unwrap();
            assert_eq!(metric.unit, value.unit, "{}", value.id);
        }
    }
}
