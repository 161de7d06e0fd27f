//! ML-KEM-512 alone (0x0200, draft-ietf-tls-mlkem): NIST category 1, for measurements in a lab.

use aws_lc_rs::kem::{AlgorithmId, DecapsulationKey, EncapsulationKey, ML_KEM_512};
use rustls::crypto::{ActiveKeyExchange, CompletedKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};

const INVALID_KEY_SHARE: Error = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);

#[derive(Debug)]
pub(super) struct Mlkem512;

struct Active {
    decapsulation_key: DecapsulationKey<AlgorithmId>,
    encapsulation_key: Vec<u8>,
}

impl SupportedKxGroup for Mlkem512 {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let failed = |_| Error::General("ML-KEM-512 key generation failed".into());
        let decapsulation_key = DecapsulationKey::generate(&ML_KEM_512).map_err(failed)?;
        let encapsulation_key = decapsulation_key
            .encapsulation_key()
            .and_then(|key| key.key_bytes())
            .map_err(failed)?
            .as_ref()
            .to_vec();
        Ok(Box::new(Active {
            decapsulation_key,
            encapsulation_key,
        }))
    }

    fn start_and_complete(&self, client_share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        // EncapsulationKey::new checks the length and, as FIPS 203 section 7.2 asks, the modulus.
        let key = EncapsulationKey::new(&ML_KEM_512, client_share).map_err(|_| INVALID_KEY_SHARE)?;
        let (ciphertext, secret) = key.encapsulate().map_err(|_| INVALID_KEY_SHARE)?;
        Ok(CompletedKeyExchange {
            group: self.name(),
            pub_key: ciphertext.as_ref().to_vec(),
            secret: SharedSecret::from(secret.as_ref()),
        })
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::MLKEM512
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

impl ActiveKeyExchange for Active {
    fn complete(self: Box<Self>, ciphertext: &[u8]) -> Result<SharedSecret, Error> {
        let secret = self
            .decapsulation_key
            .decapsulate(ciphertext.into())
            .map_err(|_| INVALID_KEY_SHARE)?;
        Ok(SharedSecret::from(secret.as_ref()))
    }

    fn pub_key(&self) -> &[u8] {
        &self.encapsulation_key
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::MLKEM512
    }
}
