//! Reading and writing DER, element by element.
//!
//! The types of CMP are many and of most of them a field or two matters here: they are walked, not mirrored.

use der::asn1::{AnyRef, BitStringRef, ObjectIdentifier};
use der::{Decode, Encode, Reader, SliceReader, Tag, TagNumber, Tagged};

use crate::Error;

/// The elements of a SEQUENCE, one after the other.
pub(crate) struct Fields<'a> {
    place: &'static str,
    reader: SliceReader<'a>,
}

impl<'a> Fields<'a> {
    /// Fields of a SEQUENCE that stands alone.
    pub(crate) fn of(place: &'static str, der: &'a [u8]) -> Result<Self, Error> {
        let element = AnyRef::from_der(der).map_err(|error| Error::malformed(place, error.to_string()))?;
        Self::within(place, element)
    }

    /// Fields of an element that is a SEQUENCE.
    pub(crate) fn within(place: &'static str, element: AnyRef<'a>) -> Result<Self, Error> {
        if element.tag() != Tag::Sequence {
            return Err(Error::malformed(place, format!("{} is no SEQUENCE", element.tag())));
        }
        Self::contents(place, element.value())
    }

    /// Fields in the contents of an element whose tag says what it is.
    pub(crate) fn contents(place: &'static str, contents: &'a [u8]) -> Result<Self, Error> {
        let reader = SliceReader::new(contents).map_err(|error| Error::malformed(place, error.to_string()))?;
        Ok(Self { place, reader })
    }

    pub(crate) fn is_done(&self) -> bool {
        self.reader.is_finished()
    }

    /// The next element; it must be there.
    pub(crate) fn next(&mut self, what: &'static str) -> Result<AnyRef<'a>, Error> {
        if self.is_done() {
            return Err(Error::malformed(self.place, format!("ends before {what}")));
        }
        AnyRef::decode(&mut self.reader).map_err(|error| Error::malformed(self.place, format!("{what}: {error}")))
    }

    /// The next element, if its tag is this one.
    pub(crate) fn next_if(&mut self, tag: Tag) -> Result<Option<AnyRef<'a>>, Error> {
        if self.is_done() || Tag::peek(&self.reader)? != tag {
            return Ok(None);
        }
        self.next("an element").map(Some)
    }

    /// The element under an explicit tag, if it is the next one.
    pub(crate) fn explicit(&mut self, number: u32) -> Result<Option<AnyRef<'a>>, Error> {
        match self.next_if(context(number, true))? {
            Some(element) => Ok(Some(AnyRef::from_der(element.value()).map_err(|error| {
                Error::malformed(self.place, format!("under tag [{number}]: {error}"))
            })?)),
            None => Ok(None),
        }
    }

    /// All elements that are left.
    pub(crate) fn rest(mut self) -> Result<Vec<AnyRef<'a>>, Error> {
        let mut rest = Vec::new();
        while !self.is_done() {
            rest.push(self.next("an element")?);
        }
        Ok(rest)
    }
}

/// The tag `[number]`.
pub(crate) fn context(number: u32, constructed: bool) -> Tag {
    Tag::ContextSpecific {
        constructed,
        number: TagNumber(number),
    }
}

/// The number of a context-specific tag.
pub(crate) fn context_number(element: AnyRef<'_>) -> Option<u32> {
    match element.tag() {
        Tag::ContextSpecific { number, .. } => Some(number.0),
        _ => None,
    }
}

/// The octets of an OCTET STRING.
pub(crate) fn octets<'a>(place: &'static str, element: AnyRef<'a>) -> Result<&'a [u8], Error> {
    if element.tag() == Tag::OctetString {
        Ok(element.value())
    } else {
        Err(Error::malformed(place, format!("{} is no OCTET STRING", element.tag())))
    }
}

/// A BIT STRING of whole octets.
pub(crate) fn bits<'a>(place: &'static str, element: AnyRef<'a>) -> Result<&'a [u8], Error> {
    let bits: BitStringRef<'a> = element
        .decode_as()
        .map_err(|error: der::Error| Error::malformed(place, error.to_string()))?;
    bits.as_bytes()
        .ok_or_else(|| Error::malformed(place, "a BIT STRING that is not of whole octets"))
}

/// A number that fits.
pub(crate) fn integer(place: &'static str, element: AnyRef<'_>) -> Result<i64, Error> {
    element
        .decode_as::<i64>()
        .map_err(|error| Error::malformed(place, error.to_string()))
}

/// Identifier and parameters of an AlgorithmIdentifier.
pub(crate) fn algorithm<'a>(
    place: &'static str,
    element: AnyRef<'a>,
) -> Result<(ObjectIdentifier, Option<AnyRef<'a>>), Error> {
    let mut fields = Fields::within(place, element)?;
    let oid = identifier(place, fields.next("an algorithm")?)?;
    let parameters = if fields.is_done() {
        None
    } else {
        Some(fields.next("parameters")?)
    };
    Ok((oid, parameters))
}

pub(crate) fn identifier(place: &'static str, element: AnyRef<'_>) -> Result<ObjectIdentifier, Error> {
    element
        .decode_as::<ObjectIdentifier>()
        .map_err(|error| Error::malformed(place, error.to_string()))
}

/// An element as it stood in the message.
pub(crate) fn whole(element: AnyRef<'_>) -> Result<Vec<u8>, Error> {
    Ok(element.to_der()?)
}

/// An element of any tag around contents.
pub(crate) fn element(tag: Tag, contents: &[u8]) -> Result<Vec<u8>, Error> {
    Ok(AnyRef::new(tag, contents)?.to_der()?)
}

/// A SEQUENCE of elements, each DER.
pub(crate) fn sequence(elements: &[&[u8]]) -> Result<Vec<u8>, Error> {
    element(Tag::Sequence, &elements.concat())
}

/// `[number]` around an element.
pub(crate) fn explicit(number: u32, inner: &[u8]) -> Result<Vec<u8>, Error> {
    element(context(number, true), inner)
}

pub(crate) fn octet_string(octets: &[u8]) -> Result<Vec<u8>, Error> {
    element(Tag::OctetString, octets)
}

pub(crate) fn bit_string(octets: &[u8]) -> Result<Vec<u8>, Error> {
    Ok(BitStringRef::from_bytes(octets)?.to_der()?)
}

pub(crate) fn number(value: i64) -> Result<Vec<u8>, Error> {
    Ok(value.to_der()?)
}

pub(crate) fn text(value: &str) -> Result<Vec<u8>, Error> {
    element(Tag::Utf8String, value.as_bytes())
}

pub(crate) fn null() -> Result<Vec<u8>, Error> {
    element(Tag::Null, &[])
}

pub(crate) fn algorithm_identifier(oid: ObjectIdentifier, parameters: Option<&[u8]>) -> Result<Vec<u8>, Error> {
    let oid = oid.to_der()?;
    sequence(&[&oid, parameters.unwrap_or_default()])
}

/// The common name in a Name, where it has one of readable text.
pub(crate) fn common_name_of(name: AnyRef<'_>) -> Option<&str> {
    let place = "name";
    for set in Fields::within(place, name).ok()?.rest().ok()? {
        for attribute in Fields::contents(place, set.value()).ok()?.rest().ok()? {
            let mut attribute = Fields::within(place, attribute).ok()?;
            if identifier(place, attribute.next("a type").ok()?).ok()? == crate::oid::COMMON_NAME {
                return std::str::from_utf8(attribute.next("a value").ok()?.value()).ok();
            }
        }
    }
    None
}

/// A Name of a common name alone.
pub(crate) fn common_name(name: &str) -> Result<Vec<u8>, Error> {
    let attribute = sequence(&[&crate::oid::COMMON_NAME.to_der()?, &text(name)?])?;
    sequence(&[&element(Tag::Set, &attribute)?])
}
