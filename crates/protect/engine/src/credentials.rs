//! Certificates, lists of revoked ones, private keys and pre-shared keys that the daemon was given by `load-cert`, `load-key` and `load-shared`.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bartizan_ike::{Secret, SigningKey};
use bartizan_pki::{CLOCKS_DIFFER, Certificate, RevocationList, Signed, chain_to, signed_by};
use rustls_pki_types::UnixTime;
use zeroize::Zeroizing;

use crate::commands::CONNECTIONS;
use bartizan_ipsec::vici::Message;

/// Certificates and keys of each kind that are kept, the oldest goes; and lists, of which none
/// goes.
const KEPT: usize = 64;
/// Certificates between a node's own and its root, at most.
const BETWEEN: usize = 7;

/// The loaded credentials. Its output never contains keys, and it wipes them.
#[derive(Default)]
pub(crate) struct Store {
    /// In DER, the newest first.
    certificates: Vec<Vec<u8>>,
    /// The newest of each issuer, its key and its part.
    lists: Vec<RevocationList>,
    /// PKCS#8.
    keys: Vec<Zeroizing<Vec<u8>>>,
    /// Post-quantum pre-shared keys by their names, the newest first: as many as connections, each of which may have one.
    ppks: Vec<(String, Secret)>,
}

fn unix(time: SystemTime) -> UnixTime {
    UnixTime::since_unix_epoch(time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO))
}

fn keep<T: PartialEq>(all: &mut Vec<T>, one: T) {
    all.retain(|known| *known != one);
    all.insert(0, one);
    all.truncate(KEPT);
}

impl Store {
    /// A certificate or a list of revoked ones.
    pub(crate) fn certificate(&mut self, message: &Message) -> Result<(), String> {
        let data = message.data("data").ok_or("no data")?.to_vec();
        match message.text("type") {
            Some("X509") => {
                Certificate::from_der(&data, "load-cert").map_err(|error| error.to_string())?;
                keep(&mut self.certificates, data);
            }
            Some("X509_CRL") => self.list(&data)?,
            kind => return Err(format!("no certificates of type {}", kind.unwrap_or("none"))),
        }
        Ok(())
    }

    /// A list of revoked certificates, in the place of older ones.
    fn list(&mut self, der: &[u8]) -> Result<(), String> {
        let unusable = |why: String| format!("the list of revoked certificates cannot be used: {why}");
        let list = RevocationList::from_der(der).map_err(unusable)?;
        let issuers = self.certificates.iter();
        let is_full = self.lists.len() == KEPT;
        match self.lists.iter_mut().find(|known| known.replaces(&list)) {
            // A list without a known signer keeps no other out.
            Some(known)
                if known.is_newer_than(&list)
                    && issuers.clone().any(|issuer| known.signed_by(issuer) == Signed::Yes) =>
            {
                return Err(format!(
                    "an older list of revoked certificates of {} ({}) than the one that is loaded ({})",
                    list.issuer(),
                    list.named(),
                    known.named()
                ));
            }
            Some(known) => *known = list,
            None if is_full => return Err(format!("more than {KEPT} lists of revoked certificates")),
            None => self.lists.push(list),
        }
        Ok(())
    }

    /// A private key.
    pub(crate) fn key(&mut self, message: &Message) -> Result<(), String> {
        let data = message.data("data").ok_or("no data")?;
        if SigningKey::from_pkcs8(data).is_none() {
            return Err("the key is no PKCS#8 of ECDSA, Ed25519, ML-DSA or RSA".to_owned());
        }
        keep(&mut self.keys, Zeroizing::new(data.to_vec()));
        Ok(())
    }

    /// A post-quantum pre-shared key.
    pub(crate) fn shared(&mut self, message: &Message) -> Result<(), String> {
        if !message
            .text("type")
            .is_some_and(|kind| kind.eq_ignore_ascii_case("ppk"))
        {
            return Err("shared secrets of type ppk, and no others".to_owned());
        }
        let secret = Secret::new(message.data("data").ok_or("no data")?.to_vec());
        let owners: Vec<_> = message.list("owners").map(str::to_owned).collect();
        if owners.is_empty() {
            return Err("no owners, by whose names it would be known".to_owned());
        }
        for owner in owners {
            self.ppks.retain(|(known, _)| *known != owner);
            self.ppks.insert(0, (owner, secret.clone()));
        }
        self.ppks.truncate(CONNECTIONS);
        Ok(())
    }

    /// The pre-shared key of this name.
    pub(crate) fn ppk(&self, name: &str) -> Option<Secret> {
        let found = self.ppks.iter().find(|(known, _)| known == name);
        found.map(|(_, secret)| secret.clone())
    }

    /// The lists, those signed last first.
    pub(crate) fn lists(&self) -> Vec<bartizan_ike::RevocationList> {
        let mut lists: Vec<_> = self.lists.iter().collect();
        lists.sort_by_key(|list| std::cmp::Reverse(list.this_update()));
        let read = lists.into_iter().map(|list| bartizan_ike::RevocationList {
            begins: unix(list.this_update() - CLOCKS_DIFFER),
            list: Arc::clone(list.verifiable()),
        });
        read.collect()
    }

    /// The key of a certificate.
    pub(crate) fn key_of(&self, certificate: &[u8]) -> Result<SigningKey, String> {
        let known = Certificate::from_der(certificate, "certs").map_err(|error| error.to_string())?;
        let mut keys = self.keys.iter();
        let key = keys.find(|key| known.certifies(key));
        key.and_then(|key| SigningKey::from_pkcs8(key))
            .ok_or_else(|| "no private key of this certificate was loaded".to_owned())
    }

    /// A certificate, and those that lead from it to one of these roots, without the root.
    ///
    /// Names alone lead there where signatures cannot be verified here.
    pub(crate) fn chain(&self, certificate: &[u8], roots: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let others = self.certificates.iter().filter(|one| *one != certificate);
        let authorities: Vec<&[u8]> = others.map(Vec::as_slice).collect();
        let ends: Vec<&[u8]> = roots.iter().map(Vec::as_slice).collect();
        if let Some(places) = chain_to(certificate, &authorities, &ends) {
            let above = places.into_iter().map(|place| authorities[place]);
            return [certificate].into_iter().chain(above).map(<[u8]>::to_vec).collect();
        }
        let mut chain = vec![certificate.to_vec()];
        while let Some(last) = chain.last().filter(|_| chain.len() <= BETWEEN) {
            let signs = |issuer: &&Vec<u8>| signed_by(last, issuer) != Signed::No;
            if roots.iter().any(|root| signs(&root)) {
                break;
            }
            let mut between = self.certificates.iter().filter(|one| !chain.contains(one));
            match between.find(signs) {
                Some(next) => chain.push(next.clone()),
                None => break,
            }
        }
        chain
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let counts = (self.certificates.len(), self.lists.len(), self.keys.len());
        write!(
            f,
            "Store {{ {} certificates, {} lists, {} keys }}",
            counts.0, counts.1, counts.2
        )
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, Issuer, KeyPair};

    use super::*;

    #[test]
    fn chain_passes_by_a_cross_signed_certificate_that_leads_to_another_root() {
        let named = |name: &str| {
            let mut params = CertificateParams::new([]).unwrap();
            params.distinguished_name.push(DnType::CommonName, name);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            params
        };
        let root = |name: &str| CertifiedIssuer::self_signed(named(name), KeyPair::generate().unwrap()).unwrap();
        let (old, new, middle) = (root("old"), root("new"), KeyPair::generate().unwrap());
        let by = |root: &CertifiedIssuer<'_, KeyPair>| named("middle").signed_by(&middle, root).unwrap();
        let (by_old, by_new) = (by(&old).der().to_vec(), by(&new).der().to_vec());
        let leaf = CertificateParams::new(["cu.test".to_owned()]).unwrap();
        let issuer = Issuer::new(named("middle"), &middle);
        let leaf = leaf
            .signed_by(&KeyPair::generate().unwrap(), &issuer)
            .unwrap()
            .der()
            .to_vec();
        let store = Store {
            certificates: vec![by_old.clone(), by_new.clone(), leaf.clone()],
            ..Store::default()
        };
        let roots = |root: &CertifiedIssuer<'_, KeyPair>| [root.der().to_vec()];
        assert_eq!(store.chain(&leaf, &roots(&new)), [leaf.clone(), by_new]);
        assert_eq!(store.chain(&leaf, &roots(&old)), [leaf, by_old]);
    }
}
