//! Messages as bytes: elements that open, fill and close sections and lists.

use zeroize::Zeroizing;

use super::section::{Section, Value};

const SECTION_START: u8 = 1;
const SECTION_END: u8 = 2;
const KEY_VALUE: u8 = 3;
const LIST_START: u8 = 4;
const LIST_ITEM: u8 = 5;
const LIST_END: u8 = 6;

/// Sections within sections. charon nests five deep at most (`list-sas`); a deeper message is not one of its.
const DEEPEST: usize = 16;

/// Bytes that are no message, or no packet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {at}")]
pub struct Malformed {
    /// Offset in the message or packet.
    pub at: usize,
    /// The flaw.
    pub reason: &'static str,
}

/// A name of more than 255 bytes, a value of more than 65 535, or a packet larger than charon reads.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is too long for VICI ({length} bytes, at most {most})")]
pub struct TooLong {
    /// The name of the value, or its first characters.
    pub name: String,
    /// Its bytes.
    pub length: usize,
    /// The most that fit.
    pub most: usize,
}

impl TooLong {
    pub(super) fn new(name: &str, length: usize, most: usize) -> Self {
        let name = name.chars().take(64).collect();
        Self { name, length, most }
    }
}

/// Writes a name behind its one-byte length.
pub(super) fn put_name(out: &mut Vec<u8>, name: &str) -> Result<(), TooLong> {
    let length = u8::try_from(name.len()).map_err(|_| TooLong::new(name, name.len(), u8::MAX.into()))?;
    out.push(length);
    out.extend_from_slice(name.as_bytes());
    Ok(())
}

fn put_value(out: &mut Vec<u8>, name: &str, value: &[u8]) -> Result<(), TooLong> {
    let length = u16::try_from(value.len()).map_err(|_| TooLong::new(name, value.len(), u16::MAX.into()))?;
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(value);
    Ok(())
}

impl Section {
    /// Appends this message's bytes.
    ///
    /// # Errors
    ///
    /// When a name or value is longer than its length field can say.
    pub(super) fn encode(&self, out: &mut Vec<u8>) -> Result<(), TooLong> {
        for (name, value) in self.entries() {
            match value {
                Value::Data(data) => {
                    out.push(KEY_VALUE);
                    put_name(out, name)?;
                    put_value(out, name, data)?;
                }
                Value::List(items) => {
                    out.push(LIST_START);
                    put_name(out, name)?;
                    for item in items {
                        out.push(LIST_ITEM);
                        put_value(out, name, item)?;
                    }
                    out.push(LIST_END);
                }
                Value::Section(section) => {
                    out.push(SECTION_START);
                    put_name(out, name)?;
                    section.encode(out)?;
                    out.push(SECTION_END);
                }
            }
        }
        Ok(())
    }

    /// Reads a message from all of `bytes`; offsets in errors count from `start`.
    pub(super) fn decode(bytes: &[u8], start: usize) -> Result<Self, Malformed> {
        let mut reader = Reader { bytes, at: 0, start };
        // Sections that are open, the innermost last, each with the name it will have in the one before.
        let mut open: Vec<(String, Section)> = Vec::new();
        let mut current = Section::new();
        while let Some(element) = reader.byte() {
            match element {
                SECTION_START if open.len() == DEEPEST => {
                    return Err(reader.malformed("sections are nested deeper than charon nests them"));
                }
                SECTION_START => open.push((reader.name()?, std::mem::take(&mut current))),
                SECTION_END => {
                    let Some((name, outer)) = open.pop() else {
                        return Err(reader.malformed("a section ends that never began"));
                    };
                    let inner = std::mem::replace(&mut current, outer);
                    current.push(name, Value::Section(inner));
                }
                KEY_VALUE => {
                    let name = reader.name()?;
                    let value = reader.value()?;
                    current.push(name, Value::Data(Zeroizing::new(value.to_vec())));
                }
                LIST_START => {
                    let name = reader.name()?;
                    let items = reader.items()?;
                    current.push(name, Value::List(items));
                }
                LIST_ITEM | LIST_END => return Err(reader.malformed("a list item stands outside a list")),
                _ => return Err(reader.malformed("no element has this number")),
            }
        }
        if open.is_empty() {
            Ok(current)
        } else {
            Err(reader.malformed("a section does not end"))
        }
    }
}

/// A position in a packet.
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) at: usize,
    /// Offset of `bytes` in the input that errors count in.
    pub(super) start: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn malformed(&self, reason: &'static str) -> Malformed {
        Malformed {
            at: self.start + self.at,
            reason,
        }
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let taken = self.bytes.get(self.at..)?.get(..length)?;
        self.at += length;
        Some(taken)
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    pub(super) fn name(&mut self) -> Result<String, Malformed> {
        let name = self.byte().and_then(|length| self.take(length.into()));
        let name = name.ok_or_else(|| self.malformed("a name is cut off"))?;
        match std::str::from_utf8(name) {
            Ok(name) => Ok(name.to_owned()),
            Err(_) => Err(self.malformed("a name is not text")),
        }
    }

    fn value(&mut self) -> Result<&'a [u8], Malformed> {
        let length = self.take(2).and_then(|length| length.try_into().ok());
        length
            .and_then(|length| self.take(u16::from_be_bytes(length).into()))
            .ok_or_else(|| self.malformed("a value is cut off"))
    }

    fn items(&mut self) -> Result<Vec<Vec<u8>>, Malformed> {
        let mut items = Vec::new();
        loop {
            match self.byte() {
                Some(LIST_ITEM) => items.push(self.value()?.to_vec()),
                Some(LIST_END) => return Ok(items),
                Some(_) => return Err(self.malformed("something other than an item stands in a list")),
                None => return Err(self.malformed("a list does not end")),
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
