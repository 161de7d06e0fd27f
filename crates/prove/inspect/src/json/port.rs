//! EAP, MKA and MACsec in the report for programs.

use bartizan_wire::Moment;
use bartizan_wire::datagrams::Port;
use bartizan_wire::eap::{Eap, method_name};
use bartizan_wire::macsec::{Association, MacSec};
use bartizan_wire::mka::{Distributed, InUse, Mka, Participant};
use serde::Serialize;

/// One of the three, under its name.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum PortFacts {
    Eap(EapFacts),
    Mka(Vec<ParticipantFacts>),
    MacSec(MacSecFacts),
}

#[derive(Serialize)]
pub(super) struct EapFacts {
    methods: Vec<String>,
    packets: u64,
    starts: u64,
    logoffs: u64,
    key_frames: u64,
    success_packet: Option<u64>,
    failure_packet: Option<u64>,
}

#[derive(Serialize)]
pub(super) struct ParticipantFacts {
    channel: Option<String>,
    pdus: u64,
    key_server: bool,
    priority: u8,
    desires_macsec: bool,
    capability: u8,
    plain: bool,
    ckns: Vec<Name>,
    distributed: Vec<Given>,
    in_use: Vec<Used>,
    more: bool,
}

#[derive(Serialize)]
struct Name {
    ckn: String,
    packet: u64,
}

#[derive(Serialize)]
struct Given {
    key: String,
    association: u8,
    ckn: String,
    suite: String,
    confidentiality_offset: Option<u8>,
    packet: u64,
}

#[derive(Serialize)]
struct Used {
    key: String,
    association: u8,
    sends: bool,
    receives: bool,
    packet: u64,
}

#[derive(Serialize)]
pub(super) struct MacSecFacts {
    encrypted: u64,
    irregular: u64,
    associations: Vec<AssociationFacts>,
    frames_of_other_associations: u64,
    frames_with_readable_headers: u64,
    mka_packet: Option<u64>,
    suite: Option<String>,
}

#[derive(Serialize)]
struct AssociationFacts {
    channel: String,
    number: u8,
    frames: u64,
    first_packet_number: u32,
    highest_packet_number: u32,
    restarted: u32,
    late: u64,
}

fn packet(at: Option<Moment>) -> Option<u64> {
    at.map(|at| at.packet)
}

fn suite(id: u64) -> String {
    format!("{id:016x}")
}

impl PortFacts {
    pub(super) fn new(port: &Port) -> Self {
        match port {
            Port::Eap(eap) => Self::Eap(EapFacts::new(eap)),
            Port::Mka(mka) => Self::Mka(Self::participants(mka)),
            Port::MacSec(seen) => Self::MacSec(MacSecFacts::new(seen)),
        }
    }

    fn participants(mka: &Mka) -> Vec<ParticipantFacts> {
        let seen = mka.ends.iter().filter(|end| end.pdus > 0);
        seen.map(ParticipantFacts::new).collect()
    }
}

impl EapFacts {
    fn new(eap: &Eap) -> Self {
        let name = |method: &u8| method_name(*method).map_or_else(|| method.to_string(), str::to_owned);
        Self {
            methods: eap.methods.iter().map(name).collect(),
            packets: eap.packets,
            starts: eap.starts,
            logoffs: eap.logoffs,
            key_frames: eap.keys,
            success_packet: packet(eap.success),
            failure_packet: packet(eap.failure),
        }
    }
}

impl ParticipantFacts {
    fn new(end: &Participant) -> Self {
        let given = |given: &Distributed| Given {
            key: given.key.to_string(),
            association: given.association,
            ckn: given.ckn.to_string(),
            suite: suite(given.suite),
            confidentiality_offset: given.confidentiality_offset,
            packet: given.first.packet,
        };
        let used = |used: &InUse| Used {
            key: used.key.to_string(),
            association: used.association,
            sends: used.sends,
            receives: used.receives,
            packet: used.first.packet,
        };
        let names = end.names.iter().map(|(name, at)| Name {
            ckn: name.to_string(),
            packet: at.packet,
        });
        Self {
            channel: end.channel.map(|channel| channel.to_string()),
            pdus: end.pdus,
            key_server: end.key_server,
            priority: end.priority,
            desires_macsec: end.desires,
            capability: end.capability,
            plain: end.plain,
            ckns: names.collect(),
            distributed: end.distributed.iter().map(given).collect(),
            in_use: end.in_use.iter().map(used).collect(),
            more: end.more,
        }
    }
}

impl MacSecFacts {
    fn new(seen: &MacSec) -> Self {
        let association = |known: &Association| AssociationFacts {
            channel: known.channel.to_string(),
            number: known.number,
            frames: known.frames,
            first_packet_number: known.first_number,
            highest_packet_number: known.highest_number,
            restarted: known.restarted,
            late: known.late,
        };
        Self {
            encrypted: seen.encrypted,
            irregular: seen.irregular,
            associations: seen.associations.iter().map(association).collect(),
            frames_of_other_associations: seen.others,
            frames_with_readable_headers: seen.readable,
            mka_packet: packet(seen.keying.agreed),
            suite: seen.keying.suite.map(suite),
        }
    }
}
