//! Names of network functions, by which a mistyped one is recognised. Others are free to choose.

use strsim::osa_distance;

/// Network functions of a 5G core and its neighbours (NFType of TS 29.510), and elements of the
/// RAN.
const KNOWN: [&str; 98] = [
    "NRF",
    "UDM",
    "AMF",
    "SMF",
    "AUSF",
    "NEF",
    "PCF",
    "SMSF",
    "NSSF",
    "UDR",
    "LMF",
    "GMLC",
    "5G-EIR",
    "SEPP",
    "UPF",
    "N3IWF",
    "AF",
    "UDSF",
    "BSF",
    "CHF",
    "NWDAF",
    "P-CSCF",
    "CBCF",
    "HSS",
    "UCMF",
    "SOR-AF",
    "SPAF",
    "MME",
    "SCS",
    "SCSAS",
    "SCEF",
    "SCP",
    "NSSAAF",
    "I-CSCF",
    "S-CSCF",
    "DRA",
    "IMS-AS",
    "AAnF",
    "5G-DDNMF",
    "NSACF",
    "MFAF",
    "EASDF",
    "DCCF",
    "MB-SMF",
    "TSCTSF",
    "ADRF",
    "GBA-BSF",
    "CEF",
    "MB-UPF",
    "NSWOF",
    "PKMF",
    "MNPF",
    "SMS-GMSC",
    "SMS-IWMSC",
    "MBSF",
    "MBSTF",
    "PANF",
    "TNGF",
    "W-AGF",
    "TWIF",
    "TSN-AF",
    "SGW",
    "PGW",
    "PCRF",
    "IPUPS",
    "SLPKMF",
    "TWAN",
    "ePDG",
    "CAPIF",
    "EES",
    "ECS",
    "MRF",
    "MRFP",
    "DCSF",
    "gNB",
    "ng-eNB",
    "eNB",
    "en-gNB",
    "CU",
    "CU-CP",
    "CU-UP",
    "DU",
    "RU",
    "O-CU",
    "O-CU-CP",
    "O-CU-UP",
    "O-DU",
    "O-RU",
    "O-eNB",
    "RIC",
    "near-RT RIC",
    "non-RT RIC",
    "SMO",
    "O-Cloud",
    "xApp",
    "rApp",
    "UE",
    "CBC",
];

/// The known function that was meant where a name is none, and is one if two letters change places.
/// A letter more, or another one, may make a function that is not known here: cSEPP, PCEF.
pub fn meant_function(text: &str) -> Option<&'static str> {
    let plain = |name: &str| -> String {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|letter| letter.to_ascii_lowercase()).collect()
    };
    // A number distinguishes several of a kind.
    let written = plain(text.trim_end_matches(|last: char| last.is_ascii_digit()));
    // Longer names are a vendor's; comparing takes the product of both lengths.
    if written.len() > 16 || KNOWN.iter().any(|known| plain(known) == written) {
        return None;
    }
    let letters = |name: &str| {
        let mut letters: Vec<char> = name.chars().collect();
        letters.sort_unstable();
        letters
    };
    let near = |known: &str| letters(&written) == letters(known) && osa_distance(&written, known) == 1;
    KNOWN.into_iter().find(|known| near(&plain(known)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_function_is_recognised_and_others_are_free() {
        for (written, meant) in [
            ("AFM", Some("AMF")),
            ("NFR", Some("NRF")),
            ("AUFS", Some("AUSF")),
            ("near-RT RCI", Some("near-RT RIC")),
            ("O-CU-PC", Some("O-CU-CP")),
            ("AMF", None),
            ("amf", None),
            ("UPF2", None),
            ("o_du_1", None),
            ("near RT RIC", None),
            ("VPF", None),
            ("cSEPP", None),
            ("PCEF", None),
            ("NSSMF", None),
            ("AUSF-A", None),
            ("billing", None),
            ("", None),
        ] {
            assert_eq!(meant_function(written), meant, "{written}");
        }
    }
}
