//! `bartizan sidecar redirect`: the rules of the host that lead a network function's requests to its sidecar.

mod monitor;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::SystemTime;

use bartizan_confine::User;
use bartizan_redirect::{self as redirect, Earlier, Error, Installed, Options, Part, Plan, Refused, RuleState, Tables};
use serde_json::json;

use crate::{Failure, Outcome, output};

/// Lead what a network function sends to its peers' own addresses to its sidecar, and refuse what would leave unencrypted.
///
/// Run it in the network namespace of the network function, as root or with CAP_NET_ADMIN.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    Install(InstallArgs),
    Remove(RemoveArgs),
    Show(ShowArgs),
    Watch(monitor::Args),
}

/// Install redirect, guard and fence in place of those that stand.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan sidecar redirect install core.yaml --node amf\n  \
    bartizan sidecar redirect install core.yaml --node amf --dry-run")]
struct InstallArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// Do without the fence: policy routing that holds when all of nftables is flushed.
    #[arg(long)]
    no_fence: bool,
    /// Refuse, and count, what is sent to addresses that the file does not list.
    #[arg(long)]
    strict: bool,
    /// Print what would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Take the redirect away, then the guard, then the fence. Network functions then talk unencrypted.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan sidecar redirect remove\n  \
    bartizan sidecar redirect remove --keep-guard")]
struct RemoveArgs {
    /// Take the redirect alone: what is sent to peers unencrypted keeps being refused.
    #[arg(long)]
    keep_guard: bool,
    /// Say what would be taken away, and take nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Compare what stands with what the file asks for; exit code 1 where they differ.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  \
    bartizan sidecar redirect show core.yaml --node amf --json")]
struct ShowArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// Ask for the strict table too; without it, it is compared where it is installed.
    #[arg(long)]
    strict: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct PlanArgs {
    /// The deployment file.
    file: PathBuf,
    /// The node whose network function is on this host.
    #[arg(long, value_name = "NAME")]
    node: String,
    /// The user the sidecar runs as, by name or number: what it sends is not redirected.
    #[arg(long, value_name = "USER", default_value = "bartizan")]
    user: String,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    match &args.action {
        Action::Install(args) => install(args),
        Action::Remove(args) => remove(args),
        Action::Show(args) => show(args),
        Action::Watch(args) => monitor::run(args),
    }
}

fn install(args: &InstallArgs) -> Result<Outcome, Failure> {
    let rules = args.plan.rules(!args.no_fence, args.strict)?;
    if args.dry_run {
        return print(&rules.script());
    }
    install_or_say_what_stays(&rules)?;
    if args.no_fence {
        print("no fence: `nft flush ruleset` would let traffic leave unencrypted\n")?;
    }
    Ok(Outcome::Clean)
}

/// Installs the rules and prints them. A failure leaves those that were installed before it, or by
/// an earlier command.
fn install_or_say_what_stays(rules: &Installed) -> Result<(), Failure> {
    let earlier = rules.install().map_err(|error| {
        let failure = failure(&error);
        let absent = |(_, state): &(Part, RuleState)| matches!(state, RuleState::Absent);
        match rules.state() {
            Ok(states) if states.iter().all(absent) => failure,
            _ => failure
                .hint("rules that are installed stay: requests to peers that go past the sidecar are refused; `bartizan sidecar redirect show` compares them")
                .hint("`bartizan sidecar redirect remove` removes them: requests to peers then leave unencrypted"),
        }
    })?;
    print(&installed(rules, earlier)).map(drop)
}

/// Lists the functions that are redirected and guarded, and those that are not.
fn installed(rules: &Installed, earlier: Earlier) -> String {
    let plan = rules.plan();
    let mut text = format!("redirected and guarded for node {}:\n", &plan.node);
    for service in &plan.services {
        text.push_str(&format!("  {:<12} {}\n", service.node.as_str(), service.address));
    }
    for (address, node) in plan.own_tls() {
        text.push_str(&format!(
            "  {:<12} {address} its own TLS, for the sidecar alone\n",
            node.as_str()
        ));
    }
    for (address, association) in plan.associations() {
        let to = match association.listener {
            Some(listener) => format!("SCTP, led to {listener}"),
            None => "SCTP, refused: no outbound listener of `path: sctp` leads to it".to_owned(),
        };
        text.push_str(&format!("  {:<12} {address} {to}\n", association.node.as_str()));
    }
    for unprotected in &plan.unprotected_peers {
        let (node, kind) = (unprotected.node.as_str(), unprotected.kind.name());
        let until = match &unprotected.until {
            Some(exception) => format!(" until {} ({})", exception.expires, exception.why()),
            None => String::new(),
        };
        text.push_str(&format!(
            "  {node:<12} left alone, in both directions: {kind} is `with: {}`{until}\n",
            unprotected.protection.name()
        ));
    }
    if earlier.reset > 0 {
        text.push_str(&format!(
            "reset {} connections that were open before: they would have gone past the sidecar\n",
            earlier.reset
        ));
    }
    if let Some(why) = &earlier.unlisted {
        text.push_str(&format!(
            "connections that were open before are not known ({why}): restart the functions, or each ends when it is used next\n"
        ));
    }
    if earlier.left > 0 {
        text.push_str(&format!(
            "left {} connections that were open before: this kernel resets none (CONFIG_INET_DIAG_DESTROY); each ends when it is used next\n",
            earlier.left
        ));
    }
    text
}

fn remove(args: &RemoveArgs) -> Result<Outcome, Failure> {
    let tables = if args.keep_guard { Tables::Redirect } else { Tables::All };
    if !args.dry_run {
        redirect::remove(tables).map_err(|error| failure(&error))?;
    }
    let verb = if args.dry_run { "would remove" } else { "removed" };
    print(&match tables {
        Tables::Redirect => format!("{verb} the redirect; guard and fence stay: requests to peers fail\n"),
        Tables::All => format!(
            "{verb} the redirect, then the guard, then the fence\n\
             nothing keeps the network function on this host from talking unencrypted {}\n",
            if args.dry_run { "then" } else { "now" }
        ),
    })
}

fn show(args: &ShowArgs) -> Result<Outcome, Failure> {
    let strict = args.strict || redirect::is_strict().map_err(|error| failure(&error))?;
    let rules = args.plan.rules(true, strict)?;
    let plan = rules.plan();
    let found = rules.state().map_err(|error| failure(&error))?;
    let refused = rules.refused().map_err(|error| failure(&error))?;
    let text = if args.json {
        let services: Vec<_> = plan
            .services
            .iter()
            .map(|service| json!({ "node": service.node.as_str(), "address": service.address }))
            .collect();
        let associations: Vec<_> = plan
            .associations()
            .map(|(address, association)| {
                json!({ "node": association.node.as_str(), "address": address, "listener": association.listener })
            })
            .collect();
        let own_tls: Vec<_> = plan
            .own_tls()
            .map(|(address, node)| json!({ "node": node.as_str(), "address": address }))
            .collect();
        let states: serde_json::Map<_, _> = found
            .iter()
            .map(|(part, state)| (part.name().to_owned(), json!(words(state))))
            .collect();
        let unprotected: Vec<_> = plan
            .unprotected_peers
            .iter()
            .map(|unprotected| {
                json!({
                    "node": unprotected.node.as_str(), "interface": unprotected.kind.name(), "with": unprotected.protection.name(),
                    "until": unprotected.until.as_ref().map(|exception| exception.expires.to_string()),
                })
            })
            .collect();
        let differences: serde_json::Map<_, _> = found
            .iter()
            .filter_map(|(part, state)| Some((part.name().to_owned(), json!(differences(state)?))))
            .collect();
        let node = plan.node.as_str();
        format!(
            "{}\n",
            json!({
                "node": node, "state": states, "differences": differences, "services": services, "own-tls": own_tls, "associations": associations, "left-alone": unprotected,
                "refused": refused.as_ref().map(|refused| json!({ "packets": refused.packets, "to": refused.to })),
                "allowed": refused.as_ref().map(|refused| refused.allowed.iter().cloned().collect::<BTreeMap<_, _>>()),
            })
        )
    } else {
        let lines: String = found.iter().map(|(part, state)| line(*part, state)).collect();
        lines + &refused.map(|refused| counts(&refused)).unwrap_or_default()
    };
    print(&text)?;
    if found.iter().all(|(_, state)| *state == RuleState::Installed) {
        Ok(Outcome::Clean)
    } else {
        Ok(Outcome::Finding)
    }
}

/// Counts of the strict table.
fn counts(refused: &Refused) -> String {
    let mut text = format!(
        "refused   {} packets to addresses that the file does not list\n",
        refused.packets
    );
    for address in &refused.to {
        text += &format!("  {address}\n");
    }
    for (name, packets) in &refused.allowed {
        text += &format!("allowed   {packets} packets of {name}\n");
    }
    text
}

/// State of one mechanism, and a line for each difference.
fn line(part: Part, state: &RuleState) -> String {
    let alone = match (part, state) {
        (Part::Strict, RuleState::Installed) => " (in nftables alone: the fence does not hold it)",
        _ => "",
    };
    let mut text = format!("{:<10}{}{alone}\n", part.name(), words(state));
    for difference in differences(state).unwrap_or_default() {
        text += &format!("  {difference}\n");
    }
    text
}

fn differences(state: &RuleState) -> Option<&[String]> {
    match state {
        RuleState::Damaged(differences) => Some(differences),
        _ => None,
    }
}

/// Says what was done.
fn print(text: &str) -> Result<Outcome, Failure> {
    output::print(text).map_err(|failure| failure.hint("what was asked for is done"))?;
    Ok(Outcome::Clean)
}

fn words(state: &RuleState) -> String {
    match state {
        RuleState::Absent => "absent".to_owned(),
        RuleState::Installed => "installed".to_owned(),
        RuleState::Damaged(_) => "damaged: it is not what the file asks for any more; install again".to_owned(),
        RuleState::Other { mark } => format!("not what this file asks for (it says `{mark}`); install again"),
    }
}

impl PlanArgs {
    fn rules(&self, fence: bool, strict: bool) -> Result<Installed, Failure> {
        let deployment = crate::commands::deployment_file::read(&self.file)?;
        let user = User::find(&self.user).map_err(|error| {
            Failure::usage(format!("--user: {error}")).hint("name the user the sidecar runs as, or give its number")
        })?;
        let plan = Plan::new(&deployment, &self.node, user.id, SystemTime::now()).map_err(|error| failure(&error))?;
        Ok(Installed::new(plan, Options { fence, strict }))
    }
}

fn failure(error: &Error) -> Failure {
    let failure = if error.is_configuration() {
        Failure::usage(error)
    } else {
        Failure::new(error)
    };
    failure.hint(error.hint())
}
