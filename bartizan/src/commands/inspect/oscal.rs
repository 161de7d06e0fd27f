//! Results from packets as OSCAL 1.1 assessment results (NIST): observations with their evidence,
//! findings by control, risks with remedies.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use bartizan_inspect::text::counted;
use bartizan_inspect::{Finding, Report};
use bartizan_posture::Concern;
use data_encoding::HEXLOWER;
use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::Failure;
use crate::commands::sarif::uri;

const VERSION: &str = "1.1.3";
/// The namespace of what this program names (RFC 9562, section 5.5), and that of its properties.
const NAMESPACE: [u8; 16] = *b"\x6f\x0d\x52\x8a\x7c\x3b\x4e\x19\xa2\x55\x1d\x94\xe0\x37\xb8\x46";
const PROPERTIES: &str = "urn:bartizan:oscal";

/// The findings of all reports, as assessed now, and what was not read.
pub(super) fn render(reports: &[Report], unread: &[Failure], now: SystemTime) -> Result<String, Failure> {
    let now = moment(now)?;
    let plan = uuid("plan");
    let mut resources = vec![json!({
        "uuid": plan,
        "title": "Inspection of captured packets by Bartizan",
        "description": "Reads packets and judges, for each link, whether its recording can be read with a quantum computer, and whether its ends can be forged with one.",
    })];
    let mut results = Vec::new();
    for (number, report) in reports.iter().enumerate() {
        let resource = uuid(&format!("capture {number} {}", report.name()));
        resources.push(capture(&resource, report));
        results.push(result(number, report, &resource, &now)?);
    }
    let mut document = json!({ "assessment-results": {
        "uuid": uuid(&format!("results {now} {results:?}")),
        "metadata": {
            "title": "Quantum-safety of links, as packets show it",
            "last-modified": now,
            "version": env!("CARGO_PKG_VERSION"),
            "oscal-version": VERSION,
        },
        "import-ap": { "href": format!("#{plan}") },
        "results": results,
        "back-matter": { "resources": resources },
    }});
    if !unread.is_empty() {
        let lines: Vec<_> = unread.iter().map(|failure| failure.message.as_str()).collect();
        let remarks = format!("Not everything was read:\n{}", lines.join("\n"));
        document["assessment-results"]["metadata"]["remarks"] = remarks.into();
    }
    Ok(serde_json::to_string_pretty(&document).map_err(Failure::new)? + "\n")
}

fn capture(uuid: &str, report: &Report) -> Value {
    let mut link = json!({ "href": uri(report.name().as_ref()) });
    if let Some(sha256) = report.sha256() {
        link["hashes"] = json!([{ "algorithm": "SHA-256", "value": sha256 }]);
    }
    json!({ "uuid": uuid, "title": report.name(), "rlinks": [link] })
}

/// Result of one report.
fn result(number: usize, report: &Report, resource: &str, now: &str) -> Result<Value, Failure> {
    let totals = report.totals();
    let at = |seen: Option<bartizan_wire::Moment>| match seen {
        Some(seen) => moment(SystemTime::UNIX_EPOCH + Duration::from_nanos(seen.time.0)),
        None => Ok(now.to_owned()),
    };
    let (first, last) = (at(totals.first)?, at(totals.last)?);
    let findings = report.findings();
    let (mut observations, mut risks) = (Vec::new(), Vec::new());
    // A control is not satisfied because of all that says so.
    let mut by_control: BTreeMap<&str, (Vec<Value>, Vec<Value>)> = BTreeMap::new();
    for (place, finding) in findings.iter().enumerate() {
        let named = |what: &str| uuid(&format!("{what} {number} {place} {}", report.name()));
        let (observation, risk) = (named("observation"), named("risk"));
        observations.push(observed(&observation, finding, resource, &last));
        risks.push(risked(&risk, &named("remedy"), finding, &observation));
        for control in controls(finding.concern) {
            let (observed, at_risk) = by_control.entry(control).or_default();
            observed.push(json!({ "observation-uuid": observation }));
            at_risk.push(json!({ "risk-uuid": risk }));
        }
    }
    let by_control = by_control.into_iter().map(|(control, (observed, at_risk))| {
        json!({
            "uuid": uuid(&format!("finding {number} {control} {}", report.name())),
            "title": format!("{} is not satisfied", control.trim_end_matches("_smt").to_uppercase()),
            "description": format!("{} of what the packets of {} show speak against it.", observed.len(), report.name()),
            "target": { "type": "statement-id", "target-id": control, "status": { "state": "not-satisfied", "reason": "fail" } },
            "related-observations": observed,
            "related-risks": at_risk,
        })
    });
    let by_control: Vec<Value> = by_control.collect();
    let selected = CONTROLS.map(|control| json!({ "control-id": control.trim_end_matches("_smt") }));
    let mut result = json!({
        "uuid": uuid(&format!("result {number} {}", report.name())),
        "title": report.name(),
        "description": format!("{} packets of {} and what they show of its links.", report.packets(), report.name()),
        "start": first,
        "end": last,
        "reviewed-controls": { "control-selections": [{ "include-controls": selected }] },
    });
    if let Some(damage) = report.damage() {
        result["remarks"] = format!("It was not read to its end: {damage}").into();
    }
    // OSCAL has no empty lists.
    for (field, list) in [
        ("observations", observations),
        ("risks", risks),
        ("findings", by_control),
    ] {
        if !list.is_empty() {
            result[field] = Value::from(list);
        }
    }
    Ok(result)
}

fn observed(uuid: &str, finding: &Finding, resource: &str, collected: &str) -> Value {
    // OSCAL demands a description.
    let description = match &finding.example {
        Some(example) => format!("The first: {example}"),
        None => "The capture as a whole".to_owned(),
    };
    let evidence = json!({ "href": format!("#{resource}"), "description": description });
    json!({
        "uuid": uuid,
        "title": finding.concern.name(),
        "description": format!("{}: {}", counted(finding.count, finding.unit), finding.because),
        "methods": ["TEST"],
        "types": ["finding"],
        "relevant-evidence": [evidence],
        "collected": collected,
    })
}

fn risked(uuid: &str, response: &str, finding: &Finding, observation: &str) -> Value {
    let remedy = &finding.remedy;
    let mut lines = vec![remedy.what.to_owned()];
    lines.extend(
        remedy
            .changes
            .iter()
            .map(|change| format!("In {}: {}", change.file, change.entry)),
    );
    lines.extend(remedy.command.map(|command| format!("Command: {command}")));
    let property = |name: &str, value: &str| json!({ "name": name, "ns": PROPERTIES, "value": value });
    let mut properties = vec![property("severity", finding.severity().name())];
    properties.extend(remedy.asked().iter().map(|asked| property("framework", asked.name)));
    json!({
        "uuid": uuid,
        "title": finding.concern.name(),
        "description": finding.concern.sentence(),
        "statement": finding.because,
        "props": properties,
        "status": "open",
        "remediations": [{ "uuid": response, "lifecycle": "recommendation", "title": remedy.what, "description": lines.join("\n") }],
        "related-observations": [{ "observation-uuid": observation }],
    })
}

/// Statements of NIST SP 800-53, revision 5, that packets speak to: transmission confidentiality and integrity, keys, cryptographic protection, authenticity of
/// sessions, monitoring, and the inventory of components.
const CONTROLS: [&str; 6] = [
    "cm-8_smt",
    "sc-12_smt",
    "sc-13_smt",
    "sc-23_smt",
    "sc-8_smt",
    "si-4_smt",
];

/// Those that a finding speaks against.
fn controls(concern: Concern) -> &'static [&'static str] {
    match concern {
        Concern::ReadableNow | Concern::AboveTransport => &["sc-8_smt"],
        Concern::Confidentiality | Concern::Regression | Concern::Downgrade | Concern::Policy => {
            &["sc-12_smt", "sc-13_smt"]
        }
        Concern::Authenticity => &["sc-13_smt", "sc-23_smt"],
        Concern::Unlisted | Concern::Unseen => &["cm-8_smt"],
        Concern::Unproven | Concern::Contradiction => &["si-4_smt"],
    }
}

fn moment(at: SystemTime) -> Result<String, Failure> {
    OffsetDateTime::from(at).format(&Rfc3339).map_err(Failure::new)
}

/// A UUID of version 5 (RFC 9562, section 5.5), which is SHA-1 and here no more than a name: what is the same has the same.
fn uuid(name: &str) -> String {
    let hash = digest(&SHA1_FOR_LEGACY_USE_ONLY, &[&NAMESPACE[..], name.as_bytes()].concat());
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_ref()[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x50;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex = HEXLOWER.encode(&bytes);
    let [a, b, c, d, e] = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| &hex[range]);
    format!("{a}-{b}-{c}-{d}-{e}")
}

#[cfg(test)]
mod tests {
    use bartizan_posture::Concern;

    use super::{CONTROLS, controls, uuid};

    #[test]
    fn a_uuid_is_of_version_5_and_the_same_for_the_same_name() {
        let one = uuid("one");
        assert_eq!((one.len(), &one[14..15]), (36, "5"));
        assert!("89ab".contains(&one[19..20]));
        assert_eq!((uuid("one"), uuid("two") == one), (one, false));
    }

    #[test]
    fn every_finding_speaks_against_controls_that_are_listed() {
        for concern in Concern::ALL {
            let against = controls(concern);
            assert!(!against.is_empty() && against.iter().all(|control| CONTROLS.contains(control)));
        }
    }
}
