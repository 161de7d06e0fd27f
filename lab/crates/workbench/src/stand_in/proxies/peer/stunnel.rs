//! stunnel: bytes, a thread per connection.

use bartizan_host::{LabRoot, Program};

use crate::Error;
use crate::stand_in::proxies::papers::{CONSUMER, PRODUCER, PRODUCER_NAME};
use crate::stand_in::proxies::peer::{CIPHER_SUITE, Ends, Link, program};

pub(super) fn ends(root: &LabRoot, link: &Link<'_>) -> Result<Ends, Error> {
    let papers = link.papers;
    let end = |node: &str, service: &str| -> Result<Program, Error> {
        let text = format!(
            "foreground = yes\npid =\nsyslog = no\ndebug = err\n\
             socket = l:TCP_NODELAY=1\nsocket = r:TCP_NODELAY=1\n\
             [link]\n{service}\
             cert = {cert}\nkey = {key}\nCAfile = {roots}\nverifyChain = yes\n\
             curves = {group}\nsslVersionMin = TLSv1.3\nciphersuites = {CIPHER_SUITE}\nsessionResume = no\n",
            cert = papers.certificate(node).display(),
            key = papers.key(node).display(),
            roots = papers.roots().display(),
            group = papers.mode.group(),
        );
        let file = link.write(&format!("{node}.conf"), &text)?;
        Ok(program(root, "stunnel4")?
            .argument(file)
            .log(link.folder.join(format!("{node}.log"))))
    };
    let consumer = format!(
        "client = yes\naccept = {}\nconnect = {}\ncheckHost = {PRODUCER_NAME}\nsni = {PRODUCER_NAME}\n",
        link.entry, link.middle
    );
    let producer = format!(
        "client = no\naccept = {}\nconnect = {}\nrequireCert = yes\noptions = NO_TICKET\n",
        link.middle, link.server
    );
    Ok(Ends {
        consumer: end(CONSUMER, &consumer)?,
        producer: end(PRODUCER, &producer)?,
        ledger: None,
    })
}
