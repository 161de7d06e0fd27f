//! Lists and watches: each kind of object is followed by a task of its own, which lists again whatever breaks.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bartizan_controller::{GROUP, MANAGED_BY, MANAGER, SidecarState, VERSION};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde::Deserialize;
use tokio::sync::mpsc::Sender;
use tokio::time::{sleep, timeout};
use zeroize::Zeroize as _;

use crate::api::{Api, Call, Problem};
use crate::numbers::Numbers;
use crate::objects::{Decoder, Kind, Named};
use crate::sidecar_status::Target;

/// Objects of a page: of pods with a status of 20 kB each, 2 MB are in memory at once.
const PAGE: usize = 100;
/// An event has at most so many bytes: etcd takes objects of 1.5 MiB.
const LONGEST_EVENT: usize = 4 << 20;
/// Seconds after which the API server ends a watch, and this client's upper bound.
const LASTS: u64 = 240;
const AT_MOST: Duration = Duration::from_secs(270);
/// Pauses between attempts grow from one to the other.
const PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// A change to the objects of a kind.
#[derive(Debug)]
pub(crate) enum Change {
    /// An object is there, or is another than it was.
    Is(Box<Named>),
    /// It is gone: namespace, name.
    Gone(Kind, String, String),
    /// A sidecar was asked what it carries, and this is its answer.
    Said(Target, Result<SidecarState, String>),
    /// These, by namespace and name, are all there are in the scope: a namespace, or all.
    Listed(Kind, Option<String>, BTreeSet<(String, String)>),
}

/// A watched kind, and the receiver of its changes.
pub(crate) struct Watch {
    pub(crate) api: Arc<Api>,
    pub(crate) decoder: Arc<Decoder>,
    pub(crate) numbers: Arc<Numbers>,
    pub(crate) kind: Kind,
    /// A namespace; all where it is none.
    pub(crate) namespace: Option<String>,
    /// Name of the ConfigMap.
    pub(crate) config_map: String,
    pub(crate) changes: Sender<Change>,
}

/// Why a watch ended.
enum Ended {
    /// As it does after a while.
    InTime,
    /// Versions are not kept for ever: list again.
    TooOld,
    Broken(String),
    /// The receiver of changes is gone.
    Unheard,
}

#[derive(Deserialize)]
struct Head {
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Deserialize)]
struct Other {
    object: About,
}

#[derive(Deserialize, Default)]
struct About {
    #[serde(default)]
    metadata: AboutMeta,
    #[serde(default)]
    code: u16,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize, Default)]
struct AboutMeta {
    #[serde(default, rename = "resourceVersion")]
    version: String,
}

impl Watch {
    /// Follows until the receiver of changes is gone.
    pub(crate) async fn run(self) {
        let mut failed = 0;
        let mut version: Option<String> = None;
        while !self.changes.is_closed() {
            let from = match version.take() {
                Some(version) => Ok(version),
                None => self.list().await,
            };
            let ended = match from {
                Ok(from) => {
                    let mut at = from;
                    let ended = self.watch(&mut at, &mut failed).await;
                    if !matches!(ended, Ended::TooOld) {
                        version = Some(at);
                    }
                    ended
                }
                Err(problem) => Ended::Broken(self.noted(&problem)),
            };
            let why = match ended {
                Ended::Unheard => return,
                Ended::InTime => None,
                Ended::TooOld => Some("the version is too old: listing again".to_owned()),
                Ended::Broken(why) => Some(why),
            };
            failed = if why.is_some() { (failed + 1).min(10) } else { 0 };
            match why {
                Some(why) if failed == 3 => tracing::warn!(kind = ?self.kind, why, "cannot follow objects"),
                Some(why) => tracing::debug!(kind = ?self.kind, why, "a watch broke"),
                None => {}
            }
            // After several attempts nothing is believed of the version either.
            version = version.filter(|_| failed < 3);
            // Also where none failed: a proxy may end each watch at once.
            sleep(pause(failed)).await;
        }
    }

    fn noted(&self, problem: &Problem) -> String {
        self.numbers.failed(problem);
        problem.to_string()
    }

    fn path(&self, more: &str) -> String {
        let (group, plural, selector) = match self.kind {
            Kind::Network => (format!("/apis/{GROUP}/{VERSION}"), "networks", String::new()),
            Kind::Exception => (format!("/apis/{GROUP}/{VERSION}"), "exceptions", String::new()),
            Kind::ConfigMap => {
                let selector = format!("&fieldSelector=metadata.name%3D{}", self.config_map);
                ("/api/v1".to_owned(), "configmaps", selector)
            }
            Kind::Secret => {
                let selector = format!("&labelSelector={}%3D{MANAGER}", MANAGED_BY.replace('/', "%2F"));
                ("/api/v1".to_owned(), "secrets", selector)
            }
            Kind::Pod => ("/api/v1".to_owned(), "pods", String::new()),
        };
        let scope = self.namespace.as_ref().map(|name| format!("/namespaces/{name}"));
        format!("{group}{}/{plural}?{more}{selector}", scope.unwrap_or_default())
    }

    /// Lists all, page by page; gives the version from which to watch.
    async fn list(&self) -> Result<String, Problem> {
        let mut names = BTreeSet::new();
        let mut limit = PAGE;
        let mut path = self.path(&format!("limit={limit}"));
        loop {
            let text = match self.api.call(&Call::get(path)).await {
                // Object sizes are up to the clients that create them: restart with shorter pages.
                // Objects already sent are sent again.
                Err(Problem::TooLong) if limit > 1 => {
                    limit = (limit / 4).max(1);
                    path = self.path(&format!("limit={limit}"));
                    names.clear();
                    continue;
                }
                answer => answer?,
            };
            let page = self.decoder.page(self.kind, &text).map_err(Problem::Malformed)?;
            drop(text);
            for one in page.items {
                names.insert((one.namespace.clone(), one.name.clone()));
                let _ = self.changes.send(Change::Is(Box::new(one))).await;
            }
            match page.more {
                Some(token) => path = self.path(&format!("limit={limit}&continue={}", escaped(&token))),
                None => {
                    let listed = Change::Listed(self.kind, self.namespace.clone(), names);
                    let _ = self.changes.send(listed).await;
                    return Ok(page.version);
                }
            }
        }
    }

    async fn watch(&self, version: &mut String, failed: &mut u32) -> Ended {
        let path = self.path(&format!(
            "watch=1&allowWatchBookmarks=true&timeoutSeconds={LASTS}&resourceVersion={version}"
        ));
        match self.api.stream(&Call::get(path)).await {
            Ok(stream) => match timeout(AT_MOST, self.follow(stream, version, failed)).await {
                Ok(ended) => ended,
                Err(_) => Ended::Broken("it did not end in time".to_owned()),
            },
            Err(problem) if problem.code() == Some(410) => Ended::TooOld,
            Err(problem) => Ended::Broken(self.noted(&problem)),
        }
    }

    /// Reads lines, each an event. Half a line at the end is no event: the next watch begins before it.
    async fn follow(&self, mut stream: Incoming, version: &mut String, failed: &mut u32) -> Ended {
        let mut line: Vec<u8> = Vec::with_capacity(64 << 10);
        loop {
            let frame = match stream.frame().await {
                None => {
                    return if line.is_empty() {
                        Ended::InTime
                    } else {
                        Ended::Broken("half an event".to_owned())
                    };
                }
                Some(Err(error)) => return Ended::Broken(error.to_string()),
                Some(Ok(frame)) => frame,
            };
            let Ok(data) = frame.into_data() else { continue };
            for piece in data.split_inclusive(|byte| *byte == b'\n') {
                line.extend_from_slice(piece);
                if line.len() > LONGEST_EVENT {
                    return Ended::Broken("an event without an end".to_owned());
                }
                if line.last() != Some(&b'\n') {
                    continue;
                }
                let ended = self.event(&line, version).await;
                line.zeroize();
                if let Some(ended) = ended {
                    return ended;
                }
                *failed = 0;
            }
        }
    }

    async fn event(&self, line: &[u8], version: &mut String) -> Option<Ended> {
        if line.trim_ascii().is_empty() {
            return None;
        }
        let kind = match serde_json::from_slice::<Head>(line) {
            Ok(head) => head.kind,
            Err(error) => return Some(Ended::Broken(error.to_string())),
        };
        let change = match kind.as_str() {
            "BOOKMARK" | "ERROR" => {
                let about = match serde_json::from_slice::<Other>(line) {
                    Ok(other) => other.object,
                    Err(error) => return Some(Ended::Broken(error.to_string())),
                };
                if kind == "BOOKMARK" {
                    *version = about.metadata.version;
                    return None;
                }
                return Some(match about.code {
                    410 => Ended::TooOld,
                    _ => Ended::Broken(self.noted(&Problem::Status(about.code, about.message))),
                });
            }
            _ => match self.decoder.event(self.kind, line) {
                Ok(named) => named,
                Err(error) => return Some(Ended::Broken(error)),
            },
        };
        version.clone_from(&change.version);
        let change = match kind.as_str() {
            "DELETED" => Change::Gone(self.kind, change.namespace, change.name),
            _ => Change::Is(Box::new(change)),
        };
        match self.changes.send(change).await {
            Ok(()) => None,
            Err(_) => Some(Ended::Unheard),
        }
    }
}

/// A token of a list as it may stand in a query.
pub(crate) fn escaped(token: &str) -> String {
    let escape = |byte: u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    token.bytes().map(escape).collect()
}

/// Doubled with each failure, and up to a half longer by chance, so that controllers do not come back together.
fn pause(failed: u32) -> Duration {
    let pause = PAUSE
        .saturating_mul(1 << failed.saturating_sub(1).min(10))
        .min(LONGEST_PAUSE);
    pause + pause.mul_f64(chance() / 2.0)
}

/// From 0 to 1.
pub(crate) fn chance() -> f64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
    f64::from(u32::try_from(random >> 32).unwrap_or_default()) / f64::from(u32::MAX)
}
