//! What a charon that was killed has left in the kernel.

use std::net::IpAddr;
use std::time::Duration;

use bartizan_host::{Error, Program};

/// How often `ip` is run anew for one pair of addresses.
const TRIES: u32 = 20;

/// How long `ip` may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Removes the kernel's ESP states between these pairs of addresses. A charon that ends by itself removes its own; one that was killed
/// leaves them, with their keys, until their lifetime is over, and no other charon knows of them.
///
/// # Errors
///
/// Where `ip` is missing or may not. A kernel that has no such states has none to remove.
pub fn remove_leftover(pairs: impl IntoIterator<Item = [IpAddr; 2]>) -> Result<(), Error> {
    for [here, there] in pairs {
        for [from, to] in [[here, there], [there, here]] {
            if remove(from, to)? == Removed::NoXfrm {
                return Ok(());
            }
        }
    }
    Ok(())
}

#[derive(PartialEq, Eq)]
enum Removed {
    All,
    /// The kernel has no XFRM, and so no states.
    NoXfrm,
}

fn remove(from: IpAddr, to: IpAddr) -> Result<Removed, Error> {
    let mut tries = 0;
    loop {
        tries += 1;
        let removed = Program::new("ip")
            .package("iproute2")
            .arguments(["xfrm", "state", "deleteall"])
            .arguments(["src", &from.to_string(), "dst", &to.to_string(), "proto", "esp"])
            .run(PATIENCE);
        match removed {
            Ok(_) => return Ok(Removed::All),
            Err(Error::Failed { tail, .. }) if tail.contains("Protocol not supported") => return Ok(Removed::NoXfrm),
            // `ip` lists them and deletes one by one: one that has gone by itself in between ends it before the others, with
            // "No such process" or without a reason.
            Err(Error::Failed { .. }) if tries < TRIES => {}
            Err(error) => return Err(error),
        }
    }
}
