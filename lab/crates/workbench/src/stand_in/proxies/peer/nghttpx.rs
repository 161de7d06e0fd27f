//! nghttpx, HTTP/2 on all legs. It always keeps its connections to a backend.

use bartizan_host::{LabRoot, Program};

use crate::Error;
use crate::stand_in::proxies::papers::{CONSUMER, PRODUCER, PRODUCER_NAME};
use crate::stand_in::proxies::peer::{CIPHER_SUITE, Ends, Link, program};

pub(super) fn ends(root: &LabRoot, link: &Link<'_>) -> Result<Ends, Error> {
    let papers = link.papers;
    let (entry, middle, server) = (link.entry, link.middle, link.server);
    // The groups of its client side are those of the library's configuration.
    let library = link.write(
        "openssl.cnf",
        &format!(
            "openssl_conf = all\n[all]\nssl_conf = ssl\n[ssl]\nsystem_default = default\n[default]\nGroups = {}\n",
            papers.mode.group()
        ),
    )?;
    let empty = link.write("nghttpx.conf", "")?;
    let end = |node: &str| -> Result<Program, Error> {
        Ok(program(root, "nghttpx")?
            .argument(format!("--conf={}", empty.display()))
            .arguments([
                "--workers=1",
                "--no-ocsp",
                "--accesslog-file=/dev/null",
                "--log-level=ERROR",
            ])
            .arguments(["--frontend-http2-idle-timeout=1h", "--backend-keep-alive-timeout=1h"])
            .argument(format!("--tls13-ciphers={CIPHER_SUITE}"))
            .argument(format!("--tls13-client-ciphers={CIPHER_SUITE}"))
            .environment("OPENSSL_CONF", &library)
            .log(link.folder.join(format!("{node}.log"))))
    };
    let consumer = end(CONSUMER)?
        .argument(format!("--frontend={},{};no-tls", entry.ip(), entry.port()))
        .argument(format!(
            "--backend={},{};/;proto=h2;tls;sni={PRODUCER_NAME}",
            middle.ip(),
            middle.port()
        ))
        .argument(format!("--client-cert-file={}", papers.certificate(CONSUMER).display()))
        .argument(format!("--client-private-key-file={}", papers.key(CONSUMER).display()))
        .argument(format!("--cacert={}", papers.roots().display()));
    let producer = end(PRODUCER)?
        .argument(format!("--frontend={},{}", middle.ip(), middle.port()))
        .argument(format!("--backend={},{};/;proto=h2", server.ip(), server.port()))
        .arguments(["--verify-client", "--no-http2-cipher-block-list"])
        .argument(format!("--verify-client-cacert={}", papers.roots().display()))
        .argument(format!("--ecdh-curves={}", papers.mode.group()))
        .argument(papers.key(PRODUCER))
        .argument(papers.certificate(PRODUCER));
    Ok(Ends {
        consumer,
        producer,
        ledger: None,
    })
}
