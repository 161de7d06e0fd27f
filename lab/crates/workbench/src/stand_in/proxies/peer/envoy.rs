//! Envoy (BoringSSL), HTTP/2 on all legs. ML-DSA certificates need `signature_algorithms` on both
//! sides, and a client speaks TLS 1.2 at most unless configured.

use std::path::Path;

use bartizan_host::Program;

use crate::Error;
use crate::stand_in::proxies::Mode;
use crate::stand_in::proxies::papers::{CONSUMER, PRODUCER, PRODUCER_NAME};
use crate::stand_in::proxies::peer::{Ends, Link, Reuse};

pub(super) fn ends(envoy: &Path, link: &Link<'_>) -> Result<Ends, Error> {
    let papers = link.papers;
    let signatures = match papers.mode {
        Mode::Classical => "",
        Mode::PostQuantum => "signature_algorithms: [mldsa65], ",
    };
    // Its TLS 1.3 cipher suites cannot be chosen; between two of them on a processor with AES it is AES-256-GCM.
    let common = |node: &str, name: &str| {
        format!(
            "common_tls_context: {{ alpn_protocols: [h2], \
             tls_params: {{ tls_minimum_protocol_version: TLSv1_3, tls_maximum_protocol_version: TLSv1_3, {signatures}ecdh_curves: [{group}] }}, \
             tls_certificates: [{{ certificate_chain: {{ filename: \"{cert}\" }}, private_key: {{ filename: \"{key}\" }} }}], \
             validation_context: {{ trusted_ca: {{ filename: \"{roots}\" }}, \
             match_typed_subject_alt_names: [{{ san_type: DNS, matcher: {{ exact: {name} }} }}] }} }}",
            group = papers.mode.group(),
            cert = papers.certificate(node).display(),
            key = papers.key(node).display(),
            roots = papers.roots().display(),
        )
    };
    let per_connection = match link.reuse {
        Reuse::Kept => "",
        Reuse::Fresh => "common_http_protocol_options: { max_requests_per_connection: 1 }, ",
    };
    let upstream = format!(
        "transport_socket: {{ name: tls, typed_config: {{ \
         \"@type\": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext, \
         sni: {PRODUCER_NAME}, max_session_keys: 0, {} }} }}",
        common(CONSUMER, PRODUCER_NAME)
    );
    let downstream = format!(
        "transport_socket: {{ name: tls, typed_config: {{ \
         \"@type\": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext, \
         require_client_certificate: true, disable_stateless_session_resumption: true, \
         disable_stateful_session_resumption: true, {} }} }}",
        common(PRODUCER, "consumer.5gc")
    );
    let bootstrap = |listen, listen_tls: &str, to, to_tls: &str, per_connection: &str| {
        format!(
            "static_resources:\n\
             \x20 listeners:\n\
             \x20 - address: {{ socket_address: {{ {listen} }} }}\n\
             \x20   filter_chains:\n\
             \x20   - {{ filters: [{{ name: http, typed_config: {{ \
             \"@type\": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager, \
             codec_type: HTTP2, stat_prefix: in, generate_request_id: false, \
             route_config: {{ virtual_hosts: [{{ name: all, domains: [\"*\"], routes: [{{ match: {{ prefix: \"/\" }}, route: {{ cluster: out }} }}] }}] }}, \
             http_filters: [{{ name: router, typed_config: {{ \"@type\": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router }} }}] \
             }} }}], {listen_tls} }}\n\
             \x20 clusters:\n\
             \x20 - {{ name: out, connect_timeout: 5s, type: STATIC, \
             load_assignment: {{ cluster_name: out, endpoints: [{{ lb_endpoints: [{{ endpoint: {{ address: {{ socket_address: {{ {to} }} }} }} }}] }}] }}, \
             typed_extension_protocol_options: {{ envoy.extensions.upstreams.http.v3.HttpProtocolOptions: {{ \
             \"@type\": type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions, {per_connection}\
             explicit_http_config: {{ http2_protocol_options: {{}} }} }} }}, {to_tls} }}\n"
        )
    };
    let place = |address: std::net::SocketAddr| format!("address: {}, port_value: {}", address.ip(), address.port());
    let consumer = bootstrap(place(link.entry), "", place(link.middle), &upstream, per_connection);
    let producer = bootstrap(place(link.middle), &downstream, place(link.server), "", "");
    let end = |node: &str, text: &str| -> Result<Program, Error> {
        let file = link.write(&format!("{node}.yaml"), text)?;
        Ok(Program::new(envoy)
            .argument("--config-path")
            .argument(file)
            .arguments(["--concurrency", "1", "--disable-hot-restart", "--log-level", "error"])
            .log(link.folder.join(format!("{node}.log"))))
    };
    Ok(Ends {
        consumer: end(CONSUMER, &consumer)?,
        producer: end(PRODUCER, &producer)?,
        ledger: None,
    })
}
