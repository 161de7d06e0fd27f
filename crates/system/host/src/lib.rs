//! Resources that a run borrows from the machine: network namespaces joined by veth pairs,
//! processes, packet captures, and lab roots (a Debian release unpacked in a directory, for
//! programs that this machine does not have).
//!
//! Everything here is owned: dropping the value removes what it owns. A run that is killed cannot drop, so
//! two more things hold. Each child dies with its owner (`PR_SET_PDEATHSIG`), and each namespace and child carries
//! the name of its owner, so that [`sweep`] of the next run finds and removes what is left.
//!
//! This crate is the one with operating-system code; most of it needs root.

mod bridge;
mod capture;
pub mod clock;
mod connections;
mod daemon;
mod datagrams;
pub mod device_program;
mod echo_socket;
mod error;
mod exclusive;
mod facts;
mod features;
mod frames;
mod group;
mod guest;
mod ike_socket;
mod impairment;
mod interface;
mod lab_root;
mod loopback;
mod namespace;
pub mod netlink;
pub mod nftables;
mod output;
mod owner;
mod pcap;
mod process;
mod program;
mod readiness;
pub mod routing;
pub mod sctp;
mod slot;
pub mod socket_option;
mod spawner;
mod sweep;
mod tun;
mod unix;
mod usage;
mod veth;

pub use capture::{Batch, Capture, Captured, Direction, Fed, Feed, Frame, Side, interfaces};
pub use connections::Connection;
pub use daemon::Daemon;
pub use datagrams::{Received, Sent, carry_tunnel, mark_packets, receive_datagrams, send_datagrams};
pub use echo_socket::EchoSocket;
pub use error::Error;
pub use exclusive::{FileLock, private_directory};
pub use facts::{Facts, Permission};
pub use features::{Feature, Support};
pub use frames::{FrameSocket, PAE_GROUP_ADDRESS, ReceivedFrame};
pub use group::members as group_members;
pub use guest::{Guest, GuestKernel, Job, JobEnded, KernelBlueprint, KernelPackage, Session};
pub use ike_socket::{bypass_esp_policies, carry_esp};
pub use impairment::Impairment;
pub use interface::{Interface, interface_number, interface_with};
pub use lab_root::{Blueprint, LabRoot, Progress, cache};
pub use loopback::loopback_addresses;
pub use namespace::{Address, Namespace};
pub use process::{Finished, Process};
pub use program::Program;
pub use readiness::{Interest, ready};
pub use spawner::ready as ready_to_start;
pub use sweep::{Swept, sweep};
pub use tun::Tun;
pub use unix::connect_unix;
pub use usage::Usage;
pub use veth::{Port, connect};
