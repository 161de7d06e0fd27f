//! `bartizan inspect --follow --otlp`: events and metrics at a collector that is there, gone, slow,
//! refuses, or is killed.

mod collector;
#[allow(dead_code, reason = "each test program uses its own part")]
mod dashboard;
#[allow(dead_code, reason = "each test program uses its own part")]
mod follow_stage;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use bartizan_testing::{free_port, until};
use collector::{Answer, Collector, attribute, by_https, line};
use follow_stage::{Followed, assert_open_metrics, data, inspect, only_port};
use serde_json::{Value, json};

const TAKEN: Answer = Answer::Taken("{}");

/// Follows a capture with a vulnerable link in it.
fn follow(directory: &Path, url: &str, more: &[&str]) -> Followed {
    fs::write(directory.join("link.pcap"), only_port(4403)).unwrap();
    let arguments = ["link.pcap", "--follow", "--json", "--otlp", url];
    Followed::start(directory, &[&arguments[..], more].concat())
}

/// Number of occurrences of each id.
fn ids(records: &[Value]) -> BTreeMap<String, usize> {
    let mut ids = BTreeMap::new();
    for record in records {
        let id = attribute(record, "log.record.uid");
        assert!(!id.is_empty(), "{record}");
        *ids.entry(id.to_owned()).or_default() += 1;
    }
    ids
}

/// Lines as a collector has them, without repetitions, in order.
fn lines(records: &[Value]) -> Vec<Value> {
    let mut lines: Vec<Value> = Vec::new();
    for record in records {
        let line = line(record);
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

/// The value of a series in what `/metrics` answers.
fn value(metrics: &str, series: &str) -> u64 {
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series} in\n{metrics}"))
        .parse()
        .unwrap()
}

fn metrics_url(followed: &mut Followed) -> String {
    let begin = followed.wait_for("begin", |_| true);
    format!("http://{}/metrics", begin["metrics"].as_str().unwrap())
}

#[test]
fn a_collector_has_every_line_in_order_once_and_what_prometheus_reads() {
    let directory = tempfile::tempdir().unwrap();
    let collector = Collector::new();
    let more = ["--metrics", "127.0.0.1:0", "--otlp-interval", "1s"];
    let mut followed = follow(directory.path(), &collector.url(), &more);
    let url = metrics_url(&mut followed);
    collector.wait_for("finding");
    // The numbers of a view are there after its events.
    let metrics = followed.scraped(&url, None, |text| {
        value(text, "bartizan_inspect_delivery_queued_events") == 0 && text.contains("bartizan_inspect_findings{")
    });
    assert_open_metrics(&metrics);
    until("metrics", || collector.requests("metrics").len() > 1);
    let (status, _) = followed.terminate();
    assert_eq!(status, 1);
    // The very lines of standard output, the report among them.
    assert_eq!(lines(&collector.taken()), followed.events());
    assert!(ids(&collector.taken()).values().all(|times| *times == 1));

    let logs = &collector.requests("logs")[0];
    assert_eq!(logs.headers["content-type"], "application/json");
    let resource = &logs.body["resourceLogs"][0]["resource"];
    assert_eq!(attribute(resource, "service.name"), "bartizan");
    let tap = resource["attributes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["key"] == "bartizan.taps");
    assert_eq!(
        tap.unwrap()["value"]["arrayValue"]["values"],
        json!([{ "stringValue": "link.pcap" }])
    );
    let taken = collector.taken();
    let finding = taken
        .iter()
        .find(|record| attribute(record, "bartizan.finding.concern") == "confidentiality")
        .unwrap();
    assert_eq!(
        (
            &finding["severityNumber"],
            attribute(finding, "bartizan.confidentiality")
        ),
        (&json!(17), "vulnerable")
    );

    // The same families, and no other, in both.
    let sent = &collector.requests("metrics").pop().unwrap().body["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    let sent = sent.as_array().unwrap();
    let mut names: Vec<_> = sent
        .iter()
        .map(|metric| match &metric["sum"] {
            Value::Null => metric["name"].as_str().unwrap().to_owned(),
            sum => {
                assert_eq!(
                    (&sum["isMonotonic"], &sum["aggregationTemporality"]),
                    (&json!(true), &json!(2))
                );
                format!("{}_total", metric["name"].as_str().unwrap())
            }
        })
        .collect();
    let samples = metrics.lines().filter(|line| !line.starts_with('#'));
    let mut scraped: Vec<_> = samples
        .map(|line| line.split(['{', ' ']).next().unwrap().to_owned())
        .collect();
    scraped.dedup();
    names.sort();
    scraped.sort();
    assert_eq!(names, scraped);
    let packets = sent
        .iter()
        .find(|metric| metric["name"] == "bartizan_inspect_packets")
        .unwrap();
    assert!(
        packets["sum"]["dataPoints"][0]["asInt"]
            .as_str()
            .unwrap()
            .parse::<u64>()
            .unwrap()
            > 0
    );
    assert!(packets["sum"]["dataPoints"][0]["startTimeUnixNano"].is_string());
}

#[test]
fn a_collector_that_comes_later_gets_everything_and_nothing_waited_for_it() {
    let directory = tempfile::tempdir().unwrap();
    let address = free_port();
    let mut followed = follow(
        directory.path(),
        &format!("http://{address}"),
        &["--metrics", "127.0.0.1:0"],
    );
    let url = metrics_url(&mut followed);
    followed.wait_for("finding", |_| true);
    let metrics = followed.scraped(&url, None, |text| {
        value(text, "bartizan_inspect_delivery_retried_total{signal=\"logs\"}") > 0
    });
    assert!(value(&metrics, "bartizan_inspect_delivery_queued_bytes") > 0);
    assert_eq!(value(&metrics, "bartizan_inspect_delivery_up{signal=\"logs\"}"), 0);
    followed.wait_for_error("logs are not taken, and wait:");
    let collector = Collector::listen(address, &[TAKEN]);
    collector.wait_for("finding");
    followed.wait_for_error("logs are taken again");
    followed.terminate();
    assert_eq!(lines(&collector.taken()), followed.events());
}

#[test]
fn a_pause_that_the_collector_asks_for_is_kept_and_the_rest_of_the_refusals_are_not_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let answers = [
        Answer::Status(503, "Retry-After: 2"),
        Answer::Status(429, "X-Test: none"),
        TAKEN,
    ];
    let collector = Collector::listen("127.0.0.1:0".parse().unwrap(), &answers);
    let mut followed = follow(directory.path(), &collector.url(), &[]);
    collector.wait_for("finding");
    followed.terminate();
    assert_eq!(lines(&collector.taken()), followed.events());
    let requests = collector.requests("logs");
    assert!(requests[1].at - requests[0].at >= Duration::from_secs(2));
    assert!(requests[2].at - requests[1].at >= Duration::from_millis(250));
}

#[test]
fn what_the_collector_refuses_is_dropped_counted_and_reported_as_a_loss() {
    let directory = tempfile::tempdir().unwrap();
    let part = Answer::Taken(r#"{"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"too old"}}"#);
    let remark = Answer::Taken(r#"{"partialSuccess":{"errorMessage":"use gzip"}}"#);
    let answers = [Answer::Status(400, "X-Test: none"), part, remark, TAKEN];
    let collector = Collector::listen("127.0.0.1:0".parse().unwrap(), &answers);
    let mut followed = follow(directory.path(), &collector.url(), &["--metrics", "127.0.0.1:0"]);
    let url = metrics_url(&mut followed);
    followed.wait_for_error("logs are refused, and dropped: it answers 400: no");
    // One more event, which is taken, after which the loss can be reported.
    let path = directory.path().join("link.pcap");
    fs::rename(&path, directory.path().join("link.pcap.1")).unwrap();
    fs::write(&path, only_port(4401)).unwrap();
    followed.wait_for_error("it took events with a remark: use gzip");
    let refused = collector.requests("logs")[0].body.clone();
    let expected = collector::records(&refused).len() as u64 + 1;
    let losses = || {
        let taken = collector.taken();
        let lines = taken.iter().map(line);
        lines.filter(|line| line["event"] == "loss").collect::<Vec<_>>()
    };
    let sum = |losses: &[Value]| -> u64 { losses.iter().map(|line| line["records"].as_u64().unwrap()).sum() };
    // The refused events of each of the two answers may be reported separately.
    until("every loss", || sum(&losses()) >= expected);
    let metrics = followed.scraped(&url, None, |_| true);
    assert_eq!(
        value(&metrics, "bartizan_inspect_events_lost_total{reason=\"refused\"}"),
        expected
    );
    let reported = losses();
    assert!(reported.iter().all(|line| line["where"] == "delivery"), "{reported:?}");
    assert_eq!(sum(&reported), expected);
    followed.terminate();
    let sent = ids(&collector.sent());
    assert!(sent.values().all(|times| *times == 1), "{sent:?}");
}

/// Returns true if no segment waits in a queue on disk: the collector's answer to the last of it
/// was read too.
fn is_empty(queue: &Path) -> bool {
    let mut files = fs::read_dir(queue).unwrap();
    files.all(|file| {
        file.unwrap()
            .path()
            .extension()
            .is_none_or(|ending| ending != "segment")
    })
}

/// Before, the report of the loss was refused too and made another report, one a second.
#[test]
fn a_collector_that_takes_no_event_and_says_200_is_one_that_refuses() {
    let directory = tempfile::tempdir().unwrap();
    let none = Answer::Taken(r#"{"partialSuccess":{"rejectedLogRecords":"1000000","errorMessage":"too\u001b old"}}"#);
    let collector = Collector::listen("127.0.0.1:0".parse().unwrap(), &[none]);
    let mut followed = follow(directory.path(), &collector.url(), &[]);
    followed.wait_for_error("logs are refused, and dropped: it takes none of them: too old");
    followed.wait_for("finding", |_| true);
    std::thread::sleep(Duration::from_secs(3));
    assert!(!followed.reported("loss", |_| true), "{}", followed.said());
    followed.terminate();
    assert!(followed.reported("loss", |event| event["where"] == "delivery"));
}

/// Before, it was an answer that could not be read: the same events were sent again until the queue was full.
#[test]
fn an_answer_that_is_too_long_is_judged_by_its_status() {
    let directory = tempfile::tempdir().unwrap();
    let page = Answer::Taken(Box::leak("x".repeat(100_000).into_boxed_str()));
    let collector = Collector::listen("127.0.0.1:0".parse().unwrap(), &[page]);
    let mut followed = follow(directory.path(), &collector.url(), &[]);
    collector.wait_for("finding");
    followed.terminate();
    assert_eq!(lines(&collector.taken()), followed.events());
    let sent = ids(&collector.sent());
    assert!(sent.values().all(|times| *times == 1), "{sent:?}");
}

#[test]
fn a_redirect_is_refused_and_standard_error_says_where_it_leads() {
    let directory = tempfile::tempdir().unwrap();
    let moved = Answer::Status(307, "Location: https://elsewhere.example/v1/logs");
    let collector = Collector::listen("127.0.0.1:0".parse().unwrap(), &[moved]);
    let mut followed = follow(directory.path(), &collector.url(), &[]);
    followed.wait_for_error("it answers 307: https://elsewhere.example/v1/logs");
    followed.terminate();
}

/// Before, each such report was lost too and made another one, several a second, and the collector never had the first.
#[test]
fn what_no_disk_takes_is_reported_once_when_it_does_again() {
    let directory = tempfile::tempdir().unwrap();
    let [queue, away] = ["queue", "away"].map(|name| directory.path().join(name));
    let collector = Collector::new();
    let mut followed = follow(directory.path(), &collector.url(), &["--queue", "queue"]);
    collector.wait_for("finding");
    until("an empty queue", || is_empty(&queue));
    // As a full disk it refuses every record.
    fs::rename(&queue, &away).unwrap();
    let path = directory.path().join("link.pcap");
    fs::rename(&path, directory.path().join("link.pcap.1")).unwrap();
    fs::copy(data("sidecar-hybrid.pcap"), &path).unwrap();
    followed.wait_for("link-seen", |event| {
        event["confidentiality"]["verdict"] == "quantum-safe"
    });
    followed.wait_for_error("events cannot be written and are lost");
    // Several views.
    std::thread::sleep(Duration::from_secs(2));
    assert!(!followed.reported("loss", |_| true));
    // Before, each event said so.
    let errors = followed.errors();
    assert_eq!(errors.matches("cannot be written and are lost").count(), 1, "{errors}");
    fs::rename(&away, &queue).unwrap();
    collector.wait_for("loss");
    followed.wait_for_error("events are written again");
    followed.terminate();
    let (taken, reported) = (lines(&collector.taken()), followed.events());
    let missing: Vec<_> = reported.iter().filter(|event| !taken.contains(event)).collect();
    let losses: Vec<_> = taken.iter().filter(|event| event["event"] == "loss").collect();
    assert_eq!(losses.len(), 1, "{losses:?}");
    assert_eq!(losses[0]["records"], missing.len(), "{missing:?}");
    assert!(!missing.is_empty() && missing.iter().all(|event| event["event"] != "loss"));
}

#[test]
fn killed_at_both_ends_every_event_arrives_and_only_what_was_on_its_way_arrives_twice() {
    let directory = tempfile::tempdir().unwrap();
    let queue = ["--queue", "queue"];
    // The first batch is taken; the second reaches a collector that is killed before it answers.
    let first = Collector::listen(free_port(), &[TAKEN]);
    let address = first.address();
    let mut followed = follow(directory.path(), &first.url(), &queue);
    first.wait_for("finding");
    // An answer that is not read before this collector goes would have the batch repeated.
    until("an empty queue", || is_empty(&directory.path().join("queue")));
    // The queue is on disk alone when the process is killed.
    let taken_by_first = first.taken();
    drop(first);
    let path = directory.path().join("link.pcap");
    fs::rename(&path, directory.path().join("link.pcap.1")).unwrap();
    fs::write(&path, only_port(4401)).unwrap();
    // The last that is reported: one that ends between the queue and the report has an event in the queue alone.
    followed.wait_for("link-seen", |event| {
        event["confidentiality"]["verdict"] == "quantum-safe"
    });
    let second = Collector::listen(address, &[Answer::Silent]);
    until("something on its way", || !second.sent().is_empty());
    followed.kill();
    let flying = ids(&second.sent());
    drop(second);
    let reported_before = followed.events();

    let third = Collector::listen(address, &[TAKEN]);
    let mut again = follow(directory.path(), &third.url(), &queue);
    third.wait_for("finding");
    again.terminate();
    let arrived = [taken_by_first, third.taken()].concat();
    // Everything that both processes reported, in order.
    assert_eq!(lines(&arrived), [reported_before, again.events()].concat());
    assert!(ids(&arrived).values().all(|times| *times == 1));
    // Events on their way came a second time, under the same id.
    let third = ids(&third.taken());
    assert!(flying.keys().all(|id| third.contains_key(id)), "{flying:?}");
    // Both processes' events have ids of their own.
    let runs = third.keys().map(|id| id.split('-').next().unwrap());
    assert_eq!(runs.collect::<std::collections::BTreeSet<_>>().len(), 2);
}

#[test]
fn a_collector_that_never_answers_blocks_neither_the_reading_nor_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let collector = Collector::listen("127.0.0.1:0".parse().unwrap(), &[Answer::Silent]);
    let mut followed = follow(directory.path(), &collector.url(), &["--queue", "queue"]);
    followed.wait_for("finding", |_| true);
    until("a request", || !collector.sent().is_empty());
    let path = directory.path().join("link.pcap");
    fs::rename(&path, directory.path().join("link.pcap.1")).unwrap();
    fs::copy(data("sidecar-hybrid.pcap"), &path).unwrap();
    followed.wait_for("link-seen", |event| {
        event["confidentiality"]["verdict"] == "quantum-safe"
    });
    let begun = Instant::now();
    let (status, _) = followed.terminate();
    assert_eq!(status, 1);
    // It is given five seconds; a hang would be a minute.
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    let events = followed.events();
    drop(collector);
    // The next start sends what is left.
    let collector = Collector::new();
    fs::write(directory.path().join("empty.pcap"), &only_port(4403)[..24]).unwrap();
    let arguments = [
        "empty.pcap",
        "--follow",
        "--json",
        "--otlp",
        &collector.url(),
        "--queue",
        "queue",
    ];
    let mut next = Followed::start(directory.path(), &arguments);
    collector.wait_for("report");
    next.terminate();
    assert_eq!(lines(&collector.taken()), [events, next.events()].concat());
}

#[test]
fn a_collector_by_https_is_judged_by_the_root_that_was_given_and_keys_are_quantum_safe() {
    let directory = tempfile::tempdir().unwrap();
    let (config, root) = by_https();
    fs::write(directory.path().join("root.pem"), root).unwrap();
    fs::write(directory.path().join("other.pem"), by_https().1).unwrap();
    let collector = Collector::by_tls(config);
    let mut followed = follow(
        directory.path(),
        &collector.url(),
        &["--otlp-ca", "other.pem", "--queue", "queue"],
    );
    followed.wait_for_error("logs are not taken, and wait: invalid peer certificate");
    let (_, _) = followed.terminate();
    assert!(collector.sent().is_empty(), "nothing goes to whom nobody knows");
    // The queued events go to the same collector under its own root.
    let before = followed.events();
    let mut followed = follow(
        directory.path(),
        &collector.url(),
        &["--otlp-ca", "root.pem", "--queue", "queue"],
    );
    collector.wait_for("report");
    followed.terminate();
    assert_eq!(lines(&collector.taken()), [before, followed.events()].concat());
    // Noted after the answer to a connection's first request.
    until("the groups", || !collector.groups().is_empty());
    let groups = collector.groups();
    assert!(groups.iter().all(|group| group == "X25519MLKEM768"), "{groups:?}");
}

/// A file of the stack for Compose.
fn of_stack(file: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../deploy/observe")
        .join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

#[test]
fn the_stack_s_parts_name_one_another_and_its_alerts_name_what_is_exported() {
    let [collector, prometheus, compose] = ["collector.yaml", "prometheus.yaml", "compose.yaml"].map(of_stack);
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    let pipelines = collector["service"]["pipelines"].as_object().unwrap();
    assert_eq!(keys(&collector["service"]["pipelines"]), ["logs", "metrics"]);
    for pipeline in pipelines.values() {
        for (kind, names) in pipeline.as_object().unwrap() {
            for name in names.as_array().unwrap() {
                assert!(collector[kind][name.as_str().unwrap()].is_object(), "{kind} {name}");
            }
        }
        // It would answer before an exporter has the event.
        assert!(!pipeline["processors"].as_array().unwrap().contains(&json!("batch")));
    }
    let port = |endpoint: &Value| endpoint.as_str().unwrap().rsplit(':').next().unwrap().to_owned();
    let services = &compose["services"];
    let listens = port(&collector["receivers"]["otlp"]["protocols"]["http"]["endpoint"]);
    assert_eq!(
        services["collector"]["ports"],
        json!([format!("127.0.0.1:{listens}:{listens}")])
    );
    let scraped = &prometheus["scrape_configs"][0];
    assert_eq!(
        (&scraped["job_name"], &scraped["honor_labels"]),
        (&json!("taps"), &json!(true))
    );
    let exports = port(&collector["exporters"]["prometheus"]["endpoint"]);
    assert_eq!(
        scraped["static_configs"][0]["targets"],
        json!([format!("collector:{exports}")])
    );
    let source = of_stack("grafana/provisioning/datasources/prometheus.yaml");
    assert_eq!(source["datasources"][0]["url"], "http://prometheus:9090");
    // Mounted files exist, and the file of events is in a volume.
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/observe");
    let mut mounted = Vec::new();
    for service in services.as_object().unwrap().values() {
        for volume in service["volumes"].as_array().unwrap() {
            let (from, to) = volume.as_str().unwrap().split_once(':').unwrap();
            match from.starts_with('.') {
                true => assert!(folder.join(from).exists(), "{from}"),
                false => assert!(compose["volumes"].as_object().unwrap().contains_key(from), "{from}"),
            }
            mounted.push(to.trim_end_matches(":ro").to_owned());
        }
    }
    let events = collector["exporters"]["file"]["path"].as_str().unwrap();
    assert!(mounted.iter().any(|to| events.starts_with(to.as_str())), "{mounted:?}");
    let dashboards = of_stack("grafana/provisioning/dashboards/bartizan.yaml");
    let path = dashboards["providers"][0]["options"]["path"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(mounted.contains(&path));

    let directory = tempfile::tempdir().unwrap();
    let collector = Collector::new();
    let mut followed = follow(directory.path(), &collector.url(), &["--metrics", "127.0.0.1:0"]);
    let url = metrics_url(&mut followed);
    followed.wait_for("finding", |_| true);
    let metrics = followed.scraped(&url, None, |text| text.contains("bartizan_inspect_findings{"));
    dashboard::assert_alerts("bartizan", 6, &metrics);
    followed.terminate();
}

#[test]
fn without_tls_other_hosts_are_refused_and_options_that_do_nothing_too() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("link.pcap"), only_port(4403)).unwrap();
    let refused = |more: &[&str]| {
        let said = inspect(directory.path(), &[&["link.pcap", "--follow"], more].concat());
        assert_eq!(said.status, 64, "{more:?}: {}", said.stderr);
        said.stderr
    };
    let said = refused(&["--otlp", "http://192.0.2.1:4318"]);
    assert!(said.contains("without TLS"), "{said}");
    assert!(said.contains("hint: say --otlp-allow-plaintext"), "{said}");
    let said = refused(&["--otlp", "https://192.0.2.1:4318"]);
    assert!(said.contains("hint: --otlp-ca FILE"), "{said}");
    refused(&["--otlp", "127.0.0.1:4318"]);
    refused(&["--queue", "queue"]);
    refused(&[
        "--otlp",
        "http://127.0.0.1:4318",
        "--queue",
        "queue",
        "--queue-limit",
        "1MiB",
    ]);
    refused(&["--otlp", "http://127.0.0.1:4318", "--otlp-interval", "1ms"]);
    assert!(!directory.path().join("queue").exists());
}
