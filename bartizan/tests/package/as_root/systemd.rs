//! The package under a systemd that runs: from its installation to a proven link, an upgrade while
//! requests are made, a crash, a sidecar that hangs, a removal; then IPsec links and an inspector.

use super::*;

/// Output of the job after a step, up to the next one.
fn after<'a>(text: &'a str, step: &str) -> &'a str {
    let (_, rest) = text
        .split_once(&format!("== {step}\n"))
        .unwrap_or_else(|| panic!("no {step}: {text}"));
    rest.split("== ").next().unwrap_or_default()
}

/// The number behind a word at the start of a line.
fn number(text: &str, word: &str) -> u32 {
    text.lines()
        .find_map(|line| line.strip_prefix(word)?.trim().parse().ok())
        .unwrap_or_else(|| panic!("no {word}: {text}"))
}

#[test]
fn a_package_protects_a_link_under_systemd_and_is_upgraded_without_a_failed_request() {
    bartizan_testing::needs_root();
    let place = tempfile::tempdir().unwrap();
    let scratch = place.path().join("scratch");
    fs::create_dir(&scratch).unwrap();
    let root = bartizan_testing::lab_root();
    let scripts = repository().join("bartizan/tests/package");
    let output = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh"])
        .arg(scripts.join("boot.sh"))
        .arg(root.directory())
        .arg(&scratch)
        .arg(scripts.join("job.sh"))
        .arg(file(&PACKED.of_now, ".deb"))
        .arg(file(&PACKED.of_later, ".deb"))
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success(),
        "{text}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );

    let started = after(&text, "configured");
    assert!(
        started.starts_with("active\nactive\nbartizan\nactive\nactive\nbartizan\n"),
        "{text}"
    );
    // The unit once forbade the call by which threads of handshakes get a lower priority than those of requests.
    for (thread, nice) in [("bartizan", 0), ("handshakes", 5), ("handshakes-late", 19)] {
        assert!(started.contains(&format!("\n{thread} {nice}\n")), "{text}");
    }
    assert_eq!(
        after(&text, "started"),
        "{\"supi\": \"imsi-208930000000001\"}\n",
        "{text}"
    );
    let verdict = after(&text, "asked");
    assert!(verdict.contains("1 link: 1 quantum-safe"), "{text}");
    assert!(verdict.contains("quantum-safe     quantum-safe"), "{text}");

    // A minimal Debian has no /bin/kill.
    assert_eq!(after(&text, "inspected"), "bartizan\n", "{text}");

    let upgraded = after(&text, "upgraded");
    // The function requires the unit of its rules, and a restart of that would have been one of the function.
    let processes = "restarted\nrules are compared by the new version\nthe function runs on\n";
    assert!(upgraded.starts_with(processes), "{text}");
    assert_eq!(upgraded.matches("/usr/bin/bartizan\n").count(), 2, "{text}");
    assert_eq!(number(upgraded, "otherwise"), 0, "{text}");
    assert!(number(upgraded, "answered") > 500, "{text}");
    assert!(upgraded.ends_with("{\"supi\": \"imsi-208930000000001\"}\n"), "{text}");

    let watched = after(&text, "killed");
    assert!(
        watched.starts_with("WatchdogUSec=30s\n\nWatchdogUSec=1min\nit runs on\n"),
        "{text}"
    );
    assert!(
        watched.ends_with("{\"supi\": \"imsi-208930000000001\"}\nNRestarts=1\n"),
        "{text}"
    );

    let enrolled = after(&text, "watchdog");
    assert!(enrolled.ends_with("renewed\nactive\nactive\n"), "{text}");

    let wrong = after(&text, "enrolled");
    assert!(
        wrong.contains("bartizan: a service of the new version did not start"),
        "{text}"
    );
    assert!(wrong.ends_with("install ok installed\n"), "{text}");

    let removed = after(&text, "removed");
    assert!(removed.starts_with("no unit is active\n"), "{text}");
    // The rules stay, and no process serves behind them.
    assert!(removed.contains("nothing is answered"), "{text}");
    assert!(
        removed.contains("amf.key.pem") && removed.contains("amf.ledger"),
        "{text}"
    );

    let wire = after(&text, "wire");
    assert_eq!(number(wire, "readable"), 0, "{text}");
    assert!(number(wire, "control") > 500, "{text}");

    let links = after(&text, "without strongSwan");
    // Files of sidecars and of the authority keep their owners: systemd once gave all of them to root.
    assert!(
        links.ends_with("active\nactive\nactive\nactive\nbartizan\nbartizan-ca\n"),
        "{text}"
    );
    let followed = after(&text, "links");
    let expected = [
        "measured",
        "measured",
        "750 bartizan",
        "0",
        "0",
        "success",
        "success",
        "success",
    ];
    assert_eq!(
        followed.lines().filter(|line| !line.is_empty()).collect::<Vec<_>>(),
        expected,
        "{text}"
    );
    println!("{}", after(&text, "times"));
}
