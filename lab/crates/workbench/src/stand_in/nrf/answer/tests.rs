//! Requests and answers, without sockets.

use http::{Method, StatusCode};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const ID: &str = "4947a69a-f61b-4bc1-b9da-47c9c5d14b64";
const ROOT: &str = "http://10.0.0.2:8000";

fn profile(id: &str, kind: &str) -> Value {
    json!({ "nfInstanceId": id, "nfType": kind, "nfStatus": "REGISTERED", "ipv4Addresses": ["10.0.0.1"],
        "nfServices": [
            { "serviceInstanceId": "1", "serviceName": "nudm-ueau", "scheme": "http", "nfServiceStatus": "REGISTERED",
              "versions": [{ "apiVersionInUri": "v1", "apiFullVersion": "1.0.0" }],
              "ipEndPoints": [{ "ipv4Address": "10.0.0.1", "port": 8000 }], "apiPrefix": "http://10.0.0.1:8000" },
            { "serviceInstanceId": "2", "serviceName": "nudm-sdm", "scheme": "http", "nfServiceStatus": "REGISTERED" },
        ] })
}

fn ask(registry: &mut Registry, method: Method, uri: &str, content_type: &str, body: &str) -> Answer {
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    registry.answer(&Asked {
        method: &method,
        root: ROOT,
        path,
        query,
        content_type,
        body: body.as_bytes(),
    })
}

fn register(registry: &mut Registry, id: &str, kind: &str) -> Answer {
    let body = profile(id, kind).to_string();
    ask(registry, Method::PUT, &format!("{MANAGEMENT}/{id}"), JSON, &body)
}

#[test]
fn an_instance_is_registered_found_kept_alive_and_deregistered() {
    let mut registry = Registry::default();
    let made = register(&mut registry, ID, "UDM");
    let place = format!("{MANAGEMENT}/{ID}");
    assert_eq!(made.status, StatusCode::CREATED);
    assert_eq!(made.location.as_deref(), Some(&*format!("{ROOT}{place}")));
    assert_eq!(made.body.unwrap()["heartBeatTimer"], 60);

    let uri = format!("{DISCOVERY}?target-nf-type=UDM&requester-nf-type=AMF&service-names=nudm-ueau");
    let found = ask(&mut registry, Method::GET, &uri, "", "").body.unwrap();
    assert_eq!(found["validityPeriod"], 100);
    let instances = found["nfInstances"].as_array().unwrap();
    assert_eq!(instances.len(), 1);
    assert_eq!(instances[0]["nfServices"].as_array().unwrap().len(), 1);
    assert_eq!(instances[0]["nfServices"][0]["apiPrefix"], "http://10.0.0.1:8000");
    let uri = format!("{DISCOVERY}?target-nf-type=AUSF&requester-nf-type=AMF");
    let none = ask(&mut registry, Method::GET, &uri, "", "").body.unwrap();
    assert_eq!(none["nfInstances"], json!([]));

    let beat = r#"[{"op":"replace","path":"/nfStatus","value":"REGISTERED"}]"#;
    let beaten = ask(&mut registry, Method::PATCH, &place, PATCH, beat);
    assert_eq!((beaten.status, beaten.body), (StatusCode::NO_CONTENT, None));
    let change =
        r#"[{"op":"replace","path":"/nfStatus","value":"SUSPENDED"},{"op":"add","path":"/capacity","value":7}]"#;
    let changed = ask(&mut registry, Method::PATCH, &place, PATCH, change);
    assert_eq!(changed.status, StatusCode::OK);
    assert_eq!(changed.body.unwrap()["capacity"], 7);
    let uri = format!("{DISCOVERY}?target-nf-type=UDM&requester-nf-type=AMF");
    let suspended = ask(&mut registry, Method::GET, &uri, "", "").body.unwrap();
    assert_eq!(suspended["nfInstances"], json!([]));

    assert_eq!(register(&mut registry, ID, "UDM").status, StatusCode::OK);
    assert_eq!(
        ask(&mut registry, Method::DELETE, &place, "", "").status,
        StatusCode::NO_CONTENT
    );
    for method in [Method::DELETE, Method::GET] {
        let gone = ask(&mut registry, method, &place, "", "");
        assert_eq!(gone.status, StatusCode::NOT_FOUND);
        assert_eq!(gone.body.unwrap()["cause"], "RESOURCE_NOT_FOUND");
    }
}

#[test]
fn every_mistake_is_a_problem_with_its_cause() {
    let mut registry = Registry::default();
    register(&mut registry, ID, "UDM");
    let place = format!("{MANAGEMENT}/{ID}");
    let other = profile("00000000-0000-4000-8000-000000000000", "UDM").to_string();
    for (method, uri, content_type, body, status, cause) in [
        (
            Method::GET,
            "/nudm-sdm/v1",
            "",
            "",
            404,
            "RESOURCE_URI_STRUCTURE_NOT_FOUND",
        ),
        (
            Method::GET,
            "/nnrf-nfm/v1/nf-instances/a/b",
            "",
            "",
            404,
            "RESOURCE_URI_STRUCTURE_NOT_FOUND",
        ),
        (Method::POST, &*place, JSON, "{}", 405, "METHOD_NOT_ALLOWED"),
        (Method::DELETE, DISCOVERY, "", "", 405, "METHOD_NOT_ALLOWED"),
        (Method::PUT, &*place, "text/plain", "{}", 415, "UNSUPPORTED_MEDIA_TYPE"),
        (Method::PUT, &*place, JSON, "{", 400, "INVALID_MSG_FORMAT"),
        (Method::PUT, &*place, JSON, "{}", 400, "MANDATORY_IE_INCORRECT"),
        (Method::PUT, &*place, JSON, &*other, 400, "MANDATORY_IE_INCORRECT"),
        (
            Method::PUT,
            "/nnrf-nfm/v1/nf-instances/amf",
            JSON,
            "{}",
            400,
            "MANDATORY_IE_INCORRECT",
        ),
        (Method::PATCH, &*place, JSON, "[]", 415, "UNSUPPORTED_MEDIA_TYPE"),
        (Method::PATCH, &*place, PATCH, "[]", 400, "INVALID_MSG_FORMAT"),
        (
            Method::PATCH,
            &*place,
            PATCH,
            r#"[{"op":"remove","path":"/nfType"}]"#,
            400,
            "INVALID_MSG_FORMAT",
        ),
        (
            Method::PATCH,
            "/nnrf-nfm/v1/nf-instances/none",
            PATCH,
            "[]",
            404,
            "RESOURCE_NOT_FOUND",
        ),
        (
            Method::GET,
            "/nnrf-disc/v1/nf-instances?target-nf-type=UDM",
            "",
            "",
            400,
            "MANDATORY_QUERY_PARAM_MISSING",
        ),
    ] {
        let answer = ask(&mut registry, method.clone(), uri, content_type, body);
        let problem = answer.body.unwrap();
        assert_eq!(
            (answer.status.as_u16(), &problem["cause"]),
            (status, &json!(cause)),
            "{method} {uri}"
        );
        assert_eq!((answer.content_type, &problem["status"]), (PROBLEM, &json!(status)));
        assert_eq!(answer.allow.is_some(), status == 405);
    }
    // Nothing of that has changed what was registered.
    let kept = ask(&mut registry, Method::GET, &place, "", "").body.unwrap();
    assert_eq!(kept["nfType"], "UDM");
}

#[test]
fn instances_are_listed_by_links() {
    let mut registry = Registry::default();
    register(&mut registry, ID, "UDM");
    let listed = ask(&mut registry, Method::GET, MANAGEMENT, "", "");
    assert_eq!(listed.content_type, LINKS);
    let body = listed.body.unwrap();
    assert_eq!(body["_links"]["item"][0]["href"], format!("{ROOT}{MANAGEMENT}/{ID}"));
}

proptest! {
    #[test]
    fn no_request_makes_it_panic(path in ".{0,80}", query in ".{0,80}", body: Vec<u8>, kind in 0_usize..5) {
        let methods = [Method::GET, Method::PUT, Method::PATCH, Method::DELETE, Method::POST];
        let mut registry = Registry::default();
        register(&mut registry, ID, "UDM");
        for path in [&*path, &*format!("{MANAGEMENT}/{path}"), &*format!("{MANAGEMENT}/{ID}")] {
            for content_type in [JSON, PATCH] {
                let asked = Asked { method: &methods[kind], root: ROOT, path, query: &query, content_type, body: &body };
                prop_assert!(registry.answer(&asked).status.as_u16() >= 200);
            }
        }
    }
}
