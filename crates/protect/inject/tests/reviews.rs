//! Reviews of real pods in, answers out, with the patch applied by a third-party crate.

use std::collections::BTreeMap;

use bartizan_inject::{ADMIN_PORT, Answer, Exemption, LARGEST, REDIRECT, SIDECAR, Settings, TRUST, Verdict, review};
use serde_json::{Value, json};

const AMF: &str = include_str!("data/free5gc-amf.json");

fn settings() -> Settings {
    Settings {
        image: "registry.5gc/bartizan-sidecar:1".into(),
        redirect_image: "registry.5gc/bartizan-redirect:1".into(),
        config_map: "bartizan".into(),
        secret_prefix: "bartizan-".into(),
        admin_port: ADMIN_PORT,
        requests: BTreeMap::from([("cpu".into(), "50m".into()), ("memory".into(), "64Mi".into())]),
        limits: BTreeMap::new(),
        exemption: Exemption::Allowed,
    }
}

fn amf() -> Value {
    serde_json::from_str(AMF).unwrap()
}

/// The capabilities of the AMF's container, from its spec.
const CAPABILITIES: &str = "containers.0.securityContext.capabilities";

/// Puts a value at a place that is named by keys and numbers.
fn set(mut at: &mut Value, place: &str, value: Value) {
    for step in place.split('.') {
        at = match step.parse::<usize>() {
            Ok(number) => &mut at[number],
            Err(_) => &mut at[step],
        };
    }
    *at = value;
}

/// The review of the AMF's pod, changed.
fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut review = amf();
    change(&mut review["request"]["object"]);
    review
}

fn answer(request: &Value) -> Answer {
    review(request.to_string().as_bytes(), &settings())
}

/// The answer as an API server reads it.
fn response(answer: &Answer) -> Value {
    let whole: Value = serde_json::from_str(&answer.to_json()).unwrap();
    assert_eq!(whole["apiVersion"], "admission.k8s.io/v1");
    assert_eq!(whole["kind"], "AdmissionReview");
    whole["response"].clone()
}

/// The pod after the patch.
fn patched(request: &Value) -> Value {
    let answer = answer(request);
    assert!(answer.is_allowed(), "{answer:?}");
    apply(&answer, &request["request"]["object"])
}

fn apply(answer: &Answer, pod: &Value) -> Value {
    let mut pod = pod.clone();
    if let Verdict::Injected(operations) = &answer.verdict {
        let patch: json_patch::Patch = serde_json::from_value(Value::Array(operations.clone())).unwrap();
        json_patch::patch(&mut pod, &patch).unwrap();
    }
    pod
}

fn reason(request: &Value) -> String {
    let answer = answer(request);
    let response = response(&answer);
    assert_eq!(response["allowed"], false, "{response}");
    assert_eq!(response["patch"], Value::Null);
    response["status"]["message"].as_str().unwrap().to_owned()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect()
}

/// Adds the defaults of an API server's decoding and its plugins, once a webhook has changed a pod.
fn defaulted(pod: &Value) -> Value {
    let mut pod = pod.clone();
    for container in pod["spec"]["initContainers"].as_array_mut().unwrap() {
        for (key, value) in [
            ("imagePullPolicy", json!("IfNotPresent")),
            (
                "resources",
                json!({ "requests": { "cpu": "50m", "memory": "64Mi" }, "limits": { "cpu": "1" } }),
            ),
            ("terminationMessagePath", json!("/dev/termination-log")),
            ("terminationMessagePolicy", json!("File")),
        ] {
            container[key] = value;
        }
        for probe in ["startupProbe", "readinessProbe", "livenessProbe"] {
            if !container[probe].is_null() {
                container[probe]["successThreshold"] = json!(1);
            }
        }
    }
    pod
}

#[test]
fn the_pod_of_free5gcs_amf_gets_rules_and_sidecar_in_front_of_what_it_waits_with() {
    let before = amf();
    let pod = patched(&before);
    assert_eq!(names(&pod["spec"]["initContainers"]), [REDIRECT, SIDECAR, "wait-nrf"]);
    let spec = &before["request"]["object"]["spec"];
    assert_eq!(pod["spec"]["containers"], spec["containers"]);
    assert_eq!(pod["spec"]["initContainers"][2], spec["initContainers"][0]);
    assert_eq!(pod["metadata"], before["request"]["object"]["metadata"]);
    assert_eq!(pod["spec"]["securityContext"], spec["securityContext"]);
    let [redirect, sidecar] = [0, 1].map(|place| &pod["spec"]["initContainers"][place]);
    for container in [redirect, sidecar] {
        assert_eq!(container["restartPolicy"], "Always");
        assert_eq!(
            container["resources"],
            json!({ "requests": { "cpu": "50m", "memory": "64Mi" } })
        );
        let security = &container["securityContext"];
        assert_eq!(security["capabilities"]["drop"], json!(["ALL"]));
        assert_eq!(security["allowPrivilegeEscalation"], false);
        assert_eq!(security["privileged"], false);
        assert_eq!(security["readOnlyRootFilesystem"], true);
        assert_eq!(security["seccompProfile"]["type"], "RuntimeDefault");
    }
    // The pod runs as 1000 and must not run as root: of neither holds anything here.
    assert_eq!(redirect["securityContext"]["runAsUser"], 0);
    assert_eq!(redirect["securityContext"]["runAsNonRoot"], false);
    assert_eq!(redirect["securityContext"]["capabilities"]["add"], json!(["NET_ADMIN"]));
    assert_eq!(sidecar["securityContext"]["runAsUser"], 10_101);
    assert_eq!(sidecar["securityContext"]["runAsNonRoot"], true);
    assert_eq!(sidecar["securityContext"]["capabilities"]["add"], Value::Null);
    assert_eq!(sidecar["startupProbe"]["httpGet"]["path"], "/ready");
    assert_eq!(sidecar["livenessProbe"]["httpGet"]["path"], "/live");
    assert_eq!(redirect["startupProbe"]["exec"]["command"][3], "show");
    // The key is mounted by the sidecar alone, and every mount has its volume.
    let volumes = names(&pod["spec"]["volumes"]);
    let mount_the_key: Vec<_> = ["initContainers", "containers"]
        .into_iter()
        .flat_map(|list| pod["spec"][list].as_array().unwrap())
        .filter(|container| names(&container["volumeMounts"]).contains(&"bartizan-identity"))
        .map(|container| container["name"].as_str().unwrap())
        .collect();
    assert_eq!(mount_the_key, [SIDECAR]);
    for container in pod["spec"]["initContainers"].as_array().unwrap() {
        for mount in names(&container["volumeMounts"]) {
            assert!(volumes.contains(&mount), "{mount}");
        }
    }
    let identity = pod["spec"]["volumes"]
        .as_array()
        .unwrap()
        .iter()
        .find(|volume| volume["name"] == "bartizan-identity");
    let sources = identity.unwrap()["projected"]["sources"].to_string();
    assert!(sources.contains(r#""name":"bartizan-amf""#), "{sources}");
    // No container of ours has the API's token: what is mounted in its place is empty.
    for container in [redirect, sidecar] {
        let token = container["volumeMounts"]
            .as_array()
            .unwrap()
            .iter()
            .find(|mount| mount["mountPath"] == "/var/run/secrets/kubernetes.io/serviceaccount");
        assert_eq!(token.unwrap()["name"], "bartizan-no-token");
    }
}

#[test]
fn the_response_carries_uid_patch_warnings_and_what_the_audit_log_keeps() {
    let answer = answer(&amf());
    let response = response(&answer);
    assert_eq!(response["uid"], "705ab4f5-6393-11e8-b7cc-42010a800002");
    assert_eq!(response["allowed"], true);
    assert_eq!(response["patchType"], "JSONPatch");
    assert!(response["patch"].as_str().unwrap().len() > 1000);
    assert_eq!(response["auditAnnotations"], json!({ "node": "amf" }));
    let warnings = response["warnings"].to_string();
    assert!(
        warnings.contains("do not drop NET_RAW") && warnings.contains("wait-nrf, amf"),
        "{warnings}"
    );
}

#[test]
fn a_pod_without_init_containers_and_volumes_is_injected_too() {
    for empty in [Value::Null, json!([])] {
        let pod = patched(&with(|pod| {
            pod["spec"]["initContainers"] = empty.clone();
            pod["spec"]["volumes"] = empty.clone();
        }));
        assert_eq!(names(&pod["spec"]["initContainers"]), [REDIRECT, SIDECAR]);
        assert_eq!(pod["spec"]["volumes"].as_array().unwrap().len(), 4);
    }
    let mut request = amf();
    let spec = request["request"]["object"]["spec"].as_object_mut().unwrap();
    spec.remove("initContainers");
    spec.remove("volumes");
    assert_eq!(names(&patched(&request)["spec"]["initContainers"]), [REDIRECT, SIDECAR]);
}

#[test]
fn an_injected_pod_is_left_as_it_is_and_what_came_before_ours_goes_behind_them() {
    let pod = defaulted(&patched(&amf()));
    let again = with(|object| *object = pod.clone());
    assert_eq!(&answer(&again).verdict, &Verdict::Unchanged);
    let moved = with(|object| {
        *object = pod.clone();
        let init = object["spec"]["initContainers"].as_array_mut().unwrap();
        init.insert(0, json!({ "name": "istio-init", "image": "istio" }));
        init.swap(1, 2);
    });
    assert_eq!(
        names(&patched(&moved)["spec"]["initContainers"]),
        [REDIRECT, SIDECAR, "istio-init", "wait-nrf"]
    );
}

#[test]
fn containers_and_volumes_of_our_names_that_are_not_ours_are_refused() {
    let ours = defaulted(&patched(&amf()));
    let init = &ours["spec"]["initContainers"];
    let mut without_probe = init[0].clone();
    without_probe.as_object_mut().unwrap().remove("startupProbe");
    let volumes = ours["spec"]["volumes"].as_array().unwrap();
    let identity = volumes.iter().position(|volume| volume["name"] == "bartizan-identity");
    let identity = identity.unwrap();
    for (place, value) in [
        ("initContainers.1.image".to_owned(), json!("somebody/else")),
        ("initContainers.1.securityContext.runAsUser".to_owned(), json!(0)),
        (
            "initContainers.1.env".to_owned(),
            json!([{ "name": "LD_PRELOAD", "value": "/x" }]),
        ),
        ("initContainers.0.args.7".to_owned(), json!("0")),
        ("initContainers.0".to_owned(), without_probe),
        ("initContainers".to_owned(), json!([init[0]])),
        ("initContainers".to_owned(), json!([init[0], init[1], init[0]])),
        (
            format!("volumes.{identity}.projected.sources.1.secret.name"),
            json!("another"),
        ),
        ("volumes".to_owned(), json!(volumes[..volumes.len() - 1])),
    ] {
        let said = reason(&with(|object| {
            *object = ours.clone();
            set(&mut object["spec"], &place, value);
        }));
        assert!(said.contains("these names are its own"), "{place}: {said}");
    }
    let said = reason(&with(|pod| pod["spec"]["containers"][0]["name"] = json!(SIDECAR)));
    assert!(said.contains("which is this webhook's"), "{said}");
}

#[test]
fn what_the_rules_could_not_hold_is_refused_with_what_to_change() {
    for (place, value, wanted) in [
        ("hostNetwork", json!(true), "hostNetwork: true"),
        ("hostNetwork", json!("yes"), "hostNetwork: true"),
        ("os", json!({ "name": "windows" }), "os: sidecars are for Linux"),
        ("securityContext.runAsUser", json!(10_101), "10101 is the sidecar's"),
        (
            "containers.0.securityContext.runAsUser",
            json!(10_101),
            "10101 is the sidecar's",
        ),
        (
            "initContainers.0.securityContext.runAsUser",
            json!("10101"),
            "10101 is the sidecar's",
        ),
        (CAPABILITIES, json!({ "add": ["NET_ADMIN"] }), "amf has NET_ADMIN"),
        (CAPABILITIES, json!({ "add": ["CAP_net_raw"] }), "amf has NET_RAW"),
        (
            CAPABILITIES,
            json!({ "add": ["DAC_READ_SEARCH"] }),
            "amf has DAC_READ_SEARCH",
        ),
        (CAPABILITIES, json!({ "add": ["cap_sys_time"] }), "amf has SYS_TIME"),
        (
            CAPABILITIES,
            json!({ "add": ["KILL", "OF_NEXT_YEAR"] }),
            "amf has OF_NEXT_YEAR",
        ),
        (CAPABILITIES, json!({ "add": ["all"], "drop": ["ALL"] }), "amf has ALL"),
        (
            CAPABILITIES,
            json!({ "add": "NET_ADMIN" }),
            "capabilities that are no list",
        ),
        (
            "initContainers.0.securityContext.privileged",
            json!(true),
            "wait-nrf has privileged",
        ),
        (
            "containers.0.volumeMounts.0.name",
            json!("bartizan-identity"),
            "amf mounts bartizan-identity",
        ),
        (
            "containers.0.volumeDevices",
            json!([{ "name": "bartizan-ledger" }]),
            "amf mounts bartizan-ledger",
        ),
        ("containers", json!({ "name": "amf" }), "no list"),
        ("containers.0.name", json!(7), "without a name"),
        ("initContainers", json!("none"), "no list"),
    ] {
        let said = reason(&with(|pod| set(&mut pod["spec"], place, value)));
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    let said = reason(&with(|pod| {
        pod["metadata"]["annotations"]["kubernetes.io/config.mirror"] = json!("x");
    }));
    assert!(said.contains("static pod"), "{said}");
    // All of it at once: its reader changes the template once.
    let said = reason(&with(|pod| {
        pod["spec"]["hostNetwork"] = json!(true);
        pod["spec"]["securityContext"]["runAsUser"] = json!(10_101);
    }));
    assert!(said.contains("hostNetwork") && said.contains("10101"), "{said}");
}

/// Three ways to read a node's Secret under another name than that of the sidecar's volume.
#[test]
fn a_pod_that_reads_a_nodes_secret_is_refused_where_none_may_be_left_out_and_warned_of_elsewhere() {
    let mandatory = Settings {
        exemption: Exemption::Refused,
        ..settings()
    };
    let volume = |volume: Value| with(|pod| pod["spec"]["volumes"] = json!([volume]));
    let environment = |key: &str, value: Value| with(|pod| pod["spec"]["containers"][0][key] = json!([value]));
    for (request, wanted) in [
        (
            volume(json!({ "name": "mine", "secret": { "secretName": "bartizan-amf" } })),
            "the volume mine has the Secret bartizan-amf",
        ),
        (
            volume(json!({ "name": "mine", "projected": { "sources": [
                { "configMap": { "name": "x" } }, { "secret": { "name": "bartizan-smf" } },
            ] } })),
            "the volume mine has the Secret bartizan-smf",
        ),
        (
            environment(
                "env",
                json!({ "name": "K", "valueFrom": { "secretKeyRef": { "name": "bartizan-amf", "key": "tls.key" } } }),
            ),
            "the environment of amf has the Secret bartizan-amf",
        ),
        (
            environment("envFrom", json!({ "secretRef": { "name": "bartizan-amf" } })),
            "the environment of amf has the Secret bartizan-amf",
        ),
    ] {
        let body = request.to_string();
        let refused = review(body.as_bytes(), &mandatory);
        assert!(
            matches!(&refused.verdict, Verdict::Refused(reason) if reason.contains(wanted)),
            "{wanted}: {refused:?}"
        );
        let warned = response(&review(body.as_bytes(), &settings()));
        assert_eq!(warned["allowed"], true);
        assert!(warned["warnings"].to_string().contains(wanted), "{warned}");
        let mut left_out = request;
        left_out["request"]["object"]["metadata"]["annotations"] = json!({ "bartizan/inject": "disabled" });
        let left_out = response(&answer(&left_out));
        assert!(left_out["warnings"].to_string().contains(wanted), "{left_out}");
    }
    // The sidecar's own volume is no finding where a pod is reviewed again.
    let again = with(|pod| *pod = defaulted(&patched(&amf())));
    let again = review(again.to_string().as_bytes(), &mandatory);
    assert_eq!(&again.verdict, &Verdict::Unchanged);
    let debugged = update("ephemeralcontainers", |pod| {
        pod["spec"]["ephemeralContainers"] =
            json!([{ "name": "d", "envFrom": [{ "secretRef": { "name": "bartizan-amf" } }] }]);
    });
    let debugged = review(debugged.to_string().as_bytes(), &mandatory);
    assert!(matches!(&debugged.verdict, Verdict::Refused(_)), "{debugged:?}");
}

/// Only Secrets of `secret` and `projected` volumes were seen: a `csi` or `flexVolume` driver,
/// which is given the Secret's contents, could show them to the pod.
#[test]
fn a_nodes_secret_is_seen_in_every_field_of_a_pod_that_names_one() {
    let mandatory = Settings {
        exemption: Exemption::Refused,
        ..settings()
    };
    let fields = include_str!("data/secret-references.txt").lines();
    let fields: Vec<_> = fields.filter(|line| !line.starts_with('#')).collect();
    assert_eq!(fields.len(), 18);
    for field in fields {
        let inside_out = field
            .rsplit('.')
            .fold(json!("bartizan-smf"), |value, step| match step.strip_suffix("[]") {
                Some(list) => {
                    let mut element = value;
                    if element.get("name").is_none() {
                        element["name"] = json!("x");
                    }
                    json!({ list: [element] })
                }
                None => json!({ step: value }),
            });
        let request = with(|pod| {
            let (list, elements) = inside_out.as_object().unwrap().iter().next().unwrap();
            pod["spec"][list] = elements.clone();
        });
        let refused = review(request.to_string().as_bytes(), &mandatory);
        assert!(
            matches!(&refused.verdict, Verdict::Refused(reason) if reason.contains("has the Secret bartizan-smf")),
            "{field}: {refused:?}"
        );
    }
    // A name of the driver's own.
    let driver =
        json!([{ "name": "x", "csi": { "driver": "d", "volumeAttributes": { "secretName": "bartizan-smf" } } }]);
    let request = with(|pod| pod["spec"]["volumes"] = driver);
    let refused = review(request.to_string().as_bytes(), &mandatory);
    assert!(matches!(&refused.verdict, Verdict::Refused(_)), "{refused:?}");
}

#[test]
fn a_pod_says_which_node_it_is_or_is_refused_or_left_out_by_its_annotation() {
    let annotated = |annotations: Value| with(|pod| pod["metadata"]["annotations"] = annotations);
    for none in [Value::Null, json!({}), json!({ "bartizan/inject": "enabled" })] {
        let said = reason(&annotated(none));
        assert!(
            said.contains("add the annotation `bartizan/node: NAME` to the pod template"),
            "{said}"
        );
    }
    for wrong in ["--user", "AMF", "a/b", ""] {
        let said = reason(&annotated(json!({ "bartizan/node": wrong })));
        assert!(said.contains("cannot be part of a Secret's name"), "{wrong}: {said}");
    }
    let said = reason(&annotated(json!({ "bartizan/node": "amf", "bartizan/inject": "no" })));
    assert!(said.contains("write `enabled` or `disabled`"), "{said}");
    let left_out = annotated(json!({ "bartizan/inject": "disabled" }));
    let response = response(&answer(&left_out));
    assert_eq!(response["allowed"], true);
    assert_eq!(response["patch"], Value::Null);
    assert_eq!(response["auditAnnotations"], json!({ "left-out": "bartizan/inject" }));
    assert!(response["warnings"][0].as_str().unwrap().contains("leaves unprotected"));
    let mandatory = Settings {
        exemption: Exemption::Refused,
        ..settings()
    };
    let answer = review(left_out.to_string().as_bytes(), &mandatory);
    assert!(answer.reason().unwrap().contains("--mandatory"), "{answer:?}");
}

#[test]
fn a_container_that_is_trusted_by_name_may_hold_what_others_may_not() {
    let request = |trust: &str| {
        with(|pod| {
            pod["metadata"]["annotations"]["bartizan/trust"] = json!(trust);
            pod["spec"]["containers"][0]["securityContext"]["capabilities"] = json!({ "add": ["NET_ADMIN"] });
        })
    };
    let trusted = response(&answer(&request("amf")));
    assert_eq!(trusted["allowed"], true);
    assert_eq!(trusted["auditAnnotations"]["trusted"], "bartizan/trust: amf");
    assert!(
        trusted["warnings"]
            .to_string()
            .contains("amf is trusted with NET_ADMIN"),
        "{trusted}"
    );
    assert!(reason(&request("wait-nrf")).contains("amf has NET_ADMIN"));
    assert!(reason(&request("amf, smf")).contains("names `smf`, and the pod has no such container"));
    assert!(reason(&request(SIDECAR)).contains("no such container"));
}

#[test]
fn shared_processes_and_probes_from_the_network_are_warned_of() {
    let response = response(&answer(&with(|pod| {
        pod["spec"]["shareProcessNamespace"] = json!(true);
        pod["spec"]["hostPID"] = json!(true);
        pod["spec"]["containers"][0]["readinessProbe"] = json!({ "tcpSocket": { "port": 8000 } });
        pod["spec"]["containers"][0]["securityContext"]["capabilities"] = json!({ "drop": ["NET_RAW"] });
        pod["spec"]["initContainers"][0]["securityContext"] = json!({ "capabilities": { "drop": ["all"] } });
    })));
    let warnings = response["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 3, "{warnings:?}");
    assert!(warnings[0].as_str().unwrap().starts_with("shareProcessNamespace"));
    assert!(warnings[1].as_str().unwrap().starts_with("hostPID"));
    assert!(warnings[2].as_str().unwrap().contains("use exec there: amf"));
    // API servers cut a warning at 256 bytes.
    assert!(warnings.iter().all(|one| one.as_str().unwrap().len() <= 256));
}

/// The kubelet ends a container whose `postStart` fails, and it was put into a pod without a word.
#[test]
fn lifecycle_hooks_from_the_network_are_warned_of() {
    for hook in ["postStart", "preStop"] {
        for handler in ["httpGet", "tcpSocket"] {
            let response = response(&answer(&with(|pod| {
                let container = &mut pod["spec"]["containers"][0];
                container
                    .as_object_mut()
                    .unwrap()
                    .retain(|field, _| !field.ends_with("Probe"));
                container["lifecycle"][hook] = json!({ handler: { "port": 8000 } });
            })));
            let warnings = response["warnings"].to_string();
            assert!(warnings.contains("use exec there: amf"), "{hook} {handler}: {warnings}");
        }
    }
}

/// It was admitted with a warning that spoke of ending the sidecar alone.
#[test]
fn where_no_pod_may_be_left_out_none_shares_processes_with_the_sidecar_either() {
    let mandatory = Settings {
        exemption: Exemption::Refused,
        ..settings()
    };
    for shared in ["shareProcessNamespace", "hostPID"] {
        let request = |trust: Option<&str>| {
            with(|pod| {
                pod["spec"][shared] = json!(true);
                if let Some(trust) = trust {
                    pod["metadata"]["annotations"]["bartizan/trust"] = json!(trust);
                }
            })
        };
        let warned = response(&answer(&request(None)));
        assert!(
            warned["warnings"].to_string().contains("read the sidecar's key"),
            "{warned}"
        );
        let decide = |request: &Value| review(request.to_string().as_bytes(), &mandatory);
        let refused = decide(&request(None));
        assert!(refused.reason().unwrap().contains(shared), "{refused:?}");
        assert!(decide(&request(Some("amf"))).reason().unwrap().contains("wait-nrf"));
        assert_eq!(response(&decide(&request(Some("amf,wait-nrf"))))["allowed"], true);
        // A container that comes later.
        let mut added = update("ephemeralcontainers", |pod| {
            pod["spec"]["ephemeralContainers"] = json!([{ "name": "debugger", "image": "busybox" }]);
        });
        added["request"]["object"]["spec"][shared] = json!(true);
        assert!(decide(&added).reason().unwrap().contains("debugger"));
    }
}

/// An update of the injected pod.
fn update(part: &str, change: impl FnOnce(&mut Value)) -> Value {
    let old = defaulted(&patched(&amf()));
    let mut request = amf();
    request["request"]["operation"] = json!("UPDATE");
    request["request"]["subResource"] = json!(part);
    request["request"]["object"] = old.clone();
    request["request"]["oldObject"] = old;
    change(&mut request["request"]["object"]);
    request
}

#[test]
fn an_update_may_not_put_another_image_in_the_place_of_ours() {
    let label = update("", |pod| pod["metadata"]["labels"]["a"] = json!("b"));
    assert_eq!(&answer(&label).verdict, &Verdict::Unchanged);
    let function = update("", |pod| {
        pod["spec"]["containers"][0]["image"] = json!("free5gc/amf:v5");
    });
    assert_eq!(&answer(&function).verdict, &Verdict::Unchanged);
    for place in [0, 1] {
        let said = reason(&update("", |pod| {
            pod["spec"]["initContainers"][place]["image"] = json!("somebody/else");
        }));
        assert!(said.contains("and nothing else"), "{said}");
    }
    // From the image of an earlier version to the one that is injected today.
    let mut newer = update("", |_| {});
    newer["request"]["oldObject"]["spec"]["initContainers"][1]["image"] = json!("registry.5gc/bartizan-sidecar:0");
    assert_eq!(&answer(&newer).verdict, &Verdict::Unchanged);
}

#[test]
fn a_debugging_container_may_not_hold_what_passes_the_rules_or_join_the_sidecar() {
    let added = |container: Value| {
        update("ephemeralcontainers", |pod| {
            pod["spec"]["ephemeralContainers"] = json!([container]);
        })
    };
    let plain = json!({ "name": "debugger", "image": "busybox", "targetContainerName": "amf" });
    let admitted = answer(&added(plain));
    assert_eq!(&admitted.verdict, &Verdict::Unchanged);
    let warnings = response(&admitted)["warnings"].to_string();
    assert!(
        warnings.contains("do not drop NET_RAW") && warnings.contains("debugger"),
        "{warnings}"
    );
    for (container, wanted) in [
        (
            json!({ "name": "d", "securityContext": { "capabilities": { "add": ["NET_ADMIN"] } } }),
            "d has NET_ADMIN",
        ),
        (
            json!({ "name": "d", "securityContext": { "privileged": true } }),
            "d has privileged",
        ),
        (
            json!({ "name": "d", "securityContext": { "runAsUser": 10_101 } }),
            "10101 is the sidecar's",
        ),
        (
            json!({ "name": "d", "targetContainerName": SIDECAR }),
            "shares the processes of bartizan-sidecar",
        ),
        (
            json!({ "name": "d", "volumeMounts": [{ "name": "bartizan-identity" }] }),
            "d mounts bartizan-identity",
        ),
    ] {
        let said = reason(&added(container));
        assert!(said.contains(wanted), "{said}");
    }
    // Trust by the annotation of a running pod, which its author may change, is recorded as that of
    // a new one.
    let mut trusted = added(json!({ "name": "d", "securityContext": { "capabilities": { "add": ["NET_ADMIN"] } } }));
    trusted["request"]["object"]["metadata"]["annotations"][TRUST] = json!("d");
    let trusted = response(&answer(&trusted));
    assert_eq!(trusted["allowed"], true);
    assert_eq!(trusted["auditAnnotations"]["trusted"], format!("{TRUST}: d"));
    // A pod that was left out has nothing to lose.
    let mut left_out = added(json!({ "name": "d", "securityContext": { "privileged": true } }));
    left_out["request"]["object"]["spec"]["initContainers"] = json!([]);
    assert_eq!(&answer(&left_out).verdict, &Verdict::Unchanged);
}

#[test]
fn what_is_no_review_of_a_pod_is_refused_and_says_why() {
    for (places, value, wanted) in [
        (
            &["apiVersion"][..],
            json!("admission.k8s.io/v1beta1"),
            "reads AdmissionReview of admission.k8s.io/v1",
        ),
        (&["kind"], json!("ConversionReview"), "this webhook reads"),
        (&["request"], Value::Null, "no request with a uid"),
        (&["request.kind.kind"], json!("Deployment"), "decides about pods"),
        (&["request.operation"], json!("DELETE"), "not DELETE of pods/"),
        (
            &["request.operation", "request.subResource"],
            json!("UPDATE"),
            "not UPDATE of pods/UPDATE",
        ),
        (&["request.object"], Value::Null, "object: the object is no Pod"),
        (
            &["request.operation"],
            json!("UPDATE"),
            "oldObject: the object is no Pod",
        ),
    ] {
        let mut review = amf();
        places.iter().for_each(|place| set(&mut review, place, value.clone()));
        let said = reason(&review);
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    for (body, wanted) in [
        (Vec::new(), "no JSON"),
        (b"{".to_vec(), "no JSON"),
        (b"\xff".to_vec(), "no JSON"),
        (b"[".repeat(10_000), "no JSON"),
        (b" ".repeat(LARGEST + 1), "more than"),
        (b"{".repeat(20_001), "objects"),
    ] {
        let answer = review(&body, &settings());
        assert!(answer.reason().unwrap().contains(wanted), "{answer:?}");
        assert_eq!(response(&answer)["status"]["code"], 400);
    }
}

mod arbitrary {
    use proptest::prelude::*;

    use super::*;

    /// A value to put anywhere.
    fn value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            prop_oneof![
                Just("bartizan-sidecar".to_owned()),
                Just("bartizan-redirect".to_owned()),
                Just("bartizan-identity".to_owned()),
                Just("disabled".to_owned()),
                Just("NET_ADMIN".to_owned()),
                ".{0,8}",
            ]
            .prop_map(Value::from),
            Just(json!([])),
            Just(json!({})),
            Just(json!([{ "name": "bartizan-sidecar" }])),
            Just(json!({ "add": ["NET_RAW"] })),
        ]
    }

    /// The place of a value in a document, by numbers that choose at each level.
    fn place<'a>(mut value: &'a mut Value, way: &[usize]) -> &'a mut Value {
        for step in way {
            let size = match &*value {
                Value::Object(map) => map.len(),
                Value::Array(all) => all.len(),
                _ => 0,
            };
            if size == 0 {
                break;
            }
            value = match value {
                Value::Object(map) => map.values_mut().nth(step % size).unwrap(),
                Value::Array(all) => &mut all[step % size],
                _ => unreachable!("it has no size"),
            };
        }
        value
    }

    fn holds(body: &[u8], object: &Value) {
        let answer = review(body, &settings());
        let response = response(&answer);
        assert!(response["uid"].is_string());
        match &answer.verdict {
            Verdict::Injected(_) => {
                let pod = apply(&answer, object);
                let init = &pod["spec"]["initContainers"];
                assert_eq!(names(init)[..2], [REDIRECT, SIDECAR]);
                assert_eq!(
                    names(init)
                        .iter()
                        .filter(|name| [REDIRECT, SIDECAR].contains(name))
                        .count(),
                    2
                );
                assert_eq!(init[0]["securityContext"]["capabilities"]["add"], json!(["NET_ADMIN"]));
                assert_eq!(init[1]["image"], settings().image);
                // Once more, nothing is to be done.
                let again = with(|other| *other = pod.clone());
                let again = review(again.to_string().as_bytes(), &settings());
                assert_eq!(&again.verdict, &Verdict::Unchanged);
            }
            Verdict::Unchanged | Verdict::LeftOut => assert_eq!(response["patch"], Value::Null),
            Verdict::Refused(_) | Verdict::Malformed(_) => assert_eq!(response["allowed"], false),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        #[test]
        fn bytes_never_panic(body in proptest::collection::vec(any::<u8>(), 0..400)) {
            let answer = review(&body, &settings());
            prop_assert!(!answer.is_allowed());
            response(&answer);
        }

        #[test]
        fn a_pod_with_values_exchanged_is_refused_or_has_both_containers_first(
            changes in proptest::collection::vec((proptest::collection::vec(0usize..12, 1..9), value()), 1..4),
            injected in any::<bool>(),
        ) {
            let mut review = amf();
            if injected {
                review["request"]["object"] = defaulted(&patched(&amf()));
            }
            for (way, value) in changes {
                *place(&mut review["request"]["object"], &way) = value;
            }
            holds(review.to_string().as_bytes(), &review["request"]["object"]);
        }

        #[test]
        fn a_review_with_bytes_exchanged_never_panics(place in 0usize..AMF.len(), byte in any::<u8>()) {
            let mut body = AMF.as_bytes().to_vec();
            body[place] = byte;
            let answer = review(&body, &settings());
            response(&answer);
        }
    }
}
