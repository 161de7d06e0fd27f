//! The demo's words. They go to standard error, so that `--json` has standard output to itself.

use std::path::Path;

use bartizan_host::Facts;

use crate::commands::demo::core::{self, Core, PRODUCERS};
use crate::commands::demo::eavesdropper::View;
use crate::commands::demo::outer::Exchange;
use crate::commands::demo::refusals::Refusal;
use crate::commands::demo::registrations::{Description, Run};
use crate::commands::demo::stage::Stage;
use crate::commands::demo::transparent::{Attempt, Expected};
use crate::output::errln;

pub(super) fn opening(facts: &Facts, left_out: &[String]) {
    errln!("bartizan {} demo", env!("CARGO_PKG_VERSION"));
    errln!(
        "  on {} cores of {}, Linux {}, load {}; cryptography: {}",
        facts.cores,
        facts.cpu.as_deref().unwrap_or("an unnamed processor"),
        facts.kernel,
        facts
            .load
            .map_or_else(|| "unknown".to_owned(), |load| format!("{load:.2}")),
        bartizan_tls::module(),
    );
    for line in left_out {
        errln!("  left out: {line}");
    }
}

pub(super) fn step(what: &str) {
    errln!("\n== {what}");
}

pub(super) fn outer(exchanges: &[Exchange]) {
    for exchange in exchanges {
        errln!("  {:<34} {}", exchange.what, exchange.answer);
    }
}

pub(super) fn refusals(refusals: &[Refusal]) {
    for refusal in refusals {
        errln!("  {:<34} refused: {}", refusal.client, refusal.answer);
        errln!(
            "  {:<34}   the refuser's ledger: {}: {}",
            "",
            refusal.reason,
            refusal.detail
        );
    }
}

pub(super) fn registrations(description: &Description) {
    errln!(
        "\n{}: {} connections, {} requests to {}; {} answered, {} refused unprocessed by a closing connection and repeated",
        description.description,
        description.connections,
        description.requests,
        description.functions.join(", "),
        description.answered,
        description.requests - description.answered,
    );
}

pub(super) fn run(run: &Run) {
    errln!(
        "  {} requests answered byte for byte as recorded, {} not; {:.1} s",
        run.requests,
        run.errors.len(),
        run.duration_us / 1e6,
    );
    for fault in run.errors.iter().take(5) {
        errln!("  not as recorded: {fault}");
    }
    if let Some(view) = &run.eavesdropper {
        eavesdropper(view);
    }
}

pub(super) fn transparent() {
    errln!(
        "  three hosts on cables; curl next to the NEF's sidecar knows the NRF's address alone, asks it for a UDM and calls the"
    );
    errln!("  address it is given, in unencrypted HTTP/2. Counted is what is on the NEF's cables meanwhile.");
}

pub(super) fn attempt(attempt: &Attempt) {
    let egress = &attempt.egress;
    let outcome = match &attempt.outcome {
        Ok(answer) => format!("answered: {answer}"),
        Err(why) => format!("not answered: {why}"),
    };
    errln!("  {:<36} {outcome}", attempt.title);
    let clear = match (egress.clear_bytes, egress.clear_packets) {
        (0, 0) => "0 bytes of unencrypted SBI, not a packet".to_owned(),
        (bytes, packets) => format!("{bytes} bytes of unencrypted SBI in {packets} packets"),
    };
    let protected = if egress.groups.is_empty() {
        format!("{} bytes between sidecars", egress.protected_bytes)
    } else {
        format!(
            "{} bytes between sidecars, {} negotiated",
            egress.protected_bytes,
            counted(&egress.groups)
        )
    };
    errln!("  {:<36}   on the wire: {clear}; {protected}", "");
    if !egress.readable.is_empty() {
        errln!("  {:<36}   can be read: {}", "", egress.readable.join(", "));
    }
    let verdict = match (attempt.holds(), attempt.expected) {
        (true, Expected::Unencrypted) => "readable now, as a core without sidecars is",
        (true, Expected::Protected) => "quantum-safe: nothing readable, and the group was seen",
        (true, Expected::Refused) => "fails closed",
        (false, _) => "NOT AS IT MUST BE",
    };
    errln!("  {:<36}   {verdict}", "");
}

/// "2 x X25519MLKEM768, 1 x x25519".
fn counted(pairs: &[(String, u64)]) -> String {
    let parts: Vec<_> = pairs.iter().map(|(name, count)| format!("{count} x {name}")).collect();
    parts.join(", ")
}

fn eavesdropper(view: &View) {
    errln!(
        "  the eavesdropper sees {} connections ({}), {} packets, {} bytes{}",
        view.connections,
        counted(&view.kinds),
        view.packets,
        view.bytes,
        if view.dropped == 0 {
            String::new()
        } else {
            format!("; {} packets were missed", view.dropped)
        },
    );
    if let (Some((low, high)), Some((down, up))) = (view.client_hello, view.server_flight) {
        errln!(
            "    negotiated     {}; first flights {low} to {high} bytes from clients, {down} to {up} from servers; {} HelloRetryRequests",
            counted(&view.groups),
            view.hello_retry_requests,
        );
    }
    if view.readable.is_empty() {
        errln!("    can read       no subscriber's identity");
    } else {
        errln!(
            "    can read       {} ({} in all)",
            view.readable.join(", "),
            view.readable_count
        );
    }
    let verdicts = |what: &str, all: &[(String, String)]| {
        for (verdict, because) in all {
            errln!("    {what:<15}{verdict}: {because}");
        }
    };
    verdicts("recording", &view.confidentiality);
    verdicts("forgery", &view.authenticity);
    if view.authenticity_by_ledger != view.authenticity {
        verdicts("with ledgers", &view.authenticity_by_ledger);
    }
}

pub(super) fn closing(report: &super::Report, out: Option<&Path>, keep: bool) {
    if let Some(out) = out {
        let out = out.display();
        errln!("\nkept in {out}: captures, ledgers, logs, the deployment files. Look for yourself:");
        let ledgers = "hybrid-http2/*.ledger.jsonl";
        errln!(
            "  for l in {out}/{ledgers}; do set -- \"$@\" --ledger $l; done; bartizan inspect {out}/hybrid-http2/link.pcap \"$@\""
        );
    }
    errln!(
        "\n{:.0} s{}",
        report.seconds,
        if keep { "" } else { "; nothing is left running" }
    );
}

pub(super) fn kept(stage: &Stage, core: &Core) {
    let prefix = stage.prefix();
    let admin = core::admin_address(stage);
    let local = core::local_address(stage, 0);
    errln!(
        "\nkept running until Ctrl-C: curl's side, nghttpd and {} sidecars. To look:",
        PRODUCERS.len() + 1
    );
    errln!("  {prefix}curl -s http://{admin}/metrics");
    errln!("  {prefix}curl -s http://{admin}/connections");
    errln!("  {prefix}curl -s --http2-prior-knowledge http://{local}/nf-instance.json");
    errln!("  bartizan check {} --node consumers", core.deployment.display());
}
