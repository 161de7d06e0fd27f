//! The run: one event after the other, until the time is over.

use super::calendar::{Calendar, Event, Happening};
use super::gateway::{Cores, Gateway, Link};
use super::outcome::{self, Counters, Outcome};
use super::procedure::{Exchange, ProcedureKind};
use super::rng::Rng;
use super::scenario::{SECOND, Scenario, ScenarioError, StormKind, Variation};
use super::site::{Concerned, DUTIES, NEVER, Request, Site};

/// Length of the pieces of a run over which the peak is taken, in nanoseconds.
const PIECE: u64 = 10 * SECOND;
/// Events between two looks at whether to go on.
const LOOK: u64 = 1 << 16;
/// Millionths of a whole.
const MILLION: u64 = 1_000_000;

/// Progress of a run.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Time of the network so far, in nanoseconds.
    pub now_ns: u64,
    /// Time of the network in all, in nanoseconds.
    pub horizon_ns: u64,
}

/// Decision to stop a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// It does.
    No,
    /// It ends with [`ScenarioError::Interrupted`].
    Yes,
}

/// Simulates a scenario with the chance of a seed.
///
/// # Errors
/// The errors of [`Scenario::check`], and [`ScenarioError::Interrupted`].
pub fn run(scenario: &Scenario, seed: u64, watch: &mut dyn FnMut(Progress) -> Stop) -> Result<Outcome, ScenarioError> {
    scenario.check()?;
    let mut run = Run::new(scenario, seed);
    while let Some((now, event)) = run.calendar.next() {
        if now > scenario.horizon_ns {
            break;
        }
        run.happens(now, event);
        run.counters.events += 1;
        if run.counters.events.is_multiple_of(LOOK) {
            let progress = Progress {
                now_ns: now,
                horizon_ns: scenario.horizon_ns,
            };
            if watch(progress) == Stop::Yes {
                return Err(ScenarioError::Interrupted);
            }
        }
    }
    Ok(run.outcome())
}

struct Run<'a> {
    scenario: &'a Scenario,
    chance: Rng,
    loss: f64,
    calendar: Calendar,
    sites: Vec<Site>,
    gateways: Vec<Gateway>,
    /// Cores that all sites share, if they do.
    shared: Option<Cores>,
    counters: Counters,
    concerned: u64,
    done: Vec<u64>,
}

impl<'a> Run<'a> {
    fn new(scenario: &'a Scenario, seed: u64) -> Self {
        let network = &scenario.network;
        // Places of the sites and their start times do not depend on the rest of the run, so that
        // plans are compared on the same network.
        let mut places = Rng::seeded(seed, 1);
        // All below their bounds, which `check` held.
        let sites = network.sites as usize;
        let pieces = (scenario.horizon_ns / PIECE + 1) as usize;
        let gateway = Gateway::new(network.cores as u32, network.gateway_rate, pieces);
        let mut run = Self {
            scenario,
            chance: Rng::seeded(seed, 2),
            loss: network.loss_ppm as f64 / MILLION as f64,
            calendar: Calendar::default(),
            sites: Vec::with_capacity(sites),
            gateways: vec![gateway; network.gateways as usize],
            shared: (network.site_cores > 0).then(|| Cores::new(network.site_cores as u32)),
            counters: Counters::default(),
            concerned: 0,
            done: Vec::new(),
        };
        let share = if scenario.storm.kind == StormKind::None {
            0
        } else {
            scenario.storm.share_ppm
        };
        let concerned = (u128::from(network.sites) * u128::from(share) / u128::from(MILLION)) as u64;
        run.concerned = concerned;
        let mut left = concerned;
        for number in 0..network.sites {
            // As many as are asked for, each site as likely as any other (Knuth, algorithm S).
            let is_concerned = places.share() * ((network.sites - number) as f64) < left as f64;
            left -= u64::from(is_concerned);
            let site = run.site(number, is_concerned, &mut places);
            run.sites.push(site);
        }
        for index in 0..run.sites.len() {
            let at = run.next_of(index, 0);
            run.wait(index, at);
        }
        run
    }

    fn site(&self, number: u64, is_concerned: bool, places: &mut Rng) -> Site {
        let (network, storm) = (&self.scenario.network, &self.scenario.storm);
        let begins = places.between(0, storm.window_ns);
        let half_trip = places.between(network.round_trip_from_ns, network.round_trip_to_ns) / 2;
        let mut due = [NEVER; DUTIES.len()];
        for (due, duty) in due.iter_mut().zip(DUTIES) {
            let period = self.period(duty);
            *due = match (period, duty) {
                (0, _) => NEVER,
                (_, ProcedureKind::SetUp) => places.exponential(period),
                _ => places.between(0, period),
            };
        }
        let concerned = match (storm.kind, is_concerned) {
            (StormKind::Reattach, true) => Concerned::SetUp,
            (StormKind::Rollover | StormKind::Revocation, true) => Concerned::RenewAndSetUp,
            (StormKind::Revocation, false) => Concerned::Fetch,
            _ => Concerned::No,
        };
        let is_cut_off = is_concerned && storm.kind != StormKind::Rollover;
        Site {
            // Below the bound of gateways.
            gateway: (number % network.gateways) as u32,
            half_trip,
            up: !is_cut_off,
            doing: None,
            exchange: 0,
            tries: 0,
            cookie: false,
            serial: 0,
            request_missing: 0,
            answer_missing: 0,
            request: Request::Sent,
            attempt: 0,
            completed: 0,
            held: 0,
            expired: 0,
            failures: 0,
            concerned,
            due,
            begins,
        }
    }

    /// From one duty to the next, in nanoseconds; 0 is never.
    fn period(&self, duty: ProcedureKind) -> u64 {
        let steady = &self.scenario.steady;
        match duty {
            ProcedureKind::DeadPeer => steady.dead_peer_ns,
            ProcedureKind::RekeyChild => steady.rekey_child_ns,
            ProcedureKind::RekeyIke => steady.rekey_ike_ns,
            ProcedureKind::FetchList => steady.fetch_list_ns,
            ProcedureKind::Renew => steady.renew_ns,
            ProcedureKind::SetUp | ProcedureKind::Resume => steady.reconnect_ns,
        }
    }

    /// Time of the next action of an idle site, not before `from`.
    fn next_of(&self, index: usize, from: u64) -> u64 {
        let site = &self.sites[index];
        let asked = if site.concerned == Concerned::No {
            NEVER
        } else {
            site.begins
        };
        let due = if site.up { site.next_duty().1 } else { NEVER };
        let down = if site.up || site.concerned != Concerned::No {
            NEVER
        } else {
            from
        };
        asked.min(due).min(down).max(from)
    }

    /// Nothing until then.
    fn wait(&mut self, index: usize, at: u64) {
        let site = &mut self.sites[index];
        site.doing = None;
        site.serial = site.serial.wrapping_add(1);
        let serial = site.serial;
        if at != NEVER {
            self.enter(at, Happening::Act, index, serial, 0);
        }
    }

    fn enter(&mut self, at: u64, what: Happening, index: usize, serial: u32, tries: u8) {
        // Sites are fewer than a million.
        let site = index as u32;
        let event = Event {
            what,
            site,
            serial,
            tries,
        };
        self.calendar.enter(at, event);
    }

    fn happens(&mut self, now: u64, event: Event) {
        let index = event.site as usize;
        if event.what == Happening::Expire {
            return self.expire(index, event.serial);
        }
        if event.serial != self.sites[index].serial {
            return;
        }
        match event.what {
            Happening::Act => self.act(index, now),
            Happening::Arrive => self.arrive(index, now),
            Happening::Finished => self.finished(index, now),
            Happening::Answered => self.answered(index, now),
            Happening::Cookie => {
                let site = &mut self.sites[index];
                site.cookie = true;
                self.exchange(index, now);
            }
            Happening::Timeout => self.timeout(index, now, event.tries),
            Happening::Expire => {}
        }
    }

    /// The site does what is due.
    fn act(&mut self, index: usize, now: u64) {
        let scenario = self.scenario;
        let site = &self.sites[index];
        let is_asked = site.concerned != Concerned::No && now >= site.begins;
        // A session is gone with the first attempt to resume it, and with the certificate it was made with.
        let may_resume = scenario.resumes && site.failures == 0 && scenario.storm.kind == StormKind::Reattach;
        let set_up = if may_resume {
            ProcedureKind::Resume
        } else {
            ProcedureKind::SetUp
        };
        let kind = match (is_asked, site.concerned, site.up) {
            (true, Concerned::SetUp, _) | (false, _, false) | (true, Concerned::No, false) => set_up,
            (true, Concerned::RenewAndSetUp, _) => ProcedureKind::Renew,
            (true, Concerned::Fetch, _) => ProcedureKind::FetchList,
            (_, _, true) => {
                let (duty, due) = site.next_duty();
                if due > now {
                    let next = self.next_of(index, now);
                    return self.wait(index, next);
                }
                match DUTIES[duty] {
                    ProcedureKind::SetUp => {
                        self.sites[index].up = false;
                        if scenario.resumes {
                            ProcedureKind::Resume
                        } else {
                            ProcedureKind::SetUp
                        }
                    }
                    duty => duty,
                }
            }
        };
        self.begin(index, now, kind);
    }

    fn begin(&mut self, index: usize, now: u64, kind: ProcedureKind) {
        let site = &mut self.sites[index];
        site.doing = Some(kind);
        site.exchange = 0;
        site.cookie = false;
        if is_set_up(kind) {
            site.attempt += 1;
            self.counters.attempts += 1;
        }
        self.exchange(index, now);
    }

    /// The exchange that a site is at; `None` while it does nothing.
    fn under_way(&self, index: usize) -> Option<(ProcedureKind, &'a Exchange)> {
        let site = &self.sites[index];
        let kind = site.doing?;
        let exchanges = &self.scenario.procedures.of(kind).exchanges;
        Some((kind, exchanges.get(usize::from(site.exchange))?))
    }

    /// The site makes the request of an exchange and sends it.
    fn exchange(&mut self, index: usize, now: u64) {
        let Some((_, exchange)) = self.under_way(index) else {
            return;
        };
        let site = &mut self.sites[index];
        site.serial = site.serial.wrapping_add(1);
        site.tries = 0;
        site.request_missing = exchange.request.packets;
        site.answer_missing = exchange.answer.packets;
        site.request = Request::Sent;
        let ready = self.worked(now, exchange.site_ns);
        self.send(index, ready);
    }

    /// Time at which a site's processor is done with its work.
    fn worked(&mut self, now: u64, needed: u64) -> u64 {
        match &mut self.shared {
            Some(cores) => cores.take(now, needed),
            None => now + needed,
        }
    }

    /// Sends a request, for the first time or again, and waits for its answer.
    fn send(&mut self, index: usize, at: u64) {
        let Some((_, exchange)) = self.under_way(index) else {
            return;
        };
        let site = &mut self.sites[index];
        let mut bytes = exchange.request.bytes;
        if site.cookie && site.exchange == 0 {
            // At most 1500.
            bytes += self.scenario.admission.cookie_request_bytes as u32;
        }
        self.counters.bytes_up += u64::from(bytes);
        self.counters.packets += u64::from(exchange.request.packets);
        let arrives = passes(
            &mut self.chance,
            self.loss,
            &mut site.request_missing,
            exchange.request.packets,
            exchange.keeps,
            &mut self.counters.lost_packets,
        );
        let (serial, tries) = (site.serial, site.tries);
        let way = Link::time(bytes, self.scenario.network.site_rate) + site.half_trip;
        let again = &self.scenario.retransmission;
        let wait = again.wait(u64::from(tries));
        let shorter = self.chance.between(0, wait / 100 * again.jitter_percent + 1).min(wait);
        if arrives {
            self.enter(at + way, Happening::Arrive, index, serial, tries);
        }
        self.enter(at + (wait - shorter).max(1), Happening::Timeout, index, serial, tries);
    }

    /// A request has arrived at the gateway.
    fn arrive(&mut self, index: usize, now: u64) {
        let scenario = self.scenario;
        let Some((kind, exchange)) = self.under_way(index) else {
            return;
        };
        let site = &mut self.sites[index];
        let gateway = &mut self.gateways[site.gateway as usize];
        let piece = (now / PIECE) as usize;
        if let Some(load) = gateway.load.get_mut(piece) {
            *load += u64::from(exchange.request.bytes);
        }
        let ready = gateway.up.send(now, exchange.request.bytes);
        match site.request {
            Request::Taken => {
                self.counters.ignored += 1;
                return;
            }
            Request::Answered => return self.answer(index, ready),
            Request::Sent => {}
        }
        let serial = site.serial;
        if is_set_up(kind) {
            if site.exchange == 0 {
                let is_full = |limit: Option<u64>, held: u64| limit.is_some_and(|limit| held >= limit);
                if !site.cookie && is_full(scenario.admission.cookies_from, u64::from(gateway.half_open)) {
                    self.counters.cookies += 1;
                    // At most 1500.
                    let bytes = scenario.admission.cookie_answer_bytes as u32;
                    let left = gateway.down.send(ready, bytes);
                    self.counters.bytes_down += u64::from(bytes);
                    self.counters.packets += 1;
                    let at = left + Link::time(bytes, scenario.network.site_rate) + site.half_trip;
                    if self.chance.happens(self.loss) {
                        self.counters.lost_packets += 1;
                    } else {
                        self.enter(at, Happening::Cookie, index, serial, 0);
                    }
                    return;
                }
                if is_full(scenario.admission.queue, gateway.cores.waiting(now) as u64) {
                    self.counters.dropped += 1;
                    return;
                }
                gateway.half_open += 1;
                gateway.most_half_open = gateway.most_half_open.max(gateway.half_open);
                site.held += 1;
                let expires = now + scenario.admission.half_open_ns;
                let attempt = site.attempt;
                self.enter(expires, Happening::Expire, index, attempt, 0);
            } else if site.expired == site.attempt {
                self.counters.ignored += 1;
                return;
            }
        }
        let service = self.service(exchange.gateway_ns);
        let site = &mut self.sites[index];
        site.request = Request::Taken;
        let gateway = &mut self.gateways[site.gateway as usize];
        let done = gateway.cores.take(ready, service);
        if let Some(work) = gateway.work.get_mut(((done - service) / PIECE) as usize) {
            *work += service;
        }
        self.enter(done, Happening::Finished, index, serial, 0);
    }

    fn service(&mut self, measured: u64) -> u64 {
        // Both are bounded: the product is below 2^56.
        let mean = measured * self.scenario.cost_permille / 1000;
        match self.scenario.variation {
            Variation::Constant => mean,
            Variation::Exponential => self.chance.exponential(mean),
        }
    }

    /// A core is done with a request.
    fn finished(&mut self, index: usize, now: u64) {
        let Some((kind, _)) = self.under_way(index) else { return };
        let last = self.scenario.procedures.of(kind).exchanges.len() - 1;
        let site = &mut self.sites[index];
        if is_set_up(kind) && usize::from(site.exchange) == last {
            // With it the gateway closes what the same site left half open (INITIAL_CONTACT; RFC 7296, section 2.4).
            let gateway = &mut self.gateways[site.gateway as usize];
            gateway.half_open -= u32::from(site.held);
            site.held = 0;
            site.completed = site.attempt;
        }
        self.answer(index, now);
    }

    /// The gateway sends its answer, for the first time or again.
    fn answer(&mut self, index: usize, now: u64) {
        let Some((_, exchange)) = self.under_way(index) else {
            return;
        };
        let site = &mut self.sites[index];
        site.request = Request::Answered;
        let bytes = exchange.answer.bytes;
        let gateway = &mut self.gateways[site.gateway as usize];
        let left = gateway.down.send(now, bytes);
        if let Some(load) = gateway.load.get_mut((now / PIECE) as usize) {
            *load += u64::from(bytes);
        }
        self.counters.bytes_down += u64::from(bytes);
        self.counters.packets += u64::from(exchange.answer.packets);
        let arrives = passes(
            &mut self.chance,
            self.loss,
            &mut site.answer_missing,
            exchange.answer.packets,
            exchange.keeps,
            &mut self.counters.lost_packets,
        );
        let serial = site.serial;
        let at = left + Link::time(bytes, self.scenario.network.site_rate) + site.half_trip;
        if arrives {
            self.enter(at, Happening::Answered, index, serial, 0);
        }
    }

    /// The answer has arrived at the site.
    fn answered(&mut self, index: usize, now: u64) {
        let Some((kind, _)) = self.under_way(index) else { return };
        let procedure = self.scenario.procedures.of(kind);
        let site = &mut self.sites[index];
        site.exchange += 1;
        if usize::from(site.exchange) < procedure.exchanges.len() {
            return self.exchange(index, now);
        }
        let ready = self.worked(now, procedure.after_ns);
        self.complete(index, ready, kind);
    }

    fn complete(&mut self, index: usize, now: u64, kind: ProcedureKind) {
        let site = &mut self.sites[index];
        site.failures = 0;
        if is_set_up(kind) {
            self.counters.completed += 1;
            site.up = true;
            if site.concerned == Concerned::SetUp {
                site.concerned = Concerned::No;
                if now <= self.scenario.horizon_ns {
                    self.done.push(now);
                }
            }
            // Duties of the SA begin with it.
            for duty in [
                ProcedureKind::DeadPeer,
                ProcedureKind::RekeyChild,
                ProcedureKind::RekeyIke,
                ProcedureKind::SetUp,
            ] {
                self.again(index, now, duty);
            }
        } else {
            self.counters.duties += 1;
            self.again(index, now, kind);
            let site = &mut self.sites[index];
            if kind == ProcedureKind::FetchList && site.concerned == Concerned::Fetch {
                site.concerned = Concerned::No;
            }
            if kind == ProcedureKind::Renew {
                if site.concerned == Concerned::RenewAndSetUp {
                    site.concerned = Concerned::SetUp;
                }
                // The new certificate is shown in a new authentication, before the old SA goes.
                return self.begin(index, now, ProcedureKind::SetUp);
            }
        }
        let next = self.next_of(index, now);
        self.wait(index, next);
    }

    /// Schedules the next time of a duty.
    fn again(&mut self, index: usize, now: u64, duty: ProcedureKind) {
        let period = self.period(duty);
        let next = match (period, duty) {
            (0, _) => NEVER,
            (_, ProcedureKind::SetUp) => now + self.chance.exponential(period),
            // Ends that rekey at the same moment would meet: strongSwan goes up to a tenth earlier.
            (_, ProcedureKind::RekeyChild | ProcedureKind::RekeyIke) => {
                now + period - self.chance.between(0, period / 10)
            }
            _ => now + period,
        };
        if let Some(place) = DUTIES.iter().position(|known| *known == duty) {
            self.sites[index].due[place] = next;
        }
    }

    fn timeout(&mut self, index: usize, now: u64, tries: u8) {
        let site = &mut self.sites[index];
        if site.tries != tries || site.doing.is_none() {
            return;
        }
        if u64::from(tries) < self.scenario.retransmission.tries {
            site.tries += 1;
            self.counters.retransmissions += 1;
            return self.send(index, now);
        }
        self.fail(index, now);
    }

    /// No answer after the last sending.
    fn fail(&mut self, index: usize, now: u64) {
        let Some((kind, _)) = self.under_way(index) else { return };
        let site = &mut self.sites[index];
        if matches!(
            kind,
            ProcedureKind::DeadPeer | ProcedureKind::RekeyChild | ProcedureKind::RekeyIke
        ) {
            self.counters.lost_peers += 1;
            site.up = false;
            return self.wait(index, now);
        }
        self.counters.failed += u64::from(is_set_up(kind));
        let retry = &self.scenario.retry;
        // Doubled 40 times the shortest pause is beyond the longest.
        let pause = retry
            .first_ns
            .saturating_mul(1_u64 << site.failures.min(40))
            .min(retry.longest_ns);
        site.failures = site.failures.saturating_add(1);
        let shorter = self
            .chance
            .between(0, pause / 100 * retry.jitter_percent + 1)
            .min(pause);
        self.wait(index, now + pause - shorter);
    }

    /// The gateway forgets a half-open set-up.
    fn expire(&mut self, index: usize, attempt: u32) {
        let site = &mut self.sites[index];
        if attempt <= site.completed {
            return;
        }
        self.counters.expired += 1;
        site.held -= 1;
        site.expired = site.expired.max(attempt);
        self.gateways[site.gateway as usize].half_open -= 1;
    }

    fn outcome(mut self) -> Outcome {
        let scenario = self.scenario;
        let horizon = scenario.horizon_ns;
        let under_way = self.sites.iter().filter(|site| site.doing.is_some_and(is_set_up));
        self.counters.under_way = under_way.count() as u64;
        let cores = scenario.network.cores;
        let share = |work: u64, time: u64| {
            let whole = u128::from(time) * u128::from(cores);
            u64::try_from(u128::from(work) * u128::from(MILLION) / whole.max(1)).unwrap_or(u64::MAX)
        };
        // The last piece may be cut off.
        let length = |piece: usize| PIECE.min(horizon.saturating_sub(piece as u64 * PIECE)).max(SECOND);
        let pieces = |gateway: &Gateway| {
            let within = (horizon.div_ceil(PIECE) as usize).min(gateway.work.len());
            (0..within)
                .map(|piece| {
                    (
                        share(gateway.work[piece], length(piece)),
                        gateway.load[piece] * SECOND / length(piece),
                    )
                })
                .collect::<Vec<_>>()
        };
        let (mut peak, mut rate, mut busiest) = (0, 0, 0);
        for gateway in &self.gateways {
            for (work, load) in pieces(gateway) {
                peak = peak.max(work);
                rate = rate.max(load);
            }
            busiest = busiest.max(share(gateway.work.iter().sum(), horizon));
            self.counters.gateway_ns += gateway.cores.busy;
            self.counters.served += gateway.cores.served;
            let waited = u64::try_from(gateway.cores.waited).unwrap_or(u64::MAX);
            self.counters.waited_ns = self.counters.waited_ns.saturating_add(waited);
        }
        Outcome {
            concerned: self.concerned,
            done: self.done.len() as u64,
            reached_ns: outcome::reached(self.done, self.concerned),
            up: self.sites.iter().filter(|site| site.up).count() as u64,
            counters: self.counters,
            longest_queue: self
                .gateways
                .iter()
                .map(|gateway| u64::from(gateway.cores.longest))
                .max()
                .unwrap_or(0),
            most_half_open: self
                .gateways
                .iter()
                .map(|gateway| u64::from(gateway.most_half_open))
                .max()
                .unwrap_or(0),
            busiest_ppm: busiest,
            peak_ppm: peak,
            peak_bytes_per_second: rate,
        }
    }
}

const fn is_set_up(kind: ProcedureKind) -> bool {
    matches!(kind, ProcedureKind::SetUp | ProcedureKind::Resume)
}

/// True if a message is complete at its end after this sending; `missing` counts its packets that
/// were not there yet.
fn passes(chance: &mut Rng, loss: f64, missing: &mut u16, packets: u16, keeps: bool, lost: &mut u64) -> bool {
    // If the message is complete already, one packet has to arrive, so that its end sees the
    // retransmission.
    let needed = match (*missing, keeps) {
        (0, _) => 1,
        (missing, true) => missing,
        (_, false) => packets,
    };
    let gone = chance.binomial(needed, loss);
    *lost += u64::from(gone);
    if *missing > 0 && (keeps || gone == 0) {
        *missing = gone;
    }
    gone == 0
}
