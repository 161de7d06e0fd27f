//! IPsec links: what stands between two nodes that speak IKEv2 and ESP with each other.

mod algorithm;
pub(crate) mod conflict;
mod end;
mod lifetime;
mod policy;
mod ppk;
mod selector;

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) use algorithm::{CIPHERS, INTEGRITY, PRFS, key_exchange_names};
pub use algorithm::{IkeAlgorithm, KeyExchange};
pub use end::{End, External};
pub use lifetime::Lifetimes;
pub(crate) use lifetime::period;
pub use policy::{Breach, IkeAuthentication, IpsecPolicy};
pub use ppk::Ppk;
pub use selector::{Network, Selector, Side, TrafficProtocol};

use crate::error::Fault;
use crate::interface::InterfaceKind;
use crate::ledger::LedgerFile;
use crate::node::NodeName;
use crate::raw::{RawIpsecLink, RawIpsecNode, RawLists, RawNode, RawTrust};
use crate::url::HttpUrl;
use crate::word::{Word, words};

bartizan_registry::named! {
    /// Encapsulation mode of ESP.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Mode, name {
        /// The whole packet inside another: mandatory for TS 33.501, clause 9.1.2, and the default.
        Tunnel = "tunnel",
        /// The payload alone, between the nodes themselves: 20 bytes less over IPv4.
        Transport = "transport",
    }
}

bartizan_registry::named! {
    /// When SAs are set up. Either way packets that have no SA yet are never sent unencrypted.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum Start, name {
        /// By the initiator, at once; taken up again when they are lost. The default.
        AtOnce = "start",
        /// By the first packet that needs one.
        Trap = "trap",
    }
}

bartizan_registry::named! {
    /// Which packets' DSCP is copied between the inner and the outer header.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum CopyDscp, name {
        /// To the outer header of what is sent; the default, as the O-RAN security protocols ask.
        Out = "out",
        /// To the inner header of what is received.
        In = "in",
        /// Both.
        Both = "both",
        /// Neither: an observer cannot tell classes of traffic apart.
        Neither = "no",
    }
}

/// An IPsec link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IpsecLink {
    /// Encapsulation mode of ESP.
    pub mode: Mode,
    /// Its two ends, in the order of the interface.
    pub ends: [End; 2],
    /// Which of the two sets SAs up.
    pub initiator: NodeName,
    /// Traffic selectors. Never empty.
    pub selectors: Vec<Selector>,
    /// Traffic of the interface by its standard that no selector is for: it leaves as it is.
    pub unprotected: Vec<Selector>,
    /// Extended sequence numbers of 64 bits (RFC 4304).
    pub extended_sequence_numbers: bool,
    /// Packets that may overtake each other before the latest counts as replayed.
    pub replay_window: u32,
    /// DSCP of IKE packets.
    pub ike_dscp: u8,
    /// Handling of the DSCP of protected packets; only in tunnel mode.
    pub copy_dscp: CopyDscp,
    /// When keys are renewed.
    pub lifetimes: Lifetimes,
    /// Silence of a peer before a liveness check; none disables the check.
    pub dead_peer_delay: Option<Duration>,
    /// True if IKE may fragment its messages (RFC 7383).
    pub ike_fragments: bool,
    /// Octets that a packet on the path may have.
    pub mtu: u16,
    /// When SAs are set up.
    pub start: Start,
    /// A pre-shared key that is mixed into its keys.
    pub ppk: Option<Ppk>,
}

bartizan_registry::named! {
    /// Which IKE daemon negotiates for a node.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
    pub enum IkeEngine, name {
        /// strongSwan's charon. The default.
        #[default]
        Strongswan = "strongswan",
        /// Bartizan's own.
        Bartizan = "bartizan",
    }
}

bartizan_registry::named! {
    /// ESP data path of a node.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
    pub enum DataPath, name {
        /// The kernel. The default.
        #[default]
        Kernel = "kernel",
        /// The engine of Bartizan itself, through a TUN device and UDP: for kernels without ESP.
        Userspace = "userspace",
    }
}

bartizan_registry::named! {
    /// ESP offload to the network card.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
    pub enum Offload, name {
        /// The processor does all of it. The default.
        #[default]
        No = "no",
        /// The card encrypts and decrypts, where it can; headers, policies and counters stay the kernel's (`crypto` of ip-xfrm(8)).
        Crypto = "crypto",
    }
}

/// IPsec configuration of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IpsecNode {
    /// Which IKE daemon negotiates for it.
    pub engine: IkeEngine,
    /// ESP data path of the node.
    pub data_path: DataPath,
    /// ESP offload to the node's network card.
    pub offload: Offload,
    /// Its certificate with intermediates, PEM: one that IKE daemons accept (`bartizan ca issue --profile ipsec`).
    pub certificate: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
    /// The roots it trusts, PEM.
    pub roots: PathBuf,
    /// Revocation lists, PEM.
    pub crl: Option<PathBuf>,
    /// The URL that they are fetched from.
    pub crl_url: Option<HttpUrl>,
    /// The file in which the newest of them are remembered.
    pub known_lists: Option<PathBuf>,
    /// Under which address its peers reach it, where no link says otherwise.
    pub external: External,
    /// The VICI socket of a daemon that the system runs; none where Bartizan runs one of its own.
    pub vici: Option<PathBuf>,
    /// Its ledger.
    pub ledger: Option<LedgerFile>,
}

words!(Mode, Start, CopyDscp, IkeEngine, DataPath, Offload);

impl IpsecLink {
    /// The end at `node`, and the other; none where it is neither's.
    pub fn ends_from(&self, node: &str) -> Option<(&End, &End)> {
        let [one, other] = &self.ends;
        match node {
            _ if one.node.as_str() == node => Some((one, other)),
            _ if other.node.as_str() == node => Some((other, one)),
            _ => None,
        }
    }

    /// Returns true if a NAT lies between its ends.
    #[must_use]
    pub fn crosses_nat(&self) -> bool {
        self.ends.iter().any(|end| end.external != External::Same)
    }

    /// Returns true if two links between the same addresses can share an IKE_SA: their IKE
    /// parameters are equal.
    pub(crate) fn shares_ike_with(&self, other: &Self) -> bool {
        let of_ike = |link: &Self| {
            (
                link.lifetimes.ike,
                link.lifetimes.reauthentication,
                link.dead_peer_delay,
                link.ike_dscp,
                link.ike_fragments,
                link.mtu,
                link.initiator.clone(),
                link.ppk.clone(),
            )
        };
        of_ike(self) == of_ike(other)
    }

    /// The fewest octets that an IKE_SA_INIT request with this key exchange takes on the wire (RFC 7296, sections 3.1 to 3.9); none
    /// where the registry does not know the size of the first method.
    pub fn least_init(&self, exchange: &KeyExchange) -> Option<usize> {
        const UDP: usize = 8;
        const IKE_HEADER: usize = 28;
        /// Generic payload header, method and two reserved octets.
        const KEY_EXCHANGE: usize = 4 + 4;
        /// Generic payload header and the shortest nonce.
        const NONCE: usize = 4 + 16;
        /// Generic payload header, proposal, and three transforms.
        const SECURITY_ASSOCIATION: usize = 4 + 8 + 3 * 8;
        let ip = if self.ends[0].outer.is_ipv4() { 20 } else { 40 };
        let data = usize::from(exchange.first().known().initiator?);
        Some(ip + UDP + IKE_HEADER + SECURITY_ASSOCIATION + KEY_EXCHANGE + data + NONCE)
    }

    /// Returns true if some packet between the same inner addresses matches both links.
    pub(crate) fn claims_packets_of(&self, other: &Self) -> bool {
        let overlap = |one: &End, two: &End| one.inner.iter().any(|a| two.inner.iter().any(|b| a.overlaps(b)));
        let selectors = self
            .selectors
            .iter()
            .any(|a| other.selectors.iter().any(|b| a.overlaps(b)));
        let [one, two] = &self.ends;
        let [three, four] = &other.ends;
        let straight = overlap(one, three) && overlap(two, four);
        let crossed = overlap(one, four) && overlap(two, three);
        selectors && (straight || crossed)
    }

    /// Reads a link. `nodes` are the raw nodes at its ends, in order.
    pub(crate) fn parse(
        raw: &RawIpsecLink,
        kind: InterfaceKind,
        between: &[NodeName; 2],
        (nodes, base): ([&RawNode; 2], &Path),
    ) -> Result<Self, Fault> {
        let mode = Mode::read("mode", raw.mode.as_deref(), Mode::Tunnel)?;
        let start = Start::read("start", raw.start.as_deref(), Start::AtOnce)?;
        let copy_dscp = CopyDscp::read("copy-dscp", raw.copy_dscp.as_deref(), CopyDscp::Out)?;
        let ends = end::both(raw, mode, between, nodes)?;
        let initiator = end::initiator(raw, between, &ends)?;
        let standard = selector::of_standard(kind, between, nodes.map(|node| node.function.as_str()));
        let selectors = selector::parse(raw.selectors.as_deref(), standard.clone(), between)?;
        let extended_sequence_numbers = raw.esn.unwrap_or(true);
        let replay_window = number("replay-window", raw.replay_window, 32, 0, MOST_REPLAY_WINDOW)?;
        // Linux installs no such SA (`verify_replay`): the receiver finds the upper 32 bits by its window.
        if replay_window == 0 && extended_sequence_numbers {
            let cause = "`0` turns replay protection off, which sequence numbers of 64 bits need";
            let hint = "add `esn: false`, or write a window of 1 or more";
            return Err(Fault::new("replay-window", cause, hint));
        }
        Ok(Self {
            mode,
            ends,
            initiator,
            unprotected: {
                let is_open = |one: &Selector| !selectors.iter().any(|selector| selector.protects(one));
                standard.into_iter().filter(is_open).collect()
            },
            selectors,
            extended_sequence_numbers,
            replay_window,
            ike_dscp: number("ike-dscp", raw.ike_dscp, 0, 0, 63)?,
            copy_dscp,
            lifetimes: Lifetimes::parse(raw, extended_sequence_numbers)?,
            dead_peer_delay: lifetime::period("dpd", raw.dpd.as_deref(), Some(DEAD_PEER_DELAY))?,
            ike_fragments: raw.ike_fragments.unwrap_or(true),
            // RFC 8200, section 5, has 1280 for IPv6; below it the hybrid's own packets grow in number.
            mtu: number("mtu", raw.mtu, 1500, 576, 9216)?,
            start,
            ppk: raw.ppk.as_ref().map(|ppk| Ppk::parse(ppk, base)).transpose()?,
        })
    }
}

/// The kernel's own bound is 4096 packets (XFRMA_REPLAY_ESN_MAX).
const MOST_REPLAY_WINDOW: u32 = 4096;

/// An SCTP association that sends gives its peer up after 63 s of silence (RFC 9260, section 16: RTO.Initial of 1 s, doubled for the five times of
/// Path.Max.Retrans). A peer that is gone is noticed after this delay and charon's retransmissions, 22 s in one of ours: half of that.
const DEAD_PEER_DELAY: Duration = Duration::from_secs(10);

fn number<T: PartialOrd + std::fmt::Display>(
    place: &str,
    value: Option<T>,
    default: T,
    low: T,
    high: T,
) -> Result<T, Fault> {
    match value {
        None => Ok(default),
        Some(value) if value >= low && value <= high => Ok(value),
        Some(value) => Err(Fault::new(
            place,
            format!("{value} is out of bounds"),
            format!("between {low} and {high}"),
        )),
    }
}

/// The end of a link that `name` names.
fn end_named(name: &str, between: &[NodeName; 2]) -> Result<NodeName, Fault> {
    between
        .iter()
        .find(|node| node.as_str() == name)
        .cloned()
        .ok_or_else(|| {
            let shown: String = name.chars().take(64).collect();
            let [one, other] = between;
            let cause = format!("`{shown}` is at neither end of this link");
            let hint = format!("write {one} or {other}");
            Fault::new("", cause, hint)
        })
}

impl IpsecNode {
    /// `base` is the folder the file's relative paths start from.
    pub(crate) fn parse(
        raw: &RawIpsecNode,
        (name, address): (&str, IpAddr),
        trust: Option<&RawTrust>,
        base: &Path,
    ) -> Result<Self, Fault> {
        let external = raw.external.as_deref().map(|text| External::parse(text, address));
        let Some(roots) = raw.roots.as_ref().or(trust.map(|trust| &trust.roots)) else {
            let hint = "add `roots: FILE` here, or `trust: { roots: FILE }` at the top";
            return Err(Fault::new("certificate", "the file trusts no root", hint));
        };
        let engine = IkeEngine::read("engine", raw.engine.as_deref(), IkeEngine::default())?;
        if engine == IkeEngine::Bartizan && raw.vici.is_some() {
            let hint = "leave `vici` out: `bartizan up` runs this engine itself";
            let cause = "is the socket of a strongSwan, and the engine is bartizan";
            return Err(Fault::new("vici", cause, hint));
        }
        let data_path = DataPath::read("data-path", raw.data_path.as_deref(), DataPath::default())?;
        if data_path == DataPath::Userspace && engine != IkeEngine::Bartizan {
            let hint = "write `engine: bartizan`, or leave `data-path` out: strongSwan chooses by its plugins";
            let cause = "`userspace` is ESP of Bartizan's own engine, and the engine is strongswan";
            return Err(Fault::new("data-path", cause, hint));
        }
        if raw.offload.as_deref() == Some("packet") {
            let cause =
                "`packet` has the card decide which packets are encrypted, where no rule of the guard sees them";
            return Err(Fault::new("offload", cause, "write `offload: crypto`"));
        }
        let offload = Offload::read("offload", raw.offload.as_deref(), Offload::default())?;
        if offload != Offload::No && data_path == DataPath::Userspace {
            let hint = "leave `offload` out, or `data-path` where the node's kernel has ESP";
            let cause = "is of the kernel's ESP, and the data path is userspace";
            return Err(Fault::new("offload", cause, hint));
        }
        // Lists that belong to the file's roots would say nothing of others.
        let lists = trust.filter(|_| raw.roots.is_none());
        let crl = raw.crl.as_ref().or(lists.and_then(|trust| trust.crl.as_ref()));
        Ok(Self {
            engine,
            data_path,
            offload,
            certificate: base.join(&raw.certificate),
            key: base.join(&raw.key),
            roots: base.join(roots),
            crl: crl.map(|lists| lists.file(base)),
            crl_url: crl.and_then(RawLists::url),
            known_lists: trust.and_then(|trust| trust.known_lists(base, name, "ike")),
            external: external
                .transpose()
                .map_err(|fault| fault.within("external"))?
                .unwrap_or(External::Same),
            vici: raw.vici.as_ref().map(|path| base.join(path)),
            ledger: raw
                .ledger
                .as_ref()
                .map(|ledger| LedgerFile::parse(ledger, base))
                .transpose()
                .map_err(|fault| fault.within("ledger"))?,
        })
    }
}
