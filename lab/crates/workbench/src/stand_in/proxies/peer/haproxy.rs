//! HAProxy, mode http, HTTP/2 on all legs.

use bartizan_host::{LabRoot, Program};

use crate::Error;
use crate::stand_in::proxies::papers::{CONSUMER, PRODUCER, PRODUCER_NAME};
use crate::stand_in::proxies::peer::{CIPHER_SUITE, Ends, Link, Reuse, program};

pub(super) fn ends(root: &LabRoot, link: &Link<'_>) -> Result<Ends, Error> {
    let papers = link.papers;
    let reuse = match link.reuse {
        Reuse::Kept => "always",
        Reuse::Fresh => "never",
    };
    let tls = format!(
        "ssl alpn h2 ssl-min-ver TLSv1.3 ciphersuites {CIPHER_SUITE} curves {group} ca-file {roots} verify required",
        group = papers.mode.group(),
        roots = papers.roots().display(),
    );
    let consumer = format!(
        "frontend in\n  bind {entry} proto h2\n  default_backend out\n\
         backend out\n  http-reuse {reuse}\n  \
         server peer {middle} {tls} crt {crt} verifyhost {PRODUCER_NAME} sni str({PRODUCER_NAME}) no-ssl-reuse\n",
        entry = link.entry,
        middle = link.middle,
        crt = papers.combined(CONSUMER).display(),
    );
    let producer = format!(
        "frontend in\n  bind {middle} {tls} crt {crt} no-tls-tickets\n  default_backend out\n\
         backend out\n  http-reuse always\n  server function {server} proto h2\n",
        middle = link.middle,
        crt = papers.combined(PRODUCER).display(),
        server = link.server,
    );
    let end = |node: &str, body: &str| -> Result<Program, Error> {
        let text = format!(
            "global\n  nbthread 1\n  maxconn 4000\n  tune.ssl.cachesize 0\n\
             defaults\n  mode http\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n  timeout http-keep-alive 1h\n\
             {body}"
        );
        let file = link.write(&format!("{node}.cfg"), &text)?;
        Ok(program(root, "haproxy")?
            .arguments(["-db", "-f"])
            .argument(file)
            .log(link.folder.join(format!("{node}.log"))))
    };
    Ok(Ends {
        consumer: end(CONSUMER, &consumer)?,
        producer: end(PRODUCER, &producer)?,
        ledger: None,
    })
}
