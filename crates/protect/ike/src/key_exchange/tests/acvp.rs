//! NIST's vectors of decapsulation (ACVP), through the half of the key exchange that decapsulates.

use data_encoding::HEXLOWER;
use serde_json::Value;

use super::super::*;

fn bytes(value: &Value) -> Vec<u8> {
    HEXLOWER.decode(value.as_str().expect("text").as_bytes()).expect("hex")
}

/// A ciphertext that was changed on its way gives another secret, derived from the key alone (FIPS
/// 203, algorithm 18: implicit rejection).
#[test]
fn ml_kem_decapsulates_as_nist_says_also_what_was_changed() {
    let vectors: Value = serde_json::from_str(include_str!("acvp.json")).expect("JSON");
    let groups = vectors["groups"].as_array().expect("groups");
    let sets = [&kem::ML_KEM_512, &kem::ML_KEM_768, &kem::ML_KEM_1024];
    assert_eq!(groups.len(), sets.len());
    for (group, algorithm) in groups.iter().zip(sets) {
        let name = group["parameterSet"].as_str().expect("a name");
        let mut counted = [0; 2];
        for test in group["tests"].as_array().expect("tests") {
            let key = DecapsulationKey::new(algorithm, &bytes(&group["dk"])).expect("a key");
            let secret = PendingEncapsulation(key).finish(&bytes(&test["c"]));
            let secret = secret.unwrap_or_else(|error| panic!("{name} {}: {error:?}", test["tcId"]));
            assert_eq!(secret[..], bytes(&test["k"])[..], "{name} {}", test["tcId"]);
            counted[usize::from(test["modified"] == true)] += 1;
        }
        assert!(counted[0] > 0 && counted[1] > 0, "{name}: {counted:?}");
    }
}
