//! The page of what is followed: what it shows, and how it is served.
//!
//! The loop publishes; requests are answered from the last published state, on the thread of the
//! endpoint. Browsers never reach the loop.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bartizan_inspect::follow::live::{Facts, Known, Live, Snapshot, SourceFacts, counts};
use bartizan_inspect::follow::{Event, Tracker, View};
use bartizan_page::network::live::{self as page, Map};
use http::StatusCode;
use http::request::Parts;
use serde::Serialize;

use super::event_writer::since_1970;
use super::metrics::Numbers;
use crate::stream::Stream;
use bartizan_server::{Answer, Endpoint, Serving, browser, plain, typed};

/// Last published state.
#[derive(Debug)]
struct Published {
    snapshot: Snapshot,
    /// Drawn positions of the links, and a number that changes with them.
    map: (u64, Arc<Map>),
    at: Instant,
}

/// State that requests are answered from.
#[derive(Debug)]
struct Shown {
    published: Mutex<Arc<Published>>,
    /// Names of this host, besides its addresses.
    names: Vec<String>,
}

/// The page, as the loop keeps it.
pub struct Page {
    live: Live,
    map: (u64, Arc<Map>),
    shown: Arc<Shown>,
    address: Option<SocketAddr>,
    _serving: Serving,
}

/// A state with the map to draw it on.
#[derive(Serialize)]
struct State<'a, S> {
    #[serde(flatten)]
    state: S,
    /// Since it was published. Where the loop stands still, as behind a full pipe, requests are answered all the same.
    age_ms: u64,
    map_version: u64,
    map: Option<&'a Map>,
}

/// Parameters of a request for the state.
#[derive(Debug, Default, PartialEq, Eq)]
struct Asked {
    known: Option<Known>,
    map: Option<u64>,
    link: Option<u64>,
}

impl Page {
    /// Begins to serve at a bound endpoint, to browsers that call this host by an address, by
    /// `localhost` or by one of these names.
    pub fn serve(endpoint: Endpoint, names: Vec<String>) -> Self {
        let address = endpoint.address();
        let mut live = Live::new(u64::try_from(since_1970().as_nanos()).unwrap_or(u64::MAX));
        let shown = Arc::new(Shown {
            published: Mutex::new(Arc::new(Published {
                snapshot: live.publish(Facts::default()),
                map: (0, Arc::default()),
                at: Instant::now(),
            })),
            names,
        });
        let answering = Arc::clone(&shown);
        Self {
            live,
            map: (0, Arc::default()),
            shown,
            address,
            _serving: endpoint.serve(Arc::new(move |request: &Parts| answering.answer(request))),
        }
    }

    /// Address where it is served.
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Shows an event.
    pub fn event(&mut self, event: &Event, at: Duration) {
        self.live.event(event, at);
    }

    /// Takes what is to be seen of a source, which the tracker has compared already.
    pub fn look(&mut self, place: usize, view: &mut View, stream: &mut Stream, tracker: &Tracker) {
        self.live.handshakes(stream.handshakes(view));
        self.live.links(place, view, tracker);
    }

    /// From now on this is what is shown.
    pub fn publish(&mut self, numbers: &Numbers) {
        let sources = numbers.sources.iter().map(|source| SourceFacts {
            name: source.name.clone(),
            packets: source.packets,
            dropped: source.dropped,
            untracked: source.untracked,
            newest_ns: source.newest_ns,
        });
        let snapshot = self.live.publish(Facts {
            sources: sources.collect(),
            counts: counts(&numbers.links),
            findings: numbers.findings.values().sum(),
        });
        let drawn = Map::of(snapshot.ends());
        if drawn != *self.map.1 {
            self.map = (self.map.0 + 1, Arc::new(drawn));
        }
        let map = self.map.clone();
        let at = Instant::now();
        let published = Arc::new(Published { snapshot, map, at });
        *self.shown.published.lock().unwrap_or_else(PoisonError::into_inner) = published;
    }
}

impl Shown {
    fn answer(&self, request: &Parts) -> Answer {
        let mut answer = if browser::is_meant(&request.uri, &request.headers, &self.names) {
            self.found(request)
        } else {
            plain(
                StatusCode::MISDIRECTED_REQUEST,
                "this host goes by its address or by localhost here; --http-name allows a name\n",
            )
        };
        browser::protect(&mut answer);
        answer
    }

    fn found(&self, request: &Parts) -> Answer {
        match request.uri.path() {
            "/" => typed(StatusCode::OK, "text/html; charset=utf-8", page::html()),
            "/page.css" => typed(StatusCode::OK, "text/css; charset=utf-8", page::style()),
            "/page.js" => typed(StatusCode::OK, "text/javascript; charset=utf-8", page::SCRIPT),
            "/icon.svg" => typed(StatusCode::OK, "image/svg+xml", page::ICON),
            "/state" => self.state(&Asked::from(request.uri.query().unwrap_or_default())),
            _ => plain(StatusCode::NOT_FOUND, "/ and /state are served here\n"),
        }
    }

    fn state(&self, asked: &Asked) -> Answer {
        match self.json(asked) {
            Ok(json) => typed(StatusCode::OK, "application/json", unmarked(&json)),
            Err(error) => plain(StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")),
        }
    }

    fn json(&self, asked: &Asked) -> serde_json::Result<String> {
        let published = Arc::clone(&self.published.lock().unwrap_or_else(PoisonError::into_inner));
        let (map_version, map) = &published.map;
        let run = published.snapshot.known().run;
        let has_map = asked.known.is_some_and(|known| known.run == run) && asked.map == Some(*map_version);
        let state = State {
            state: published.snapshot.state(asked.known, asked.link),
            age_ms: u64::try_from(published.at.elapsed().as_millis()).unwrap_or(u64::MAX),
            map_version: *map_version,
            map: (!has_map).then_some(&**map),
        };
        serde_json::to_string(&state)
    }
}

/// The same JSON with nothing in it that could be taken for markup, wherever it ends up: these stand in texts alone.
fn unmarked(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
}

impl From<&str> for Asked {
    fn from(query: &str) -> Self {
        let number = |name: &str| {
            let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            let mut values = pairs.filter(|(known, _)| *known == name);
            values.next().and_then(|(_, value)| value.parse().ok())
        };
        let known = number("run").zip(number("version"));
        Self {
            known: known.map(|(run, version)| Known { run, version }),
            map: number("map"),
            link: number("link"),
        }
    }
}

#[cfg(test)]
mod tests {
    use http::header::HOST;

    use super::*;

    fn shown(names: &[&str]) -> Shown {
        let snapshot = Live::new(1).publish(Facts::default());
        Shown {
            published: Mutex::new(Arc::new(Published {
                snapshot,
                map: (0, Arc::default()),
                at: Instant::now(),
            })),
            names: names.iter().map(ToString::to_string).collect(),
        }
    }

    fn asked_for(shown: &Shown, target: &str, hosts: &[&str]) -> Answer {
        let mut request = http::Request::builder().uri(target);
        for host in hosts {
            request = request.header(HOST, *host);
        }
        shown.answer(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn a_name_that_somebody_made_to_lead_here_is_refused_and_addresses_are_not() {
        let shown = shown(&["tap1.example"]);
        for ours in [
            "127.0.0.1:9465",
            "127.0.0.1",
            "[::1]:9465",
            "10.0.0.7:80",
            "localhost:1",
            "LOCALHOST",
            "tap1.example:9465",
        ] {
            assert_eq!(asked_for(&shown, "/", &[ours]).status(), StatusCode::OK, "{ours}");
        }
        for foreign in [
            "evil.example",
            "127.0.0.1.evil.example:9465",
            "localhost.evil.example",
            "127.0.0.1@evil.example",
            "",
            "[::1",
        ] {
            let refused = asked_for(&shown, "/state", &[foreign]);
            assert_eq!(refused.status(), StatusCode::MISDIRECTED_REQUEST, "{foreign}");
        }
        assert_eq!(asked_for(&shown, "/", &[]).status(), StatusCode::MISDIRECTED_REQUEST);
        let two = ["localhost", "evil.example"];
        assert_eq!(asked_for(&shown, "/", &two).status(), StatusCode::MISDIRECTED_REQUEST);
        let absolute = asked_for(&shown, "http://evil.example/state", &["localhost"]);
        assert_eq!(absolute.status(), StatusCode::MISDIRECTED_REQUEST);
    }

    #[test]
    fn every_answer_says_that_nothing_but_this_place_may_be_used() {
        for target in ["/", "/page.js", "/page.css", "/icon.svg", "/state", "/nothing"] {
            let answer = asked_for(&shown(&[]), target, &["localhost"]);
            for (name, value) in browser::HEADERS {
                assert_eq!(answer.headers().get(&name).unwrap(), value, "{target}");
            }
        }
    }

    #[test]
    fn what_is_asked_for_is_read_and_what_is_no_number_is_left_out() {
        let asked = Asked::from("run=7&version=3&map=2&link=18446744073709551615");
        let known = Some(Known { run: 7, version: 3 });
        let (map, link) = (Some(2), Some(u64::MAX));
        assert_eq!(asked, Asked { known, map, link });
        for nothing in [
            "",
            "run=7",
            "version=-1&run=x",
            "link=<script>&map=18446744073709551616",
            "&&=&",
        ] {
            assert_eq!(Asked::from(nothing), Asked::default(), "{nothing}");
        }
    }

    #[test]
    fn the_state_says_how_long_ago_it_was_published() {
        let shown = shown(&[]);
        let at = Instant::now().checked_sub(Duration::from_secs(60)).unwrap();
        let map = (0, Arc::default());
        let snapshot = Live::new(1).publish(Facts::default());
        *shown.published.lock().unwrap() = Arc::new(Published { snapshot, map, at });
        let json = shown.json(&Asked::default()).unwrap();
        let state: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert!(state["age_ms"].as_u64().unwrap() >= 60_000, "{state}");
    }

    #[test]
    fn json_holds_no_character_of_markup() {
        let json = unmarked(&serde_json::to_string(&["</script><img onerror=1>&amp;"]).unwrap());
        assert!(!json.contains(['<', '>', '&']), "{json}");
        let read: Vec<String> = serde_json::from_str(&json).unwrap();
        assert_eq!(read, ["</script><img onerror=1>&amp;"]);
    }
}
