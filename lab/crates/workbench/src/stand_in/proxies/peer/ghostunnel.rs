//! Ghostunnel: bytes, by Go's TLS. Its build by `scripts/peers` takes the group from the environment and nothing but
//! TLS 1.3 with AES-256-GCM; stock, its server refuses post-quantum groups.

use std::path::Path;

use bartizan_host::Program;

use crate::Error;
use crate::stand_in::proxies::papers::{CONSUMER, PRODUCER, PRODUCER_NAME};
use crate::stand_in::proxies::peer::{Ends, Link};

pub(super) fn ends(ghostunnel: &Path, link: &Link<'_>) -> Result<Ends, Error> {
    let papers = link.papers;
    let end = |role: &str, node: &str| {
        Program::new(ghostunnel)
            .arguments([role, "--quiet=all"])
            .argument(format!("--cert={}", papers.certificate(node).display()))
            .argument(format!("--key={}", papers.key(node).display()))
            .argument(format!("--cacert={}", papers.roots().display()))
            .environment("LINK_GROUP", papers.mode.group())
            // One worker, as the others have.
            .environment("GOMAXPROCS", "1")
            .log(link.folder.join(format!("{node}.log")))
    };
    Ok(Ends {
        consumer: end("client", CONSUMER)
            .argument(format!("--listen={}", link.entry))
            .argument(format!("--target={}", link.middle))
            .argument(format!("--override-server-name={PRODUCER_NAME}")),
        producer: end("server", PRODUCER)
            .argument(format!("--listen={}", link.middle))
            .argument(format!("--target={}", link.server))
            .argument(format!("--allow-dns={CONSUMER}.5gc")),
        ledger: None,
    })
}
