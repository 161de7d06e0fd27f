//! A webhook that serves, and curl in the place of an API server.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use bartizan_host::{Process, Program};
use data_encoding::BASE64;
use serde_json::Value;

use crate::authority::Place;
use crate::redirect_stage::LONG;

/// Name by which API servers call the Service.
const NAME: &str = "bartizan-webhook.bartizan-system.svc";

pub(crate) struct Webhook {
    pub(crate) place: Place,
    pub(crate) process: Process,
    pub(crate) address: SocketAddr,
}

/// Response to a request.
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Webhook {
    pub(crate) fn start(place: Place, options: &[&str]) -> Self {
        place.ca_works("init --dir ca --algorithm ecdsa-p256");
        issue(&place, "");
        let mut process = Program::new(env!("CARGO_BIN_EXE_bartizan"))
            .arguments([
                "webhook",
                "--listen",
                "127.0.0.1:0",
                "--certificate",
                "tls/webhook.crt.pem",
                "--key",
            ])
            .arguments(["tls/webhook.key.pem", "--image", "registry.5gc/bartizan-sidecar:1"])
            .arguments(["--redirect-image", "registry.5gc/bartizan-redirect:1"])
            .arguments(options)
            .directory(&place)
            .start()
            .unwrap();
        process.wait_for_line("ready: POST /inject", LONG).unwrap();
        let said = process.stderr();
        let address = said
            .lines()
            .find_map(|line| line.split_once("address="))
            .expect("an address")
            .1;
        let address = address.split_whitespace().next().unwrap().parse().unwrap();
        Self {
            place,
            process,
            address,
        }
    }

    /// A request by curl, with the webhook's certificate verified for the Service's name.
    pub(crate) fn curl(&self, path: &str, arguments: &[&str]) -> Answered {
        let port = self.address.port();
        let finished = Program::new("curl")
            .arguments([
                "--silent",
                "--show-error",
                "--max-time",
                "50",
                "--cacert",
                "tls/ca.crt.pem",
            ])
            .arguments([
                "--resolve",
                &format!("{NAME}:{port}:127.0.0.1"),
                "--write-out",
                "\n%{http_code}",
            ])
            .arguments(arguments)
            .argument(format!("https://{NAME}:{port}{path}"))
            .directory(&self.place)
            .run(LONG)
            .unwrap_or_else(|error| panic!("{error}\n{}", self.process.stderr()))
            .text();
        let (body, status) = finished.rsplit_once('\n').unwrap();
        Answered {
            status: status.parse().unwrap(),
            body: body.to_owned(),
        }
    }

    /// A review as an API server sends it.
    pub(crate) fn review(&self, review: &str) -> Answered {
        let file = self.file("review.json", review.as_bytes());
        self.curl(
            "/inject?timeout=10s",
            &["--header", "Content-Type: application/json", "--data-binary", &file],
        )
    }

    /// A file for curl's `--data-binary`.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path: PathBuf = self.place.path(name);
        fs::write(&path, bytes).unwrap();
        format!("@{}", path.display())
    }

    /// The pod of a review after the patch, which an independent library applies.
    pub(crate) fn injected(&self, review: &Value) -> Value {
        let answered = self.review(&review.to_string());
        let answer: Value = serde_json::from_str(&answered.body).unwrap();
        let response = &answer["response"];
        assert_eq!(response["allowed"], true, "{answer}");
        assert_eq!(response["uid"], review["request"]["uid"]);
        let patch = BASE64
            .decode(response["patch"].as_str().expect("a patch").as_bytes())
            .unwrap();
        let patch: json_patch::Patch = serde_json::from_slice(&patch).unwrap();
        let mut pod = review["request"]["object"].clone();
        json_patch::patch(&mut pod, &patch).unwrap();
        pod
    }
}

/// A certificate for the Service, in place of one that is there.
pub(crate) fn issue(place: &Place, options: &str) {
    place.ca_works(&format!(
        "issue --dir ca --name webhook --dns {NAME} --out tls --force {options}"
    ));
}
