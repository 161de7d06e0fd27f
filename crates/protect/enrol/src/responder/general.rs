//! General messages (RFC 9810, section 5.3.19; RFC 9483, section 4.3): questions that a sender
//! known to the authority may ask it.
//!
//! Nothing in an answer is secret, and all of it can be had by HTTP too. In a message it is under its protection.

use bartizan_pki::{Authority, Certificate, IssuedList};
use der::asn1::{AnyRef, ObjectIdentifier};
use der::{DateTime, Encode, Tag, Tagged};

use super::{Event, Outcome, Refusal};
use crate::body::{self, kind};
use crate::encoding::{self, Fields};
use crate::message::Message;
use crate::{Error, Failure, oid};

const PLACE: &str = "general message";

/// Most revocation lists that are asked for in a message.
const MOST_LISTS: usize = 64;

/// Answers what is known here of what is asked for; something of it must be.
pub(super) fn answered(authority: &Authority, message: &Message, event: &Event) -> Result<Outcome, Refusal> {
    let mut answers = Vec::new();
    for asked in Fields::within(PLACE, message.content()?)?.rest()? {
        let mut asked = Fields::within(PLACE, asked)?;
        let kind = encoding::identifier(PLACE, asked.next("its type")?)?;
        match kind {
            oid::CA_CERTIFICATES => {
                let roots = authority.roots();
                let own = authority.intermediate().into_iter().chain(&roots);
                let own: Vec<&[u8]> = own.map(Certificate::der).collect();
                answers.push(value(kind, Some(encoding::sequence(&own)?))?);
            }
            oid::ROOT_CERTIFICATE => {
                let old = encoding::whole(asked.next("the root that shall be updated")?)?;
                answers.push(value(oid::ROOT_KEY_UPDATE, root_update(authority, &old)?)?);
            }
            oid::LIST_STATUS => {
                let known = asked.next("the revocation lists")?;
                answers.push(value(oid::LISTS, newer_lists(authority, known)?)?);
            }
            _ => {}
        }
    }
    if answers.is_empty() {
        return Err(Refusal::new(
            Failure::BadRequest,
            "of general information caCerts, rootCaCert and crlStatusList are answered here",
        ));
    }
    let body = encoding::element(Tag::Sequence, &answers.concat())?;
    Ok(Outcome::new(kind::GENERAL_ANSWER, body, event.clone()))
}

/// InfoTypeAndValue.
fn value(kind: ObjectIdentifier, value: Option<Vec<u8>>) -> Result<Vec<u8>, Error> {
    let kind = kind.to_der()?;
    encoding::sequence(&[&kind, &value.unwrap_or_default()])
}

/// RootCaKeyUpdateContent, without oldWithNew. None where nothing takes the place of that root.
fn root_update(authority: &Authority, old: &[u8]) -> Result<Option<Vec<u8>>, Refusal> {
    let update = authority.root_update(old)?;
    let Some(update) = update else {
        return Ok(None);
    };
    let by_old = match &update.by_old {
        Some(certificate) => encoding::explicit(0, certificate.der())?,
        None => Vec::new(),
    };
    Ok(Some(encoding::sequence(&[update.root.der(), &by_old])?))
}

/// The lists that are newer than those that are known, where there are some.
fn newer_lists(authority: &Authority, known: AnyRef<'_>) -> Result<Option<Vec<u8>>, Refusal> {
    let all = authority.lists()?;
    let known = Fields::within(PLACE, known)?.rest()?;
    if known.len() > MOST_LISTS {
        return Err(Refusal(
            Failure::BadRequest,
            format!("{} revocation lists; {MOST_LISTS} are asked for at most", known.len()),
        ));
    }
    let mut newer: Vec<&[u8]> = Vec::new();
    for known in known {
        let known = Known::read(known)?;
        for list in &all {
            let later = match known.since {
                None => true,
                Some(since) => this_update(&list.der)? > since,
            };
            if later && known.source.is_of(list)? && !newer.contains(&list.der.as_slice()) {
                newer.push(&list.der);
            }
        }
    }
    if newer.is_empty() {
        return Ok(None);
    }
    Ok(Some(encoding::sequence(&newer)?))
}

/// CRLStatus: a list that the requester knows of, and the time at which the one it has was made.
struct Known<'a> {
    source: Source<'a>,
    since: Option<DateTime>,
}

/// CRLSource: whose list, or where it is to be found. Contents of GeneralNames.
enum Source<'a> {
    Place(&'a [u8]),
    Issuer(&'a [u8]),
}

impl<'a> Known<'a> {
    fn read(status: AnyRef<'a>) -> Result<Self, Error> {
        let place = "crlStatusList";
        let mut fields = Fields::within(place, status)?;
        let source = if let Some(point) = fields.explicit(0)? {
            // Another way to name a place (nameRelativeToCRLIssuer) fits nothing here.
            Source::Place(if encoding::context_number(point) == Some(0) {
                point.value()
            } else {
                &[]
            })
        } else {
            match fields.explicit(1)? {
                Some(names) if names.tag() == Tag::Sequence => Source::Issuer(names.value()),
                _ => return Err(Error::malformed(place, "no source of a list")),
            }
        };
        let since = if fields.is_done() {
            None
        } else {
            Some(moment(place, fields.next("a time")?)?)
        };
        Ok(Self { source, since })
    }
}

impl Source<'_> {
    fn is_of(&self, list: &IssuedList) -> Result<bool, Error> {
        let place = "crlStatusList";
        let (names, kind) = match self {
            Self::Place(names) => (names, URI),
            Self::Issuer(names) => (names, DIRECTORY_NAME),
        };
        let subject = match self {
            Self::Place(_) => None,
            Self::Issuer(_) => Some(body::subject(list.issuer.der())?),
        };
        let wanted = match self {
            Self::Place(_) => list.url.as_ref().map(String::as_bytes),
            Self::Issuer(_) => subject.as_deref(),
        };
        let names = Fields::contents(place, names)?.rest()?;
        let mut fits = names
            .into_iter()
            .filter(|name| encoding::context_number(*name) == Some(kind));
        Ok(wanted.is_some_and(|wanted| fits.any(|name| name.value() == wanted)))
    }
}

/// Tags of GeneralName (RFC 5280, section 4.2.1.6).
const DIRECTORY_NAME: u32 = 4;
const URI: u32 = 6;

/// Time at which a list was made.
fn this_update(list: &[u8]) -> Result<DateTime, Error> {
    let place = "revocation list";
    let signed = Fields::of(place, list)?.next("what is signed")?;
    let mut fields = Fields::within(place, signed)?;
    fields.next_if(Tag::Integer)?;
    fields.next("how it is signed")?;
    fields.next("its issuer")?;
    moment(place, fields.next("its time")?)
}

/// Time: in UTC to the second.
fn moment(place: &'static str, time: AnyRef<'_>) -> Result<DateTime, Error> {
    let read = match time.tag() {
        Tag::UtcTime => time.decode_as().map(|time: der::asn1::UtcTime| time.to_date_time()),
        _ => time
            .decode_as()
            .map(|time: der::asn1::GeneralizedTime| time.to_date_time()),
    };
    read.map_err(|error: der::Error| Error::malformed(place, error.to_string()))
}
