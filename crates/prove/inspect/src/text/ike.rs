//! Lines below the row of an IKE_SA or of an SCTP association.

use bartizan_posture::Interface;
use bartizan_wire::ike::{Exchange, ExchangeType, IkeSa, Retry};
use bartizan_wire::sctp::{Association, Sent};

use super::{counted, opened};

/// Proposals printed; all of them are in the JSON.
const PROPOSALS: usize = 4;
/// SAs printed that keys showed; all of them are in the JSON.
const MADE: usize = 8;

/// Offer, choice, exchanges and rekeys.
pub(super) fn explain(sa: &IkeSa) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(first) = sa.first_offer.as_deref().and_then(|first| first.key_exchange) {
        lines.push(format!("first     asked for {}", first.method));
    }
    if let Some(offered) = &sa.offered {
        for proposal in offered.value.iter().take(PROPOSALS) {
            lines.push(format!("offered   {proposal}"));
        }
        if let Some(more) = offered.value.len().checked_sub(PROPOSALS).filter(|more| *more > 0) {
            lines.push(format!("          and {more} more"));
        }
    }
    if let Some(chosen) = &sa.chosen {
        lines.push(format!("chosen    {}", chosen.value));
    }
    for retry in &sa.retries.first {
        lines.push(match retry.value {
            Retry::Cookie => "retried   with a cookie".into(),
            Retry::KeyExchange(method) => format!("retried   with {method}"),
        });
    }
    let set_up = [
        ExchangeType::IKE_SA_INIT,
        ExchangeType::IKE_INTERMEDIATE,
        ExchangeType::IKE_AUTH,
    ];
    let times = sa.exchanges.iter().filter(|exchange| set_up.contains(&exchange.kind));
    let times: Vec<String> = times.map(|one| exchange(&one)).collect();
    if !times.is_empty() {
        lines.push(format!("took      {}", times.join(", ")));
    }
    let (ours, theirs) = (&sa.from_initiator, &sa.from_responder);
    let fragments = ours.ip_fragments + theirs.ip_fragments;
    let ike_fragments = ours.ike_fragments + theirs.ike_fragments;
    lines.push(format!(
        "carried   {} bytes in {}, {} and {}, {}",
        ours.ip_bytes + theirs.ip_bytes,
        counted(ours.packets + theirs.packets, "IP packet"),
        counted(fragments, "IP fragment"),
        counted(ike_fragments, "IKE fragment"),
        counted(ours.repeated + theirs.repeated, "retransmission")
    ));
    if sa.rekeys + sa.refused_rekeys > 0 {
        let follow_ups: usize = sa.rekeyed().iter().map(|(_, follow_ups)| follow_ups.len()).sum();
        lines.push(format!(
            "rekeyed   {} CREATE_CHILD_SA, {follow_ups} IKE_FOLLOWUP_KE, {} refused",
            sa.rekeys, sa.refused_rekeys
        ));
    }
    if let Some(opened) = &sa.opened {
        lines.extend(opened.made.first.iter().take(MADE).map(|made| {
            let (what, packet) = (&made.value, made.last.packet);
            let protocol = what.protocol();
            let how = if what.is_rekey { "rekey" } else { "new" };
            format!(
                "opened    {} {how} {protocol} {} (packet {packet})",
                what.by, what.chosen
            )
        }));
        if opened.unopened > 0 {
            lines.push(format!("unopened  {}", counted(opened.unopened, "message")));
        }
    }
    lines.extend(sa.faults.first.iter().map(|fault| {
        let packet = fault.last.packet;
        format!("fault     {} (packet {packet})", fault.value)
    }));
    lines
}

fn exchange(exchange: &Exchange) -> String {
    match exchange.duration() {
        Some(nanoseconds) => format!("{} {} us", exchange.kind, nanoseconds / 1000),
        None => format!("{} not answered", exchange.kind),
    }
}

/// Messages, payload protocols and addresses.
pub(super) fn explain_association(association: &Association, interface: Option<Interface>) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(interface) = interface {
        lines.push(format!(
            "interface {}, named by its {}",
            interface.name,
            interface.by.name()
        ));
    }
    for (name, sent) in [
        ("initiator", &association.from_initiator),
        ("responder", &association.from_responder),
    ] {
        lines.push(format!("{name} {}", direction(sent)));
    }
    let more = [
        &association.initiator_addresses[..],
        &association.responder_addresses[..],
    ];
    if more.iter().any(|addresses| addresses.len() > 1) {
        let names: Vec<String> = more.concat().iter().map(ToString::to_string).collect();
        lines.push(format!("addresses {}", names.join(" ")));
    }
    let dtls = association.dtls.iter();
    let shown = dtls.flat_map(|dtls| {
        [
            ("server", &dtls.server_certificates),
            ("client", &dtls.client_certificates),
        ]
    });
    lines.extend(
        shown.filter_map(|(end, seen)| Some(format!("shown     {end} {}", opened::of(&seen.as_ref()?.value.chain)))),
    );
    lines
}

fn direction(sent: &Sent) -> String {
    let protocols: Vec<String> = sent
        .payload_protocols
        .iter()
        .map(|(ppid, _)| ppid.to_string())
        .collect();
    let protocols = if protocols.is_empty() {
        String::new()
    } else {
        format!(", PPID {}", protocols.join(" "))
    };
    format!(
        "{} in {}{protocols}, {} sent again",
        counted(sent.messages, "message"),
        counted(sent.chunks, "chunk"),
        sent.repeated
    )
}
