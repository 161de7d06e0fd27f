//! Output of `nft -j list table` (libnftables-json(5)), as far as two listings can be compared.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::ask;
use crate::Error;

/// A table as it is listed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Listing {
    /// Flags of the table itself, `dormant` for example.
    flags: Vec<String>,
    /// Everything but rules and counters, each by its kind and name.
    objects: BTreeMap<(String, String), Value>,
    /// The rules of each chain, in order.
    rules: BTreeMap<String, Vec<Rule>>,
    /// Packets of each counter that has a name.
    counters: BTreeMap<String, u64>,
}

/// A rule without what differs from one listing to the next, as text: its tree would take ten times
/// the memory, and there may be thousands.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Rule {
    text: String,
    comment: Option<String>,
}

/// A difference between the installed and the wanted table, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference(String);

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Differences are shown up to this number of characters of what was found.
const SHOWN: usize = 160;

impl Listing {
    /// The table of this name; none where there is none.
    pub(super) fn of(family: &str, name: &str) -> Result<Option<Self>, Error> {
        match ask(&["-j", "list", "table", family, name]) {
            Ok(listed) => {
                let mut listing = Self::parse(&listed.text())?;
                if !listing.flags.is_empty() {
                    // In JSON nft 1.0.6 prints the name of something else in place of a flag's.
                    listing.flags = flags(&ask(&["list", "table", family, name])?.text());
                }
                Ok(Some(listing))
            }
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads what `nft` printed.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let unreadable = |reason: String| Error::Unfit {
            what: "what `nft -j` prints".to_owned(),
            reason,
        };
        let mut listing = Self::default();
        let mut reader = serde_json::Deserializer::from_str(text);
        let read = Printed(&mut listing).deserialize(&mut reader);
        let read = read.and_then(|read| reader.end().map(|()| read));
        match read {
            Ok(true) => Ok(listing),
            Ok(false) => Err(unreadable("it has no `nftables`".to_owned())),
            Err(error) => Err(unreadable(error.to_string())),
        }
    }

    /// Adds one of the objects that are listed.
    fn add(&mut self, object: &Value) {
        let Some((kind, of)) = object.as_object().and_then(|object| object.iter().next()) else {
            return;
        };
        let text = |field: &str| of[field].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "metainfo" => {}
            "table" => self.flags = strings(&of["flags"]),
            "rule" => {
                let rule = Rule {
                    text: bare(of).to_string(),
                    comment: of["comment"].as_str().map(str::to_owned),
                };
                self.rules.entry(text("chain")).or_default().push(rule);
            }
            kind => {
                if kind == "counter" {
                    self.counters.insert(text("name"), of["packets"].as_u64().unwrap_or(0));
                }
                let mut bare = bare(of);
                // Devices are printed by some versions of `nft` and not by others.
                if of["family"] == "netdev"
                    && let Some(fields) = bare.as_object_mut()
                {
                    fields.remove("dev");
                }
                self.objects.insert((kind.to_owned(), text("name")), bare);
            }
        }
    }

    /// Packets that a counter with this name has seen.
    pub fn packets(&self, counter: &str) -> Option<u64> {
        self.counters.get(counter).copied()
    }

    /// The comments of its rules.
    pub fn comments(&self) -> impl Iterator<Item = &str> {
        let rules = self.rules.values().flatten();
        rules.filter_map(|rule| rule.comment.as_deref())
    }

    /// The elements of a set, each as words: `10.0.0.1 udp 53`.
    pub fn members(&self, set: &str) -> Vec<String> {
        let set = self.objects.get(&("set".to_owned(), set.to_owned()));
        let elements = set
            .and_then(|set| set["elem"].as_array())
            .map_or(&[][..], Vec::as_slice);
        elements.iter().map(words).collect()
    }

    /// The same without the chains and counters of these names.
    #[must_use]
    pub fn without(mut self, names: &[String]) -> Self {
        self.objects.retain(|(_, name), _| !names.contains(name));
        self.rules.retain(|chain, _| !names.contains(chain));
        self
    }

    /// Returns what is missing or changed here against `wanted`, and what else there is. Counts,
    /// handles, and elements that pass with time are not compared; whether `wanted` itself was
    /// listed dormant is not looked at.
    #[must_use]
    pub fn differences(&self, wanted: &Self) -> Vec<Difference> {
        let mut found = Vec::new();
        for flag in &self.flags {
            let then = if flag == "dormant" {
                ": none of its rules is looked at"
            } else {
                ""
            };
            found.push(format!("the table has the flag {flag}{then}"));
        }
        for (key @ (kind, name), object) in &wanted.objects {
            match self.objects.get(key) {
                None => found.push(format!("the {kind} {name} is missing")),
                Some(here) => compare(kind, name, here, object, &mut found),
            }
        }
        for key @ (kind, name) in self.objects.keys() {
            if !wanted.objects.contains_key(key) {
                found.push(format!("a {kind} {name} was added"));
            }
        }
        for (chain, rules) in &wanted.rules {
            rules_of(
                chain,
                self.rules.get(chain).map_or(&[], Vec::as_slice),
                rules,
                &mut found,
            );
        }
        for (chain, rules) in &self.rules {
            if !wanted.rules.contains_key(chain) && !rules.is_empty() {
                rules_of(chain, rules, &[], &mut found);
            }
        }
        found.into_iter().map(Difference).collect()
    }
}

/// The whole of what was printed, read object by object; whether it has any.
struct Printed<'a>(&'a mut Listing);

impl<'de> DeserializeSeed<'de> for Printed<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Printed<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `nftables`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let mut found = false;
        while let Some(name) = map.next_key::<String>()? {
            if name == "nftables" {
                map.next_value_seed(Objects(self.0))?;
                found = true;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }
}

/// The list in it.
struct Objects<'a>(&'a mut Listing);

impl<'de> DeserializeSeed<'de> for Objects<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Objects<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(object) = list.next_element::<Value>()? {
            self.0.add(&object);
        }
        Ok(())
    }
}

/// Returns true if `nft` says that there is no such table. A loader that finds none of its libraries
/// says the same, with another status.
fn is_absent(error: &Error) -> bool {
    let Error::Failed { status, tail, .. } = error else {
        return false;
    };
    status.code() == Some(1) && tail.contains("No such file or directory")
}

/// Flags of the table in a listing as text, where they stand before everything else.
fn flags(text: &str) -> Vec<String> {
    let mut lines = text.lines().skip(1).map(str::trim);
    let line = lines.find(|line| line.starts_with("flags ") || line.ends_with('{'));
    let flags = line.and_then(|line| line.strip_prefix("flags ")).unwrap_or_default();
    let flags = flags.split([',', ' ', ';']).filter(|flag| !flag.is_empty());
    flags.map(str::to_owned).collect()
}

/// Says where the same object has other properties.
fn compare(kind: &str, name: &str, here: &Value, wanted: &Value, found: &mut Vec<String>) {
    let passing = is_passing(wanted);
    let (Some(here), Some(wanted)) = (here.as_object(), wanted.as_object()) else {
        return;
    };
    let fields = wanted
        .keys()
        .chain(here.keys().filter(|field| !wanted.contains_key(*field)));
    for field in fields {
        if passing && field == "elem" {
            continue;
        }
        let (here, wanted) = (here.get(field), wanted.get(field));
        if field == "elem" {
            elements(name, here, wanted, found);
        } else if here != wanted {
            let (here, wanted) = (shown(here), shown(wanted));
            found.push(format!("the {kind} {name} has {field} {here}, not {wanted}"));
        }
    }
}

/// Returns true if elements of a set pass with time, or are added by rules.
fn is_passing(set: &Value) -> bool {
    let flags = strings(&set["flags"]);
    flags.iter().any(|flag| flag == "timeout" || flag == "dynamic")
}

fn elements(set: &str, here: Option<&Value>, wanted: Option<&Value>, found: &mut Vec<String>) {
    fn of(value: Option<&Value>) -> &[Value] {
        value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }
    let (here, wanted) = (of(here), of(wanted));
    let [known, asked]: [HashSet<&Value>; 2] = [here, wanted].map(|all| all.iter().collect());
    for element in wanted.iter().filter(|element| !known.contains(element)) {
        found.push(format!("the set {set} lacks {}", shown(Some(element))));
    }
    for element in here.iter().filter(|element| !asked.contains(element)) {
        found.push(format!("the set {set} also has {}", shown(Some(element))));
    }
}

fn rules_of(chain: &str, here: &[Rule], wanted: &[Rule], found: &mut Vec<String>) {
    if here == wanted {
        return;
    }
    let begun = found.len();
    let (of_here, of_wanted) = (times(here), times(wanted));
    let count = |of: &HashMap<&Rule, usize>, rule: &Rule| of.get(rule).copied().unwrap_or(0);
    for (number, rule) in wanted.iter().enumerate() {
        if count(&of_here, rule) < count(&of_wanted, rule) {
            found.push(format!(
                "the chain {chain} lacks its rule {}: {}",
                number + 1,
                rule_text(rule)
            ));
        }
    }
    for (number, rule) in here.iter().enumerate() {
        if count(&of_wanted, rule) < count(&of_here, rule) {
            found.push(format!(
                "the chain {chain} has another rule at {}: {}",
                number + 1,
                rule_text(rule)
            ));
        }
    }
    if found.len() == begun {
        found.push(format!("the chain {chain} has its rules in another order"));
    }
}

/// Count of each rule in a chain.
fn times(rules: &[Rule]) -> HashMap<&Rule, usize> {
    let mut times = HashMap::new();
    for rule in rules {
        *times.entry(rule).or_default() += 1;
    }
    times
}

/// An element without what is said of it.
fn words(element: &Value) -> String {
    let value = element.get("elem").map_or(element, |element| &element["val"]);
    let parts = value
        .get("concat")
        .and_then(Value::as_array)
        .map_or(std::slice::from_ref(value), Vec::as_slice);
    let parts = parts
        .iter()
        .map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned));
    parts.collect::<Vec<_>>().join(" ")
}

/// A rule without what differs from one listing to the next.
fn bare(object: &Value) -> Value {
    match object {
        Value::Object(fields) => {
            let kept = fields
                .iter()
                .filter(|(name, _)| {
                    !matches!(
                        name.as_str(),
                        "handle" | "packets" | "bytes" | "table" | "family" | "index" | "expires"
                    )
                })
                .map(|(name, value)| (name.clone(), bare(value)));
            Value::Object(kept.collect::<Map<_, _>>())
        }
        Value::Array(values) => Value::Array(values.iter().map(bare).collect()),
        value => value.clone(),
    }
}

fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::String(one) => vec![one.clone()],
        Value::Array(several) => several
            .iter()
            .filter_map(|one| one.as_str().map(str::to_owned))
            .collect(),
        _ => Vec::new(),
    }
}

fn rule_text(rule: &Rule) -> String {
    let read: Value = serde_json::from_str(&rule.text).unwrap_or_default();
    let shown = shown(Some(&read["expr"]));
    match &rule.comment {
        Some(comment) => format!("`{comment}`, {shown}"),
        None => shown,
    }
}

fn shown(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "nothing".to_owned(), Value::to_string);
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nft_that_cannot_be_loaded_does_not_say_that_a_table_is_absent() {
        use std::os::unix::process::ExitStatusExt as _;
        let failed = |code: i32, tail: &str| Error::Failed {
            program: "nft".to_owned(),
            status: std::process::ExitStatus::from_raw(code << 8),
            tail: tail.to_owned(),
        };
        let words = "Error: No such file or directory\nlist table inet t\n";
        assert!(is_absent(&failed(1, words)));
        let loader = "libnftables.so.1: cannot open shared object file: No such file or directory";
        assert!(!is_absent(&failed(127, loader)) && !is_absent(&failed(1, "Error: syntax error")));
    }

    #[test]
    fn flags_of_a_table_are_not_those_of_its_sets() {
        let table = |flags: &str| {
            format!(
                "table inet t {{
{flags}	set s {{
		flags timeout
	}}
}}
"
            )
        };
        assert!(flags(&table("")).is_empty());
        assert_eq!(
            flags(&table(
                "	flags dormant
"
            )),
            ["dormant"]
        );
        assert_eq!(
            flags(&table(
                "	comment \"x\"
	flags owner,persist
"
            )),
            ["owner", "persist"]
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_the_reader_panic(text: String, name: String, number: u64) {
            let _ = Listing::parse(&text);
            let _ = flags(&text);
            let odd = serde_json::json!({"nftables": [
                {"rule": name}, {"set": {"name": number, "elem": name}}, {name.clone(): []}, number, {"table": {"flags": number}}
            ]});
            let listing = Listing::parse(&odd.to_string()).unwrap();
            prop_assert!(listing.differences(&listing).is_empty());
        }
    }
}
