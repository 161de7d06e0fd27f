//! Requests of a network function to its NRF, in order, and the check of their responses.

use bartizan_estimators::Random;
use bytes::Bytes;
use http::Method;
use serde_json::Value;

use super::{Error, Function, Question, Said, uuid};
use crate::stand_in::nrf::{DISCOVERY, MANAGEMENT};

/// A procedure at an NRF (TS 29.510, clauses 5.2 and 5.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Procedure {
    /// NFRegister: PUT of a profile.
    Registration,
    /// NFDiscover: GET by types.
    Discovery,
    /// NFUpdate that says no more than that the instance lives: PATCH.
    Heartbeat,
    /// NFDeregister: DELETE.
    Deregistration,
}

impl Procedure {
    /// Transactions of a workload, in turn.
    pub const MEASURED: [Self; 3] = [Self::Registration, Self::Discovery, Self::Heartbeat];

    /// Its name in records.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Registration => "registration",
            Self::Discovery => "discovery",
            Self::Heartbeat => "heartbeat",
            Self::Deregistration => "deregistration",
        }
    }
}

/// A network function at its NRF: registers instances, looks for others, and says that it lives.
#[derive(Debug)]
pub struct Session {
    function: Function,
    random: Random,
    /// Registered by us and not yet deregistered.
    registered: Vec<String>,
    next: usize,
}

const JSON: &str = "application/json";
const PATCH: &str = "application/json-patch+json";
const BEAT: &str = r#"[{"op":"replace","path":"/nfStatus","value":"REGISTERED"}]"#;

impl Session {
    /// A function of this kind; the ids of its instances are of this seed.
    #[must_use]
    pub fn new(function: Function, seed: u64) -> Self {
        Self {
            function,
            random: Random::seeded(seed),
            registered: Vec::new(),
            next: 0,
        }
    }

    /// The next question: registration, discovery and heart-beat in turn.
    pub fn turn(&mut self) -> (Procedure, Question) {
        let procedure = Procedure::MEASURED[self.next % Procedure::MEASURED.len()];
        self.next += 1;
        let question = match procedure {
            Procedure::Registration | Procedure::Deregistration => self.registration(),
            Procedure::Discovery => self.discovery(),
            Procedure::Heartbeat => self.heartbeat(),
        };
        (procedure, question)
    }

    /// Registers an instance with a fresh id.
    pub fn registration(&mut self) -> Question {
        let id = uuid(&mut self.random);
        let question = Question {
            what: Procedure::Registration.name(),
            method: Method::PUT,
            path: format!("{MANAGEMENT}/{id}"),
            content_type: JSON,
            body: Bytes::from(self.function.profile(&id).to_string()),
        };
        self.registered.push(id);
        question
    }

    /// Looks for the type that this one calls.
    #[must_use]
    pub fn discovery(&self) -> Question {
        let Function { kind, looks_for, .. } = self.function;
        Question {
            what: Procedure::Discovery.name(),
            method: Method::GET,
            path: format!("{DISCOVERY}?target-nf-type={looks_for}&requester-nf-type={kind}"),
            content_type: "",
            body: Bytes::new(),
        }
    }

    /// Heartbeat of the instance registered last.
    fn heartbeat(&self) -> Question {
        let id = self.registered.last().map_or("none", String::as_str);
        Question {
            what: Procedure::Heartbeat.name(),
            method: Method::PATCH,
            path: format!("{MANAGEMENT}/{id}"),
            content_type: PATCH,
            body: Bytes::from_static(BEAT.as_bytes()),
        }
    }

    /// Deregisters an instance that was registered; `None` when none is left.
    pub fn deregistration(&mut self) -> Option<Question> {
        let id = self.registered.pop()?;
        Some(Question {
            what: Procedure::Deregistration.name(),
            method: Method::DELETE,
            path: format!("{MANAGEMENT}/{id}"),
            content_type: "",
            body: Bytes::new(),
        })
    }

    /// Fails unless a response is the expected one.
    ///
    /// # Errors
    /// Says what was answered instead.
    pub fn judge(question: &Question, said: &Said, url: &str) -> Result<(), Error> {
        let shape = |reason: String| {
            Err(Error::Shape {
                what: question.shown(),
                url: url.to_owned(),
                reason,
            })
        };
        let expected: &[u16] = match question.method {
            Method::PUT => &[200, 201],
            Method::GET => &[200],
            Method::PATCH => &[200, 204],
            _ => &[204],
        };
        if !expected.contains(&said.status.as_u16()) {
            return Err(Error::Answered {
                what: question.shown(),
                url: url.to_owned(),
                status: said.status,
                detail: detail(said),
            });
        }
        if said.status.as_u16() == 204 {
            return Ok(());
        }
        if said.content_type != JSON {
            return shape(format!("answered {}{}", said.status, detail(said)));
        }
        let body: Value = match serde_json::from_slice(&said.body) {
            Ok(body) => body,
            Err(error) => return shape(format!("the answer is not JSON: {error}")),
        };
        if question.method == Method::GET {
            if !body["nfInstances"].is_array() {
                return shape("the search result has no nfInstances".to_owned());
            }
        } else if !question.path.ends_with(body["nfInstanceId"].as_str().unwrap_or("-")) {
            return shape("the answer is not the profile of the instance".to_owned());
        }
        Ok(())
    }
}

/// Detail of an unexpected body: the text of a ProblemDetails, or type and beginning of anything
/// else.
fn detail(said: &Said) -> String {
    const SHOWN: usize = 80;
    let body: Value = serde_json::from_slice(&said.body).unwrap_or_default();
    let words: Vec<&str> = ["cause", "title", "detail", "error", "error_description"]
        .iter()
        .filter_map(|name| body[*name].as_str())
        .collect();
    if !words.is_empty() {
        return format!(": {}", words.join(", "));
    }
    if said.body.is_empty() {
        return " without a body".to_owned();
    }
    let text = String::from_utf8_lossy(&said.body[..said.body.len().min(4 * SHOWN)]).into_owned();
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let shown: String = line.chars().filter(|letter| !letter.is_control()).take(SHOWN).collect();
    let kind = if said.content_type.is_empty() {
        "no content type"
    } else {
        &said.content_type
    };
    format!(" as {kind}: {shown}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::StatusCode;
    use proptest::prelude::*;

    fn said(status: u16, content_type: &str, body: &str) -> Said {
        Said {
            status: StatusCode::from_u16(status).unwrap(),
            content_type: content_type.to_owned(),
            body: body.into(),
        }
    }

    #[test]
    fn transactions_take_turns_and_everything_is_deregistered() {
        let mut session = Session::new(Function::named("AMF").unwrap(), 3);
        let order: Vec<_> = (0..7).map(|_| session.turn()).collect();
        let names: Vec<_> = order.iter().map(|(procedure, _)| procedure.name()).collect();
        assert_eq!(names[..4], ["registration", "discovery", "heartbeat", "registration"]);
        assert_eq!(order[0].1.path, order[2].1.path);
        assert_ne!(order[0].1.path, order[3].1.path);
        assert!(order[1].1.path.ends_with("?target-nf-type=AUSF&requester-nf-type=AMF"));
        let gone: Vec<_> = std::iter::from_fn(|| session.deregistration()).collect();
        assert_eq!(gone.len(), 3);
        assert_eq!(gone[0].path, order[6].1.path);
    }

    #[test]
    fn wrong_answers_are_named() {
        let mut session = Session::new(Function::named("AMF").unwrap(), 3);
        let (_, registration) = session.turn();
        let (_, discovery) = session.turn();
        let (_, beat) = session.turn();
        let id = registration.path.rsplit('/').next().unwrap().to_owned();
        let profile = format!(r#"{{"nfInstanceId":"{id}"}}"#);
        assert!(Session::judge(&registration, &said(201, JSON, &profile), "u").is_ok());
        assert!(Session::judge(&beat, &said(204, "", ""), "u").is_ok());
        for (question, answer, expected, hint) in [
            (
                &registration,
                said(
                    401,
                    "application/problem+json",
                    r#"{"title":"Unauthorized","detail":"no token"}"#,
                ),
                "401 Unauthorized: Unauthorized, no token",
                "OAuth",
            ),
            (
                &registration,
                said(404, "text/plain", "404 page not found"),
                "404 Not Found as text/plain: 404 page not found",
                "is this an NRF",
            ),
            (
                &discovery,
                said(200, "text/html", "<!doctype html>\n<title>Console"),
                "200 OK as text/html: <!doctype html> <title>Console",
                "console",
            ),
            (&discovery, said(200, JSON, "{}"), "no nfInstances", "gateway"),
            (
                &registration,
                said(201, JSON, r#"{"nfInstanceId":"other"}"#),
                "not the profile",
                "gateway",
            ),
            (&registration, said(201, JSON, "<"), "not JSON", "gateway"),
            (&beat, said(503, "", ""), "503 Service Unavailable without a body", ""),
        ] {
            let error = Session::judge(question, &answer, "http://nrf").unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            assert!(error.hint().unwrap_or_default().contains(hint), "{:?}", error.hint());
        }
    }

    proptest! {
        #[test]
        fn no_answer_makes_the_judge_panic(status in 200_u16..600, kind in ".{0,20}", body: Vec<u8>) {
            let mut session = Session::new(Function::named("AMF").unwrap(), 3);
            for _ in 0..3 {
                let (_, question) = session.turn();
                for kind in [&*kind, JSON] {
                    let said = Said { status: StatusCode::from_u16(status).unwrap(), content_type: kind.to_owned(), body: body.clone() };
                    let _ = Session::judge(&question, &said, "u");
                }
            }
        }
    }
}
