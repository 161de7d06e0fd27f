//! Severity of a finding, its remedy, and the frameworks that ask for it.

use bartizan_posture::{Concern, HoleKind, Kind, Link, Verdict};
use bartizan_registry::{Asked, FRAMEWORKS, Means, Subject, asked};
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
    #[must_use]
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
    #[must_use]
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

    const fn run(self, command: &'static str) -> Self {
        Self {
            command: Some(command),
            ..self
        }
    }

    const fn about(self, subject: Subject) -> Self {
        Self {
            subject: Some(subject),
            ..self
        }
    }

    const fn by(self, means: Means) -> Self {
        Self {
            means: Some(means),
            ..self
        }
    }

    const fn asked_by(self, clause: &'static str) -> Self {
        Self {
            clause: Some(clause),
            ..self
        }
    }

    /// The frameworks among those that ask that the remedy meets, and those that it does not; none
    /// where it names no algorithms.
    #[must_use]
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
    #[must_use]
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
    #[must_use]
    pub fn asked(&self) -> Vec<Asked> {
        self.subject.into_iter().flat_map(asked).collect()
    }
}

/// Every remedy there is, as often as something has it.
pub fn remedies() -> impl Iterator<Item = Remedy> {
    let kinds = || Kind::all().map(Some).chain([None]);
    let of_concerns = Concern::ALL
        .into_iter()
        .flat_map(move |concern| kinds().map(move |kind| remedy(concern, kind)));
    let of_holes = HoleKind::ALL.into_iter().map(of_hole);
    of_concerns.chain(of_holes).chain([WHOLE, MEMORY, OTHERS])
}

const DEPLOYMENT: &str = "the deployment file";
const SWANCTL: &str = "swanctl.conf";
const OPENSSL: &str = "openssl.cnf";

const SIDECAR: &[Change] = &[Change {
    file: DEPLOYMENT,
    entry: "{ kind: SBI, between: [A, B], with: sidecar }",
}];
const HYBRID: &[Change] = &[Change {
    file: DEPLOYMENT,
    entry: "policy: hybrid",
}];
const LISTED: &[Change] = &[Change {
    file: DEPLOYMENT,
    entry: "interfaces: [{ kind: ..., between: [A, B], with: ... }]",
}];
const ESP_PROPOSALS: &[Change] = &[Change {
    file: SWANCTL,
    entry: "esp_proposals = aes256gcm16-x25519-ke1_mlkem768-esn",
}];
const IKE_PROPOSALS: &[Change] = &[Change {
    file: SWANCTL,
    entry: "proposals = aes256gcm16-prfsha384-x25519-ke1_mlkem768",
}];
const SSH_CIPHERS: &[Change] = &[Change {
    file: "sshd_config, ssh_config",
    entry: "Ciphers aes256-gcm@openssh.com",
}];
const SSH_METHODS: &[Change] = &[Change {
    file: "sshd_config, ssh_config",
    entry: "KexAlgorithms mlkem768x25519-sha256",
}];

const RUN_SIDECAR: &str = "bartizan sidecar FILE --node A";
const RUN_UP: &str = "bartizan up FILE --node A";
const CHECK: &str = "bartizan check FILE";
const LOAD: &str = "swanctl --load-conns";

/// For frames and packets that cannot be read.
pub(crate) const WHOLE: Remedy = Remedy::new("capture whole packets (`tcpdump -s 0`) of a link type that is read")
    .run("tcpdump -s 0 -i INTERFACE -w capture.pcap");

/// For a capture that shows nothing.
pub(crate) const NOTHING: Remedy = Remedy::new(
    "capture where and while the interfaces carry traffic: look at the interface, the filter and the peers' own logs",
)
.run("tcpdump -s 0 -i INTERFACE -w capture.pcap");

/// For what memory had no room for.
pub(crate) const MEMORY: Remedy =
    Remedy::new("give more memory (`--memory`)").run("bartizan inspect --memory 8GB capture.pcap");

/// For findings of kinds beyond those that are distinguished.
pub(crate) const OTHERS: Remedy = Remedy::new("mend the others first");

/// Remedy of a finding; `kind` is what it concerns, where one thing is. [`of_hole`] has it for
/// exposures above the transport.
pub(crate) fn remedy(concern: Concern, kind: Option<Kind>) -> Remedy {
    match concern {
        // The frameworks are about algorithms: none says anything of what is sent in plaintext.
        Concern::ReadableNow => readable(kind),
        Concern::Confidentiality => classical(kind).about(Subject::KeyExchange).by(Means::HybridMlKem768),
        Concern::Authenticity => forgeable(kind),
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
        Concern::Unproven => unproven(kind),
        Concern::AboveTransport => {
            Remedy::new("carry it in TLS, and conceal or sign it by post-quantum algorithms").writing(SIDECAR)
        }
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
            .writing(&[Change {
                file: OPENSSL,
                entry: "Groups = X25519MLKEM768",
            }])
            .about(Subject::KeyExchange)
            .by(Means::HybridMlKem768),
    }
}

/// For secrets that a client sends to a proxy, and what it asks for.
const PROXY_BY_TLS: Remedy = Remedy::new("reach the proxy by TLS with X25519MLKEM768");

/// For what IPsec carries best, of an interface that the deployment file has by this entry.
const fn by_ipsec(changes: &'static [Change]) -> Remedy {
    Remedy::new("carry it in IPsec with ML-KEM (`bartizan up`)")
        .writing(changes)
        .run(RUN_UP)
}

fn readable(kind: Option<Kind>) -> Remedy {
    match kind {
        Some(Kind::ClearHttp1 | Kind::ClearHttp2) => Remedy::new("run a sidecar at both ends (`bartizan sidecar`)")
            .writing(SIDECAR)
            .run(RUN_SIDECAR)
            .asked_by("TS 33.501 (13.1: SBI)"),
        Some(Kind::ClearSctp) => by_ipsec(&[Change {
            file: DEPLOYMENT,
            entry: "{ kind: N2, between: [A, B], with: ipsec }",
        }])
        .asked_by("TS 33.501 (9.2: N2; 9.4: Xn; 9.8: E1, F1); O-RAN SRCS (5.2.4: E2)"),
        Some(Kind::GtpU) => by_ipsec(&[Change {
            file: DEPLOYMENT,
            entry: "{ kind: N3, between: [A, B], with: ipsec }",
        }])
        .asked_by("TS 33.501 (9.3: N3; 9.4: Xn; 9.8: F1; 9.9: N9)"),
        Some(Kind::Pfcp) => by_ipsec(&[Change {
            file: DEPLOYMENT,
            entry: "{ kind: N4, between: [A, B], with: ipsec }",
        }])
        .asked_by("TS 33.501 (9.9: N4)"),
        Some(Kind::GtpC) => by_ipsec(&[Change {
            file: DEPLOYMENT,
            entry: "{ kind: N26, between: [A, B], with: ipsec }",
        }])
        .asked_by("TS 33.501 (9.5: N26)"),
        Some(Kind::Esp | Kind::EspUnencrypted) => Remedy::new("propose AES-256-GCM for the CHILD_SA, and no NULL")
            .writing(ESP_PROPOSALS)
            .run(LOAD),
        Some(Kind::Ike | Kind::IkeNotSeen) => Remedy::new("propose AES-256-GCM for the IKE_SA")
            .writing(IKE_PROPOSALS)
            .run(LOAD),
        Some(Kind::Tls13 | Kind::TlsLegacy(_) | Kind::DtlsOverSctp) => {
            Remedy::new("switch off cipher suites that do not encrypt, at both ends").writing(&[Change {
                file: OPENSSL,
                entry: "CipherString = DEFAULT:!eNULL",
            }])
        }
        Some(Kind::MacSec) => Remedy::new("key MACsec by MKA: it makes a new key at each start"),
        Some(Kind::Ssh) => Remedy::new("switch off the cipher `none` at both ends").writing(SSH_CIPHERS),
        Some(Kind::Proxy(_)) => PROXY_BY_TLS,
        _ => Remedy::new("encrypt it: a sidecar for TCP, IPsec with ML-KEM for the rest"),
    }
}

fn classical(kind: Option<Kind>) -> Remedy {
    match kind {
        Some(Kind::Tls13) => Remedy::new("let both ends require X25519MLKEM768, or run sidecars")
            .writing(&[
                Change {
                    file: OPENSSL,
                    entry: "Groups = X25519MLKEM768",
                },
                Change {
                    file: "nginx.conf",
                    entry: "ssl_ecdh_curve X25519MLKEM768;",
                },
            ])
            .run(RUN_SIDECAR),
        Some(Kind::TlsLegacy(_)) => Remedy::new("move both ends to TLS 1.3 with X25519MLKEM768, or run sidecars")
            .writing(&[
                Change {
                    file: OPENSSL,
                    entry: "MinProtocol = TLSv1.3",
                },
                Change {
                    file: OPENSSL,
                    entry: "Groups = X25519MLKEM768",
                },
            ])
            .run(RUN_SIDECAR),
        Some(Kind::DtlsOverSctp) => by_ipsec(&[Change {
            file: DEPLOYMENT,
            entry: "{ kind: N2, between: [A, B], with: ipsec }",
        }]),
        Some(Kind::IkeV1) => Remedy::new("replace IKEv1 by IKEv2 with ML-KEM (`bartizan up`)")
            .writing(&[
                Change {
                    file: SWANCTL,
                    entry: "version = 2",
                },
                Change {
                    file: SWANCTL,
                    entry: "proposals = aes256gcm16-prfsha384-x25519-ke1_mlkem768",
                },
            ])
            .run(RUN_UP),
        Some(Kind::Ike | Kind::IkeNotSeen | Kind::Esp) => {
            Remedy::new("add ML-KEM-768 as additional key exchange, or `bartizan up`")
                .writing(IKE_PROPOSALS)
                .run(LOAD)
        }
        Some(Kind::Ssh) => Remedy::new("let both ends agree on mlkem768x25519-sha256").writing(SSH_METHODS),
        _ => Remedy::new("let both ends require a post-quantum key exchange"),
    }
}

fn forgeable(kind: Option<Kind>) -> Remedy {
    match kind {
        Some(Kind::Tls13 | Kind::TlsLegacy(_)) => {
            Remedy::new("give both ends ML-DSA certificates (`bartizan ca`), by TLS 1.3")
                .run("bartizan ca issue --dir ca --name A --dns A --out certificates")
                .about(Subject::Signature)
                .by(Means::MlDsa65)
        }
        Some(Kind::Ike | Kind::IkeNotSeen | Kind::IkeV1 | Kind::Esp) => Remedy::new(
            "use ML-DSA certificates as soon as both daemons take them",
        )
        .writing(&[Change {
            file: DEPLOYMENT,
            entry: "engine: bartizan",
        }])
        .run("bartizan ca issue --dir ca --profile ipsec --key-algorithm ml-dsa-65 --name A --dns A --out certificates")
        .about(Subject::Signature)
        .by(Means::MlDsa65),
        Some(Kind::Ssh) => {
            Remedy::new("carry it in TLS or IPsec: SSH has no post-quantum host keys").about(Subject::Signature)
        }
        Some(Kind::DtlsOverSctp) => Remedy::new("carry it in IPsec (`bartizan up`)")
            .writing(&[Change {
                file: DEPLOYMENT,
                entry: "{ kind: N2, between: [A, B], with: ipsec }",
            }])
            .run(RUN_UP)
            .about(Subject::Signature),
        _ => Remedy::new("authenticate both ends: sidecars and IPsec do"),
    }
}

fn unproven(kind: Option<Kind>) -> Remedy {
    match kind {
        Some(Kind::TlsNotSeen) => {
            Remedy::new("restart an end, or its sidecar, to see handshakes").run("systemctl restart bartizan-sidecar@A")
        }
        Some(Kind::IkeNotSeen | Kind::Esp) => {
            Remedy::new("set it up anew while capturing, or give ledgers (`--ledger`)")
                .run("swanctl --rekey --ike NAME --reauth")
        }
        Some(Kind::SshNotSeen) => Remedy::new("reconnect while capturing, to see the key exchange"),
        Some(Kind::Tls13 | Kind::TlsLegacy(_)) => {
            Remedy::new("require a key exchange on resumption, and no early data").writing(&[Change {
                file: OPENSSL,
                entry: "Options = -AllowNoDHEKEX",
            }])
        }
        Some(Kind::GtpU) => by_ipsec(&[Change {
            file: DEPLOYMENT,
            entry: "{ kind: N3, between: [A, B], with: ipsec }",
        }]),
        Some(Kind::MacSec | Kind::Mka) => {
            Remedy::new("key MACsec by `bartizan up`, and give its ledgers (`--ledger`)").run(RUN_UP)
        }
        _ => Remedy::new("find out what it is, and carry it in TLS or IPsec with ML-KEM"),
    }
}

/// Kind that a concern about a link is about: that of the first part that shows it.
pub(crate) fn kind_of(link: &Link, concern: Concern) -> Option<Kind> {
    let (confidentiality, authenticity) = (link.confidentiality.verdict(), link.authenticity.verdict());
    let phase = link.phases.iter().find(|phase| match concern {
        Concern::Authenticity => phase.authenticity == authenticity,
        _ => phase.confidentiality == confidentiality,
    });
    phase.map(|phase| phase.kind)
}

/// Returns true if a capture that began after this was set up could show more: the note says how.
pub(crate) fn begun_before(kind: Kind, confidentiality: Verdict) -> bool {
    confidentiality == Verdict::NotSeen && matches!(kind, Kind::TlsNotSeen | Kind::SshNotSeen | Kind::IkeNotSeen)
}

#[cfg(test)]
mod tests {
    use bartizan_registry::FRAMEWORKS;

    use super::*;

    #[test]
    fn each_concern_has_a_remedy_of_one_line_and_a_severity() {
        for remedy in remedies() {
            let what = remedy.what;
            assert!(!what.is_empty() && what.len() <= 66 && !what.contains('\n'), "{what}");
            for change in remedy.changes {
                assert!(
                    !change.entry.contains('\n') && change.file.len() + change.entry.len() < 80,
                    "{change:?}"
                );
            }
        }
        for kind in [HoleKind::ProxyCredentials, HoleKind::Tunnel, HoleKind::BehindProxy] {
            assert!(of_hole(kind).what.contains("proxy"), "{kind}");
        }
        assert_eq!(Severity::of(Concern::ReadableNow), Severity::Critical);
        assert!(Severity::of(Concern::Confidentiality) < Severity::of(Concern::Authenticity));
    }
    #[test]
    fn what_is_harvested_touches_what_frameworks_say_of_key_exchanges_and_what_is_forged_what_they_say_of_signatures() {
        let harvested = remedy(Concern::Confidentiality, Some(Kind::Ike)).asked();
        let forged = remedy(Concern::Authenticity, Some(Kind::Ike)).asked();
        for (asked, first) in [(&harvested, "ML-KEM-1024"), (&forged, "ML-DSA-87")] {
            assert_eq!(asked.len(), FRAMEWORKS.len());
            assert!(asked[0].asks.starts_with(first), "{asked:?}");
        }
        // That the capture lacks something falls short of no framework.
        assert!(remedy(Concern::Unproven, Some(Kind::TlsNotSeen)).asked().is_empty());
        assert!(remedy(Concern::Contradiction, None).asked().is_empty());
    }

    #[test]
    fn what_is_in_plaintext_is_asked_by_no_framework_about_algorithms_and_a_remedy_says_what_it_meets() {
        for kind in Kind::all() {
            assert!(remedy(Concern::ReadableNow, Some(kind)).asked().is_empty(), "{kind:?}");
        }
        let n4 = remedy(Concern::ReadableNow, Some(Kind::Pfcp)).lines();
        assert_eq!(n4, ["asked by: TS 33.501 (9.9: N4)"]);
        let [asked, meets] = &remedy(Concern::Confidentiality, Some(Kind::Tls13)).lines()[..] else {
            panic!("two lines");
        };
        assert!(
            asked.contains("NIST IR 8547 (draft, 2024-11, key establishment)"),
            "{asked}"
        );
        assert!(meets.ends_with("; not CNSA 2.0"), "{meets}");
        let [_, meets] = &remedy(Concern::Authenticity, Some(Kind::Tls13)).lines()[..] else {
            panic!("two lines");
        };
        assert!(meets.contains("not CNSA 2.0"), "{meets}");
    }

    #[test]
    fn a_known_protocol_is_not_to_be_found_out_and_a_file_is_loaded_by_the_program_that_reads_it() {
        for kind in [Kind::MacSec, Kind::Mka] {
            let what = remedy(Concern::Unproven, Some(kind)).what;
            assert!(!what.contains("find out"), "{kind:?}: {what}");
        }
        let classical = remedy(Concern::Confidentiality, Some(Kind::Ike));
        assert_eq!((classical.changes[0].file, classical.command), (SWANCTL, Some(LOAD)));
        assert!(
            remedy(Concern::Contradiction, Some(Kind::Ike))
                .what
                .contains("cloned end")
        );
    }

    #[test]
    fn the_file_of_a_remedy_is_that_of_the_protocol_at_hand() {
        let file = |concern, kind| remedy(concern, Some(kind)).changes[0].file;
        assert_eq!(file(Concern::Confidentiality, Kind::Ike), SWANCTL);
        assert_eq!(file(Concern::Confidentiality, Kind::Tls13), OPENSSL);
        assert_eq!(file(Concern::ReadableNow, Kind::ClearHttp2), DEPLOYMENT);
        assert_eq!(file(Concern::Confidentiality, Kind::Ssh), "sshd_config, ssh_config");
    }
}
