//! The deployment file: which nodes there are, which interfaces join them, what protects each and under which policy.
//!
//! [`Deployment::parse`] takes text and gives values that cannot be wrong: every name resolves, every policy is one a
//! handshake can be judged by, every exception has a reason and a date. The crate opens no file and reads no clock.
#![forbid(unsafe_code)]

mod allowed;
mod belonging;
mod error;
mod function;
mod identity;
mod interface;
mod ipsec;
mod ledger;
mod macsec;
mod mesh;
mod nearest;
mod node;
mod own_tls;
mod parse;
mod place;
mod policy;
mod raw;
mod schema;
mod sidecar;
mod syntax;
mod url;
mod word;

pub use allowed::Allowed;
pub use error::Error;
pub use function::meant_function;
pub use identity::Identity;
pub use interface::{Carrier, Interface, InterfaceKind, Protection};
pub use ipsec::{
    Breach, CopyDscp, DataPath, End, External, IkeAlgorithm, IkeAuthentication, IkeEngine, IpsecLink, IpsecNode,
    IpsecPolicy, KeyExchange, Lifetimes, Mode, Network, Offload, Ppk, Selector, Side, Start, TrafficProtocol,
};
pub use ledger::LedgerFile;
pub use macsec::{Cak, Confidentiality, Keying, MacsecLink, Unencrypted};
pub use nearest::nearest;
pub use node::{Node, NodeName};
pub use parse::Deployment;
pub use place::key_path;
pub use policy::{
    CipherSuite, Exception, Module, Policy, PostQuantum, Profile, Resumption, Revocation, USABLE_GROUPS,
    USABLE_SIGNATURES, day_of,
};
pub use sidecar::{CallerHeader, CertificateFiles, Files, Inbound, Limits, Outbound, Path, Route, Sidecar};
pub use syntax::{error as syntax_error, excerpt};
pub use url::HttpUrl;
