//! TLS of a node's own: its function terminates TLS itself, and the node has no sidecar.

use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;

use crate::error::Fault;
use crate::interface::{Carrier, InterfaceKind};
use crate::node::not_of_a_host;
use crate::raw::RawTls;
use crate::sidecar::{CallerHeader, Inbound, Path, service};

/// The listeners of a node at `node_address`. Their interfaces are not known yet:
/// [`belong`](crate::belonging::belong) sets them.
pub(crate) fn listeners(raw: &[RawTls], node_address: IpAddr) -> Result<Vec<Inbound>, Fault> {
    let mut known = HashSet::new();
    let listeners = raw.iter().enumerate().map(|(index, raw)| {
        let listener = listener(raw, node_address).and_then(|listener| match known.insert(listener.listen) {
            true => Ok(listener),
            false => Err(Fault::new("listen", "is listed twice", "list each listener once")),
        });
        listener.map_err(|fault| fault.within(&format!("[{index}]")))
    });
    listeners.collect()
}

fn listener(raw: &RawTls, node_address: IpAddr) -> Result<Inbound, Fault> {
    let mut listen = raw.listen;
    if listen.ip().is_unspecified() {
        listen.set_ip(node_address);
    }
    let no_port = || (listen.port() == 0).then(|| format!("{} has no port: no peer can call it", raw.listen));
    if let Some(cause) = not_of_a_host(listen.ip()).or_else(no_port) {
        let hint = "write the address and port at which the function accepts TLS";
        return Err(Fault::new("listen", cause, hint));
    }
    Ok(Inbound {
        listen,
        forward: listen,
        service: service(raw.service, listen)?,
        interface: InterfaceKind::Sbi,
        carriers: BTreeSet::from([Carrier::Tls]),
        path: Path::Http2,
        caller: CallerHeader::None,
    })
}
