//! Attributes that a profile must have to be accepted (TS 29.510, clause 6.1.6.2.2).

use serde_json::Value;

/// Fault of a profile, by attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unfit {
    /// The attribute as a JSON pointer.
    pub(super) param: String,
    pub(super) reason: String,
}

fn unfit(param: &str, reason: impl Into<String>) -> Unfit {
    Unfit {
        param: param.to_owned(),
        reason: reason.into(),
    }
}

/// The attributes that are mandatory, and the form of those that others are answered with.
pub(super) fn check(profile: &Value, id: &str) -> Result<(), Unfit> {
    let Some(attributes) = profile.as_object() else {
        return Err(unfit("", "a profile is a JSON object"));
    };
    for name in ["nfInstanceId", "nfType", "nfStatus"] {
        match attributes.get(name) {
            None => return Err(unfit(&format!("/{name}"), "missing")),
            Some(Value::String(text)) if !text.is_empty() => {}
            Some(_) => return Err(unfit(&format!("/{name}"), "not a string with something in it")),
        }
    }
    if profile["nfInstanceId"] != id {
        return Err(unfit("/nfInstanceId", "not the instance of the request's path"));
    }
    // Clause 6.1.6.2.2: at least one way to reach the instance.
    let reachable = ["fqdn", "ipv4Addresses", "ipv6Addresses"];
    if !reachable.iter().any(|name| attributes.contains_key(*name)) {
        return Err(unfit("/fqdn", "none of fqdn, ipv4Addresses and ipv6Addresses is there"));
    }
    if attributes.get("heartBeatTimer").is_some_and(|timer| !timer.is_u64()) {
        return Err(unfit("/heartBeatTimer", "not a number of seconds"));
    }
    let services = attributes.get("nfServices").map_or(Ok(&[][..]), |services| {
        let list = services.as_array().map(Vec::as_slice);
        list.ok_or_else(|| unfit("/nfServices", "not an array"))
    })?;
    for (number, service) in services.iter().enumerate() {
        for name in ["serviceInstanceId", "serviceName", "scheme", "nfServiceStatus"] {
            if !service[name].is_string() {
                return Err(unfit(
                    &format!("/nfServices/{number}/{name}"),
                    "missing, or not a string",
                ));
            }
        }
    }
    Ok(())
}

/// True if the text is a UUID in the form of RFC 9562, of any version.
pub(super) fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && groups
            .iter()
            .all(|group| group.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ID: &str = "4947a69a-f61b-4bc1-b9da-47c9c5d14b64";

    #[test]
    fn what_is_missing_is_named() {
        let whole = json!({ "nfInstanceId": ID, "nfType": "AMF", "nfStatus": "REGISTERED", "ipv4Addresses": ["10.0.0.1"],
            "nfServices": [{ "serviceInstanceId": "1", "serviceName": "namf-comm", "scheme": "http", "nfServiceStatus": "REGISTERED" }] });
        assert_eq!(check(&whole, ID), Ok(()));
        for (pointer, expected) in [
            ("/nfType", "/nfType"),
            ("/nfStatus", "/nfStatus"),
            ("/ipv4Addresses", "/fqdn"),
            ("/nfServices/0/scheme", "/nfServices/0/scheme"),
        ] {
            let mut broken = whole.clone();
            let (parent, name) = pointer.rsplit_once('/').unwrap();
            broken
                .pointer_mut(parent)
                .unwrap()
                .as_object_mut()
                .unwrap()
                .remove(name);
            assert_eq!(check(&broken, ID).unwrap_err().param, expected);
        }
        assert_eq!(check(&whole, "another").unwrap_err().param, "/nfInstanceId");
        assert_eq!(check(&json!([]), ID).unwrap_err().param, "");
    }

    #[test]
    fn uuids_are_distinguished_from_other_names() {
        assert!(is_uuid(ID));
        for other in [
            "",
            "amf",
            "4947a69af61b4bc1b9da47c9c5d14b64",
            "4947a69a-f61b-4bc1-b9da-47c9c5d14b6g",
        ] {
            assert!(!is_uuid(other), "{other}");
        }
    }
}
