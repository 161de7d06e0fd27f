//! Links that the file leaves unprotected, and those that it does not list.

use std::net::{TcpListener, TcpStream};

use bartizan_deployment::Deployment;
use bartizan_redirect::{Installed, Options, Plan};

use crate::redirect_stage::{AMF, LONG, NRF, Stage, curl, patient_curl};

/// Regression: packets of a peer without a sidecar yet were dropped, though the file said `with:
/// nothing`: no core could be moved function by function.
#[test]
fn link_that_the_file_leaves_unprotected_passes_in_both_directions_until_its_exception_ends() {
    let unprotected = |stage: &Stage, expires: &str| {
        let text = std::fs::read_to_string(stage.file()).unwrap();
        let policy = format!("policy: {{ profile: transition, reason: no sidecar yet, expires: {expires} }}");
        let text = text.replace(
            "{ kind: SBI, between: [amf, nrf], with: sidecar }",
            &format!("{{ kind: SBI, between: [amf, nrf], with: nothing, {policy} }}"),
        );
        std::fs::write(stage.file(), text).unwrap();
    };
    let stage = Stage::with_udm();
    unprotected(&stage, "2099-01-31");
    let udm = stage.udm.as_ref().unwrap();
    let _nrf = stage.nrf_function();
    let _own = stage.function(&stage.amf, AMF);
    let _udm = stage.function(udm, "10.89.0.2");
    let from =
        |space: &bartizan_host::Namespace, url: &str| curl(url).inside(space).run(LONG).map(|answer| answer.text());
    let answered =
        |space: &bartizan_host::Namespace, url: &str| patient_curl(url).inside(space).run(LONG).unwrap().text();
    let own = [format!("http://{AMF}:8000/"), "http://10.89.0.1:8000/".to_owned()];
    let said = stage.install().text();
    assert!(
        said.contains(
            "nrf          left alone, in both directions: SBI is `with: nothing` until 2099-01-31 (no sidecar yet)"
        ),
        "{said}"
    );
    let passes = || {
        assert_eq!(answered(&stage.amf, NRF[0]), "the function itself");
        assert_eq!(answered(&stage.nrf, &own[0]), "the function itself");
        // No other host passes.
        stage.ask("http://10.89.0.2:8000/").unwrap_err();
        from(udm, &own[1]).unwrap_err();
    };
    passes();
    let shown = stage.redirect(&stage.with_plan("show")).unwrap().text();
    assert_eq!(shown, "redirect  installed\nguard     installed\nfence     installed\n");
    // The fence by itself knows the same.
    stage.host("nft flush ruleset");
    passes();

    // The day after, the file being the same: the fence of the rules that `watch` installs on its next turn, by itself.
    let text = std::fs::read_to_string(stage.file()).unwrap();
    let deployment = Deployment::parse(&text, "deployment.yaml", &stage.path("")).unwrap();
    let the_day_after = std::time::UNIX_EPOCH + std::time::Duration::from_secs(4_073_587_200);
    let plan = Plan::new(&deployment, "amf", 64_998, the_day_after).unwrap();
    let (fence, strict) = (true, false);
    let script = Installed::new(plan, Options { fence, strict }).script();
    stage.redirect(&["remove"]).unwrap();
    let lines: Vec<_> = script.lines().filter_map(|line| line.strip_prefix("# ip ")).collect();
    assert!(lines.len() > 10, "{script}");
    for line in lines {
        stage.host(&format!("ip {line}"));
    }
    let seen = stage.watch(|| {
        stage.ask(NRF[0]).unwrap_err();
        from(&stage.nrf, &own[0]).unwrap_err();
    });
    assert_eq!(seen.clear_content, 0, "{seen:?}");

    let text = std::fs::read_to_string(stage.file()).unwrap();
    std::fs::write(stage.file(), text.replace("2099-01-31", "2020-01-31")).unwrap();
    stage.install();
    stage.ask(NRF[0]).unwrap_err();
    from(&stage.nrf, &own[0]).unwrap_err();
}

#[test]
fn strictly_nothing_leaves_but_what_the_file_lists_and_what_was_refused_is_named() {
    use std::net::UdpSocket;
    let stage = Stage::with_udm();
    let text = std::fs::read_to_string(stage.file()).unwrap();
    let allow = "      allow:\n        - { name: DNS, to: 10.88.0.2, protocol: udp, port: 53 }\n        - { name: database, to: 10.88.0.0/24, port: 27017 }\n      outbound:\n";
    let text = text.replacen("      outbound:\n", allow, 1).replace(
        "interfaces:\n",
        "interfaces:\n  - { kind: N4, between: [amf, udm], with: nothing }\n",
    );
    std::fs::write(stage.file(), text).unwrap();
    let heard = |address: &str, space: &bartizan_host::Namespace| {
        let socket = space.enter(|| UdpSocket::bind(address).unwrap()).unwrap();
        socket.set_read_timeout(Some(LONG)).unwrap();
        socket
    };
    let udm = stage.udm.as_ref().unwrap();
    let (dns, other, n4) = (
        heard("10.88.0.2:53", &stage.nrf),
        heard("10.88.0.2:54", &stage.nrf),
        heard("10.89.0.2:8805", udm),
    );
    let tcp = ["10.88.0.2:27017", "10.88.0.2:9999", "[fd88::2]:9999"]
        .map(|address| stage.nrf.enter(|| TcpListener::bind(address).unwrap()).unwrap());
    let connects = |address: &str| stage.amf.enter(|| TcpStream::connect(address)).unwrap();
    let sends = |to: &str| {
        stage
            .amf
            .enter(|| {
                let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
                let _ = socket.send_to(b"?", to);
            })
            .unwrap();
    };
    // As it is without: what the file does not list leaves.
    stage.install();
    connects("10.88.0.2:9999").unwrap();
    let mut arguments = stage.with_plan("install").to_vec();
    arguments.push("--strict");
    stage.redirect(&arguments).unwrap();
    connects("10.88.0.2:27017").unwrap();
    for address in ["10.88.0.2:9999", "[fd88::2]:9999"] {
        assert_eq!(
            connects(address).unwrap_err().kind(),
            std::io::ErrorKind::ConnectionRefused,
            "{address}"
        );
    }
    for to in ["10.88.0.2:54", "10.88.0.2:53", "10.89.0.2:8805"] {
        sends(to);
    }
    dns.recv(&mut [0; 1]).unwrap();
    n4.recv(&mut [0; 1]).unwrap();
    other.set_nonblocking(true).unwrap();
    assert!(other.recv(&mut [0; 1]).is_err(), "it left");
    let said = stage.redirect(&stage.with_plan("show")).unwrap().text();
    for line in [
        "strict    installed (in nftables alone: the fence does not hold it)\n",
        "refused   3 packets to addresses that the file does not list\n",
        "  10.88.0.2 tcp 9999\n",
        "  10.88.0.2 udp 54\n",
        "  fd88::2 tcp 9999\n",
        "allowed   1 packets of DNS\n",
    ] {
        assert!(said.contains(line), "{line}{said}");
    }
    // A port that is called from the network answers.
    let own = stage
        .amf
        .enter(|| TcpListener::bind("10.88.0.1:9100").unwrap())
        .unwrap();
    stage
        .nrf
        .enter(|| TcpStream::connect("10.88.0.1:9100").unwrap())
        .unwrap();
    own.accept().unwrap();
    // Without it, it goes.
    stage.install();
    connects("10.88.0.2:9999").unwrap();
    drop(tcp);
    let said = stage.redirect(&stage.with_plan("show")).unwrap().text();
    assert!(!said.contains("strict"), "{said}");
}
