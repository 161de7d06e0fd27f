//! The programs that Bartizan runs, speaks with or is tested against, and what is tried with each.

use std::path::Path;
use std::time::Duration;

use bartizan_host::Program;
use bartizan_macsec::mka;
use bartizan_registry::macsec_suite_named;

use super::thing::{Thing, in_a_line};
use super::tool::{Ability, Kind, Place};

const OPENSSL_35: &str =
    "OpenSSL 3.5, as Debian 13 has it; Bartizan itself needs none, the lab has its own: bartizan lab root";

/// Every one.
pub(super) const KINDS: &[Kind] = &[
    plain("ip", "iproute2", Thing::Ip, Some("/sbin/ip"), &["-V"]),
    plain("nft", "nftables", Thing::Nft, Some("/usr/sbin/nft"), &["--version"]),
    Kind {
        abilities: &[Ability {
            thing: Thing::CurlHttp2,
            name: "HTTP/2 without TLS",
            attempt: |place| done(place, &["--http2-prior-knowledge", "--version"]),
            get: "apt-get install curl: Debian builds it with HTTP/2",
        }],
        ..plain("curl", "curl", Thing::Curl, None, &["--version"])
    },
    plain("nghttpd", "nghttp2-server", Thing::Nghttpd, None, &["--version"]),
    plain("h2load", "nghttp2-client", Thing::H2load, None, &["--version"]),
    Kind {
        abilities: &[
            Ability {
                thing: Thing::OpensslMlKem,
                name: "ML-KEM-768 keys",
                attempt: |place| done(place, &["genpkey", "-algorithm", "ML-KEM-768"]),
                get: OPENSSL_35,
            },
            Ability {
                thing: Thing::OpensslMlDsa,
                name: "ML-DSA-65 keys",
                attempt: |place| done(place, &["genpkey", "-algorithm", "ML-DSA-65"]),
                get: OPENSSL_35,
            },
            Ability {
                thing: Thing::OpensslTlsHybrid,
                name: "X25519MLKEM768 in TLS",
                attempt: |place| {
                    let names = place.ask(&["list", "-tls-groups"])?.text();
                    let known = names.split([':', '\n']).any(|name| name.trim() == "X25519MLKEM768");
                    known.then_some(None).ok_or_else(|| "not among its groups".to_owned())
                },
                get: OPENSSL_35,
            },
        ],
        ..plain("openssl", "openssl", Thing::Openssl, None, &["version"])
    },
    Kind {
        abilities: &[
            Ability {
                thing: Thing::TsharkMlKem,
                name: "names ML-KEM in TLS",
                attempt: |place| names(place, "tls.handshake.extensions_supported_group", "X25519MLKEM768"),
                get: "tshark 4.4, as Debian 13 has it; the lab has its own: bartizan lab root",
            },
            Ability {
                thing: Thing::TsharkIkeMlKem,
                name: "names ML-KEM in IKE",
                attempt: |place| names(place, "isakmp.tf.id.dh", "KEM"),
                get: "not in tshark 4.4; bartizan inspect does",
            },
        ],
        ..plain("tshark", "tshark", Thing::Tshark, None, &["--version"])
    },
    Kind {
        abilities: &[Ability {
            thing: Thing::DebianKeys,
            name: "Debian's keys",
            attempt: |_| {
                let file = Path::new("/usr/share/keyrings/debian-archive-keyring.gpg");
                let there = file.metadata().is_ok_and(|data| data.len() > 0);
                there.then_some(None).ok_or_else(|| format!("no {}", file.display()))
            },
            get: "apt-get install debian-archive-keyring",
        }],
        ..plain("debootstrap", "debootstrap", Thing::Debootstrap, None, &["--version"])
    },
    plain("unshare", "util-linux", Thing::Unshare, None, &["--version"]),
    plain("chroot", "coreutils", Thing::Chroot, None, &["--version"]),
    plain("swanctl", "strongswan-swanctl", Thing::Swanctl, None, &["--help"]),
    Kind {
        abilities: &[Ability {
            thing: Thing::StrongswanMlDsa,
            name: "ML-DSA keys",
            attempt: |place| done(place, &["--gen", "--type", "mldsa65"]),
            get: "no release of strongSwan has it: authentication stays classical",
        }],
        ..plain("pki", "strongswan-pki", Thing::StrongswanPki, None, &["--help"])
    },
    Kind {
        abilities: &[
            Ability {
                thing: Thing::WpaMacsec,
                name: "MACsec driver",
                attempt: |place| {
                    let known = place.prints(&["-h"], |line| line.trim_start().starts_with("macsec_linux"))?;
                    known
                        .then_some(None)
                        .ok_or_else(|| "macsec_linux is not among its drivers".to_owned())
                },
                get: "apt-get install wpasupplicant: Debian builds it with MACsec",
            },
            Ability {
                thing: Thing::WpaKeys256,
                name: "keys of 256 bits for MACsec",
                attempt: |place| {
                    let ability = of_wpa_supplicant(place)?;
                    let suite = macsec_suite_named("GCM-AES-256").ok_or("the registry has no GCM-AES-256")?;
                    match ability.lacks(suite) {
                        None => Ok(None),
                        Some(lacks) => Err(format!("{}: {lacks}", ability.version)),
                    }
                },
                get: "wpa_supplicant 2.11 or later; until then `cipher: gcm-aes-128` with `keying: mka` or `eap-tls`, or `keying: direct`",
            },
            Ability {
                thing: Thing::WpaEapTls,
                name: "peer of EAP-TLS for MACsec",
                attempt: |place| match of_wpa_supplicant(place)?.lacks_eap() {
                    None => Ok(None),
                    Some(lacks) => Err(lacks.to_owned()),
                },
                get: "apt-get install wpasupplicant: Debian builds it with EAP-TLS",
            },
            Ability {
                thing: Thing::WpaHybrid,
                name: "X25519MLKEM768 and ML-DSA-65 in EAP-TLS",
                attempt: |place| {
                    const NAMES: [&str; 2] = ["X25519MLKEM768", "mldsa65"];
                    let library = mka::Library::of(&program(place), &NAMES).map_err(|error| in_a_line(&error))?;
                    let library = library.ok_or("it is not linked with OpenSSL")?;
                    match NAMES.iter().find(|name| !library.knows(name)) {
                        None => Ok(Some(library.version)),
                        Some(name) => Err(format!("it uses {}, which has no {name}", library.version)),
                    }
                },
                get: "wpa_supplicant with OpenSSL 3.5, as Debian 13 has it; until then `keying: direct`, or this end as `initiator` of `keying: eap-tls`",
            },
        ],
        ..plain("wpa_supplicant", "wpasupplicant", Thing::WpaSupplicant, None, &["-v"])
    },
    Kind {
        abilities: &[Ability {
            thing: Thing::HostapdMacsec,
            name: "MKA, to be the authenticator of a MACsec port",
            attempt: |place| {
                // There is no such interface: it reads the file, and ends.
                let file = "interface=bartizan-none\ndriver=wired\nmacsec_policy=1\n";
                let asked = place.program()?.argument("/proc/self/fd/0").text(file);
                let said = asked
                    .and_then(|program| program.start()?.finish(PATIENCE))
                    .map_err(|error| in_a_line(&error))?
                    .text();
                match said.contains("unknown configuration item 'macsec_policy'") {
                    false => Ok(None),
                    true => Err(
                        "it was built without CONFIG_MACSEC: it authenticates a port and gives it no keys".to_owned(),
                    ),
                }
            },
            get: "Debian builds none with it; `keying: eap-tls` does without: Bartizan is the authenticator",
        }],
        version_status: 1,
        ..plain("hostapd", "hostapd", Thing::Hostapd, Some("/usr/sbin/hostapd"), &["-v"])
    },
    plain(
        "qemu-system-x86_64",
        "qemu-system-x86",
        Thing::Qemu,
        None,
        &["--version"],
    ),
];

const fn plain(
    program: &'static str,
    package: &'static str,
    thing: Thing,
    elsewhere: Option<&'static str>,
    version: &'static [&'static str],
) -> Kind {
    Kind {
        program,
        package,
        thing,
        elsewhere,
        version,
        version_status: 0,
        abilities: &[],
    }
}

/// Timeout of a daemon to read a configuration and exit.
const PATIENCE: Duration = Duration::from_secs(30);

/// Abilities of a wpa_supplicant.
fn of_wpa_supplicant(place: &Place) -> Result<mka::Ability, String> {
    mka::Ability::ask(&program(place)).map_err(|error| in_a_line(&error))
}

/// Returns the program at a place where one was found. A lab root's program is run by the root's
/// loader: the root has no /proc, through which the program gets its configuration, and without a
/// configuration it seems to have every ability.
fn program(place: &Place) -> impl Fn() -> Program + '_ {
    || {
        let program = match place {
            Place::Host(_) => place.program(),
            Place::Root(root, name, _) => root.command(name).map_err(|error| in_a_line(&error)),
        };
        program.unwrap_or_else(|_| Program::new("wpa_supplicant"))
    }
}

/// Returns success if it exits with status 0. Its output, a key for example, is discarded.
fn done(place: &Place, arguments: &[&str]) -> Result<Option<String>, String> {
    place.ask(arguments).map(|_| None)
}

/// Returns success if a value of a field contains this name.
fn names(place: &Place, field: &str, name: &str) -> Result<Option<String>, String> {
    let of_field = |line: &str| {
        let mut columns = line.split('\t').skip(1);
        columns.next() == Some(field) && columns.nth(1).is_some_and(|value| value.contains(name))
    };
    let known = place.prints(&["-G", "values"], of_field)?;
    known
        .then_some(None)
        .ok_or_else(|| format!("no {name} among the names of {field}"))
}
