//! APIs over HTTP on the interfaces of a mobile network, by what their paths begin with; and
//! network functions by the names of their services.

/// A network function that serves on the service-based interface. Its services are called `n`, its
/// prefix, `-` and a name that each release adds to: `nnrf-disc`, `n5g-eir-eic` (TS 29.501, clause
/// 4.4.1; TS 29.510, ServiceName).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkFunction {
    /// Prefix of the names of its services, behind the `n`.
    pub prefix: &'static str,
    /// As the standards abbreviate it, and as `requester-nf-type` and `User-Agent` name it (TS 29.510, NFType).
    pub name: &'static str,
    /// The specification of its services, or of the first of them.
    pub document: &'static str,
}

macro_rules! functions {
    ($($prefix:literal $name:literal $document:literal;)*) => {
        &[$(NetworkFunction { prefix: $prefix, name: $name, document: $document }),*]
    };
}

/// Every network function this project knows.
pub static NETWORK_FUNCTIONS: &[NetworkFunction] = functions! {
    // prefix, name, document
    "nrf"     "NRF"      "TS 29.510";
    "amf"     "AMF"      "TS 29.518";
    "smf"     "SMF"      "TS 29.502";
    "udm"     "UDM"      "TS 29.503";
    "udr"     "UDR"      "TS 29.504";
    "ausf"    "AUSF"     "TS 29.509";
    "pcf"     "PCF"      "TS 29.507";
    "nssf"    "NSSF"     "TS 29.531";
    "nef"     "NEF"      "TS 29.591";
    "bsf"     "BSF"      "TS 29.521";
    "chf"     "CHF"      "TS 32.291";
    "smsf"    "SMSF"     "TS 29.540";
    "udsf"    "UDSF"     "TS 29.598";
    "upf"     "UPF"      "TS 29.564";
    "lmf"     "LMF"      "TS 29.572";
    "gmlc"    "GMLC"     "TS 29.515";
    "nwdaf"   "NWDAF"    "TS 29.520";
    "5g-eir"  "5G_EIR"   "TS 29.511";
    "ucmf"    "UCMF"     "TS 29.673";
    "hss"     "HSS"      "TS 29.563";
    "af"      "AF"       "TS 29.517";
    "sepp"    "SEPP"     "TS 29.573";
    "soraf"   "SOR_AF"   "TS 29.550";
    "spaf"    "SPAF"     "TS 29.544";
    "nssaaf"  "NSSAAF"   "TS 29.526";
    "nsacf"   "NSACF"    "TS 29.536";
    "aanf"    "AANF"     "TS 29.535";
    "dccf"    "DCCF"     "TS 29.574";
    "adrf"    "ADRF"     "TS 29.575";
    "mfaf"    "MFAF"     "TS 29.576";
    "iwmsc"   "IWMSC"    "TS 29.577";
    "mnpf"    "MNPF"     "TS 29.578";
    "easdf"   "EASDF"    "TS 29.556";
    "5gddnmf" "5G_DDNMF" "TS 29.555";
    "pkmf"    "PKMF"     "TS 29.559";
    "panf"    "PANF"     "TS 29.553";
    "tsctsf"  "TSCTSF"   "TS 29.565";
    "mbsmf"   "MB_SMF"   "TS 29.532";
    "mbsf"    "MBSF"     "TS 29.580";
    "mbstf"   "MBSTF"    "TS 29.581";
};

/// The network function with a service of this name: `nnrf-disc`.
pub fn network_function_of(service: &str) -> Option<&'static NetworkFunction> {
    let rest = service.strip_prefix('n')?;
    NETWORK_FUNCTIONS.iter().find(|known| {
        let name = rest.strip_prefix(known.prefix).and_then(|rest| rest.strip_prefix('-'));
        name.is_some_and(|name| !name.is_empty())
    })
}

/// The network function of this name, in upper case: `NRF`.
pub fn network_function_named(name: &str) -> Option<&'static NetworkFunction> {
    NETWORK_FUNCTIONS.iter().find(|known| known.name == name)
}

/// An API over HTTP that is no service of a network function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HttpApi {
    /// The segment of its paths that names it; case does not matter, as software differs in it.
    pub segment: &'static str,
    /// True if the segment may go on.
    pub prefix: bool,
    /// The interface it belongs to: `A1`.
    pub interface: &'static str,
    /// The network function that sends requests.
    pub client: &'static str,
    /// The network function that answers.
    pub server: &'static str,
    /// The specification.
    pub document: &'static str,
}

macro_rules! apis {
    ($($segment:literal $prefix:literal $interface:literal $client:literal $server:literal $document:literal;)*) => {
        &[$(HttpApi {
            segment: $segment,
            prefix: $prefix,
            interface: $interface,
            client: $client,
            server: $server,
            document: $document,
        }),*]
    };
}

/// Every such API this project knows.
pub static HTTP_APIS: &[HttpApi] = apis! {
    // segment, may go on, interface, who asks, who answers, document
    "n32c-handshake"       false "N32" "SEPP"            "SEPP"            "TS 29.573, clause 6.1";
    "n32f-forward"         false "N32" "SEPP"            "SEPP"            "TS 29.573, clause 6.2";
    "A1-P"                 false "A1"  "non-RT RIC"      "near-RT RIC"     "O-RAN A1AP";
    "A1-EI"                false "A1"  "near-RT RIC"     "non-RT RIC"      "O-RAN A1AP";
    "o2ims-infrastructure" true  "O2"  "SMO"             "O-Cloud"         "O-RAN O2ims";
    "o2dms"                true  "O2"  "SMO"             "O-Cloud"         "O-RAN O2dms";
    "eventListener"        false "O1"  "managed element" "event collector" "ONAP VES event listener";
    "ProvMnS"              false "O1"  "MnS consumer"    "MnS producer"    "TS 28.532";
};

/// The API that a segment of a path names.
pub fn http_api(segment: &str) -> Option<&'static HttpApi> {
    HTTP_APIS.iter().find(|known| {
        let length = known.segment.len();
        let begins = segment
            .get(..length)
            .is_some_and(|start| start.eq_ignore_ascii_case(known.segment));
        begins && (known.prefix || segment.len() == length)
    })
}

/// Prefix of the header fields of the service-based interface, in lower case (TS 29.500, clause
/// 5.2.3).
pub const SBI_HEADER: &str = "3gpp-sbi-";

/// Suffix of the names of network functions (TS 23.003, clause 28.3.2):
/// `nrf.5gc.mnc093.mcc208.3gppnetwork.org`.
pub const NETWORK_DOMAIN: &str = ".3gppnetwork.org";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_names_its_function_whatever_release_it_is_of() {
        let function = |service| network_function_of(service).map(|known| known.name);
        assert_eq!(function("nnrf-disc"), Some("NRF"));
        assert_eq!(function("n5g-eir-eic"), Some("5G_EIR"));
        assert_eq!(function("naf-eventexposure"), Some("AF"));
        assert_eq!(function("nausf-auth"), Some("AUSF"));
        assert_eq!(function("nmbsmf-tmgi"), Some("MB_SMF"));
        for other in ["nginx-status", "node-exporter", "nnrf", "nnrf-", "nrf-disc", ""] {
            assert_eq!(function(other), None, "{other}");
        }
    }

    #[test]
    fn no_prefix_of_a_function_hides_another() {
        for (index, one) in NETWORK_FUNCTIONS.iter().enumerate() {
            let service = format!("n{}-x", one.prefix);
            assert_eq!(network_function_of(&service), Some(one));
            for other in &NETWORK_FUNCTIONS[index + 1..] {
                assert_ne!(one.name, other.name);
            }
        }
    }

    #[test]
    fn an_api_is_named_by_a_whole_segment_unless_it_may_go_on() {
        let interface = |segment| http_api(segment).map(|known| known.interface);
        assert_eq!(interface("a1-p"), Some("A1"));
        assert_eq!(interface("A1-P2"), None);
        assert_eq!(interface("o2ims-infrastructureInventory"), Some("O2"));
        assert_eq!(interface("n32f-forward"), Some("N32"));
        assert_eq!(interface("eventlistener"), Some("O1"));
        assert_eq!(interface("\u{e9}"), None);
    }
}
