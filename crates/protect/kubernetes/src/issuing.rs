//! The certificate authority of `bartizan ca`, by which nodes' certificates are issued. Its directory is locked for as long as a turn issues.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use bartizan_controller::{Authority as State, Order};
use bartizan_pki::{
    AlternativeName, Authority, Certificate, Leaf, Lifetime, OpenedKey, Profile, RevocationList, Secrets, Unrenewed,
};
use zeroize::Zeroizing;

use crate::objects::fingerprint;

const DAY: Duration = Duration::from_secs(86_400);
/// Certificates of one node within a day, but for renewals: deletions of its Secret in a loop fill
/// no disk.
const ISSUED_A_DAY: u64 = 48;
/// Time between two attempts to renew lists: the key of an issuer may be elsewhere for good.
const AGAIN: Duration = Duration::from_secs(3_600);

bartizan_registry::made! {
    pub(crate) struct Issuing,
    pub(crate) open(
        dir: PathBuf, secrets: Secrets, lifetime: Duration, now: SystemTime,
    ) -> Result<Self, bartizan_pki::Error> {
        let authority = Authority::open(&dir, &secrets, now)?;
        let issuing = authority.intermediate().unwrap_or(authority.root());
        dir: PathBuf,
        secrets: Secrets,
        lifetime: Duration,
        key: OpenedKey = authority.opened_key(),
        root: String = authority.roots_pem(),
        /// The certificate that signs, DER.
        pub(crate) issuing: Vec<u8> = issuing.der().to_vec(),
        /// The newest revocation lists, PEM.
        pub(crate) list: String = authority.crl()?,
        /// The last attempt to renew lists.
        tried: Option<SystemTime> = None,
        /// Lists that could not be renewed then.
        unrenewed: Vec<String> = Vec::new(),
    }
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

    /// Looks at the authority: its newest lists, each of which is signed anew past half of its
    /// time, or where it begins in the future. A clock that is wrong signs nothing.
    pub(crate) fn look(&mut self, now: SystemTime, clock_is_right: bool) -> State {
        // The files are replaced as a whole when a list is signed, so they are read without the lock.
        for (name, known) in [("root.crt.pem", &mut self.root), ("crl.pem", &mut self.list)] {
            let file = self.dir.join(name);
            match std::fs::read_to_string(&file) {
                Ok(text) => *known = text,
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => return State::Unavailable(format!("{}: {error}", file.display())),
            }
        }
        let lists = RevocationList::all_of(self.list.as_bytes());
        let is_due = lists.is_empty() || lists.iter().any(|list| is_due(list, now));
        if !is_due {
            (self.tried, self.unrenewed) = (None, Vec::new());
        }
        let rests = |tried: SystemTime| now.duration_since(tried).is_ok_and(|since| since < AGAIN);
        if is_due
            && clock_is_right
            && !self.tried.is_some_and(rests)
            && let Err(why) = self.renew_lists(now)
        {
            return State::Unavailable(why);
        }
        let lists = RevocationList::all_of(self.list.as_bytes());
        let serials = lists.iter().flat_map(RevocationList::serials);
        State::Ready {
            root: fingerprint(self.root.as_bytes()),
            list: (!self.list.is_empty()).then(|| fingerprint(self.list.as_bytes())),
            revoked: serials.map(|serial| serial.to_string()).collect::<BTreeSet<_>>(),
            unrenewed: self.unrenewed.clone(),
        }
    }

    /// Renews the lists that are due, each on its own: an issuer whose key is elsewhere keeps no
    /// other's, and causes none.
    fn renew_lists(&mut self, now: SystemTime) -> Result<(), String> {
        let mut authority = self.authority(now)?;
        let said = |error: bartizan_pki::Error| error.to_string();
        let unrenewed = authority.renew_lists(&[], now).map_err(said)?;
        self.list = authority.crl().map_err(said)?;
        self.tried = Some(now);
        self.unrenewed = unrenewed.into_iter().map(|list| unrenewed_line(&list)).collect();
        for line in &self.unrenewed {
            tracing::error!("{line}");
        }
        Ok(())
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

    /// Certificates of one node within a day: renewals, and some for deleted Secrets.
    fn most_a_day(&self) -> u64 {
        ISSUED_A_DAY + 4 * (DAY.as_secs() / self.lifetime.as_secs().max(1))
    }

    fn one(&self, authority: &mut Authority, namespace: &str, order: &Order, now: SystemTime) -> Result<Made, String> {
        let said = |error: bartizan_pki::Error| error.to_string();
        let names = names(order).map_err(said)?;
        // The namespace too: nodes of two may have one name. It is nothing that peers look at.
        let common = Some(format!("{namespace}.{}", order.node)).filter(|name| name.len() <= 64);
        let leaf = Leaf {
            name: common.as_deref().unwrap_or(&order.node).parse().map_err(said)?,
            names,
            functions: Vec::new(),
            profile: Profile::NetworkFunction,
            algorithm: None,
            lifetime: Lifetime::For(authority.at_most(self.lifetime, now)),
            long_life: false,
        };
        authority
            .require_fewer_a_day(&leaf.name, self.most_a_day(), now)
            .map_err(said)?;
        let issued = authority.issue(&leaf, now).map_err(said)?;
        let key = issued.key_pem().ok_or("the authority made no key")?;
        Ok(Made {
            chain: issued.chain_pem(),
            key,
            root: issued.root_pem(),
            list: Some(authority.crl().map_err(said)?),
            issuer: None,
            serial: issued.serial.to_string(),
            not_after: issued.certificate.not_after(),
        })
    }
}

/// Names of the certificate that is ordered.
pub(crate) fn names(order: &Order) -> Result<Vec<AlternativeName>, bartizan_pki::Error> {
    let dns = order.dns.iter().map(|name| AlternativeName::dns(name));
    let ip = order.ip.iter().map(|address| AlternativeName::ip(address));
    let uri = order.uri.iter().map(|uri| AlternativeName::uri(uri));
    dns.chain(ip).chain(uri).collect()
}

/// True of a list that is past half of its time or begins in the future.
fn is_due(list: &RevocationList, now: SystemTime) -> bool {
    let began = list.this_update();
    let lasts = list.next_update().and_then(|ends| ends.duration_since(began).ok());
    lasts.is_none_or(|lasts| now < began || now >= began + lasts / 2)
}

fn unrenewed_line(list: &Unrenewed) -> String {
    let until = list.until.map(humantime::format_rfc3339_seconds);
    let ends = until.map_or_else(String::new, |until| format!(" and ends at {until}"));
    format!(
        "the revocation list of {} cannot be renewed{ends}: {}",
        list.issuer, list.error
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use bartizan_pki::{Algorithm, InitOptions};

    use super::*;

    fn began() -> SystemTime {
        SystemTime::UNIX_EPOCH + DAY * 20_000
    }

    fn issuing(dir: &tempfile::TempDir) -> Issuing {
        let options = InitOptions::new(Algorithm::Ed25519).with_intermediate(Algorithm::Ed25519);
        let dir = dir.path().join("ca");
        drop(Authority::init(&dir, options, began()).unwrap());
        Issuing::open(dir, Secrets::default(), DAY, began()).unwrap()
    }

    fn order(node: &str) -> Order {
        Order {
            node: node.to_owned(),
            secret: format!("bartizan-{node}"),
            dns: vec![format!("{node}.5gc")],
            ip: Vec::new(),
            uri: Vec::new(),
            why: bartizan_controller::Why::Missing,
            replaces: None,
            owner: None,
        }
    }

    fn unrenewed(state: State) -> Vec<String> {
        let State::Ready { unrenewed, .. } = state else {
            panic!("{state:?}");
        };
        unrenewed
    }

    /// With the root's key elsewhere, each turn from day 176.5 on signed the lists of all others.
    #[test]
    fn a_list_that_cannot_be_renewed_makes_no_other_one_be_signed_with_each_turn() {
        let dir = tempfile::tempdir().unwrap();
        let mut issuing = issuing(&dir);
        fs::rename(dir.path().join("ca/root.key.pem"), dir.path().join("root.key.pem")).unwrap();
        let late = began() + DAY * 178;
        let said = unrenewed(issuing.look(late, true));
        assert!(
            said.len() == 1 && said[0].contains("CN=Bartizan root ") && said[0].contains(" and ends at "),
            "{said:?}"
        );
        let signed = issuing.list.to_owned();
        for minute in 1..180 {
            let now = late + Duration::from_secs(60) * minute;
            assert_eq!(unrenewed(issuing.look(now, true)), said);
            assert_eq!(issuing.list, signed, "minute {minute}");
        }
        // Its own list is renewed all the same, and the root's once its key is there.
        issuing.look(late + DAY * 4, true);
        assert_ne!(issuing.list, signed);
        fs::rename(dir.path().join("root.key.pem"), dir.path().join("ca/root.key.pem")).unwrap();
        assert!(unrenewed(issuing.look(late + DAY * 5, true)).is_empty());
    }

    /// Secrets that were deleted in a loop cost a certificate each.
    #[test]
    fn certificates_of_a_node_within_a_day_are_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let mut issuing = issuing(&dir);
        let mut made = |node: &str, now| issuing.issue(&[("core".to_owned(), order(node))], now).remove(0);
        let most = usize::try_from(ISSUED_A_DAY).unwrap() + 4;
        let issued = (0..most + 10).filter(|_| made("amf", began()).is_ok()).count();
        assert_eq!(issued, most);
        let why = made("amf", began()).err().unwrap();
        assert!(why.contains("core.amf had 52 certificates within a day"), "{why}");
        assert!(made("nrf", began()).is_ok() && made("amf", began() + DAY).is_ok());
    }

    /// Nothing was issued from one lifetime before the issuer's end on.
    #[test]
    fn certificates_end_with_their_issuer_at_the_latest() {
        let dir = tempfile::tempdir().unwrap();
        let mut issuing = issuing(&dir);
        let late = began() + DAY * 1825 - DAY / 2;
        let made = issuing.issue(&[("core".to_owned(), order("amf"))], late).remove(0);
        assert_eq!(made.map(|made| made.not_after), Ok(began() + DAY * 1825));
    }

    /// A list of a wrong clock stayed after its correction, and was refused for as long.
    #[test]
    fn a_wrong_clock_signs_no_list_and_one_of_the_future_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let mut issuing = issuing(&dir);
        let first = issuing.list.to_owned();
        let ahead = began() + DAY * 6;
        issuing.look(ahead, false);
        assert_eq!(issuing.list, first);
        issuing.look(ahead, true);
        assert_ne!(issuing.list, first);
        let now = began() + DAY;
        issuing.look(now, true);
        let lists = RevocationList::all_of(issuing.list.as_bytes());
        assert!(
            !lists.is_empty() && lists.iter().all(|list| list.this_update() <= now),
            "{lists:?}"
        );
    }
}
