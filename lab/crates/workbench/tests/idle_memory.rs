//! Memory of an idle flow and of a pair of hosts, by counted allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use bartizan_posture::{Evidence, Ipsec, Ledgers, Links, Network, Part, association_posture, datagrams_posture};
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::IkeSa;
use bartizan_wire::sctp::Association;
use bartizan_wire::{CaptureReader, Connection, Limits, Observer, Sink};
use bartizan_workbench::captures::{FlowKind, Flows};

/// Counts live bytes as glibc's malloc takes them: with eight of its own, in units of sixteen, 32 at least.
struct Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);

fn taken(layout: Layout) -> usize {
    (layout.size() + 8).next_multiple_of(16).max(32)
}

// SAFETY: every call is the system allocator's, unchanged; only numbers are kept next to it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(taken(layout), Ordering::Relaxed);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(taken(layout), Ordering::Relaxed);
        // SAFETY: as above; the pointer came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Flows whose tables are three quarters full: between the least and the most that a table costs.
const FEW: u32 = 672;
const MANY: u32 = 2 * FEW;

/// Bytes that each takes at most. An IKE_SA also has the nonces of its last packets, 250 bytes for
/// each direction.
fn target(kind: FlowKind) -> usize {
    if kind.name() == "ike" { 2600 } else { 2000 }
}

fn live() -> usize {
    LIVE.load(Ordering::Relaxed)
}

/// Judges what an observer gives, as `bartizan inspect` does.
#[derive(Default)]
struct Judging {
    ledgers: Ledgers,
    links: Links,
    ipsec: Ipsec,
}

impl Sink for Judging {
    fn connection(&mut self, connection: Connection) {
        let posture = Evidence::new(&connection, &self.ledgers).posture();
        self.links.add(&Part::connection(&connection, &posture));
    }

    fn association(&mut self, association: Association) {
        let posture = association_posture(&association);
        self.links.add(&Part::association(&association, &posture));
    }

    fn datagrams(&mut self, datagrams: Datagrams) {
        let posture = datagrams_posture(&datagrams, &Ledgers::default());
        self.links.add(&Part::datagrams(&datagrams, &posture));
    }

    fn ike_sa(&mut self, sa: IkeSa) {
        self.ipsec.add_ike(sa);
    }

    fn esp_sa(&mut self, sa: EspSa) {
        self.ipsec.add_esp(sa);
    }
}

/// Bytes that so many flows of one kind take: while they live, as pairs of hosts, and as links. All
/// are measured by difference to what was there before.
struct Taken {
    living: usize,
    /// Bytes that the observer reports.
    said: usize,
    pairs: usize,
    /// Bytes that the pairs report.
    pairs_said: usize,
    links: usize,
}

fn taken_by(kind: FlowKind, count: u32) -> Taken {
    let mut capture = Vec::new();
    let flows = Flows {
        count,
        kinds: vec![kind],
    };
    flows.write(&mut capture).unwrap();
    let mut judging = Judging::default();
    let before = live();
    let mut observer = Observer::new(Limits::default());
    let mut reader = CaptureReader::new();
    for piece in capture.chunks(1 << 16) {
        reader.push(piece);
        while let Some(packet) = reader.next_packet().unwrap() {
            observer.observe(&packet, &mut judging);
        }
    }
    drop(reader);
    let (living, said) = (live() - before, observer.held());
    observer.finish_into(&mut judging);
    drop(observer);
    let Judging {
        ledgers,
        mut links,
        ipsec,
    } = judging;
    let mut judged = ipsec.judge_ike(&ledgers);
    judged.ike.iter().for_each(|sa| links.add(&Part::ike(sa)));
    judged.judge_esp(&ledgers, |sa| links.add(&Part::esp(&sa)));
    drop(judged);
    let (pairs, pairs_said) = (live() - before, links.held());
    let network: Network = links.finish(None);
    assert_eq!(network.links.len(), count as usize, "{kind:?}");
    Taken {
        living,
        said,
        pairs,
        pairs_said,
        links: live() - before,
    }
}

#[test]
fn an_idle_flow_and_a_pair_of_hosts_take_what_they_may_and_no_more_than_is_counted() {
    let mut missed: Vec<String> = Vec::new();
    for kind in FlowKind::ALL {
        let (few, many) = (taken_by(kind, FEW), taken_by(kind, MANY));
        let each = |of: fn(&Taken) -> usize| (of(&many) - of(&few)) / FEW as usize;
        let living = each(|taken| taken.living);
        let said = each(|taken| taken.said);
        let pair = each(|taken| taken.pairs);
        let pair_said = each(|taken| taken.pairs_said);
        let link = each(|taken| taken.links);
        let name = kind.name();
        println!("{name}: living {living} (counted {said}), pair {pair} (counted {pair_said}), link {link}");
        let wanted = [
            (living <= target(kind), "an idle one takes more than it should"),
            (pair <= target(kind), "a pair of hosts takes more than it should"),
            (
                living <= said + said / 20,
                "a living one is counted with less than it takes",
            ),
            (
                pair.max(link) <= pair_said,
                "a pair of hosts is counted with less than it takes",
            ),
        ];
        missed.extend(
            wanted
                .iter()
                .filter(|(met, _)| !met)
                .map(|(_, what)| format!("{name}: {what}")),
        );
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
