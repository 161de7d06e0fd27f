//! An Exception in the deployment file: the interface's policy becomes the profile `transition`
//! with its reason and its last day.

use bartizan_deployment::nearest;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use time::Date;
use time::macros::format_description;

/// Keys of a policy that hold whatever is negotiated; its lists of algorithms are those of the profile.
const KEPT: [&str; 3] = ["resumption", "revocation", "module"];
/// Keys of an Exception's spec.
const KEYS: [&str; 5] = ["network", "interface", "between", "reason", "expires"];

/// The spec of an Exception.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Spec {
    /// The Network it is for; the namespace's, where it is left out.
    pub(crate) network: Option<String>,
    interface: String,
    between: [String; 2],
    reason: String,
    expires: String,
}

impl Spec {
    /// Reads the spec of an Exception.
    pub(crate) fn read(spec: &Value) -> Result<Self, String> {
        if let Some(key) = spec
            .as_object()
            .and_then(|spec| spec.keys().find(|key| !KEYS.contains(&key.as_str())))
        {
            let meant = nearest(key, KEYS.into_iter()).map(|meant| format!("; hint: did you mean `{meant}`?"));
            return Err(format!(
                "spec.{key}: there is no such field{}",
                meant.unwrap_or_default()
            ));
        }
        let spec: Self = Self::deserialize(spec).map_err(|error| format!("spec: {error}"))?;
        spec.last_day()?;
        Ok(spec)
    }

    /// The last day (UTC) on which it is in effect.
    pub(crate) fn last_day(&self) -> Result<Date, String> {
        Date::parse(&self.expires, format_description!("[year]-[month]-[day]")).map_err(|_| {
            format!(
                "spec.expires: `{}` is not a date; hint: write a day as 2027-06-30",
                self.expires
            )
        })
    }

    /// Writes it into a deployment file.
    pub(crate) fn apply(&self, file: &mut Value) -> Result<(), String> {
        let whole = policy(file, &Value::Null);
        let Some(entries) = file.get_mut("interfaces").and_then(Value::as_array_mut) else {
            return Err("the Network has no interfaces".to_owned());
        };
        let mut found = false;
        let mut written = Vec::with_capacity(entries.len() + 1);
        for entry in entries.drain(..) {
            let pairs = pairs(&entry);
            let concerns = is(&entry["kind"], &self.interface) && pairs.iter().any(|pair| self.joins(pair));
            if !concerns {
                written.push(entry);
                continue;
            }
            found = true;
            let own = policy_of(&entry["policy"]).unwrap_or_else(|| whole.clone());
            if own.get("profile").is_some_and(|profile| profile == "transition") {
                return Err(format!(
                    "the Network itself has an exception for {} between {} and {}; hint: remove one of the two",
                    self.interface, self.between[0], self.between[1]
                ));
            }
            written.extend(pairs.iter().map(|pair| {
                let mut one = entry.clone();
                if let Some(one) = one.as_object_mut() {
                    one.remove("among");
                    one.insert("between".to_owned(), json!(pair));
                    if self.joins(pair) {
                        one.insert("policy".to_owned(), self.policy(&own));
                    }
                }
                one
            }));
        }
        *entries = written;
        if found {
            return Ok(());
        }
        Err(format!(
            "spec.between: no interface {} of the Network joins {} and {}; hint: name kind and nodes as the Network does",
            self.interface, self.between[0], self.between[1]
        ))
    }

    fn joins(&self, pair: &[String; 2]) -> bool {
        let [one, other] = &self.between;
        pair == &self.between || (&pair[0] == other && &pair[1] == one)
    }

    fn policy(&self, own: &Map<String, Value>) -> Value {
        let mut policy: Map<String, Value> = own
            .iter()
            .filter(|(key, _)| KEPT.contains(&key.as_str()))
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        policy.insert("profile".to_owned(), json!("transition"));
        policy.insert("reason".to_owned(), json!(self.reason));
        policy.insert("expires".to_owned(), json!(self.expires));
        Value::Object(policy)
    }
}

/// The policy of an entry, or of the whole file, as a map.
fn policy(file: &Value, entry: &Value) -> Map<String, Value> {
    policy_of(entry)
        .or_else(|| policy_of(&file["policy"]))
        .unwrap_or_default()
}

fn policy_of(value: &Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(map) => Some(map.clone()),
        Value::String(profile) => Some(Map::from_iter([("profile".to_owned(), json!(profile))])),
        _ => None,
    }
}

fn is(kind: &Value, name: &str) -> bool {
    kind.as_str().is_some_and(|kind| kind.eq_ignore_ascii_case(name))
}

/// The two ends of each link of an entry, as far as it is well formed: the parser judges it afterwards.
fn pairs(entry: &Value) -> Vec<[String; 2]> {
    let names = |value: &Value| -> Vec<String> {
        match value {
            Value::String(name) => vec![name.clone()],
            Value::Array(names) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    };
    if let Some([one, other]) = entry["between"].as_array().map(Vec::as_slice) {
        let (one, other) = (names(one), names(other));
        let pair = |one: &String| {
            other
                .iter()
                .map(|other| [one.clone(), other.clone()])
                .collect::<Vec<_>>()
        };
        return one.iter().flat_map(pair).collect();
    }
    let among = names(&entry["among"]);
    let pair = |(at, one): (usize, &String)| {
        let rest = among.get(at + 1..).unwrap_or_default();
        rest.iter()
            .map(|other| [one.clone(), other.clone()])
            .collect::<Vec<_>>()
    };
    among.iter().enumerate().flat_map(pair).collect()
}
