use proptest::prelude::*;

use super::*;
use crate::Published;

const GOOD: &str = "\
id: small
title: A small one
question: What does a pair of proxies cost?
invalid: [ another program takes the processor ]
parts:
  - id: load
    workload: proxies-throughput
    factors:
      - { name: proxy, levels: [direct, splice, haproxy] }
      - { name: mode, levels: [clear, post-quantum] }
      - { name: streams, levels: [1, 16] }
    except: [ { proxy: direct, mode: post-quantum }, { proxy: splice, mode: clear }, { proxy: haproxy, mode: clear } ]
    parameters: { requests: 100 }
    repetitions: 5
    quick: { repetitions: 2, parameters: { requests: 10 } }
    bound: 10
    metrics: [throughput, cpu]
    floor: { proxy: direct }
    comparisons:
      - { id: ours, metric: throughput, of: { proxy: splice }, over: { proxy: haproxy }, as: ratio }
    plots:
      - { kind: lines, metric: throughput, x: streams, by: proxy }
      - { kind: bars, metric: cpu, by: proxy, only: { streams: 16 } }
  - id: empty
    workload: clock
    repetitions: 1
    warm-up: 0
    quick: { repetitions: 1 }
    bound: 0.5
    metrics: [clock]
answer: \"It passes {median load/throughput proxy=splice streams=16}, {comparison load/ours}.\"
";

fn parse(text: &str) -> Result<Experiment, ExperimentError> {
    Experiment::parse(text, Path::new("experiment.yaml"))
}

/// The message and the hint of the good file with one text in the place of another.
fn complaint(there: &str, instead: &str) -> String {
    assert!(GOOD.contains(there), "{there}");
    let error = parse(&GOOD.replacen(there, instead, 1)).expect_err(instead);
    format!("{error}\nhint: {}\n", error.hint().unwrap_or("-"))
}

#[test]
fn an_experiment_is_read_with_its_defaults() {
    let experiment = parse(GOOD).unwrap();
    let [load, empty] = &experiment.parts[..] else {
        panic!("{:?}", experiment.parts);
    };
    let combinations: Vec<String> = load.combinations.iter().map(ToString::to_string).collect();
    let expected = [
        "mode=clear proxy=direct streams=1",
        "mode=clear proxy=direct streams=16",
        "mode=post-quantum proxy=splice streams=1",
        "mode=post-quantum proxy=splice streams=16",
        "mode=post-quantum proxy=haproxy streams=1",
        "mode=post-quantum proxy=haproxy streams=16",
    ];
    assert_eq!(combinations, expected);
    assert_eq!(load.parameters.count("requests").unwrap(), 100);
    assert_eq!(load.quick.parameters.count("requests").unwrap(), 10);
    assert_eq!((load.warm_up, empty.warm_up), (1, 0));
    assert_eq!(
        (load.bound, empty.bound),
        (Duration::from_secs(10), Duration::from_millis(500))
    );
    // Those of the workload, where none are given.
    assert_eq!(empty.parameters.count("sleeps").unwrap(), 5);
    assert_eq!(empty.combinations, [Levels::default()]);
    assert_eq!(experiment.digest.len(), 64);
    assert_ne!(
        experiment.digest,
        parse(&GOOD.replace("A small", "Another")).unwrap().digest
    );
    let pieces = &experiment.answer.unwrap().pieces;
    assert!(matches!(&pieces[1], Piece::Median { levels, .. } if levels.level("streams") == Some("16")));
    assert!(matches!(&pieces[3], Piece::Comparison { id, .. } if id == "ours"));
}

#[test]
fn a_limit_is_a_metric_of_any_part_at_the_level_of_each_bar_in_the_unit_of_the_bars() {
    let limited = |limit: &str| {
        let plot = "{ kind: bars, metric: cpu, by: proxy, only: { streams: 16 }";
        assert!(GOOD.contains(plot));
        parse(&GOOD.replacen(plot, &format!("{plot}, limits: [{limit}]"), 1))
    };
    let experiment = limited("{ part: load, metric: cpu, only: { streams: 1 } }").unwrap();
    let PlotKind::Bars { limits, .. } = &experiment.parts[0].plots[1].kind else {
        panic!("{:?}", experiment.parts[0].plots);
    };
    assert_eq!((limits[0].part.as_str(), limits[0].metric.name), ("load", "cpu"));
    assert_eq!(limits[0].only.level("streams"), Some("1"));
    for (limit, cause) in [
        ("{ part: laod, metric: cpu }", "laod"),
        ("{ part: load, metric: throughput }", "cpu in"),
        ("{ part: empty, metric: clock }", "clock is in"),
        ("{ part: load, metric: cpu, only: { streams: 2 } }", "level"),
    ] {
        let error = limited(limit).expect_err(limit).to_string();
        assert!(error.contains(cause), "{error}");
    }
    let lines = "{ kind: lines, metric: throughput, x: streams, by: proxy";
    let error = parse(&GOOD.replacen(lines, &format!("{lines}, limits: [{{ part: load, metric: cpu }}]"), 1));
    assert!(error.unwrap_err().to_string().contains("lines has no field `limits`"));
}

#[test]
fn a_control_is_one_combination_named_by_what_it_alone_has() {
    let with = |controls: &str| {
        parse(&GOOD.replacen("    floor: {", &format!("    controls: [{controls}]\n    floor: {{"), 1))
    };
    let experiment = with("{ proxy: splice, streams: 16 }, { proxy: direct, streams: 1 }").unwrap();
    let controls: Vec<String> = experiment.parts[0].controls.iter().map(ToString::to_string).collect();
    assert_eq!(
        controls,
        [
            "mode=post-quantum proxy=splice streams=16",
            "mode=clear proxy=direct streams=1"
        ]
    );
    for (control, cause) in [
        ("{ proxy: splice }", "several combinations have proxy=splice"),
        ("{ proxy: splice, mode: clear, streams: 1 }", "no combination has"),
        ("{ proxy: nobody }", "nobody"),
        (
            "{ proxy: splice, streams: 1 }, { mode: post-quantum, proxy: splice, streams: 1 }",
            "twice",
        ),
    ] {
        let error = with(control).expect_err(control).to_string();
        assert!(error.contains(cause), "{error}");
    }
}

#[test]
fn stacked_parts_have_a_whole_in_their_unit_that_is_none_of_them() {
    let with = |plot: &str| {
        let there = "{ kind: bars, metric: cpu, by: proxy, only: { streams: 16 } }";
        assert!(GOOD.contains(there));
        parse(&GOOD.replacen(there, plot, 1))
    };
    for (plot, cause) in [
        (
            "{ kind: stacked, metrics: [cpu], by: proxy, total: cpu }",
            "cpu is no whole",
        ),
        (
            "{ kind: stacked, metrics: [cpu], by: proxy, total: throughput }",
            "throughput is no whole",
        ),
        (
            "{ kind: bars, metric: cpu, by: proxy, total: cpu }",
            "bars has no field `total`",
        ),
    ] {
        let error = with(plot).expect_err(plot).to_string();
        assert!(error.contains(cause), "{error}");
    }
}

#[test]
fn a_comparison_pairs_combinations_that_agree_in_all_it_does_not_name() {
    let experiment = parse(GOOD).unwrap();
    let part = &experiment.parts[0];
    let comparison = &part.comparisons[0];
    let pairs: Vec<String> = part
        .pairs(&comparison.of, &comparison.over)
        .iter()
        .map(|(one, other)| format!("{one} / {other}"))
        .collect();
    let expected = [
        "mode=post-quantum proxy=splice streams=1 / mode=post-quantum proxy=haproxy streams=1",
        "mode=post-quantum proxy=splice streams=16 / mode=post-quantum proxy=haproxy streams=16",
    ];
    assert_eq!(pairs, expected);
}

#[test]
fn what_cannot_be_is_refused_with_its_place_and_what_is_known() {
    let wrong = [
        ("title:", "tilte:"),
        ("id: small", "id: a small one"),
        ("id: empty", "id: load"),
        ("id: empty", "id: runner"),
        ("{ name: mode,", "{ name: mod,"),
        ("{ name: mode,", "{ name: proxy,"),
        ("[clear, post-quantum]", "[clear, postquantum]"),
        ("[clear, post-quantum]", "[]"),
        ("[clear, post-quantum]", "[clear, clear]"),
        ("[1, 16]", "[1, many]"),
        (
            "{ proxy: direct, mode: post-quantum }",
            "{ proxy: direct, moda: post-quantum }",
        ),
        ("{ proxy: direct, mode: post-quantum }", "{ proxy: envoy }"),
        (
            "{ proxy: splice, mode: clear }",
            "{ proxy: direct, mode: post-quantum }",
        ),
        ("except: [ {", "except: [ {}, {"),
        ("{ requests: 100 }", "{ request: 100 }"),
        ("{ requests: 100 }", "{ requests: many }"),
        ("{ requests: 10 }", "{ requests: -1 }"),
        ("repetitions: 5", "repetitions: 0"),
        ("repetitions: 5", "repetitions: five"),
        ("bound: 10", "bound: 0"),
        ("[throughput, cpu]", "[throughput, memory]"),
        ("[throughput, cpu]", "[cpu, cpu]"),
        ("[throughput, cpu]", "[]"),
        (
            "floor: { proxy: direct }",
            "floor: { proxy: direct, mode: post-quantum }",
        ),
        ("as: ratio", "as: rati"),
        ("metric: throughput, of", "metric: latency, of"),
        ("over: { proxy: haproxy }", "over: { proxy: direct }"),
        ("over: { proxy: haproxy }", "over: { proxy: splice }"),
        ("kind: lines", "kind: line"),
        ("x: streams, by", "by"),
        ("x: streams", "x: proxy"),
        ("x: streams", "x: stream"),
        ("kind: bars", "kind: bars, rows: proxy"),
        ("metric: cpu, by", "metric: memory, by"),
        ("{ streams: 16 }", "{ streams: 64 }"),
        ("{median load/", "{mean load/"),
        ("{median load/", "{median laod/"),
        ("load/throughput", "load/latency"),
        ("streams=16", "streams=64"),
        ("proxy=splice", "proxy=splice mode=clear"),
        ("{comparison load/ours}", "{comparison load/theirs}"),
        ("{comparison load/ours}", "{comparison load/ours"),
        ("{comparison load/ours}", "{comparison}"),
    ];
    let complaints = wrong.map(|(there, instead)| format!("# {there} -> {instead}\n{}", complaint(there, instead)));
    // Its hint grows with each workload.
    let workload = complaint("workload: clock", "workload: clok");
    assert!(
        workload.starts_with("experiment.yaml:25:15: workload `clok` is not known\n"),
        "{workload}"
    );
    assert!(
        workload.contains("hint: did you mean `clock`? there are clock, "),
        "{workload}"
    );
    insta::assert_snapshot!(complaints.join("\n"));
}

/// Head of a file of published values.
const CONDITIONS: &str = "\
paper: 3
conditions:
  topology: { paper: two machines, here: two namespaces }
  sizes: { paper: not printed, here: 100 octets }
  interval: { paper: 250 ms, here: none }
  duration: { paper: 30 s, here: 1 s }
  repetitions: { paper: '100', here: '5' }
values:
";

fn published(values: &str) -> Result<Published, ExperimentError> {
    let text = format!("{CONDITIONS}{values}");
    Published::parse(&text, Path::new("published.yaml"), &parse(GOOD).unwrap())
}

#[test]
fn published_values_name_what_the_experiment_measures() {
    let good = "  \
  - { id: a, part: load, metric: throughput, levels: { proxy: splice }, statistic: median, value: 5.5, unit: requests/s, place: table 2 }
  - { id: b, statistic: mean, value: 7, to: 8, unit: ms, place: section 4, needs: a table instead of a picture }
conflicts:
  - { values: [a, b], note: both cannot be }
";
    let read = published(good).unwrap();
    assert_eq!(
        (read.paper.number(), read.values.len(), read.conflicts.len()),
        (Some(3), 2, 1)
    );
    let wrong = [
        ("part: load", "part: laod"),
        ("metric: throughput", "metric: latency"),
        ("metric: throughput", "metric: throughput + cpu"),
        ("{ proxy: splice }", "{ proxy: envoy }"),
        ("statistic: median", "statistic: medium"),
        ("id: b", "id: a"),
        (", needs: a table instead of a picture", ""),
        ("to: 8", "to: 6"),
        ("values: [a, b]", "values: [a, c]"),
        ("place: table 2", "plaice: table 2"),
    ];
    let complaints = wrong.map(|(there, instead)| {
        let error = published(&good.replacen(there, instead, 1)).expect_err(instead);
        format!(
            "# {there} -> {instead}\n{error}\nhint: {}\n",
            error.hint().unwrap_or("-")
        )
    });
    insta::assert_snapshot!(complaints.join("\n"));
}

#[test]
fn published_values_without_the_conditions_of_both_sides_are_refused() {
    let value = "  - { id: b, statistic: mean, value: 7, unit: ms, place: section 4, needs: a table }\n";
    for lacking in CONDITIONS.lines().filter(|line| line.starts_with("  ")) {
        let name = lacking.trim().split(':').next().unwrap();
        let text = format!("{}{value}", CONDITIONS.replace(&format!("{lacking}\n"), ""));
        let refused = |text: &str| {
            let experiment = parse(GOOD).unwrap();
            Published::parse(text, Path::new("published.yaml"), &experiment)
                .unwrap_err()
                .to_string()
        };
        assert!(refused(&text).contains(&format!("`{name}`")), "{}", refused(&text));
        let half = lacking.split(", here").next().unwrap().to_owned() + " }";
        let text = format!("{}{value}", CONDITIONS.replace(lacking, &half));
        assert!(refused(&text).contains("`here`"), "{}", refused(&text));
    }
}

#[test]
fn a_published_difference_names_one_combination_on_each_side() {
    let with = |fields: &str| {
        published(&format!(
            "  - {{ id: a, part: load, metric: throughput, value: 2, unit: '', place: here, {fields} }}\n"
        ))
    };
    let good =
        with("statistic: ratio, levels: { proxy: splice, streams: '16' }, over: { proxy: haproxy }, bound: at-most")
            .unwrap();
    assert_eq!(good.values[0].range(), Some((None, Some(2.0))));
    for (fields, cause) in [
        ("statistic: ratio, levels: { streams: '16' }", "of statistic Ratio"),
        (
            "statistic: ratio, levels: { proxy: splice }, over: { proxy: haproxy }",
            "stands for 2 combinations",
        ),
        (
            "statistic: ratio, levels: { proxy: splice, streams: '16' }, over: { proxy: envoy }",
            "no combination of part load",
        ),
        ("statistic: median, over: { proxy: haproxy }", "of statistic Median"),
        ("statistic: median, bound: around", "`around`"),
    ] {
        let error = with(fields).expect_err(fields).to_string();
        assert!(error.contains(cause), "{error}");
    }
}

#[test]
fn committed_experiments_are_what_they_should_be_and_are_built_in() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let collection = Collection::find(Some(&folder));
    let ids = collection.ids().unwrap();
    assert!(ids.contains(&"peers".to_owned()), "{ids:?}");
    for id in &ids {
        let mut found = collection
            .load(id)
            .unwrap_or_else(|error| panic!("{error}\n{:?}", error.hint()));
        // Records are not built in.
        found.experiment.earlier.clear();
        let built_in = Collection::BuiltIn.load(id).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(
            (found.experiment, found.published),
            (built_in.experiment, built_in.published)
        );
    }
    assert_eq!(Collection::BuiltIn.ids().unwrap(), ids);
}

proptest! {
    #[test]
    fn no_text_makes_the_parser_panic(text: String) {
        let _ = parse(&text);
    }

    #[test]
    fn no_change_of_a_good_file_makes_the_parser_panic(at in 0..GOOD.len(), length in 0usize..12, instead in "[ -~\n]{0,8}") {
        let end = (at + length).min(GOOD.len());
        let _ = parse(&format!("{}{instead}{}", &GOOD[..at], &GOOD[end..]));
    }
}
