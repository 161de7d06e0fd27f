//! Common parts of the commands that issue a certificate.

use std::path::{Path, PathBuf};

use bartizan_confine::User;
use bartizan_pki::{Access, AlternativeName, Destination, Issued, Leaf, Lifetime, NfType, Overwrite, Profile};
use serde_json::json;

use super::show::date;
use crate::output::{errln, outln};

/// Names of a network function.
#[derive(clap::Args)]
pub(super) struct NameArgs {
    /// DNS name of the network function; may be repeated
    #[arg(long, value_name = "NAME", value_parser = AlternativeName::dns)]
    dns: Vec<AlternativeName>,
    /// Address of the network function; may be repeated
    #[arg(long, value_name = "ADDRESS", value_parser = AlternativeName::ip)]
    ip: Vec<AlternativeName>,
    /// URI of the network function, such as urn:uuid: with its NF instance identifier; may be repeated
    #[arg(long, value_name = "URI", value_parser = AlternativeName::uri)]
    uri: Vec<AlternativeName>,
    /// Type of the network function (NRF, AMF, …) for the extension of RFC 9310; may be repeated
    #[arg(long, value_name = "TYPE")]
    nf_type: Vec<NfType>,
}

impl NameArgs {
    /// The common name where none is given: the first DNS name or address.
    pub(super) fn common_name(&self) -> Option<String> {
        match self.dns.iter().chain(&self.ip).next()? {
            AlternativeName::Dns(name) => Some(name.as_str().to_owned()),
            AlternativeName::Ip(address) => Some(address.to_string()),
            AlternativeName::Uri(_) => None,
        }
    }

    pub(super) fn names(&self) -> Vec<AlternativeName> {
        self.dns.iter().chain(&self.ip).chain(&self.uri).cloned().collect()
    }

    pub(super) fn functions(&self) -> Vec<NfType> {
        self.nf_type.clone()
    }
}

/// Lifetime of a certificate.
#[derive(clap::Args)]
pub(super) struct LifetimeArgs {
    /// Days the certificate is valid
    #[arg(long, default_value_t = Leaf::DAYS, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) days: u32,
    /// Allow more than a year
    #[arg(long)]
    pub(super) allow_long: bool,
}

impl LifetimeArgs {
    pub(super) fn lifetime(&self) -> Lifetime {
        Lifetime::Days(self.days)
    }
}

/// Output folder, owner of the files and format of the report.
#[derive(clap::Args)]
pub(super) struct OutputArgs {
    /// Directory for NAME.crt.pem, NAME.key.pem and ca.crt.pem; made if it is not there
    #[arg(long, value_name = "DIR", default_value = ".")]
    out: PathBuf,
    /// Replace files that are there
    #[arg(long)]
    force: bool,
    /// Owner of the files, as names or numbers; defaults to the owner of the replaced files, else
    /// this user. Needs root
    #[arg(long, value_name = "USER[:GROUP]", value_parser = owner)]
    owner: Option<(u32, u32)>,
    /// Mode of the key, which gives nothing to everybody; that of the key it replaces, or 0600, where it is left out
    #[arg(long, value_name = "MODE", value_parser = mode)]
    mode: Option<u32>,
    /// Write the revocation list as well, as ca.crl.pem
    #[arg(long)]
    pub(super) crl: bool,
    /// Print what was written as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn owner(text: &str) -> Result<(u32, u32), String> {
    let found = User::find(text).map_err(|error| error.to_string())?;
    Ok((found.id, found.group))
}

pub(crate) fn mode(text: &str) -> Result<u32, String> {
    let mode = u32::from_str_radix(text, 8).map_err(|_| "three octal digits, such as 640".to_owned())?;
    match mode {
        _ if mode & 0o400 == 0 => Err("its owner could not read it".to_owned()),
        _ if mode & !0o770 != 0 => Err("a key is not for everybody: 600, 640 or 660".to_owned()),
        _ => Ok(mode),
    }
}

impl OutputArgs {
    pub(super) fn destination(&self) -> Destination {
        Destination {
            overwrite: if self.force {
                Overwrite::Replace
            } else {
                Overwrite::Refuse
            },
            access: Access {
                owner: self.owner,
                key_mode: self.mode,
            },
            ..Destination::new(&self.out)
        }
    }

    /// Tells what was written.
    pub(super) fn tell(&self, done: &str, issued: &Issued) {
        let certificate = &issued.certificate;
        if certificate.names().iter().all(|name| name.starts_with("IP:")) {
            errln!("note: the certificate names an address alone; O-RAN wants a DNS name or URI next to it");
        }
        note_foreign_roots(issued, &self.out);
        if certificate.profile() == Profile::Ipsec && certificate.algorithm().is_quantum_safe() {
            errln!(
                "note: {} is for links whose both ends have `engine: bartizan`: no released strongSwan verifies it",
                certificate.algorithm()
            );
        } else if certificate.profile() == Profile::Ipsec {
            errln!(
                "note: {} is classical, as all that strongSwan verifies: a quantum computer could act in its name, and reads \
                 nothing that was recorded",
                certificate.algorithm()
            );
        }
        let mut files = vec![("certificate", self.out.join(format!("{}.crt.pem", &issued.name)))];
        if issued.key.as_ref().is_some() {
            files.push(("key", self.out.join(format!("{}.key.pem", &issued.name))));
        }
        files.push(("root", self.out.join("ca.crt.pem")));
        if self.crl {
            files.push(("revocation list", self.out.join("ca.crl.pem")));
        }
        if self.json {
            let paths: serde_json::Map<_, _> = files
                .iter()
                .map(|(what, path)| (what.replace(' ', "_"), json!(path.display().to_string())))
                .collect();
            outln!(
                "{:#}",
                json!({
                    "name": &issued.name,
                    "serial": issued.serial,
                    "profile": certificate.profile().name(),
                    "algorithm": certificate.algorithm(),
                    "names": certificate.names(),
                    "not_after": date(certificate.not_after()),
                    "files": paths,
                })
            );
            return;
        }
        outln!(
            "{done} {}: {}, valid until {}, serial {}",
            &issued.name,
            certificate.algorithm(),
            date(certificate.not_after()),
            issued.serial
        );
        for (what, path) in files {
            outln!("  {what:<15} {}", path.display());
        }
    }
}

/// Names roots that a renewal has left in the file of roots.
pub(crate) fn note_foreign_roots(issued: &Issued, directory: &Path) {
    for root in issued.foreign_roots(directory).unwrap_or_default() {
        errln!("note: ca.crt.pem keeps a root of another authority: {root}");
    }
}
