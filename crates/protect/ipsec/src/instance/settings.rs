//! `strongswan.conf` of a charon of our own, each value with its reason.

use std::fmt::Write as _;
use std::path::Path;

use super::Kernel;

/// Plugins in the order they are asked: nothing that reads `swanctl.conf`, fetches from the network, speaks EAP or assigns
/// addresses. `openssl` has X25519, ML-KEM, AES and signatures; the rest is what it lacks or has under other names.
const PLUGINS: &str = "random nonce drbg openssl curve25519 aes sha1 sha2 mgf1 hmac kdf gcm ccm chapoly \
                       pem pkcs1 pkcs8 x509 pubkey constraints revocation";

/// Settings that differ between charons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// The ESP implementation.
    pub kernel: Kernel,
    /// Peers that may begin at the same time, as after a power cut: they must not meet cookies.
    pub peers: u32,
    /// Peers of those that may come from one address: all peers behind a NAT come from the NAT's
    /// address.
    pub peers_per_address: u32,
    /// Largest IP datagram of an IKE fragment, in bytes.
    pub fragment_size: u16,
    /// The device by which the engine of Bartizan does ESP itself, and octets that a packet on the path may have.
    pub userspace: Option<(String, u16)>,
    /// strongSwan's own values where it has its own: for comparisons.
    pub defaults: bool,
    /// Log level, as in strongSwan: 1 is control flow, 2 is more of it, 3 dumps, 4 has secrets too.
    pub log_level: u8,
    /// A plugin that is asked before all others, such as `ml` for its ML-KEM: for comparisons.
    pub asked_first: Option<&'static str>,
    /// True if a CHILD_SA goes into an IKE_SA that its connection has already, as strongSwan does
    /// by itself; without, one end sets up as many IKE_SAs as a country has sites: for
    /// measurements.
    pub reuse_ike_sas: bool,
}

/// Peers above which IKE_SAs are kept in a table, and its most rows: 8 MiB of pointers.
const TABLE_FROM: u32 = 100;
const TABLE_MOST: u32 = 1 << 20;

impl Settings {
    /// For an end with this many peers.
    pub const fn new(kernel: Kernel, peers: u32) -> Self {
        Self {
            kernel,
            peers,
            peers_per_address: 1,
            fragment_size: 1280,
            userspace: None,
            defaults: false,
            log_level: 1,
            asked_first: None,
            reuse_ike_sas: true,
        }
    }

    /// The text of the file.
    pub(super) fn render(&self, socket: &Path, log: &Path) -> String {
        let kernel = match self.kernel {
            // The second one keeps routes and addresses where the first does ESP.
            Kernel::Libipsec => "kernel-libipsec kernel-netlink",
            // The ESP plugin of Bartizan's engine is never a charon's.
            Kernel::Netlink | Kernel::Userspace => "kernel-netlink",
        };
        let first = self.asked_first.map(|plugin| format!("{plugin} ")).unwrap_or_default();
        let mut text = format!(
            "charon-systemd {{\n  load = {first}{PLUGINS} {kernel} socket-default vici\n  plugins {{\n    vici {{ socket = unix://{} }}\n",
            socket.display()
        );
        // Writing to a string cannot fail.
        let mut line = |line: std::fmt::Arguments<'_>| {
            let _ = writeln!(text, "{line}");
        };
        if self.kernel == Kernel::Libipsec {
            // A peer's own traffic selectors must not lead our IKE packets into the tunnel.
            line(format_args!("    kernel-libipsec {{ allow_peer_ts = no }}"));
        }
        if !self.defaults {
            line(format_args!("    openssl {{ load_legacy = no }}"));
            // Revocation lists come with the credentials: a fetch in the middle of IKE_AUTH would stall the set-up.
            line(format_args!("    revocation {{ enable_ocsp = no }}"));
        }
        line(format_args!("  }}"));
        if !self.reuse_ike_sas {
            line(format_args!("  reuse_ikesa = no"));
        }
        if !self.defaults {
            // 16 is strongSwan's own, of which four wait for sockets; a set-up is bound by round trips, not by threads.
            line(format_args!("  threads = 16"));
            // 1280 bytes pass every IPv6 link and any tunnel that carries it. A hybrid ML-KEM-768 exchange is then two IKE fragments
            // one way; with 1500 it is one packet, until a link on the way is smaller and it is IP fragments, which firewalls drop.
            line(format_args!("  fragment_size = {}", self.fragment_size));
            // The default of 10 000 drops what ML-DSA-87 chains and FrodoKEM keys need (100 of 100 set-ups failed when it was tried).
            line(format_args!("  max_packet = 30000"));
            // Cookies cost every peer a round trip. They are for unauthenticated peers: the peers of the deployment may all begin at once,
            // each with its own and one more attempt half open.
            let cookies = self.peers.saturating_mul(2).max(30);
            // The same of one address, from which strongSwan's own 3 and 5 would lock out the sixth gNB behind a NAT.
            let of_address = self.peers_per_address.saturating_mul(2);
            let (cookies_of_address, blocked) = (of_address.max(8), of_address.saturating_mul(2).max(16));
            line(format_args!(
                "  cookie_threshold = {cookies}\n  cookie_threshold_ip = {cookies_of_address}\n  block_threshold = {blocked}"
            ));
            // strongSwan keeps its IKE_SAs in one list, which every message is looked up in; above a few hundred a table costs less.
            if self.peers > TABLE_FROM {
                let size = self.peers.min(TABLE_MOST).next_power_of_two();
                line(format_args!("  ikesa_table_size = {size}\n  ikesa_table_segments = 16"));
            }
            // Well below the 30 s after which Linux forgets a mapping that was never answered (nf_conntrack_udp_timeout) and RFC 4787's least of
            // two minutes: an end behind NAT that is silent stays reachable.
            line(format_args!("  keep_alive = 20"));
            // A lost packet of a set-up costs this much; the default of 4 s is for paths across the world. The first message to a peer that is away
            // is sent again at least every 4 s, so that a link stands within that time of its return; the default's pauses grow to 42 s. An SA
            // that stands is given up 23 s after the first message without an answer, the default's after 165 s: sooner, and a peer that
            // sets up a hundred links at once, or a path that loses a tenth, would be taken for dead.
            line(format_args!(
                "  retransmit_timeout = 1.0\n  retransmit_base = 1.8\n  retransmit_limit = 4\n  retransmit_tries = 6\n  retransmit_jitter = 10"
            ));
            // The new IKE_SA of a re-authentication is up before the old one goes: no packet finds neither.
            line(format_args!("  make_before_break = yes"));
            // A peer that is not there when we start is tried again.
            line(format_args!("  retry_initiate_interval = 5"));
            line(format_args!(
                "  send_vendor_id = no\n  accept_private_algs = no\n  install_virtual_ip = no"
            ));
        }
        line(format_args!(
            "  filelog {{ file {{\n    path = {}\n    default = {}\n    ike_name = yes\n    time_format = %Y-%m-%dT%H:%M:%S\n    flush_line = yes\n  }} }}\n  \
             syslog {{\n    daemon {{ default = -1 }}\n    auth {{ default = -1 }}\n  }}\n  journal {{ default = -1 }}\n}}",
            log.display(),
            self.log_level
        ));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(peers: u32) -> String {
        Settings::new(Kernel::Netlink, peers).render(Path::new("/run/charon.vici"), Path::new("/run/charon.log"))
    }

    #[test]
    fn a_charon_with_many_peers_has_a_table_of_ike_sas_of_bounded_size() {
        assert!(!text(1).contains("ikesa_table_size") && !text(100).contains("ikesa_table_size"));
        assert!(text(2000).contains("ikesa_table_size = 2048\n"), "{}", text(2000));
        assert!(text(u32::MAX).contains("ikesa_table_size = 1048576\n"));
    }

    #[test]
    fn ike_sas_are_used_again_unless_that_is_switched_off() {
        assert!(!text(1).contains("reuse_ikesa"));
        let settings = Settings {
            reuse_ike_sas: false,
            ..Settings::new(Kernel::Netlink, 1)
        };
        let rendered = settings.render(Path::new("/run/charon.vici"), Path::new("/run/charon.log"));
        assert!(rendered.contains("  reuse_ikesa = no\n"), "{rendered}");
    }
}
