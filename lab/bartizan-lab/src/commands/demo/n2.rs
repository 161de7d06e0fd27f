//! N2 carried by sidecars: a gNB and an AMF say again what was recorded of real ones, first
//! unprotected, then over TLS and over QUIC, and at last where the AMF's sidecar is gone.

mod hosts;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bartizan_host::{Facts, Feature, LabRoot, Permission, Support};
use bartizan_testing::Guest;
use bartizan_wire::{CaptureReader, ip, link};
use bartizan_workbench::stand_in::n2::{Changed, Exchange};
use serde::Serialize;

use super::eavesdropper::{self, View};
use super::scratch::Scratch;
use super::{failed, show};
use crate::interrupt::Interrupt;
use crate::output::{errln, out, outln};
use crate::{Failure, Outcome};
use hosts::Hosts;

/// Time limit of the demo in a guest: ten seconds, and a margin for a busy machine.
const IN_A_GUEST: Duration = Duration::from_secs(600);

/// Everything that was seen.
#[derive(Serialize)]
struct Report {
    schema: &'static str,
    version: &'static str,
    facts: Facts,
    /// True if a guest's kernel was used, because this machine's has no SCTP.
    guest: bool,
    /// Messages of the recording.
    messages: usize,
    runs: Vec<Run>,
    killed: Killed,
    seconds: f64,
}

/// Protection between the gNB and the AMF.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Between {
    /// Nothing: one association from host to host.
    Nothing,
    /// Two sidecars, and TLS over TCP.
    Tls,
    /// Two sidecars, and QUIC.
    Quic,
}

impl Between {
    const ALL: [Self; 3] = [Self::Nothing, Self::Tls, Self::Quic];

    /// The word in the deployment file.
    fn carrier(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Tls => Some("tls"),
            Self::Quic => Some("quic"),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Nothing => "N2 without protection, as it is where there is no IPsec",
            Self::Tls => "two sidecars, carrier: tls",
            Self::Quic => "two sidecars, carrier: quic",
        }
    }
}

/// The recording, said once.
#[derive(Serialize)]
struct Run {
    between: Between,
    /// Messages that arrived with other boundaries, on another stream or with another payload
    /// protocol identifier.
    boundaries_changed: usize,
    streams_changed: usize,
    payload_protocols_changed: usize,
    ng_setup_ms: f64,
    registrations_ms: Vec<f64>,
    /// Unencrypted packets of SCTP on the cable.
    sctp_packets: u64,
    eavesdropper: View,
}

impl Run {
    fn changed(&self) -> usize {
        self.boundaries_changed + self.streams_changed + self.payload_protocols_changed
    }

    /// True if the result is the required one.
    fn holds(&self) -> bool {
        let view = &self.eavesdropper;
        let all = |verdicts: &[(String, String)]| {
            !verdicts.is_empty() && verdicts.iter().all(|(verdict, _)| verdict == QUANTUM_SAFE)
        };
        let protected = || {
            self.sctp_packets == 0
                && view.dropped == 0
                && all(&view.confidentiality)
                && all(&view.authenticity_by_ledger)
        };
        self.changed() == 0
            && match self.between {
                Between::Nothing => self.sctp_packets > 0,
                Between::Tls | Between::Quic => protected(),
            }
    }
}

/// The verdict, by the name that the inspector gives it.
const QUANTUM_SAFE: &str = "quantum-safe";

/// An association that is opened while the AMF's sidecar is gone.
#[derive(Serialize)]
struct Killed {
    /// Result of the association: an error, or an answer.
    outcome: Result<String, String>,
    sctp_packets: u64,
    /// Packets that the capture lost.
    dropped: u64,
}

impl Killed {
    fn holds(&self) -> bool {
        self.outcome.is_err() && self.sctp_packets == 0 && self.dropped == 0
    }
}

/// Runs it on this machine's kernel, or where that has no SCTP in a guest's.
pub(super) fn run(json: bool, out: Option<&Path>) -> Result<Outcome, Failure> {
    let facts = Facts::gather();
    let needed = [
        ("network namespaces", &facts.namespaces),
        ("veth", &facts.veth),
        ("packet capture", &facts.capture),
    ];
    for (what, permission) in needed {
        if let Permission::Refused(reason) = permission {
            return Err(Failure::new(format!(
                "N2 is shown on two hosts with a cable, which takes {what}: {reason}"
            ))
            .hint("run this as root"));
        }
    }
    match Feature::Sctp.tried() {
        Support::Present => here(facts, json, out),
        Support::Absent(reason) | Support::Unknown(reason) => in_a_guest(&reason, json, out),
    }
}

/// The same command on a kernel that has SCTP.
fn in_a_guest(reason: &str, json: bool, out: Option<&Path>) -> Result<Outcome, Failure> {
    let lacking = || {
        Failure::new(format!("N2 is SCTP, and this machine's kernel has none: {reason}"))
            .hint("`modprobe sctp`, where the kernel has the module")
    };
    let root = LabRoot::sid().map_err(failed)?.present().ok_or_else(|| {
        lacking().hint("`bartizan lab root sid` builds a kernel that runs as a process (a minute, 500 MB); this command then uses it")
    })?;
    let guest = Guest::of(&root).map_err(|error| lacking().hint(error))?;
    errln!(
        "this machine's kernel has no SCTP ({reason}): in a guest, Linux {}; speeds there are not this machine's",
        guest.release()
    );
    let own = crate::commands::own()?;
    let mut program = guest.program(own).arguments(["demo", "--n2"]);
    if json {
        program = program.argument("--json");
    }
    if let Some(out) = out {
        let out = std::path::absolute(out).map_err(|error| Failure::new(format!("{}: {error}", out.display())))?;
        program = program.argument("--out").argument(out);
    }
    let finished = program
        .start()
        .and_then(|process| process.finish(IN_A_GUEST))
        .map_err(failed)?;
    errln!("{}", String::from_utf8_lossy(&finished.stderr).trim_end());
    out!("{}", finished.text());
    match finished.status.code() {
        Some(0) => Ok(Outcome::Clean),
        Some(1) => Ok(Outcome::Finding),
        _ => Err(Failure::new(
            "the demo in the guest did not end well, for the reason above",
        )),
    }
}

fn here(facts: Facts, json: bool, out: Option<&Path>) -> Result<Outcome, Failure> {
    let began = Instant::now();
    let interrupt = Interrupt::install()?;
    let scratch = Scratch::open(out)?;
    show::opening(&facts, &[]);
    let exchange = Exchange::free5gc();
    let messages = exchange.messages().len();
    errln!(
        "\nUERANSIM's gNB and the AMF of free5GC, recorded: NG Setup and two registrations, {messages} messages of NGAP"
    );
    let mut runs = Vec::new();
    for between in Between::ALL {
        interrupt.check()?;
        show::step(between.title());
        let folder = scratch.path().join(between.carrier().unwrap_or("unprotected"));
        let run = once(&folder, between, &exchange)?;
        tell(&run, messages);
        runs.push(run);
    }
    interrupt.check()?;
    show::step("the AMF's sidecar is killed");
    let killed = killed(&scratch.path().join("killed"))?;
    match &killed.outcome {
        Ok(answer) => errln!("  the gNB is answered: {answer}"),
        Err(why) => errln!("  the gNB is not answered: {why}"),
    }
    errln!("  on the cable: {} packets of SCTP", killed.sctp_packets);
    errln!("  {}", verdict(killed.holds(), "fails closed"));
    let report = Report {
        schema: "bartizan-demo-n2/1",
        version: env!("CARGO_PKG_VERSION"),
        facts,
        guest: Guest::is_here(),
        messages,
        runs,
        killed,
        seconds: began.elapsed().as_secs_f64(),
    };
    if json {
        outln!("{}", serde_json::to_string_pretty(&report).map_err(Failure::new)?);
    }
    if let Some(out) = out {
        errln!(
            "\nkept in {}: captures, ledgers, logs, the deployment files",
            out.display()
        );
    }
    errln!("\n{:.0} s; nothing is left running", report.seconds);
    let held = report.runs.iter().all(Run::holds) && report.killed.holds();
    Ok(if held { Outcome::Clean } else { Outcome::Finding })
}

fn verdict(holds: bool, what: &str) -> &str {
    if holds { what } else { "NOT AS IT MUST BE" }
}

/// The recording, said once over what stands between the two, with what is on their cable.
fn once(folder: &Path, between: Between, exchange: &Exchange) -> Result<Run, Failure> {
    let hosts = Hosts::connect()?;
    create(folder)?;
    let cable = folder.join("cable.pcap");
    let capture = hosts.capture(&cable)?;
    let sidecars = between
        .carrier()
        .map(|carrier| hosts.sidecars(folder, carrier))
        .transpose()?;
    let (seen, changed) = hosts.play(exchange, sidecars.is_some())?;
    let mut ledgers: Vec<PathBuf> = Vec::new();
    if let Some(sidecars) = sidecars {
        ledgers = sidecars.stop()?;
    }
    let dropped = capture.stop().map_err(failed)?.dropped;
    let Changed {
        boundaries,
        streams,
        payload_protocols,
    } = changed;
    let [ng_setup, registrations @ ..] = &seen[..] else {
        return Err(Failure::new("the recording has no procedure"));
    };
    let milliseconds = |took: &Duration| took.as_secs_f64() * 1e3;
    Ok(Run {
        between,
        boundaries_changed: boundaries,
        streams_changed: streams,
        payload_protocols_changed: payload_protocols,
        ng_setup_ms: milliseconds(ng_setup),
        registrations_ms: registrations.iter().map(milliseconds).collect(),
        sctp_packets: sctp_packets(&cable)?,
        eavesdropper: eavesdropper::look(&cable, dropped, &ledgers)?,
    })
}

/// An association towards an AMF whose sidecar was killed.
fn killed(folder: &Path) -> Result<Killed, Failure> {
    let hosts = Hosts::connect()?;
    create(folder)?;
    let mut sidecars = hosts.sidecars(folder, "tls")?;
    let cable = folder.join("cable.pcap");
    let capture = hosts.capture(&cable)?;
    sidecars.kill_amf()?;
    let outcome = hosts.first_answer()?;
    sidecars.stop()?;
    let dropped = capture.stop().map_err(failed)?.dropped;
    Ok(Killed {
        outcome,
        sctp_packets: sctp_packets(&cable)?,
        dropped,
    })
}

fn create(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| Failure::new(format!("{}: {error}", folder.display())))
}

/// Packets of SCTP in a capture.
fn sctp_packets(capture: &Path) -> Result<u64, Failure> {
    let bytes = fs::read(capture).map_err(|error| Failure::new(format!("{}: {error}", capture.display())))?;
    let mut reader = CaptureReader::new();
    reader.push(&bytes);
    let mut count = 0;
    while let Some(packet) = reader.next_packet().map_err(failed)? {
        if let link::Network::Ip(bytes) = link::network(packet.link, packet.data)
            && ip::datagram(bytes).is_some_and(|datagram| datagram.protocol == ip::SCTP)
        {
            count += 1;
        }
    }
    Ok(count)
}

fn tell(run: &Run, messages: usize) {
    let view = &run.eavesdropper;
    errln!(
        "  {} of {messages} messages arrived with their boundaries, streams and payload protocol identifiers",
        messages - run.changed().min(messages)
    );
    let registrations: Vec<String> = run.registrations_ms.iter().map(|took| format!("{took:.1}")).collect();
    errln!(
        "  NG Setup {:.1} ms, registrations {} ms, without the functions' own time",
        run.ng_setup_ms,
        registrations.join(" and ")
    );
    errln!(
        "  on the cable: {} packets of SCTP{}",
        run.sctp_packets,
        if run.sctp_packets > 0 {
            ", which anybody there can read"
        } else {
            ""
        }
    );
    let groups: Vec<String> = view
        .groups
        .iter()
        .map(|(group, count)| format!("{count} x {group}"))
        .collect();
    if run.between != Between::Nothing {
        errln!("    negotiated     {}", groups.join(", "));
    }
    for (what, verdicts) in [
        ("recording", &view.confidentiality),
        ("with ledgers", &view.authenticity_by_ledger),
    ] {
        for (verdict, because) in verdicts {
            errln!("    {what:<15}{verdict}: {because}");
        }
    }
    let good = match run.between {
        Between::Nothing => "readable now",
        Between::Tls | Between::Quic => "quantum-safe: nothing readable, group and signatures were seen",
    };
    errln!("  {}", verdict(run.holds(), good));
}
