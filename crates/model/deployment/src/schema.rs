//! The deployment file as a JSON schema (draft 7), for editors: derived from the types that the file is read into.
//!
//! The schema accepts everything that [`Deployment::parse`](crate::Deployment::parse) accepts. It
//! refuses unknown fields, missing fields and wrong types. Faults that involve two places of a
//! file, such as a name of an absent node, are found by the parser alone.

use std::borrow::Cow;
use std::marker::PhantomData;

use bartizan_registry::MACSEC_SUITES;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::interface::InterfaceKind;
use crate::ipsec::TrafficProtocol;
use crate::macsec::{Cak, Keying, Unencrypted};
use crate::policy::{USABLE_GROUPS, USABLE_SIGNATURES};
use crate::raw::RawDeployment;
use crate::word::Word;
use crate::{Deployment, ipsec};

impl Deployment {
    /// The JSON schema (draft 7) of the deployment file.
    #[must_use]
    pub fn schema() -> Value {
        let mut schema = SchemaSettings::draft07()
            .with_transform(AsYamlIsRead)
            .into_generator()
            .into_root_schema_for::<RawDeployment>();
        schema.insert("title".to_owned(), json!("Bartizan deployment file"));
        schema.to_value()
    }
}

/// One of the words that the parser knows, no other.
pub(crate) struct OneOf<T>(PhantomData<T>);

impl<T: Word> JsonSchema for OneOf<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "OneOf".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut words: Vec<Value> = T::ALL.iter().map(|value| json!(value.word())).collect();
        // To editors that read YAML 1.1 the word is a truth value.
        if words.contains(&json!("no")) {
            words.push(json!(false));
        }
        json_schema!({ "enum": words })
    }
}

/// Names of which an editor suggests those that there are. The parser takes further spellings of them: an algorithm has several names, and case is ignored.
pub(crate) trait Suggested {
    fn names() -> Vec<String>;
}

/// Suggested names, and any other text.
pub(crate) struct SuggestedOf<T>(PhantomData<T>);

impl<T: Suggested> JsonSchema for SuggestedOf<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SuggestedOf".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "string", "enum": T::names() }, { "type": "string" }] })
    }
}

/// TLS groups.
pub(crate) struct Groups;
/// Signature schemes.
pub(crate) struct Signatures;
/// Key exchanges of IKEv2.
pub(crate) struct KeyExchanges;
/// Ciphers of IKEv2 and ESP.
pub(crate) struct Ciphers;
/// Pseudo-random functions of IKEv2.
pub(crate) struct Prfs;
/// Integrity algorithms of IKEv2 and ESP.
pub(crate) struct Integrity;
/// MACsec cipher suites, by iproute2's names.
pub(crate) struct MacsecCiphers;

/// Sources of MACsec keys.
pub(crate) struct Keyings;
/// Protocols that may pass a MACsec port unencrypted.
pub(crate) struct Unprotected;
/// Protocols over IP that have ports.
pub(crate) struct PacketProtocols;
/// Resumption of sessions: off, or a duration.
pub(crate) struct Resumptions;

impl Suggested for Keyings {
    fn names() -> Vec<String> {
        [Keying::Direct, Keying::Mka(Cak::Exchange), Keying::EapTls]
            .map(|keying| keying.name().to_owned())
            .to_vec()
    }
}

impl Suggested for Unprotected {
    fn names() -> Vec<String> {
        vec![Unencrypted::Ptp.name().to_owned()]
    }
}

impl Suggested for PacketProtocols {
    fn names() -> Vec<String> {
        let with_ports = [TrafficProtocol::Tcp, TrafficProtocol::Udp, TrafficProtocol::Sctp];
        with_ports.map(|protocol| protocol.name().to_owned()).to_vec()
    }
}

impl Suggested for Resumptions {
    fn names() -> Vec<String> {
        ["off", "10m"].map(str::to_owned).to_vec()
    }
}

impl Suggested for Groups {
    fn names() -> Vec<String> {
        USABLE_GROUPS.iter().map(ToString::to_string).collect()
    }
}

impl Suggested for Signatures {
    fn names() -> Vec<String> {
        USABLE_SIGNATURES.iter().map(ToString::to_string).collect()
    }
}

impl Suggested for KeyExchanges {
    fn names() -> Vec<String> {
        ipsec::key_exchange_names().map(str::to_owned).collect()
    }
}

impl Suggested for Ciphers {
    fn names() -> Vec<String> {
        ipsec::CIPHERS.map(str::to_owned).to_vec()
    }
}

impl Suggested for Prfs {
    fn names() -> Vec<String> {
        ipsec::PRFS.map(str::to_owned).to_vec()
    }
}

impl Suggested for Integrity {
    fn names() -> Vec<String> {
        ipsec::INTEGRITY.map(str::to_owned).to_vec()
    }
}

impl Suggested for MacsecCiphers {
    fn names() -> Vec<String> {
        let suites = MACSEC_SUITES.iter().filter_map(|suite| suite.iproute2);
        suites.map(str::to_owned).collect()
    }
}

/// An interface of the standards: its name as they write it is suggested, and the parser ignores case.
pub(crate) struct Kind;

impl JsonSchema for Kind {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Kind".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = InterfaceKind::ALL.iter().map(|kind| kind.name()).collect();
        // JSON Schema's regular expressions have no flag that ignores case.
        let either_case = |letter: char| match letter {
            _ if letter.is_ascii_alphabetic() => {
                format!("[{}{}]", letter.to_ascii_uppercase(), letter.to_ascii_lowercase())
            }
            _ => letter.to_string(),
        };
        let spelled = |name: &&str| name.chars().map(either_case).collect::<String>();
        let pattern = format!("^({})$", names.iter().map(spelled).collect::<Vec<_>>().join("|"));
        json_schema!({ "anyOf": [{ "type": "string", "enum": names }, { "type": "string", "pattern": pattern }] })
    }
}

/// Makes of what the types say what YAML's reader accepts for them: text without quotes may look like a number or a truth value, a number may be in
/// quotes, and a list or a map that has nothing to say may be left empty.
#[derive(Clone)]
struct AsYamlIsRead;

impl Transform for AsYamlIsRead {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        // Formats that only the generator knows: uint32, ip.
        schema.remove("format");
        // A field that may be left out says nothing by saying so.
        if schema.get("default").is_some_and(Value::is_null) {
            schema.remove("default");
        }
        let can_be_empty = schema.get("required").is_none();
        let listed = schema.get("enum").is_some() || schema.get("pattern").is_some();
        let types = match schema.remove("type") {
            None => return,
            Some(Value::Array(types)) => types,
            Some(one) => vec![one],
        };
        let mut accepted: Vec<Value> = Vec::new();
        for one in types {
            let also: &[&str] = match one.as_str() {
                Some("string") if !listed => &["string", "number", "boolean"],
                Some("boolean") => {
                    schema.insert("pattern".to_owned(), json!(TRUTH));
                    &["boolean", "string"]
                }
                Some("integer") => {
                    schema.insert("pattern".to_owned(), json!(WHOLE));
                    &["integer", "string"]
                }
                Some("array") => &["array", "null"],
                Some("object") if can_be_empty => &["object", "null"],
                _ => &[],
            };
            accepted.push(one);
            accepted.extend(also.iter().map(|&name| json!(name)));
        }
        let mut types: Vec<Value> = Vec::new();
        for one in accepted {
            if !types.contains(&one) {
                types.push(one);
            }
        }
        let types = match types.len() {
            1 => types.swap_remove(0),
            _ => Value::Array(types),
        };
        schema.insert("type".to_owned(), types);
    }
}

/// Truth values of YAML 1.1, which the reader takes in any case; as text in JSON.
const TRUTH: &str =
    "^\\s*([Yy]|[Yy][Ee][Ss]|[Nn]|[Nn][Oo]|[Tt][Rr][Uu][Ee]|[Ff][Aa][Ll][Ss][Ee]|[Oo][Nn]|[Oo][Ff][Ff])\\s*$";

/// Whole numbers in quotes, or in another base.
const WHOLE: &str = "^\\s*[+-]?[0-9][0-9A-Fa-fxob_]*\\s*$";
