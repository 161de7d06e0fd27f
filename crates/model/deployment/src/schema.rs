//! The deployment file as a JSON schema (draft 7), for editors: derived from the types that the file is read into.
//!
//! The schema accepts everything that [`Deployment::parse`](crate::Deployment::parse) accepts. It
//! refuses unknown fields, missing fields and wrong types. Faults that involve two places of a
//! file, such as a name of an absent node, are found by the parser alone.

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Deref;

use bartizan_registry::MACSEC_SUITES;
use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
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
    pub fn schema() -> Value {
        let mut schema = SchemaSettings::draft07()
            .with_transform(AsYamlIsRead)
            .into_generator()
            .into_root_schema_for::<RawDeployment>();
        schema.insert("title".to_owned(), json!("Bartizan deployment file"));
        schema.to_value()
    }
}

/// Text of a field, with the description that `T` gives an editor.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent, bound = "")]
pub(crate) struct Text<T>(String, PhantomData<T>);

/// Texts that a field takes.
pub(crate) trait Texts {
    fn schema() -> Schema;
}

impl<T> From<&str> for Text<T> {
    fn from(text: &str) -> Self {
        Self(text.to_owned(), PhantomData)
    }
}

impl<T> Deref for Text<T> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<T: Texts> JsonSchema for Text<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Text".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        T::schema()
    }
}

/// One of the words that the parser knows, no other.
impl<T: Word> Texts for T {
    fn schema() -> Schema {
        let mut words: Vec<Value> = T::ALL.iter().map(|value| json!(value.word())).collect();
        // To editors that read YAML 1.1 the word is a truth value.
        if words.contains(&json!("no")) {
            words.push(json!(false));
        }
        json_schema!({ "enum": words })
    }
}

/// Defines names that an editor suggests, each with how they are listed. The parser takes further
/// spellings of them: an algorithm has several names, and case is ignored.
macro_rules! suggested {
    ($($(#[$doc:meta])* $type:ident: $names:expr;)+) => {
        $($(#[$doc])*
        #[derive(Debug, Clone)]
        pub(crate) struct $type;

        impl Texts for $type {
            fn schema() -> Schema {
                let names: Vec<String> = $names.into_iter().map(|name| name.to_string()).collect();
                json_schema!({ "anyOf": [{ "type": "string", "enum": names }, { "type": "string" }] })
            }
        })+
    };
}

suggested! {
    /// TLS groups.
    Groups: USABLE_GROUPS;
    /// Signature schemes.
    Signatures: USABLE_SIGNATURES;
    /// Key exchanges of IKEv2.
    KeyExchanges: ipsec::key_exchange_names();
    /// Ciphers of IKEv2 and ESP.
    Ciphers: ipsec::CIPHERS;
    /// Pseudo-random functions of IKEv2.
    Prfs: ipsec::PRFS;
    /// Integrity algorithms of IKEv2 and ESP.
    Integrity: ipsec::INTEGRITY;
    /// MACsec cipher suites, by iproute2's names.
    MacsecCiphers: MACSEC_SUITES.iter().filter_map(|suite| suite.iproute2);
    /// Sources of MACsec keys.
    Keyings: [Keying::Direct, Keying::Mka(Cak::Exchange), Keying::EapTls].map(|keying| keying.name());
    /// Protocols that may pass a MACsec port unencrypted.
    Unprotected: [Unencrypted::Ptp.name()];
    /// Protocols over IP that have ports.
    PacketProtocols: [TrafficProtocol::Tcp, TrafficProtocol::Udp, TrafficProtocol::Sctp].map(TrafficProtocol::name);
    /// Resumption of sessions: off, or a duration.
    Resumptions: ["off", "10m"];
}

/// An interface of the standards: its name as they write it is suggested, and the parser ignores case.
#[derive(Debug, Clone)]
pub(crate) struct Kind;

impl Texts for Kind {
    fn schema() -> Schema {
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
