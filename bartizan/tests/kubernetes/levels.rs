//! Pod Security levels, which the API server checks after the webhook has changed a pod.

use bartizan_testing::eventually;
use serde_json::json;

use crate::cluster::{CORE, Cluster, SYSTEM, pod};
use crate::webhook::{self, NAME};

#[test]
fn of_what_is_injected_only_the_rules_want_more_than_the_levels_allow() {
    let cluster = Cluster::start();
    let _webhook = webhook::install(&cluster);
    let mut amf = pod("amf", json!({ "bartizan/node": "amf" }));
    amf["spec"]["containers"][0]["securityContext"]["capabilities"] = json!({ "drop": ["ALL"] });
    for (level, all) in [
        (
            "baseline",
            &[
                "non-default capabilities (container \"bartizan-redirect\" must not include \"NET_ADMIN\" in securityContext.capabilities.add)",
            ][..],
        ),
        (
            "restricted",
            &[
                "unrestricted capabilities (container \"bartizan-redirect\" must not include \"NET_ADMIN\" in securityContext.capabilities.add)",
                "runAsNonRoot != true (container \"bartizan-redirect\" must not set securityContext.runAsNonRoot=false)",
                "runAsUser=0 (container \"bartizan-redirect\" must not set runAsUser=0)",
            ],
        ),
    ] {
        cluster.works(&format!(
            "label namespace {CORE} --overwrite pod-security.kubernetes.io/enforce={level}"
        ));
        let said = eventually("the level is in effect", || {
            let said = cluster.give(&format!("--namespace {CORE} create --dry-run=server"), &amf);
            (!said.works).then_some(said)
        });
        assert!(
            said.err.contains(&format!("violates PodSecurity \"{level}:latest\": ")),
            "{said:?}"
        );
        for reason in all {
            assert!(said.err.contains(reason), "{reason}: {said:?}");
        }
        // Everything else of both containers is within the level.
        assert_eq!(said.err.matches("bartizan-redirect").count(), all.len(), "{said:?}");
        assert!(
            !said.err.contains("bartizan-sidecar") && !said.err.contains("volume"),
            "{said:?}"
        );
    }
    cluster.works(&format!(
        "label namespace {CORE} --overwrite pod-security.kubernetes.io/enforce=privileged pod-security.kubernetes.io/warn=baseline"
    ));
    let said = eventually("the level is in effect", || {
        Some(cluster.create(CORE, &amf)).filter(|said| said.works)
    });
    assert!(
        said.err
            .contains("Warning: would violate PodSecurity \"baseline:latest\""),
        "{said:?}"
    );

    // The webhook's ServiceAccount has no more rights than every other.
    let rights = |account: &str| {
        cluster.works(&format!(
            "--namespace {SYSTEM} auth can-i --list --as system:serviceaccount:{SYSTEM}:{account}"
        ))
    };
    assert_eq!(rights(NAME), rights("default"));
}
