//! Options that the first screen of a command, `-h`, leaves out; `--help` has them.

use bartizan_terminal::help::LessUsed;

pub(crate) const OPTIONS: &LessUsed = &[
    (
        "ca init",
        "root-key intermediate-key existing-keys organization country intermediate-days pin-file crl-url",
    ),
    (
        "ca invite",
        "passphrase-file pin-file uri nf-type allow-long allow-classical vendor-name",
    ),
    (
        "ca issue",
        "passphrase-file pin-file uri nf-type key-algorithm allow-long force owner mode",
    ),
    ("ca renew", "passphrase-file pin-file allow-long force owner mode"),
    ("ca serve", "passphrase-file pin-file"),
    (
        "ca sign",
        "passphrase-file pin-file uri nf-type allow-long force owner mode",
    ),
    ("check", "vici distance rate sarif"),
    (
        "controller",
        "passphrase-file pin-file issuer-root key-algorithm renew-before config-map secret-prefix no-state \
         lease-namespace server ca-file token-file",
    ),
    ("enrol", "within key-algorithm owner mode"),
    (
        "inspect",
        "ike-keys all alike reads cbom cbom-version oscal coverage timing csv memory part evidence whole merge for \
         packets window grace forget metrics http http-allow-remote http-name otlp otlp-ca otlp-allow-plaintext \
         otlp-interval queue queue-limit",
    ),
    ("plan mtu", "delay-curve chain certificate-extra trials seed"),
    (
        "sidecar",
        "workers no-confine traces-share traces-ca traces-allow-plaintext",
    ),
    ("up", "vici directory"),
    ("webhook", "config-map secret-prefix admin-port requests limits drain"),
];
