//! Two dates of a network, link by link.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::Serialize;

use crate::findings::{MERGED, NOTHING_SEEN, UNTAGGED};

use super::record::{CLEAR, Key, LinkRecord, Links, QUESTIONS, Statement, UNNAMED};

bartizan_registry::named! {
    /// Change of a link.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum Verdict, name {
        /// A verdict or an answer fell, or is no longer shown.
        Worse = "worse",
        /// It is there for the first time.
        Appeared = "appeared",
        /// It is there no more.
        Vanished = "vanished",
        /// A verdict or an answer rose, and none fell.
        Better = "better",
        /// It changed, and no evidence shows whether for the better.
        Changed = "changed",
        /// As before.
        Same = "same",
    }
}

/// A link on two dates.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// Its kind.
    pub change: Verdict,
    /// The interface, `-` where nothing names it.
    pub interface: String,
    /// Nodes or addresses.
    pub ends: [String; 2],
    /// Its confidentiality on both dates.
    pub confidentiality: Step,
    /// Its authenticity on both dates.
    pub authenticity: Step,
    /// Differences in words, with the places of the later date, or of the earlier where it
    /// vanished.
    pub differences: Vec<String>,
}

/// A verdict on two dates; none on a date without the link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Step {
    /// On the first date.
    pub before: Option<String>,
    /// On the second.
    pub after: Option<String>,
}

impl Change {
    /// Returns true if the operator must look at it: also a link that appeared, unless its
    /// confidentiality is shown to hold.
    #[must_use]
    pub fn is_for_the_worse(&self) -> bool {
        let vulnerable = |step: &Step| matches!(step.after.as_deref(), Some("vulnerable" | "readable now"));
        match self.change {
            Verdict::Worse => true,
            Verdict::Appeared => {
                self.confidentiality.after.as_deref() != Some("quantum-safe") || vulnerable(&self.authenticity)
            }
            Verdict::Vanished | Verdict::Better | Verdict::Changed | Verdict::Same => false,
        }
    }
}

/// A limit of the evidence on either date.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Limit {
    /// The limit, in words.
    pub because: String,
    /// True if it stands on the first date.
    pub before: bool,
    /// True if it stands on the second.
    pub after: bool,
}

impl Limit {
    /// Returns true if a link may have become worse behind it: a limit of the second date that the
    /// first did not have, or one under which no comparison shows anything.
    #[must_use]
    pub fn is_for_the_worse(&self) -> bool {
        self.after && !self.before || [NOTHING_SEEN, UNTAGGED, MERGED].contains(&self.because.as_str())
    }
}

/// Two dates, compared.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// Every link of either date, the worst changes first.
    pub changes: Vec<Change>,
    /// Limits of the evidence.
    pub limits: Vec<Limit>,
}

impl Comparison {
    /// Number of changes and limits that the operator must look at.
    pub fn worse(&self) -> usize {
        let changes = self.changes.iter().filter(|change| change.is_for_the_worse());
        changes.count() + self.limits.iter().filter(|limit| limit.is_for_the_worse()).count()
    }
}

/// Compares the links of two dates.
#[must_use]
pub fn compare(before: Links, after: Links) -> Comparison {
    let limits: Vec<Limit> = before
        .limits
        .union(&after.limits)
        .map(|because| Limit {
            because: because.clone(),
            before: before.limits.contains(because),
            after: after.limits.contains(because),
        })
        .collect();
    // Behind these limits of the second date anything may be.
    let limit = limits.iter().find(|limit| limit.after && limit.is_for_the_worse());
    let ends = [Ends::of(&before), Ends::of(&after)];
    let names = [names(&before, &after, &ends[1]), names(&after, &before, &ends[0])];
    let [before, after] = [(before, &names[0]), (after, &names[1])].map(|(links, names)| renamed(links, names));
    let unread = Unread::of(&before, &after);
    let mut changes: Vec<Change> = Vec::with_capacity(after.len());
    for (key, link) in before.iter().filter(|(key, _)| !after.contains_key(*key)) {
        let change = alone(key, link, Verdict::Vanished);
        changes.push(match unread.found_in(key) {
            Some(into) => into_what_is_not_read(change, into),
            None => match limit {
                Some(limit) => behind(change, limit),
                None => change,
            },
        });
    }
    for (key, link) in &after {
        changes.push(match before.get(key) {
            Some(earlier) => match both(key, earlier, link) {
                better if better.change == Verdict::Better => match limit {
                    Some(limit) => behind(better, limit),
                    None => better,
                },
                other => other,
            },
            None => alone(key, link, Verdict::Appeared),
        });
    }
    changes.sort_by(|one, other| {
        let key = |change: &Change| (!change.is_for_the_worse(), change.change);
        key(one)
            .cmp(&key(other))
            .then_with(|| (&one.interface, &one.ends).cmp(&(&other.interface, &other.ends)))
    });
    Comparison { changes, limits }
}

/// A change for the better, or a link that is gone, where a limit of the evidence leaves either
/// unproven.
fn behind(change: Change, limit: &Limit) -> Change {
    let because = format!("not shown: {}", limit.because);
    Change {
        change: match change.change {
            Verdict::Vanished => Verdict::Worse,
            _ => Verdict::Changed,
        },
        differences: [vec![because], change.differences].concat(),
        ..change
    }
}

/// The only name of a link between two ends, or none where several links join them.
struct Ends<'a>(HashMap<&'a [String; 2], Option<&'a str>>);

impl<'a> Ends<'a> {
    fn of(links: &'a Links) -> Self {
        let mut all = HashMap::with_capacity(links.all.len());
        for (name, ends) in links.all.keys() {
            let only = all.entry(ends);
            only.and_modify(|name| *name = None).or_insert(Some(name.as_str()));
        }
        Self(all)
    }
}

/// Names for links that nothing names: the name of the other date, if its ends have one link there
/// and that is not here too. TLS hides the names that a link has in plaintext.
fn names(links: &Links, other: &Links, theirs: &Ends<'_>) -> HashMap<[String; 2], String> {
    let unnamed = links
        .all
        .keys()
        .filter(|key| key.0 == UNNAMED && !other.all.contains_key(*key));
    let named = unnamed.filter_map(|(_, ends)| {
        let name = (*theirs.0.get(ends)?)?.to_owned();
        let key = (name, ends.clone());
        (!links.all.contains_key(&key)).then_some((key.1, key.0))
    });
    named.collect()
}

fn renamed(links: Links, names: &HashMap<[String; 2], String>) -> BTreeMap<Key, LinkRecord> {
    if names.is_empty() {
        return links.all;
    }
    let rename = |((name, ends), link): (Key, LinkRecord)| {
        let name = match names.get(&ends) {
            Some(found) if name == UNNAMED => found.clone(),
            _ => name,
        };
        ((name, ends), link)
    };
    links.all.into_iter().map(rename).collect()
}

/// Links that are not read and were not there, or were read, on the earlier date.
struct Unread<'a> {
    first: Option<&'a Key>,
    between: HashMap<&'a [String; 2], &'a Key>,
}

impl<'a> Unread<'a> {
    fn of(before: &BTreeMap<Key, LinkRecord>, after: &'a BTreeMap<Key, LinkRecord>) -> Self {
        let is_new = |(key, link): &(&Key, &LinkRecord)| link.unread && before.get(*key).is_none_or(|was| !was.unread);
        let mut all = Self {
            first: None,
            between: HashMap::new(),
        };
        for (key, _) in after.iter().filter(is_new) {
            all.first.get_or_insert(key);
            all.between.entry(&key.1).or_insert(key);
        }
        all
    }

    /// The link that a vanished one may have moved into: one between the same ends, or else any.
    fn found_in(&self, vanished: &Key) -> Option<&'a Key> {
        self.between.get(&vanished.1).copied().or(self.first)
    }
}

/// A link that stopped being readable is no link that is gone.
fn into_what_is_not_read(change: Change, (name, [one, other]): &Key) -> Change {
    let because =
        format!("no longer seen, and what appeared between {one} and {other} ({name}) is not read: it may be in there");
    let says = |step: Step| Step {
        after: Some("not observable".into()),
        ..step
    };
    Change {
        change: Verdict::Worse,
        confidentiality: says(change.confidentiality),
        authenticity: says(change.authenticity),
        differences: [vec![because], change.differences].concat(),
        ..change
    }
}

fn alone(key: &Key, link: &LinkRecord, change: Verdict) -> Change {
    let step = |statement: &Statement| {
        let says = Some(statement.says.to_string());
        match change {
            Verdict::Vanished => Step {
                before: says,
                after: None,
            },
            _ => Step {
                before: None,
                after: says,
            },
        }
    };
    Change {
        change,
        interface: key.0.clone(),
        ends: key.1.clone(),
        confidentiality: step(&link.confidentiality),
        authenticity: step(&link.authenticity),
        differences: vec![
            format!("confidentiality: {}", link.confidentiality.reason()),
            format!("authenticity: {}", link.authenticity.reason()),
        ],
    }
}

fn both(key: &Key, before: &LinkRecord, after: &LinkRecord) -> Change {
    let (mut fell, mut rose, mut differences) = (false, false, Vec::new());
    let mut step = |name: &str, one: &Statement, other: &Statement, rank: fn(&str) -> u8| {
        let (was, is) = (rank(&one.says), rank(&other.says));
        if let (Some(was), Some(is)) = (one.classical_alone, other.classical_alone)
            && one.says == other.says
            && was != is
        {
            // A broken cipher, or an end that proves nothing, needs no quantum computer.
            fell |= was;
            rose |= is;
            let (was, is) = (one.because.as_ref(), other.reason());
            differences.push(format!("{name}: {}, for another reason: {was} -> {is}", one.says));
        }
        if one.says != other.says {
            fell |= is < was;
            // A change from vulnerable to unknown is no improvement that anyone could show; a
            // change from readable to encrypted is one.
            rose |= is > was && (is == SHOWN || &*other.says == "vulnerable");
            differences.push(format!("{name}: {} -> {}: {}", one.says, other.says, other.reason()));
        }
        Step {
            before: Some(one.says.to_string()),
            after: Some(other.says.to_string()),
        }
    };
    let confidentiality = step(
        "confidentiality",
        &before.confidentiality,
        &after.confidentiality,
        rank_of_verdict,
    );
    let authenticity = step(
        "authenticity",
        &before.authenticity,
        &after.authenticity,
        rank_of_verdict,
    );
    let [one, other] = &key.1;
    let directions = [(one, other), (other, one)];
    for ((earlier, later), (from, to)) in before.answers.iter().zip(&after.answers).zip(directions) {
        for ((earlier, answer), question) in earlier.iter().zip(later).zip(QUESTIONS) {
            // An answer that is only no longer given says nothing: what follows from it is in the verdicts.
            if earlier.is_open() || answer.is_open() {
                continue;
            }
            step(
                &format!("{question} ({from} -> {to})"),
                earlier,
                answer,
                rank_of(question),
            );
        }
    }
    if after.unread && !before.unread {
        fell = true;
        differences.push(format!(
            "something of it is not read any more: {}",
            after.confidentiality.reason()
        ));
    }
    if before.key_exchanges != after.key_exchanges {
        let list = |names: &[Arc<str>]| {
            if names.is_empty() {
                "none".to_owned()
            } else {
                names.join(", ")
            }
        };
        differences.push(format!(
            "key exchanges: {} -> {}",
            list(&before.key_exchanges),
            list(&after.key_exchanges)
        ));
    }
    let change = match (fell, rose) {
        (true, _) => Verdict::Worse,
        (false, true) => Verdict::Better,
        (false, false) if differences.is_empty() => Verdict::Same,
        (false, false) => Verdict::Changed,
    };
    Change {
        change,
        interface: key.0.clone(),
        ends: key.1.clone(),
        confidentiality,
        authenticity,
        differences,
    }
}

/// The rank of what is shown to be good.
const SHOWN: u8 = 3;

fn rank_of_verdict(says: &str) -> u8 {
    match says {
        "quantum-safe" => SHOWN,
        "readable now" => 0,
        "vulnerable" => 1,
        _ => 2,
    }
}

fn rank_of_yes(says: &str) -> u8 {
    match says {
        "yes" => SHOWN,
        "no" => 0,
        _ => 2,
    }
}

/// The rank of answers to a question: to the one about plaintext, no is good.
fn rank_of(question: &str) -> fn(&str) -> u8 {
    if question == CLEAR { rank_of_no } else { rank_of_yes }
}

fn rank_of_no(says: &str) -> u8 {
    match says {
        "yes" => rank_of_yes("no"),
        "no" => rank_of_yes("yes"),
        open => rank_of_yes(open),
    }
}

impl Statement {
    fn is_open(&self) -> bool {
        !matches!(&*self.says, "yes" | "no")
    }

    /// The reason, and its place.
    fn reason(&self) -> String {
        if self.sources.is_empty() {
            self.because.to_string()
        } else {
            format!("{} [{}]", self.because, self.sources)
        }
    }
}

impl LinkRecord {
    /// Takes what another capture, or another carrier, says worse of the same link.
    pub fn worst_of(&mut self, other: Self) {
        let worse = |ours: &mut Statement, theirs: Statement, rank: fn(&str) -> u8| {
            let weaker = ours.says == theirs.says && theirs.classical_alone == Some(false);
            if rank(&theirs.says) < rank(&ours.says) || weaker {
                *ours = theirs;
            }
        };
        worse(&mut self.confidentiality, other.confidentiality, rank_of_verdict);
        worse(&mut self.authenticity, other.authenticity, rank_of_verdict);
        for (ours, theirs) in self.answers.iter_mut().zip(other.answers) {
            for ((ours, theirs), question) in ours.iter_mut().zip(theirs).zip(QUESTIONS) {
                worse(ours, theirs, rank_of(question));
            }
        }
        self.unread |= other.unread;
        self.key_exchanges.extend(other.key_exchanges);
        self.key_exchanges.sort();
        self.key_exchanges.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These links as a date has them.
    fn date<const N: usize>(all: [(Key, LinkRecord); N]) -> Links {
        Links {
            all: BTreeMap::from(all),
            ..Links::default()
        }
    }

    fn says(says: &str) -> Statement {
        Statement {
            says: says.into(),
            because: "for a reason".into(),
            sources: "packet 7".into(),
            classical_alone: None,
        }
    }

    fn link(confidentiality: &str, authenticity: &str, stayed: &str) -> LinkRecord {
        LinkRecord {
            confidentiality: says(confidentiality),
            authenticity: says(authenticity),
            key_exchanges: Vec::new(),
            unread: false,
            answers: [0, 1]
                .map(|_| QUESTIONS.map(|question| says(if question == "stayed" { stayed } else { "not seen" }))),
        }
    }

    fn became(before: &LinkRecord, after: &LinkRecord) -> Verdict {
        let of = |link: &LinkRecord| date([(("SBI".to_owned(), ["amf".to_owned(), "nrf".to_owned()]), link.clone())]);
        compare(of(before), of(after)).changes[0].change
    }

    #[test]
    fn a_link_that_tls_made_nameless_is_the_one_that_was_named_in_plaintext() {
        let (clear, safe) = (
            link("vulnerable", "vulnerable", "no"),
            link("quantum-safe", "not observable", "yes"),
        );
        let ends = ["amf".to_owned(), "nrf".to_owned()];
        let of = |names: &[&str], link: &LinkRecord| -> Links {
            let all = names
                .iter()
                .map(|name| (((*name).to_owned(), ends.clone()), link.clone()));
            Links {
                all: all.collect(),
                ..Links::default()
            }
        };
        let changes = |before: &Links, after: &Links| -> Vec<(String, Verdict)> {
            compare(before.clone(), after.clone())
                .changes
                .into_iter()
                .map(|change| (change.interface, change.change))
                .collect()
        };
        let (named, unnamed) = (of(&["SBI"], &clear), of(&["-"], &safe));
        assert_eq!(changes(&named, &unnamed), [("SBI".to_owned(), Verdict::Better)]);
        assert_eq!(changes(&unnamed, &named), [("SBI".to_owned(), Verdict::Worse)]);
        // Nothing tells which of two it is.
        assert_eq!(changes(&of(&["SBI", "O1"], &clear), &unnamed).len(), 3);
        assert_eq!(changes(&named, &of(&["SBI", "-"], &safe)).len(), 2);
    }

    #[test]
    fn what_falls_is_worse_whatever_else_rises() {
        let safe = link("quantum-safe", "not observable", "yes");
        assert_eq!(
            became(&safe, &link("vulnerable", "quantum-safe", "yes")),
            Verdict::Worse
        );
        assert_eq!(
            became(&safe, &link("not seen", "not observable", "yes")),
            Verdict::Worse
        );
        assert_eq!(
            became(
                &link("not seen", "not seen", "yes"),
                &link("vulnerable", "not seen", "yes")
            ),
            Verdict::Worse
        );
    }

    #[test]
    fn a_rekey_that_no_longer_stays_post_quantum_is_worse_with_both_verdicts_as_they_were() {
        let before = link("quantum-safe", "not observable", "yes");
        assert_eq!(
            became(&before, &link("quantum-safe", "not observable", "no")),
            Verdict::Worse
        );
    }

    #[test]
    fn a_cipher_that_breaks_today_is_worse_than_a_classical_key_exchange_with_verdicts_as_they_were() {
        let judged = |classical_alone| LinkRecord {
            confidentiality: Statement {
                classical_alone,
                ..says("vulnerable")
            },
            ..link("vulnerable", "vulnerable", "no")
        };
        let (x25519, rc4, unsaid) = (judged(Some(true)), judged(Some(false)), judged(None));
        assert_eq!(became(&x25519, &rc4), Verdict::Worse);
        assert_eq!(became(&rc4, &x25519), Verdict::Better);
        assert_eq!(became(&unsaid, &rc4), Verdict::Same);
        // The worse of two captures of one date counts.
        let mut both = x25519.clone();
        both.worst_of(rc4.clone());
        assert_eq!(both.confidentiality, rc4.confidentiality);
    }

    #[test]
    fn better_is_only_what_is_shown() {
        let clear = link("vulnerable", "vulnerable", "no");
        assert_eq!(
            became(&clear, &link("quantum-safe", "vulnerable", "yes")),
            Verdict::Better
        );
        assert_eq!(
            became(&clear, &link("not observable", "not observable", "no")),
            Verdict::Changed
        );
        assert_eq!(became(&clear, &clear), Verdict::Same);
    }

    #[test]
    fn what_is_readable_now_is_worse_than_what_is_readable_later_and_encryption_is_an_improvement() {
        let (plain, classical) = (
            link("readable now", "vulnerable", "no"),
            link("vulnerable", "vulnerable", "no"),
        );
        assert_eq!(became(&classical, &plain), Verdict::Worse);
        assert_eq!(became(&plain, &classical), Verdict::Better);
        // It is unknown whether it is encrypted now.
        let open = link("not observable", "vulnerable", "no");
        assert_eq!(became(&plain, &open), Verdict::Changed);
        assert_eq!(became(&open, &plain), Verdict::Worse);
    }

    #[test]
    fn what_moved_into_a_tunnel_or_is_not_read_any_more_is_worse_and_has_not_vanished() {
        let key = |name: &str, one: &str, other: &str| (name.to_owned(), [one.to_owned(), other.to_owned()]);
        let unread = LinkRecord {
            unread: true,
            ..link("not observable", "not observable", "yes")
        };
        let (n2, n3) = (key("N2", "amf", "gnb"), key("N3", "gnb", "upf"));
        let clear = link("vulnerable", "vulnerable", "no");
        let before = date([(n2.clone(), clear.clone()), (n3.clone(), clear.clone())]);
        let changes = |after: Links| -> Vec<(String, Verdict, bool)> {
            let changes = compare(before.clone(), after).changes.into_iter();
            changes
                .map(|change| (change.interface.clone(), change.change, change.is_for_the_worse()))
                .collect()
        };
        // Into a tunnel between two gateways; it is unknown which of the two.
        let gateways = key("-", "gateway a", "gateway b");
        let into = changes(date([(gateways.clone(), unread.clone())]));
        assert_eq!(into.len(), 3);
        assert!(into.iter().all(|(_, _, worse)| *worse), "{into:?}");
        assert_eq!(
            into.iter().filter(|(_, change, _)| *change == Verdict::Worse).count(),
            2
        );
        // Between the same ends, by the same name.
        let same = changes(date([(n2.clone(), unread.clone()), (n3.clone(), clear.clone())]));
        assert_eq!(same[0], ("N2".to_owned(), Verdict::Worse, true));
        assert_eq!(same[1], ("N3".to_owned(), Verdict::Same, false));
        // The tunnel was there before: no visible link moved into it.
        let known = date([(gateways.clone(), unread.clone()), (n2, clear)]);
        let gone = compare(known, date([(gateways, unread)])).changes;
        assert_eq!(gone[0].change, Verdict::Vanished);
    }

    /// A walk over all links for each link takes minutes.
    #[test]
    fn twenty_thousand_links_without_a_name_are_compared() {
        const MANY: usize = 20_000;
        let all = |network: &str| {
            let link = LinkRecord {
                unread: true,
                ..link("not observable", "not observable", "yes")
            };
            let key = |host: usize| (UNNAMED.to_owned(), [format!("{network}.{host}"), "server".to_owned()]);
            Links {
                all: (0..MANY).map(|host| (key(host), link.clone())).collect(),
                ..Links::default()
            }
        };
        let changes = compare(all("10.0"), all("10.1")).changes;
        assert_eq!(changes.len(), 2 * MANY);
        assert!(changes.iter().all(Change::is_for_the_worse));
    }

    #[test]
    fn a_link_that_appears_is_to_be_looked_at_where_it_is_vulnerable() {
        let key = ("N2".to_owned(), ["amf".to_owned(), "gnb".to_owned()]);
        let appear = |link: LinkRecord| compare(Links::default(), date([(key.clone(), link)])).changes;
        assert!(appear(link("quantum-safe", "vulnerable", "yes"))[0].is_for_the_worse());
        assert!(!appear(link("quantum-safe", "not observable", "yes"))[0].is_for_the_worse());
        let vanished = compare(
            date([(key.clone(), link("vulnerable", "vulnerable", "no"))]),
            Links::default(),
        )
        .changes;
        assert_eq!(vanished[0].change, Verdict::Vanished);
        assert!(!vanished[0].is_for_the_worse());
    }

    /// The date with this limit of its evidence.
    fn within(limit: &str, mut links: Links) -> Links {
        links.limits.insert(limit.to_owned());
        links
    }

    #[test]
    fn behind_a_new_limit_nothing_got_better_and_nothing_is_gone() {
        const DROPPED: &str = "dropped by the capturing host";
        let key = ("N2".to_owned(), ["amf".to_owned(), "gnb".to_owned()]);
        let of = |verdict| date([(key.clone(), link(verdict, "not observable", "yes"))]);
        let (clear, safe) = (|| of("readable now"), || of("quantum-safe"));
        let changed = |before, after| {
            let compared = compare(before, after);
            (compared.changes[0].change, compared.worse())
        };
        assert_eq!(changed(clear(), safe()), (Verdict::Better, 0));
        assert_eq!(changed(clear(), within(DROPPED, safe())), (Verdict::Changed, 1));
        assert_eq!(changed(clear(), within(DROPPED, Links::default())), (Verdict::Worse, 2));
        // One that is gone, or was there before, hides nothing new.
        assert_eq!(changed(within(DROPPED, clear()), safe()), (Verdict::Better, 0));
        assert_eq!(
            changed(within(DROPPED, clear()), within(DROPPED, safe())),
            (Verdict::Better, 0)
        );
        // Networks that look like one do so on both dates.
        let merged = changed(within(UNTAGGED, clear()), within(UNTAGGED, safe()));
        assert_eq!(merged, (Verdict::Changed, 1));
    }

    #[test]
    fn two_dates_that_show_nothing_are_not_alike() {
        let nothing = || within(NOTHING_SEEN, Links::default());
        let compared = compare(nothing(), nothing());
        assert!(compared.changes.is_empty() && compared.worse() > 0);
    }
}
