//! `bartizan plan mtu`.

mod handshakes;
mod payload;
mod probability;

use bartizan_budget::mtu::path_mtu;
use bartizan_budget::overhead::{IpVersion, Protection};
use bartizan_budget::unit::{Bytes, Microseconds, Share};
use bartizan_budget::{Source, published};
use bartizan_page::sheet::{Grid, Section, Sheet};
use bartizan_registry::{
    Group, IPV4_MTU_LEAST, Signature, Transform, TransformKind, group_named, object, signature_named, transform_named,
};

use super::answer::{Form, again, cited, give};
use super::curves::PUBLISHED;
use crate::{Failure, Outcome};

/// Version of the JSON form: it changes when a field changes its meaning or goes.
const SCHEMA: &str = "bartizan-plan-mtu/1";

/// Say what fits into a packet: path MTU within nested protections, the best split of a payload, packets and round trips of handshakes, and how likely they end in time.
///
/// Handshakes are those of TLS 1.3 over TCP, of QUIC and of IKEv2, both ends with certificates, for each group and signature. Key exchanges of IKEv2 are X25519 first
/// and the group's ML-KEM behind it, or the one alone.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan plan mtu\n  \
    bartizan plan mtu --within gtp-u --within esp:aes256gcm16,udp --within macsec:gcm-aes-128\n  \
    bartizan plan mtu --mtu 9000 --payload 8192 --delay-curve switch.csv\n  \
    bartizan plan mtu --group X25519MLKEM768 --signature ml-dsa-87 --chain 3 --loss 2% --deadline 2s --out plan\n  \
    bartizan plan mtu --json | jq .tls")]
pub(crate) struct Args {
    /// MTU of the link: bytes behind the Ethernet header.
    #[arg(long, value_name = "BYTES", default_value = "1500", allow_hyphen_values = true)]
    mtu: Bytes,
    /// Encapsulations, innermost first: `gtp-u` (with the PDU session container of N3 and N9),
    /// `vxlan`, `geneve`, `vlan`, `pppoe`, `ipv6-extension:BYTES`, `esp:PROPOSAL[,udp]`,
    /// `macsec:SUITE`; may be repeated.
    #[arg(long, value_name = "LAYER")]
    within: Vec<Protection>,
    /// A payload of fixed size that is to be split, of eCPRI.
    #[arg(long, value_name = "BYTES", default_value = "8192")]
    payload: Bytes,
    /// Processing delay by size, for the split: `published`, a table of commas, or records of the lab.
    #[arg(long, value_name = "FILE", default_value = PUBLISHED)]
    delay_curve: String,
    /// Groups of the key exchange; may be given more than once.
    #[arg(long, value_name = "GROUP", default_values = ["x25519", "X25519MLKEM768", "MLKEM1024"], value_parser = group)]
    group: Vec<&'static Group>,
    /// Signatures of certificates and handshakes; may be given more than once.
    #[arg(long, value_name = "SCHEME", default_values = ["ecdsa_secp256r1_sha256", "mldsa44", "mldsa65", "mldsa87"], value_parser = signature)]
    signature: Vec<&'static Signature>,
    /// Number of certificates an end sends, without the root; may be repeated.
    #[arg(long, value_name = "N", default_values_t = [1, 2], value_parser = clap::value_parser!(u8).range(1..=16))]
    chain: Vec<u8>,
    /// Bytes of a certificate that are neither key nor signature [default: 371, as captured of `bartizan ca`].
    #[arg(long, value_name = "BYTES")]
    certificate_extra: Option<Bytes>,
    /// Round trip of the path.
    #[arg(long, value_name = "TIME", default_value = "10ms", allow_hyphen_values = true)]
    round_trip: Microseconds,
    /// Share of packets that are lost, each by itself.
    #[arg(long, value_name = "SHARE", default_value = "1%", allow_hyphen_values = true)]
    loss: Share,
    /// The time within which a link is to be set up.
    #[arg(long, value_name = "TIME", default_value = "1s", allow_hyphen_values = true)]
    deadline: Microseconds,
    /// Trials of the simulation.
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    trials: u32,
    /// Seed of the simulation.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    form: Form,
}

fn group(name: &str) -> Result<&'static Group, String> {
    group_named(name).ok_or_else(|| format!("no group is called {name}: bartizan algorithms --kind group lists them"))
}

fn signature(name: &str) -> Result<&'static Signature, String> {
    let known = signature_named(name)
        .ok_or_else(|| format!("no signature is called {name}: bartizan algorithms --kind signature lists them"))?;
    if known.signature.is_none() || known.public_key.is_none() {
        return Err(format!(
            "the size of {name} depends on its key, which is not known here: take ecdsa_secp256r1_sha256 or mldsa65"
        ));
    }
    Ok(known)
}

pub(super) fn run(args: &Args) -> Result<Outcome, Failure> {
    let path = path_mtu(args.mtu, &args.within, IpVersion::V4).map_err(Failure::usage)?;
    if path.value() < u64::from(IPV4_MTU_LEAST) {
        return Err(Failure::usage(format!(
            "{path} are left within the layers: IPv4 needs {IPV4_MTU_LEAST} (RFC 791)"
        )));
    }
    let split = payload::split(args, path)?;
    let tls = handshakes::tls(args, path)?;
    let ike = handshakes::ike(args, path)?;
    let set_up = probability::rows(args, &tls, &ike)?;
    let sources = sources(args, &split);
    let sheet = sheet(args, path, &split, &tls, &ike, &set_up, &sources)?;
    let report = object!(Report {
        schema: SCHEMA,
        mtu_bytes: args.mtu,
        within: args
            .within
            .iter()
            .map(|layer| layer.name().to_owned())
            .collect::<Vec<_>>(),
        path_mtu_bytes: path,
        split,
        tls,
        ike,
        set_up,
        sources,
    });
    give("mtu", &sheet, &report, &args.form)?;
    Ok(Outcome::Clean)
}

/// The key exchanges of IKEv2 that are what a group of TLS is: each part by itself, the classical one first.
fn ike_methods(group: &Group) -> Option<Vec<&'static Transform>> {
    // Names of TLS's curves that IKEv2 has others for.
    let named = |name: &str| {
        let name = match name.to_ascii_lowercase().as_str() {
            "secp256r1" => "ecp256",
            "secp384r1" => "ecp384",
            "secp521r1" => "ecp521",
            "mlkem512" => "ml-kem-512",
            "mlkem768" => "ml-kem-768",
            "mlkem1024" => "ml-kem-1024",
            other => return transform_named(TransformKind::KeyExchange, other),
        };
        transform_named(TransformKind::KeyExchange, name)
    };
    if group.parts.is_empty() {
        return Some(vec![named(group.name)?]);
    }
    let mut parts: Vec<_> = group
        .parts
        .iter()
        .map(|part| named(&part.to_string()))
        .collect::<Option<_>>()?;
    // IKE_SA_INIT cannot be fragmented: what is classical and small goes there.
    parts.sort_by_key(|part| part.initiator);
    Some(parts)
}

fn sources(args: &Args, split: &payload::Split) -> Vec<Source> {
    let mut sources = vec![
        Source::standard(
            "RFC 4303, RFC 3948, IEEE 802.1AE, 3GPP TS 29.281 and 38.415, RFC 7348, RFC 8926, RFC 2516",
            "sizes of layers, by the registry",
        ),
        bartizan_budget::mtu::Certificates::captured(),
        Source::record(
            "strongswan-6.1.0.pcap",
            "crates/prove/wire/tests/data: IKE_SA_INIT without the key exchange",
        ),
        Source::standard("RFC 6928", "section 2: TCP's initial window"),
        Source::standard(
            "RFC 9000",
            "section 8.1: three times what was received; RFC 9002, section 6.2: probe timeout",
        ),
        Source::standard(
            "RFC 7383",
            "IKE fragments; strongswan.conf: fragment_size 1280, retransmit_timeout 4, retransmit_base 1.8, retransmit_tries 5",
        ),
        Source::standard("RFC 6298", "sections 2.1 and 2.4: TCP's timers"),
        split.source.clone(),
    ];
    if args.certificate_extra.is_some() {
        sources.push(Source::input("--certificate-extra"));
    }
    sources
}

fn sheet(
    args: &Args,
    path: Bytes,
    split: &payload::Split,
    tls: &[handshakes::TlsRow],
    ike: &[handshakes::IkeRow],
    set_up: &[probability::Row],
    sources: &[Source],
) -> Result<Sheet, Failure> {
    let mut room = Section::new("path MTU");
    let mut grid = Grid::under("bytes", ["layer, from the outside", "#left for what it carries"]);
    grid.push(["the link's MTU".to_owned(), args.mtu.value().to_string()]);
    for outer in (0..args.within.len()).rev() {
        let left = path_mtu(args.mtu, &args.within[outer..], IpVersion::V4).map_err(Failure::usage)?;
        grid.push([args.within[outer].name().to_owned(), left.value().to_string()]);
    }
    room.tables.push(grid);
    let slow = tls.iter().filter(|row| row.round_trips > 3).count();
    Ok(Sheet {
        command: "bartizan plan mtu".to_owned(),
        title: format!("What fits into packets of {path}"),
        question: "How is a payload best split, in how many packets does a handshake go, and does it end in time?".to_owned(),
        answer: format!(
            "Of an MTU of {} bytes {} are left for an IP packet; {} bytes of eCPRI payload go in {} frames; {slow} of {} handshakes of TLS over TCP need more than three round trips.",
            args.mtu.value(),
            path.value(),
            args.payload.value(),
            split.fragments,
            tls.len()
        ),
        sections: vec![room, payload::section(args, split)?, handshakes::section(tls, ike), probability::section(args, set_up)],
        limits: vec![
            "Sizes of TLS are those of our sidecar (one server name, no ALPN list beyond its own); other libraries send some tens of bytes more or less.".to_owned(),
            "Certificates have the extra bytes given; names and extensions of a real PKI may need more.".to_owned(),
            "A flight's rounds are counted on a fresh connection without loss; receive windows are wide enough.".to_owned(),
            "Packets are lost independently of each other; bursts are worse for long flights than this says, and better for short ones.".to_owned(),
            "Time to compute is not in it.".to_owned(),
            "No release of strongSwan signs with ML-DSA: those rows of IKEv2 are what its messages would be.".to_owned(),
        ],
        sources: cited(sources.iter().cloned()),
        again: again(),
    })
}

/// The paper by which a split is judged where nothing else is given.
fn paper() -> Source {
    Source::paper(published::PAPER, "section 6.4: equal parts")
}
