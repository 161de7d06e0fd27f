//! Refusals and ends, with the reason at both ends: in the log, the ledger, the metrics and
//! `status`.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bartizan_deployment::{Deployment, day_of};
use bartizan_host::{Process, Program};
use bartizan_ipsec::drive::list_sas;
use bartizan_ipsec::render::{Credentials, Means, connections};
use bartizan_ipsec::sa::IkeSa;
use bartizan_ipsec::vici::{Client, Section, Value};
use bartizan_ledger::{Asked, Direction, Event, Refuser, Why};
use bartizan_pki::{Algorithm, Authority, InitOptions, Leaf, Reason};

use super::is_recorded;
use crate::stage::*;

const PORT: u16 = 9464;
const SERVED: [&str; 2] = ["--metrics", "127.0.0.1:9464"];
const DAY: Duration = Duration::from_secs(24 * 3600);
const INNER: &str = "inner: { cu: [10.78.0.1], ric: [10.78.0.2] }";

fn peer_of(node: &str) -> &str {
    if node == "cu" { "ric" } else { "cu" }
}

/// Waits until the node's metrics have this.
fn counts(stage: &Stage, node: &str, wanted: &str) {
    eventually(&format!("{node} counts {wanted}"), || {
        stage.metrics(node, PORT).contains(wanted).then_some(())
    });
}

/// Waits until the node's `up` has logged a line with both.
fn logs(up: &Process, what: &str, wanted: &str) {
    eventually(&format!("{what} ... {wanted} is logged"), || {
        let said = up.stderr();
        said.lines()
            .any(|line| line.contains(what) && line.contains(wanted))
            .then_some(())
    });
}

/// Waits until the refusal is in all four.
fn is_reported_everywhere(
    stage: &Stage,
    (node, up): (&str, &Process),
    direction: Direction,
    by: Refuser,
    reason: &str,
) {
    is_recorded(stage, node, direction, by, reason);
    eventually("status has it", || {
        let (_, report) = stage.try_json("status", node)?;
        report["links"][0]["last_refusal"]["reason"].is_string().then_some(())
    });
    let (way, who) = (
        if direction == Direction::Inbound {
            "inbound"
        } else {
            "outbound"
        },
        if by == Refuser::Us { "us" } else { "peer" },
    );
    let peer = peer_of(node);
    counts(
        stage,
        node,
        &format!(
            "bartizan_ipsec_refusals_total{{peer=\"{peer}\",direction=\"{way}\",by=\"{who}\",reason=\"{reason}\"}}"
        ),
    );
    logs(up, "was refused", &format!("reason={reason} "));
}

/// The same of the end of an SA.
fn is_ended(stage: &Stage, (node, up): (&str, &Process), kind: &str, why: Why) {
    eventually(&format!("{node} records {why:?}"), || {
        let mut events = events(stage, node).into_iter();
        let is_child = kind == "child";
        events.find_map(|event| match event {
            Event::SaClosed(closed) if closed.why == why && closed.spi_in.is_some() == is_child => {
                assert!(closed.detail.is_some(), "{closed:?}");
                Some(())
            }
            _ => None,
        })
    });
    let (peer, why) = (peer_of(node), why.word());
    counts(
        stage,
        node,
        &format!("bartizan_ipsec_sas_ended_total{{kind=\"{kind}\",peer=\"{peer}\",why=\"{why}\"}}"),
    );
    logs(up, "SA ended", &format!("why=\"{why}\""));
}

/// The first refusal of the node's ledger for this reason, and whether an SA had expired before. A
/// node that has begun before its peer ran has recorded another.
fn first_refusal(stage: &Stage, node: &str, reason: &str) -> (Asked, bool) {
    let mut expired = false;
    for event in events(stage, node) {
        match event {
            Event::SaClosed(closed) => expired |= closed.why == Why::Expired,
            Event::SaRefused(refused) if refused.reason == reason => return (refused.what, expired),
            _ => {}
        }
    }
    panic!("nothing was refused")
}

/// The RIC's connection as its file has it, with CHILD_SAs that ask for another key exchange at
/// their rekey, and do not begin one.
fn with_another_child(stage: &Stage) -> Section {
    let file = stage.path().join("ric.yaml");
    let text = std::fs::read_to_string(&file).expect("a file");
    let deployment = Deployment::parse(&text, "ric.yaml", stage.path()).expect("a deployment");
    let node = deployment.node("ric").expect("a node");
    let credentials = Credentials::read(node.ipsec.as_ref().expect("files")).expect("credentials");
    let today = day_of(SystemTime::now());
    let rendered = connections(&deployment, "ric", &credentials, Means::LIBIPSEC, today).expect("connections");
    changed(&rendered[0].load())
}

fn changed(section: &Section) -> Section {
    let mut new = Section::new();
    for (name, value) in section.entries() {
        match (name, value) {
            ("esp_proposals", _) => new = new.with_list(name, ["aes256gcm16-x25519"]),
            ("rekey_time", _) => new.set(name, "0"),
            (_, Value::Section(inner)) => new.push(name, Value::Section(changed(inner))),
            (_, value) => new.push(name, value.clone()),
        }
    }
    new
}

#[test]
fn a_rekey_that_the_peer_refuses_and_the_link_that_expires_are_reported_at_both_ends() {
    let stage = Stage::set_up_with("hybrid", "hybrid", &format!("{INNER}, rekey-child: 10s"));
    let ric = stage.up_with("ric", &SERVED);
    let mut client = Client::connect(&stage.charon("ric").join("charon.vici"), PATIENCE).expect("charon");
    client
        .command("unload-conn", Section::new().with("name", "cu--ric"))
        .expect("unloaded");
    // Its first CHILD_SA has no key exchange of its own, and stands; every one after it is asked
    // for what this end does not accept.
    client.command("load-conn", with_another_child(&stage)).expect("loaded");
    let cu = stage.up_with("cu", &SERVED);
    stage.stands("cu");
    let (at_cu, at_ric) = (("cu", &cu), ("ric", &ric));
    is_reported_everywhere(&stage, at_cu, Direction::Outbound, Refuser::Peer, "no-common-proposal");
    is_reported_everywhere(&stage, at_ric, Direction::Inbound, Refuser::Us, "no-common-proposal");
    is_ended(&stage, at_cu, "child", Why::Expired);
    is_ended(&stage, at_ric, "child", Why::DeletedByPeer);
    for node in ["cu", "ric"] {
        let first = first_refusal(&stage, node, "no-common-proposal");
        assert_eq!(first, (Asked::Exchange, false), "{node}");
    }
    let (code, report) = stage.json("status", "cu", &[]);
    let end = &report["links"][0]["last_end"];
    assert_eq!((code, &end["why"]), (1, &"expired".into()), "{report}");
}

/// Drops what this node begins of the exchange CREATE_CHILD_SA (36), and none of its answers: RFC
/// 7296, section 3.1, behind UDP's header and the marker of RFC 3948, section 2.2.
const NO_CREATE_CHILD_SA: &str = "table inet test {\nchain out {\ntype filter hook output priority 0;\n\
     udp dport 4500 @th,64,32 0 @th,240,8 36 @th,248,8 & 0x20 == 0 drop\n}\n}\n";

#[test]
fn a_rekey_that_the_peer_puts_off_until_the_link_expires_is_reported_at_both_ends() {
    let stage = Stage::set_up_with("hybrid", "hybrid", &format!("{INNER}, rekey-child: 10s"));
    let (ric, cu) = (stage.up_with("ric", &SERVED), stage.up_with("cu", &SERVED));
    stage.stands("cu");
    // The peer waits for an answer to a rekey of its own that this end never sees.
    let nft = |script: &str| {
        let nft = Program::new("nft").arguments(["-f", "-"]).text(script).expect("a text");
        nft.inside(&stage.ric).run(PATIENCE).expect("nft");
    };
    nft(NO_CREATE_CHILD_SA);
    let mut client = Client::connect(&stage.charon("ric").join("charon.vici"), PATIENCE).expect("charon");
    client
        .command("rekey", Section::new().with("ike", "cu--ric"))
        .expect("it begins");
    let (at_cu, at_ric) = (("cu", &cu), ("ric", &ric));
    is_reported_everywhere(&stage, at_cu, Direction::Outbound, Refuser::Peer, "temporary-failure");
    is_reported_everywhere(&stage, at_ric, Direction::Inbound, Refuser::Us, "temporary-failure");
    is_ended(&stage, at_cu, "child", Why::Expired);
    for node in ["cu", "ric"] {
        let first = first_refusal(&stage, node, "temporary-failure");
        assert_eq!(first, (Asked::Exchange, false), "{node}");
    }
    nft("delete table inet test\n");
    stage.stands("cu");
}

#[test]
fn an_own_certificate_that_ends_before_a_re_authentication_is_reported_at_both_ends_and_so_is_the_link_that_expires() {
    let link = format!("{INNER}, reauth: 20s, rekey-ike: never");
    let mut stage = Stage::set_up_with("hybrid", "hybrid", &link);
    // The RIC does not begin itself: of two re-authentications at once each end would refuse one.
    let of_ric = stage.path().join("ric.yaml");
    let text = std::fs::read_to_string(&of_ric).expect("a file");
    std::fs::write(of_ric, text.replace("reauth: 20s", "reauth: never")).expect("a file");
    let begun = Instant::now();
    let ric = stage.up_with("ric", &SERVED);
    // The link must stand before its end, which takes as long as one end more. If it is
    // authenticated anew before that, the next time is refused.
    let lasts = (10 * begun.elapsed()).max(Duration::from_secs(30));
    stage.issue("cu", SystemTime::now() + lasts - 30 * DAY);
    let cu = stage.up_with("cu", &SERVED);
    stage.stands("cu");
    logs(&cu, "the certificate of this node ends within a day", "left_days=0");
    let (at_cu, at_ric) = (("cu", &cu), ("ric", &ric));
    is_reported_everywhere(&stage, at_ric, Direction::Inbound, Refuser::Us, "expired");
    is_reported_everywhere(&stage, at_cu, Direction::Outbound, Refuser::Peer, "peer-refused");
    for (node, reason) in [("cu", "peer-refused"), ("ric", "expired")] {
        let first = first_refusal(&stage, node, reason);
        assert_eq!(first, (Asked::ReAuthentication, false), "{node}");
    }
    logs(&cu, "the certificate of this node has expired", "ERROR");
    // An IKE_SA authenticated before ends with its own lifetime.
    is_ended(&stage, at_cu, "ike", Why::Expired);
    is_ended(&stage, at_ric, "ike", Why::DeletedByPeer);
}

#[test]
fn a_peer_of_another_authority_is_refused_and_reported_by_initiator_and_responder() {
    let mut stage = Stage::set_up("hybrid", "hybrid");
    let options = InitOptions::new(Algorithm::EcdsaP256);
    let begun = SystemTime::now() - 60 * DAY;
    let mut other = Authority::init(&stage.path().join("other"), options, begun).expect("an authority");
    let roots = |stage: &Stage, node: &str, roots: &str| {
        let file = stage.path().join(format!("{node}.yaml"));
        let text = std::fs::read_to_string(&file).expect("a file");
        std::fs::write(&file, text.replace("roots: ca.crt.pem", &format!("roots: {roots}"))).expect("a file");
    };
    // The node has a certificate of the other authority, and trusts both: its own files are in order.
    let mut of_other = |stage: &Stage, node: &str| {
        let leaf = Leaf::new(node)
            .expect("a name")
            .dns(&format!("{node}.test"))
            .expect("a name");
        let issued = other
            .issue(&leaf.algorithm(Algorithm::EcdsaP256), SystemTime::now())
            .expect("a certificate");
        let write = |file: String, text: &str| std::fs::write(stage.path().join(file), text).expect("a file");
        write(format!("{node}.crt.pem"), &issued.chain_pem());
        write(format!("{node}.key.pem"), &issued.key_pem().expect("a key"));
        stage.key_mode(node, 0o600);
        let first = std::fs::read_to_string(stage.path().join("ca.crt.pem")).expect("a file");
        write("both.crt.pem".into(), &(first + &issued.root_pem()));
    };
    // Days ahead it is warned of the end of this node's own.
    let then = SystemTime::now() - 25 * DAY;
    stage.issue("cu", then);
    of_other(&stage, "ric");
    roots(&stage, "ric", "both.crt.pem");
    let (ric, cu) = (stage.up_with("ric", &SERVED), stage.up_with("cu", &SERVED));
    is_reported_everywhere(&stage, ("cu", &cu), Direction::Outbound, Refuser::Us, "unknown-ca");
    is_reported_everywhere(&stage, ("ric", &ric), Direction::Inbound, Refuser::Peer, "peer-refused");
    logs(&cu, "the certificate of this node ends within 7 days", "left_days=4");
    let metrics = stage.metrics("cu", PORT);
    let end = metrics
        .lines()
        .find_map(|line| line.strip_prefix("bartizan_ipsec_certificate_not_after_seconds{file=\"certificate\"} "));
    let end: u64 = end
        .and_then(|end| end.parse().ok())
        .unwrap_or_else(|| panic!("{metrics}"));
    let wanted = (then + 30 * DAY)
        .duration_since(UNIX_EPOCH)
        .expect("after 1970")
        .as_secs();
    assert!(end.abs_diff(wanted) <= 600, "{end} {wanted}");
    let (_, report) = stage.json("status", "cu", &[]);
    assert_eq!(report["certificate_not_after"], end);
    for process in [ric, cu] {
        process.terminate(PATIENCE).expect("it ends");
    }

    // The responder's turn.
    stage.issue("ric", SystemTime::now());
    of_other(&stage, "cu");
    roots(&stage, "cu", "both.crt.pem");
    let ric_file = stage.path().join("ric.yaml");
    let text = std::fs::read_to_string(&ric_file).expect("a file");
    std::fs::write(&ric_file, text.replace("roots: both.crt.pem", "roots: ca.crt.pem")).expect("a file");
    let (ric, cu) = (stage.up_with("ric", &SERVED), stage.up_with("cu", &SERVED));
    is_reported_everywhere(&stage, ("ric", &ric), Direction::Inbound, Refuser::Us, "unknown-ca");
    is_reported_everywhere(&stage, ("cu", &cu), Direction::Outbound, Refuser::Peer, "peer-refused");
}

/// Replaces a part of a node's deployment file.
fn changed_file(stage: &Stage, node: &str, part: &str, by: &str) {
    let file = stage.path().join(format!("{node}.yaml"));
    let text = std::fs::read_to_string(&file).expect("a file");
    assert!(text.contains(part), "{text}");
    std::fs::write(file, text.replace(part, by)).expect("a file");
}

#[test]
fn what_an_initiator_does_not_authenticate_anew_ends_at_its_responder_too_however_often_that_rekeys() {
    let mut stage = Stage::set_up_with("hybrid", "hybrid", &format!("{INNER}, reauth: 20s, rekey-ike: 5s"));
    changed_file(&stage, "cu", "reauth: 20s", "reauth: never");
    changed_file(&stage, "ric", "rekey-ike: 5s", "rekey-ike: never");
    let begun = Instant::now();
    let ric = stage.up_with("ric", &SERVED);
    let lasts = (10 * begun.elapsed()).max(Duration::from_secs(30));
    stage.issue("cu", SystemTime::now() + lasts - 30 * DAY);
    let cu = stage.up_with("cu", &SERVED);
    stage.stands("cu");
    // It begins a re-authentication itself, and does not accept what it gets.
    is_recorded(&stage, "ric", Direction::Outbound, Refuser::Us, "expired");
    // charon's timer ends it at either end, or the watch where a rekey has put that off.
    is_gone(&stage, "ric");
    drop((ric, cu));
}

/// Waits until the breach is counted at the node, and no IKE_SA stands there.
fn is_taken_down(stage: &Stage, node: &str) {
    counts(
        stage,
        node,
        "bartizan_ipsec_breaches_total{peer=\"cu\",reason=\"not-authenticated-anew\"} 1",
    );
    is_gone(stage, node);
}

/// Waits until no IKE_SA stands at the node.
fn is_gone(stage: &Stage, node: &str) {
    eventually("the link is gone", || {
        let mut client = Client::connect(&stage.charon(node).join("charon.vici"), PATIENCE).ok()?;
        let sas = list_sas(&mut client).ok()?;
        (!sas.iter().any(IkeSa::stands)).then_some(())
    });
}

/// charon authenticated a revoked peer anew by the list that it had verified before.
#[test]
fn a_peer_that_a_new_list_revokes_loses_its_link_while_up_runs() {
    let mut stage = Stage::set_up_with("hybrid", "hybrid", INNER);
    let serial = stage.issue("cu", SystemTime::now());
    // The other end does not learn of it.
    changed_file(&stage, "cu", ", crl: ca.crl.pem", "");
    let (_ric, _cu) = (stage.up_with("ric", &SERVED), stage.up_with("cu", &SERVED));
    stage.stands("cu");
    let revoked = stage
        .authority
        .revoke(&serial, Reason::KeyCompromise, SystemTime::now());
    revoked.expect("a revocation");
    stage.publish();
    is_recorded(&stage, "ric", Direction::Inbound, Refuser::Us, "revoked");
    is_gone(&stage, "ric");
}

/// A root that was taken out of its file was trusted until the next restart of `up`.
#[test]
fn a_peer_below_a_root_that_is_taken_out_loses_its_link_while_up_runs() {
    let stage = Stage::set_up_with("hybrid", "hybrid", INNER);
    changed_file(&stage, "ric", "roots: ca.crt.pem", "roots: both.crt.pem");
    let options = InitOptions::new(Algorithm::EcdsaP256);
    let other = Authority::init(&stage.path().join("other"), options, SystemTime::now()).expect("an authority");
    let roots = stage.path().join("both.crt.pem");
    let first = std::fs::read_to_string(stage.path().join("ca.crt.pem")).expect("a file");
    std::fs::write(&roots, first + &other.root().to_pem()).expect("a file");
    let (_ric, _cu) = (stage.up_with("ric", &SERVED), stage.up_with("cu", &SERVED));
    stage.stands("cu");
    std::fs::write(&roots, other.root().to_pem()).expect("a file");
    is_taken_down(&stage, "ric");
}
