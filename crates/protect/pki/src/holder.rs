//! The files of who holds a certificate, where the authority is elsewhere: `NAME.crt.pem`, `NAME.key.pem`, `ca.crt.pem`.
//!
//! A key is on disk before it is asked for a certificate for, under a hidden name: a crash after the authority has answered loses nothing,
//! since the next attempt is for the same key. Key and certificate cannot take their names at the same moment; what a crash between the
//! two leaves is put right by the next attempt.

use std::fs;
use std::path::{Path, PathBuf};

use crate::authority::Lock;
use crate::files::{self, Access, Readers};
use crate::trust::chain_to;
use crate::{
    Algorithm, Certificate, Error, ForeignCertificate, Issued, LARGEST_LISTS, Name, Overwrite, PrivateKey,
    RevocationList,
};

/// Most octets of a file of certificates.
const LARGEST: u64 = 1024 * 1024;
/// Mark of the hidden name of a key that has no certificate yet.
const PENDING: &str = "pending";
/// Mark of the hidden file of all roots that the authority has given: others in the file of roots
/// are another authority's.
const GIVEN: &str = "given";

/// A certificate that is in use, with its key.
#[derive(Debug)]
pub struct Held {
    /// The certificate, and those above it.
    pub chain: Vec<Certificate>,
    /// Its key.
    pub key: PrivateKey,
    /// The trust anchors of its authority: those of others in the same file vouch for other peers.
    pub roots: Vec<Certificate>,
    /// All that this authority gave, now and before.
    pub given: Vec<Certificate>,
}

/// A directory in which a certificate of this name is, or will be.
#[derive(Debug, Clone, Copy)]
pub struct Holder<'a> {
    dir: &'a Path,
    name: &'a Name,
}

impl<'a> Holder<'a> {
    /// The files of `name` in `dir`.
    pub fn new(dir: &'a Path, name: &'a Name) -> Self {
        Self { dir, name }
    }

    /// The file of the certificate and those above it.
    pub fn chain_path(&self) -> PathBuf {
        self.dir.join(format!("{}.crt.pem", self.name.as_str()))
    }

    /// The file of the key.
    pub fn key_path(&self) -> PathBuf {
        self.dir.join(format!("{}.key.pem", self.name.as_str()))
    }

    /// The file of the trust anchors.
    pub fn root_path(&self) -> PathBuf {
        self.dir.join("ca.crt.pem")
    }

    /// The file of the revocation lists.
    pub fn lists_path(&self) -> PathBuf {
        self.dir.join("ca.crl.pem")
    }

    /// The usable ones of [`Self::lists_path`], those signed last first, and why each other is left
    /// out; none where there is no file.
    ///
    /// # Errors
    /// Fails where the file cannot be read, or holds no list that can be used.
    pub fn lists(&self) -> Result<(Vec<RevocationList>, Vec<String>), Error> {
        let path = self.lists_path();
        let Some(text) = files::read(&path, LARGEST_LISTS)? else {
            return Ok((Vec::new(), Vec::new()));
        };
        let (lists, mut left_out) = RevocationList::usable(&text);
        if lists.is_empty() {
            left_out.push("holds no revocation list in PEM that can be used".to_owned());
            let why = std::io::Error::other(left_out.swap_remove(0));
            return Err(Error::file("use", path)(why));
        }
        Ok((lists, left_out))
    }

    /// Returns the certificate in place; none if there is none. A change that a crash cut short is
    /// finished first.
    pub fn held(&self) -> Result<Option<Held>, Error> {
        let Some(text) = files::read(&self.chain_path(), LARGEST)? else {
            return Ok(None);
        };
        let missing = |path: PathBuf| {
            let source = std::io::Error::from(std::io::ErrorKind::NotFound);
            Error::file("read", path)(source)
        };
        let key = crate::key::read_file(&self.key_path())?.ok_or_else(|| missing(self.key_path()))?;
        let key = PrivateKey::from_pem(&key, None).map_err(|error| match error {
            Error::Key(reason) => Error::KeyFile {
                path: self.key_path(),
                reason,
            },
            other => other,
        })?;
        let mut chain = certificates(&text, &self.chain_path())?;
        if chain.first().map(Certificate::public_key) != Some(key.public_key()) {
            let (hidden, found) = self.hidden_chain_of(&key)?.ok_or_else(|| Error::KeyMismatch {
                key: self.key_path(),
                certificate: self.chain_path(),
            })?;
            fs::rename(&hidden, self.chain_path()).map_err(Error::file("rename a new file to", self.chain_path()))?;
            files::sync_directory(self.dir)?;
            chain = found;
        }
        let root = files::read(&self.root_path(), LARGEST)?.ok_or_else(|| missing(self.root_path()))?;
        let mut given = match files::read(&self.given_path(), LARGEST)? {
            Some(text) => certificates(&text, &self.given_path())?,
            None => Vec::new(),
        };
        // Those of other authorities may have keys that are not read here.
        let present: Vec<_> = ForeignCertificate::all_of(&root)
            .iter()
            .filter_map(|root| Certificate::from_der(root.der(), "").ok())
            .collect();
        // Roots of this authority that came another way than by it are in no such file. A name
        // proves nothing: another authority may use it too.
        given.extend(present.iter().filter(|root| is_above(root, &chain)).cloned());
        let is_given = |root: &Certificate| given.iter().any(|given| given.der() == root.der());
        let roots: Vec<_> = present.into_iter().filter(is_given).collect();
        if roots.is_empty() {
            return Err(Error::Certificate {
                place: self.root_path().display().to_string(),
                reason: format!("no root of {}'s authority in it", self.name.as_str()),
            });
        }
        Ok(Some(Held {
            chain,
            key,
            roots,
            given,
        }))
    }

    /// Makes the directory and waits for the right to change it, which goes with the value. None on
    /// a file system that has no locks of directories.
    ///
    /// # Errors
    /// [`Error::Enrolling`] where another process keeps it.
    pub fn lock(&self, access: Access) -> Result<Option<impl Drop + use<>>, Error> {
        files::create_directory_for(self.dir, access)?;
        let dir = fs::File::open(self.dir).map_err(Error::file("open", self.dir))?;
        match Lock::take(dir) {
            Ok(Some(lock)) => Ok(Some(lock)),
            Ok(None) => Err(Error::Enrolling(self.dir.to_owned())),
            Err(_) => Ok(None),
        }
    }

    /// The key that waits for its certificate: the one of an attempt before, or a fresh one, which is on disk when this returns.
    pub fn pending_key(&self, algorithm: Algorithm, access: Access) -> Result<PrivateKey, Error> {
        let path = self.pending_path();
        if let Some(text) = crate::key::read_file(&path)?
            && let Ok(key) = PrivateKey::from_pem(&text, None)
            && key.algorithm() == algorithm
        {
            return Ok(key);
        }
        files::create_directory_for(self.dir, access)?;
        let key = PrivateKey::generate(algorithm)?;
        files::write(&path, key.to_pem().as_bytes(), Readers::Owner)?;
        Ok(key)
    }

    /// Gives up the key that waits for its certificate: the next attempt makes another.
    ///
    /// # Errors
    /// If its file cannot be removed.
    pub fn give_up_pending(&self) -> Result<(), Error> {
        files::remove(&self.pending_path())
    }

    /// Writes what was received in place of what is there, and gives the hidden name of its key up.
    pub fn write(&self, issued: &Issued, overwrite: Overwrite, access: Access) -> Result<(), Error> {
        files::create_directory_for(self.dir, access)?;
        files::write(&self.given_path(), issued.given_pem().as_bytes(), Readers::Everybody)?;
        issued.write_as(self.dir, overwrite, access)?;
        self.give_up_pending()
    }

    /// Refuses where files are in the way of a first certificate. A key that an attempt before has put there without its certificate is not:
    /// it is the one that waits, and is replaced by itself.
    pub fn require_free(&self) -> Result<Overwrite, Error> {
        if self.chain_path().exists() {
            return Err(Error::FileExists(self.chain_path()));
        }
        let Some(key) = crate::key::read_file(&self.key_path())? else {
            return Ok(Overwrite::Refuse);
        };
        match crate::key::read_file(&self.pending_path())? {
            Some(pending) if *pending == *key => Ok(Overwrite::Replace),
            _ => Err(Error::FileExists(self.key_path())),
        }
    }

    fn given_path(&self) -> PathBuf {
        files::hidden_path(&self.root_path(), GIVEN)
    }

    fn pending_path(&self) -> PathBuf {
        files::staging_path(&self.key_path(), PENDING)
    }

    /// A chain under a hidden name whose certificate is that of the key.
    fn hidden_chain_of(&self, key: &PrivateKey) -> Result<Option<(PathBuf, Vec<Certificate>)>, Error> {
        let prefix = format!(".{}.crt.pem.", self.name.as_str());
        for entry in fs::read_dir(self.dir).map_err(Error::file("look into", self.dir))? {
            let path = entry.map_err(Error::file("look into", self.dir))?.path();
            let hidden = path
                .file_name()
                .and_then(|name| name.to_str())
                .is_some_and(|name| name.starts_with(&prefix));
            if hidden
                && let Some(text) = files::read(&path, LARGEST)?
                && let Ok(chain) = certificates(&text, &path)
                && chain.first().map(Certificate::public_key) == Some(key.public_key())
            {
                return Ok(Some((path, chain)));
            }
        }
        Ok(None)
    }
}

/// Holds where a chain, leaf first, leads to this root.
fn is_above(root: &Certificate, chain: &[Certificate]) -> bool {
    let chain: Vec<&[u8]> = chain.iter().map(Certificate::der).collect();
    let between = chain.split_first();
    between.is_some_and(|(leaf, between)| chain_to(leaf, between, &[root.der()]).is_some())
}

/// All certificates of a PEM text; at least one.
fn certificates(text: &[u8], path: &Path) -> Result<Vec<Certificate>, Error> {
    let place = path.display().to_string();
    let refuse = |reason: String| Error::Certificate {
        place: place.clone(),
        reason,
    };
    let blocks = pem::parse_many(text).map_err(|error| refuse(error.to_string()))?;
    let found: Vec<Certificate> = blocks
        .iter()
        .filter(|block| block.tag() == "CERTIFICATE")
        .map(|block| Certificate::from_der(block.contents(), &place))
        .collect::<Result<_, _>>()?;
    if found.is_empty() {
        return Err(refuse("no CERTIFICATE block in it".to_owned()));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::{Authority, InitOptions, Leaf};

    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(86_400) * 20_000
    }

    fn received(authority: &mut Authority, name: &Name) -> Issued {
        let leaf = Leaf::new(name.as_str()).unwrap().dns("gnb.ran").unwrap();
        let issued = authority.issue(&leaf, now()).unwrap();
        let key = PrivateKey::from_pkcs8(issued.key.as_ref().unwrap().to_pkcs8()).unwrap();
        let chain = [std::slice::from_ref(&issued.certificate), &issued.between].concat();
        Issued::received(name, &chain, issued.roots().to_vec(), key).unwrap()
    }

    #[test]
    fn a_key_that_waits_is_its_owners_alone_and_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let name: Name = "gnb".parse().unwrap();
        let holder = Holder::new(dir.path(), &name);
        let key = holder.pending_key(Algorithm::MlDsa44, Access::default()).unwrap();
        let again = holder.pending_key(Algorithm::MlDsa44, Access::default()).unwrap();
        assert_eq!(key.public_key(), again.public_key());
        let mode = fs::metadata(holder.pending_path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let other = holder.pending_key(Algorithm::MlDsa65, Access::default()).unwrap();
        assert_ne!(key.public_key(), other.public_key());
    }

    /// The second failed at a file that the first had renamed or removed.
    #[test]
    fn a_second_attempt_in_the_same_folder_waits_for_the_first_and_says_so() {
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join("made");
        let (gnb, amf) = ("gnb".parse().unwrap(), "amf".parse().unwrap());
        let [first, second] = [&gnb, &amf].map(|name| Holder::new(&place, name));
        let held = first.lock(Access::default()).unwrap();
        let refused = second.lock(Access::default()).err();
        assert!(matches!(refused, Some(Error::Enrolling(_))), "{refused:?}");
        drop(held);
        assert!(second.lock(Access::default()).unwrap().is_some());
        assert_eq!(fs::read_dir(&place).unwrap().count(), 0);
    }

    #[test]
    fn a_first_attempt_that_ended_between_key_and_certificate_is_taken_up() {
        let dir = tempfile::tempdir().unwrap();
        let name: Name = "gnb".parse().unwrap();
        let holder = Holder::new(dir.path(), &name);
        assert_eq!(holder.require_free().unwrap(), Overwrite::Refuse);
        let key = holder.pending_key(Algorithm::Ed25519, Access::default()).unwrap();
        fs::write(holder.key_path(), key.to_pem().as_bytes()).unwrap();
        assert_eq!(holder.require_free().unwrap(), Overwrite::Replace);
        let other = PrivateKey::generate(Algorithm::Ed25519).unwrap();
        fs::write(holder.key_path(), other.to_pem().as_bytes()).unwrap();
        assert!(matches!(holder.require_free(), Err(Error::FileExists(_))));
    }

    /// A renewal took the roots of other authorities away, and those of before that were retired
    /// stayed.
    #[test]
    fn a_renewal_keeps_roots_of_other_authorities_and_drops_what_its_own_retired() {
        let dir = tempfile::tempdir().unwrap();
        let init = |name: &str| {
            let options = InitOptions::new(Algorithm::Ed25519);
            Authority::init(&dir.path().join(name), options, now()).unwrap()
        };
        let (mut first, mut next, other) = (init("first"), init("next"), init("other"));
        // A key that is not read here.
        let foreign = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P521_SHA512).unwrap();
        let foreign = rcgen::CertificateParams::default().self_signed(&foreign).unwrap().pem();
        let (place, name) = (dir.path().join("gnb"), "gnb".parse().unwrap());
        let holder = Holder::new(&place, &name);
        let enrolled = received(&mut first, &name);
        holder.write(&enrolled, Overwrite::Refuse, Access::default()).unwrap();
        for keeps_file in [true, false] {
            let added = first.root().to_pem() + &other.root().to_pem() + &foreign;
            fs::write(holder.root_path(), added).unwrap();
            fs::write(holder.chain_path(), enrolled.chain_pem()).unwrap();
            fs::write(holder.key_path(), enrolled.key_pem().unwrap().as_bytes()).unwrap();
            if !keeps_file {
                fs::remove_file(holder.given_path()).unwrap();
            }
            let held = holder.held().unwrap().unwrap();
            assert_eq!(
                held.roots.len(),
                1,
                "another authority's root does not vouch for answers of this one"
            );
            // The authority has another root now, and gives that of before no more.
            let renewed = received(&mut next, &name).renewing(held.given);
            holder.write(&renewed, Overwrite::Replace, Access::default()).unwrap();
            let roots = fs::read_to_string(holder.root_path()).unwrap();
            assert_eq!(roots, next.root().to_pem() + &other.root().to_pem() + &foreign);
            assert_eq!(renewed.foreign_roots(&place).unwrap().len(), 2);
            assert_eq!(holder.held().unwrap().unwrap().roots[0].der(), next.root().der());
        }
    }

    /// Names were compared where the file of given roots was absent, and nothing where it was stale.
    #[test]
    fn root_is_ours_by_its_signature_and_another_with_its_name_is_neither_taken_for_ours_nor_deleted() {
        let dir = tempfile::tempdir().unwrap();
        let init = |place: &str, between: bool| {
            let mut options = InitOptions::new(Algorithm::Ed25519);
            options.common_name = Some("Root of the network".to_owned());
            if between {
                options = options.with_intermediate(Algorithm::Ed25519);
            }
            Authority::init(&dir.path().join(place), options, now()).unwrap()
        };
        for between in [false, true] {
            let [mut ours, foreign, before, mut next] =
                ["ours", "foreign", "before", "next"].map(|name| init(&format!("{name}-{between}"), between));
            let (place, name) = (dir.path().join(format!("gnb-{between}")), "gnb".parse().unwrap());
            let holder = Holder::new(&place, &name);
            let enrolled = received(&mut ours, &name);
            holder.write(&enrolled, Overwrite::Refuse, Access::default()).unwrap();
            // The file of given roots is absent, or of a time before the operator replaced the root.
            for given in [None, Some(before.root().to_pem())] {
                fs::write(holder.chain_path(), enrolled.chain_pem()).unwrap();
                fs::write(holder.key_path(), enrolled.key_pem().unwrap().as_bytes()).unwrap();
                fs::write(holder.root_path(), foreign.root().to_pem() + &ours.root().to_pem()).unwrap();
                match &given {
                    None => fs::remove_file(holder.given_path()).unwrap(),
                    Some(given) => fs::write(holder.given_path(), given).unwrap(),
                }
                let held = holder.held().unwrap().unwrap();
                let roots: Vec<_> = held.roots.iter().map(Certificate::der).collect();
                assert_eq!(roots, [ours.root().der()], "{between} {given:?}");
                assert!(held.given.iter().all(|root| root.der() != foreign.root().der()));
                let renewed = received(&mut next, &name).renewing(held.given);
                holder.write(&renewed, Overwrite::Replace, Access::default()).unwrap();
                let roots = fs::read_to_string(holder.root_path()).unwrap();
                assert_eq!(roots, next.root().to_pem() + &foreign.root().to_pem());
            }
            // The foreign one alone: nothing of this authority is there.
            fs::write(holder.root_path(), foreign.root().to_pem()).unwrap();
            assert!(matches!(holder.held(), Err(Error::Certificate { .. })));
        }
    }

    #[test]
    fn what_is_received_is_held_and_a_change_cut_short_is_finished() {
        let dir = tempfile::tempdir().unwrap();
        let mut authority =
            Authority::init(&dir.path().join("ca"), InitOptions::new(Algorithm::Ed25519), now()).unwrap();
        let (place, name) = (dir.path().join("gnb"), "gnb".parse().unwrap());
        let holder = Holder::new(&place, &name);
        assert!(holder.held().unwrap().is_none());
        let first = received(&mut authority, &name);
        holder.write(&first, Overwrite::Refuse, Access::default()).unwrap();
        assert_eq!(holder.held().unwrap().unwrap().chain[0].der(), first.certificate.der());
        // A second one, of which the key has its name and the chain has not: the crash came between.
        let second = received(&mut authority, &name);
        let hidden = files::staging_path(&holder.chain_path(), "mark");
        fs::write(&hidden, second.chain_pem()).unwrap();
        fs::write(holder.key_path(), second.key_pem().unwrap().as_bytes()).unwrap();
        let held = holder.held().unwrap().unwrap();
        assert_eq!(held.chain[0].der(), second.certificate.der());
        assert!(!hidden.exists());
        // Without the hidden chain there is nothing to finish.
        fs::write(holder.key_path(), first.key_pem().unwrap().as_bytes()).unwrap();
        assert!(matches!(holder.held(), Err(Error::KeyMismatch { .. })));
    }

    /// The new certificate was in use and the roots that came with it were not there: no later
    /// attempt asked for them.
    #[test]
    fn a_certificate_whose_roots_cannot_be_written_does_not_take_its_place() {
        let dir = tempfile::tempdir().unwrap();
        let init = |place: &str| {
            let options = InitOptions::new(Algorithm::Ed25519);
            Authority::init(&dir.path().join(place), options, now()).unwrap()
        };
        let (mut before, mut next) = (init("before"), init("next"));
        let (place, name) = (dir.path().join("gnb"), "gnb".parse().unwrap());
        let holder = Holder::new(&place, &name);
        let first = received(&mut before, &name);
        holder.write(&first, Overwrite::Refuse, Access::default()).unwrap();
        let second = received(&mut next, &name).renewing(holder.held().unwrap().unwrap().given);
        // A folder in the place of the hidden file fails as a full disk does.
        let in_the_way = files::staging_path(&holder.root_path(), &second.serial.to_string());
        fs::create_dir(&in_the_way).unwrap();
        let written = holder.write(&second, Overwrite::Replace, Access::default());
        assert!(matches!(written, Err(Error::File { .. })), "{written:?}");
        assert_eq!(holder.held().unwrap().unwrap().chain[0].der(), first.certificate.der());
        fs::remove_dir(&in_the_way).unwrap();
        holder.write(&second, Overwrite::Replace, Access::default()).unwrap();
        assert_eq!(holder.held().unwrap().unwrap().roots[0].der(), next.root().der());
    }
}
