//! `bartizan ike-engine`: the IKE daemon of Bartizan, which `bartizan up` starts where the node's engine is its own.

use std::path::PathBuf;

use bartizan_engine::Options;

use crate::interrupt::Interrupt;
use crate::{Failure, Outcome};

/// Run the IKE engine of a node until SIGTERM or SIGINT.
///
/// `bartizan up` starts it for a node with `engine: bartizan`, gives it credentials and connections through the VICI socket in its directory, and ends
/// it. By itself it does nothing. The command is no interface: its arguments change without notice.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  bartizan ike-engine --directory /run/bartizan/ipsec/cu")]
pub(crate) struct Args {
    /// Directory of its socket and log. Only this user may have access to it.
    #[arg(long, value_name = "DIR")]
    directory: PathBuf,
    /// Peers that may begin at the same time without a cookie.
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    peers: u32,
    /// Largest IP datagram of an IKE fragment, in bytes.
    #[arg(long, value_name = "BYTES", default_value_t = 1280, value_parser = clap::value_parser!(u16).range(576..))]
    fragment_size: u16,
    /// Do ESP in this process, by a TUN device of this name.
    #[arg(long, value_name = "DEVICE")]
    userspace: Option<String>,
    /// Octets that a packet on the path may have.
    #[arg(long, value_name = "BYTES", default_value_t = 1500, value_parser = clap::value_parser!(u16).range(576..))]
    mtu: u16,
}

pub(crate) fn run(args: &Args) -> Result<Outcome, Failure> {
    let interrupt = Interrupt::install()?;
    let options = Options {
        directory: args.directory.clone(),
        peers: args.peers,
        fragment_size: args.fragment_size,
        userspace: args.userspace.clone().map(|device| (device, args.mtu)),
    };
    bartizan_engine::run(options, &|| interrupt.asked()).map_err(Failure::new)?;
    Ok(Outcome::Clean)
}
