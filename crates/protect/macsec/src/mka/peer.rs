//! wpa_supplicant as the peer of EAP-TLS: its credentials, the authenticator that it accepts, and
//! its OpenSSL's permitted negotiation.

use std::fmt::Write as _;
use std::path::Path;
use std::time::SystemTime;

use bartizan_deployment::{Files, Identity, Policy, Revocation, day_of};
use bartizan_registry::{NamedGroup, group, signature};

/// Octets of TLS in a fragment of EAP: frames of more than 2300 it loses.
const FRAGMENT: u32 = 1398;

/// wpa_supplicant's settings for EAP-TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EapPeer {
    /// The name that it gives when it is asked: the node's, which its certificate carries as well.
    pub name: String,
    /// Its certificate and key, and the roots that it trusts.
    pub files: Files,
    /// The names of the authenticator.
    pub authenticator: Identity,
    /// Policy of the handshake.
    pub policy: Policy,
}

impl EapPeer {
    /// The first requirement that wpa_supplicant cannot meet. None if it meets all.
    pub fn lacks(&self) -> Option<&'static str> {
        if self.files.certificates.len() > 1 {
            Some("it can be given one certificate, and the node has several (`certificates`)")
        } else if self.files.crl.is_some() {
            Some("it checks no revocation list of a deployment file (`trust.crl`)")
        } else if self.policy.revocation == Revocation::Require {
            Some("the policy requires a revocation list (`revocation: require`), and it checks none")
        } else if !self.authenticator.ip().is_empty() {
            Some("it cannot recognise a peer by an IP address in its certificate (`names.ip`)")
        } else {
            None
        }
    }

    /// Lines of a network. Texts stand there in hexadecimal: nothing in a name or a path is read as something else.
    pub(super) fn network(&self, line: &mut dyn FnMut(&[&str])) {
        let path = |path: &Path| hexadecimal(path.as_os_str().as_encoded_bytes());
        line(&[" eap=TLS\n identity=", &hexadecimal(self.name.as_bytes())]);
        line(&[" ca_cert=", &path(&self.files.roots)]);
        for own in &self.files.certificates {
            line(&[" client_cert=", &path(&own.certificate)]);
            line(&[" private_key=", &path(&own.key)]);
        }
        // One name of each listed kind must match; within a kind, any of them. `domain_match` takes
        // the common name of a certificate without a DNS name as well, `altsubject_match` does not,
        // and is one list for all kinds: any name of it suffices.
        let (dns, uri) = (self.authenticator.dns(), self.authenticator.uri());
        let listed = |kind: &str, names: &[String]| {
            let names: Vec<_> = names.iter().map(|name| format!("{kind}:{name}")).collect();
            hexadecimal(names.join(";").as_bytes())
        };
        match (dns, uri) {
            ([], []) => {}
            (dns, []) => line(&[" altsubject_match=", &listed("DNS", dns)]),
            (dns, uri) => {
                if !dns.is_empty() {
                    line(&[" domain_match=", &hexadecimal(dns.join(";").as_bytes())]);
                }
                line(&[" altsubject_match=", &listed("URI", uri)]);
            }
        }
        line(&[
            " phase1=\"tls_disable_tlsv1_3=0 tls_disable_tlsv1_2=1 tls_disable_tlsv1_1=1 tls_disable_tlsv1_0=1\"\n fragment_size=",
            &FRAGMENT.to_string(),
        ]);
    }

    /// The names of every group and scheme of the policy, as OpenSSL writes them.
    pub(super) fn names(&self) -> Vec<&'static str> {
        let policy = &self.policy;
        let schemes = policy.signatures.iter().chain(&policy.chain_signatures);
        let groups = policy.groups.iter().filter_map(|&code| group(code)?.openssl);
        groups
            .chain(schemes.filter_map(|&code| signature(code)?.openssl))
            .collect()
    }

    /// The configuration of an OpenSSL that knows these names, with its groups: it alone can bound
    /// what wpa_supplicant negotiates. As the policy is today; none where nothing is left.
    pub(super) fn openssl(&self, knows: &dyn Fn(&str) -> bool) -> Option<(String, Vec<NamedGroup>)> {
        let policy = self.policy.in_effect(day_of(SystemTime::now()));
        let names = policy
            .groups
            .iter()
            .filter_map(|&code| Some((group(code)?.openssl?, code)));
        let (groups, codes): (Vec<_>, Vec<_>) = names.filter(|(name, _)| knows(name)).unzip();
        let mut schemes = Vec::new();
        for &code in policy.signatures.iter().chain(&policy.chain_signatures) {
            let name = signature(code).and_then(|known| known.openssl);
            if let Some(name) = name.filter(|name| knows(name) && !schemes.contains(name)) {
                schemes.push(name);
            }
        }
        let ciphers = policy.ciphers.iter().map(|cipher| cipher.name());
        if groups.is_empty() || schemes.is_empty() {
            return None;
        }
        let mut text = String::from(
            "openssl_conf = bartizan\n[bartizan]\nssl_conf = connections\n[connections]\nsystem_default = policy\n[policy]\nMinProtocol = TLSv1.3\n",
        );
        // Writing into a String cannot fail.
        let _ = writeln!(text, "Groups = {}", groups.join(":"));
        let _ = writeln!(text, "SignatureAlgorithms = {}", schemes.join(":"));
        let _ = writeln!(text, "Ciphersuites = {}", ciphers.collect::<Vec<_>>().join(":"));
        Some((text, codes))
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use bartizan_deployment::Deployment;

    use super::*;

    fn peer(policy: &str, names: &str) -> EapPeer {
        let text = format!(
            "policy: {policy}\ntrust: {{ roots: root.pem }}\nnodes:\n  \
             odu: {{ function: O-DU, address: 10.0.0.1, certificate: odu.pem, key: odu.key{names} }}\n  \
             oru: {{ function: O-RU, address: 10.0.0.2, certificate: 'o\"ru.pem', key: oru.key }}\ninterfaces:\n  \
             - {{ kind: FH, between: [odu, oru], with: macsec, macsec: {{ port: {{ odu: eth0, oru: eth0 }} }} }}\n"
        );
        let deployment =
            Deployment::parse(&text, "fh.yaml", Path::new("/etc")).unwrap_or_else(|error| panic!("{error}"));
        let (authenticator, interface, _) = deployment.macsec_links("oru").next().unwrap();
        EapPeer {
            name: "oru".to_owned(),
            files: deployment.node("oru").unwrap().files.clone().unwrap(),
            authenticator: authenticator.identity.clone(),
            policy: Policy::clone(&interface.policy),
        }
    }

    fn network(peer: &EapPeer) -> String {
        let mut text = String::new();
        peer.network(&mut |words| text.push_str(&(words.concat() + "\n")));
        text
    }

    #[test]
    fn names_and_paths_are_hexadecimal_so_that_nothing_in_them_ends_a_field() {
        let peer = peer("hybrid", "");
        let text = network(&peer);
        let path = hexadecimal(b"/etc/o\"ru.pem");
        for line in [
            " identity=6f7275",
            &format!(" altsubject_match={}", hexadecimal(b"DNS:odu")),
            &format!(" client_cert={path}"),
        ] {
            assert!(text.lines().any(|one| one == line), "{line}: {text}");
        }
        // A certificate without a DNS name would be judged by its common name.
        assert!(!text.contains("domain_match") && text.contains("tls_disable_tlsv1_3=0"));
        assert_eq!(peer.lacks(), None);
    }

    #[test]
    fn openssl_may_negotiate_what_the_policy_names_and_nothing_else() {
        let peer = peer("hybrid", "");
        let (text, groups) = peer.openssl(&|_| true).unwrap();
        assert_eq!(groups, peer.policy.groups);
        assert!(text.contains("\nGroups = X25519MLKEM768"), "{text}");
        assert!(
            text.contains("mldsa65") && text.contains("MinProtocol = TLSv1.3"),
            "{text}"
        );
        for classical in ["X25519:", ":X25519\n", "P-256", "ecdsa", "ed25519"] {
            assert!(!text.contains(classical), "{classical}: {text}");
        }
        // One that does not know a name ignores the whole line.
        let (text, groups) = peer
            .openssl(&|name| ["X25519MLKEM768", "mldsa65"].contains(&name))
            .unwrap();
        assert!(
            text.contains("\nGroups = X25519MLKEM768\nSignatureAlgorithms = mldsa65\n"),
            "{text}"
        );
        assert_eq!(groups, [NamedGroup(0x11ec)]);
        assert!(peer.names().contains(&"X25519MLKEM768"));
        assert_eq!(peer.openssl(&|name| name.starts_with("mldsa")), None);
    }

    #[test]
    fn what_wpa_supplicant_cannot_check_is_named() {
        let by_uri = peer("hybrid", ", names: { dns: [odu], uri: ['urn:uuid:1'] }");
        assert!(network(&by_uri).contains(&hexadecimal(b"URI:urn:uuid:1")));
        assert_eq!(by_uri.lacks(), None);
        let by_address = peer("hybrid", ", names: { ip: [10.0.0.1] }");
        assert!(by_address.lacks().unwrap().contains("IP address"));
        let mut revoking = peer("hybrid", "");
        revoking.files.crl = Some(PathBuf::from("crl.pem"));
        assert!(revoking.lacks().unwrap().contains("trust.crl"));
        let requiring = peer("{ profile: hybrid, revocation: require }", "");
        assert!(requiring.lacks().unwrap().contains("revocation: require"));
    }
}
