//! Two schedules, two kernels and a cable between them: whatever is cut off, no frame arrives that cannot be opened.

use std::collections::VecDeque;

use bartizan_registry::macsec_suite_named;
use proptest::prelude::*;
use zeroize::Zeroizing;

use super::*;
use crate::derive::SECRET;

const MILLISECOND: Duration = Duration::from_millis(1);

fn suite() -> &'static MacsecSuite {
    macsec_suite_named("GCM-AES-256").unwrap()
}

fn sci(end: usize) -> Sci {
    Sci([end as u8 + 1; 8])
}

/// Keys of a kernel.
#[derive(Debug, Default)]
struct Kernel {
    encoding: Option<An>,
    transmit: BTreeMap<An, Sak>,
    receive: BTreeMap<An, Sak>,
}

#[derive(Debug)]
struct End {
    schedule: Schedule,
    kernel: Kernel,
    /// Orders that are still done before it is killed; none where it is not.
    orders_left: Option<usize>,
}

#[derive(Debug)]
struct Frame {
    arrives: Instant,
    to: usize,
    an: An,
    key: KeyId,
}

/// Both ends, what is under way between them, and the time.
#[derive(Debug)]
struct Link {
    ends: [End; 2],
    now: Instant,
    terms: Terms,
    exchanges: u8,
    connected: bool,
    messages: VecDeque<(Instant, usize, Message)>,
    frames: Vec<Frame>,
    keys_seen: BTreeSet<[u8; 16]>,
    notices: Vec<(usize, Notice)>,
    faults: Vec<Fault>,
    dropped: usize,
    ended: [usize; 2],
    exchange_asked: bool,
}

impl Link {
    fn new(terms: Terms) -> Self {
        Self {
            ends: [0, 1].map(|end| End {
                schedule: schedule(terms, end),
                kernel: Kernel::default(),
                orders_left: None,
            }),
            now: Instant::now(),
            terms,
            exchanges: 0,
            connected: false,
            messages: VecDeque::new(),
            frames: Vec::new(),
            keys_seen: BTreeSet::new(),
            notices: Vec::new(),
            faults: Vec::new(),
            dropped: 0,
            ended: [0; 2],
            exchange_asked: false,
        }
    }

    /// Another exchange; messages of the connection before are lost.
    fn connect(&mut self) {
        self.messages.clear();
        self.exchanges = self.exchanges.wrapping_add(1);
        self.connected = true;
        self.exchange_asked = false;
        let secret = Secret::new(Zeroizing::new([self.exchanges; SECRET]));
        for end in [0, 1] {
            let kernel = &self.ends[end].kernel;
            let installed = Installed {
                encoding: kernel.encoding,
                transmit: kernel.transmit.iter().map(|(&an, sak)| (an, sak.id)).collect(),
                receive: kernel.receive.keys().copied().collect(),
            };
            let orders = self.ends[end]
                .schedule
                .connected(&secret, sci(1 - end), installed, self.now);
            self.follow(end, orders);
            if !self.connected {
                // It was killed meanwhile.
                return;
            }
        }
    }

    fn cut(&mut self) {
        self.connected = false;
        self.messages.clear();
        for end in &mut self.ends {
            end.schedule.lost();
        }
    }

    /// The controller is killed when it has done so many more orders; a successor takes its place at once.
    fn kill_after(&mut self, end: usize, orders: usize) {
        self.ends[end].orders_left = Some(orders);
    }

    fn follow(&mut self, end: usize, orders: Vec<Order>) {
        for order in orders {
            let of_it = &mut self.ends[end];
            match &mut of_it.orders_left {
                Some(0) => {
                    of_it.orders_left = None;
                    of_it.schedule = schedule(self.terms, end);
                    self.cut();
                    return;
                }
                Some(left) => *left -= 1,
                None => {}
            }
            let kernel = &mut self.ends[end].kernel;
            match order {
                Order::Send(message) => self.messages.push_back((self.now + MILLISECOND, 1 - end, message)),
                Order::InstallReceive { an, sak } => drop(kernel.receive.insert(an, sak)),
                Order::RemoveReceive(an) => drop(kernel.receive.remove(&an)),
                Order::InstallTransmit { an, sak } => {
                    assert_ne!(kernel.encoding.filter(|an| kernel.transmit.contains_key(an)), Some(an));
                    kernel.transmit.insert(an, sak);
                }
                Order::TransmitWith(an) => kernel.encoding = Some(an),
                Order::RemoveTransmit(an) => {
                    assert_ne!(kernel.encoding, Some(an), "the key that is sent with is removed");
                    kernel.transmit.remove(&an);
                }
                Order::Supplicant(cak) => panic!("{cak:?} without MKA"),
                Order::Authenticate => panic!("EAP without MKA"),
                Order::Exchange => {
                    assert_eq!(end, 0, "the TLS server begins an exchange");
                    self.exchange_asked = true;
                }
                Order::Drop => {
                    self.dropped += 1;
                    self.cut();
                }
                Order::End => {
                    *kernel = Kernel::default();
                    self.ended[end] += 1;
                }
                Order::Notice(notice) => self.notices.push((end, notice)),
            }
        }
    }

    /// A frame from each end that has a key, which takes so long.
    fn send_frames(&mut self, takes: Duration) {
        for end in [0, 1] {
            let kernel = &self.ends[end].kernel;
            if let Some(an) = kernel.encoding {
                let sak = kernel.transmit.get(&an).expect("what is sent with is installed");
                self.keys_seen.insert(sak.id.0);
                self.frames.push(Frame {
                    arrives: self.now + takes,
                    to: 1 - end,
                    an,
                    key: sak.id,
                });
            }
        }
    }

    /// A millisecond passes.
    fn step(&mut self) {
        self.now += MILLISECOND;
        for frame in self.frames.extract_if(.., |frame| frame.arrives <= self.now) {
            let key = self.ends[frame.to].kernel.receive.get(&frame.an).map(|sak| sak.id);
            // The ends of a link end apart from each other.
            if key.is_none() && self.ended[frame.to] > 0 {
                continue;
            }
            assert_eq!(key, Some(frame.key), "a frame is lost: {frame:?}");
        }
        while self.messages.front().is_some_and(|(at, ..)| *at <= self.now) {
            let Some((_, end, message)) = self.messages.pop_front() else {
                break;
            };
            match self.ends[end].schedule.received(&message, self.now) {
                Ok(orders) => self.follow(end, orders),
                Err(fault) => {
                    self.faults.push(fault);
                    self.cut();
                }
            }
        }
        for end in [0, 1] {
            let orders = self.ends[end].schedule.passed(None, self.now);
            self.follow(end, orders);
        }
    }

    fn run(&mut self, milliseconds: u32) {
        for _ in 0..milliseconds {
            self.send_frames(MILLISECOND * 5);
            self.step();
            if self.exchange_asked && self.connected {
                self.connect();
            }
        }
    }

    fn generations(&self, end: usize) -> Vec<(u64, Cause)> {
        let sends = self.notices.iter().filter_map(|(of, notice)| match notice {
            Notice::Sends { generation, cause, .. } if *of == end => Some((*generation, *cause)),
            _ => None,
        });
        sends.collect()
    }
}

fn schedule(terms: Terms, end: usize) -> Schedule {
    let direction = [Direction::FromClient, Direction::FromServer][end];
    Schedule::new(terms, suite(), direction, sci(end))
}

fn terms(rekey: Duration) -> Terms {
    Terms {
        grace: MILLISECOND * 20,
        patience: MILLISECOND * 100,
        ..Terms::new(rekey, 4)
    }
}

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn both_directions_have_keys_after_an_exchange_and_a_predecessor_s_are_removed() {
    let mut link = Link::new(terms(HOUR));
    link.connect();
    link.run(50);
    for end in [0, 1] {
        assert_eq!(link.generations(end), [(0, Cause::Exchange)]);
        let kernel = &link.ends[end].kernel;
        assert_eq!((kernel.transmit.len(), kernel.receive.len()), (1, 1));
    }
    link.connect();
    link.run(50);
    for end in [0, 1] {
        let kernel = &link.ends[end].kernel;
        assert_eq!((kernel.transmit.len(), kernel.receive.len()), (1, 1));
        assert_eq!(kernel.encoding, Some(An::ALL[1]));
    }
    assert!(link.faults.is_empty());
}

#[test]
fn every_key_is_another_and_every_fourth_is_of_another_exchange() {
    let mut link = Link::new(terms(MILLISECOND * 30));
    link.connect();
    link.run(1000);
    let generations = link.generations(0);
    assert!(generations.len() > 20, "{generations:?}");
    assert!(
        generations.iter().all(|&(generation, _)| generation < 4),
        "{generations:?}"
    );
    assert!(link.exchanges >= 5, "{}", link.exchanges);
    let sent: usize = [0, 1].map(|end| link.generations(end).len()).iter().sum();
    assert!(link.keys_seen.len() + 2 >= sent, "{} of {sent}", link.keys_seen.len());
    assert!(link.faults.is_empty() && link.dropped == 0);
}

/// Times at which each end reported a key that outlived its policy.
fn outlived(link: &Link) -> [usize; 2] {
    [0, 1].map(|end| {
        let of_it = link
            .notices
            .iter()
            .filter(|(of, notice)| *of == end && matches!(notice, Notice::Outlived { .. }));
        of_it.count()
    })
}

#[test]
fn key_that_is_not_replaced_in_time_ends_the_link_at_both_ends_until_another_exchange() {
    let mut link = Link::new(terms(MILLISECOND * 50));
    link.connect();
    link.run(10);
    link.cut();
    link.run(80);
    assert_eq!((link.ended, outlived(&link)), ([0; 2], [0; 2]));
    link.run(20);
    assert_eq!((link.ended, outlived(&link)), ([1; 2], [1; 2]));
    for End { kernel, .. } in &link.ends {
        assert!(kernel.transmit.is_empty() && kernel.receive.is_empty());
    }
    link.run(500);
    assert_eq!(link.ended, [1; 2]);
    link.connect();
    link.run(20);
    assert!(link.ends.iter().all(|end| end.kernel.receive.len() == 1));
}

#[test]
fn keys_of_one_authentication_end_with_it_however_often_they_are_replaced() {
    let terms = terms(MILLISECOND * 50);
    assert_eq!(terms.authentication(), MILLISECOND * 250);
    let mut link = Link::new(terms);
    link.connect();
    // The initiator never begins another exchange, and the connection stands.
    for _ in 0..260 {
        link.send_frames(MILLISECOND);
        link.step();
    }
    assert!(link.ended.iter().all(|&ended| ended >= 1), "{:?}", link.ended);
    assert!(link.generations(1).len() <= 4);
}

#[test]
fn keys_that_a_successor_finds_have_the_rest_of_their_time_where_the_peer_does_not_come() {
    let mut link = Link::new(terms(MILLISECOND * 50));
    link.connect();
    link.run(10);
    link.cut();
    let now = link.now;
    for (end, of_it) in link.ends.iter_mut().enumerate() {
        let before = of_it.schedule.deadline();
        assert!(before > Some(now));
        let ends = Some(now + MILLISECOND * [100, 10][end]);
        of_it.schedule = schedule(link.terms, end);
        of_it.schedule.found(Some(now), ends);
        assert_eq!(of_it.schedule.authentication(), (Some(now), ends));
        assert_eq!((of_it.schedule.deadline(), of_it.schedule.wake()), (ends, ends));
    }
    link.run(99);
    assert_eq!(link.ended, [0, 1]);
    link.run(1);
    assert_eq!(link.ended, [1, 1]);
}

#[test]
fn silent_peer_costs_the_connection_and_not_the_traffic() {
    let mut link = Link::new(terms(HOUR));
    link.connect();
    link.run(50);
    let now = link.now;
    let orders = link.ends[0].schedule.rekey(false, now);
    assert!(
        matches!(orders[..], [Order::Send(Message::Install { .. })]),
        "{orders:?}"
    );
    // It never arrives.
    link.run(150);
    assert_eq!(link.dropped, 1);
    link.connect();
    link.run(50);
    assert_eq!(link.generations(0).len(), 2);
}

#[test]
fn packets_decide_too_and_well_before_they_are_used_up() {
    let terms = Terms::new(HOUR, 4);
    assert!(terms.packets <= 1 << 31 && terms.most_packets(suite()) < u64::from(u32::MAX));
    let mut link = Link::new(terms);
    link.connect();
    link.run(10);
    let orders = link.ends[0].schedule.passed(Some(terms.packets), link.now);
    assert!(
        matches!(orders[..], [Order::Send(Message::Install { generation: 1, .. })]),
        "{orders:?}"
    );
    let orders = link.ends[0].schedule.passed(Some(0xc000_0001), link.now);
    assert!(
        matches!(orders[..], [Order::Notice(Notice::Outlived { .. })]),
        "{orders:?}"
    );
}

/// The key before was removed at the end of its time though the kernel went on to send with it.
#[test]
fn key_stays_where_the_kernel_refused_the_one_after_it() {
    let now = Instant::now();
    let mut one = schedule(terms(HOUR), 0);
    let secret = |octet| Secret::new(Zeroizing::new([octet; SECRET]));
    let install = |one: &mut Schedule, generation| {
        let orders = one.received(&Message::Installed { generation }, now).unwrap();
        match &orders[0] {
            Order::InstallTransmit { an, sak } => (*an, sak.id),
            order => panic!("{order:?}"),
        }
    };
    one.connected(&secret(1), sci(1), Installed::default(), now);
    let (an, key) = install(&mut one, 0);
    one.rekey(false, now);
    install(&mut one, 1);
    one.lost();
    let there = Installed {
        encoding: Some(an),
        transmit: BTreeMap::from([(an, key)]),
        receive: BTreeSet::new(),
    };
    one.connected(&secret(2), sci(1), there, now);
    let orders = one.passed(None, now + MILLISECOND * 30);
    assert!(!orders.contains(&Order::RemoveTransmit(an)), "{orders:?}");
}

#[test]
fn key_of_another_name_and_messages_out_of_turn_end_the_connection() {
    let mut link = Link::new(terms(HOUR));
    link.connect();
    link.run(50);
    let (schedule, now) = (&mut link.ends[1].schedule, link.now);
    let install = Message::install(1, An::ALL[1], KeyId([0; 16]));
    assert_eq!(schedule.received(&install, now), Err(Fault::KeyDiffers));
    for message in [
        Message::install(9, An::ALL[1], KeyId([0; 16])),
        Message::Installed { generation: 7 },
        Message::Using { generation: 7 },
        Message::Renew,
    ] {
        let end = usize::from(message != Message::Renew);
        let refused = link.ends[end].schedule.received(&message, link.now);
        match end {
            1 => assert_eq!(refused, Err(Fault::OutOfTurn), "{message:?}"),
            // Only the TLS client may receive it.
            _ => assert!(matches!(refused.unwrap()[..], [Order::Exchange])),
        }
    }
}

#[derive(Debug, Clone)]
enum Event {
    Rekey(usize, bool),
    BothRekey,
    Kill(usize, usize),
    Cut,
    Connect,
    Wait(u32),
}

fn event() -> impl Strategy<Value = Event> {
    prop_oneof![
        3 => (0..2usize, any::<bool>()).prop_map(|(end, fresh)| Event::Rekey(end, fresh)),
        3 => Just(Event::BothRekey),
        3 => (0..2usize, 0..12usize).prop_map(|(end, orders)| Event::Kill(end, orders)),
        1 => Just(Event::Cut),
        3 => Just(Event::Connect),
        6 => (0..40u32).prop_map(Event::Wait),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn no_frame_is_lost_whatever_rekeys_dies_or_is_cut(events in proptest::collection::vec(event(), 1..60)) {
        let mut link = Link::new(Terms { lifetime: HOUR, ..terms(MILLISECOND * 90) });
        for event in events {
            match event {
                Event::Rekey(end, fresh) => {
                    let orders = link.ends[end].schedule.rekey(fresh, link.now);
                    link.follow(end, orders);
                }
                Event::BothRekey => for end in [0, 1] {
                    let orders = link.ends[end].schedule.rekey(false, link.now);
                    link.follow(end, orders);
                },
                Event::Kill(end, orders) => link.kill_after(end, orders),
                Event::Cut => link.cut(),
                Event::Connect => link.connect(),
                Event::Wait(milliseconds) => link.run(milliseconds),
            }
            link.run(1);
        }
        prop_assert!(link.faults.is_empty(), "{:?}", link.faults);
        // After an exchange both ends have fresh keys, whatever came before.
        for end in &mut link.ends {
            end.orders_left = None;
        }
        link.connect();
        let before = [0, 1].map(|end| link.generations(end).len());
        link.run(60);
        for end in [0, 1] {
            prop_assert!(link.generations(end).len() > before[end], "{:?}", link.notices);
        }
    }
}
