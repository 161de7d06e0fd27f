//! Two dates of a network, link by link.

use serde::Serialize;

use super::record::{Key, LinkRecord, Links, Statement, UNNAMED};

/// What became of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A verdict or an answer fell, or is no longer shown.
    Worse,
    /// It is there for the first time.
    Appeared,
    /// It is there no more.
    Vanished,
    /// A verdict or an answer rose, and none fell.
    Better,
    /// It changed, and nobody can tell whether for the better.
    Changed,
    /// As before.
    Same,
}

impl Verdict {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Worse => "worse",
            Self::Appeared => "appeared",
            Self::Vanished => "vanished",
            Self::Better => "better",
            Self::Changed => "changed",
            Self::Same => "same",
        }
    }
}

/// A link on two dates.
#[derive(Debug, Clone, Serialize)]
pub struct Change {
    /// Which.
    pub change: Verdict,
    /// The interface, `-` where nothing names it.
    pub interface: String,
    /// Nodes or addresses.
    pub ends: [String; 2],
    /// Its confidentiality on both dates.
    pub confidentiality: Step,
    /// Its authenticity on both dates.
    pub authenticity: Step,
    /// What differs, in words, with the places of the later date, or of the earlier where it vanished.
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
    /// Whether somebody must look at it: also a link that appeared, unless its confidentiality is shown to hold.
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

/// Every link of either date, the worst changes first.
#[must_use]
pub fn compare(before: &Links, after: &Links) -> Vec<Change> {
    let (before, after) = (&named(before, after), &named(after, before));
    let gone = before.iter().filter(|(key, _)| !after.contains_key(*key));
    let mut changes: Vec<Change> = gone
        .map(|(key, link)| {
            let change = alone(key, link, Verdict::Vanished);
            match moved_into(key, before, after) {
                Some(into) => into_what_is_not_read(change, into),
                None => change,
            }
        })
        .collect();
    for (key, link) in after {
        changes.push(match before.get(key) {
            Some(earlier) => both(key, earlier, link),
            None => alone(key, link, Verdict::Appeared),
        });
    }
    changes.sort_by(|one, other| {
        let key = |change: &Change| (!change.is_for_the_worse(), change.change);
        key(one)
            .cmp(&key(other))
            .then_with(|| (&one.interface, &one.ends).cmp(&(&other.interface, &other.ends)))
    });
    changes
}

/// These links; one that nothing names has the name of the other date, where its ends have one link there and that is not here
/// too: what names a link in plaintext is hidden once TLS carries it.
fn named(links: &Links, other: &Links) -> Links {
    let name = |(name, ends): &Key| {
        if name != UNNAMED || other.contains_key(&(name.clone(), ends.clone())) {
            return name.clone();
        }
        let mut candidates = other.keys().filter(|(_, theirs)| theirs == ends);
        match (candidates.next(), candidates.next()) {
            (Some(found), None) if !links.contains_key(found) => found.0.clone(),
            _ => name.clone(),
        }
    };
    let renamed = |(key, link): (&Key, &LinkRecord)| ((name(key), key.1.clone()), link.clone());
    links.iter().map(renamed).collect()
}

/// What a link that is there no more may have moved into: something between the same ends, or else anywhere, that is not read and was
/// not there before.
fn moved_into<'a>(key: &Key, before: &Links, after: &'a Links) -> Option<&'a Key> {
    let mut new = after
        .iter()
        .filter(|(key, link)| link.unread && before.get(*key).is_none_or(|was| !was.unread));
    let between = new.clone().find(|(other, _)| other.1 == key.1);
    between.or_else(|| new.next()).map(|(key, _)| key)
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
        let says = Some(statement.says.clone());
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
        if one.says != other.says {
            fell |= is < was;
            // From vulnerable to what nobody can tell is no improvement anybody could show; what was readable and is encrypted
            // now, is one.
            rose |= is > was && (is == SHOWN || other.says == "vulnerable");
            differences.push(format!("{name}: {} -> {}: {}", one.says, other.says, other.reason()));
        }
        Step {
            before: Some(one.says.clone()),
            after: Some(other.says.clone()),
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
    for (place, answer) in &after.answers {
        let Some(earlier) = before.answers.get(place) else {
            continue;
        };
        let (ends, question) = place;
        // The answer that is good to have: to the question for plaintext it is no.
        let rank = if *question == "clear" { rank_of_no } else { rank_of_yes };
        // An answer that is only no longer given says nothing: what follows from it is in the verdicts.
        if earlier.is_open() || answer.is_open() {
            continue;
        }
        step(&format!("{question} ({ends})"), earlier, answer, rank);
    }
    if after.unread && !before.unread {
        fell = true;
        differences.push(format!(
            "something of it is not read any more: {}",
            after.confidentiality.reason()
        ));
    }
    if before.key_exchanges != after.key_exchanges {
        let list = |names: &[String]| {
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

fn rank_of_no(says: &str) -> u8 {
    match says {
        "yes" => rank_of_yes("no"),
        "no" => rank_of_yes("yes"),
        open => rank_of_yes(open),
    }
}

impl Statement {
    fn is_open(&self) -> bool {
        !matches!(self.says.as_str(), "yes" | "no")
    }

    /// Why, and where.
    fn reason(&self) -> String {
        if self.sources.is_empty() {
            self.because.clone()
        } else {
            format!("{} [{}]", self.because, self.sources.join("; "))
        }
    }
}

impl LinkRecord {
    /// Takes what another capture, or another carrier, says worse of the same link.
    pub fn worst_of(&mut self, other: Self) {
        let worse = |ours: &mut Statement, theirs: Statement, rank: fn(&str) -> u8| {
            if rank(&theirs.says) < rank(&ours.says) {
                *ours = theirs;
            }
        };
        worse(&mut self.confidentiality, other.confidentiality, rank_of_verdict);
        worse(&mut self.authenticity, other.authenticity, rank_of_verdict);
        for (place, answer) in other.answers {
            let rank = if place.1 == "clear" { rank_of_no } else { rank_of_yes };
            match self.answers.get_mut(&place) {
                Some(ours) => worse(ours, answer, rank),
                None => drop(self.answers.insert(place, answer)),
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
    use std::collections::BTreeMap;

    use super::*;

    fn says(says: &str) -> Statement {
        Statement {
            says: says.into(),
            because: "for a reason".into(),
            sources: vec!["packet 7".into()],
        }
    }

    fn link(confidentiality: &str, authenticity: &str, stayed: &str) -> LinkRecord {
        LinkRecord {
            confidentiality: says(confidentiality),
            authenticity: says(authenticity),
            key_exchanges: Vec::new(),
            unread: false,
            answers: BTreeMap::from([(("amf -> nrf".to_owned(), "stayed"), says(stayed))]),
        }
    }

    fn became(before: &LinkRecord, after: &LinkRecord) -> Verdict {
        let of =
            |link: &LinkRecord| Links::from([(("SBI".to_owned(), ["amf".to_owned(), "nrf".to_owned()]), link.clone())]);
        compare(&of(before), &of(after))[0].change
    }

    #[test]
    fn a_link_that_tls_made_nameless_is_the_one_that_was_named_in_plaintext() {
        let (clear, safe) = (
            link("vulnerable", "vulnerable", "no"),
            link("quantum-safe", "not observable", "yes"),
        );
        let ends = ["amf".to_owned(), "nrf".to_owned()];
        let of = |names: &[&str], link: &LinkRecord| -> Links {
            names
                .iter()
                .map(|name| (((*name).to_owned(), ends.clone()), link.clone()))
                .collect()
        };
        let changes = |before: &Links, after: &Links| -> Vec<(String, Verdict)> {
            compare(before, after)
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
        // Nobody can tell whether it is encrypted now.
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
        let before = Links::from([(n2.clone(), clear.clone()), (n3.clone(), clear.clone())]);
        let changes = |after: Links| -> Vec<(String, Verdict, bool)> {
            let changes = compare(&before, &after).into_iter();
            changes
                .map(|change| (change.interface.clone(), change.change, change.is_for_the_worse()))
                .collect()
        };
        // Into a tunnel between two gateways; nobody can tell which of the two.
        let gateways = key("-", "gateway a", "gateway b");
        let into = changes(Links::from([(gateways.clone(), unread.clone())]));
        assert_eq!(into.len(), 3);
        assert!(into.iter().all(|(_, _, worse)| *worse), "{into:?}");
        assert_eq!(
            into.iter().filter(|(_, change, _)| *change == Verdict::Worse).count(),
            2
        );
        // Between the same ends, by the same name.
        let same = changes(Links::from([(n2.clone(), unread.clone()), (n3.clone(), clear.clone())]));
        assert_eq!(same[0], ("N2".to_owned(), Verdict::Worse, true));
        assert_eq!(same[1], ("N3".to_owned(), Verdict::Same, false));
        // The tunnel was there before: nothing moved into it that anybody could tell.
        let known = Links::from([(gateways.clone(), unread.clone()), (n2, clear)]);
        let gone = compare(&known, &Links::from([(gateways, unread)]));
        assert_eq!(gone[0].change, Verdict::Vanished);
    }

    #[test]
    fn a_link_that_appears_is_to_be_looked_at_where_it_is_vulnerable() {
        let key = ("N2".to_owned(), ["amf".to_owned(), "gnb".to_owned()]);
        let appear = |link: LinkRecord| compare(&Links::new(), &Links::from([(key.clone(), link)]));
        assert!(appear(link("quantum-safe", "vulnerable", "yes"))[0].is_for_the_worse());
        assert!(!appear(link("quantum-safe", "not observable", "yes"))[0].is_for_the_worse());
        let vanished = compare(
            &Links::from([(key.clone(), link("vulnerable", "vulnerable", "no"))]),
            &Links::new(),
        );
        assert_eq!(vanished[0].change, Verdict::Vanished);
        assert!(!vanished[0].is_for_the_worse());
    }
}
