//! CertificateRequests (cert-manager.io/v1): listed, written, removed.

use bartizan_controller::{Answer, MANAGED_BY, MANAGER, Order};
use bartizan_inject::NODE;
use data_encoding::BASE64;
use http::Method;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;
use zeroize::Zeroizing;

use crate::api::{Call, Problem};
use crate::issuer::IssuerReference;
use crate::objects::{List, ObjectMeta};
use crate::writing::{JSON, Writing, metadata};

const VERSION: &str = "cert-manager.io/v1";
/// Requests of a page.
const PAGE: usize = 100;

/// A request as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) answer: Answer,
}

#[derive(Deserialize)]
struct Stored {
    metadata: ObjectMeta,
    #[serde(default)]
    status: Value,
}

/// Contents of a request, besides its names.
pub(crate) struct Wanted<'a> {
    pub(crate) issuer: &'a IssuerReference,
    pub(crate) lifetime: Duration,
    /// The request, PEM.
    pub(crate) request: &'a str,
}

fn path(namespace: Option<&str>) -> String {
    let scope = namespace.map(|name| format!("/namespaces/{name}"));
    format!("/apis/{VERSION}{}/certificaterequests", scope.unwrap_or_default())
}

fn read<T: for<'de> Deserialize<'de>>(text: &[u8]) -> Result<T, Problem> {
    serde_json::from_slice(text).map_err(|error| Problem::Malformed(error.to_string()))
}

impl Writing {
    /// This controller's requests of a namespace, or of all.
    pub(crate) async fn requests(&self, namespace: Option<&str>) -> Result<Vec<Request>, Problem> {
        let selector = format!("{}%3D{MANAGER}", MANAGED_BY.replace('/', "%2F"));
        let beginning = |limit: usize| format!("{}?limit={limit}&labelSelector={selector}", path(namespace));
        let mut limit = PAGE;
        let (mut all, mut at) = (Vec::new(), beginning(limit));
        loop {
            let text = match self.api.call(&Call::get(at)).await {
                // Request sizes are up to the clients that create them.
                Err(Problem::TooLong) if limit > 1 => {
                    limit = (limit / 4).max(1);
                    at = beginning(limit);
                    all.clear();
                    continue;
                }
                answer => answer.map_err(|problem| self.noted(problem))?,
            };
            let list: List<Stored> = read(&text)?;
            all.extend(list.items.into_iter().map(|one| Request {
                namespace: one.metadata.namespace,
                name: one.metadata.name,
                uid: one.metadata.uid,
                answer: Answer::of(&one.status),
            }));
            match list.metadata.more.filter(|token| !token.is_empty()) {
                Some(token) => at = format!("{}&continue={}", beginning(limit), super::reflector::escaped(&token)),
                None => return Ok(all),
            }
        }
    }

    /// Writes the request for an order, under the name of its Secret, so that there is one for each node; gives its uid.
    pub(crate) async fn ask(&self, namespace: &str, order: &Order, wanted: &Wanted<'_>) -> Result<String, Problem> {
        let mut metadata = metadata(&order.secret, namespace, order.owner.as_ref(), None);
        metadata["annotations"] = json!({ NODE: order.node });
        let object = json!({
            "apiVersion": VERSION,
            "kind": "CertificateRequest",
            "metadata": metadata,
            "spec": {
                "request": BASE64.encode(wanted.request.as_bytes()),
                "issuerRef": { "kind": wanted.issuer.kind, "group": wanted.issuer.group, "name": wanted.issuer.name },
                "duration": format!("{}s", wanted.lifetime.as_secs()),
                "usages": ["digital signature", "server auth", "client auth"],
                "isCA": false,
            },
        });
        let target = format!("{}?fieldManager={MANAGER}", path(Some(namespace)));
        let body = Zeroizing::new(object.to_string().into_bytes());
        let text = self.api.call(&Call::send(Method::POST, target, JSON, body)).await;
        let stored: Stored = read(&text.map_err(|problem| self.noted(problem))?)?;
        self.numbers.wrote("certificaterequest");
        Ok(stored.metadata.uid)
    }

    /// Removes a request, and no other of its name; one that is gone is none to remove.
    pub(crate) async fn remove(&self, namespace: &str, request: &str, uid: &str) -> Result<(), Problem> {
        let target = format!("{}/{request}", path(Some(namespace)));
        let options = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": { "uid": uid } });
        let body = Zeroizing::new(options.to_string().into_bytes());
        match self.api.call(&Call::send(Method::DELETE, target, JSON, body)).await {
            Ok(_) => Ok(()),
            Err(problem) if matches!(problem.code(), Some(404 | 409)) => Ok(()),
            Err(problem) => Err(self.noted(problem)),
        }
    }
}
