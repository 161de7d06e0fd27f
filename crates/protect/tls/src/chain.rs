//! Chains as peers present them, each read once.
//!
//! The contents of a chain depend on its bytes alone. Chains of peers whose handshakes ended well
//! are kept, so that the next connection of the same peer is spared reading and hashing its
//! certificates again. A kept chain is not a trusted one: trust is judged in every handshake.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use bartizan_ledger as ledger;
use rustls::pki_types::CertificateDer;

use crate::certificate::{self, Leaf};

/// Chains kept: those used last. With ML-DSA-65 one has 6 to 20 kB, and TLS bounds it to 64 KiB.
const AT_MOST: usize = 64;

bartizan_registry::made! {
    /// A chain, leaf first, and what has been read of it so far.
    #[derive(Debug)]
    pub(crate) struct Chain, new(leaf: &CertificateDer<'_>, intermediates: &[CertificateDer<'_>]) {
        let der = std::iter::once(leaf).chain(intermediates);
        /// At least the leaf.
        der: Vec<CertificateDer<'static>> = der.map(|der| der.clone().into_owned()).collect(),
        leaf: OnceLock<Result<Leaf, String>> = OnceLock::new(),
        entries: OnceLock<Arc<[ledger::Certificate]>> = OnceLock::new(),
        classical: OnceLock<bool> = OnceLock::new(),
    }
}

/// The chains of peers that were seen before.
#[derive(Debug, Default)]
pub(crate) struct Chains {
    /// The one used last comes first.
    kept: Mutex<Vec<Arc<Chain>>>,
}

impl Chain {
    fn is(&self, leaf: &CertificateDer<'_>, intermediates: &[CertificateDer<'_>]) -> bool {
        self.leaf_der() == leaf && self.intermediates() == intermediates
    }

    pub(crate) fn leaf_der(&self) -> &CertificateDer<'static> {
        &self.der[0]
    }

    pub(crate) fn intermediates(&self) -> &[CertificateDer<'static>] {
        &self.der[1..]
    }

    /// All of it in DER, leaf first.
    pub(crate) fn der(&self) -> impl Iterator<Item = &[u8]> {
        self.der.iter().map(AsRef::as_ref)
    }

    /// Its leaf, or why that cannot be read.
    pub(crate) fn leaf(&self) -> Result<&Leaf, &str> {
        let read = self.leaf.get_or_init(|| Leaf::read(self.leaf_der()));
        read.as_ref().map_err(String::as_str)
    }

    /// As the ledger keeps it.
    pub(crate) fn entries(&self) -> Arc<[ledger::Certificate]> {
        let entries = self.entries.get_or_init(|| certificate::chain(&self.der).into());
        Arc::clone(entries)
    }

    /// Returns true if any signature in it falls to a quantum computer.
    pub(crate) fn has_classical_signature(&self) -> bool {
        *self
            .classical
            .get_or_init(|| certificate::any_classical_signature(&self.der))
    }
}

impl Chains {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Chain>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The chain of these certificates: the one that is kept, or one of which nothing has been read.
    pub(crate) fn of(&self, leaf: &CertificateDer<'_>, intermediates: &[CertificateDer<'_>]) -> Arc<Chain> {
        let mut kept = self.lock();
        match kept.iter().position(|known| known.is(leaf, intermediates)) {
            Some(index) => {
                kept[..=index].rotate_right(1);
                Arc::clone(&kept[0])
            }
            None => Arc::new(Chain::new(leaf, intermediates)),
        }
    }

    /// Keeps the chain of a handshake that ended well.
    pub(crate) fn keep(&self, chain: &Arc<Chain>) {
        let mut kept = self.lock();
        if kept
            .iter()
            .any(|known| Arc::ptr_eq(known, chain) || known.der == chain.der)
        {
            return;
        }
        kept.truncate(AT_MOST - 1);
        kept.insert(0, Arc::clone(chain));
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256};

    use super::*;

    fn der(number: u8) -> CertificateDer<'static> {
        CertificateDer::from(vec![0x30, 1, number])
    }

    #[test]
    fn only_the_same_certificates_in_the_same_order_are_the_same_chain() {
        let chains = Chains::default();
        let chain = chains.of(&der(1), &[der(2)]);
        assert!(
            !Arc::ptr_eq(&chain, &chains.of(&der(1), &[der(2)])),
            "nothing is kept before its handshake ended"
        );
        chains.keep(&chain);
        assert!(Arc::ptr_eq(&chain, &chains.of(&der(1), &[der(2)])));
        for (leaf, above) in [
            (der(1), vec![]),
            (der(2), vec![der(1)]),
            (der(1), vec![der(3)]),
            (der(1), vec![der(2), der(2)]),
            (CertificateDer::from(vec![0x30, 1, 1, 0]), vec![der(2)]),
        ] {
            assert!(!Arc::ptr_eq(&chain, &chains.of(&leaf, &above)), "{leaf:?} {above:?}");
        }
    }

    #[test]
    fn what_was_used_least_makes_room() {
        let chains = Chains::default();
        let numbered = |number: usize| CertificateDer::from(vec![0x30, u8::try_from(number).unwrap()]);
        for number in 0..AT_MOST {
            chains.keep(&chains.of(&numbered(number), &[]));
        }
        let first = chains.of(&numbered(0), &[]);
        chains.keep(&chains.of(&numbered(AT_MOST), &[]));
        assert_eq!(chains.lock().len(), AT_MOST);
        assert!(Arc::ptr_eq(&first, &chains.of(&numbered(0), &[])));
        assert!(!chains.lock().iter().any(|known| known.is(&numbered(1), &[])));
    }

    #[test]
    fn a_chain_is_read_as_it_would_be_without_being_kept() {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap();
        let params = CertificateParams::new(vec!["nrf.5gc".to_owned()]).unwrap();
        let leaf = params.self_signed(&key).unwrap().der().clone();
        let chain = Chains::default().of(&leaf, &[der(9)]);
        for _ in 0..2 {
            assert_eq!(chain.leaf().unwrap().names.listed(), ["dns:nrf.5gc"]);
            assert_eq!(*chain.entries(), certificate::chain(&[leaf.clone(), der(9)]));
        }
        assert!(Chains::default().of(&der(9), &[]).leaf().is_err());
    }
}
