//! strongSwan 6.1 with itself: IKE_SAs of every kind side by side, each between its own pair of
//! addresses, rekeyed while they live.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use bartizan_host::LabRoot;
use bartizan_ipsec::vici::{Client, Section};
use bartizan_testing::Wiring as _;
use bartizan_testing::{Capture, Direction};

use crate::charons::{End, PATIENCE, Stage, eventually};

/// An IKE_SA between 10.77.N.1 and 10.77.N.2, and what a specialist says of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Link {
    /// N.
    pub(crate) number: u8,
    pub(crate) name: &'static str,
    /// Key exchanges that the asking end proposes, in the order of preference, and those that the other takes.
    asks: &'static [&'static str],
    takes: &'static [&'static str],
    /// Cipher and pseudorandom function that are proposed with them.
    suite: &'static str,
    esp: &'static str,
    /// The methods negotiated; empty where nothing is.
    pub(crate) methods: &'static [u16],
    /// Offered, preferred, negotiated, stayed: as `docs/verdicts.md` says the wire answers. A rekey in one
    /// exchange is not observable: its size tells what it has room for.
    pub(crate) answers: [&'static str; 4],
}

const GCM: &str = "aes256gcm16-prfsha384";
const X25519: &str = "x25519";
const HYBRID: &str = "x25519-ke1_mlkem768";

const fn link(number: u8, name: &'static str, exchanges: &'static [&'static str], esp: &'static str) -> Link {
    Link {
        number,
        name,
        asks: exchanges,
        takes: exchanges,
        suite: GCM,
        esp,
        methods: &[],
        answers: ["yes", "yes", "yes", "yes"],
    }
}

pub(crate) static LINKS: [Link; 13] = [
    Link {
        methods: &[31],
        answers: ["no", "no", "no", "no"],
        ..link(1, "classical", &[X25519], "aes256gcm16-x25519")
    },
    Link {
        methods: &[36],
        answers: ["yes", "yes", "yes", "not observable"],
        ..link(2, "pure", &["mlkem768"], "aes256gcm16-mlkem768")
    },
    Link {
        methods: &[31, 36],
        ..link(3, "hybrid", &[HYBRID], "aes256gcm16-x25519-ke1_mlkem768")
    },
    Link {
        methods: &[31, 36, 37],
        ..link(
            4,
            "two additional exchanges",
            &["x25519-ke1_mlkem768-ke2_mlkem1024"],
            "aes256gcm16-x25519-ke1_mlkem768-ke2_mlkem1024",
        )
    },
    Link {
        methods: &[37],
        answers: ["yes", "yes", "yes", "not observable"],
        ..link(
            5,
            "IKE_SA_INIT in IP fragments",
            &["mlkem1024"],
            "aes256gcm16-mlkem1024",
        )
    },
    Link {
        methods: &[20, 37],
        ..link(
            6,
            "CNSA 2.0, migrating",
            &["ecp384-ke1_mlkem1024"],
            "aes256gcm16-ecp384-ke1_mlkem1024",
        )
    },
    Link {
        methods: &[31, 36],
        answers: ["yes", "yes", "yes", "no"],
        ..link(7, "rekeyed without a key exchange", &[HYBRID], "aes256gcm16")
    },
    Link {
        methods: &[31, 36],
        answers: ["yes", "yes", "yes", "no"],
        ..link(8, "rekeyed with a classical one", &[HYBRID], "aes256gcm16-x25519")
    },
    Link {
        methods: &[31],
        takes: &[X25519],
        answers: ["yes", "yes", "no", "no"],
        ..link(
            9,
            "hybrid wanted, classical chosen",
            &[HYBRID, X25519],
            "aes256gcm16-x25519",
        )
    },
    Link {
        methods: &[36],
        takes: &["mlkem768"],
        // It asks for the classical one, and for the other when it is asked to.
        answers: ["yes", "no", "yes", "not observable"],
        ..link(
            10,
            "another method asked for",
            &["x25519-mlkem768"],
            "aes256gcm16-mlkem768",
        )
    },
    Link {
        takes: &["mlkem768"],
        answers: ["no", "no", "not seen", "not seen"],
        ..link(11, "refused", &[X25519], "aes256gcm16")
    },
    Link {
        suite: "aes256-sha256",
        methods: &[19, 35],
        answers: ["yes", "yes", "yes", "not observable"],
        ..link(
            12,
            "CBC with HMAC",
            &["ecp256-ke1_mlkem512"],
            "aes256-sha256-ecp256-ke1_mlkem512",
        )
    },
    Link {
        suite: "chacha20poly1305-prfsha256",
        methods: &[36, 20],
        ..link(
            13,
            "the post-quantum one first",
            &["mlkem768-ke1_ecp384"],
            "chacha20poly1305-mlkem768-ke1_ecp384",
        )
    },
];

/// The capture of all of them, made once.
pub(crate) fn links() -> &'static [u8] {
    static MADE: OnceLock<Vec<u8>> = OnceLock::new();
    MADE.get_or_init(make)
}

impl Link {
    fn address(&self, end: u8) -> String {
        format!("10.77.{}.{end}", self.number)
    }

    fn inner(&self, end: u8) -> String {
        format!("10.78.{}.{end}", self.number)
    }

    fn called(&self) -> String {
        format!("s{}", self.number)
    }

    fn refused(&self) -> bool {
        self.methods.is_empty()
    }

    /// For the end with this number, whose name and whose peer's name these are.
    fn connection(&self, me: u8, [mine, theirs]: [&str; 2]) -> Section {
        let peer = 3 - me;
        let end = |name: &str| Section::new().with("auth", "pubkey").with("id", format!("{name}.test"));
        let exchanges = if me == 1 { self.asks } else { self.takes };
        let child = Section::new()
            .with("mode", "tunnel")
            .with_list("local_ts", [format!("{}/32", self.inner(me))])
            .with_list("remote_ts", [format!("{}/32", self.inner(peer))])
            .with_list("esp_proposals", [self.esp])
            .with("rekey_time", "0");
        Section::new()
            .with("version", "2")
            .with("mobike", "no")
            .with_list("local_addrs", [self.address(me)])
            .with_list("remote_addrs", [self.address(peer)])
            .with_list(
                "proposals",
                exchanges.iter().map(|exchange| format!("{}-{exchange}", self.suite)),
            )
            .with("send_cert", "always")
            .with_section("local-1", end(mine))
            .with_section("remote-1", end(theirs))
            .with_section("children", Section::new().with_section(self.called(), child))
            .with("rekey_time", "0")
            .with("dpd_delay", "0")
    }

    fn prepare(&self, stage: &Stage) {
        for (end, me) in [(&stage.near, 1), (&stage.far, 2)] {
            let address = |text: String| text.parse().expect("an address");
            end.space
                .add_address("v0", address(format!("{}/24", self.address(me))))
                .expect("an address");
            end.space
                .add_address("lo", address(format!("{}/32", self.inner(me))))
                .expect("an address");
            let names = if me == 1 { ["near", "far"] } else { ["far", "near"] };
            let connection = Section::new().with_section(self.called(), self.connection(me, names));
            end.client().command("load-conn", connection).expect("the connection");
        }
    }

    /// Set up, used, rekeyed child first, used again in between, and deleted.
    fn live(&self, end: &End, sid: &LabRoot) {
        let mut client = end.client();
        let initiate = Section::new()
            .with("ike", self.called())
            .with("child", self.called())
            .with("timeout", "60000");
        let up = client.command("initiate", initiate);
        assert_eq!(up.is_err(), self.refused(), "{}: {up:?}", self.name);
        if self.refused() {
            return;
        }
        self.ping(end, sid);
        let before = self.children(&mut client);
        client
            .command("rekey", Section::new().with("child", self.called()))
            .expect("rekeyed");
        // The old one stays for a while, for packets on their way.
        eventually(&format!("{}: a new child", self.name), || {
            let now = self.children(&mut client);
            now.iter().any(|child| !before.contains(child)).then_some(())
        });
        self.ping(end, sid);
        let before = self.ike(&mut client).expect("an IKE_SA");
        client
            .command("rekey", Section::new().with("ike", self.called()))
            .expect("rekeyed");
        eventually(&format!("{}: a new IKE_SA", self.name), || {
            self.ike(&mut client).filter(|now| *now != before).map(drop)
        });
        self.ping(end, sid);
        client
            .command("terminate", Section::new().with("ike", self.called()))
            .expect("deleted");
    }

    /// Until three echoes came back: packets may be lost while keys change.
    fn ping(&self, end: &End, sid: &LabRoot) {
        let ping = sid.command("ping").expect("ping in the lab root").inside(&end.space);
        let arguments = format!("-q -c 3 -i 0.1 -w 50 -I {} {}", self.inner(1), self.inner(2));
        let done = ping.arguments(arguments.split_whitespace()).run(PATIENCE);
        done.unwrap_or_else(|error| panic!("{}: {error}", self.name));
    }

    /// The one IKE_SA that stands alone, by its section.
    fn sa(&self, client: &mut Client) -> Option<Section> {
        let asked = Section::new().with("ike", self.called());
        let rows = client.streamed("list-sas", "list-sa", asked).expect("a list");
        let all: Vec<Section> = rows
            .iter()
            .flat_map(|row| row.sections().map(|(_, sa)| sa.clone()))
            .collect();
        match all.as_slice() {
            [sa] if sa.text("state") == Some("ESTABLISHED") => Some(sa.clone()),
            _ => None,
        }
    }

    fn ike(&self, client: &mut Client) -> Option<String> {
        self.sa(client)?.text("initiator-spi").map(str::to_owned)
    }

    /// Its children in use, by the SPI they receive by.
    fn children(&self, client: &mut Client) -> Vec<String> {
        let Some(sa) = self.sa(client) else { return Vec::new() };
        let children = sa.section("child-sas").into_iter().flat_map(Section::sections);
        let used = children.filter(|(_, child)| child.text("state") == Some("INSTALLED"));
        used.filter_map(|(_, child)| child.text("spi-in").map(str::to_owned))
            .collect()
    }
}

fn make() -> Vec<u8> {
    let stage = Stage::set_up();
    let sid = LabRoot::sid()
        .expect("a cache directory")
        .present()
        .expect("the stage runs from it");
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("ipsec.pcap");
    for end in [&stage.near, &stage.far] {
        let (certificate, key) = stage.authority.issue(end.name);
        let mut client = end.client();
        for (command, message) in [
            ("load-cert", stage.authority.load()),
            ("load-cert", certificate),
            ("load-key", key),
        ] {
            client.command(command, message).expect("credentials");
        }
    }
    LINKS.iter().for_each(|link| link.prepare(&stage));
    let capture = Capture::start(Some(&stage.near.space), "v0", &file, Direction::Both).expect("a capture");
    // One after the other: of CHILD_SAs that came up at the same time kernel-libipsec left some without traffic.
    LINKS.iter().for_each(|link| link.live(&stage.near, &sid));
    let captured = capture.stop().expect("a capture");
    assert!(captured.complete(), "{captured:?}");
    std::fs::read(&file).expect("the capture")
}

/// The capture as a file in `directory`.
pub(crate) fn write(directory: &Path) -> PathBuf {
    let file = directory.join("ipsec.pcap");
    std::fs::write(&file, links()).expect("a file");
    file
}
