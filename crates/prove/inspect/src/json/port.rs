//! EAP, MKA and MACsec in the report for programs.

use bartizan_registry::object;
use bartizan_wire::Moment;
use bartizan_wire::eap::{Eap, method_name};
use bartizan_wire::macsec::{Association, MacSec};
use bartizan_wire::mka::{Distributed, InUse, Mka, Participant};
use serde::Serialize;

use super::list;

fn packet(at: Option<Moment>) -> Option<u64> {
    at.map(|at| at.packet)
}

fn suite(id: u64) -> String {
    format!("{id:016x}")
}

pub(super) fn mka_facts(mka: &Mka) -> Vec<impl Serialize> {
    let seen = mka.ends.iter().filter(|end| end.pdus > 0);
    seen.map(participant_facts).collect()
}

pub(super) fn eap_facts(eap: &Eap) -> impl Serialize {
    let name = |method: &u8| method_name(*method).map_or_else(|| method.to_string(), str::to_owned);
    object!(Eap {
        methods: list(&eap.methods, name),
        packets: eap.packets,
        starts: eap.starts,
        logoffs: eap.logoffs,
        key_frames: eap.keys,
        success_packet: packet(eap.success),
        failure_packet: packet(eap.failure),
    })
}

fn participant_facts(end: &Participant) -> impl Serialize {
    let given = |given: &Distributed| {
        object!(Given {
            key: given.key.to_string(),
            association: given.association,
            ckn: given.ckn.to_string(),
            suite: suite(given.suite),
            confidentiality_offset: given.confidentiality_offset,
            packet: given.first.packet,
        })
    };
    let used = |used: &InUse| {
        object!(Used {
            key: used.key.to_string(),
            association: used.association,
            sends: used.sends,
            receives: used.receives,
            packet: used.first.packet,
        })
    };

    object!(Participant {
        channel: end.channel.map(|channel| channel.to_string()),
        pdus: end.pdus,
        key_server: end.key_server,
        priority: end.priority,
        desires_macsec: end.desires,
        capability: end.capability,
        plain: end.plain,
        ckns: list(&end.names, |(name, at)| object!(Name {
            ckn: name.to_string(),
            packet: at.packet,
        })),
        distributed: list(&end.distributed, given),
        in_use: list(&end.in_use, used),
        more: end.more,
    })
}

pub(super) fn mac_sec_facts(seen: &MacSec) -> impl Serialize {
    let association = |known: &Association| {
        object!(Association {
            channel: known.channel.to_string(),
            number: known.number,
            frames: known.frames,
            first_packet_number: known.first_number,
            highest_packet_number: known.highest_number,
            restarted: known.restarted,
            late: known.late,
        })
    };
    object!(MacSec {
        encrypted: seen.encrypted,
        irregular: seen.irregular,
        associations: list(&seen.associations, association),
        frames_of_other_associations: seen.others,
        frames_with_readable_headers: seen.readable,
        mka_packet: packet(seen.keying.agreed),
        suite: seen.keying.suite.map(suite),
    })
}
