//! CycloneDX's names of algorithms.

/// Family, elliptic curve and parameter set, as CycloneDX lists them; empty where its lists have none.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Naming {
    pub(super) family: Option<&'static str>,
    pub(super) curve: Option<String>,
    pub(super) parameters: Option<String>,
}

/// Groups of TLS over curves of GOST R 34.10 (RFC 9367, table 9), and what CycloneDX calls the curves.
const GOST_CURVES: [(&str, &str); 7] = [
    ("gc256a", "id-tc26-gost-3410-2012-256-paramSetA"),
    ("gc256b", "id-GostR3410-2001-CryptoPro-A-ParamSet"),
    ("gc256c", "id-GostR3410-2001-CryptoPro-B-ParamSet"),
    ("gc256d", "id-GostR3410-2001-CryptoPro-C-ParamSet"),
    ("gc512a", "id-tc26-gost-3410-12-512-paramSetA"),
    ("gc512b", "id-tc26-gost-3410-12-512-paramSetB"),
    ("gc512c", "id-tc26-gost-3410-2012-512-paramSetC"),
];

/// Curves of key agreement by their object identifiers (RFC 5480, 5639, 8410), as CycloneDX names
/// them.
const CURVES: [(&str, &str); 8] = [
    ("other/Curve25519", "1.3.101.110"),
    ("other/Curve448", "1.3.101.111"),
    ("secg/secp256r1", "1.2.840.10045.3.1.7"),
    ("secg/secp384r1", "1.3.132.0.34"),
    ("secg/secp521r1", "1.3.132.0.35"),
    ("brainpool/brainpoolP256r1", "1.3.36.3.3.2.8.1.1.7"),
    ("brainpool/brainpoolP384r1", "1.3.36.3.3.2.8.1.1.11"),
    ("brainpool/brainpoolP512r1", "1.3.36.3.3.2.8.1.1.13"),
];

/// Algorithms by family and parameter set (NIST's register of algorithms, RFC 8410).
const SETS: [(&str, &str, &str); 23] = [
    ("ML-KEM", "512", "2.16.840.1.101.3.4.4.1"),
    ("ML-KEM", "768", "2.16.840.1.101.3.4.4.2"),
    ("ML-KEM", "1024", "2.16.840.1.101.3.4.4.3"),
    ("ML-DSA", "44", "2.16.840.1.101.3.4.3.17"),
    ("ML-DSA", "65", "2.16.840.1.101.3.4.3.18"),
    ("ML-DSA", "87", "2.16.840.1.101.3.4.3.19"),
    ("SLH-DSA", "SHA2-128s", "2.16.840.1.101.3.4.3.20"),
    ("SLH-DSA", "SHA2-128f", "2.16.840.1.101.3.4.3.21"),
    ("SLH-DSA", "SHA2-192s", "2.16.840.1.101.3.4.3.22"),
    ("SLH-DSA", "SHA2-192f", "2.16.840.1.101.3.4.3.23"),
    ("SLH-DSA", "SHA2-256s", "2.16.840.1.101.3.4.3.24"),
    ("SLH-DSA", "SHA2-256f", "2.16.840.1.101.3.4.3.25"),
    ("SLH-DSA", "SHAKE-128s", "2.16.840.1.101.3.4.3.26"),
    ("SLH-DSA", "SHAKE-128f", "2.16.840.1.101.3.4.3.27"),
    ("SLH-DSA", "SHAKE-192s", "2.16.840.1.101.3.4.3.28"),
    ("SLH-DSA", "SHAKE-192f", "2.16.840.1.101.3.4.3.29"),
    ("SLH-DSA", "SHAKE-256s", "2.16.840.1.101.3.4.3.30"),
    ("SLH-DSA", "SHAKE-256f", "2.16.840.1.101.3.4.3.31"),
    ("EdDSA", "Ed25519", "1.3.101.112"),
    ("EdDSA", "Ed448", "1.3.101.113"),
    ("SHA-2", "256", "2.16.840.1.101.3.4.2.1"),
    ("SHA-2", "384", "2.16.840.1.101.3.4.2.2"),
    ("SHA-2", "512", "2.16.840.1.101.3.4.2.3"),
];

/// Modes of AES under keys of 128, 192 and 256 bits (NIST's register of algorithms).
const AES: [(&str, [&str; 3]); 3] = [
    (
        "CBC",
        [
            "2.16.840.1.101.3.4.1.2",
            "2.16.840.1.101.3.4.1.22",
            "2.16.840.1.101.3.4.1.42",
        ],
    ),
    (
        "GCM",
        [
            "2.16.840.1.101.3.4.1.6",
            "2.16.840.1.101.3.4.1.26",
            "2.16.840.1.101.3.4.1.46",
        ],
    ),
    (
        "CCM",
        [
            "2.16.840.1.101.3.4.1.7",
            "2.16.840.1.101.3.4.1.27",
            "2.16.840.1.101.3.4.1.47",
        ],
    ),
];

/// Signatures by what their names contain (RFC 5758, 8017).
const SIGNATURES: [(&str, &str, &str); 6] = [
    ("ECDSA", "sha256", "1.2.840.10045.4.3.2"),
    ("ECDSA", "sha384", "1.2.840.10045.4.3.3"),
    ("ECDSA", "sha512", "1.2.840.10045.4.3.4"),
    ("RSASSA-PKCS1", "sha256", "1.2.840.113549.1.1.11"),
    ("RSASSA-PKCS1", "sha384", "1.2.840.113549.1.1.12"),
    ("RSASSA-PKCS1", "sha512", "1.2.840.113549.1.1.13"),
];

/// The object identifier of an algorithm of this name, where one exists: hybrids have none.
pub(super) fn oid(name: &str, naming: &Naming) -> Option<&'static str> {
    let (family, parameters) = (naming.family?, naming.parameters.as_deref().unwrap_or_default());
    let by_name = name.to_ascii_lowercase();
    match family {
        "ECDH" => {
            let curve = naming.curve.as_deref()?;
            CURVES.iter().find(|(known, _)| *known == curve).map(|(_, oid)| *oid)
        }
        "AES" => {
            let (_, sizes) = AES
                .iter()
                .find(|(mode, _)| by_name.contains(&mode.to_ascii_lowercase()))?;
            let size = ["128", "192", "256"].iter().position(|bits| *bits == parameters)?;
            sizes.get(size).copied()
        }
        "RSASSA-PSS" => Some("1.2.840.113549.1.1.10"),
        "ECDSA" | "RSASSA-PKCS1" => {
            let mut known = SIGNATURES.iter();
            let found = known.find(|(kind, hash, _)| *kind == family && by_name.contains(hash));
            found.map(|(.., oid)| *oid)
        }
        _ => {
            let mut known = SETS.iter();
            known
                .find(|(kind, set, _)| *kind == family && *set == parameters)
                .map(|(.., oid)| *oid)
        }
    }
}

fn digits(name: &str) -> Option<String> {
    let digits: String = name.chars().filter(char::is_ascii_digit).collect();
    (!digits.is_empty()).then_some(digits)
}

/// CycloneDX's name of a key exchange.
pub(super) fn key_exchange(name: &str) -> Naming {
    let plain = name.to_ascii_lowercase().replace(['-', '_', ' '], "");
    let elliptic = |curve: String| Naming {
        family: Some("ECDH"),
        parameters: curve.rsplit('/').next().map(str::to_owned),
        curve: Some(curve),
    };
    if let Some(size) = plain.strip_prefix("mlkem") {
        return Naming {
            family: Some("ML-KEM"),
            parameters: Some(size.to_owned()),
            curve: None,
        };
    }
    if plain.ends_with("25519") {
        return elliptic("other/Curve25519".into());
    }
    if plain.ends_with("448") && !plain.contains("bit") {
        return elliptic("other/Curve448".into());
    }
    if plain.starts_with("secp") || plain.starts_with("sect") {
        return elliptic(format!("secg/{plain}"));
    }
    if plain.contains("bitrandomecp") {
        let bits = plain.split("bit").next().unwrap_or_default();
        return elliptic(format!("secg/secp{bits}r1"));
    }
    if plain.starts_with("brainpoolp") {
        return elliptic(format!("brainpool/{}", name.trim_end_matches("tls13")));
    }
    if plain == "curvesm2" {
        return elliptic("oscaa/SM2".into());
    }
    if let Some((_, curve)) = GOST_CURVES.iter().find(|(group, _)| plain == *group) {
        return Naming {
            family: Some("GOST"),
            curve: Some(format!("gost/{curve}")),
            parameters: Some(name.to_owned()),
        };
    }
    let family = if plain.starts_with("ffdhe") || plain.contains("modp") {
        Some("FFDH")
    } else if plain.starts_with("gost") {
        Some("GOST")
    } else {
        None
    };
    let parameters = match family {
        // "2048-bit MODP with 224-bit subgroup": the modulus comes first.
        Some("FFDH") => digits(plain.split("bit").next().unwrap_or(&plain)),
        _ => Some(name.to_owned()),
    };
    Naming {
        family,
        parameters,
        curve: None,
    }
}

/// CycloneDX's name of a signature.
pub(super) fn signature(name: &str) -> Naming {
    let plain = name.to_ascii_lowercase().replace(['-', '_', ' ', ','], "");
    let of = |family, curve: Option<&str>, parameters: Option<String>| Naming {
        family: Some(family),
        curve: curve.map(str::to_owned),
        parameters,
    };
    if let Some(size) = plain.strip_prefix("mldsa").filter(|size| size.len() == 2) {
        return of("ML-DSA", None, Some(size.to_owned()));
    }
    if let Some(set) = plain.strip_prefix("slhdsa") {
        let set = match set.strip_prefix("sha2") {
            Some(rest) => format!("SHA2-{rest}"),
            None => format!("SHAKE-{}", set.trim_start_matches("shake")),
        };
        return of("SLH-DSA", None, Some(set));
    }
    // A composite, or a pre-hashed one: no family of CycloneDX is right for it.
    if plain.contains("mldsa") {
        return Naming {
            parameters: Some(name.to_owned()),
            ..Naming::default()
        };
    }
    if plain.contains("ed25519") {
        return of("EdDSA", Some("other/Ed25519"), Some("Ed25519".into()));
    }
    if plain.contains("ed448") {
        return of("EdDSA", Some("other/Ed448"), Some("Ed448".into()));
    }
    if plain.contains("ecdsa") || plain.contains("ecpublickey") {
        let curves = [
            ("secp256r1", "secg/secp256r1"),
            ("secp384r1", "secg/secp384r1"),
            ("secp521r1", "secg/secp521r1"),
            ("ecpublickeyp256", "secg/secp256r1"),
            ("ecpublickeyp384", "secg/secp384r1"),
            ("ecpublickeyp521", "secg/secp521r1"),
            ("brainpoolp256r1", "brainpool/brainpoolP256r1"),
            ("brainpoolp384r1", "brainpool/brainpoolP384r1"),
            ("brainpoolp512r1", "brainpool/brainpoolP512r1"),
        ];
        let curve = curves
            .into_iter()
            .find(|(word, _)| plain.contains(word))
            .map(|(_, curve)| curve);
        return of(
            "ECDSA",
            curve,
            curve.and_then(|curve| curve.rsplit('/').next()).map(str::to_owned),
        );
    }
    if plain.contains("pss") {
        return of("RSASSA-PSS", None, None);
    }
    if plain.contains("pkcs1") || plain.ends_with("withrsaencryption") {
        return of("RSASSA-PKCS1", None, None);
    }
    if plain.starts_with("sm2") {
        return of("SM2", Some("oscaa/SM2"), None);
    }
    Naming::default()
}

/// CycloneDX's name of a cipher, without its key length.
pub(super) fn encryption(name: &str) -> Naming {
    let families = [
        ("AES", "AES"),
        ("CHACHA20", "ChaCha20"),
        ("CAMELLIA", "CAMELLIA"),
        ("SM4", "SM4"),
        ("KUZNYECHIK", "GOST"),
        ("MAGMA", "GOST"),
    ];
    let family = families.into_iter().find(|(word, _)| name.contains(word));
    Naming {
        family: family.map(|(_, family)| family),
        ..Naming::default()
    }
}
