//! Redirect, guard and fence in namespaces: what leaves the sender's host, counted by tshark.

mod redirect_stage;

mod as_root {
    use std::io::{Read as _, Write as _};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::thread;

    use bartizan_deployment::Deployment;
    use bartizan_host::{Error, Program};
    use bartizan_lab::Discovery;
    use bartizan_sidecar::redirect::{Installed, Options, Plan, Probed, is_probe, original_destination, probe, watch};

    use crate::redirect_stage::{AMF, LONG, NRF, SIDECAR, Seen, Stage, curl};

    const NOTHING: Seen = Seen {
        clear_packets: 0,
        clear_content: 0,
        protected: 0,
    };

    /// A sidecar in little, on both loopback addresses of the AMF's host: it answers with where the connection was meant to go.
    fn listen(stage: &Stage) {
        for address in ["127.0.0.1:15001", "[::1]:15001"] {
            let listener = stage.amf.enter(|| TcpListener::bind(address).unwrap()).unwrap();
            // It ends with the process: nothing tells a blocked `accept` to stop.
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

    #[test]
    fn request_to_the_real_address_goes_through_both_sidecars_and_nothing_leaves_in_clear() {
        let stage = Stage::new();
        let _function = stage.nrf_function();
        // What the judge sees where nothing protects: otherwise its zeroes below would say nothing.
        let seen = stage.watch(|| {
            for url in NRF {
                assert_eq!(stage.ask(url).unwrap(), "the function itself");
            }
        });
        assert!(seen.clear_content > 4 && seen.protected == 0, "{seen:?}");

        stage.certify();
        let (_nrf, mut amf) = (stage.sidecar("nrf"), stage.sidecar("amf"));
        stage.install();
        let seen = stage.watch(|| {
            for url in NRF {
                let answer = stage.ask(url);
                assert_eq!(answer.unwrap(), "the function itself", "{url}\n{}", amf.stderr());
            }
        });
        assert!(seen.protected > 0, "{seen:?}");
        assert_eq!((seen.clear_packets, seen.clear_content), (0, 0));

        // A sidecar that is killed takes the way with it, not the guard.
        amf.send(libc::SIGKILL);
        amf.finish(LONG).unwrap();
        let seen = stage.watch(|| {
            for url in NRF {
                stage.ask(url).unwrap_err();
            }
        });
        assert_eq!(seen.clear_packets, 0, "{seen:?}");
        let _again = stage.sidecar("amf");
        assert_eq!(stage.ask(NRF[0]).unwrap(), "the function itself");
    }

    #[test]
    fn consumer_that_discovers_a_producer_by_absolute_uri_reaches_it_and_nothing_leaves_in_clear() {
        let stage = Stage::with_udm();
        let udm = stage.udm.as_ref().unwrap();
        let [nrf_address, udm_address] = ["10.88.0.2:8000", "10.89.0.2:8000"].map(|address| address.parse().unwrap());
        let discovery = Discovery::new(&stage.path("functions"), nrf_address, udm_address).unwrap();
        let _nrf_function = discovery.serve_nrf(&stage.nrf).unwrap();
        let _udm_function = discovery.serve_producer(udm).unwrap();
        let answered = || {
            let answer = discovery.call(&stage.amf).unwrap().unwrap();
            assert!(Discovery::is_answer(&answer), "{answer}");
        };
        let seen = stage.watch(answered);
        assert!(seen.clear_content > 4 && seen.protected == 0, "{seen:?}");

        stage.certify();
        let _sidecars = ["nrf", "udm", "amf"].map(|node| stage.sidecar(node));
        stage.install();
        let seen = stage.watch(answered);
        assert!(seen.protected > 0, "{seen:?}");
        assert_eq!((seen.clear_packets, seen.clear_content), (0, 0));
    }

    #[test]
    fn peers_sidecar_that_is_absent_or_silent_makes_requests_fail_and_nothing_leave_in_clear() {
        let stage = Stage::new();
        let _function = stage.nrf_function();
        stage.certify();
        let _amf = stage.sidecar("amf");
        stage.install();
        let fails = |why: &str| {
            let seen = stage.watch(|| {
                for url in NRF {
                    assert!(stage.ask(url).is_err(), "{why}: {url}");
                }
            });
            assert_eq!((seen.clear_packets, seen.clear_content), (0, 0), "{why}");
        };
        fails("nobody listens");
        // One that accepts and says nothing, where the sidecar should be.
        let silent = ["10.88.0.2:7443", "[fd88::2]:7443"].map(|address| {
            let listener = stage.nrf.enter(|| TcpListener::bind(address).unwrap()).unwrap();
            let copy = listener.try_clone().unwrap();
            thread::spawn(move || {
                let mut held = Vec::new();
                while let Ok((accepted, _)) = copy.accept() {
                    held.push(accepted);
                }
            });
            listener
        });
        fails("silent");
        drop(silent);
    }

    #[test]
    fn original_destination_is_the_one_that_was_called_over_both_families() {
        let stage = Stage::new();
        listen(&stage);
        stage.install();
        for address in ["10.88.0.2:8000", "[fd88::2]:8000"] {
            assert_eq!(hear(&stage, address).unwrap(), address);
        }
        // The listener's own port can be called too; that is not a redirected connection.
        assert_eq!(
            hear(&stage, "127.0.0.1:15001").unwrap(),
            "the connection was not redirected"
        );
    }

    #[test]
    fn sidecars_own_connections_are_not_redirected_and_its_clear_ones_refused() {
        let stage = Stage::new();
        let _function = stage.nrf_function();
        listen(&stage);
        stage.install();
        let user = SIDECAR.to_string();
        let as_sidecar = |url: &str| {
            Program::new("setpriv")
                .arguments([
                    "--reuid",
                    &user,
                    "--clear-groups",
                    "curl",
                    "--silent",
                    "--show-error",
                    "--max-time",
                    "2",
                ])
                .arguments(["--http2-prior-knowledge", &format!("{url}hello")])
                .inside(&stage.amf)
                .run(LONG)
        };
        let seen = stage.watch(|| {
            for url in NRF {
                let error = as_sidecar(url).unwrap_err().to_string();
                assert!(
                    error.contains("refused") || error.contains("Couldn't connect"),
                    "{error}"
                );
            }
        });
        assert_eq!(seen, NOTHING);
        // That it was the guard and not the redirect shows when the guard is away.
        stage.host("nft delete table inet bartizan-guard");
        stage.host("ip -4 rule flush protocol 74");
        stage.host("ip xfrm policy flush");
        assert_eq!(as_sidecar(NRF[0]).unwrap().text(), "the function itself");
        assert_eq!(hear(&stage, "10.88.0.2:8000").unwrap(), "10.88.0.2:8000");
    }

    #[test]
    fn with_the_redirect_flushed_requests_are_refused_and_nothing_leaves() {
        let stage = Stage::new();
        let _function = stage.nrf_function();
        listen(&stage);
        stage.install();
        for away in [
            "nft flush table inet bartizan-redirect",
            "nft delete table inet bartizan-redirect",
        ] {
            stage.host(away);
            let seen = stage.watch(|| {
                for url in NRF {
                    let error = stage.ask(url).unwrap_err().to_string();
                    assert!(
                        error.contains("refused") || error.contains("Couldn't connect"),
                        "{error}"
                    );
                }
            });
            assert_eq!(seen, NOTHING, "{away}");
        }
        let guard = stage.host("nft list table inet bartizan-guard");
        assert!(!guard.contains("@services-v4 counter packets 0 "), "{guard}");
        assert!(!guard.contains("@services-v6 counter packets 0 "), "{guard}");
    }

    #[test]
    fn with_all_of_nftables_flushed_the_fence_lets_nothing_leave() {
        let stage = Stage::new();
        let _function = stage.nrf_function();
        listen(&stage);
        stage.install();
        stage.host("nft flush ruleset");
        let seen = stage.watch(|| {
            for url in NRF {
                stage.ask(url).unwrap_err();
            }
        });
        assert_eq!(seen, NOTHING);
    }

    #[test]
    fn without_the_fence_a_flushed_ruleset_leaks_which_is_why_it_is_the_default() {
        let stage = Stage::new();
        let _function = stage.nrf_function();
        let mut arguments = stage.with_plan("install").to_vec();
        arguments.push("--no-fence");
        let said = stage.redirect(&arguments).unwrap().text();
        assert!(
            said.contains("no fence: `nft flush ruleset` would open the way in clear"),
            "{said}"
        );
        stage.host("nft flush ruleset");
        let seen = stage.watch(|| {
            for url in NRF {
                assert_eq!(stage.ask(url).unwrap(), "the function itself");
            }
        });
        assert!(seen.clear_content > 0, "{seen:?}");
    }

    #[test]
    fn connection_under_way_is_cut_when_rules_go_and_its_bytes_do_not_leave() {
        for away in ["nft delete table inet bartizan-redirect", "nft flush ruleset"] {
            let stage = Stage::new();
            let _function = stage.nrf_function();
            // One that keeps what it accepts open, and hears what is said.
            let listener = stage
                .amf
                .enter(|| TcpListener::bind("127.0.0.1:15001").unwrap())
                .unwrap();
            stage.install();
            let mut consumer = stage
                .amf
                .enter(|| TcpStream::connect("10.88.0.2:8000").unwrap())
                .unwrap();
            let (mut sidecar, _) = listener.accept().unwrap();
            consumer.write_all(b"before").unwrap();
            sidecar.read_exact(&mut [0; 6]).unwrap();
            stage.host(away);
            let seen = stage.watch(|| {
                // Refused at once, or sent again and again until it is given up: either way it stays here.
                for _ in 0..5 {
                    let _ = consumer.write_all(b"PRI * HTTP/2.0 after");
                    thread::sleep(std::time::Duration::from_millis(200));
                }
            });
            assert_eq!(seen, NOTHING, "{away}");
        }
    }

    #[test]
    fn connection_in_clear_from_before_the_rules_is_cut() {
        let stage = Stage::new();
        let listener = stage
            .nrf
            .enter(|| TcpListener::bind("10.88.0.2:8000").unwrap())
            .unwrap();
        let mut consumer = stage
            .amf
            .enter(|| TcpStream::connect("10.88.0.2:8000").unwrap())
            .unwrap();
        let (mut function, _) = listener.accept().unwrap();
        consumer.write_all(b"before").unwrap();
        function.read_exact(&mut [0; 6]).unwrap();
        stage.install();
        let seen = stage.watch(|| {
            // The first of the two is told.
            let told = consumer.write_all(b"after").is_err();
            assert!(told || consumer.read(&mut [0; 1]).is_err(), "not cut");
        });
        assert_eq!(seen, NOTHING);
    }

    #[test]
    fn function_is_closed_to_the_network_and_open_on_its_own_host() {
        let stage = Stage::new();
        let _function = stage.function(&stage.amf, AMF);
        let url = format!("http://{AMF}:8000/");
        let from_afar = || curl(&url).inside(&stage.nrf).run(LONG);
        assert_eq!(from_afar().unwrap().text(), "the function itself");
        stage.install();
        let seen = stage.watch(|| {
            // Told at once, with the fence in force too: not 28, which is curl's own patience.
            let Error::Failed { status, .. } = from_afar().unwrap_err() else {
                panic!("curl did not run")
            };
            assert_eq!(status.code(), Some(7));
        });
        assert_eq!(seen.clear_content, 0, "{seen:?}");
        assert!(seen.clear_packets > 0, "nobody knocked: {seen:?}");
        assert_eq!(stage.ask(&url).unwrap(), "the function itself");
    }

    #[test]
    fn sidecar_sees_which_rules_are_gone() {
        let stage = Stage::new();
        listen(&stage);
        let seen = |redirect, guard| Probed {
            redirect,
            guard,
            compared: guard,
        };
        assert_eq!(probed(&stage), seen(false, false));
        stage.install();
        assert_eq!(probed(&stage), seen(true, true));
        assert!(probed(&stage).stands());
        stage.host("nft flush chain inet bartizan-redirect output");
        assert_eq!(probed(&stage), seen(false, true));
        stage.install();
        stage.host("nft delete table inet bartizan-guard");
        assert_eq!(probed(&stage), seen(true, false));
        stage.host("nft flush ruleset");
        assert_eq!(probed(&stage), seen(false, false));
        let nobody = stage
            .amf
            .enter(|| {
                tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap()
                    .block_on(probe("127.0.0.1:15999".parse().unwrap()))
            })
            .unwrap();
        assert_eq!(nobody.unwrap_err().to_string(), "nothing listens at 127.0.0.1:15999");
    }

    #[test]
    fn sidecar_notices_by_itself_that_rules_go_and_come_back() {
        let stage = Stage::new();
        listen(&stage);
        stage.install();
        let (said, hear) = std::sync::mpsc::channel();
        // The thread ends with the process, as a sidecar's does.
        let watcher = stage
            .amf
            .enter(|| {
                let (ready, begun) = std::sync::mpsc::channel();
                // A thread inherits the namespace of the one that starts it.
                let thread = thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread()
                        .enable_all()
                        .build()
                        .unwrap();
                    ready.send(()).unwrap();
                    runtime.block_on(watch(
                        "127.0.0.1:15001".parse().unwrap(),
                        std::time::Duration::from_millis(20),
                        move |answer| {
                            let _ = said.send(answer);
                        },
                    ));
                });
                begun.recv().unwrap();
                thread
            })
            .unwrap();
        let seen = |redirect, guard| {
            Some(Probed {
                redirect,
                guard,
                compared: guard,
            })
        };
        assert_eq!(hear.recv_timeout(LONG).unwrap(), seen(true, true));
        stage.host("nft delete table inet bartizan-redirect");
        assert_eq!(hear.recv_timeout(LONG).unwrap(), seen(false, true));
        stage.host("nft flush ruleset");
        assert_eq!(hear.recv_timeout(LONG).unwrap(), seen(false, false));
        stage.install();
        // Both tables come at once; the two questions do not.
        while hear.recv_timeout(LONG).unwrap() != seen(true, true) {}
        assert!(!watcher.is_finished());
    }

    #[test]
    fn installing_twice_is_installing_once_and_removing_leaves_nothing() {
        let stage = Stage::new();
        // Rules of somebody else, which are to stay as they are.
        stage.host("nft add table inet others");
        let state = || {
            let listings = [
                "nft list ruleset",
                "ip -4 rule",
                "ip -6 rule",
                "ip -4 route show table all",
                "ip -6 route show table all",
                "ip xfrm policy",
            ];
            // The kernel finds link-local addresses of its own, and when it has.
            let lasting = |listed: String| {
                listed
                    .lines()
                    .filter(|line| !line.contains("fe80:"))
                    .collect::<Vec<_>>()
                    .join("\n")
            };
            listings.map(|listing| lasting(stage.host(listing)))
        };
        let before = state();
        stage.install();
        let once = state();
        assert_ne!(before, once);
        stage.install();
        assert_eq!(state(), once);
        let said = stage.redirect(&["remove", "--keep-guard"]).unwrap().text();
        assert_eq!(
            said,
            "removed the redirect; guard and fence stay: requests to peers fail\n"
        );
        assert!(state()[0].contains("table inet bartizan-guard"));
        let said = stage.redirect(&["remove"]).unwrap().text();
        assert!(
            said.starts_with("removed the redirect, then the guard, then the fence\n"),
            "{said}"
        );
        assert_eq!(state(), before);
        // Removing what is not there is no error.
        stage.redirect(&["remove"]).unwrap();
        assert_eq!(state(), before);
    }

    #[test]
    fn show_tells_what_stands_from_what_the_file_asks_for() {
        let stage = Stage::new();
        let show = || {
            let finished = Program::new(env!("CARGO_BIN_EXE_bartizan"))
                .arguments(["sidecar", "redirect"])
                .arguments(stage.with_plan("show"))
                .inside(&stage.amf)
                .start()
                .unwrap()
                .finish(LONG)
                .unwrap();
            (finished.status.code(), finished.text())
        };
        let all = |state| format!("redirect  {state}\nguard     {state}\nfence     {state}\n");
        assert_eq!(show(), (Some(1), all("absent")));
        stage.install();
        assert_eq!(show(), (Some(0), all("in force")));
        stage.host("nft delete element inet bartizan-guard services-v4 { 10.88.0.2 . 8000 }");
        let (code, text) = show();
        assert_eq!(code, Some(1));
        assert!(
            text.contains("guard     damaged") && text.contains("redirect  in force"),
            "{text}"
        );
        assert!(
            text.contains("\n  the set services-v4 lacks {\"concat\":[\"10.88.0.2\",8000]}\n"),
            "{text}"
        );
        stage.install();
        let other = std::fs::read_to_string(stage.file()).unwrap().replace("15001", "15002");
        std::fs::write(stage.file(), other).unwrap();
        let (code, text) = show();
        assert_eq!(code, Some(1));
        assert!(
            text.contains("redirect  not what this file asks for (it says `node amf rules "),
            "{text}"
        );
    }

    /// `show` said "in force" of all of these.
    #[test]
    fn show_names_each_rule_address_and_route_that_was_changed() {
        let stage = Stage::new();
        let show = || {
            let shown = stage.redirect(&stage.with_plan("show"));
            match shown {
                Ok(finished) => (true, finished.text()),
                Err(Error::Failed { tail, .. }) => (false, tail),
                Err(error) => panic!("{error}"),
            }
        };
        for (change, wanted) in [
            (
                "nft insert rule inet bartizan-guard output accept",
                "the chain output has another rule at 1",
            ),
            (
                "nft replace rule inet bartizan-guard input handle HANDLE accept",
                "the chain input lacks its rule 1: `clear to the own function from the network`",
            ),
            (
                "nft flush chain inet bartizan-redirect output",
                "the chain output lacks its rule",
            ),
            (
                "nft delete element inet bartizan-redirect services-v6 { fd88::2 . 8000 }",
                "the set services-v6 lacks",
            ),
            (
                "nft add element inet bartizan-redirect services-v4 { 10.88.0.3 . 8000 }",
                "the set services-v4 also has",
            ),
            (
                "nft add table inet bartizan-guard { flags dormant; }",
                "the table has the flag dormant",
            ),
            ("ip -4 route flush table 7443", "is missing from table 7443"),
            (
                "ip -6 route replace default via fd88::2 dev eth0 table 7443",
                "the IPv6 table 7443 also has the route",
            ),
            (
                "ip -4 rule del pref 2 to 10.88.0.2 ipproto tcp dport 8000 lookup 7443",
                "the IPv4 rule {",
            ),
            (
                "ip -6 rule del pref 3 iif lo ipproto tcp sport 8000 unreachable",
                "the IPv6 rule {",
            ),
            ("ip -4 rule add pref 1 lookup main", "comes before those of the fence"),
            (
                "ip xfrm policy flush",
                "the XFRM policy src 0.0.0.0/0 dst 10.88.0.2/32 proto 6 dport 8000 dir out action block is missing",
            ),
        ] {
            stage.install();
            let (in_force, text) = show();
            assert!(in_force, "{text}");
            let change = if change.contains("HANDLE") {
                let listed = stage.host("nft -a list chain inet bartizan-guard input");
                let line = listed.lines().find(|line| line.contains("tcp dport")).unwrap();
                change.replace("HANDLE", line.rsplit(' ').next().unwrap())
            } else {
                change.to_owned()
            };
            stage.host(&change);
            let (in_force, text) = show();
            assert!(!in_force && text.contains(wanted), "{change}: {text}");
            if change.contains("pref 1 ") {
                stage.host("ip -4 rule del pref 1 lookup main");
            }
        }
    }

    #[test]
    fn file_with_several_hundred_links_is_installed_and_compared() {
        use std::fmt::Write as _;
        let stage = Stage::new();
        let mut nodes = String::new();
        for number in 0..600 {
            let address = format!("10.90.{}.{}", number / 200, 1 + number % 200);
            let name = "a-name-of-some-length-as-operators-have-them";
            let inbound = format!("{{ listen: '{address}:7443', forward: '127.0.0.1:8000' }}");
            let files = "certificate: nrf/nrf.crt.pem, key: nrf/nrf.key.pem";
            let _ = write!(
                nodes,
                "\n  {name}-{number}: {{ function: NF, address: {address}, {files}, sidecar: {{ inbound: [ {inbound} ] }} }}"
            );
        }
        let text = std::fs::read_to_string(stage.file()).unwrap();
        std::fs::write(
            stage.file(),
            text.replace("\ninterfaces:", &format!("{nodes}\ninterfaces:")),
        )
        .unwrap();
        stage.install();
        let said = stage.redirect(&stage.with_plan("show")).unwrap().text();
        assert_eq!(said, "redirect  in force\nguard     in force\nfence     in force\n");
    }

    /// A socket that is bound to a device finds its way past a rule of routing, which knows none.
    #[test]
    fn with_all_of_nftables_flushed_sockets_bound_to_a_device_let_nothing_leave() {
        let bound = |stage: &Stage| {
            for url in NRF {
                let _ = curl(url)
                    .arguments(["--interface", "if!eth0"])
                    .inside(&stage.amf)
                    .run(LONG);
            }
        };
        let stage = Stage::new();
        let _function = stage.nrf_function();
        let seen = stage.watch(|| bound(&stage));
        assert!(seen.clear_content > 4, "the judge sees nothing: {seen:?}");
        stage.install();
        assert_eq!(stage.watch(|| bound(&stage)), NOTHING);
        stage.host("nft flush ruleset");
        assert_eq!(stage.watch(|| bound(&stage)), NOTHING);
    }

    /// Neither of one that listens at its real address nor of one that is bound to a device.
    #[test]
    fn with_all_of_nftables_flushed_the_own_function_answers_nobody_on_the_network() {
        let stage = Stage::new();
        let _functions = [AMF, "fd88::1"].map(|address| stage.function(&stage.amf, address));
        let urls = ["http://10.88.0.1:8000/", "http://[fd88::1]:8000/"];
        let from_afar = || urls.map(|url| curl(url).inside(&stage.nrf).run(LONG).map(|answer| answer.text()));
        for answer in from_afar() {
            assert_eq!(answer.unwrap(), "the function itself");
        }
        stage.install();
        stage.host("nft flush ruleset");
        let seen = stage.watch(|| from_afar().into_iter().for_each(|answer| drop(answer.unwrap_err())));
        assert!(seen.clear_packets > 0 && seen.clear_content == 0, "{seen:?}");
        for url in urls {
            assert_eq!(stage.ask(url).unwrap(), "the function itself", "{url}");
        }
    }

    /// What a peer without a sidecar yet sent was dropped, though the file said `with: nothing`: no core could be moved function by function.
    #[test]
    fn link_that_the_file_leaves_unprotected_passes_both_ways_until_its_exception_ends() {
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
        let own = [format!("http://{AMF}:8000/"), "http://10.89.0.1:8000/".to_owned()];
        let said = stage.install().text();
        assert!(
            said.contains(
                "nrf          left alone, both ways: SBI is `with: nothing` until 2099-01-31 (no sidecar yet)"
            ),
            "{said}"
        );
        let passes = || {
            assert_eq!(stage.ask(NRF[0]).unwrap(), "the function itself");
            assert_eq!(from(&stage.nrf, &own[0]).unwrap(), "the function itself");
            // Nobody else has anything of it.
            stage.ask("http://10.89.0.2:8000/").unwrap_err();
            from(udm, &own[1]).unwrap_err();
        };
        passes();
        let shown = stage.redirect(&stage.with_plan("show")).unwrap().text();
        assert_eq!(shown, "redirect  in force\nguard     in force\nfence     in force\n");
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

    /// Three of 1,200 requests waited 15 s for an answer that the rules had dropped.
    #[test]
    fn who_waits_on_a_connection_from_before_the_rules_is_told_at_once_at_both_ends() {
        let stage = Stage::new();
        let listen = |space: &bartizan_host::Namespace, address: &str| {
            space.enter(|| TcpListener::bind(address).unwrap()).unwrap()
        };
        let call = |space: &bartizan_host::Namespace, address: &str| {
            space.enter(|| TcpStream::connect(address).unwrap()).unwrap()
        };
        let mut ends = Vec::new();
        for (function, consumer, address) in [
            (&stage.nrf, &stage.amf, "10.88.0.2:8000"),
            (&stage.nrf, &stage.amf, "[fd88::2]:8000"),
            (&stage.amf, &stage.nrf, "10.88.0.1:8000"),
            (&stage.amf, &stage.nrf, "[fd88::1]:8000"),
        ] {
            let listener = listen(function, address);
            ends.push(call(consumer, address));
            ends.push(listener.accept().unwrap().0);
        }
        for end in &mut ends {
            end.set_read_timeout(Some(LONG)).unwrap();
        }
        // What a sidecar has from its own function is none of them.
        let function = listen(&stage.amf, "10.88.0.1:8000");
        let mut sidecar = call(&stage.amf, "10.88.0.1:8000");
        let (mut accepted, _) = function.accept().unwrap();
        let said = stage.install().text();
        assert!(said.contains("reset 4 connections that were open before"), "{said}");
        for end in &mut ends {
            let error = end.read(&mut [0; 1]).expect_err("not told");
            let kind = error.kind();
            assert!(
                matches!(
                    kind,
                    std::io::ErrorKind::ConnectionReset | std::io::ErrorKind::ConnectionAborted
                ),
                "{error}"
            );
        }
        sidecar.write_all(b"on").unwrap();
        accepted.read_exact(&mut [0; 2]).unwrap();

        // Neither are connections that are redirected, when the rules are installed anew.
        let listener = listen(&stage.amf, "127.0.0.1:15001");
        let mut consumer = call(&stage.amf, "10.88.0.2:8000");
        let (mut redirected, _) = listener.accept().unwrap();
        let said = stage.install().text();
        assert!(!said.contains("reset"), "{said}");
        consumer.write_all(b"on").unwrap();
        redirected.read_exact(&mut [0; 2]).unwrap();
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
            "strict    in force (in nftables alone: the fence does not hold it)\n",
            "refused   3 packets to addresses that the file does not list\n",
            "  10.88.0.2 tcp 9999\n",
            "  10.88.0.2 udp 54\n",
            "  fd88::2 tcp 9999\n",
            "allowed   1 packets of DNS\n",
        ] {
            assert!(said.contains(line), "{line}{said}");
        }
        // Who is called from the network answers.
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

    #[test]
    fn file_that_is_refused_changes_no_rule() {
        let stage = Stage::new();
        stage.install();
        let before = stage.host("nft list ruleset");
        for (from, to) in [
            ("transparent: true", "to: nrf"),
            ("address: 10.88.0.2", "address: 10.88.0.1"),
            ("nodes:", "knots:"),
        ] {
            let good = std::fs::read_to_string(stage.file()).unwrap();
            std::fs::write(stage.file(), good.replace(from, to)).unwrap();
            stage.redirect(&stage.with_plan("install")).unwrap_err();
            assert_eq!(stage.host("nft list ruleset"), before, "{to}");
            std::fs::write(stage.file(), good).unwrap();
        }
    }

    #[test]
    fn without_root_the_error_says_what_it_takes() {
        let stage = Stage::new();
        let finished = Program::new("setpriv")
            .arguments([
                "--reuid",
                "64998",
                "--clear-groups",
                "--bounding-set",
                "-all",
                "--inh-caps",
                "-all",
            ])
            .argument(stage.binary())
            .arguments(["sidecar", "redirect"])
            .arguments(stage.with_plan("install"))
            .inside(&stage.amf)
            .start()
            .unwrap()
            .finish(LONG)
            .unwrap();
        assert_eq!(finished.status.code(), Some(2));
        let said = String::from_utf8_lossy(&finished.stderr).into_owned();
        assert!(
            said.starts_with("error: changing or reading this host's packet filter is not permitted"),
            "{said}"
        );
        assert!(said.contains("\nhint: run it as root, or with CAP_NET_ADMIN"), "{said}");
    }
}
