//! Writes of a turn. New objects are created and never taken over. Own objects are replaced only in
//! the version that was read.

use std::sync::Arc;

use bartizan_controller::{FILE, GROUP, ISSUER, MANAGED_BY, MANAGER, Object, Order, VERSION};
use data_encoding::BASE64;
use http::Method;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::api::{Api, Call, Problem};
use crate::issuing::Made;
use crate::numbers::Numbers;
use crate::objects::{Decoder, Kind, Named};

pub(crate) const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";

pub(crate) struct Writing {
    pub(crate) api: Arc<Api>,
    pub(crate) decoder: Arc<Decoder>,
    pub(crate) numbers: Arc<Numbers>,
    pub(crate) config_map: String,
}

impl Writing {
    /// The deployment file.
    pub(crate) async fn file(
        &self,
        namespace: &str,
        text: &str,
        owner: &(String, String),
        replaces: Option<&str>,
    ) -> Result<Named, Problem> {
        let object = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata(&self.config_map, namespace, Some(owner), replaces),
            "data": { FILE: text },
        });
        let body = Zeroizing::new(object.to_string().into_bytes());
        let call = store(
            &format!("/api/v1/namespaces/{namespace}/configmaps"),
            &self.config_map,
            replaces,
            body,
        );
        self.sent(Kind::ConfigMap, "configmap", call).await
    }

    /// Returns true if a Secret of this name belongs to another owner. Reads only its metadata.
    pub(crate) async fn is_taken(&self, namespace: &str, secret: &str) -> Result<bool, Problem> {
        let call = Call::metadata(format!("/api/v1/namespaces/{namespace}/secrets/{secret}"));
        match self.api.call(&call).await {
            Ok(_) => Ok(true),
            Err(problem) if problem.code() == Some(404) => Ok(false),
            Err(problem) => Err(self.noted(problem)),
        }
    }

    /// A certificate with its key.
    pub(crate) async fn secret(&self, namespace: &str, order: &Order, made: &Made) -> Result<Named, Problem> {
        let mut metadata = metadata(
            &order.secret,
            namespace,
            order.owner.as_ref(),
            order.replaces.as_deref(),
        );
        let key = Zeroizing::new(BASE64.encode(made.key.as_bytes()));
        let encoded = |text: &str| BASE64.encode(text.as_bytes());
        if let Some(issuer) = &made.issuer {
            metadata["annotations"] = json!({ ISSUER: issuer });
        }
        let (chain, root) = (encoded(&made.chain), encoded(&made.root));
        let list = made
            .list
            .as_ref()
            .map(|list| format!("\"ca.crl\":\"{}\",", encoded(list)));
        let list = list.unwrap_or_default();
        let head = format!(
            "{{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"type\":\"Opaque\",\"metadata\":{metadata},\"data\":{{\"tls.crt\":\"{chain}\",\"ca.crt\":\"{root}\",{list}\"tls.key\":\""
        );
        // Allocated at its final size: a growing buffer leaves copies of the key behind.
        let mut body = Zeroizing::new(Vec::with_capacity(head.len() + key.len() + 8));
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(key.as_bytes());
        body.extend_from_slice(b"\"}}");
        let path = format!("/api/v1/namespaces/{namespace}/secrets");
        let call = store(&path, &order.secret, order.replaces.as_deref(), body);
        self.sent(Kind::Secret, "secret", call).await
    }

    /// Newer revocation lists in a Secret that otherwise stays.
    pub(crate) async fn list(
        &self,
        namespace: &str,
        secret: &str,
        replaces: &str,
        list: &str,
    ) -> Result<Named, Problem> {
        let object = json!({
            "metadata": { "resourceVersion": replaces },
            "data": { "ca.crl": BASE64.encode(list.as_bytes()) },
        });
        let path = format!("/api/v1/namespaces/{namespace}/secrets/{secret}?fieldManager={MANAGER}");
        let call = Call::send(
            Method::PATCH,
            path,
            MERGE,
            Zeroizing::new(object.to_string().into_bytes()),
        );
        self.sent(Kind::Secret, "list", call).await
    }

    /// A status.
    pub(crate) async fn status(
        &self,
        namespace: &str,
        object: Object,
        name: &str,
        status: &Value,
    ) -> Result<Named, Problem> {
        let (kind, name_of_kind, plural) = match object {
            Object::Network => (Kind::Network, "Network", "networks"),
            Object::Exception => (Kind::Exception, "Exception", "exceptions"),
        };
        let body = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": name_of_kind,
            "metadata": { "name": name, "namespace": namespace },
            "status": status,
        });
        let path = format!(
            "/apis/{GROUP}/{VERSION}/namespaces/{namespace}/{plural}/{name}/status?fieldManager={MANAGER}&force=true"
        );
        let call = Call::send(
            Method::PATCH,
            path,
            APPLY,
            Zeroizing::new(body.to_string().into_bytes()),
        );
        self.sent(kind, "status", call).await
    }

    async fn sent(&self, kind: Kind, what: &'static str, call: Call) -> Result<Named, Problem> {
        let text = self.api.call(&call).await.map_err(|problem| self.noted(problem))?;
        self.numbers.wrote(what);
        self.decoder.object(kind, &text).map_err(Problem::Malformed)
    }

    pub(crate) fn noted(&self, problem: Problem) -> Problem {
        self.numbers.failed(&problem);
        problem
    }
}

/// Creates the object if it replaces none, so that an object made meanwhile by another client is a
/// conflict. Otherwise applies it over one version.
fn store(path: &str, name: &str, replaces: Option<&str>, body: Zeroizing<Vec<u8>>) -> Call {
    match replaces {
        None => Call::send(Method::POST, format!("{path}?fieldManager={MANAGER}"), JSON, body),
        Some(_) => {
            let path = format!("{path}/{name}?fieldManager={MANAGER}&force=true");
            Call::send(Method::PATCH, path, APPLY, body)
        }
    }
}

pub(crate) fn metadata(name: &str, namespace: &str, owner: Option<&(String, String)>, replaces: Option<&str>) -> Value {
    let mut metadata = json!({ "name": name, "namespace": namespace, "labels": { MANAGED_BY: MANAGER } });
    if let Some((name, uid)) = owner {
        metadata["ownerReferences"] = json!([{
            "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "Network", "name": name, "uid": uid, "controller": true,
        }]);
    }
    if let Some(version) = replaces {
        metadata["resourceVersion"] = json!(version);
    }
    metadata
}
