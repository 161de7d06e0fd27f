//! Exchanges at the port of one peer with another node that holds a certificate of the same
//! authority.

mod simulated;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bartizan_deployment::Deployment;
use bartizan_pki::{self as pki, Algorithm, Authority, InitOptions, Leaf, Overwrite};
use bartizan_tls::{Credentials, Endpoint, Established, Reason};

use super::admission::{Admission, Beginning, MOST};
use super::kept::{Facts, Kept, Left};
use super::proven::{Judged, Proven};
use super::{EapEnd, GONE, LOOK, Link, Setting, endpoint};
use crate::boot::Boot;
use crate::derive::Direction;
use crate::kernel::REFUSED;
use crate::message::Message;
use crate::segment::Segment;
use crate::session::{Ended, Received, Session};
use crate::stream::Broken;

const MTU: u32 = 1500;

/// Certificates of one O-DU and two radio units.
fn certificates(place: &Path) {
    let now = SystemTime::now();
    let options = InitOptions::new(Algorithm::MlDsa65);
    let mut authority = Authority::init(&place.join("ca"), options, now).unwrap();
    for node in ["odu", "oru1", "oru2"] {
        let leaf = Leaf::new(node).unwrap().dns(node).unwrap();
        let issued = authority.issue(&leaf.algorithm(Algorithm::MlDsa65), now).unwrap();
        issued.write_to(&place.join(node), Overwrite::Replace).unwrap();
    }
}

/// The links of `node` by a file in which the unit at each port of the O-DU has the certificate
/// named for it.
fn end(place: &Path, node: &str, units: [&str; 2], options: &str) -> (Setting, Endpoint) {
    let mut nodes =
        "odu: { function: O-DU, address: 10.0.0.1, certificate: odu/odu.crt.pem, key: odu/odu.key.pem }".to_owned();
    let mut interfaces = String::new();
    for (number, holder) in (1..).zip(units) {
        nodes += &format!(
            "\n  oru{number}: {{ function: O-RU, address: 10.0.1.{number}, names: {{ dns: [{holder}] }}, \
             certificate: {holder}/{holder}.crt.pem, key: {holder}/{holder}.key.pem }}"
        );
        interfaces += &format!(
            "\n  - {{ kind: FH, between: [odu, oru{number}], with: macsec, macsec: {{ port: {{ odu: eth{number}, \
             oru{number}: eth0 }}, device: {{ odu: macsec{number}, oru{number}: macsec0 }}, {options} }} }}"
        )
        .replace("UNIT", &format!("oru{number}"));
    }
    let crl = if place.join("crl.pem").exists() {
        ", crl: crl.pem"
    } else {
        ""
    };
    let text = format!(
        "policy: hybrid\ntrust: {{ roots: ca/root.crt.pem{crl} }}\nnodes:\n  {nodes}\ninterfaces:{interfaces}\n"
    );
    let deployment = Deployment::parse(&text, "ran.yaml", place).unwrap_or_else(|error| panic!("{error}"));
    let files = deployment.node(node).unwrap().files.as_ref().unwrap();
    let credentials = Credentials::load(files).unwrap_or_else(|error| panic!("{error}"));
    let endpoint = endpoint(&deployment, node, credentials).unwrap_or_else(|error| panic!("{error}"));
    (Setting::all(&deployment, node).remove(0), endpoint)
}

/// Revokes the certificate of a node.
fn revoke(place: &Path, node: &str) {
    let today = SystemTime::now();
    let mut authority = Authority::open(&place.join("ca"), None, today).unwrap();
    authority.revoke(node, pki::Reason::KeyCompromise, today).unwrap();
    let lists = authority.refresh_lists(7, today).unwrap();
    std::fs::write(place.join("crl.pem"), lists).unwrap();
}

/// The exchange that the first end admits.
fn exchange(ends: [&(Setting, Endpoint); 2]) -> Result<Box<Established>, Ended> {
    let now = Instant::now();
    let mut sessions = ends.map(|(setting, endpoint)| match setting.direction {
        Direction::FromClient => Session::begin(setting.connect(endpoint).unwrap(), 7, MTU, now).unwrap(),
        Direction::FromServer => Session::accept(setting.accept(endpoint).unwrap(), 7, MTU, now),
    });
    for _ in 0..20 {
        for from in [0, 1] {
            let mut frames = Vec::new();
            let _ = sessions[from].poll(now, &mut |frame| frames.push(frame));
            for frame in frames {
                let segment = Segment::read(&frame).unwrap();
                let received = sessions[1 - from].receive(&segment, &ends[1 - from].0.binding, now);
                // The other end hears of a refusal by an alert.
                let Some(received) = (from == 1).then_some(received) else {
                    continue;
                };
                if let Some(Received::Established(established, _)) = received?.pop() {
                    return Ok(established);
                }
            }
        }
    }
    panic!("the exchange does not end")
}

#[test]
fn unit_of_another_port_is_refused_whatever_the_keying_and_whichever_end_begins() {
    let place = tempfile::tempdir().unwrap();
    certificates(place.path());
    for keying in ["direct", "mka"] {
        for initiator in ["odu", "UNIT"] {
            let options = format!("keying: {keying}, initiator: {initiator}");
            let at = |node, units| end(place.path(), node, units, &options);
            let ours = at("odu", ["oru1", "oru2"]);
            assert_eq!((ours.0.peer.as_str(), ours.0.port.as_str()), ("oru1", "eth1"));
            let right = at("oru1", ["oru1", "oru2"]);
            assert_eq!(exchange([&ours, &right]).unwrap().peer.as_str(), "oru1", "{options}");
            // The unit writes its own file: by that it is oru1, and has the certificate of oru2.
            let wrong = at("oru1", ["oru2", "oru1"]);
            let Err(Ended::Refused(refused)) = exchange([&ours, &wrong]) else {
                panic!("admitted: {options}")
            };
            assert_eq!(refused.reason, Reason::WrongName, "{options}");
            assert!(
                refused
                    .detail
                    .contains("carries dns:oru2, and oru1 is known by dns:oru1"),
                "{refused}"
            );
        }
    }
}

/// The initiator dials no more while an exchange is under way: one without an end kept it from
/// every further one, and acknowledgements can be forged.
#[test]
fn exchange_whose_peer_acknowledges_all_and_says_nothing_ends() {
    let place = tempfile::tempdir().unwrap();
    certificates(place.path());
    let at = |node| end(place.path(), node, ["oru1", "oru2"], "initiator: odu");
    let (ours, peer) = (at("odu"), at("oru1"));
    let now = Instant::now();
    let mut client = Session::begin(ours.0.connect(&ours.1).unwrap(), 7, MTU, now).unwrap();
    let mut server = Session::accept(peer.0.accept(&peer.1).unwrap(), 7, MTU, now);
    let carry = |from: &mut Session, to: &mut Session, binding| {
        let (mut frames, mut established) = (Vec::new(), false);
        from.poll(now, &mut |frame| frames.push(frame)).unwrap();
        for frame in frames {
            let received = to.receive(&Segment::read(&frame).unwrap(), binding, now).unwrap();
            established |= matches!(received[..], [Received::Established(..)]);
        }
        established
    };
    while !carry(&mut server, &mut client, &ours.0.binding) {
        carry(&mut client, &mut server, &peer.0.binding);
    }
    // The server answers TLS and acknowledges, and its greeting does not come.
    client.send(&Message::Alive).unwrap();
    while carry(&mut client, &mut server, &peer.0.binding) {}
    carry(&mut server, &mut client, &ours.0.binding);
    let at = client.wake().expect("it has a time limit");
    assert!(client.poll(at - LOOK, &mut |_| ()).is_ok());
    let ended = client.poll(at, &mut |_| ()).unwrap_err();
    assert!(matches!(ended, Ended::Broken(Broken::Silent)), "{ended}");
    // That of a peer that has spoken has none but that of the stream.
    server.send(&Message::Alive).unwrap();
    carry(&mut server, &mut client, &ours.0.binding);
    assert!(client.poll(at, &mut |_| ()).is_ok());
}

#[test]
fn each_end_of_eap_is_given_the_peer_of_its_link() {
    let place = tempfile::tempdir().unwrap();
    certificates(place.path());
    let at = |initiator| {
        let options = format!("keying: eap-tls, initiator: {initiator}");
        end(place.path(), "odu", ["oru1", "oru2"], &options)
    };
    let (authenticator, endpoint) = at("odu");
    assert_eq!(authenticator.eap(), Some(&EapEnd::Authenticator));
    assert!(authenticator.accept(&endpoint).is_ok());
    let (peer, _) = at("UNIT");
    let Some(EapEnd::Peer(peer)) = peer.eap() else {
        panic!("{peer:?}")
    };
    assert_eq!(peer.authenticator.dns(), ["oru1"]);
}

#[test]
fn exchange_that_is_under_way_has_its_time_however_many_others_are_begun() {
    let place = tempfile::tempdir().unwrap();
    certificates(place.path());
    let (setting, endpoint) = end(place.path(), "odu", ["oru1", "oru2"], "initiator: UNIT");
    let begun = Instant::now();
    let (mut admission, mut beginning) = (Admission::new(begun), BTreeMap::new());
    let mut begin = |conversation, now| {
        let admitted = admission.admits(&mut beginning, now);
        if admitted {
            let session = Session::accept(setting.accept(&endpoint).unwrap(), conversation, MTU, now);
            beginning.insert(conversation, Beginning::of(session));
        }
        (admitted, beginning.len(), beginning.contains_key(&u64::MAX))
    };
    assert!(begin(u64::MAX, begun).0);
    // 1600 first segments a second for two seconds: eight at once and ten a second are admitted.
    let flood = (1..=3200).map(|number| begin(u64::from(number), begun + Duration::from_micros(625) * number));
    let admitted: Vec<_> = flood.filter(|(admitted, ..)| *admitted).collect();
    assert_eq!(admitted.len(), 27);
    assert!(admitted.iter().all(|(_, _, stands)| *stands), "{admitted:?}");
    // They are bounded however long it goes on.
    let later = (1..=100).map(|turn| begin(turn << 32, begun + Duration::from_secs(2 + turn)));
    assert!(
        later
            .last()
            .is_some_and(|(admitted, open, stands)| admitted && open == MOST && !stands)
    );
}

/// A peer that has proven itself to the O-DU, in memory.
fn proven(ends: [&(Setting, Endpoint); 2], now: Instant) -> Proven {
    Proven::by(Arc::from(exchange(ends).unwrap()), None, now)
}

#[test]
fn proof_of_a_peer_is_judged_by_the_files_and_the_date_of_now() {
    let place = tempfile::tempdir().unwrap();
    certificates(place.path());
    let at = |node| end(place.path(), node, ["oru1", "oru2"], "initiator: odu");
    let (ours, peer) = (at("odu"), at("oru1"));
    let now = Instant::now();
    let mut proven = proven([&ours, &peer], now);
    let today = SystemTime::now();
    let judge = |proven: &mut Proven, endpoint: &Endpoint, seconds, today| {
        proven.judge(endpoint, now + Duration::from_secs(seconds), today)
    };
    assert!(matches!(judge(&mut proven, &ours.1, 0, today), Judged::Stands));
    // Another exchange before the certificate ends, once for each.
    let soon = proven.ends() - Duration::from_secs(100);
    assert!(matches!(judge(&mut proven, &ours.1, 59, soon), Judged::Stands));
    assert!(matches!(judge(&mut proven, &ours.1, 60, soon), Judged::Renew));
    assert!(matches!(judge(&mut proven, &ours.1, 120, soon), Judged::Stands));
    revoke(place.path(), "oru1");
    let reloaded = at("odu").1;
    assert!(
        matches!(judge(&mut proven, &reloaded, 130, today), Judged::Stands),
        "not due"
    );
    proven.hurry(now);
    let Judged::Refused(refusal) = judge(&mut proven, &reloaded, 130, today) else {
        panic!("{proven:?}")
    };
    assert_eq!(refusal.reason, Reason::Revoked);
}

/// A link that stands, with its record in `place`.
fn recorded(place: &Path, now: Instant) -> (Link, Setting, Endpoint) {
    let at = |node| end(place, node, ["oru1", "oru2"], "initiator: odu");
    let (ours, (of_peer, peers)) = (at("odu"), at("oru1"));
    let mut setting = ours.0.clone();
    setting.directory = place.join("run");
    let recorder = bartizan_ledger::Ledger::none().recorder();
    let mut link = Link::simulated(setting.clone(), &ours.1, (&of_peer, &peers), &recorder, now);
    link.kept.installed.push(crate::KeyId([7; 16]));
    link.keep(now);
    (link, setting, ours.1)
}

#[test]
fn removal_of_keys_that_fails_is_repeated_until_it_is_done_and_never_reported_as_done() {
    let place = tempfile::tempdir().unwrap();
    certificates(place.path());
    let now = Instant::now();
    let (mut link, setting, endpoint) = recorded(place.path(), now);
    assert!(Left::read(&setting, now, &Boot::now()).is_ok());
    REFUSED.set(3);
    let over = now + setting.terms.authentication();
    link.end_in_time(over);
    for attempt in 0..3 {
        let at = over + LOOK * attempt;
        let status = link.status(at);
        assert!(status.keys_stay && !status.up, "{attempt}: {status:?}");
        assert!(status.trouble.unwrap().contains("KEYS STAY IN THE KERNEL"));
        // A successor removes what it finds.
        assert!(Left::read(&setting, at, &Boot::now()).is_err());
        // Nothing else goes on meanwhile.
        link.rekey(true, at);
        link.reloaded(&endpoint, at);
        match attempt {
            0 => assert_eq!(link.turn(at).unwrap(), at + LOOK, "it waits"),
            1 => assert_eq!(link.turn(at).unwrap(), at + LOOK, "refused again"),
            _ => link.end_in_time(at),
        }
    }
    assert_eq!(REFUSED.get(), 0);
    let at = over + LOOK * 4;
    link.end_in_time(at);
    let status = link.status(at);
    assert!(!status.keys_stay, "{status:?}");
    assert_eq!(status.trouble.as_deref(), Some(super::UNPROVEN));
    assert!(GONE > LOOK);
}

#[test]
fn keys_have_the_rest_of_their_time_at_each_successor_and_go_with_another_peer_clock_or_key() {
    let place = tempfile::tempdir().unwrap();
    certificates(place.path());
    let (now, boot) = (Instant::now(), Boot::now());
    let (link, setting, endpoint) = recorded(place.path(), now);
    let name = || std::iter::once(crate::KeyId([7; 16]).to_string());
    let seconds = Duration::from_secs;
    let after = |seconds: u64| Boot {
        since_s: boot.since_s + seconds,
        ..boot.clone()
    };
    let read = |setting: &Setting, seconds| Left::read(setting, now, &after(seconds));
    let (_, deadline, _) = link.keyer.facts(&link.kept.installed).unwrap();
    let left = deadline.unwrap().saturating_duration_since(now).as_secs();
    // Each successor writes what it has read.
    for successor in 0..4 {
        let passed = left / 5 * successor;
        let (at, boot) = (now + seconds(passed), after(passed));
        let read = Left::read(&setting, at, &boot).unwrap();
        let ends = read.ends.unwrap().saturating_duration_since(now).as_secs();
        assert!(
            ends.abs_diff(left) <= 2 * successor + 2,
            "{successor}: {ends} of {left}"
        );
        assert!(read.clone().names(name()).is_ok());
        let facts = Facts {
            names: name().collect(),
            authenticated: read.authenticated,
            ends: read.ends,
            certificate_ends: None,
            proof: &|| read.proof.clone(),
        };
        Kept::default().save(&setting, facts, at, &boot).unwrap();
    }
    let said = |left: Result<Left, String>| left.unwrap_err();
    assert_eq!(said(read(&setting, left + 10)), super::UNPROVEN);
    // The date does not count: only the kernel's clock does, and a record of an earlier start of it
    // is none.
    let mut earlier = Boot {
        since_s: boot.since_s.saturating_sub(3600),
        ..boot.clone()
    };
    if earlier.since_s + 10 < boot.since_s {
        assert!(said(Left::read(&setting, now, &earlier)).contains("at a time that is not yet"));
    }
    earlier.name = "another".to_owned();
    assert!(said(Left::read(&setting, now, &earlier)).contains("before the kernel started"));
    let other = std::iter::once("00".repeat(16));
    assert!(said(read(&setting, 0).and_then(|left| left.names(other))).contains("not in their record"));
    let mut moved = setting.clone();
    moved.peer = "oru2".to_owned();
    assert!(said(read(&moved, 0)).contains("shared with oru1"));
    // A certificate that was revoked meanwhile.
    let mut found = read(&setting, 0).unwrap();
    assert!(!found.proof.chain.is_empty() && found.judge(&setting, &endpoint, now).is_ok());
    revoke(place.path(), "oru1");
    let (_, judging) = end(place.path(), "odu", ["oru1", "oru2"], "initiator: odu");
    found.hurry(now);
    let refusal = found.judge(&setting, &judging, now).unwrap_err();
    assert_eq!(refusal.reason, Reason::Revoked);
    let file = setting.directory.join("eth1.keys.json");
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&file).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    // A group that the policy does not admit any more.
    let mut record: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    record["proof"]["negotiated"]["group"]["code"] = 29.into();
    std::fs::write(&file, record.to_string()).unwrap();
    let refusal = read(&setting, 0).unwrap().judge(&setting, &endpoint, now).unwrap_err();
    assert_eq!(refusal.reason, Reason::Policy);
    std::fs::write(&file, "{").unwrap();
    assert!(said(read(&setting, 0)).contains("no record"));
}

mod as_root {
    use bartizan_host::FrameSocket;
    use bartizan_registry::ethertype;

    use super::super::removal::Removal;
    use super::*;

    #[test]
    fn exchange_is_not_begun_while_keys_are_still_to_be_removed() {
        let place = tempfile::tempdir().unwrap();
        certificates(place.path());
        let now = Instant::now();
        let (mut link, _, endpoint) = recorded(place.path(), now);
        let socket = FrameSocket::open("lo", [2, 0, 0, 0, 0, 1], ethertype::LOCAL_EXPERIMENTAL).unwrap();
        (link.exchange, link.current) = (Some((endpoint, socket)), None);
        assert!(link.may_dial() && link.socket().is_some());
        // Within one turn a frame can end the keys, and the kernel refuse to remove them.
        link.removal = Some(Box::new(Removal::new(super::super::UNPROVEN, now)));
        assert!(!link.may_dial());
        // Before, a frame that waited had the thread of all links spin for as long.
        assert!(link.socket().is_none());
    }
}
