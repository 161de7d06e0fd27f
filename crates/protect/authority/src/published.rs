//! Roots and revocation lists: served without the authority's lock, renewed in time.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use bartizan_pki::{Authority, Published, Register, Serial};

use crate::moment;

/// Time between two reports of a list that cannot be renewed, and between two attempts to read its key.
const AGAIN: Duration = Duration::from_secs(3_600);

/// The newest roots and lists, kept until the records change.
#[derive(Debug)]
pub(crate) struct Publisher {
    dir: PathBuf,
    current: Mutex<Option<Current>>,
}

#[derive(Debug)]
struct Current {
    register: Register,
    /// Device and inode of the records: a restored backup is another file.
    file: (u64, u64),
    version: i64,
    published: Arc<Published>,
}

impl Publisher {
    pub(crate) fn new(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
            current: Mutex::new(None),
        }
    }

    /// Roots and lists as the records have them; where these cannot be read, as they had them last.
    pub(crate) fn newest(&self) -> Result<Arc<Published>, String> {
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = self.refresh(&mut current) {
            let known = current.as_ref().map(|current| Arc::clone(&current.published));
            tracing::error!(%error, "roots and lists cannot be read again");
            return known.ok_or(error);
        }
        let known = current.as_ref().map(|current| Arc::clone(&current.published));
        known.ok_or_else(|| "no records".to_owned())
    }

    fn refresh(&self, current: &mut Option<Current>) -> Result<(), String> {
        let file = self.file().map_err(|error| format!("records: {error}"))?;
        let known = current.as_ref().filter(|current| current.file == file);
        if let Some(known) = known
            && known.register.version().map_err(|error| error.to_string())? == known.version
        {
            return Ok(());
        }
        let register = Register::open(&self.dir).map_err(|error| error.to_string())?;
        // Read first: a change in between is noticed the next time.
        let version = register.version().map_err(|error| error.to_string())?;
        let published = register.published().map_err(|error| error.to_string())?;
        *current = Some(Current {
            register,
            file,
            version,
            published: Arc::new(published),
        });
        Ok(())
    }

    fn file(&self) -> io::Result<(u64, u64)> {
        let found = fs::metadata(self.dir.join("ca.sqlite"))?;
        Ok((found.dev(), found.ino()))
    }
}

/// Renewal of the lists of all live issuers.
#[derive(Debug, Default)]
pub(crate) struct Lists {
    /// The last attempt that failed, by issuer.
    failed: BTreeMap<Serial, SystemTime>,
}

impl Lists {
    /// Renews lists past half of their time and logs those that cannot be.
    pub(crate) fn renew(&mut self, authority: &mut Authority, now: SystemTime) {
        self.failed
            .retain(|_, failed| now.duration_since(*failed).is_ok_and(|age| age < AGAIN));
        let waiting: Vec<_> = self.failed.keys().copied().collect();
        match authority.renew_lists(&waiting, now) {
            Ok(unrenewed) => {
                for list in unrenewed {
                    self.failed.insert(list.serial, now);
                    let until = list.until.map(moment).unwrap_or_default();
                    tracing::error!(
                        issuer = list.issuer, until, error = %list.error,
                        "a revocation list cannot be renewed: from its end on, relying parties that require it refuse the issuer's certificates"
                    );
                }
            }
            Err(error) => tracing::error!(%error, "revocation lists cannot be renewed"),
        }
    }
}
