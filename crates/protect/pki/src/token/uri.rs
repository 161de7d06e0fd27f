//! PKCS #11 URIs (RFC 7512): which key of which token, by which module.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::Error;

/// The scheme, with its colon.
const SCHEME: &str = "pkcs11:";
/// More octets than any URI that names one key.
const LONGEST: usize = 4096;

/// A private key of a PKCS#11 token, named by a URI.
///
/// Attributes that this program does not match a key by are refused, where RFC 7512 would have them
/// ignored: one that is ignored lets the URI name more keys than its author wrote.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pkcs11Uri {
    pub(super) token: Option<String>,
    pub(super) manufacturer: Option<String>,
    pub(super) serial: Option<String>,
    pub(super) model: Option<String>,
    pub(super) slot: Option<u64>,
    pub(super) object: Option<String>,
    pub(super) id: Option<Vec<u8>>,
    pub(super) module: Module,
    pub(super) pin_source: Option<PathBuf>,
}

/// Location of the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Module {
    /// `module-path`: the file.
    Path(PathBuf),
    /// `module-name`: the file's name without `lib` and `.so`.
    Name(String),
}

impl Pkcs11Uri {
    /// Returns true if a text is meant as a PKCS #11 URI, well formed or not.
    #[must_use]
    pub fn is_meant(text: &str) -> bool {
        text.get(..SCHEME.len())
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME))
    }

    /// The file with the PIN, if the URI names one.
    pub fn pin_source(&self) -> Option<&Path> {
        self.pin_source.as_deref()
    }

    /// Returns true if it names the key by its CKA_ID.
    pub(crate) fn has_id(&self) -> bool {
        self.id.is_some()
    }

    /// The same key, known by this CKA_ID too.
    pub(crate) fn with_id(&self, id: &[u8]) -> Self {
        Self {
            id: Some(id.to_vec()),
            ..self.clone()
        }
    }

    /// Returns true if this one is `other` to which [`Pkcs11Uri::with_id`] may have added the
    /// CKA_ID.
    pub(crate) fn specifies(&self, other: &Self) -> bool {
        self.id.is_some()
            && (other.id.is_none() || other.id == self.id)
            && *self
                == Self {
                    id: self.id.clone(),
                    ..other.clone()
                }
    }
}

impl FromStr for Pkcs11Uri {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        read(text).map_err(|reason| Error::Pkcs11Uri {
            uri: if reason == PIN_VALUE {
                SCHEME.to_owned()
            } else {
                text.chars().take(256).collect()
            },
            reason,
        })
    }
}

/// The reason why `pin-value` is refused; the URI is not repeated with it.
const PIN_VALUE: &str = "pin-value would keep the PIN in a file that is no secret";

fn read(text: &str) -> Result<Pkcs11Uri, &'static str> {
    // First, and wherever it stands: any other error repeats the text.
    if text.to_ascii_lowercase().contains("pin-value") {
        return Err(PIN_VALUE);
    }
    if text.len() > LONGEST {
        return Err("it is longer than 4096 octets");
    }
    if !Pkcs11Uri::is_meant(text) {
        return Err("it does not begin with pkcs11:");
    }
    let rest = text.get(SCHEME.len()..).unwrap_or_default();
    let (path, query) = match rest.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (rest, None),
    };
    let mut read = Attributes::default();
    for attribute in path.split(';').filter(|_| !path.is_empty()) {
        read.path(attribute)?;
    }
    for attribute in query.into_iter().flat_map(|query| query.split('&')) {
        read.query(attribute)?;
    }
    if read.object.is_none() && read.id.is_none() {
        return Err("it names no key: give object or id");
    }
    Ok(Pkcs11Uri {
        token: read.token,
        manufacturer: read.manufacturer,
        serial: read.serial,
        model: read.model,
        slot: read.slot,
        object: read.object,
        id: read.id,
        module: read
            .module
            .ok_or("it names no module: give module-path or module-name behind a question mark")?,
        pin_source: read.pin_source,
    })
}

#[derive(Default)]
struct Attributes {
    token: Option<String>,
    manufacturer: Option<String>,
    serial: Option<String>,
    model: Option<String>,
    slot: Option<u64>,
    object: Option<String>,
    id: Option<Vec<u8>>,
    class: Option<()>,
    module: Option<Module>,
    pin_source: Option<PathBuf>,
}

impl Attributes {
    fn path(&mut self, attribute: &str) -> Result<(), &'static str> {
        let (name, value) = split(attribute, |byte| RESERVED.contains(&byte) || byte == b'&')?;
        match name {
            "token" => once(&mut self.token, words(value)?),
            "manufacturer" => once(&mut self.manufacturer, words(value)?),
            "serial" => once(&mut self.serial, words(value)?),
            "model" => once(&mut self.model, words(value)?),
            "object" => once(&mut self.object, words(value)?),
            "id" => once(&mut self.id, value),
            "slot-id" => {
                let digits = words(value)?;
                // `parse` would take a sign.
                if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err("slot-id is no number");
                }
                once(&mut self.slot, digits.parse().map_err(|_| "slot-id is no number")?)
            }
            "type" if value == b"private" => once(&mut self.class, ()),
            "type" => Err("its type is not private: the authority signs by a private key"),
            _ => Err(
                "an attribute is not known here; known are token, manufacturer, serial, model, slot-id, object, id and type",
            ),
        }
    }

    fn query(&mut self, attribute: &str) -> Result<(), &'static str> {
        let (name, value) = split(attribute, |byte| RESERVED.contains(&byte) || b"/?|".contains(&byte))?;
        match name {
            "module-path" => {
                let path = PathBuf::from(words(value)?);
                if !path.is_absolute() {
                    return Err("module-path is not absolute");
                }
                once(&mut self.module, Module::Path(path))
                    .map_err(|_| "it names more than one module: give module-path or module-name")
            }
            "module-name" => {
                let name = words(value)?;
                if name.contains('/') {
                    return Err("module-name is a path: that is module-path");
                }
                once(&mut self.module, Module::Name(name))
                    .map_err(|_| "it names more than one module: give module-path or module-name")
            }
            "pin-source" => once(&mut self.pin_source, pin_source(words(value)?)?),
            "pin-value" => Err(PIN_VALUE),
            _ => Err("a query attribute is not known here; known are module-path, module-name and pin-source"),
        }
    }
}

/// `pk11-res-avail` of RFC 7512, section 2.3: what may stand unencoded in any value, next to unreserved characters.
const RESERVED: &[u8] = b":[]@!$'()*+,=";

fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

fn once<T>(place: &mut Option<T>, value: T) -> Result<(), &'static str> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err("an attribute is given twice"),
    }
}

/// Name and decoded value of an attribute.
fn split(attribute: &str, may_stand: impl Fn(u8) -> bool) -> Result<(&str, Vec<u8>), &'static str> {
    let (name, value) = attribute
        .split_once('=')
        .ok_or("an attribute has no equals sign and value")?;
    let mut decoded = Vec::with_capacity(value.len());
    let mut octets = value.bytes();
    while let Some(byte) = octets.next() {
        decoded.push(match byte {
            b'%' => {
                let mut digit = || {
                    let digit = octets.next().and_then(|digit| char::from(digit).to_digit(16));
                    digit.and_then(|digit| u8::try_from(digit).ok())
                };
                match (digit(), digit()) {
                    (Some(high), Some(low)) => high << 4 | low,
                    _ => return Err("a percent sign without two hexadecimal digits"),
                }
            }
            byte if is_unreserved(byte) || may_stand(byte) => byte,
            _ => return Err("a character that must be percent-encoded"),
        });
    }
    if decoded.is_empty() {
        return Err("an attribute is empty");
    }
    Ok((name, decoded))
}

fn words(value: Vec<u8>) -> Result<String, &'static str> {
    match String::from_utf8(value) {
        Ok(text) if !text.contains('\0') => Ok(text),
        _ => Err("an attribute is no text in UTF-8"),
    }
}

/// A file, as a path or as a URI of RFC 8089 without a host.
fn pin_source(value: String) -> Result<PathBuf, &'static str> {
    let path = match value.strip_prefix("file:") {
        Some(path) => path
            .strip_prefix("//")
            .filter(|path| path.starts_with('/'))
            .unwrap_or(path),
        None => &value,
    };
    // Two slashes would begin a host.
    if path.starts_with('/') && !path.starts_with("//") {
        Ok(path.into())
    } else {
        Err("pin-source is not the absolute path of a file")
    }
}

impl fmt::Display for Pkcs11Uri {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slot = self.slot.map(|slot| slot.to_string());
        let text = |value: &Option<String>| value.as_ref().map(|value| value.as_bytes().to_vec());
        let path = [
            ("token", text(&self.token)),
            ("manufacturer", text(&self.manufacturer)),
            ("model", text(&self.model)),
            ("serial", text(&self.serial)),
            ("slot-id", text(&slot)),
            ("object", text(&self.object)),
            ("id", self.id.clone()),
        ];
        f.write_str(SCHEME)?;
        let given = path.into_iter().filter_map(|(name, value)| Some((name, value?)));
        for (nth, (name, value)) in given.enumerate() {
            let between = if nth == 0 { "" } else { ";" };
            // Binary values are encoded throughout, as RFC 7512, section 2.3, recommends for `id`.
            let plain: &[u8] = if name == "id" { b"" } else { RESERVED };
            write!(f, "{between}{name}={}", encoded(&value, name != "id", plain))?;
        }
        let (name, value) = match &self.module {
            Module::Path(path) => ("module-path", path.to_string_lossy()),
            Module::Name(name) => ("module-name", name.as_str().into()),
        };
        let plain = [RESERVED, b"/"].concat();
        write!(f, "?{name}={}", encoded(value.as_bytes(), true, &plain))?;
        match &self.pin_source {
            None => Ok(()),
            Some(path) => {
                let path = path.to_string_lossy();
                write!(f, "&pin-source=file:{}", encoded(path.as_bytes(), true, &plain))
            }
        }
    }
}

fn encoded(value: &[u8], unreserved: bool, plain: &[u8]) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value {
        if plain.contains(byte) || (unreserved && is_unreserved(*byte)) {
            text.push(char::from(*byte));
        } else {
            text.push_str(&format!("%{byte:02X}"));
        }
    }
    text
}

#[cfg(test)]
mod tests;
