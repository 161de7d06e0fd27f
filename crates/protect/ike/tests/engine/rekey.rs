//! The life of SAs: replaced by either end, by both at once, deleted, expired (RFC 7296, sections
//! 1.3, 1.4, 2.4, 2.8 and 2.25; RFC 9370).

use std::time::Duration;

use bartizan_ike::{Config, Event, Failure, Lifetime, Mode, Pace, Requester};
use bartizan_wire::ike::{ExchangeType, Header, NotifyType};

use crate::link::{Algorithm, Authority, DELAY, Fate, HYBRID, Link, config, esp, transform};
use crate::{SOON, both};

/// Both ends with this to make CHILD_SAs by, joined.
fn joined(key_exchanges: &[&[&str]], seed: u64, change: impl Fn(&mut Config)) -> Link {
    let mut configs = both(Algorithm::Ed25519, &[HYBRID]);
    for config in &mut configs {
        config.child.proposals = key_exchanges.iter().map(|names| esp(names)).collect();
        change(config);
    }
    let [one, other] = configs;
    let mut link = Link::new(one, other, seed);
    link.run_well(SOON);
    link.assert_settled();
    link
}

/// SPI by which an end receives in its one CHILD_SA.
fn inbound(link: &Link, end: usize) -> u32 {
    link.installed(end)[0].inbound.0
}

fn rekey_child(link: &mut Link, end: usize) {
    let (now, spi) = (link.now, inbound(link, end));
    link.current(end).expect("an IKE_SA").rekey_child(now, spi);
}

fn rekey(link: &mut Link, end: usize) {
    let now = link.now;
    link.current(end).expect("an IKE_SA").rekey(now);
}

/// Refusals that an end received.
fn refusals(link: &Link, end: usize) -> Vec<(bool, NotifyType)> {
    let of = |event: &Event| match event {
        Event::NotReplaced { inbound, kind } => Some((inbound.is_some(), *kind)),
        _ => None,
    };
    link.events[end].iter().filter_map(of).collect()
}

#[test]
fn either_end_replaces_a_child_sa_with_as_many_key_exchanges_as_are_agreed_on() {
    let exchanges: [&[&str]; 4] = [&[], &["x25519"], HYBRID, &["ecp256", "mlkem768", "mlkem1024"]];
    for (names, mode) in exchanges
        .into_iter()
        .zip([Mode::Tunnel, Mode::Transport].into_iter().cycle())
    {
        for end in 0..2 {
            let mut link = joined(&[names], 20, |config| config.child.mode = mode);
            let old = [0, 1].map(|end| inbound(&link, end));
            rekey_child(&mut link, end);
            link.run_well(SOON);
            link.assert_settled();
            for (who, requester) in [(end, Requester::ThisEnd), (1 - end, Requester::Peer)] {
                let child = link.installed(who)[0];
                assert_eq!((child.requester, child.replaces), (requester, Some(old[who])));
                assert_ne!(child.inbound.1, link.child(who).expect("the first").inbound.1);
            }
            // One CREATE_CHILD_SA, an IKE_FOLLOWUP_KE for each additional key exchange, one
            // deletion, and of the other end nothing.
            let made = |exchange| [end, 1 - end].map(|end| link.requests(end, exchange));
            assert_eq!(made(ExchangeType::CREATE_CHILD_SA), [1, 0]);
            assert_eq!(made(ExchangeType::IKE_FOLLOWUP_KE), [names.len().saturating_sub(1), 0]);
            assert_eq!(made(ExchangeType::INFORMATIONAL), [1, 0]);
        }
    }
}

#[test]
fn whoever_answers_a_rekey_sends_by_the_replaced_child_sa_until_that_is_deleted() {
    let mut link = joined(&[HYBRID], 21, |_| {});
    let old = inbound(&link, 1);
    rekey_child(&mut link, 0);
    // CREATE_CHILD_SA and IKE_FOLLOWUP_KE take a round trip each; the deletion is on its way then.
    link.run_well(DELAY * 3 + DELAY / 2);
    let new = link.installed(1)[1].inbound.0;
    assert_eq!(link.open(1).sending(), Some(old));
    link.run_well(DELAY * 2);
    assert_eq!(link.open(1).sending(), Some(new));
    // That one is replaced in turn, and by the other end.
    rekey_child(&mut link, 1);
    link.run_well(SOON);
    link.assert_settled();
}

#[test]
fn either_end_replaces_the_ike_sa_which_keeps_its_child_sa() {
    for proposal in [&["x25519"][..], HYBRID, &["ecp384", "mlkem1024", "mlkem512"]] {
        let [mut one, mut other] = both(Algorithm::Ed25519, &[proposal]);
        for config in [&mut one, &mut other] {
            config.child.proposals = vec![esp(&["x25519"])];
        }
        let mut link = Link::new(one, other, 22);
        link.run_well(SOON);
        let (first, child) = (link.initiator.spis(), inbound(&link, 0));
        let mut spis = vec![first];
        for (round, end) in [1, 0, 0, 1].into_iter().enumerate() {
            rekey(&mut link, end);
            link.run_well(SOON);
            link.assert_settled();
            assert_eq!(inbound(&link, 0), child);
            let now = link.open(0).spis();
            assert!(!spis.contains(&now));
            spis.push(now);
            assert_eq!(link.successors.each_ref().map(Vec::len), [round + 1; 2]);
            for end in 0..2 {
                let ended = link.events[end]
                    .iter()
                    .filter(|event| matches!(event, Event::Closed(Failure::Replaced)));
                assert_eq!(ended.count(), round + 1);
            }
        }
        let followed = [0, 1].map(|end| link.requests(end, ExchangeType::IKE_FOLLOWUP_KE));
        assert_eq!(followed, [2 * (proposal.len() - 1); 2]);
        // A CHILD_SA made by the new IKE_SA has keys of its own.
        rekey_child(&mut link, 0);
        link.run_well(SOON);
        link.assert_settled();
        assert_ne!(inbound(&link, 0), child);
        let now = link.now;
        link.current(1).expect("an IKE_SA").close(now);
        link.run_well(SOON);
        assert!(link.sas(0).chain(link.sas(1)).all(bartizan_ike::IkeSa::is_closed));
    }
}

#[test]
fn a_peer_that_replaces_sas_without_end_is_refused_beyond_its_pace() {
    const ROUNDS: usize = 40;
    let mut link = joined(&[HYBRID], 23, |config| {
        config.timing.again = Duration::from_secs(1);
        config.timing.asked = Pace {
            at_once: 5,
            each: Duration::from_secs(10),
        };
    });
    let begun = link.now;
    for round in 0..ROUNDS {
        if round % 2 == 0 {
            rekey(&mut link, 0);
        } else {
            rekey_child(&mut link, 0);
        }
        link.run_well(Duration::from_secs(1));
    }
    let all = link.events[1]
        .iter()
        .filter(|event| matches!(event, Event::Child(_)))
        .count();
    // A new IKE_SA begins with what was left to the one before.
    let most = 5 + link.now.duration_since(begun).as_secs() as usize / 10;
    let asked = all - 1 + link.successors[1].len();
    assert!((5..=most).contains(&asked), "{asked} of {most}");
    link.run_well(Duration::from_secs(60));
    link.assert_settled();
}

#[test]
fn lifetimes_replace_both_kinds_at_both_ends_for_as_long_as_they_run() {
    let lifetimes = |config: &mut Config| {
        config.timing.child = Some(Lifetime::of(Duration::from_secs(60)));
        config.timing.ike = Some(Lifetime::of(Duration::from_secs(200)));
        // A collision is retried before the lifetime is over.
        config.timing.again = Duration::from_secs(1);
    };
    let mut link = joined(&[HYBRID], 23, lifetimes);
    link.run_well(Duration::from_secs(3600));
    // Pending replacements are completed by then.
    link.run_well(SOON);
    link.assert_settled();
    let made = |event: &&Event| matches!(event, Event::Child(_));
    for end in 0..2 {
        let children = link.events[end].iter().filter(made).count();
        assert!((60..130).contains(&children), "{children}");
        assert!(
            (18..40).contains(&link.successors[end].len()),
            "{}",
            link.successors[end].len()
        );
        assert_eq!(refusals(&link, end), []);
    }
}

#[test]
fn where_both_replace_the_child_sa_at_once_both_keep_the_same_one() {
    let mut winners = [0; 2];
    for seed in 0..40 {
        let names: &[&str] = if seed % 2 == 0 { HYBRID } else { &["x25519"] };
        let mut link = joined(&[names], seed, |_| {});
        rekey_child(&mut link, 0);
        rekey_child(&mut link, 1);
        link.run_well(SOON);
        link.assert_settled();
        let made = |event: &&Event| matches!(event, Event::Child(_));
        assert_eq!(
            link.events.each_ref().map(|events| events.iter().filter(made).count()),
            [3, 3]
        );
        // The end whose SA stays deletes the old one, the other its own that is redundant.
        assert_eq!(
            [0, 1].map(|end| link.requests(end, ExchangeType::INFORMATIONAL)),
            [1, 1]
        );
        match link.installed(0)[0].requester {
            Requester::ThisEnd => winners[0] += 1,
            Requester::Peer => winners[1] += 1,
        }
        assert_eq!(refusals(&link, 0).len() + refusals(&link, 1).len(), 0);
    }
    assert!(winners[0] > 5 && winners[1] > 5, "{winners:?}");
}

#[test]
fn where_both_replace_the_ike_sa_at_once_both_keep_the_same_one() {
    let mut winners = [0; 2];
    for seed in 0..40 {
        let mut link = joined(&[HYBRID], seed, |_| {});
        let child = inbound(&link, 0);
        rekey(&mut link, 0);
        rekey(&mut link, 1);
        link.run_well(SOON);
        link.assert_settled();
        assert_eq!(inbound(&link, 0), child);
        assert_eq!(link.successors.each_ref().map(Vec::len), [2, 2]);
        // The requester is its initiator, as its messages show.
        let now = link.now;
        let sent = link.sent.len();
        link.current(0).expect("an IKE_SA").close(now);
        link.run_well(SOON);
        let header = Header::read(&link.sent[sent].1.datagram).expect("a header");
        winners[usize::from(!header.flags.is_from_initiator())] += 1;
    }
    assert!(winners[0] > 5 && winners[1] > 5, "{winners:?}");
}

#[test]
fn where_one_replaces_the_ike_sa_and_the_other_the_child_sa_both_are_replaced_in_the_end() {
    for ike in 0..2 {
        let mut link = joined(&[HYBRID], 24, |_| {});
        let (spis, child) = (link.initiator.spis(), inbound(&link, 0));
        rekey(&mut link, ike);
        rekey_child(&mut link, 1 - ike);
        link.run_well(Duration::from_secs(120));
        link.assert_settled();
        // Each is asked by the other to wait, and tries again.
        let asked = [0, 1].map(|end| link.requests(end, ExchangeType::CREATE_CHILD_SA));
        assert_eq!(asked, [2, 2]);
        assert_ne!(link.open(0).spis(), spis);
        assert_ne!(inbound(&link, 0), child);
        assert_eq!(refusals(&link, 0).len() + refusals(&link, 1).len(), 0);
    }
}

#[test]
fn an_attempt_of_the_peer_that_is_redundant_is_not_waited_for() {
    // strongSwan does not complete one: its IKE_FOLLOWUP_KE never comes.
    let mut done = 0;
    for seed in 0..20 {
        let mut link = joined(&[HYBRID], seed, |_| {});
        let old = inbound(&link, 0);
        rekey_child(&mut link, 0);
        rekey_child(&mut link, 1);
        link.run(SOON, &mut |from, datagram| {
            let header = Header::read(datagram).expect("a header");
            let is_lost = from == 1 && header.exchange == ExchangeType::IKE_FOLLOWUP_KE && !header.flags.is_response();
            if is_lost {
                Vec::new()
            } else {
                vec![(DELAY, datagram.to_vec())]
            }
        });
        let installed = link.installed(0);
        done += usize::from(installed.len() == 1 && installed[0].inbound.0 != old);
    }
    assert!((4..17).contains(&done), "{done}");
}

/// Holds the first CREATE_CHILD_SA of an end back for so long; everything else arrives.
fn held_back(end: usize, time: Duration) -> impl FnMut(usize, &[u8]) -> Fate {
    let mut held = None;
    move |from, datagram| {
        let header = Header::read(datagram).expect("a header");
        let is_held = from == end
            && header.exchange == ExchangeType::CREATE_CHILD_SA
            && !header.flags.is_response()
            && *held.get_or_insert(header.message_id) == header.message_id;
        vec![(if is_held { time } else { DELAY }, datagram.to_vec())]
    }
}

#[test]
fn a_rekey_that_arrives_once_the_peer_has_completed_its_own_is_forgotten() {
    // RFC 7296, section 2.8.1, second sequence, and 2.8.2.
    for (is_ike, seed) in [(false, 25), (true, 26)] {
        let mut link = joined(&[HYBRID], seed, |_| {});
        let (spis, child) = (link.initiator.spis(), inbound(&link, 0));
        for end in 0..2 {
            if is_ike {
                rekey(&mut link, end);
            } else {
                rekey_child(&mut link, end);
            }
        }
        link.run(SOON, &mut held_back(0, Duration::from_millis(300)));
        link.run_well(Duration::from_secs(120));
        link.assert_settled();
        assert_eq!(link.open(0).spis() != spis, is_ike);
        assert_eq!(inbound(&link, 0) != child, !is_ike);
        // The peer's alone, and that is all.
        let made = |event: &&Event| matches!(event, Event::Child(_));
        let children = link.events[0].iter().filter(made).count();
        assert_eq!(
            (children, link.successors[0].len()),
            if is_ike { (1, 1) } else { (2, 0) }
        );
        assert_eq!(refusals(&link, 0), []);
        assert_eq!(link.requests(0, ExchangeType::CREATE_CHILD_SA), 1);
    }
}

#[test]
fn a_peer_that_wants_another_method_gets_it_and_one_that_wants_none_of_these_refuses() {
    let authority = Authority::new(Algorithm::Ed25519);
    for (theirs, refused) in [(&["ecp384", "mlkem768"], false), (&["x25519", "mlkem1024"], true)] {
        let [mut one, mut other] = [0, 1].map(|who| config(who, &authority, &[HYBRID]));
        one.child.proposals = vec![esp(HYBRID), esp(&["ecp384", "mlkem768"])];
        one.timing.child = Some(Lifetime {
            rekey: Duration::from_secs(60),
            expire: Duration::from_secs(150),
        });
        other.child.proposals = vec![esp(theirs)];
        let mut link = Link::new(one, other, 27);
        link.run_well(SOON);
        let first = inbound(&link, 0);
        link.run_well(Duration::from_secs(60));
        if refused {
            // It is tried again, and what is in use stays so until its time is over.
            assert_eq!(inbound(&link, 0), first);
            link.run_well(Duration::from_secs(50));
            let refusals = refusals(&link, 0);
            assert!(refusals.len() > 1, "{refusals:?}");
            assert!(
                refusals
                    .iter()
                    .all(|refusal| *refusal == (true, NotifyType::NO_PROPOSAL_CHOSEN))
            );
            link.run_well(Duration::from_secs(60));
            for end in 0..2 {
                assert_eq!(link.installed(end).len(), 0);
                assert_eq!(link.open(end).sending(), None);
            }
        } else {
            link.assert_settled();
            assert_ne!(inbound(&link, 0), first);
            assert_eq!(link.requests(0, ExchangeType::CREATE_CHILD_SA), 2);
        }
    }
}

#[test]
fn either_end_deletes_the_child_sa_and_either_makes_another() {
    for (deletes, makes) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let mut link = joined(&[HYBRID], 28, |_| {});
        let (now, spi) = (link.now, inbound(&link, deletes));
        link.current(deletes).expect("an IKE_SA").delete_child(now, spi);
        link.run_well(SOON);
        for end in 0..2 {
            assert_eq!(link.installed(end).len(), 0);
            assert_eq!(link.open(end).sending(), None);
        }
        let now = link.now;
        link.current(makes).expect("an IKE_SA").make_child(now, 0);
        link.run_well(SOON);
        link.assert_settled();
        assert_eq!(link.installed(makes)[0].replaces, None);
        // Another next to it is made by neither.
        let now = link.now;
        link.current(1 - makes).expect("an IKE_SA").make_child(now, 0);
        link.run_well(SOON);
        link.assert_settled();
    }
    // Both at once.
    let mut link = joined(&[HYBRID], 29, |_| {});
    let now = link.now;
    for end in 0..2 {
        let spi = inbound(&link, end);
        link.current(end).expect("an IKE_SA").delete_child(now, spi);
    }
    link.run_well(SOON);
    assert_eq!([0, 1].map(|end| link.installed(end).len()), [0, 0]);
    assert_eq!(link.open(0).spis(), link.open(1).spis());
}

#[test]
fn a_child_sa_that_is_deleted_before_the_end_that_asked_for_it_knows_is_gone_at_both() {
    let mut link = joined(&[HYBRID], 38, |_| {});
    rekey_child(&mut link, 0);
    // The last answer is late; by then the peer has deleted both what is replaced and what replaces it.
    let mut late = |from: usize, datagram: &[u8]| {
        let header = Header::read(datagram).expect("a header");
        let is_last = from == 1 && header.exchange == ExchangeType::IKE_FOLLOWUP_KE;
        vec![(if is_last { DELAY * 20 } else { DELAY }, datagram.to_vec())]
    };
    link.run(DELAY * 4, &mut late);
    assert_eq!(link.installed(1).len(), 2);
    for spi in [0, 1].map(|place| link.installed(1)[place].inbound.0) {
        let now = link.now;
        link.current(1).expect("an IKE_SA").delete_child(now, spi);
    }
    link.run(SOON, &mut late);
    assert_eq!([0, 1].map(|end| link.installed(end).len()), [0, 0]);
    assert_eq!([0, 1].map(|end| link.open(end).children().count()), [0, 0]);
}

#[test]
fn a_child_sa_that_the_peer_replaces_before_the_end_that_asked_for_it_knows_stays() {
    let mut link = joined(&[&["x25519"]], 39, |_| {});
    rekey_child(&mut link, 0);
    let mut late = |from: usize, datagram: &[u8]| {
        let header = Header::read(datagram).expect("a header");
        let is_answer = from == 1 && header.exchange == ExchangeType::CREATE_CHILD_SA && header.flags.is_response();
        vec![(if is_answer { DELAY * 20 } else { DELAY }, datagram.to_vec())]
    };
    link.run(DELAY * 2, &mut late);
    let (now, spi) = (link.now, link.installed(1)[1].inbound.0);
    link.current(1).expect("an IKE_SA").rekey_child(now, spi);
    link.run(SOON, &mut late);
    // It is busy, and the peer tries again later.
    assert_eq!((inbound(&link, 1), refusals(&link, 1)), (spi, vec![]));
    link.assert_settled();
    link.run_well(Duration::from_secs(30));
    link.assert_settled();
    assert_ne!(inbound(&link, 1), spi);
}

#[test]
fn an_ike_sa_that_is_not_replaced_in_time_is_deleted() {
    let short = |config: &mut Config| {
        let (rekey, expire) = (Duration::from_secs(1000), Duration::from_secs(100));
        config.timing.ike = Some(Lifetime { rekey, expire });
    };
    let [mut one, other] = both(Algorithm::Ed25519, &[HYBRID]);
    short(&mut one);
    let mut link = Link::new(one, other, 30);
    link.run_well(Duration::from_secs(99));
    link.assert_settled();
    link.run_well(SOON);
    assert_eq!(
        (link.closed(0), link.closed(1)),
        (Some(&Failure::Expired), Some(&Failure::Deleted))
    );
}

/// It was deleted with the one that it had replaced.
#[test]
fn an_ike_sa_that_is_replaced_after_its_time_is_deleted_alone() {
    let [mut one, other] = both(Algorithm::Ed25519, &[HYBRID]);
    let (rekey, expire) = (Duration::from_secs(100), Duration::from_secs(110));
    one.timing.ike = Some(Lifetime { rekey, expire });
    let mut link = Link::new(one, other, 34);
    // The request is on its way when the time is over, and no other one of this end follows.
    link.run(Duration::from_secs(170), &mut held_back(0, Duration::from_secs(25)));
    link.assert_settled();
    assert_eq!(link.closed(0), Some(&Failure::Replaced));
    assert_ne!(link.open(0).spis(), link.initiator.spis());
}

#[test]
fn a_silent_peer_that_answers_stays_and_is_asked_as_often_as_the_timing_says() {
    let mut link = joined(&[HYBRID], 31, |_| {});
    link.run_well(Duration::from_secs(600));
    link.assert_settled();
    let asked: usize = [0, 1]
        .map(|end| link.requests(end, ExchangeType::INFORMATIONAL))
        .iter()
        .sum();
    // Each that is asked has heard of the other, too.
    assert!((19..=40).contains(&asked), "{asked}");
}

#[test]
fn closing_while_an_sa_is_being_replaced_ends_everything_at_both_ends() {
    for (end, closes) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        for is_ike in [false, true] {
            for delays in 0..8 {
                let mut link = joined(&[HYBRID], 32, |_| {});
                if is_ike {
                    rekey(&mut link, end);
                } else {
                    rekey_child(&mut link, end);
                }
                link.run_well(DELAY * delays + DELAY / 2);
                let now = link.now;
                if let Some(sa) = link.current(closes) {
                    sa.close(now);
                }
                link.run_well(Duration::from_secs(300));
                let mut open = link.sas(0).chain(link.sas(1)).filter(|sa| !sa.is_closed());
                assert!(open.next().is_none(), "{:?}", link.events);
            }
        }
    }
}

#[test]
fn a_follow_up_of_what_is_not_known_is_answered_with_state_not_found() {
    // The peer forgets what was not completed in time: the first IKE_FOLLOWUP_KE is held back for longer.
    let mut link = joined(&[HYBRID], 33, |config| {
        config.timing.half_open = Duration::from_secs(3);
        config.timing.again = Duration::from_secs(20);
    });
    let child = inbound(&link, 0);
    rekey_child(&mut link, 0);
    let start = link.now;
    let mut lost = 0;
    link.run(SOON, &mut |from, datagram| {
        let header = Header::read(datagram).expect("a header");
        if from == 0 && header.exchange == ExchangeType::IKE_FOLLOWUP_KE {
            lost += 1;
            return Vec::new();
        }
        vec![(DELAY, datagram.to_vec())]
    });
    assert!(lost > 1);
    link.run_well(SOON);
    // No replacement, no end, and no final refusal.
    link.assert_settled();
    assert_eq!((inbound(&link, 0), refusals(&link, 0)), (child, vec![]));
    link.run_well(Duration::from_secs(60));
    link.assert_settled();
    assert_ne!(inbound(&link, 0), child);
    assert!(link.now > start);
}

#[test]
fn a_rekey_may_not_leave_out_the_post_quantum_exchange_that_the_other_end_asks_for() {
    let authority = Authority::new(Algorithm::Ed25519);
    let [mut one, mut other] = [0, 1].map(|who| config(who, &authority, &[HYBRID]));
    one.child.proposals = vec![esp(&["x25519"])];
    other.child.proposals = vec![esp(HYBRID)];
    let mut link = Link::new(one, other, 34);
    link.run_well(SOON);
    for end in 0..2 {
        rekey_child(&mut link, end);
        link.run_well(SOON);
        assert_eq!(refusals(&link, end), [(true, NotifyType::NO_PROPOSAL_CHOSEN)]);
    }
    link.assert_settled();
    // One that offers to do without is taken at its word.
    let [mut one, mut other] = [0, 1].map(|who| config(who, &authority, &[HYBRID]));
    one.child.proposals = vec![esp(&["x25519"])];
    let mut optional = esp(HYBRID);
    let none = transform(6, "mlkem768", None);
    optional.push(bartizan_wire::ike::Transform { id: 0, ..none });
    other.child.proposals = vec![optional];
    let mut link = Link::new(one, other, 35);
    link.run_well(SOON);
    let child = inbound(&link, 0);
    rekey_child(&mut link, 0);
    link.run_well(SOON);
    link.assert_settled();
    assert_ne!(inbound(&link, 0), child);
    assert_eq!(link.requests(0, ExchangeType::IKE_FOLLOWUP_KE), 0);
}
