//! Network functions as they present themselves to an NRF.

use serde_json::{Value, json};

/// A type of network function that registers, and the type that it discovers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Function {
    /// As TS 29.510 abbreviates it.
    pub kind: &'static str,
    /// A service it offers.
    service: &'static str,
    /// The type it discovers.
    pub looks_for: &'static str,
}

/// Every type of the matrix. That AMF looks for AUSF, AUSF for UDM, UDM and PCF for UDR was
/// recorded from free5GC (lab/experiments/ue-registration). SMF needs a UDM for its sessions. UDR
/// and NSSF depend on no other function, and look for their callers.
const ALL: [Function; 7] = [
    function("AMF", "namf-comm", "AUSF"),
    function("SMF", "nsmf-pdusession", "UDM"),
    function("AUSF", "nausf-auth", "UDM"),
    function("UDM", "nudm-ueau", "UDR"),
    function("UDR", "nudr-dr", "UDM"),
    function("PCF", "npcf-am-policy-control", "UDR"),
    function("NSSF", "nnssf-nsselection", "AMF"),
];

const fn function(kind: &'static str, service: &'static str, looks_for: &'static str) -> Function {
    Function {
        kind,
        service,
        looks_for,
    }
}

impl Function {
    /// The names of all types.
    pub const KINDS: [&'static str; ALL.len()] = {
        let mut kinds = [""; ALL.len()];
        let mut index = 0;
        while index < ALL.len() {
            kinds[index] = ALL[index].kind;
            index += 1;
        }
        kinds
    };

    /// The one of this name.
    #[must_use]
    pub fn named(kind: &str) -> Option<Self> {
        ALL.into_iter().find(|function| function.kind == kind)
    }

    /// Its profile (TS 29.510, clause 6.1.6.2.2). It asks not to be chosen: priority is the lowest
    /// and capacity nothing, and its name is one that cannot exist (RFC 6761), in case the NRF is
    /// one that others use.
    #[must_use]
    pub fn profile(&self, id: &str) -> Value {
        let lower = self.kind.to_ascii_lowercase();
        json!({
            "nfInstanceId": id,
            "nfType": self.kind,
            "nfStatus": "REGISTERED",
            "nfInstanceName": format!("bartizan-lab-{lower}"),
            "plmnList": [{ "mcc": "001", "mnc": "01" }],
            "fqdn": format!("{lower}.bartizan-lab.invalid"),
            "ipv4Addresses": ["192.0.2.1"],
            "priority": 65535,
            "capacity": 0,
            "nfServices": [{
                "serviceInstanceId": id,
                "serviceName": self.service,
                "versions": [{ "apiVersionInUri": "v1", "apiFullVersion": "1.0.0" }],
                "scheme": "http",
                "nfServiceStatus": "REGISTERED",
                "ipEndPoints": [{ "ipv4Address": "192.0.2.1", "transport": "TCP", "port": 8000 }],
                "apiPrefix": "http://192.0.2.1:8000",
            }],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_function_looks_for_one_that_is_there() {
        for function in ALL {
            assert!(Function::named(function.looks_for).is_some(), "{}", function.kind);
        }
        assert_eq!(Function::KINDS[0], "AMF");
        assert_eq!(Function::named("XYZ"), None);
    }
}
