//! h2spec through the `http2` path: what the sidecar's HTTP/2 answers a consumer that keeps to the rules or does not.

use crate::go;
use crate::stage::{By, PATIENCE, Pair, Stage};

/// Section and title of the cases that fail, each with its reason in `docs/conformance.md`. One
/// that no longer fails must be taken out here and there.
const KNOWN_DIFFERENCES: [(&str, &str); 1] = [("http2/3.5", "Sends invalid connection preface")];
/// Those of h2spec 2.2.1 with its strict ones.
const CASES: usize = 146;

/// The text between `name="` and the next quote.
fn attribute<'a>(line: &'a str, name: &str) -> &'a str {
    let value = line.split_once(&format!(" {name}=\"")).expect("the attribute").1;
    value.split_once('"').expect("its end").0
}

#[test]
fn h2spec_fails_in_exactly_the_known_differences() {
    let mut stage = Stage::new();
    stage.write("index.html", "x".repeat(300));
    let pair = Pair::new(By::Http2, By::Http2);
    let _function = stage.nghttpd(pair.ports.function, &[]);
    let running = stage.run(&pair);
    let report = stage.path("h2spec.xml");
    let port = running.ports.outbound.port().to_string();
    let finished = go::program("github.com/summerwind/h2spec/cmd/h2spec")
        .arguments([
            "--strict",
            "--host",
            "127.0.0.1",
            "--port",
            &port,
            "--path",
            "/index.html",
        ])
        // A case fails that is not answered in two seconds otherwise.
        .arguments(["--timeout", "5"])
        .argument("--junit-report")
        .argument(&report)
        .start()
        .expect("h2spec starts")
        .finish(PATIENCE * 10)
        .expect("h2spec ends");
    let report = std::fs::read_to_string(report).expect("its report");
    let cases: Vec<&str> = report.split("<testcase").skip(1).collect();
    assert_eq!(cases.len(), CASES);
    for suite in ["generic/", "http2/", "hpack/"] {
        assert!(
            cases.iter().any(|case| attribute(case, "package").starts_with(suite)),
            "{suite}"
        );
    }
    let failed: Vec<(&str, &str)> = cases
        .iter()
        .filter(|case| {
            ["<failure", "<error", "<skipped"]
                .iter()
                .any(|mark| case.contains(mark))
        })
        .map(|case| (attribute(case, "package"), attribute(case, "classname")))
        .collect();
    assert_eq!(failed, KNOWN_DIFFERENCES, "{}", finished.text());
}
