//! What to do about an error of the authority.

use std::io;

use bartizan_pki::Error;

use crate::outcome::Failure;

pub(crate) fn failure(error: Error) -> Failure {
    let message = error.to_string();
    match error {
        Error::NoAuthority(dir) => Failure::new(message).hint(format!(
            "make one: bartizan ca init --dir {} --algorithm ml-dsa-65",
            dir.display()
        )),
        Error::File { ref source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            Failure::new(message).hint("run it as the user that the authority belongs to, or as root")
        }
        Error::Unfinished(dir) => Failure::new(message).hint(format!(
            "run bartizan ca init --dir {} again: it clears the remains away",
            dir.display()
        )),
        Error::AuthorityExists(_) => {
            Failure::new(message).hint("an authority is never overwritten; choose another directory")
        }
        Error::RecordsLost { .. } => Failure::new(message)
            .hint("restore ca.sqlite from a backup: without it, serial numbers and revocations are unknown")
            .hint("if nothing of this authority is in use any more, move the directory away"),
        Error::FileExists(_) => Failure::new(message)
            .hint("--force replaces it")
            .hint("for a new certificate of the same network function: bartizan ca renew"),
        Error::Name {
            what: "DNS name",
            ref value,
            ..
        } if value.contains('*') => {
            Failure::usage(message).hint("name each network function: one certificate may carry several --dns")
        }
        Error::Name { .. } | Error::NoNames | Error::TooManyNames { .. } => {
            let failure = Failure::usage(message);
            if matches!(error, Error::NoNames) {
                failure.hint("give at least one --dns, --ip or --uri; for a signing request --accept-san takes its own")
            } else {
                failure
            }
        }
        Error::NotForIpsec { what: "the endpoint's key", .. } => {
            Failure::usage(message)
                .hint("--key-algorithm ecdsa-p256, ecdsa-p384 or ed25519 under an authority of that kind")
                .hint("--key-algorithm ml-dsa-65 under an authority of ML-DSA, for nodes with `engine: bartizan`")
        }
        Error::NotForIpsec { .. } => Failure::usage(message)
            .hint("make an authority for IPsec: bartizan ca init --dir ipsec-ca --algorithm ecdsa-p384")
            .hint("for nodes with `engine: bartizan` ask for it: --key-algorithm ml-dsa-65"),
        Error::NoIkeName => Failure::usage(message).hint("give --dns or --ip together with --uri"),
        Error::UnknownProfile(_) | Error::UnknownAlgorithm(_) => Failure::usage(message),
        Error::Lifetime(reason) if reason.contains("one year") => {
            Failure::usage(message).hint("--allow-long lifts the limit; short lives and renewal are safer")
        }
        Error::Lifetime(_) => Failure::usage(message).hint("choose another --days"),
        Error::UnknownCertificate(_) => Failure::new(message).hint("bartizan ca list shows what there is"),
        Error::SeveralCertificates { ref serials, .. } => serials
            .iter()
            .fold(Failure::new(message), Failure::hint),
        Error::PassphraseNeeded(_) => Failure::new(message)
            .hint("--passphrase-file FILE, the environment variable BARTIZAN_CA_PASSPHRASE, or a terminal to ask on"),
        Error::KeyOffline(_) => {
            Failure::new(message).hint("bring the key back to the directory for the time of this operation")
        }
        Error::KeyFile { ref reason, .. } | Error::Key(ref reason) if reason.contains("bare") => Failure::new(message)
            .hint(
                "openssl pkey -in KEY -out NEW -provparam ml-dsa.output_formats=seed-only,priv-only writes a form that is read",
            ),
        Error::KeyFile { ref reason, .. } | Error::Key(ref reason) if reason.contains("PRIVATE KEY block") => {
            Failure::new(message).hint("openssl pkcs8 -topk8 -nocrypt -in KEY -out NEW converts it to PKCS#8")
        }
        Error::KeyMismatch { .. } => Failure::new(message).hint("choose another --out, or move the key away"),
        Error::RequestKey { .. } => {
            Failure::new(message).hint("openssl genpkey -algorithm ML-DSA-65 makes a key that is certified")
        }
        Error::NotInvited(_) => Failure::new(message).hint("bartizan ca invitations lists them"),
        Error::Busy(_) => Failure::new(message).hint("wait for it to end, or look for it with fuser DIR/ca.lock"),
        Error::RecordsVersion { .. } => Failure::new(message).hint("use the version of bartizan that wrote them"),
        _ => Failure::new(message),
    }
}
