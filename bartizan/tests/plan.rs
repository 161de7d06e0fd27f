//! `bartizan plan`: answers agree with each other, name their sources, and absurd input is refused with the bound.

use std::process::{Command, Output};

use serde_json::Value;

fn plan(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bartizan"))
        .arg("plan")
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn json(arguments: &[&str]) -> Value {
    let output = plan(&[arguments, &["--json"]].concat());
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// ESP was taken, and its answer called MACsec.
#[test]
fn a_fronthaul_by_anything_but_macsec_is_refused_with_the_next_step() {
    for other in ["esp:aes256gcm16", "tls:TLS_AES_256_GCM_SHA384", "none"] {
        let output = plan(&["fronthaul", "--protect", other]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(64), "{other}: {said}");
        assert!(
            said.contains("by MACsec alone") && said.contains(&format!("`bartizan plan delay --protect {other}`")),
            "{said}"
        );
    }
}

/// A file of another kind that has the name of a document was replaced.
#[test]
fn documents_of_a_plan_replace_their_own_kind_alone() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/plan");
    let arguments = ["mtu", "--out", out.to_str().unwrap()];
    for _ in 0..2 {
        assert_eq!(plan(&arguments).status.code(), Some(0));
    }
    let (page, json) = (out.join("plan-mtu.html"), out.join("plan-mtu.json"));
    let before = std::fs::read(&page).unwrap();
    std::fs::write(&json, "nodes:\n").unwrap();
    assert_eq!(plan(&arguments).status.code(), Some(64));
    assert_eq!(std::fs::read_to_string(&json).unwrap(), "nodes:\n");
    assert_eq!(std::fs::read(&page).unwrap(), before);
}

/// Before, "0.0584 us more with ESP" was printed with a processing of nothing.
#[test]
fn a_delay_without_a_curve_says_nothing_of_processing() {
    let report = |arguments: &[&str]| -> Value {
        let output = plan(&[&["delay", "--json"], arguments].concat());
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let said = text(&plan(&["delay"]).stdout);
    let answer = said.lines().nth(1).unwrap();
    assert!(
        answer.contains("processing is not known") && !answer.contains("us more with"),
        "{answer}"
    );
    for arguments in [&[][..], &["--processing", "82us"]] {
        let rows = report(arguments)["rows"].clone();
        assert!(
            rows.as_array().unwrap().iter().all(|row| row["added_us"].is_null()),
            "{rows}"
        );
        assert!(rows[1]["added_by_bytes_us"].as_f64().unwrap() > 0.0, "{rows}");
    }
    let rows = report(&["--protect", "macsec:gcm-aes-128", "--delay-curve", "published"])["rows"].clone();
    assert!(rows[1]["added_us"].as_f64().unwrap() > 30.0, "{rows}");
}

#[test]
fn delay_is_the_sum_of_its_parts_and_every_row_names_its_source() {
    let report = json(&[
        "delay",
        "--size",
        "62",
        "--protect",
        "esp:aes256-sha256",
        "--processing",
        "60us",
        "--distance",
        "10km",
    ]);
    assert_eq!(report["schema"], "bartizan-plan-delay/1");
    let rows = report["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 2);
    assert_eq!(rows[1]["sent_bytes"], 138);
    for row in rows {
        let delay = &row["delay"];
        let parts = ["queueing_us", "propagation_us", "transmission_us", "processing_us"];
        let sum: f64 = parts.iter().map(|part| delay[part].as_f64().unwrap()).sum();
        assert!((sum - row["total_us"].as_f64().unwrap()).abs() < 1e-9);
        assert!(!row["processing_from"]["name"].as_str().unwrap().is_empty());
        let layout = row["layout"]["parts"].as_array().unwrap();
        let bytes: u64 = layout.iter().map(|part| part["bytes"].as_u64().unwrap()).sum();
        assert_eq!(bytes, row["sent_bytes"].as_u64().unwrap());
    }
}

#[test]
fn a_fronthaul_fits_fewer_pairs_the_stronger_its_protection_and_the_further_it_goes() {
    let fits = |arguments: &[&str]| -> Vec<u64> {
        let report = json(&[&["fronthaul"], arguments].concat());
        report["feasible"]
            .as_array()
            .unwrap()
            .iter()
            .map(|count| count["fits"].as_u64().unwrap())
            .collect()
    };
    let (near, far) = (fits(&[]), fits(&["--distance", "20km"]));
    assert!(near[0] < near[1] && near[1] < near[2], "{near:?}");
    assert!(far.iter().zip(&near).all(|(far, near)| far < near), "{far:?} {near:?}");
    assert!(fits(&["--limit", "guaranteed"])[0] < near[0]);
}

#[test]
fn a_table_of_delays_replaces_the_published_curve() {
    let place = tempfile::tempdir().unwrap();
    let table = place.path().join("port.csv");
    std::fs::write(&table, "size,none,integrity,encryption\n64,1,2,2\n9000,2,3,3\n").unwrap();
    let report = json(&["fronthaul", "--delay-curve", table.to_str().unwrap()]);
    let counts: Vec<_> = report["feasible"]
        .as_array()
        .unwrap()
        .iter()
        .map(|count| count["fits"].as_u64().unwrap())
        .collect();
    // The delay of a port is less than any step between categories: all modes fit the same pairs.
    assert!(
        counts[0] > 140 && counts.iter().all(|count| *count == counts[0]),
        "{counts:?}"
    );
    std::fs::write(&table, "size,delay\n64,fast\n").unwrap();
    let output = plan(&["fronthaul", "--delay-curve", table.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(64));
    assert!(
        text(&output.stderr).contains("line 2: `fast` is no number of microseconds"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn mtu_repeats_by_its_seed_and_loses_nothing_without_loss() {
    let quick = [
        "mtu",
        "--trials",
        "500",
        "--group",
        "X25519MLKEM768",
        "--signature",
        "mldsa65",
        "--chain",
        "1",
    ];
    assert_eq!(json(&quick), json(&quick));
    let report = json(&quick);
    assert_eq!(
        (
            report["path_mtu_bytes"].as_u64(),
            report["tls"][0]["server"]["bytes"].as_u64()
        ),
        (Some(1500), Some(10_341))
    );
    let lossless = json(&[&quick[..], &["--loss", "0%"]].concat());
    for row in lossless["set_up"].as_array().unwrap() {
        assert_eq!(row["within"]["probability"], 1.0, "{row}");
    }
}

#[test]
fn absurd_input_is_refused_with_the_bound() {
    for (arguments, words) in [
        (&["delay", "--distance", "-3m"][..], "between 0 and 100000000 m"),
        (&["delay", "--distance", "3"], "write a number and its unit"),
        (
            &["delay", "--size", "70000", "--protect", "esp:aes256gcm16"],
            "65535 at most",
        ),
        (
            &["delay", "--size", "20", "--protect", "esp:aes256gcm16"],
            "IP needs 20 at least",
        ),
        (&["delay", "--load", "100%"], "between 0 and 0.999"),
        (&["delay", "--rate", "0b/s"], "between 1 and 1000000000000000 bit/s"),
        (&["delay", "--protect", "rot13"], "none, esp, macsec, tls, gtp-u"),
        (
            &[
                "delay",
                "--delay-curve",
                "published",
                "--size",
                "9500",
                "--protect",
                "macsec:gcm-aes-128",
            ],
            "ends at 9000 bytes",
        ),
        (&["fronthaul", "--size", "9001"], "ends at 9000 bytes"),
        (&["mtu", "--mtu", "0"], "between 68 (RFC 791) and 65535 bytes"),
        (&["mtu", "--mtu", "70000"], "between 68 (RFC 791) and 65535 bytes"),
        (
            &["mtu", "--mtu", "100", "--within", "esp:aes256-sha512"],
            "no room for an IP packet",
        ),
        (
            &["mtu", "--mtu", "150", "--within", "esp:aes256-sha512"],
            "IPv4 needs 68",
        ),
        (&["mtu", "--payload", "0"], "between 1 byte and a million frames"),
        (&["mtu", "--chain", "99"], "1..=16"),
        (&["mtu", "--signature", "rsa_pss_rsae_sha256"], "depends on its key"),
        (&["mtu", "--loss", "-1%"], "between 0 and 1"),
    ] {
        let output = plan(arguments);
        assert_eq!(
            output.status.code(),
            Some(64),
            "{arguments:?}: {}",
            text(&output.stdout)
        );
        assert!(
            text(&output.stderr).contains(words),
            "{arguments:?}: {}",
            text(&output.stderr)
        );
    }
}

#[test]
fn a_page_with_plots_and_sources_is_written() {
    let place = tempfile::tempdir().unwrap();
    let out = place.path().to_str().unwrap();
    for (name, arguments) in [
        ("delay", &["delay"][..]),
        ("fronthaul", &["fronthaul"]),
        ("mtu", &["mtu", "--trials", "200", "--chain", "1"]),
    ] {
        let output = plan(&[arguments, &["--out", out]].concat());
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        assert!(text(&output.stdout).contains(&format!("plan-{name}.html")));
        let page = std::fs::read_to_string(place.path().join(format!("plan-{name}.html"))).unwrap();
        let document = roxmltree::Document::parse(page.strip_prefix("<!DOCTYPE html>").unwrap()).unwrap();
        let count = |tag: &str| document.descendants().filter(|node| node.has_tag_name(tag)).count();
        assert!(count("table") > 0 && count("figure") > 0, "{name}");
        assert!(
            page.contains("Where the numbers come from") && page.contains("Groen et al. 2024"),
            "{name}"
        );
        assert!(page.contains("What the model leaves out"), "{name}");
        let json = std::fs::read_to_string(place.path().join(format!("plan-{name}.json"))).unwrap();
        let json: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json["schema"], format!("bartizan-plan-{name}/1"));
    }
}
