//! The certificate authority of `bartizan ca`, by which nodes' certificates are issued. Its directory is locked for as long as a turn issues.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use bartizan_controller::{Authority as State, Order};
use bartizan_pki::{
    AlternativeName, Authority, Certificate, Leaf, Lifetime, LongLife, OpenedKey, Profile, RevocationList, Secrets,
};
use zeroize::Zeroizing;

use crate::objects::fingerprint;

/// Certificates are valid from so long before they are issued: clocks differ.
const BACKDATE: Duration = Duration::from_secs(300);
/// New revocation lists are signed when the newest ends within so long: half of a list's seven days.
const LIST_ENDS: Duration = Duration::from_secs(84 * 3_600);
const LIST_DAYS: u32 = 7;

pub(crate) struct Issuing {
    dir: PathBuf,
    secrets: Secrets,
    lifetime: Duration,
    key: OpenedKey,
    root: String,
    issuing: Vec<u8>,
    list: String,
}

/// An issued certificate, as it goes into a Secret.
pub(crate) struct Made {
    pub(crate) chain: String,
    pub(crate) key: Zeroizing<String>,
    pub(crate) root: String,
    /// Revocation lists; none of an issuer that has none.
    pub(crate) list: Option<String>,
    /// The issuer of cert-manager, where it is of one.
    pub(crate) issuer: Option<String>,
    pub(crate) serial: String,
    pub(crate) not_after: SystemTime,
}

impl Issuing {
    pub(crate) fn open(
        dir: PathBuf,
        secrets: Secrets,
        lifetime: Duration,
        now: SystemTime,
    ) -> Result<Self, bartizan_pki::Error> {
        let authority = Authority::open(&dir, &secrets, now)?;
        let issuing = authority.intermediate().unwrap_or(authority.root());
        Ok(Self {
            key: authority.opened_key(),
            root: authority.roots_pem(),
            issuing: issuing.der().to_vec(),
            list: authority.crl()?,
            dir,
            secrets,
            lifetime,
        })
    }

    /// The certificate that signs, DER.
    pub(crate) fn certificate(&self) -> &[u8] {
        &self.issuing
    }

    /// The newest revocation lists, PEM.
    pub(crate) fn list(&self) -> &str {
        &self.list
    }

    fn authority(&self, now: SystemTime) -> Result<Authority, String> {
        let opened = Authority::open_again(&self.dir, &self.secrets, &self.key, now);
        let authority = opened.map_err(|error| error.to_string())?;
        let issuing = authority.intermediate().unwrap_or(authority.root());
        if issuing.der() != self.issuing {
            return Err(
                "the authority signs by another certificate than when this controller started: restart it".to_owned(),
            );
        }
        Ok(authority)
    }

    /// Returns true if the authority's files hold another signing certificate than at the start of
    /// this process.
    pub(crate) fn is_succeeded(&self) -> bool {
        let signs = ["intermediate.crt.pem", "root.crt.pem"]
            .iter()
            .find_map(|file| std::fs::read(self.dir.join(file)).ok());
        let signs = signs.and_then(|text| Certificate::from_pem(&text, "the authority's certificate").ok());
        signs.is_some_and(|signs| signs.der() != self.issuing)
    }

    /// Looks at the authority: its newest lists, which are signed anew before they end.
    pub(crate) fn look(&mut self, now: SystemTime) -> State {
        match std::fs::read_to_string(self.dir.join("root.crt.pem")) {
            Ok(text) => self.root = text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return State::Unavailable(format!("{}: {error}", self.dir.join("root.crt.pem").display())),
        }
        // The file is replaced as a whole when a list is signed, so it is read without the lock.
        match std::fs::read_to_string(self.dir.join("crl.pem")) {
            Ok(text) => self.list = text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return State::Unavailable(format!("{}: {error}", self.dir.join("crl.pem").display())),
        }
        let lists = RevocationList::all_of(self.list.as_bytes());
        let ends = lists.iter().filter_map(RevocationList::next_update).min();
        if ends.is_none_or(|ends| ends < now + LIST_ENDS) {
            let refreshed = self.authority(now).and_then(|mut authority| {
                authority
                    .refresh_lists(LIST_DAYS, now)
                    .map_err(|error| error.to_string())
            });
            match refreshed {
                Ok(text) => self.list = text,
                Err(why) => return State::Unavailable(why),
            }
        }
        let lists = RevocationList::all_of(self.list.as_bytes());
        let serials = lists.iter().flat_map(RevocationList::serials);
        State::Ready {
            root: fingerprint(self.root.as_bytes()),
            list: (!self.list.is_empty()).then(|| fingerprint(self.list.as_bytes())),
            revoked: serials.map(|serial| serial.to_string()).collect::<BTreeSet<_>>(),
        }
    }

    /// Issues what is ordered, each for a namespace; the authority is opened once.
    pub(crate) fn issue(&mut self, orders: &[(String, Order)], now: SystemTime) -> Vec<Result<Made, String>> {
        let mut authority = match self.authority(now) {
            Ok(authority) => authority,
            Err(why) => return orders.iter().map(|_| Err(why.clone())).collect(),
        };
        let made = orders
            .iter()
            .map(|(namespace, order)| self.one(&mut authority, namespace, order, now))
            .collect();
        if let Ok(list) = authority.crl() {
            self.list = list;
        }
        made
    }

    fn one(&self, authority: &mut Authority, namespace: &str, order: &Order, now: SystemTime) -> Result<Made, String> {
        let said = |error: bartizan_pki::Error| error.to_string();
        let mut names = Vec::new();
        for name in &order.dns {
            names.push(AlternativeName::dns(name).map_err(said)?);
        }
        for address in &order.ip {
            names.push(AlternativeName::ip(address).map_err(said)?);
        }
        for uri in &order.uri {
            names.push(AlternativeName::uri(uri).map_err(said)?);
        }
        // The namespace too: nodes of two may have one name. It is nothing that peers look at.
        let common = Some(format!("{namespace}.{}", order.node)).filter(|name| name.len() <= 64);
        let leaf = Leaf {
            name: common.as_deref().unwrap_or(&order.node).parse().map_err(said)?,
            names,
            functions: Vec::new(),
            profile: Profile::NetworkFunction,
            algorithm: None,
            lifetime: Lifetime::Between {
                not_before: now - BACKDATE,
                not_after: now + self.lifetime,
            },
            long_life: LongLife::Refuse,
        };
        let issued = authority.issue(&leaf, now).map_err(said)?;
        let key = issued.key_pem().ok_or("the authority made no key")?;
        Ok(Made {
            chain: issued.chain_pem(),
            key,
            root: issued.root_pem(),
            list: Some(authority.crl().map_err(said)?),
            issuer: None,
            serial: issued.serial().to_string(),
            not_after: issued.certificate().not_after(),
        })
    }
}
