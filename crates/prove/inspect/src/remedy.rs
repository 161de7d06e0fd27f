//! Severity of a finding, its remedy, and the frameworks that ask for it.

mod interface;

use bartizan_posture::{Concern, HoleKind, Judgement, Kind, Link, Posture, Verdict};
use bartizan_registry::{Asked, FRAMEWORKS, Means, Subject, asked};
use bartizan_wire::datagrams::Named;
use serde::Serialize;

bartizan_registry::named! {
    /// Urgency of a finding.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum Severity, name {
        /// An attacker can read it today.
        Critical = "critical",
        /// Harvest now, decrypt later; or evidence contradicts itself.
        High = "high",
        /// Future forgery of authentication, or nothing shows that it is safe.
        Medium = "medium",
    }
}

impl Severity {
    /// Severity of a concern.
    pub fn of(concern: Concern) -> Self {
        match concern {
            Concern::ReadableNow => Self::Critical,
            Concern::Confidentiality | Concern::Downgrade | Concern::Contradiction => Self::High,
            Concern::Authenticity
            | Concern::Regression
            | Concern::Policy
            | Concern::Unlisted
            | Concern::Unseen
            | Concern::Unproven
            | Concern::AboveTransport => Self::Medium,
        }
    }

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|severity| severity.name() == name)
    }
}

/// A change in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The file: `swanctl.conf`, or the deployment file.
    pub file: &'static str,
    /// The entry to write there; `A` and `B` stand for the link's ends.
    pub entry: &'static str,
}

/// Remedy of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remedy {
    /// In one line.
    pub what: &'static str,
    /// Changes in files, where they are known.
    pub changes: &'static [Change],
    /// The command that does it or puts it into force, where there is one: `FILE` is the deployment
    /// file, `A` and `B` are the ends.
    pub command: Option<&'static str>,
    /// The subject that the frameworks speak of, where they do.
    pub subject: Option<Subject>,
    /// Algorithms that it brings in, where it names some.
    pub means: Option<Means>,
    /// The standard that asks for protection of this interface, with its clause.
    pub clause: Option<&'static str>,
}

impl Change {
    const fn new(file: &'static str, entry: &'static str) -> Self {
        Self { file, entry }
    }
}

impl Remedy {
    const fn new(what: &'static str) -> Self {
        Self {
            what,
            changes: &[],
            command: None,
            subject: None,
            means: None,
            clause: None,
        }
    }

    const fn writing(self, changes: &'static [Change]) -> Self {
        Self { changes, ..self }
    }

    const fn run(mut self, command: &'static str) -> Self {
        self.command = Some(command);
        self
    }

    const fn about(mut self, subject: Subject) -> Self {
        self.subject = Some(subject);
        self
    }

    const fn by(mut self, means: Means) -> Self {
        self.means = Some(means);
        self
    }

    /// The frameworks among those that ask that the remedy meets, and those that it does not; none
    /// where it names no algorithms.
    pub fn met(&self) -> Option<[Vec<&'static str>; 2]> {
        let means = self.means.filter(|_| self.subject.is_some())?;
        let named = |met: bool| {
            let frameworks = FRAMEWORKS.iter().filter(|framework| framework.is_met_by(means) == met);
            frameworks.map(|framework| framework.name).collect()
        };
        Some([named(true), named(false)])
    }

    /// Each document that asks for it, in one line: name, edition and place; and what the remedy
    /// meets.
    pub fn lines(&self) -> Vec<String> {
        let asked = self.asked().into_iter();
        let asked = asked.map(|asked| format!("{} ({}, {})", asked.name, asked.edition, asked.place));
        let asked: Vec<String> = self.clause.map(str::to_owned).into_iter().chain(asked).collect();
        let mut lines = Vec::new();
        if !asked.is_empty() {
            lines.push(format!("asked by: {}", asked.join("; ")));
        }
        if let Some([met, others]) = self.met() {
            let others = if others.is_empty() {
                String::new()
            } else {
                format!("; not {}", others.join(", "))
            };
            lines.push(format!("this remedy meets {}{others}", met.join(", ")));
        }
        lines
    }

    /// The frameworks that the finding touches, and what each asks for.
    pub fn asked(&self) -> Vec<Asked> {
        self.subject.into_iter().flat_map(asked).collect()
    }
}

bartizan_registry::made! {
    /// Subject of a finding, as far as one thing is known to be it.
    #[derive(Debug, Clone, Copy, Default)]
    pub(crate) struct Place<'a>,
    /// Subject of a concern about a link: the kind is that of the first part that shows it.
    pub(crate) of_link(link: &'a Link, concern: Concern) {
        let (confidentiality, authenticity) = (link.confidentiality.verdict(), link.authenticity.verdict());
        let phase = link.phases.iter().find(|phase| match concern {
            Concern::Authenticity => phase.authenticity == authenticity,
            _ => phase.confidentiality == confidentiality,
        });
        pub(crate) kind: Option<Kind> = phase.map(|phase| phase.kind),
        /// Name of its interface.
        pub(crate) interface: Option<&'static str> = link.interface.map(|interface| interface.name),
        pub(crate) confidentiality: Option<&'a Judgement> = Some(&link.confidentiality),
    }
}

impl<'a> From<&'a Posture> for Place<'a> {
    fn from(posture: &'a Posture) -> Self {
        Self {
            kind: Some(posture.kind),
            interface: posture.interface.map(|interface| interface.name),
            confidentiality: Some(&posture.confidentiality),
        }
    }
}

/// Every remedy there is, as often as something has it.
pub fn remedies() -> impl Iterator<Item = Remedy> {
    let kinds = || Kind::all().map(Some).chain([None]);
    let places = move || {
        kinds().flat_map(|kind| {
            interface::names().map(move |interface| Place {
                kind,
                interface,
                confidentiality: None,
            })
        })
    };
    let of_concerns = Concern::ALL
        .into_iter()
        .flat_map(move |concern| places().map(move |place| remedy(concern, place)));
    let of_holes = HoleKind::ALL.into_iter().map(of_hole);
    of_concerns
        .chain(of_holes)
        .chain([WHOLE, NOTHING, BUFFER, TAGS, APART, LEDGER, MEMORY, OTHERS])
}

const DEPLOYMENT: &str = "the deployment file";
const SWANCTL: &str = "swanctl.conf";
const OPENSSL: &str = "openssl.cnf";

const HYBRID: &[Change] = &[Change::new(DEPLOYMENT, "policy: hybrid")];
const LISTED: &[Change] = &[Change::new(
    DEPLOYMENT,
    "interfaces: [{ kind: ..., between: [A, B], with: ... }]",
)];
const ESP_PROPOSALS: &[Change] = &[Change::new(
    SWANCTL,
    "esp_proposals = aes256gcm16-x25519-ke1_mlkem768-esn",
)];
const IKE_PROPOSALS: &[Change] = &[Change::new(
    SWANCTL,
    "proposals = aes256gcm16-prfsha384-x25519-ke1_mlkem768",
)];
const SSH_CIPHERS: &[Change] = &[Change::new("sshd_config, ssh_config", "Ciphers aes256-gcm@openssh.com")];
const SSH_METHODS: &[Change] = &[Change::new(
    "sshd_config, ssh_config",
    "KexAlgorithms mlkem768x25519-sha256",
)];

const GROUPS: &[Change] = &[Change::new(OPENSSL, "Groups = X25519MLKEM768")];

const RUN_SIDECAR: &str = "bartizan sidecar FILE --node A";
const RUN_UP: &str = "bartizan up FILE --node A";
const CHECK: &str = "bartizan check FILE";
const LOAD: &str = "swanctl --load-conns";

/// For frames and packets that cannot be read.
pub(crate) const WHOLE: Remedy = Remedy::new("capture whole packets (`tcpdump -s 0`) of a link type that is read")
    .run("tcpdump -s 0 -i INTERFACE -w capture.pcap");

/// For a capture that shows nothing.
pub(crate) const NOTHING: Remedy = Remedy::new("capture where and while they carry traffic; check the filter")
    .run("tcpdump -s 0 -i INTERFACE -w capture.pcap");

/// For packets that are missing from the capture.
pub(crate) const BUFFER: Remedy = Remedy::new("capture on a host that keeps up (larger buffer: `tcpdump -B`)")
    .run("tcpdump -B 65536 -s 0 -i INTERFACE -w capture.pcap");

/// For frames without their VLAN tags.
pub(crate) const TAGS: Remedy = Remedy::new("capture on a named interface, or with `-y LINUX_SLL`")
    .run("tcpdump -s 0 -i INTERFACE -w capture.pcap");

/// For interfaces that are read as one network.
pub(crate) const APART: Remedy =
    Remedy::new("capture each interface into a file of its own").run("tcpdump -s 0 -i INTERFACE -w capture.pcap");

/// For records that ledgers lost.
pub(crate) const LEDGER: Remedy = Remedy::new("give ledgers room on their disk, and a disk that keeps up");

/// For what memory had no room for.
pub(crate) const MEMORY: Remedy =
    Remedy::new("give more memory (`--memory`)").run("bartizan inspect --memory 8GB capture.pcap");

/// For findings of kinds beyond those that are distinguished.
pub(crate) const OTHERS: Remedy = Remedy::new("mend the others first");

/// Remedy of a finding. [`of_hole`] has it for exposures above the transport.
pub(crate) fn remedy(concern: Concern, place: Place<'_>) -> Remedy {
    let kind = place.kind;
    match concern {
        // The frameworks are about algorithms: none says anything of what is sent in plaintext.
        Concern::ReadableNow => readable(place),
        Concern::Confidentiality => classical(place).about(Subject::KeyExchange).by(Means::HybridMlKem768),
        Concern::Authenticity => forgeable(place),
        Concern::Regression => Remedy::new("propose the additional key exchange for CHILD_SAs too")
            .writing(ESP_PROPOSALS)
            .run(LOAD)
            .about(Subject::KeyExchange)
            .by(Means::HybridMlKem768),
        Concern::Downgrade => Remedy::new("refuse what is weaker at both ends, as the policy `hybrid` does")
            .writing(HYBRID)
            .run(CHECK)
            .about(Subject::KeyExchange)
            .by(Means::HybridMlKem768),
        Concern::Policy => Remedy::new("let both ends negotiate what the policy names, or change it").run(CHECK),
        Concern::Unlisted => Remedy::new("add the link to the deployment file, or stop it")
            .writing(LISTED)
            .run("bartizan check FILE --interfaces"),
        Concern::Unseen => Remedy::new("capture where it passes, or take it out of the file")
            .run("bartizan inspect --interface INTERFACE --follow --deployment FILE"),
        Concern::Unproven => unproven(place),
        Concern::AboveTransport => Remedy::new("carry it in TLS, and conceal or sign it by post-quantum algorithms")
            .writing(interface::over_tcp(place.interface)),
        Concern::Contradiction if matches!(kind, Some(Kind::Ike | Kind::Esp)) => {
            Remedy::new("look for a cloned end, foreign ledger, wrong keys, forged packet")
        }
        Concern::Contradiction => Remedy::new("look for a foreign ledger, wrong keys or a forged packet"),
    }
}

/// Remedy of an exposure above the transport.
pub(crate) fn of_hole(kind: HoleKind) -> Remedy {
    match kind {
        HoleKind::Suci => Remedy::new("protect the link that carries it, and use no null scheme"),
        HoleKind::Token => {
            Remedy::new("sign tokens with ML-DSA, or keep their lifetimes short").about(Subject::Signature)
        }
        HoleKind::ProxyCredentials => PROXY_BY_TLS,
        HoleKind::Tunnel => Remedy::new("capture behind the proxy too: what is in its streams passes there"),
        HoleKind::BehindProxy => Remedy::new("let the ends behind the proxy require X25519MLKEM768")
            .writing(GROUPS)
            .about(Subject::KeyExchange)
            .by(Means::HybridMlKem768),
    }
}

/// For IKEv1, which has no post-quantum key exchange.
const BY_VERSION_2: Remedy = Remedy::new("replace IKEv1 by IKEv2 with ML-KEM (`bartizan up`)")
    .writing(
        const {
            &[
                Change::new(SWANCTL, "version = 2"),
                Change::new(SWANCTL, "proposals = aes256gcm16-prfsha384-x25519-ke1_mlkem768"),
            ]
        },
    )
    .run(RUN_UP);

/// For secrets that a client sends to a proxy, and what it asks for.
const PROXY_BY_TLS: Remedy = Remedy::new("reach the proxy by TLS with X25519MLKEM768");

fn readable(place: Place<'_>) -> Remedy {
    match place.kind {
        Some(Kind::ClearHttp1 | Kind::ClearHttp2) => interface::by_sidecar(place.interface),
        Some(kind @ (Kind::ClearSctp | Kind::GtpU | Kind::Pfcp | Kind::GtpC)) => {
            interface::protected(kind, place.interface)
        }
        Some(Kind::Esp | Kind::EspUnencrypted) => Remedy::new("propose AES-256-GCM for the CHILD_SA, and no NULL")
            .writing(ESP_PROPOSALS)
            .run(LOAD),
        Some(Kind::Ike | Kind::IkeNotSeen) => Remedy::new("propose AES-256-GCM for the IKE_SA")
            .writing(IKE_PROPOSALS)
            .run(LOAD),
        Some(Kind::Tls13 | Kind::TlsLegacy(_) | Kind::DtlsOverSctp) => {
            Remedy::new("switch off cipher suites that do not encrypt, at both ends")
                .writing(const { &[Change::new(OPENSSL, "CipherString = DEFAULT:!eNULL")] })
        }
        Some(Kind::MacSec) => Remedy::new("key MACsec by MKA: it makes a new key at each start"),
        Some(Kind::Ssh) => Remedy::new("switch off the cipher `none` at both ends").writing(SSH_CIPHERS),
        Some(Kind::Proxy(_)) => PROXY_BY_TLS,
        Some(kind) if place.interface.and_then(interface::named).is_some() => {
            interface::protected(kind, place.interface)
        }
        _ => Remedy::new("encrypt it: a sidecar for TCP, IPsec with ML-KEM for the rest"),
    }
}

fn classical(place: Place<'_>) -> Remedy {
    match place.kind {
        Some(Kind::Tls13) => Remedy::new("let both ends require X25519MLKEM768, or run sidecars")
            .writing(
                const {
                    &[
                        Change::new(OPENSSL, "Groups = X25519MLKEM768"),
                        Change::new("nginx.conf", "ssl_ecdh_curve X25519MLKEM768;"),
                    ]
                },
            )
            .run(RUN_SIDECAR),
        Some(Kind::TlsLegacy(_)) => Remedy::new("move both ends to TLS 1.3 with X25519MLKEM768, or run sidecars")
            .writing(
                const {
                    &[
                        Change::new(OPENSSL, "MinProtocol = TLSv1.3"),
                        Change::new(OPENSSL, "Groups = X25519MLKEM768"),
                    ]
                },
            )
            .run(RUN_SIDECAR),
        Some(Kind::DtlsOverSctp) => Remedy {
            clause: None,
            ..interface::protected(Kind::DtlsOverSctp, place.interface)
        },
        Some(Kind::IkeV1) => BY_VERSION_2,
        Some(Kind::Ike | Kind::IkeNotSeen | Kind::Esp) => {
            Remedy::new("add ML-KEM-768 as additional key exchange, or `bartizan up`")
                .writing(IKE_PROPOSALS)
                .run(LOAD)
        }
        Some(Kind::Ssh | Kind::SshOverSctp) => {
            Remedy::new("let both ends agree on mlkem768x25519-sha256").writing(SSH_METHODS)
        }
        _ => Remedy::new("let both ends require a post-quantum key exchange"),
    }
}

fn forgeable(place: Place<'_>) -> Remedy {
    match place.kind {
        Some(Kind::Tls13 | Kind::TlsLegacy(_)) => {
            Remedy::new("give both ends ML-DSA certificates (`bartizan ca`), by TLS 1.3")
                .run("bartizan ca issue --dir ca --name A --dns A --out certificates")
                .about(Subject::Signature)
                .by(Means::MlDsa65)
        }
        Some(Kind::Ike | Kind::IkeNotSeen | Kind::IkeV1 | Kind::Esp) => Remedy::new(
            "use ML-DSA certificates as soon as both daemons take them",
        )
        .writing(const { &[Change::new(DEPLOYMENT, "engine: bartizan")] })
        .run("bartizan ca issue --dir ca --profile ipsec --key-algorithm ml-dsa-65 --name A --dns A --out certificates")
        .about(Subject::Signature)
        .by(Means::MlDsa65),
        Some(Kind::Ssh) => {
            Remedy::new("carry it in TLS or IPsec: SSH has no post-quantum host keys").about(Subject::Signature)
        }
        Some(Kind::DtlsOverSctp) => Remedy {
            clause: None,
            ..interface::protected(Kind::DtlsOverSctp, place.interface)
        }
        .about(Subject::Signature),
        _ => Remedy::new("authenticate both ends: sidecars and IPsec do"),
    }
}

fn unproven(place: Place<'_>) -> Remedy {
    let by_earlier_keys = place.confidentiality.is_some_and(Judgement::is_by_earlier_keys);
    let not_seen = place
        .confidentiality
        .is_some_and(|judgement| judgement.verdict() == Verdict::NotSeen);
    match place.kind {
        Some(Kind::TlsNotSeen) => RESTART,
        Some(Kind::Tls13 | Kind::TlsLegacy(_)) if not_seen => RESTART,
        Some(Kind::QuicNotSeen | Kind::DtlsNotSeen | Kind::EapTlsNotSeen) => RECONNECT,
        Some(Kind::Quic | Kind::Dtls(_) | Kind::DtlsOverSctp | Kind::EapTls) if not_seen => RECONNECT,
        Some(Kind::Tls13 | Kind::Quic | Kind::Dtls(_) | Kind::DtlsOverSctp | Kind::EapTls) if by_earlier_keys => {
            Remedy::new("require a key exchange on resumption, and no early data")
                .writing(const { &[Change::new(OPENSSL, "Options = -AllowNoDHEKEX")] })
        }
        Some(Kind::Tls13 | Kind::Quic | Kind::Dtls(_) | Kind::EapTls) => {
            Remedy::new("let both ends require X25519MLKEM768; replace an end that cannot").writing(GROUPS)
        }
        Some(Kind::TlsLegacy(_)) => classical(place),
        Some(Kind::Ike) if place.confidentiality.is_some() && !not_seen => classical(place),
        Some(Kind::IkeNotSeen | Kind::Ike | Kind::Esp) => {
            Remedy::new("set it up anew while capturing, or give ledgers (`--ledger`)")
                .run("swanctl --rekey --ike NAME --reauth")
        }
        Some(Kind::IkeV1) => BY_VERSION_2,
        Some(Kind::SshNotSeen) => Remedy::new("reconnect while capturing, to see the key exchange"),
        Some(Kind::Ssh | Kind::SshOverSctp) => classical(place),
        Some(kind @ (Kind::GtpU | Kind::DtlsOverSctp | Kind::DtlsChunks)) => Remedy {
            clause: None,
            ..interface::protected(kind, place.interface)
        },
        Some(Kind::MacSec | Kind::Mka) => {
            Remedy::new("key MACsec by `bartizan up`, and give its ledgers (`--ledger`)").run(RUN_UP)
        }
        Some(Kind::Named(Named::WireGuard)) => {
            Remedy::new("replace it by IPsec with ML-KEM: its own X25519 is classical")
                .writing(IKE_PROPOSALS)
                .run(LOAD)
        }
        Some(Kind::Named(_) | Kind::Protected(_) | Kind::Proxy(_) | Kind::Eap) => {
            Remedy::new("carry it in TLS or IPsec with ML-KEM: its own keys are not shown")
        }
        _ => Remedy::new("find out what it is, and carry it in TLS or IPsec with ML-KEM"),
    }
}

/// For TLS whose handshake is not in the capture.
const RESTART: Remedy =
    Remedy::new("restart an end, or its sidecar, to see handshakes").run("systemctl restart bartizan-sidecar@A");
/// For handshakes of other carriers.
const RECONNECT: Remedy = Remedy::new("reconnect while capturing, to see the handshake");

/// Returns true if a capture that began after this was set up could show more: the note says how.
pub(crate) fn begun_before(kind: Kind, confidentiality: Verdict) -> bool {
    confidentiality == Verdict::NotSeen && matches!(kind, Kind::TlsNotSeen | Kind::SshNotSeen | Kind::IkeNotSeen)
}

#[cfg(test)]
mod tests;
