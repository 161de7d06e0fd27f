//! A dashboard's queries compared with what is exported.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

/// That every query of a dashboard in `deploy/grafana`, more than `least` of them, names metrics
/// and labels that are exported.
pub(crate) fn assert_exported(file: &str, least: usize, metrics: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../deploy/grafana")
        .join(file);
    let dashboard: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let queries: Vec<_> = panels
        .iter()
        .flat_map(|panel| panel["targets"].as_array().into_iter().flatten())
        .map(|target| target["expr"].as_str().unwrap().to_owned())
        .chain([dashboard["templating"]["list"][1]["query"]["query"]
            .as_str()
            .unwrap()
            .to_owned()])
        .collect();
    assert!(queries.len() > least, "{}", queries.len());
    let ids: BTreeSet<_> = panels.iter().map(|panel| panel["id"].as_u64().unwrap()).collect();
    assert_eq!(ids.len(), panels.len(), "two panels share a number");

    assert_queries(&queries, metrics);
    for query in &queries {
        assert_first_is_counted(query);
    }
}

/// The same of the alerts of this group, at least so many of them.
pub(crate) fn assert_alerts(group: &str, least: usize, metrics: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/observe/alerts.yaml");
    let alerts: Value = serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let groups = alerts["groups"].as_array().unwrap();
    let rules = &groups.iter().find(|one| one["name"] == group).unwrap()["rules"];
    let queries = rules
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| rule["expr"].as_str().unwrap().to_owned());
    // `up` is Prometheus' own.
    let queries: Vec<_> = queries.filter(|query| !query.starts_with("up{")).collect();
    assert!(queries.len() >= least, "{}", queries.len());
    assert_queries(&queries, metrics);
    for query in &queries {
        assert_first_is_counted(query);
    }
}

/// That a query counts what came first of its kind: a series that begins with 1 has no increase,
/// and a panel that counts handshakes by `increase` alone shows none of a connection that stays
/// open.
fn assert_first_is_counted(query: &str) {
    /// Counters whose series are there from the start, with 0.
    const FROM_THE_START: [&str; 4] = [
        "bartizan_inspect_events_lost_total",
        "bartizan_sidecar_ledger_lost_total",
        "bartizan_inspect_dropped_packets_total",
        "bartizan_inspect_untracked_packets_total",
    ];
    for (before, rest) in query.match_indices("increase(").map(|(at, _)| query.split_at(at)) {
        let counted = &rest["increase(".len()..];
        let (series, window) = counted.split_once(")").unwrap().0.rsplit_once('[').unwrap();
        if FROM_THE_START.iter().any(|name| series.starts_with(name)) {
            continue;
        }
        let begun = format!("{series} unless {series} offset {} or ", window.trim_end_matches(']'));
        assert!(before.ends_with(&begun), "{query}: {series}");
    }
}

/// That these queries name metrics and labels that are exported.
pub(crate) fn assert_queries(queries: &[String], metrics: &str) {
    /// Labels that Prometheus adds, or that a histogram has.
    const ADDED: [&str; 2] = ["instance", "le"];
    const WORDS: [&str; 4] = ["by", "or", "unless", "offset"];

    let exported = exported(metrics);
    for query in queries {
        let words = identifiers(query);
        let metrics: Vec<_> = words
            .iter()
            .filter(|(word, _)| word.starts_with("bartizan_") || word.starts_with("process_"))
            .map(|(word, _)| word)
            .collect();
        assert!(!metrics.is_empty(), "{query}");
        for metric in &metrics {
            assert!(exported.contains_key(*metric), "{query}: nobody exports {metric}");
        }
        for (word, next) in &words {
            // A word before a bracket is a function.
            if metrics.contains(&word) || WORDS.contains(&word.as_str()) || next.starts_with('(') {
                continue;
            }
            // `sum by (..)` also puts the operator before the word `by`.
            if next.starts_with("by ") {
                continue;
            }
            let known = ADDED.contains(&word.as_str()) || metrics.iter().any(|metric| exported[*metric].contains(word));
            assert!(known, "{query}: no metric in it has the label {word}");
        }
    }
}

/// Names with their labels, from the text that `/metrics` answers with.
fn exported(metrics: &str) -> BTreeMap<String, BTreeSet<String>> {
    let mut exported = BTreeMap::<String, BTreeSet<String>>::new();
    for line in metrics.lines().filter(|line| !line.starts_with('#')) {
        let end = line.find(['{', ' ']).unwrap();
        let labels = exported.entry(line[..end].to_owned()).or_default();
        let mut rest = &line[end..];
        while let Some((before, after)) = rest.split_once("=\"") {
            labels.insert(before.rsplit(['{', ',']).next().unwrap().to_owned());
            rest = after.split_once('"').unwrap().1;
        }
    }
    exported
}

/// Words of a query outside of quotes and durations, each with what follows it.
pub(crate) fn identifiers(query: &str) -> Vec<(String, String)> {
    let mut words = Vec::new();
    let mut rest = query;
    while let Some(start) = rest.find(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '"' | '[')) {
        let tail = &rest[start..];
        let length = match tail.as_bytes()[0] {
            b'"' => 2 + tail[1..].find('"').unwrap(),
            b'[' => 1 + tail.find(']').unwrap(),
            _ => {
                let length = tail
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(tail.len());
                // A word behind a digit is the unit of a duration.
                if !rest[..start].ends_with(|c: char| c.is_ascii_digit()) {
                    words.push((tail[..length].to_owned(), tail[length..].trim_start().to_owned()));
                }
                length
            }
        };
        rest = &tail[length..];
    }
    words
}
