//! Registry of TLS groups, signature schemes and cipher suites, IKEv2 transforms, MACsec cipher
//! suites, X.509 keys and the primitives under them, with their code points, sizes in bytes, NIST
//! categories and the names that OpenSSL, rustls and strongSwan use.
//!
//! One table serves parsers, policy, planner and documents. The crate does no I/O.
//!
//! A column that this project has not seen confirmed is absent (`-` in a table, `None` in a record), never guessed;
//! a record's `note` says what a reader must know before relying on the rest.
#![forbid(unsafe_code)]

mod application;
mod cipher;
mod code;
mod document;
pub mod ethertype;
mod families;
mod framework;
mod group;
mod header;
mod http;
mod ike;
mod macsec;
mod made;
mod name;
mod object;
mod primitive;
mod row;
mod sctp;
mod signature;
mod ssh;
mod status;
mod tcp;
mod udp;
mod x509;

pub use application::{JWS_ALGORITHMS, JwsAlgorithm, SUCI_SCHEMES, SuciScheme, jws_algorithm, suci_scheme};
pub use cipher::{CIPHERS, Cipher, TlsVersion, cipher, cipher_named};
pub use code::{CipherSuite, NamedGroup, SignatureScheme, is_grease};
pub use framework::{Asked, FRAMEWORKS, Framework, Means, Strength, Subject, asked};
pub use group::{GROUPS, Group, Kind, group, group_named};
pub use header::{
    ECPRI_PAYLOAD_PUBLISHED, FRAGMENT_UNIT, HEADERS, Header, IP_PACKET_MOST, IPV4_MTU_LEAST, IPV6_MTU_LEAST,
    QUIC_AMPLIFICATION, QUIC_INITIAL_LEAST, TCP_INITIAL_BYTES, TCP_INITIAL_SEGMENTS, TLS_RECORD_CONTENT,
};
pub use http::{
    HTTP_APIS, HttpApi, NETWORK_DOMAIN, NETWORK_FUNCTIONS, NetworkFunction, SBI_HEADER, http_api,
    network_function_named, network_function_of,
};
pub use ike::{
    AUTHENTICATION_METHODS, AuthenticationMethod, ESP_ENCRYPTIONS, ESP_INTEGRITIES, EspEncryption, EspIntegrity,
    HASH_ALGORITHMS, HashAlgorithm, IKEV1_AUTHENTICATION, IKEV1_CIPHERS, Ikev1Value, TRANSFORMS, Transform,
    TransformKind, authentication_method, esp_encryption, esp_integrity, ikev1_value, transform, transform_named,
};
pub use macsec::{
    MACSEC_ICV, MACSEC_KEY_ID, MACSEC_SALT, MACSEC_SCI, MACSEC_SECTAG, MACSEC_SUITES, MacsecSuite, macsec_suite,
    macsec_suite_named,
};
pub use name::{mentions, same_name};
pub use primitive::{PRIMITIVES, Primitive, Purpose, primitive, primitives};
pub use sctp::{
    SCTP_APPLICATIONS, SCTP_OVER_QUIC, SCTP_OVER_TLS, SctpApplication, sctp_application, sctp_application_at,
    sctp_interface_named,
};
pub use signature::{SIGNATURES, Signature, signature, signature_named, signature_safety};
pub use ssh::{
    SSH_KEY_EXCHANGES, SSH_NO_CIPHER, SSH_PUBLIC_KEYS, SshKeyExchange, SshPublicKey, ssh_cipher, ssh_key_exchange,
    ssh_public_key,
};
pub use status::{Category, Safety, State, Status};
pub use tcp::{TCP_APPLICATIONS, TcpApplication, tcp_application_at};
pub use udp::{QUIC_VERSIONS, QuicVersion, UDP_APPLICATIONS, UdpApplication, quic_version};
pub use x509::{X509_ALGORITHMS, X509Algorithm, X509Use, x509_algorithm, x509_algorithm_named};
