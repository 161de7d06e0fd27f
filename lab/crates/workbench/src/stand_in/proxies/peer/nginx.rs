//! nginx: bytes by the module stream, or requests: by `grpc_pass`, the one HTTP/2 upstream that 1.26 has, or by
//! `proxy_http_version 2` of 1.30.

use bartizan_host::{LabRoot, Program};

use crate::Error;
use crate::stand_in::proxies::papers::{CONSUMER, PRODUCER, PRODUCER_NAME};
use crate::stand_in::proxies::peer::{CIPHER_SUITE, Ends, Link, Reuse, program};

pub(super) fn stream(root: &LabRoot, link: &Link<'_>) -> Result<Ends, Error> {
    let module = root.directory().join("usr/lib/nginx/modules/ngx_stream_module.so");
    let load = format!("load_module \"{}\";\n", module.display());
    let (client, server) = (client(link, "proxy"), server_settings(link));
    let (entry, middle, function) = (link.entry, link.middle, link.server);
    let consumer = format!(
        "stream {{ server {{ listen {entry}; tcp_nodelay on; proxy_pass {middle}; proxy_ssl on; proxy_timeout 1h; {client} }} }}\n"
    );
    let producer = format!(
        "stream {{ server {{ listen {middle} ssl; ssl_alpn h2; tcp_nodelay on; proxy_pass {function}; proxy_timeout 1h; {server} }} }}\n"
    );
    ends(root, link, &(load.clone() + &consumer), &(load + &producer))
}

pub(super) fn grpc(root: &LabRoot, link: &Link<'_>) -> Result<Ends, Error> {
    // Without `keepalive` an upstream connection serves one request.
    requests(
        root,
        link,
        "grpc",
        "",
        ["grpc_pass grpcs://peer;", "grpc_pass grpc://function;"],
    )
}

pub(super) fn http2(root: &LabRoot, link: &Link<'_>) -> Result<Ends, Error> {
    // Since 1.29.7 upstream connections are kept unless they are not to be.
    requests(
        root,
        link,
        "proxy",
        "keepalive 0;",
        [
            "proxy_http_version 2; proxy_pass https://peer;",
            "proxy_http_version 2; proxy_pass http://function;",
        ],
    )
}

/// Requests by a module, which has these words for a connection per request, and to pass requests
/// to the consumer's and to the producer's upstream.
fn requests(
    root: &LabRoot,
    link: &Link<'_>,
    module: &str,
    fresh: &'static str,
    pass: [&str; 2],
) -> Result<Ends, Error> {
    let keep = match link.reuse {
        Reuse::Kept => "keepalive 256; keepalive_requests 1000000000; keepalive_timeout 1h;",
        Reuse::Fresh => fresh,
    };
    let always = "keepalive 256; keepalive_requests 1000000000; keepalive_timeout 1h;";
    // The default of 1000 requests per connection would hide a handshake in every thousandth.
    let http = "access_log off; keepalive_requests 1000000000; keepalive_timeout 1h; tcp_nodelay on;";
    let temporary = |node: &str| {
        ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {}/{node}-{kind};", link.folder.display()))
            .concat()
    };
    let (client, server) = (client(link, module), server_settings(link));
    let [to_peer, to_function] = pass;
    let (entry, middle, function) = (link.entry, link.middle, link.server);
    let consumer = format!(
        "http {{ {http} {temporary} upstream peer {{ server {middle}; {keep} }}\n\
         server {{ listen {entry}; http2 on; location / {{ {to_peer} {client} }} }} }}\n",
        temporary = temporary(CONSUMER),
    );
    let producer = format!(
        "http {{ {http} {temporary} upstream function {{ server {function}; {always} }}\n\
         server {{ listen {middle} ssl; http2 on; {server} location / {{ {to_function} }} }} }}\n",
        temporary = temporary(PRODUCER),
    );
    ends(root, link, &consumer, &producer)
}

/// The client's side of the link. The session is never resumed: the server issues no ticket. That
/// reuse is not switched off keeps TCP_NODELAY on for the handshake, which nginx otherwise leaves
/// to Nagle's algorithm (40 ms with ML-DSA).
fn client(link: &Link<'_>, module: &str) -> String {
    let papers = link.papers;
    [
        format!("ssl_certificate \"{}\";", papers.certificate(CONSUMER).display()),
        format!("ssl_certificate_key \"{}\";", papers.key(CONSUMER).display()),
        format!("ssl_trusted_certificate \"{}\";", papers.roots().display()),
        "ssl_verify on;".to_owned(),
        format!("ssl_name {PRODUCER_NAME};"),
        "ssl_server_name on;".to_owned(),
        "ssl_protocols TLSv1.3;".to_owned(),
        format!("ssl_conf_command Groups {};", papers.mode.group()),
        format!("ssl_conf_command Ciphersuites {CIPHER_SUITE};"),
    ]
    .map(|setting| format!("{module}_{setting} "))
    .concat()
}

fn server_settings(link: &Link<'_>) -> String {
    let papers = link.papers;
    format!(
        "ssl_certificate \"{}\"; ssl_certificate_key \"{}\"; ssl_client_certificate \"{}\"; ssl_verify_client on; \
         ssl_protocols TLSv1.3; ssl_ecdh_curve {}; ssl_conf_command Ciphersuites {CIPHER_SUITE}; \
         ssl_session_tickets off; ssl_session_cache off;",
        papers.certificate(PRODUCER).display(),
        papers.key(PRODUCER).display(),
        papers.roots().display(),
        papers.mode.group(),
    )
}

fn ends(root: &LabRoot, link: &Link<'_>, consumer: &str, producer: &str) -> Result<Ends, Error> {
    let end = |node: &str, body: &str| -> Result<Program, Error> {
        let folder = link.folder.display();
        // nginx' workers would otherwise be of a user who may not read the keys. Ignored, with a warning, without root.
        let text = format!(
            "daemon off; worker_processes 1; user root; pid \"{folder}/{node}.pid\"; error_log stderr error;\n\
             events {{ worker_connections 4096; }}\n"
        );
        // Modules are loaded before anything else is read.
        let (load, body) = match body.split_once('\n') {
            Some((load, rest)) if load.starts_with("load_module") => (load, rest),
            _ => ("", body),
        };
        let file = link.write(&format!("{node}.conf"), &format!("{load}\n{text}{body}"))?;
        Ok(program(root, "nginx")?
            .arguments(["-e", "stderr", "-p"])
            .argument(link.folder)
            .argument("-c")
            .argument(file)
            .log(link.folder.join(format!("{node}.log"))))
    };
    Ok(Ends {
        consumer: end(CONSUMER, consumer)?,
        producer: end(PRODUCER, producer)?,
        ledger: None,
    })
}
