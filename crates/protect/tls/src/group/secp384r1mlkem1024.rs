//! SecP384r1MLKEM1024 (0x11ed, RFC 10024): both shares and both secrets concatenated, the classical one first.

use rustls::crypto::aws_lc_rs::kx_group::{MLKEM1024, SECP384R1};
use rustls::crypto::{ActiveKeyExchange, CompletedKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};
use zeroize::Zeroizing;

const GROUP: NamedGroup = NamedGroup::Unknown(0x11ed);
/// An uncompressed point of P-384.
const POINT: usize = 97;
/// An encapsulation key of ML-KEM-1024.
const ENCAPSULATION_KEY: usize = 1568;
/// A ciphertext of ML-KEM-1024.
const CIPHERTEXT: usize = 1568;
const INVALID_KEY_SHARE: Error = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);

#[derive(Debug)]
pub(super) struct Secp384r1Mlkem1024;

struct Active {
    classical: Box<dyn ActiveKeyExchange>,
    post_quantum: Box<dyn ActiveKeyExchange>,
    share: Vec<u8>,
}

impl SupportedKxGroup for Secp384r1Mlkem1024 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let (classical, post_quantum) = (SECP384R1.start()?, MLKEM1024.start()?);
        let share = [classical.pub_key(), post_quantum.pub_key()].concat();
        Ok(Box::new(Active {
            classical,
            post_quantum,
            share,
        }))
    }

    fn start_and_complete(&self, client_share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let (point, key) = split(client_share, ENCAPSULATION_KEY)?;
        let classical = SECP384R1.start_and_complete(point)?;
        let post_quantum = MLKEM1024.start_and_complete(key)?;
        Ok(CompletedKeyExchange {
            group: GROUP,
            pub_key: [classical.pub_key, post_quantum.pub_key].concat(),
            secret: joined(&classical.secret, &post_quantum.secret),
        })
    }

    fn name(&self) -> NamedGroup {
        GROUP
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

impl ActiveKeyExchange for Active {
    fn complete(self: Box<Self>, server_share: &[u8]) -> Result<SharedSecret, Error> {
        let (point, ciphertext) = split(server_share, CIPHERTEXT)?;
        let classical = self.classical.complete(point)?;
        let post_quantum = self.post_quantum.complete(ciphertext)?;
        Ok(joined(&classical, &post_quantum))
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn group(&self) -> NamedGroup {
        GROUP
    }
}

/// The point, and what is left where it has exactly the length it must have.
fn split(share: &[u8], rest: usize) -> Result<(&[u8], &[u8]), Error> {
    match share.split_at_checked(POINT) {
        Some((point, other)) if other.len() == rest => Ok((point, other)),
        _ => Err(INVALID_KEY_SHARE),
    }
}

fn joined(classical: &SharedSecret, post_quantum: &SharedSecret) -> SharedSecret {
    // The capacity is exact: growing would leave a copy of the secret behind that is never cleared.
    let mut secret = Zeroizing::new(Vec::with_capacity(
        classical.secret_bytes().len() + post_quantum.secret_bytes().len(),
    ));
    secret.extend_from_slice(classical.secret_bytes());
    secret.extend_from_slice(post_quantum.secret_bytes());
    SharedSecret::from(secret.as_slice())
}
