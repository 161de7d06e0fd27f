//! The document as an older version of CycloneDX has it.

use serde_json::{Value, json};

/// A version of CycloneDX that documents are written in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Version {
    /// 1.6, for tools that take no other. Groups and signature schemes of suites are in names
    /// alone.
    V1_6,
    /// 1.7.
    #[default]
    V1_7,
}

impl Version {
    /// Writes a document of 1.7 in this version: what it has no field for is left out.
    pub fn write(self, mut document: Value) -> Value {
        if self == Self::V1_7 {
            return document;
        }
        document["$schema"] = json!("http://cyclonedx.org/schema/bom-1.6.schema.json");
        document["specVersion"] = json!("1.6");
        for component in document["components"].as_array_mut().into_iter().flatten() {
            if let Some(crypto) = component.get_mut("cryptoProperties") {
                older(crypto);
            }
        }
        document
    }
}

fn older(crypto: &mut Value) {
    if let Some(Value::Object(algorithm)) = crypto.get_mut("algorithmProperties") {
        algorithm.remove("algorithmFamily");
        if let Some(curve) = algorithm.remove("ellipticCurve") {
            let name = curve
                .as_str()
                .and_then(|curve| curve.rsplit('/').next())
                .map(str::to_owned);
            algorithm.insert("curve".into(), json!(name));
        }
    }
    if let Some(protocol) = crypto.get_mut("protocolProperties") {
        if !["tls", "ssh", "ipsec", "ike"].contains(&protocol["type"].as_str().unwrap_or_default()) {
            protocol["type"] = json!("other");
        }
        let suites = protocol.get_mut("cipherSuites").and_then(Value::as_array_mut);
        for suite in suites.into_iter().flatten() {
            if let Value::Object(suite) = suite {
                suite.remove("tlsGroups");
                suite.remove("tlsSignatureSchemes");
            }
        }
        if let Some(Value::Object(types)) = protocol.get_mut("ikev2TransformTypes") {
            for transforms in types.values_mut() {
                let references = transforms.as_array().into_iter().flatten();
                *transforms = references.map(|one| one["algorithm"].clone()).collect();
            }
        }
    }
    if let Some(Value::Object(certificate)) = crypto.get_mut("certificateProperties") {
        const OF_1_6: [&str; 8] = [
            "subjectName",
            "issuerName",
            "notValidBefore",
            "notValidAfter",
            "signatureAlgorithmRef",
            "subjectPublicKeyRef",
            "certificateFormat",
            "certificateExtension",
        ];
        for one in certificate
            .get("relatedCryptographicAssets")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default()
        {
            let field = match one["type"].as_str() {
                Some("algorithm") => "signatureAlgorithmRef",
                _ => "subjectPublicKeyRef",
            };
            certificate.insert(field.into(), one["ref"].clone());
        }
        certificate.retain(|field, _| OF_1_6.contains(&field.as_str()));
    }
}
