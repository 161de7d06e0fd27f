//! sockperf, of the distribution.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::Program;

use super::{Asked, Load};
use crate::stand_in::e2::link::{Link, NODE, RIC};
use crate::workload::{Error, Lack};

const ANSWER: Duration = Duration::from_secs(10);
/// Besides what it sends for: it warms up and waits for what is late.
const REST: Duration = Duration::from_secs(20);
/// Interval between checks for a starting server.
const POLL: Duration = Duration::from_millis(20);

fn program() -> Program {
    Program::new("sockperf").package("sockperf")
}

/// Its version, once it is known that it is there.
pub(super) fn version() -> Option<String> {
    static VERSION: OnceLock<Option<String>> = OnceLock::new();
    VERSION
        .get_or_init(|| {
            let said = program().argument("--version").run(ANSWER).ok()?.text();
            let line = said
                .lines()
                .find_map(|line| line.trim().strip_prefix("sockperf, version "))?;
            Some(format!("sockperf {line}"))
        })
        .clone()
}

pub(super) fn lack() -> Option<Lack> {
    version().is_none().then(|| Lack {
        what: "sockperf".to_owned(),
        reason: "it is not in PATH, or does not tell its version".to_owned(),
        hint: "apt-get install sockperf".to_owned(),
        feature: None,
    })
}

/// One run of it: a server at the RIC's end, a client at the node's.
pub(super) fn measure(link: &Link, asked: Asked, load: Load) -> Result<BTreeMap<&'static str, Vec<f64>>, Error> {
    let (node, ric) = (NODE.to_string(), RIC.to_string());
    let server = program().arguments(["sr", "--ip", &ric]).inside(link.ric());
    let mut server = server.start()?;
    server.wait_for_line("listen on", ANSWER)?;
    let seconds = asked.lasting.as_secs().max(1).to_string();
    let size = asked.size.to_string();
    let mode = if load.in_turn { "pp" } else { "ul" };
    let client = || {
        let client = program()
            .arguments([mode, "--ip", &ric, "--client_ip", &node, "-t", &seconds, "-m", &size])
            .inside(link.node());
        if load.in_turn {
            return client;
        }
        let (rate, every) = (format!("{:.0}", load.rate), asked.every.to_string());
        client.arguments(["--mps", &rate, "--reply-every", &every])
    };
    // It listens a moment after it has said so; a client that comes sooner hears nothing.
    let until = Instant::now() + ANSWER;
    loop {
        let finished = client().run(asked.lasting + REST)?;
        let said = finished.text();
        match read(&said) {
            Some(values) => return Ok(values),
            None if Instant::now() < until => thread::sleep(POLL),
            None => {
                let last = said.lines().last().unwrap_or_default();
                return Err(Error::Handshake(format!("sockperf has no summary: {last}")));
            }
        }
    }
}

/// Reads the summary that it prints at the end.
fn read(said: &str) -> Option<BTreeMap<&'static str, Vec<f64>>> {
    let after = |label: &str| -> Option<f64> {
        let (_, rest) = said.split_once(label)?;
        let number = rest.trim_start();
        let end = number.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        number[..end.unwrap_or(number.len())].parse().ok()
    };
    let valid = &said[said.find("[Valid Duration]")?..];
    let counted = |label: &str| -> Option<f64> {
        let (_, rest) = valid.split_once(label)?;
        let end = rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
        rest[..end.unwrap_or(rest.len())].parse().ok()
    };
    let (sent, took) = (counted("SentMessages=")?, counted("RunTime=")?);
    let dropped = after("# dropped messages =")?;
    if sent <= 0.0 || took <= 0.0 {
        return None;
    }
    Some(
        [
            ("latency", vec![after("percentile 50.000 =")?]),
            ("mean", vec![after("Summary: Latency is")?]),
            ("lost", vec![100.0 * dropped / sent]),
            ("sent", vec![sent / took]),
        ]
        .into(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of `sockperf ul --ip 127.0.0.1 --client_ip 127.0.0.1 -t 1`, version 3.7, on a busy
    /// machine.
    const SAID: &str = "sockperf: Test ended
sockperf: [Total Run] RunTime=1.006 sec; Warm up time=400 msec; SentMessages=9931; ReceivedMessages=98
sockperf: ========= Printing statistics for Server No: 0
sockperf: [Valid Duration] RunTime=0.514 sec; SentMessages=5201; ReceivedMessages=53
sockperf: \u{1b}[2;35m====> avg-latency=1258.752 (std-dev=2262.447)\u{1b}[0m
sockperf: # dropped messages = 0; # duplicated messages = 0; # out-of-order messages = 0
sockperf: Summary: Latency is 1258.752 usec
sockperf: ---> percentile 99.000 = 7888.760
sockperf: ---> percentile 50.000 =  298.117
sockperf: ---> <MIN> observation =    8.120
";

    #[test]
    fn what_sockperf_says_in_the_end_is_read() {
        let values = read(SAID).unwrap();
        assert_eq!((&values["latency"], &values["mean"]), (&vec![298.117], &vec![1258.752]));
        assert_eq!(values["lost"], [0.0]);
        assert!((values["sent"][0] - 5201.0 / 0.514).abs() < 1e-9);
    }

    #[test]
    fn what_has_no_summary_or_is_cut_is_none() {
        for end in [0, 20, 120, 300, 400] {
            assert!(read(&SAID[..end.min(SAID.len())]).is_none(), "{end}");
        }
        assert!(read("sockperf: No messages were received from the server").is_none());
    }
}
