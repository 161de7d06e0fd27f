//! SSH: key exchange methods, and public key algorithms that prove who a server is, by the names
//! that stand in SSH_MSG_KEXINIT (RFC 4253, section 7.1).

use serde::Serialize;

use crate::document::*;
use crate::row::{category, note};
use crate::{Category, Safety, Status};

/// A key exchange method.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct SshKeyExchange {
    /// Its name on the wire.
    pub name: &'static str,
    /// NIST category of its post-quantum part, where NIST gives one.
    pub category: Option<Category>,
    /// Safe against an attacker who records today and computes later.
    pub recording: Safety,
    /// Bytes of key exchange data that the client sends (`C_INIT`), then the server (`S_REPLY`), of
    /// methods with a post-quantum part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shares: Option<[u16; 2]>,
    /// The defining document.
    pub status: Status,
    /// A caveat in addition to the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<&'static str>,
}

macro_rules! shares {
    (-) => {
        None
    };
    ([$client:literal $server:literal]) => {
        Some([$client, $server])
    };
}

macro_rules! methods {
    ($($safety:ident { $($name:literal $category:tt $shares:tt $status:ident $($note:literal)?;)* })*) => {
        &[$($(SshKeyExchange {
            name: $name,
            category: category!($category),
            recording: Safety::$safety,
            shares: shares!($shares),
            status: $status,
            note: note!($($note)?),
        },)*)*]
    };
}

/// Every key exchange method of SSH this project knows.
pub static SSH_KEY_EXCHANGES: &[SshKeyExchange] = methods! {
    // name, category, bytes of both shares, document, note
    QuantumSafe {
        "mlkem768x25519-sha256"                    3 [1216 1120] RFC_10042   "default of OpenSSH from 10.0 on";
        "mlkem768nistp256-sha256"                  3 [1249 1153] RFC_10042;
        "mlkem1024nistp384-sha384"                 5 [1665 1665] RFC_10042;
        "sntrup761x25519-sha512"                   - [1190 1071] RFC_9941    "Streamlined NTRU Prime, which NIST did not choose";
        "sntrup761x25519-sha512@openssh.com"       - [1190 1071] RFC_9941    "the same before it had an RFC; default of OpenSSH 9.0 to 9.9";
        "sntrup4591761x25519-sha512@tinyssh.org"   - [1250 1079] SSH_PRIVATE "replaced by sntrup761";
    }
    Vulnerable {
        "curve25519-sha256"                        - -           RFC_8731;
        "curve25519-sha256@libssh.org"             - -           RFC_8731    "the same before it had an RFC";
        "curve448-sha512"                          - -           RFC_8731;
        "ecdh-sha2-nistp256"                       - -           RFC_5656;
        "ecdh-sha2-nistp384"                       - -           RFC_5656;
        "ecdh-sha2-nistp521"                       - -           RFC_5656;
        "diffie-hellman-group-exchange-sha1"       - -           RFC_4419;
        "diffie-hellman-group-exchange-sha256"     - -           RFC_4419;
        "diffie-hellman-group1-sha1"               - -           RFC_4253    "1024 bits: broken without a quantum computer";
        "diffie-hellman-group14-sha1"              - -           RFC_4253;
        "diffie-hellman-group14-sha256"            - -           RFC_8268;
        "diffie-hellman-group15-sha512"            - -           RFC_8268;
        "diffie-hellman-group16-sha512"            - -           RFC_8268;
        "diffie-hellman-group17-sha512"            - -           RFC_8268;
        "diffie-hellman-group18-sha512"            - -           RFC_8268;
        "rsa2048-sha256"                           - -           RFC_4432;
    }
};

/// A public key algorithm: what a host key is, or what a signature is made with.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct SshPublicKey {
    /// Its name on the wire.
    pub name: &'static str,
    /// Safety from a forger with a quantum computer.
    pub forgery: Safety,
    /// The defining document.
    pub status: Status,
}

macro_rules! keys {
    ($($safety:ident { $($name:literal $status:ident;)* })*) => {
        &[$($(SshPublicKey { name: $name, forgery: Safety::$safety, status: $status },)*)*]
    };
}

/// Every public key algorithm of SSH this project knows. None that a release of OpenSSH has is post-quantum.
pub static SSH_PUBLIC_KEYS: &[SshPublicKey] = keys! {
    // name, document
    Vulnerable {
        "ssh-ed25519"                              RFC_8709;
        "ssh-ed448"                                RFC_8709;
        "ecdsa-sha2-nistp256"                      RFC_5656;
        "ecdsa-sha2-nistp384"                      RFC_5656;
        "ecdsa-sha2-nistp521"                      RFC_5656;
        "rsa-sha2-256"                             RFC_8332;
        "rsa-sha2-512"                             RFC_8332;
        "ssh-rsa"                                  RFC_4253;
        "ssh-dss"                                  RFC_4253;
        "x509v3-ssh-rsa"                           RFC_6187;
        "x509v3-rsa2048-sha256"                    RFC_6187;
        "x509v3-ecdsa-sha2-nistp256"               RFC_6187;
        "x509v3-ecdsa-sha2-nistp384"               RFC_6187;
        "x509v3-ecdsa-sha2-nistp521"               RFC_6187;
        "ssh-ed25519-cert-v01@openssh.com"         SSH_PRIVATE;
        "ssh-rsa-cert-v01@openssh.com"             SSH_PRIVATE;
        "rsa-sha2-256-cert-v01@openssh.com"        SSH_PRIVATE;
        "rsa-sha2-512-cert-v01@openssh.com"        SSH_PRIVATE;
        "ecdsa-sha2-nistp256-cert-v01@openssh.com" SSH_PRIVATE;
        "ecdsa-sha2-nistp384-cert-v01@openssh.com" SSH_PRIVATE;
        "ecdsa-sha2-nistp521-cert-v01@openssh.com" SSH_PRIVATE;
        "sk-ssh-ed25519@openssh.com"               SSH_PRIVATE;
        "sk-ecdsa-sha2-nistp256@openssh.com"       SSH_PRIVATE;
    }
};

/// The cipher of SSH that does not encrypt (RFC 4253, section 6.3).
pub const SSH_NO_CIPHER: &str = "none";

/// Ciphers of SSH that a quantum computer does not break either: IANA's (RFC 4253, 4344 and 5647),
/// and those of implementations.
const SSH_CIPHERS: [&str; 34] = [
    "aes128-cbc",
    "aes192-cbc",
    "aes256-cbc",
    "aes128-ctr",
    "aes192-ctr",
    "aes256-ctr",
    "AEAD_AES_128_GCM",
    "AEAD_AES_256_GCM",
    "aes128-gcm@openssh.com",
    "aes256-gcm@openssh.com",
    "aes128-gcm",
    "aes256-gcm",
    "rijndael-cbc@lysator.liu.se",
    "chacha20-poly1305",
    "chacha20-poly1305@openssh.com",
    "camellia128-cbc",
    "camellia192-cbc",
    "camellia256-cbc",
    "camellia128-ctr",
    "camellia192-ctr",
    "camellia256-ctr",
    "serpent128-cbc",
    "serpent192-cbc",
    "serpent256-cbc",
    "serpent128-ctr",
    "serpent192-ctr",
    "serpent256-ctr",
    "twofish128-cbc",
    "twofish192-cbc",
    "twofish256-cbc",
    "twofish-cbc",
    "twofish128-ctr",
    "twofish192-ctr",
    "twofish256-ctr",
];

/// Ciphers of SSH that a classical computer breaks: blocks of 64 bits, RC4 and DES.
const SSH_BROKEN_CIPHERS: [&str; 13] = [
    "3des-cbc",
    "3des-ctr",
    "des-cbc",
    "des-cbc@ssh.com",
    "blowfish-cbc",
    "blowfish-ctr",
    "cast128-cbc",
    "cast128-ctr",
    "idea-cbc",
    "idea-ctr",
    "arcfour",
    "arcfour128",
    "arcfour256",
];

/// The key exchange method of this name.
pub fn ssh_key_exchange(name: &str) -> Option<&'static SshKeyExchange> {
    SSH_KEY_EXCHANGES.iter().find(|known| known.name == name)
}

/// Safety of the traffic under the cipher of this name; none for one that is not known.
pub fn ssh_cipher(name: &str) -> Option<Safety> {
    match name {
        _ if SSH_CIPHERS.contains(&name) => Some(Safety::QuantumSafe),
        _ if SSH_BROKEN_CIPHERS.contains(&name) => Some(Safety::Vulnerable),
        _ => None,
    }
}

/// The public key algorithm of this name.
pub fn ssh_public_key(name: &str) -> Option<&'static SshPublicKey> {
    SSH_PUBLIC_KEYS.iter().find(|known| known.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_method_is_safe_by_its_whole_name_only() {
        let safety = |name| ssh_key_exchange(name).map(|known| known.recording);
        assert_eq!(safety("mlkem768x25519-sha256"), Some(Safety::QuantumSafe));
        assert_eq!(safety("sntrup761x25519-sha512@openssh.com"), Some(Safety::QuantumSafe));
        assert_eq!(safety("curve25519-sha256"), Some(Safety::Vulnerable));
        assert_eq!(safety("mlkem768x25519-sha256@example.com"), None);
        assert_eq!(safety("kex-strict-s-v00@openssh.com"), None);
    }

    #[test]
    fn shares_of_a_hybrid_are_those_of_its_two_parts() {
        use crate::{NamedGroup, group};
        let of = |code| group(NamedGroup(code)).map(|known| [known.client_share, known.server_share]);
        let shares = |name| ssh_key_exchange(name).and_then(|known| known.shares);
        // The groups of TLS have the same parts (draft-ietf-tls-ecdhe-mlkem), in whatever order.
        assert_eq!(shares("mlkem768x25519-sha256"), of(0x11ec));
        assert_eq!(shares("mlkem768nistp256-sha256"), of(0x11eb));
        assert_eq!(shares("mlkem1024nistp384-sha384"), of(0x11ed));
        for known in SSH_KEY_EXCHANGES {
            assert_eq!(
                known.shares.is_some(),
                known.recording == Safety::QuantumSafe,
                "{}",
                known.name
            );
        }
    }

    #[test]
    fn no_name_stands_twice() {
        let mut names: Vec<&str> = SSH_KEY_EXCHANGES.iter().map(|known| known.name).collect();
        names.extend(SSH_PUBLIC_KEYS.iter().map(|known| known.name));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
