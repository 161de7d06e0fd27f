//! `bartizan controller`: the deployment file and the certificates of namespaces of Kubernetes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use bartizan_controller::{Settings, manifests};
use bartizan_kubernetes::{Api, Certificates, IssuerReference, Options};
use bartizan_pki::Algorithm;

use crate::commands::ca::failure::failure;
use crate::commands::ca::passphrase::PassphraseArgs;
use crate::commands::{bind, log};
use crate::output::print;
use crate::{Failure, Outcome};

/// Keep deployment files and certificates of namespaces of Kubernetes: by their Network and Exceptions, or a ConfigMap.
///
/// It issues by an authority of `bartizan ca` or asks an issuer of cert-manager, renews before certificates end, and reports by conditions. Of several controllers one acts, by a Lease. SIGTERM
/// releases it.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan controller --print-crds | kubectl apply --server-side --filename -\n  \
    bartizan controller --ca /var/lib/bartizan-ca/ca --namespace free5gc --listen 0.0.0.0:9444\n  \
    bartizan controller --issuer ClusterIssuer/core --issuer-root root.pem --namespace free5gc --listen 0.0.0.0:9444\n  \
    bartizan controller --ca ca --namespace free5gc --once --server https://127.0.0.1:6443 --ca-file ca.crt --token-file token")]
pub(crate) struct Args {
    /// Print the definitions of the resources Network and Exception, and end
    #[arg(long)]
    print_crds: bool,
    /// Directory of the authority that issues
    #[arg(long, value_name = "DIR", required_unless_present_any = ["print_crds", "issuer"])]
    ca: Option<PathBuf>,
    #[command(flatten)]
    passphrase: PassphraseArgs,
    /// Issuer of cert-manager that certificates are asked of, instead of an authority: Issuer/NAME, ClusterIssuer/NAME, or KIND.GROUP/NAME
    #[arg(long, value_name = "KIND/NAME", conflicts_with_all = ["ca", "passphrase_file"])]
    issuer: Option<IssuerReference>,
    /// The issuer's root certificates, PEM. Without it whatever root it names is trusted
    #[arg(long, value_name = "FILE", requires = "issuer")]
    issuer_root: Option<PathBuf>,
    /// Kind of the keys that the issuer certifies: ecdsa-p256, ecdsa-p384, ed25519, and ml-dsa-44, -65, -87 where it is not cert-manager's own
    #[arg(long, value_name = "ALGORITHM", requires = "issuer", default_value = "ecdsa-p256")]
    key_algorithm: Algorithm,
    /// Namespace to keep; may be repeated. Default: all. Every user who may write a Network, or the ConfigMap,
    /// anywhere then gets certificates for any name
    #[arg(long, value_name = "NAMESPACE")]
    namespace: Vec<String>,
    /// Lifetime of certificates: 90d, 12h
    #[arg(long, value_name = "TIME", default_value = "90d", value_parser = lifetime)]
    lifetime: Duration,
    /// Time from renewal to expiry, at most two thirds of the lifetime. Default: a third
    #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
    renew_before: Option<Duration>,
    /// ConfigMap with the deployment file under the key `deployment.yaml`
    #[arg(long, value_name = "NAME", default_value = "bartizan")]
    config_map: String,
    /// Prefix of the node's name in the name of its Secret
    #[arg(long, value_name = "PREFIX", default_value = "bartizan-")]
    secret_prefix: String,
    /// Do not ask sidecars what they carry: Networks have no condition `Protected`
    #[arg(long)]
    no_state: bool,
    /// Lease by which one of several controllers acts; those of other namespaces have another one
    #[arg(long, value_name = "NAME", default_value = "bartizan-controller")]
    lease: String,
    /// Namespace of the Lease. Default: this pod's
    #[arg(long, value_name = "NAMESPACE")]
    lease_namespace: Option<String>,
    /// Serve /live, /ready and /metrics there
    #[arg(long, value_name = "ADDRESS:PORT")]
    listen: Option<SocketAddr>,
    /// Write what is to be written now, and end: exit code 1 where something is refused or missing
    #[arg(long)]
    once: bool,
    /// The API server. Default: that of the cluster this pod runs in
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Roots of the API server's certificate, PEM
    #[arg(long, value_name = "FILE")]
    ca_file: Option<PathBuf>,
    /// Token of a ServiceAccount, read for each request
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
}

fn lifetime(text: &str) -> Result<Duration, String> {
    let lifetime = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if (Duration::from_secs(3_600)..=Duration::from_secs(365 * 86_400)).contains(&lifetime) {
        Ok(lifetime)
    } else {
        Err("from 1h to 365d".to_owned())
    }
}

pub(crate) fn run(args: Args) -> Result<Outcome, Failure> {
    if args.print_crds {
        let definitions = manifests().map_err(Failure::new)?;
        let texts: Vec<_> = definitions.into_iter().map(|one| one.text).collect();
        print(&texts.join("---\n"))?;
        return Ok(Outcome::Clean);
    }
    let filter = std::env::var("BARTIZAN_LOG")
        .ok()
        .and_then(|filter| filter.parse().ok());
    log::start(filter.unwrap_or_else(log::info));
    let api = Api::new(args.server.as_deref(), args.ca_file, args.token_file)?;
    let certificates = match (args.issuer, args.ca) {
        (Some(issuer), _) => Certificates::issuer(issuer, args.issuer_root, args.key_algorithm, args.lifetime)?,
        (None, _) if args.issuer_root.is_some() => {
            return Err(Failure::usage("--issuer-root FILE is for --issuer KIND/NAME"));
        }
        (None, Some(dir)) => Certificates::authority(dir, args.passphrase.given()?, args.lifetime).map_err(failure)?,
        (None, None) => return Err(Failure::usage("--ca DIR or --issuer KIND/NAME is required")),
    };
    let endpoint = args.listen.map(|listen| bind("--listen", listen)).transpose()?;
    if args.namespace.is_empty() {
        tracing::warn!(
            "all namespaces are kept: who may write a Network in any of them, or the ConfigMap where there is none, gets certificates for any name"
        );
    }
    let options = Options {
        namespaces: args.namespace,
        settings: Settings {
            config_map: args.config_map,
            secret_prefix: args.secret_prefix,
            renew_before: args.renew_before,
            state: !args.no_state,
            ..Settings::default()
        },
        lease: args.lease,
        lease_namespace: args.lease_namespace,
        once: args.once,
    };
    bartizan_kubernetes::run(options, api, certificates, endpoint)
}
