//! A namespace with two nodes, and certificates as an authority would make them.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use bartizan_controller::{
    Action, Authority, Budget, Certificate, Circumstances, ConfigMap, Exception, Meta, Network, Observed, Order,
    Secret, Settings, Turn, reconcile,
};
use serde_json::{Value, json};

pub(crate) const DAY: Duration = Duration::from_secs(86_400);
pub(crate) const ROOT: [u8; 32] = [1; 32];
pub(crate) const LIST: [u8; 32] = [2; 32];

/// 2027-01-15.
pub(crate) fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_799_971_200)
}

pub(crate) fn spec() -> Value {
    let node = |function: &str, address: &str| {
        json!({
            "function": function, "address": address, "certificate": "tls.crt", "key": "tls.key",
            "sidecar": { "inbound": [{ "listen": "0.0.0.0:7443", "forward": "127.0.0.1:8000" }] },
        })
    };
    json!({
        "trust": { "roots": "ca.crt", "crl": "ca.crl" },
        "nodes": { "nrf": node("NRF", "10.96.0.21"), "amf": node("AMF", "10.96.0.22") },
        "interfaces": [{ "kind": "SBI", "between": ["amf", "nrf"], "with": "sidecar" }],
    })
}

pub(crate) fn network(spec: Value) -> Network {
    let meta = Meta {
        name: "core".into(),
        uid: "network".into(),
        generation: 3,
        created: "2027-01-01T00:00:00Z".into(),
        ..Meta::default()
    };
    Network {
        meta,
        spec,
        status: json!({}),
    }
}

pub(crate) fn exception(spec: Value) -> Exception {
    let meta = Meta {
        name: "old-amf".into(),
        uid: "exception".into(),
        ..Meta::default()
    };
    Exception {
        meta,
        spec,
        status: json!({}),
    }
}

pub(crate) fn observed() -> Observed {
    Observed {
        namespace: "free5gc".into(),
        networks: vec![network(spec())],
        ..Observed::default()
    }
}

pub(crate) fn authority() -> Authority {
    Authority::Ready {
        root: ROOT,
        list: Some(LIST),
        revoked: BTreeSet::new(),
        unrenewed: Vec::new(),
    }
}

pub(crate) fn certificate(names: &[&str]) -> Certificate {
    Certificate {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        not_before: now() - Duration::from_secs(300),
        not_after: now() + 90 * DAY,
        serial: "01".into(),
        of_this_authority: true,
        key_matches: true,
    }
}

/// The Secret that an order leads to.
pub(crate) fn written(order: &Order) -> Secret {
    let dns = order.dns.iter().map(|name| format!("DNS:{name}"));
    let ip = order.ip.iter().map(|name| format!("IP:{name}"));
    let uri = order.uri.iter().map(|name| format!("URI:{name}"));
    let names: Vec<String> = dns.chain(ip).chain(uri).collect();
    Secret {
        meta: Meta {
            name: order.secret.clone(),
            managed: true,
            version: "7".into(),
            owner: order.owner.as_ref().map(|(_, uid)| uid.clone()),
            ..Meta::default()
        },
        certificate: Some(certificate(&names.iter().map(String::as_str).collect::<Vec<_>>())),
        root: Some(ROOT),
        list: Some(LIST),
    }
}

pub(crate) fn run_at(observed: &Observed, now: SystemTime, authority: &Authority, skew: i64) -> Turn {
    let settings = Settings::default();
    let circumstances = Circumstances {
        now,
        skew,
        authority,
        settings: &settings,
    };
    reconcile(observed, &circumstances, &mut Budget::TURN.clone())
}

pub(crate) fn run(observed: &Observed) -> Turn {
    run_at(observed, now(), &authority(), 0)
}

/// Does what the actions say, as an API server would store it.
pub(crate) fn apply(observed: &mut Observed, turn: &Turn) {
    for action in &turn.actions {
        match action {
            Action::WriteFile { text, owner, .. } => {
                observed.config_map = Some(ConfigMap {
                    meta: Meta {
                        name: "bartizan".into(),
                        managed: true,
                        version: "5".into(),
                        owner: Some(owner.1.clone()),
                        ..Meta::default()
                    },
                    file: Some(text.clone()),
                });
            }
            Action::Issue(order) => {
                observed.secrets.insert(order.secret.clone(), written(order));
            }
            Action::WriteList { secret, .. } => {
                observed.secrets.get_mut(secret).unwrap().list = Some(LIST);
            }
            Action::Take(order) => {
                observed.secrets.insert(order.secret.clone(), written(order));
                observed.asked.remove(&order.node);
            }
            Action::Withdraw { uid, .. } => {
                observed.asked.retain(|_, asked| asked.uid != *uid);
                observed.strays.retain(|stray| stray.uid != *uid);
            }
            Action::WriteStatus { object, name, status } => match object {
                bartizan_controller::Object::Network => {
                    let network = observed.networks.iter_mut().find(|one| one.meta.name == *name);
                    network.unwrap().status = status.clone();
                }
                bartizan_controller::Object::Exception => {
                    let exception = observed.exceptions.iter_mut().find(|one| one.meta.name == *name);
                    exception.unwrap().status = status.clone();
                }
            },
        }
    }
}

/// Runs until nothing is left to do.
pub(crate) fn settled(mut observed: Observed) -> Observed {
    for _ in 0..20 {
        let turn = run(&observed);
        if turn.actions.is_empty() {
            assert_eq!(turn.waiting, 0);
            return observed;
        }
        apply(&mut observed, &turn);
    }
    panic!("it writes again and again: {:?}", run(&observed));
}

pub(crate) fn orders(turn: &Turn) -> Vec<&Order> {
    let issued = turn.actions.iter().filter_map(|action| match action {
        Action::Issue(order) => Some(order),
        _ => None,
    });
    issued.collect()
}

/// State, reason and message of a condition.
pub(crate) fn condition<'a>(status: &'a Value, kind: &str) -> (&'a str, &'a str, &'a str) {
    let all = status["conditions"].as_array().expect("conditions");
    let one = all.iter().find(|one| one["type"] == kind).expect("the condition");
    let text = |key: &str| one[key].as_str().unwrap();
    (text("status"), text("reason"), text("message"))
}
