//! Resources that a run borrows from the machine: network namespaces, processes, packets of
//! interfaces, and lab roots (a Debian release unpacked in a directory, for programs that this
//! machine does not have).
//!
//! Everything here is owned: dropping the value removes what it owns. A run that is killed cannot drop, so
//! two more things hold. Each child dies with its owner (`PR_SET_PDEATHSIG`), and each namespace and child carries
//! the name of its owner, so that [`sweep`] of the next run finds and removes what is left.
//!
//! This crate is the one with operating-system code; most of it needs root.

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
mod guest_kernel;
mod ike_socket;
mod interface;
mod lab_root;
mod namespace;
pub mod netlink;
pub mod nftables;
mod output;
mod owner;
mod process;
mod program;
mod readiness;
pub mod routing;
pub mod sctp;
pub mod socket_option;
mod spawner;
mod sweep;
mod tun;
mod unix;

pub use capture::{Batch, Fed, Feed, Frame, Packet, PacketSocket, SNAP_LENGTH, Side, interfaces};
pub use connections::Connection;
pub use daemon::Daemon;
pub use datagrams::{Received, Sent, carry_tunnel, mark_packets, receive_datagrams, send_datagrams};
pub use echo_socket::EchoSocket;
pub use error::Error;
pub use exclusive::{FileLock, private_directory};
pub use facts::{Facts, Permission};
pub use features::{Feature, Support};
pub use frames::{FrameSocket, PAE_GROUP_ADDRESS, ReceivedFrame};
pub use guest_kernel::{KernelBlueprint, KernelPackage, KernelStamp};
pub use ike_socket::{bypass_esp_policies, carry_esp};
pub use interface::{Interface, interface_number, interface_with};
pub use lab_root::{Blueprint, LabRoot, RootStamp, cache};
pub use namespace::Namespace;
pub use process::{Finished, Process};
pub use program::Program;
pub use readiness::{Interest, ready};
pub use spawner::ready as ready_to_start;
pub use sweep::{Swept, sweep};
pub use tun::Tun;
pub use unix::connect_unix;
