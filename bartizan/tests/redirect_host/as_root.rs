//! These tests make network namespaces.

mod before;
mod flushed;
mod installed;
mod links;
mod many;
mod own_tls;
mod routed;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use bartizan_redirect::{Probed, is_probe, original_destination, probe};

use crate::redirect_stage::{LONG, Seen, Stage};

const NOTHING: Seen = Seen {
    clear_packets: 0,
    clear_content: 0,
    protected: 0,
};

/// A sidecar in little, on both loopback addresses of the AMF's host: it answers with where the
/// connection was meant to go.
fn listen(stage: &Stage) {
    for address in ["127.0.0.1:15001", "[::1]:15001"] {
        let listener = stage.amf.enter(|| TcpListener::bind(address).unwrap()).unwrap();
        // It ends with the process: nothing stops a blocked `accept`.
        thread::spawn(move || {
            for accepted in listener.incoming() {
                let mut accepted = accepted.unwrap();
                if is_probe(accepted.peer_addr().unwrap()) {
                    continue;
                }
                let _ = match original_destination(&accepted) {
                    Ok(destination) => write!(accepted, "{destination}"),
                    Err(error) => write!(accepted, "{error}"),
                };
            }
        });
    }
}

/// Connects from the AMF's host and gives what the other end says first.
fn hear(stage: &Stage, to: &str) -> std::io::Result<String> {
    let to: SocketAddr = to.parse().unwrap();
    stage
        .amf
        .enter(|| {
            let mut stream = TcpStream::connect_timeout(&to, LONG)?;
            let mut said = String::new();
            stream.read_to_string(&mut said)?;
            Ok(said)
        })
        .unwrap()
}

fn probed(stage: &Stage) -> Probed {
    let ask = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(probe("127.0.0.1:15001".parse().unwrap()))
    };
    stage.amf.enter(ask).unwrap().unwrap()
}
