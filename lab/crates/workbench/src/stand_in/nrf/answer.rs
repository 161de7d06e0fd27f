//! Responses to requests: TS 29.510 clauses 5.2, 5.3, 6.1 and 6.2, errors as ProblemDetails (TS
//! 29.571).

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::discovery::Search;
use super::patch::{self, Unapplied};
use super::profile;
use super::registry::{Registered, Registry};
use super::{DISCOVERY, MANAGEMENT, VALIDITY_PERIOD};

/// A request as far as the answer depends on it.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// `:method`.
    pub method: &'a Method,
    /// `:scheme` and `:authority` as a URI begins with them: `http://nrf:8000`.
    pub root: &'a str,
    /// The path without its query.
    pub path: &'a str,
    /// The query, or nothing.
    pub query: &'a str,
    /// `content-type` without parameters.
    pub content_type: &'a str,
    /// The body.
    pub body: &'a [u8],
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// `:status`.
    pub status: StatusCode,
    /// `content-type`, where there is a body.
    pub content_type: &'static str,
    /// `location`, where something was made.
    pub location: Option<String>,
    /// `allow`, where the method was wrong.
    pub allow: Option<&'static str>,
    /// The body, or nothing.
    pub body: Option<Value>,
}

const JSON: &str = "application/json";
const PATCH: &str = "application/json-patch+json";
const PROBLEM: &str = "application/problem+json";
/// Media type of lists of links (TS 29.501, clause 5.2.4).
const LINKS: &str = "application/3gppHal+json";

impl Answer {
    fn of(status: StatusCode, body: Value) -> Self {
        Self {
            content_type: JSON,
            body: Some(body),
            ..Self::empty(status)
        }
    }

    fn empty(status: StatusCode) -> Self {
        Self {
            status,
            content_type: "",
            location: None,
            allow: None,
            body: None,
        }
    }

    /// An error; `cause` is one of TS 29.500, table 5.2.7.2-1, or of the service.
    fn problem(status: StatusCode, cause: &str, detail: &str) -> Self {
        let title = status.canonical_reason().unwrap_or_default();
        let body = json!({ "title": title, "status": status.as_u16(), "cause": cause, "detail": detail });
        Self {
            content_type: PROBLEM,
            ..Self::of(status, body)
        }
    }

    fn invalid(mut self, param: &str, reason: &str) -> Self {
        if let Some(body) = &mut self.body {
            body["invalidParams"] = json!([{ "param": param, "reason": reason }]);
        }
        self
    }

    fn method(allowed: &'static str) -> Self {
        Self {
            allow: Some(allowed),
            ..Self::problem(
                StatusCode::METHOD_NOT_ALLOWED,
                "METHOD_NOT_ALLOWED",
                &format!("this resource has {allowed}"),
            )
        }
    }

    fn unknown_resource() -> Self {
        Self::problem(
            StatusCode::NOT_FOUND,
            "RESOURCE_URI_STRUCTURE_NOT_FOUND",
            "this NRF has nnrf-nfm/v1/nf-instances and nnrf-disc/v1/nf-instances",
        )
    }

    fn unknown_instance() -> Self {
        Self::problem(
            StatusCode::NOT_FOUND,
            "RESOURCE_NOT_FOUND",
            "no such instance is registered",
        )
    }

    /// A body that is larger than is read.
    pub(super) fn too_large() -> Self {
        Self::problem(
            StatusCode::PAYLOAD_TOO_LARGE,
            "INCORRECT_LENGTH",
            "larger than any profile",
        )
    }
}

impl Registry {
    /// Answers a request, and keeps what it changes.
    pub fn answer(&mut self, asked: &Asked<'_>) -> Answer {
        if asked.path == DISCOVERY {
            return match *asked.method {
                Method::GET => self.discover(asked.query),
                _ => Answer::method("GET"),
            };
        }
        let Some(rest) = asked.path.strip_prefix(MANAGEMENT) else {
            return Answer::unknown_resource();
        };
        match (rest, rest.strip_prefix('/')) {
            ("", _) => match *asked.method {
                Method::GET => self.list(asked.root),
                _ => Answer::method("GET"),
            },
            (_, Some(id)) if !id.is_empty() && !id.contains('/') => self.instance(id, asked),
            _ => Answer::unknown_resource(),
        }
    }

    fn instance(&mut self, id: &str, asked: &Asked<'_>) -> Answer {
        match *asked.method {
            Method::PUT => self.put(id, asked),
            Method::PATCH => self.patch(id, asked),
            Method::GET => match self.profile(id) {
                Some(profile) => Answer::of(StatusCode::OK, profile.clone()),
                None => Answer::unknown_instance(),
            },
            Method::DELETE if self.deregister(id) => Answer::empty(StatusCode::NO_CONTENT),
            Method::DELETE => Answer::unknown_instance(),
            _ => Answer::method("GET, PUT, PATCH, DELETE"),
        }
    }

    fn put(&mut self, id: &str, asked: &Asked<'_>) -> Answer {
        let profile = match body(asked, JSON) {
            Ok(profile) => profile,
            Err(answer) => return answer,
        };
        let refused = |param: &str, reason: &str| {
            let detail = format!("{param}: {reason}");
            Answer::problem(StatusCode::BAD_REQUEST, "MANDATORY_IE_INCORRECT", &detail).invalid(param, reason)
        };
        if !profile::is_uuid(id) {
            return refused("/nfInstanceId", "not a UUID");
        }
        if let Err(unfit) = profile::check(&profile, id) {
            return refused(&unfit.param, &unfit.reason);
        }
        let location = Some(format!("{}{MANAGEMENT}/{id}", asked.root));
        match self.register(id, profile) {
            Registered::Created(profile) => Answer {
                location,
                ..Answer::of(StatusCode::CREATED, profile)
            },
            Registered::Replaced(profile) => Answer::of(StatusCode::OK, profile),
            Registered::Full => Answer::problem(
                StatusCode::INTERNAL_SERVER_ERROR,
                "INSUFFICIENT_RESOURCES",
                "too many instances are registered",
            ),
        }
    }

    /// A heart-beat (clause 5.2.2.3.2), or another partial update.
    fn patch(&mut self, id: &str, asked: &Asked<'_>) -> Answer {
        let operations = match body(asked, PATCH) {
            Ok(operations) => operations,
            Err(answer) => return answer,
        };
        let Some(profile) = self.profile(id) else {
            return Answer::unknown_instance();
        };
        let refused = |detail: &str| Answer::problem(StatusCode::BAD_REQUEST, "INVALID_MSG_FORMAT", detail);
        let patched = match patch::apply(profile, &operations) {
            Ok(patched) => patched,
            Err(Unapplied(reason)) => return refused(&reason),
        };
        if let Err(unfit) = profile::check(&patched, id) {
            return refused(&format!("the profile would have {}: {}", unfit.param, unfit.reason));
        }
        let answer = if is_heart_beat(&operations) {
            Answer::empty(StatusCode::NO_CONTENT)
        } else {
            Answer::of(StatusCode::OK, patched.clone())
        };
        self.update(id, patched);
        answer
    }

    fn list(&self, root: &str) -> Answer {
        let items: Vec<Value> = self
            .ids()
            .map(|id| json!({ "href": format!("{root}{MANAGEMENT}/{id}") }))
            .collect();
        let own = format!("{root}{MANAGEMENT}");
        let body = json!({ "_links": { "self": { "href": own }, "item": items }, "totalItemCount": self.len() });
        Answer {
            content_type: LINKS,
            ..Answer::of(StatusCode::OK, body)
        }
    }

    fn discover(&self, query: &str) -> Answer {
        match Search::parse(query) {
            Ok(search) => {
                let found = self.search(&search);
                Answer::of(
                    StatusCode::OK,
                    json!({ "validityPeriod": VALIDITY_PERIOD, "nfInstances": found }),
                )
            }
            Err(unasked) => {
                let cause = if unasked.missing {
                    "MANDATORY_QUERY_PARAM_MISSING"
                } else {
                    "INVALID_QUERY_PARAM"
                };
                let detail = format!("{}: {}", unasked.param, unasked.reason);
                Answer::problem(StatusCode::BAD_REQUEST, cause, &detail).invalid(unasked.param, &unasked.reason)
            }
        }
    }
}

/// True if only the status and the load are reported.
fn is_heart_beat(operations: &Value) -> bool {
    let reported = ["/nfStatus", "/load", "/loadTimeStamp"];
    let one = |operation: &Value| operation["path"].as_str().is_some_and(|path| reported.contains(&path));
    operations.as_array().is_some_and(|all| all.iter().all(one))
}

fn body(asked: &Asked<'_>, content_type: &str) -> Result<Value, Answer> {
    if asked.content_type != content_type {
        return Err(Answer::problem(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "UNSUPPORTED_MEDIA_TYPE",
            &format!("the body must be {content_type}"),
        ));
    }
    serde_json::from_slice(asked.body).map_err(|error| {
        Answer::problem(
            StatusCode::BAD_REQUEST,
            "INVALID_MSG_FORMAT",
            &format!("the body is not JSON: {error}"),
        )
    })
}

#[cfg(test)]
mod tests;
