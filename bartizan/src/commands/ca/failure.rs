//! Hints for errors of the authority.

use std::io;
use std::path::Path;

use bartizan_pki::{Error, TokenFault};

use crate::commands::pasted::quoted;
use crate::outcome::Failure;

pub(crate) fn failure(error: Error) -> Failure {
    let message = error.to_string();
    match error {
        Error::NoAuthority(dir) => Failure::new(message).hint(format!(
            "make one: `bartizan ca init --dir {} --algorithm ml-dsa-65`",
            dir.display()
        )),
        Error::File { ref source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
            Failure::new(message).hint("run it as the user that the authority belongs to, or as root")
        }
        Error::Unfinished(dir) => Failure::new(message).hint(format!(
            "the same `bartizan ca init` for {} clears the remains away",
            dir.display()
        )),
        Error::AuthorityExists(_) => {
            Failure::new(message).hint("an authority is never overwritten; choose another directory")
        }
        Error::RecordsLost { .. } => Failure::new(message)
            .hint("restore ca.sqlite from a backup: without it, serial numbers and revocations are unknown")
            .hint("if nothing of this authority is in use any more, move the directory away"),
        Error::FileExists(ref path) => {
            let failure = Failure::new(message).hint("--force replaces it");
            let renewal = renewal_of(path);
            failure.with_hints(renewal.map(|renewal| format!("for a new certificate of the same network function: `{renewal}`")))
        }
        Error::ForeignRoots { .. } => Failure::new(message)
            .hint("--force replaces the file, and takes these roots from its readers")
            .hint("choose another --out; a renewal keeps them"),
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
            .hint("make an authority for IPsec: `bartizan ca init --dir ipsec-ca --algorithm ecdsa-p384`")
            .hint("for nodes with `engine: bartizan` ask for it: --key-algorithm ml-dsa-65"),
        Error::NoIkeName => Failure::usage(message).hint("give --dns or --ip together with --uri"),
        Error::UnknownProfile(_) | Error::UnknownAlgorithm(_) => Failure::usage(message),
        Error::Lifetime(reason) if reason.contains("one year") => {
            Failure::usage(message).hint("--allow-long lifts the limit; short lives and renewal are safer")
        }
        Error::Lifetime(_) => Failure::usage(message).hint("choose another --days"),
        Error::UnknownCertificate(_) => Failure::new(message).hint("`bartizan ca list` shows what there is"),
        Error::SeveralCertificates { ref serials, .. } => Failure::new(message).with_hints(serials),
        Error::PassphraseNeeded(_) => Failure::new(message)
            .hint("--passphrase-file FILE, the environment variable BARTIZAN_CA_PASSPHRASE, or a terminal to ask on"),
        Error::KeyOffline(_) => {
            Failure::new(message).hint("bring the key back to the directory for the time of this operation")
        }
        Error::Token { fault, .. } => of_token(message, &fault),
        Error::Pkcs11Uri { reason, .. } => of_uri(Failure::usage(message), reason),
        Error::KeyFile { ref reason, .. } if reason.starts_with("PKCS#11 URI") => of_uri(Failure::new(message), reason),
        Error::Pin(_) => Failure::usage(message),
        Error::OutOfToken(_) => Failure::usage(message)
            .hint("--key pkcs11:... has it in a token")
            .hint("--in-file has it in a file all the same"),
        Error::NotAware(_) => Failure::new(message)
            .hint("`bartizan ca renew NAME` gives each the next root next to its new certificate; those that enrol learn of it when they renew")
            .hint("--anyway where all of them were given it in another way"),
        Error::StillInUse(_) => Failure::new(message).hint("`bartizan ca renew NAME` each of them first, or wait until they have"),
        Error::NoIntermediate => Failure::new(message).hint("`bartizan ca rollover publish-root` begins to replace the root"),
        Error::Succession(_) => Failure::new(message).hint("`bartizan ca list` shows the authority's own certificates"),
        Error::OneKey => Failure::usage(message).hint("give --root-key and --intermediate-key different objects"),
        Error::KeyFile { ref reason, .. } | Error::Key(ref reason) if reason.contains("bare") => Failure::new(message)
            .hint(
                "openssl pkey -in KEY -out NEW -provparam ml-dsa.output_formats=seed-only,priv-only writes a form that is read",
            ),
        Error::KeyFile { ref reason, .. } | Error::Key(ref reason) if reason.contains("PRIVATE KEY block") => {
            Failure::new(message).hint("openssl pkcs8 -topk8 -nocrypt -in KEY -out NEW converts it to PKCS#8")
        }
        Error::KeyMismatch { .. } => Failure::new(message).hint("choose another --out, or move the key away"),
        Error::RequestKey(_) => {
            Failure::new(message).hint("openssl genpkey -algorithm ML-DSA-65 -provparam ml-dsa.output_formats=seed-only makes a key that is certified")
        }
        Error::NotInvited(_) => Failure::new(message).hint("`bartizan ca invitations` lists them"),
        Error::Busy(_) => Failure::new(message).hint("wait for it to end, or look for it with fuser DIR/ca.lock"),
        Error::RecordsVersion { .. } => Failure::new(message).hint("use the version of bartizan that wrote them"),
        _ => Failure::new(message),
    }
}

/// Command that renews a certificate and replaces its files; none for other files.
fn renewal_of(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?;
    let name = file.strip_suffix(".crt.pem").or(file.strip_suffix(".key.pem"))?;
    let out = match path.parent().filter(|out| !out.as_os_str().is_empty()) {
        Some(out) => format!(" --out {}", quoted(out)),
        None => String::new(),
    };
    (name != "ca").then(|| format!("bartizan ca renew {}{out} --force", quoted(name)))
}

fn of_uri(failure: Failure, reason: &str) -> Failure {
    if reason.contains("pin-value") {
        failure.hint(
            "pin-source=file:/PATH names a file with the PIN; without it --pin-file, BARTIZAN_CA_PIN or a terminal",
        )
    } else {
        failure.hint("for example pkcs11:token=ca;object=root?module-name=softhsm2")
    }
}

fn of_token(message: String, fault: &TokenFault) -> Failure {
    let failure = Failure::new(message);
    match fault {
        TokenFault::StaticBuild => failure
            .hint("a build for this machine can: cargo build --release -p bartizan")
            .hint("bartizan --version --verbose shows whether a build has PKCS#11"),
        TokenFault::Module { .. } => {
            failure.hint("install the token's module, or give its file: module-path=/PATH in the URI")
        }
        TokenFault::NoToken(_) => failure.hint("pkcs11-tool --module FILE --list-token-slots shows the tokens that are present"),
        TokenFault::SeveralTokens(_) => failure.hint("add serial=SERIAL to the URI"),
        TokenFault::PinNeeded(_) => {
            failure.hint("--pin-file FILE, the environment variable BARTIZAN_CA_PIN, pin-source in the key's URI, or a terminal")
        }
        TokenFault::WrongPin(_) => {
            failure.hint("it was tried once and is not tried again: many tokens lock after some wrong PINs")
        }
        TokenFault::PinLocked(_) => failure.hint("the token's security officer unlocks it: pkcs11-tool --init-pin"),
        TokenFault::LastAttempt(_) => {
            failure.hint("log in once by hand with the right PIN, such as by pkcs11-tool --login --list-objects")
        }
        TokenFault::NoKey { .. } => failure.hint("pkcs11-tool --module FILE --login --list-objects shows the keys of a token"),
        TokenFault::SeveralKeys { .. } => failure.hint("add id=ID to the URI"),
        TokenFault::KeyExists(_) => failure
            .hint("--existing-keys of `bartizan ca init` takes the key that is there")
            .hint("for a fresh one give another object in the URI: a key in a token is never overwritten"),
        TokenFault::Unsupported { algorithm, .. } if algorithm.is_quantum_safe() => failure
            .hint("keep an ML-DSA root offline in a file: --algorithm ml-dsa-87 --intermediate ecdsa-p384 --intermediate-key URI, \
                   then move root.key.pem away")
            .hint("or a classical root in the token above an ML-DSA intermediate: --algorithm ecdsa-p384 --intermediate ml-dsa-65"),
        TokenFault::Unsupported { .. } => failure.hint("choose an algorithm that the token has"),
        TokenFault::Exportable => failure.hint("the key is still there: remove it, and make it in a token that keeps its keys"),
        TokenFault::OtherKey => failure.hint("does the URI name the token and object that the authority was made with?"),
        _ => failure,
    }
}
