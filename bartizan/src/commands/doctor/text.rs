//! The report for people.

use std::fmt::Write as _;

use super::feature::{Readiness, Weight};
use super::thing::{Examined, Presence};
use super::tool::{HOST, Tool};
use super::{Report, Root};

const COLUMNS: usize = 80;

/// One screen: the host, and a line for each feature; one more where something that everybody uses
/// is missing.
pub(super) fn summary(report: &Report) -> String {
    let host = &report.host;
    let mut lines = vec![cut(&format!(
        "Linux {}, {}, {} processors",
        host.kernel,
        host.cpu.as_deref().unwrap_or("an unknown processor"),
        host.cores
    ))];
    for readiness in &report.features {
        let missing = |weight| {
            readiness
                .needs
                .iter()
                .find(move |need| !need.met && need.weight == weight)
        };
        let (mark, state) = match (missing(Weight::Needed), missing(Weight::Wanted)) {
            (Some(need), _) => ("no", format!("not ready: needs {}", need.because)),
            (None, Some(need)) => ("yes", format!("ready, without {}", need.because)),
            (None, None) => ("yes", "ready".to_owned()),
        };
        lines.push(format!("  {mark:<3}  {:<12} {state}", readiness.feature));
        let get = missing(Weight::Needed).and_then(|need| need.get.as_ref());
        lines.extend(
            get.filter(|_| readiness.default)
                .map(|get| format!("       hint: {get}")),
        );
    }
    lines.push("what a feature lacks: bartizan doctor FEATURE; all that was tried: --all".to_owned());
    lines.push("what experiments lack: bartizan lab doctor".to_owned());
    lines.join("\n") + "\n"
}

/// The line as far as a terminal of 80 columns has room: names of processors are long.
fn cut(line: &str) -> String {
    if line.chars().count() <= COLUMNS {
        return line.to_owned();
    }
    line.chars().take(COLUMNS - 1).chain(['…']).collect()
}

/// All of it, or of the features asked for only what keeps them.
pub(super) fn of(report: &Report, everything: bool) -> String {
    let mut text = String::new();
    // Writing to a String cannot fail.
    if everything {
        let _ = writeln!(text, "{}", host(report));
        section(&mut text, "rights", report.rights.iter().map(examined));
        section(&mut text, "kernel", report.kernel.iter().map(examined));
        section(
            &mut text,
            "lab roots and kernels of guests",
            report.roots.iter().map(root),
        );
        section(&mut text, "programs", report.tools.iter().flat_map(tool));
        let _ = writeln!(text);
    }
    let _ = writeln!(text, "features");
    for readiness in &report.features {
        feature(&mut text, readiness);
    }
    text
}

fn host(report: &Report) -> String {
    let host = &report.host;
    let cpu = host.cpu.as_deref().unwrap_or("an unknown processor");
    let memory = host
        .memory
        .map_or(String::new(), |bytes| format!(", {} MB", bytes >> 20));
    let names = |usable: bool| -> Vec<&str> {
        let all = report.processor.iter();
        all.filter(|one| one.usable == usable).map(|one| one.name).collect()
    };
    let mut line = format!(
        "host\n  Linux {}, {cpu}, {} processors{memory}\n",
        host.kernel, host.cores
    );
    let (has, lacks) = (names(true), names(false));
    if !has.is_empty() {
        let _ = writeln!(line, "  instructions: {}", has.join(", "));
    }
    if !lacks.is_empty() {
        let _ = writeln!(line, "  no {}", lacks.join(", no "));
    }
    line.truncate(line.trim_end().len());
    line
}

fn section(text: &mut String, title: &str, rows: impl Iterator<Item = [String; 3]>) {
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return;
    }
    let wide = rows.iter().map(|row| row[1].chars().count()).max().unwrap_or(0);
    let _ = writeln!(text, "\n{title}");
    for [mark, name, rest] in rows {
        let line = format!("  {mark:<3}  {name:<wide$}  {rest}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
}

fn examined(one: &Examined) -> [String; 3] {
    [mark(&one.presence).to_owned(), one.name.to_owned(), said(&one.presence)]
}

fn root(root: &Root) -> [String; 3] {
    let [mark, name, said] = examined(&root.examined);
    let packages = root
        .packages
        .map_or(String::new(), |count| format!(", {count} packages"));
    [mark, name, said + &packages]
}

fn tool(tool: &Tool) -> Vec<[String; 3]> {
    let of = if tool.of == HOST {
        String::new()
    } else {
        format!(", lab root {}", tool.of.rsplit('/').next().unwrap_or(&tool.of))
    };
    let rest = match &tool.presence {
        Presence::Present { .. } => {
            let version = tool.version.as_deref().map_or("says nothing of its version", shortened);
            format!("{version}{of}")
        }
        other => said(other),
    };
    let mut rows = vec![[mark(&tool.presence).to_owned(), tool.program.to_owned(), rest]];
    rows.extend(tool.abilities.iter().map(|ability| {
        let [mark, name, said] = examined(ability);
        [mark, format!("  {name}"), said]
    }));
    rows
}

/// A line such as `curl 7.88.1 (x86_64-pc-linux-gnu) libcurl/7.88.1 ...`, to the end of the first word that is a version.
fn shortened(line: &str) -> &str {
    let version = |word: &str| word.contains('.') && word.contains(|letter: char| letter.is_ascii_digit());
    let mut end = 0;
    for word in line.split_inclusive(' ') {
        end += word.len();
        if version(word) {
            return line[..end].trim_end_matches([' ', ',', '.']);
        }
    }
    line
}

fn mark(presence: &Presence) -> &'static str {
    match presence {
        Presence::Present { .. } => "yes",
        Presence::Absent { .. } => "no",
        Presence::Unknown { .. } => "?",
    }
}

fn said(presence: &Presence) -> String {
    match presence {
        Presence::Present { detail } => detail.clone().unwrap_or_default(),
        Presence::Absent { reason, get } | Presence::Unknown { reason, get } => format!("{reason}; {get}"),
    }
}

fn feature(text: &mut String, readiness: &Readiness) {
    let missing = |weight| {
        let needs = readiness.needs.iter();
        needs.filter(move |need| !need.met && need.weight == weight)
    };
    let state = match (readiness.ready, missing(Weight::Wanted).next()) {
        (true, None) => "ready",
        (true, Some(_)) => "ready, but for a part",
        (false, _) => "not ready",
    };
    let _ = writeln!(text, "  {:<16} {state}", readiness.feature);
    for (weight, word) in [(Weight::Needed, "needs"), (Weight::Wanted, "lacks")] {
        for need in missing(weight) {
            let _ = writeln!(text, "    {word}  {}", need.because);
            if let Some(reason) = &need.reason {
                let _ = writeln!(text, "           {reason}");
            }
            if let Some(get) = &need.get {
                let _ = writeln!(text, "    hint:  {get}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_ends_where_the_first_number_with_a_point_does() {
        for (line, short) in [
            ("curl 7.88.1 (x86_64-pc-linux-gnu) libcurl/7.88.1", "curl 7.88.1"),
            ("ip utility, iproute2-6.1.0, libbpf 1.1.2", "ip utility, iproute2-6.1.0"),
            ("TShark (Wireshark) 4.4.18.", "TShark (Wireshark) 4.4.18"),
            ("no version at all", "no version at all"),
            ("", ""),
        ] {
            assert_eq!(shortened(line), short);
        }
    }
}
