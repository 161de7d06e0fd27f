//! `bartizan sidecar redirect`: the rules of the host that lead a network function's requests to its sidecar.

use std::io::{self, Write as _};
use std::path::PathBuf;

use bartizan_sidecar::confine::User;
use bartizan_sidecar::redirect::{self, Error, Plan, Standing, Tables, fence};
use serde_json::json;

use crate::{Failure, Outcome};

/// Lead what a network function sends to its peers' own addresses to its sidecar, and refuse what would leave in clear.
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
}

/// Put redirect, guard and fence in force, in place of those that stand.
#[derive(clap::Args)]
struct InstallArgs {
    #[command(flatten)]
    plan: PlanArgs,
    /// Do without the fence: policy routing that holds when all of nftables is flushed.
    #[arg(long)]
    no_fence: bool,
    /// Print what would be written, and write nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Take the redirect away, then the guard, then the fence. Network functions then talk in clear.
#[derive(clap::Args)]
struct RemoveArgs {
    /// Take the redirect alone: what is sent to peers in clear keeps being refused.
    #[arg(long)]
    keep_guard: bool,
    /// Say what would be taken away, and take nothing.
    #[arg(long)]
    dry_run: bool,
}

/// Compare what stands with what the file asks for; exit code 1 where they differ.
#[derive(clap::Args)]
struct ShowArgs {
    #[command(flatten)]
    plan: PlanArgs,
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
    }
}

fn install(args: &InstallArgs) -> Result<Outcome, Failure> {
    let plan = plan(&args.plan)?;
    if args.dry_run {
        let mut text = plan.script();
        if !args.no_fence {
            for (family, batch) in fence::batches(&plan) {
                for line in batch.lines() {
                    text.push_str(&format!("# ip {family} {line}\n"));
                }
            }
        }
        return print(&text);
    }
    // The guard closes the way in clear before anything else changes; it comes with the redirect, in one transaction.
    redirect::install(&plan).map_err(|error| failure(&error))?;
    if args.no_fence {
        fence::remove().map_err(|error| failure(&error))?;
    } else {
        fence::install(&plan).map_err(|error| {
            failure(&error).hint("redirect and guard are in force already; `remove` takes them away")
        })?;
    }
    let mut text = format!("redirected and guarded for node {}:\n", plan.node());
    for service in plan.services() {
        text.push_str(&format!("  {:<12} {}\n", service.node.as_str(), service.address));
    }
    for bystander in plan.bystanders() {
        let (node, protection) = (bystander.node.as_str(), bystander.protection.name());
        text.push_str(&format!(
            "  {node:<12} left alone: the file says `with: {protection}`\n"
        ));
    }
    if args.no_fence {
        text.push_str("no fence: `nft flush ruleset` would open the way in clear\n");
    }
    print(&text)
}

fn remove(args: &RemoveArgs) -> Result<Outcome, Failure> {
    let tables = if args.keep_guard { Tables::Redirect } else { Tables::All };
    if !args.dry_run {
        redirect::remove(tables).map_err(|error| failure(&error))?;
        if tables == Tables::All {
            fence::remove().map_err(|error| failure(&error))?;
        }
    }
    let verb = if args.dry_run { "would remove" } else { "removed" };
    print(&match tables {
        Tables::Redirect => format!("{verb} the redirect; guard and fence stay: requests to peers fail\n"),
        Tables::All => format!(
            "{verb} the redirect, then the guard, then the fence\n\
             nothing keeps the network function on this host from talking in clear {}\n",
            if args.dry_run { "then" } else { "now" }
        ),
    })
}

fn show(args: &ShowArgs) -> Result<Outcome, Failure> {
    let plan = plan(&args.plan)?;
    let [table, guard] = redirect::standing(&plan).map_err(|error| failure(&error))?;
    let (fence, wanted) = (fence::standing().map_err(|error| failure(&error))?, fence::size(&plan));
    let fence = match fence {
        0 => "absent".to_owned(),
        _ if fence == wanted => "in force".to_owned(),
        _ => format!("{fence} rules stand, the file asks for {wanted}"),
    };
    let rows = [("redirect", words(&table)), ("guard", words(&guard)), ("fence", fence)];
    let text = if args.json {
        let services: Vec<_> = plan
            .services()
            .iter()
            .map(|service| json!({ "node": service.node.as_str(), "address": service.address }))
            .collect();
        let states: serde_json::Map<_, _> = rows
            .iter()
            .map(|(name, state)| ((*name).to_owned(), json!(state)))
            .collect();
        format!(
            "{}\n",
            json!({ "node": plan.node().as_str(), "standing": states, "services": services })
        )
    } else {
        rows.iter()
            .map(|(name, state)| format!("{name:<10}{state}\n"))
            .collect()
    };
    print(&text)?;
    if rows.iter().all(|(_, state)| state == "in force") {
        Ok(Outcome::Clean)
    } else {
        Ok(Outcome::Finding)
    }
}

/// A reader that has seen enough closes the pipe, which is no failure of ours.
fn print(text: &str) -> Result<Outcome, Failure> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::new(format!("cannot write the answer: {error}")).hint("what was asked for is done"))
        }
        _ => Ok(Outcome::Clean),
    }
}

fn words(standing: &Standing) -> String {
    match standing {
        Standing::Absent => "absent".to_owned(),
        Standing::InForce => "in force".to_owned(),
        Standing::Damaged => "damaged: rules or addresses have been taken out; install again".to_owned(),
        Standing::Other { mark } if mark.is_empty() => "there, but not as it was written; install again".to_owned(),
        Standing::Other { mark } => format!("not what this file asks for (it says `{mark}`); install again"),
    }
}

fn plan(args: &PlanArgs) -> Result<Plan, Failure> {
    let deployment = crate::commands::deployment_file::read(&args.file)?;
    let user = User::find(&args.user).map_err(|error| {
        Failure::usage(format!("--user: {error}")).hint("name the user the sidecar runs as, or give its number")
    })?;
    Plan::new(&deployment, &args.node, user.id()).map_err(|error| failure(&error))
}

fn failure(error: &Error) -> Failure {
    let failure = if error.is_configuration() {
        Failure::usage(error)
    } else {
        Failure::new(error)
    };
    failure.hint(error.hint())
}
