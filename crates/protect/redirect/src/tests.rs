//! Plans and their rules; that the kernel does what they say is tested in namespaces, `bartizan/tests/redirect_host`.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, SystemTime};

use bartizan_deployment::Deployment;
use proptest::prelude::*;

use super::*;

const USER: u32 = 999;
const NOW: SystemTime = SystemTime::UNIX_EPOCH;

/// A file with an AMF on 10.9.0.1 and two peers; each part can be changed.
struct File {
    own_inbound: &'static str,
    own_outbound: &'static str,
    nrf_inbound: &'static str,
    /// TLS of its own in place of the NRF's sidecar.
    nrf_tls: Option<&'static str>,
    interfaces: &'static str,
}

const GOOD: File = File {
    own_inbound: "{ listen: '0.0.0.0:7443', forward: '127.0.0.1:8000' }",
    own_outbound: "{ listen: '127.0.0.1:15001', transparent: true }",
    nrf_inbound: "{ listen: '10.9.0.2:7443', forward: '10.9.0.2:8000' }",
    nrf_tls: None,
    interfaces: "{ kind: SBI, between: [amf, nrf], with: sidecar }",
};

impl File {
    fn plan(&self) -> Result<Plan, Error> {
        self.plan_for("amf", USER)
    }

    fn plan_for(&self, node: &str, user: u32) -> Result<Plan, Error> {
        Plan::new(&self.deployment(), node, user, NOW)
    }

    fn deployment(&self) -> Deployment {
        Deployment::parse(&self.text(), "test", Path::new("/")).unwrap()
    }

    fn text(&self) -> String {
        let Self {
            own_inbound,
            own_outbound,
            nrf_inbound,
            interfaces,
            ..
        } = self;
        let text = format!(
            "
trust: {{ roots: ca.pem }}
nodes:
  amf:
    function: AMF
    address: 10.9.0.1
    certificate: a
    key: b
    sidecar: {{ inbound: [ {own_inbound} ], outbound: [ {own_outbound} ] }}
  nrf:
    function: NRF
    address: 10.9.0.2
    certificate: a
    key: b
    sidecar: {{ inbound: [ {nrf_inbound} ] }}
  udm:
    function: UDM
    address: 10.9.0.3
    certificate: a
    key: b
    sidecar: {{ inbound: [ {{ listen: '10.9.0.3:7443', forward: '127.0.0.1:8000' }} ] }}
  ue: {{ function: UE, address: 10.9.0.9 }}
interfaces: [ {interfaces} ]
"
        );
        match self.nrf_tls {
            None => text,
            Some(tls) => text.replace(
                &format!("sidecar: {{ inbound: [ {nrf_inbound} ] }}"),
                &format!("tls: [ {tls} ]"),
            ),
        }
    }

    fn refusal(&self) -> String {
        match self.plan() {
            Err(Error::Configuration { place, cause, hint }) => {
                assert!(!hint.is_empty());
                format!("{place}: {cause}")
            }
            other => panic!("not refused: {other:?}"),
        }
    }
}

/// Input for `nft`.
fn script(plan: Plan) -> String {
    let options = Options {
        fence: false,
        strict: false,
    };
    Installed::new(plan, options).script()
}

fn addresses(plan: &Plan) -> Vec<String> {
    plan.services
        .iter()
        .map(|service| format!("{} {}", service.node, service.address))
        .collect()
}

#[test]
fn functions_are_guarded_where_others_know_them_also_without_an_interface() {
    let plan = GOOD.plan().unwrap();
    assert_eq!(addresses(&plan), ["nrf 10.9.0.2:8000", "udm 10.9.0.3:8000"]);
    assert_eq!(plan.unprotected_peers, []);
}

#[test]
fn service_of_the_file_goes_before_the_address_of_the_node() {
    let file = File {
        nrf_inbound: "{ listen: '10.9.0.2:7443', forward: '127.0.0.1:8000', service: '10.9.5.5:80' }",
        ..GOOD
    };
    let plan = file.plan().unwrap();
    let of_nrf = addresses(&plan).into_iter().filter(|one| one.starts_with("nrf"));
    // At the node's address and the port of `forward` it may listen as well.
    // Another server may have the other ports of an address that is not the node's.
    let further = ["nrf 10.9.0.2:80", "nrf 10.9.0.2:8000", "nrf 10.9.5.5:80"];
    assert_eq!(of_nrf.collect::<Vec<_>>(), further);
}

/// Plaintext reached a peer at its other addresses: `service` alone was redirected and guarded.
#[test]
fn function_is_guarded_at_each_address_of_its_node() {
    let names = "address: 10.9.0.2\n    names: { dns: [nrf], ip: ['2001:db8::2', 10.9.1.2] }";
    let text = GOOD.text().replace("address: 10.9.0.2", names);
    let planned = |text: &str| {
        let deployment = Deployment::parse(text, "test", Path::new("/")).unwrap();
        Plan::new(&deployment, "amf", USER, NOW).unwrap()
    };
    let plan = planned(&text);
    for address in ["10.9.0.2:8000", "10.9.1.2:8000", "[2001:db8::2]:8000"] {
        assert!(addresses(&plan).contains(&format!("nrf {address}")), "{address}");
    }
    // It needs no listener of its family: without one it is refused and not redirected.
    let rules = script(plan);
    assert!(
        rules.contains("2001:db8::2 . 8000") && !rules.contains("dnat ip6"),
        "{rules}"
    );

    // TLS listeners and functions of other nodes at one of these addresses keep theirs.
    let plan = planned(&text.replace("listen: '10.9.0.3:7443'", "listen: '10.9.1.2:8000'"));
    assert!(!addresses(&plan).contains(&"nrf 10.9.1.2:8000".to_owned()));
    let inbound = format!("inbound: [ {} ]", GOOD.nrf_inbound);
    let plan = planned(&text.replace(&inbound, &format!("{inbound}, admin: '10.9.1.2:8000'")));
    assert!(!addresses(&plan).contains(&"nrf 10.9.1.2:8000".to_owned()));
}

#[test]
fn link_that_is_clear_by_choice_is_left_alone_and_named() {
    let file = File {
        interfaces: "{ kind: SBI, between: [nrf, amf], with: nothing }",
        ..GOOD
    };
    let plan = file.plan().unwrap();
    assert_eq!(addresses(&plan), ["udm 10.9.0.3:8000"]);
    assert_eq!(plan.unprotected_peers.len(), 1);
    assert_eq!(plan.unprotected_peers[0].node.as_str(), "nrf");
}

#[test]
fn link_that_may_go_unprotected_until_a_day_is_guarded_from_the_next_on() {
    let file = File {
        interfaces: "{ kind: SBI, between: [nrf, amf], with: nothing, policy: { profile: transition, reason: no sidecar yet, expires: 1970-01-10 } }",
        ..GOOD
    };
    let plan_on = |day: u64| {
        let now = NOW + Duration::from_secs(day * 86_400);
        Plan::new(&file.deployment(), "amf", USER, now).unwrap()
    };
    let last = plan_on(9);
    assert_eq!(addresses(&last), ["udm 10.9.0.3:8000"]);
    // The rules that are installed by then close by themselves.
    let rules = script(last);
    for rule in [
        "ip saddr 10.9.0.2/32 tcp dport { 8000 } meta time < 864000 counter accept",
        "ip daddr 10.9.0.2/32 tcp sport { 8000 } meta time < 864000 counter accept",
        "ip daddr 10.9.0.2 tcp dport 8000 meta time >= 864000 counter reject with tcp reset",
        "ip daddr 10.9.0.2 tcp dport 8000 meta time >= 864000 counter dnat ip to 127.0.0.1:15001",
    ] {
        assert!(rules.contains(rule), "{rule}\n{rules}");
    }
    let after = plan_on(10);
    assert_eq!(addresses(&after), ["nrf 10.9.0.2:8000", "udm 10.9.0.3:8000"]);
    assert_eq!(after.unprotected_peers, []);
    assert!(!script(after).contains("meta time"));
}

#[test]
fn peer_behind_ipsec_is_let_in_by_the_addresses_that_its_packets_have() {
    let file = File {
        interfaces: "{ kind: SBI, between: [amf, nrf], with: ipsec, ipsec: { inner: { amf: [10.78.1.1], nrf: [10.78.2.0/24] } } }",
        ..GOOD
    };
    let rules = Installed::new(
        file.plan().unwrap(),
        Options {
            fence: true,
            strict: true,
        },
    )
    .script();
    for rule in [
        "ip saddr 10.78.2.0/24 tcp dport { 8000 } counter accept",
        "ip daddr 10.78.2.0/24 tcp sport { 8000 } counter accept",
        "# ip -4 rule add pref 1 to 10.78.2.0/24 iif lo ipproto 6 sport 8000 goto 4 protocol 74",
        "# ip xfrm policy update src 0.0.0.0/0 dst 10.78.2.0/24 proto 6 sport 8000 dir out priority",
        "ip daddr 10.78.2.0/24 meta l4proto tcp accept",
        "ip daddr 10.9.0.2 meta l4proto { udp, esp, sctp } accept",
    ] {
        assert!(rules.contains(rule), "{rule}\n{rules}");
    }
}

#[test]
fn interface_that_is_unprotected_opens_nothing_of_another() {
    let file = File {
        interfaces: "{ kind: O1, between: [nrf, amf], with: nothing }, { kind: SBI, between: [nrf, amf], with: sidecar }",
        ..GOOD
    };
    let plan = file.plan().unwrap();
    assert_eq!(addresses(&plan).len(), 2);
    assert!(!script(plan).contains("by the file"));
}

#[test]
fn link_that_does_not_run_over_tcp_says_nothing_about_the_sbi() {
    let file = File {
        interfaces: "{ kind: N2, between: [amf, nrf], with: nothing }",
        ..GOOD
    };
    assert_eq!(addresses(&file.plan().unwrap()).len(), 2);
}

#[test]
fn root_is_not_exempt() {
    let error = GOOD.plan_for("amf", 0).unwrap_err();
    assert!(error.to_string().starts_with("--user: root cannot be"), "{error}");
}

#[test]
fn node_that_is_not_in_the_file_or_has_no_sidecar_is_refused() {
    let error = GOOD.plan_for("smf", USER).unwrap_err();
    assert_eq!(error.to_string(), "--node: no node is called `smf`");
    assert_eq!(error.hint(), "nodes are amf, nrf, udm, ue");
    let error = GOOD.plan_for("ue", USER).unwrap_err();
    assert_eq!(error.to_string(), "nodes.ue: has no sidecar");
}

#[test]
fn way_in_without_a_transparent_listener_is_refused() {
    let file = File {
        own_outbound: "{ listen: '127.0.0.1:15001', to: nrf }",
        ..GOOD
    };
    assert_eq!(
        file.refusal(),
        "nodes.amf.sidecar.outbound: has no transparent listener"
    );
}

#[test]
fn ipv6_peer_without_an_ipv6_listener_is_refused() {
    let file = File {
        nrf_inbound: "{ listen: '10.9.0.2:7443', forward: '127.0.0.1:8000', service: '[fd9::2]:8000' }",
        ..GOOD
    };
    assert_eq!(
        file.refusal(),
        "nodes.amf.sidecar.outbound: nothing takes what goes to [fd9::2]:8000 (nrf)"
    );
}

#[test]
fn ipv4_peer_without_an_ipv4_listener_is_refused() {
    let file = File {
        own_outbound: "{ listen: '[::1]:15001', transparent: true }",
        ..GOOD
    };
    let refusal = file.refusal();
    assert!(refusal.contains("nothing takes what goes to 10.9.0."), "{refusal}");
}

#[test]
fn where_only_ipv6_is_redirected_the_rules_are_asked_for_over_ipv4_all_the_same() {
    let text = "
trust: { roots: ca.pem }
nodes:
  amf:
    function: AMF
    address: fd9::1
    certificate: a
    key: b
    sidecar: { outbound: [ { listen: '[::1]:15001', transparent: true } ] }
  nrf:
    function: NRF
    address: fd9::2
    certificate: a
    key: b
    sidecar: { inbound: [ { listen: '[fd9::2]:7443', forward: '[fd9::2]:8000' } ] }
interfaces: [ { kind: SBI, between: [amf, nrf], with: sidecar } ]";
    let deployment = Deployment::parse(text, "test", Path::new("")).unwrap();
    let script = script(Plan::new(&deployment, "amf", USER, NOW).unwrap());
    for rule in [
        "ip daddr 127.98.116.122 tcp dport 1 dnat ip to 127.0.0.1:15001",
        "ip saddr 127.98.116.123 tcp dport 15001 reject",
        "@services-v6 counter dnat ip6 to [::1]:15001",
    ] {
        assert!(script.contains(rule), "{rule}\n{script}");
    }
    assert!(!script.contains("@services-v4 counter dnat"), "{script}");
}

#[test]
fn peer_whose_sidecar_takes_the_port_of_its_function_is_refused() {
    let file = File {
        nrf_inbound: "{ listen: '0.0.0.0:8000', forward: '127.0.0.1:8000' }",
        ..GOOD
    };
    assert_eq!(
        file.refusal(),
        "nodes.nrf.sidecar.inbound: the sidecar of nrf listens at 10.9.0.2:8000, where its function is called"
    );
}

#[test]
fn guard_that_would_close_the_sidecars_own_port_is_refused() {
    let file = File {
        own_inbound: "{ listen: '10.9.0.1:8000', forward: '127.0.0.1:8000' }",
        ..GOOD
    };
    assert_eq!(
        file.refusal(),
        "nodes.amf.sidecar.inbound: listens on the port of its own function, 8000"
    );
}

#[test]
fn own_tls_of_a_peer_is_for_the_sidecar_alone_and_its_service_is_redirected_and_fenced() {
    let own = |tls| File {
        nrf_tls: Some(tls),
        ..GOOD
    };
    let at_its_tls_port = own("{ listen: '10.9.0.2:7443' }").plan().unwrap();
    // The fence knows no users, so nothing is redirected to an address that it cannot hold.
    assert_eq!(addresses(&at_its_tls_port), ["udm 10.9.0.3:8000"]);
    let plan = own("{ listen: '10.9.0.2:7443', service: '10.9.0.2:80' }")
        .plan()
        .unwrap();
    assert_eq!(addresses(&plan), ["nrf 10.9.0.2:80", "udm 10.9.0.3:8000"]);
    for plan in [at_its_tls_port, plan] {
        let listeners: Vec<_> = plan
            .own_tls()
            .map(|(address, node)| format!("{node} {address}"))
            .collect();
        assert_eq!(listeners, ["nrf 10.9.0.2:7443"]);
        let script = script(plan);
        for rule in [
            "set tls-v4 {\n\t\ttype ipv4_addr . inet_service\n\t\telements = {\n\t\t\t10.9.0.2 . 7443",
            "meta skuid != 999 ip daddr . tcp dport @tls-v4 counter reject with tcp reset",
            "meta skuid != 999 ip6 daddr . tcp dport @tls-v6 counter reject with tcp reset",
        ] {
            assert_eq!(script.matches(rule).count(), 1, "{rule}\n{script}");
        }
    }
    // Nothing changes for hosts without such peers: their marks stay.
    assert!(!script(GOOD.plan().unwrap()).contains("tls-v4"));
    // By the file's choice it passes next to the sidecars.
    let unprotected = File {
        interfaces: "{ kind: SBI, between: [amf, nrf], with: nothing }",
        ..own("{ listen: '10.9.0.2:7443' }")
    };
    assert_eq!(unprotected.plan().unwrap().own_tls().count(), 0);
    assert_eq!(
        own("{ listen: '10.9.0.2:7443', service: '10.9.0.1:80' }").refusal(),
        "nodes.nrf.tls[0]: 10.9.0.1:80 is on the host of amf: rules cannot distinguish the two"
    );
    assert_eq!(
        own("{ listen: '10.9.0.3:8000', service: '10.9.0.2:80' }").refusal(),
        "nodes.nrf.tls: nrf accepts TLS at 10.9.0.3:8000, where a function is called"
    );
}

#[test]
fn node_with_tls_of_its_own_has_no_sidecar_to_lead_to() {
    let file = File {
        nrf_tls: Some("{ listen: '10.9.0.2:7443' }"),
        ..GOOD
    };
    let Err(Error::Configuration { place, cause, hint }) = file.plan_for("nrf", USER) else {
        panic!("not refused")
    };
    assert_eq!((place.as_str(), cause.as_str()), ("nodes.nrf", "has no sidecar"));
    assert!(hint.starts_with("nrf has TLS of its own"), "{hint}");
}

#[test]
fn peer_on_the_same_host_is_refused() {
    for service in ["10.9.0.1:9000", "127.0.0.5:7777"] {
        let inbound = format!("{{ listen: '10.9.0.2:7443', forward: '127.0.0.1:8000', service: '{service}' }}");
        let file = File {
            nrf_inbound: inbound.leak(),
            ..GOOD
        };
        let refusal = file.refusal();
        assert!(refusal.contains("is on the host of amf"), "{refusal}");
    }
}

#[test]
fn mark_changes_with_the_rules_and_only_with_them() {
    let mark = |file: &File| file.plan().unwrap().mark();
    assert_eq!(mark(&GOOD), mark(&GOOD));
    let other_path = File {
        own_outbound: "{ listen: '127.0.0.1:15001', transparent: true, path: splice }",
        ..GOOD
    };
    assert_eq!(mark(&GOOD), mark(&other_path));
    assert_ne!(mark(&GOOD), GOOD.plan_for("amf", USER + 1).unwrap().mark());
}

#[test]
fn node_without_an_inbound_listener_has_no_function_to_close_off() {
    let file = File {
        own_inbound: "",
        ..GOOD
    };
    let script = script(file.plan().unwrap());
    assert!(
        !script.contains("chain input") && !script.contains("tcp sport"),
        "{script}"
    );
}

proptest! {
    /// For all addresses of the file: each is in a set of its family in both tables and has a rule
    /// of the fence.
    #[test]
    fn every_service_is_redirected_guarded_and_fenced(hosts in proptest::collection::btree_set((2_u8..255, 1_u16..7000, any::<bool>()), 1..20)) {
        let inbound: Vec<_> = hosts
            .iter()
            .map(|(host, port, v6)| {
                let service = if *v6 { format!("[fd9::{host:x}]:{port}") } else { format!("10.8.0.{host}:{port}") };
                format!("{{ listen: '10.9.0.2:7443', forward: '127.0.0.1:{port}', service: '{service}' }}")
            })
            .collect();
        // One listener may be listed once only.
        let nodes: String = inbound
            .iter()
            .enumerate()
            .map(|(number, inbound)| format!(
                "  n{number}: {{ function: NF, address: 10.7.0.1, certificate: a, key: b, sidecar: {{ inbound: [ {inbound} ] }} }}\n"
            ))
            .collect();
        let text = format!("trust: {{ roots: ca.pem }}\nnodes:\n  amf: {{ function: AMF, address: 10.9.0.1, certificate: a, key: b, \
            sidecar: {{ outbound: [ {{ listen: '127.0.0.1:1', transparent: true }}, {{ listen: '[::1]:1', transparent: true }} ] }} }}\n{nodes}");
        let deployment = Deployment::parse(&text, "test", Path::new("/")).unwrap();
        let plan = Plan::new(&deployment, "amf", USER, NOW).unwrap();
        let script = script(plan.clone());
        let services: BTreeSet<_> = plan.services.iter().map(|service| service.address).collect();
        prop_assert!(services.len() >= hosts.len());
        for &address in &services {
            let element = format!("\t\t\t{} . {}", address.ip(), address.port());
            let lines = script.lines().filter(|line| line.trim_end_matches(',') == element).count();
            prop_assert_eq!(lines, 2);
        }
        let fence = fence::batches(&plan).map(|(_, batch)| batch).concat();
        // To loopback and nowhere else; IPv4 is blocked for sockets that are bound to a device as well.
        for service in &plan.services {
            let (address, port) = (service.address.ip(), service.address.port());
            let nowhere = match service.address {
                SocketAddr::V4(_) => format!("route replace unreachable {address} table "),
                SocketAddr::V6(_) => format!("rule add pref 3 to {address} ipproto 6 dport {port} unreachable "),
            };
            for line in [format!("route replace {address} dev lo table "), nowhere] {
                prop_assert!(fence.lines().any(|found| found.starts_with(&line)), "{line}: {fence}");
            }
        }
        // A rule for each port, however many peers are called at it.
        let ports: BTreeSet<_> = services.iter().map(|service| (service.port(), service.is_ipv6())).collect();
        let lookups = fence.lines().filter(|line| line.contains(" lookup ")).count();
        prop_assert_eq!(lookups, ports.len());
        let v4 = services.iter().filter(|service| service.is_ipv4()).count();
        prop_assert_eq!(fence.lines().filter(|line| line.starts_with("xfrm policy ")).count(), v4);
    }
}

/// A gNB and an AMF joined by a gateway, a second gNB by IPsec, a third joined by nothing.
fn over_sctp(gnb_outbound: &str, interfaces: &str) -> Deployment {
    Deployment::parse(&text_over_sctp(gnb_outbound, interfaces), "test", Path::new("/")).unwrap()
}

fn text_over_sctp(gnb_outbound: &str, interfaces: &str) -> String {
    format!(
        "
trust: {{ roots: ca.pem }}
nodes:
  gnb: {{ function: gNB, address: 10.8.0.1, certificate: a, key: b, sidecar: {{ outbound: [ {gnb_outbound} ] }} }}
  amf:
    function: AMF
    address: 10.8.0.2
    certificate: a
    key: b
    sidecar: {{ inbound: [ {{ listen: '10.8.0.2:38413', forward: '127.0.0.5:38412', path: sctp, interface: N2 }} ] }}
  other: {{ function: gNB, address: 10.8.0.3 }}
interfaces: [ {{ kind: N2, between: [gnb, amf], with: gateway }}, {interfaces} ]
"
    )
}

const LED: &str = "{ listen: '127.0.0.1:38412', to: amf, path: sctp }";
const BY_IPSEC: &str = "{ kind: N2, between: [other, amf], with: ipsec }";

fn of(deployment: &Deployment, node: &str) -> String {
    script(Plan::new(deployment, node, USER, NOW).unwrap())
}

#[test]
fn sctp_of_a_gateway_is_led_to_the_listener_and_refused_elsewhere_without_a_transparent_listener() {
    let rules = of(&over_sctp(LED, BY_IPSEC), "gnb");
    for rule in [
        "ip daddr 10.8.0.2 sctp dport 38412 counter dnat ip to 127.0.0.1:38412",
        "oifname \"lo\" ip daddr 127.0.0.1 ip saddr != 127.0.0.0/8 sctp dport 38412 counter snat ip to 127.0.0.1",
        "ip daddr 10.8.0.2 sctp dport 38412 counter reject with icmp type admin-prohibited",
        "ip daddr 10.8.0.2 meta l4proto sctp counter reject with icmp type admin-prohibited",
        "ip saddr 10.8.0.2 meta l4proto sctp counter drop",
    ] {
        assert!(rules.contains(rule), "{rule}: {rules}");
    }
    // The AMF has a second address and one of IPv6, as SCTP with several paths needs: nothing passes to or from these.
    let names = "address: 10.8.0.2\n    names: { dns: [amf], ip: [10.9.1.1, '2001:db8::1'] }";
    for rule in [
        "ip daddr 10.9.1.1 sctp dport 38412 counter dnat ip to 127.0.0.1:38412",
        "ip daddr 10.9.1.1 meta l4proto sctp counter reject",
        "ip6 saddr 2001:db8::1 meta l4proto sctp counter drop",
    ] {
        let text = text_over_sctp(LED, BY_IPSEC).replace("address: 10.8.0.2", names);
        let deployment = Deployment::parse(&text, "test", Path::new("/")).unwrap();
        assert!(of(&deployment, "gnb").contains(rule), "{rule}");
    }
    // No TCP is taken, so none is refused.
    assert!(
        !rules.contains("tcp dport") && !rules.contains("bartizan-guard"),
        "{rules}"
    );
}

#[test]
fn a_function_behind_a_gateway_is_called_by_peers_of_other_links_and_by_nobody_else() {
    let rules = of(&over_sctp(LED, BY_IPSEC), "amf");
    let place = |rule: &str| rules.find(rule).unwrap_or_else(|| panic!("{rule}: {rules}"));
    let passed = place("ip saddr 10.8.0.3/32 sctp dport { 38412 } counter accept");
    assert!(passed < place("sctp dport { 38412 } counter reject with icmpx type admin-prohibited"));
    let answered = place("ip daddr 10.8.0.3/32 sctp sport { 38412 } counter accept");
    assert!(answered < place("sctp sport { 38412 } counter drop"));
    // The gNB of the gateway has no function that is called: nothing of SCTP passes to or from it.
    place("ip daddr 10.8.0.1 meta l4proto sctp counter reject");
}

#[test]
fn where_another_link_of_the_two_runs_over_sctp_only_the_carried_function_is_refused() {
    let e2 = "{ kind: E2, between: [gnb, amf], with: ipsec }";
    let rules = of(&over_sctp(LED, e2), "gnb");
    assert!(
        rules.contains("ip daddr 10.8.0.2 sctp dport 38412 counter reject"),
        "{rules}"
    );
    assert!(!rules.contains("meta l4proto sctp"), "{rules}");
    // The called function's host lets nothing of the carried link in next to the gateway: not by
    // its rules, and not past the fence.
    let deployment = over_sctp(LED, e2);
    let rules = of(&deployment, "amf");
    assert!(!rules.contains("accept comment \"no gateway carries"), "{rules}");
    assert!(
        rules.contains("sctp dport { 38412 } counter reject with icmpx"),
        "{rules}"
    );
    let plan = Plan::new(&deployment, "amf", USER, NOW).unwrap();
    let fence: String = fence::batches(&plan).into_iter().map(|(_, batch)| batch).collect();
    assert!(
        !fence.contains("sport 38412 goto") && !fence.contains("to 10.8.0.1 iif lo"),
        "{fence}"
    );
}

#[test]
fn sctp_that_no_listener_takes_is_refused_and_named() {
    let deployment = over_sctp("{ listen: '127.0.0.1:15001', transparent: true }", BY_IPSEC);
    let plan = Plan::new(&deployment, "gnb", USER, NOW).unwrap();
    let associations: Vec<_> = plan
        .associations()
        .map(|(_, association)| association.listener)
        .collect();
    assert_eq!(associations, [None]);
    let rules = script(plan);
    assert!(
        rules.contains("ip daddr 10.8.0.2 sctp dport 38412 counter reject"),
        "{rules}"
    );
    assert!(!rules.contains("sctp dport 38412 counter dnat"), "{rules}");
}

#[test]
fn the_fence_holds_sctp_by_its_number() {
    let plan = Plan::new(&over_sctp(LED, BY_IPSEC), "amf", USER, NOW).unwrap();
    let text: String = fence::batches(&plan).into_iter().map(|(_, batch)| batch).collect();
    for line in [
        "rule add pref 2 ipproto 132 lookup 487849984 protocol 74",
        "route replace 10.8.0.1 dev lo table 487849984 protocol 74",
        "route replace unreachable 10.8.0.1 table 487849984 metric 1 protocol 74",
        "iif lo ipproto 132 sport 38412 unreachable",
        "to 10.8.0.3 iif lo ipproto 132 sport 38412 goto 4",
        "xfrm policy update src 0.0.0.0/0 dst 10.8.0.1/32 proto 132 dir out action block",
        "xfrm policy update src 0.0.0.0/0 dst 10.8.0.3/32 proto 132 sport 38412 dir out priority",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}
