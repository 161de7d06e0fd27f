//! Parameters of a discovery (TS 29.510, clause 6.2.3.2.3.1), and their match with an instance.

use serde_json::Value;

/// The parameters that are looked at; others are read and left.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Search {
    pub(super) target: String,
    pub(super) requester: String,
    pub(super) services: Vec<String>,
    pub(super) instance: Option<String>,
    pub(super) limit: Option<usize>,
}

/// The parameter that is missing, or wrong, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unasked {
    pub(super) param: &'static str,
    pub(super) missing: bool,
    pub(super) reason: String,
}

impl Search {
    pub(super) fn parse(query: &str) -> Result<Self, Unasked> {
        let mut search = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let wrong = |param, reason: &str| Unasked {
                param,
                missing: false,
                reason: reason.to_owned(),
            };
            let decoded = || decoded(value);
            match name {
                "target-nf-type" => search.target = decoded(),
                "requester-nf-type" => search.requester = decoded(),
                "service-names" => search.services = decoded().split(',').map(str::to_owned).collect(),
                "target-nf-instance-id" => search.instance = Some(decoded()),
                "limit" => {
                    let limit = decoded().parse().ok().filter(|limit| *limit > 0);
                    search.limit = Some(limit.ok_or_else(|| wrong("limit", "not a number above 0"))?);
                }
                _ => {}
            }
        }
        for (param, value) in [
            ("target-nf-type", &search.target),
            ("requester-nf-type", &search.requester),
        ] {
            if value.is_empty() {
                return Err(Unasked {
                    param,
                    missing: true,
                    reason: "mandatory".to_owned(),
                });
            }
        }
        Ok(search)
    }

    /// The profile as it is answered with, if it is what is searched for: of the type, registered,
    /// and with the services.
    pub(super) fn found(&self, profile: &Value) -> Option<Value> {
        let instance = self.instance.as_ref();
        if profile["nfType"] != *self.target
            || profile["nfStatus"] != "REGISTERED"
            || instance.is_some_and(|id| profile["nfInstanceId"] != **id)
        {
            return None;
        }
        let mut found = profile.clone();
        if !self.services.is_empty() {
            let wanted = |service: &Value| self.services.iter().any(|name| service["serviceName"] == **name);
            let services = found.get_mut("nfServices")?.as_array_mut()?;
            services.retain(wanted);
            if services.is_empty() {
                return None;
            }
        }
        if let Some(members) = found.as_object_mut() {
            // `heartBeatTimer` belongs to NF management, not to a search result.
            members.remove("heartBeatTimer");
        }
        Some(found)
    }
}

/// Percent-encoding (RFC 3986, section 2.1) and the plus of forms taken off; what is not UTF-8 is replaced.
fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = |offset: usize| bytes.get(at + offset).and_then(|byte| char::from(*byte).to_digit(16));
        match (byte, hex(1), hex(2)) {
            (b'%', Some(high), Some(low)) => {
                // Two hexadecimal digits make at most 255.
                out.push(u8::try_from(high * 16 + low).unwrap_or_default());
                at += 3;
            }
            (b'+', ..) => {
                out.push(b' ');
                at += 1;
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn recorded_discoveries_are_understood() {
        let query = "preferred-locality=area1&requester-nf-type=AMF&supi=imsi-208930000000001&target-nf-type=PCF";
        let search = Search::parse(query).unwrap();
        assert_eq!((&*search.target, &*search.requester), ("PCF", "AMF"));
        let query = "requester-nf-type=AUSF&service-names=nudm-ueau,nudm%2Dsdm&target-nf-type=UDM";
        assert_eq!(Search::parse(query).unwrap().services, ["nudm-ueau", "nudm-sdm"]);
    }

    #[test]
    fn what_is_mandatory_is_named_when_it_is_missing() {
        let missing = Search::parse("target-nf-type=UDM").unwrap_err();
        assert_eq!((missing.param, missing.missing), ("requester-nf-type", true));
        assert_eq!(Search::parse("limit=0").unwrap_err().param, "limit");
    }

    proptest! {
        #[test]
        fn no_query_makes_the_reader_panic(query in ".*") {
            let _ = Search::parse(&query);
        }
    }
}
