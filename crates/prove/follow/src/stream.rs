//! The packets of one source while they come: what of them has ended, and what lives.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bartizan_deployment::Deployment;
use bartizan_host::{Batch, Side};
use bartizan_inspect::follow::{Handshakes, Recent, View};
use bartizan_inspect::{ByLedgers, Detail, Judging, Recorder, Report, Shares};
use bartizan_keys::{Format, Keyring};
use bartizan_page::cbom::Inventory;
use bartizan_posture::Ledgers;
use bartizan_wire::datagrams::Datagrams;
use bartizan_wire::esp::EspSa;
use bartizan_wire::ike::IkeSa;
use bartizan_wire::link::LinkType;
use bartizan_wire::sctp::Association;
use bartizan_wire::{
    CaptureError, CapturePart, CaptureReader, Connection, FragmentLimits, Holding, Limits, Observer, Omitted, Packet,
    Sink, Timestamp, Totals,
};

use super::keys::Log;
use super::read;
use super::read::Known;
use bartizan_terminal::output::errln;

/// Closed connections that wait for a ledger's word at most, and bytes of each, about; with more the oldest are judged without it.
const WAITING: usize = 100_000;
const CONNECTION: usize = 4 << 10;

/// Context for judging packets.
pub struct Context<'a> {
    /// Records of ledgers.
    pub ledgers: &'a Ledgers,
    /// Keys that open what was encrypted.
    pub keys: &'a Arc<Keyring>,
    /// The inventory to fill in, if one is wanted.
    pub inventory: Option<&'a mut Inventory>,
}

/// Parameters of following a source.
#[derive(Debug, Clone, Copy)]
pub struct Following {
    /// Age limit of packets that a link's state is made from. None if no view is needed before the
    /// end.
    pub window: Option<Duration>,
    /// Time that a closed connection waits for its ledger record; none without a followed ledger.
    pub hold: Option<Duration>,
    /// Time without packets after which state is dropped.
    pub idle: Option<Duration>,
}

/// Packets and bytes of one direction of an interface.
#[derive(Debug, Clone, Copy, Default)]
pub struct Passed {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

bartizan_registry::made! {
    /// One source of packets, judged.
    pub struct Stream,
    /// Nothing read yet. `left` bounds the packets taken.
    pub new(
        name: &Path,
        detail: Detail,
        shares: Shares,
        following: Following,
        left: Option<u64>,
        keys: &Arc<Keyring>,
    ) {
        // Incomplete packets are given up within the window, so that a view still shows them.
        let half = |window: Duration| u64::try_from(window.as_nanos() / 2).unwrap_or(u64::MAX);
        let fragments = FragmentLimits {
            lifetime: shares.limits.fragments.lifetime.min(following.window.map_or(u64::MAX, half)),
            ..shares.limits.fragments
        };
        let limits = Limits { fragments, ..shares.limits };
        /// Its name in reports.
        pub name: String = read::name(name),
        observer: Observer = Observer::new(limits).with_keys(Arc::<Keyring>::clone(keys)),
        report: Report = Report::new(read::name(name), detail, shares),
        following: Following = following,
        recent: Recent = Recent::new(following.window.unwrap_or(Duration::MAX), shares),
        /// Closed connections that wait for a ledger's word, with when they closed, and how many there may be.
        waiting: VecDeque<(Instant, Connection)> = VecDeque::new(),
        waiting_most: usize = WAITING.min(shares.waiting / CONNECTION),
        reader: CaptureReader = CaptureReader::new(),
        /// Packets of the files before the one that is read.
        before: u64 = 0,
        dropped: u64 = 0,
        /// Damage or cut of the capture; bytes behind it are not read.
        damage: Option<CaptureError> = None,
        /// Packets received and sent by the interface.
        pub passed: [Passed; 2] = [Passed::default(); 2],
        /// The time of the newest packet; zero before the first.
        pub newest: Timestamp = Timestamp(0),
        arrived: Instant = Instant::now(),
        /// Packets that may yet be taken.
        left: Option<u64> = left,
    }
}

impl Stream {
    /// The same, which takes handshakes one by one as well.
    pub fn with_handshakes(self) -> Self {
        Self {
            recent: self.recent.with_handshakes(),
            ..self
        }
    }

    /// Packets read so far.
    pub fn packets(&self) -> u64 {
        self.observer.totals().packets
    }

    /// Counts of all that was read.
    pub fn totals(&self) -> &Totals {
        self.observer.totals()
    }

    /// Live state, and its memory.
    pub fn holding(&self) -> Holding {
        self.observer.holding()
    }

    /// Packets lost at the capture.
    pub fn dropped(&self) -> u64 {
        self.dropped + self.reader.dropped_at_capture()
    }

    /// Returns true if all requested packets have come.
    pub fn is_full(&self) -> bool {
        self.left == Some(0)
    }

    /// Returns true if the capture is damaged or cut, which its report says.
    pub fn is_damaged(&self) -> bool {
        self.damage.is_some()
    }

    /// Something to be said in the report.
    pub fn remark(&mut self, remark: String) {
        self.report.remark(remark);
    }

    /// The capture lost so many packets.
    pub fn lost(&mut self, packets: u64) {
        self.dropped += packets;
    }

    /// Takes packets of an interface.
    pub fn batch(&mut self, batch: &Batch, context: &mut Context<'_>) {
        for frame in batch.frames() {
            if self.is_full() {
                return;
            }
            let passed = &mut self.passed[usize::from(frame.side == Side::Outbound)];
            passed.packets += 1;
            passed.bytes += u64::from(frame.length);
            let packet = Packet {
                number: self.packets() + 1,
                // Nanoseconds since 1970 fit until 2554.
                time: Timestamp(u64::try_from(frame.time.as_nanos()).unwrap_or(u64::MAX)),
                link: LinkType(frame.link),
                data: frame.bytes,
                original_length: frame.length,
                interface: 0,
            };
            self.observe(&packet, context);
        }
        self.arrived = Instant::now();
    }

    /// Room for a capture file's next bytes.
    pub fn room(&mut self, length: usize) -> &mut [u8] {
        self.reader.room(length)
    }

    /// So many bytes of a capture file were written into [`room`](Self::room).
    pub fn fill(&mut self, length: usize, context: &mut Context<'_>) -> Result<(), CaptureError> {
        self.reader.fill(length);
        // The reader lends each packet: it is put aside for the loop.
        let mut reader = std::mem::take(&mut self.reader);
        let read = loop {
            match reader.next_part() {
                Ok(Some(CapturePart::Packet(packet))) if !self.is_full() => {
                    let packet = Packet {
                        number: self.before + packet.number,
                        ..packet
                    };
                    self.observe(&packet, context);
                }
                Ok(Some(CapturePart::KeyLog(bytes))) => self.key_log(bytes, context),
                Ok(Some(CapturePart::Packet(_)) | None) => break Ok(()),
                Err(error) => {
                    self.damage = Some(error.clone());
                    break Err(error);
                }
            }
        };
        self.reader = reader;
        self.arrived = Instant::now();
        read
    }

    /// Ends the input, from any writer: half-written records are not read.
    pub fn ended(&mut self) -> Result<(), CaptureError> {
        let ended = self.reader.finish();
        self.damage = ended.clone().err();
        ended
    }

    /// Another file takes the place of the one that was read; says whether its last record was cut. Packets are numbered on.
    pub fn next_file(&mut self) -> bool {
        let reader = std::mem::take(&mut self.reader);
        self.before = self.packets();
        self.dropped += reader.dropped_at_capture();
        matches!(reader.finish(), Err(CaptureError::Cut { .. }))
    }

    /// Secrets that the capture holds itself.
    fn key_log(&mut self, bytes: &[u8], context: &Context<'_>) {
        let mut log = Log::new(context.keys, format!("the secrets in {}", self.name), Format::Tls);
        log.push(bytes);
        if let Err(failure) = log.finish() {
            errln!("warning: {}", &failure.message);
        }
    }

    fn observe(&mut self, packet: &Packet<'_>, context: &mut Context<'_>) {
        self.left = self.left.map(|left| left.saturating_sub(1));
        // Packets that are behind by more than a window are of a clock that was set back: time goes on from there, or nothing that comes would be
        // within the window for as long.
        let window = self
            .following
            .window
            .map(|window| u64::try_from(window.as_nanos()).unwrap_or(u64::MAX));
        let is_back =
            packet.time.0 > 0 && window.is_some_and(|window| packet.time.0.saturating_add(window) < self.newest.0);
        self.newest = if is_back {
            packet.time
        } else {
            self.newest.max(packet.time)
        };
        self.recent.passed(packet.time);
        let hold = self.following.hold.is_some();
        let mut folding = Folding {
            judging: judging(&mut self.report, &mut self.recent, self.following, context),
            waiting: hold.then_some((&mut self.waiting, self.waiting_most)),
        };
        self.observer.observe(packet, &mut folding);
    }

    /// Current time: that of the newest packet, advanced while none comes.
    pub(crate) fn now(&self) -> Timestamp {
        let passed = u64::try_from(self.arrived.elapsed().as_nanos()).unwrap_or(u64::MAX);
        match self.newest {
            Timestamp(0) => Timestamp(0),
            Timestamp(newest) => Timestamp(newest.saturating_add(passed)),
        }
    }

    /// Lets go what has waited, or was quiet, for long enough.
    pub fn age(&mut self, context: &mut Context<'_>) {
        self.observer.give_up_fragments(Some(self.now()));
        if let Some(hold) = self.following.hold {
            while let Some((closed, _)) = self.waiting.front()
                && closed.elapsed() >= hold
                && let Some((_, connection)) = self.waiting.pop_front()
            {
                judging(&mut self.report, &mut self.recent, self.following, context).connection(connection);
            }
        }
        let Some(idle) = self.following.idle else { return };
        let idle = u64::try_from(idle.as_nanos()).unwrap_or(u64::MAX);
        let since = Timestamp(self.now().0.saturating_sub(idle));
        let mut judging = judging(&mut self.report, &mut self.recent, self.following, context);
        self.observer.forget_idle(since, &mut judging);
        judging.finish();
        self.recent.age(self.newest);
    }

    /// Returns a view of the packets within the window and since the last view. The last view does
    /// not wait for later packets.
    pub fn view(&mut self, ledgers: &Ledgers, deployment: Option<&Deployment>, last: bool) -> View {
        if last {
            self.observer.give_up_fragments(None);
        }
        let mut view = self.recent.view(ledgers, self.now(), last);
        self.recent.viewed();
        for (_, connection) in &self.waiting {
            view.connection(connection.clone());
        }
        self.observer.live_into(&mut view);
        view.finish(deployment)
    }

    /// Handshakes that completed since the last time, with those in a view that was made now.
    pub fn handshakes(&mut self, view: &mut View) -> Handshakes {
        let newest = self.packets();
        self.recent.handshakes(view, newest)
    }

    /// Returns the client randoms of connections that are still held.
    pub fn client_randoms(&self) -> std::collections::HashSet<[u8; 32]> {
        let mut randoms = Randoms::default();
        for (_, connection) in &self.waiting {
            randoms.note(connection);
        }
        self.observer.live_into(&mut randoms);
        randoms.0
    }

    /// Everything there was, as a report.
    pub fn finish(mut self, known: Known<'_>, mut inventory: Option<&mut Inventory>) -> Report {
        let mut context = Context {
            ledgers: known.ledgers,
            keys: known.keys,
            inventory: inventory.as_deref_mut(),
        };
        let mut judging = judging(&mut self.report, &mut self.recent, self.following, &mut context);
        for (_, connection) in std::mem::take(&mut self.waiting) {
            judging.connection(connection);
        }
        self.observer.finish_into(&mut judging);
        judging.finish();
        if let Some(inventory) = inventory {
            inventory.end(None, self.observer.totals());
        }
        let dropped = self.dropped();
        let totals = self.observer.totals().clone();
        self.report.finish(
            totals,
            dropped,
            ByLedgers::of(known.ledgers),
            self.damage,
            known.deployment,
        );
        self.report
    }
}

fn judging<'a>(
    report: &'a mut Report,
    recent: &'a mut Recent,
    following: Following,
    context: &'a mut Context<'_>,
) -> Judging<'a> {
    let recorder = context.inventory.as_deref_mut();
    Judging::new(context.ledgers, report)
        .with_recorder(recorder.map(|inventory| inventory as &mut dyn Recorder))
        .with_recent(following.window.map(|_| recent))
}

/// Judges what ends; a connection only once ledgers had time to tell of it.
struct Folding<'a> {
    judging: Judging<'a>,
    /// Those that wait, and how many may.
    waiting: Option<(&'a mut VecDeque<(Instant, Connection)>, usize)>,
}

impl Sink for Folding<'_> {
    fn connection(&mut self, connection: Connection) {
        let Some((waiting, most)) = &mut self.waiting else {
            return self.judging.connection(connection);
        };
        waiting.push_back((Instant::now(), connection));
        if waiting.len() > *most
            && let Some((_, oldest)) = waiting.pop_front()
        {
            self.judging.connection(oldest);
        }
    }

    fn omitted(&mut self, omitted: Omitted) {
        self.judging.omitted(omitted);
    }

    fn association(&mut self, association: Association) {
        self.judging.association(association);
    }

    fn datagrams(&mut self, datagrams: Datagrams) {
        self.judging.datagrams(datagrams);
    }

    fn ike_sa(&mut self, sa: IkeSa) {
        self.judging.ike_sa(sa);
    }

    fn esp_sa(&mut self, sa: EspSa) {
        self.judging.esp_sa(sa);
    }
}

/// Client randoms of connections.
#[derive(Default)]
struct Randoms(std::collections::HashSet<[u8; 32]>);

impl Randoms {
    fn note(&mut self, connection: &Connection) {
        if let bartizan_wire::Content::Tls(tls) = &connection.content
            && let Some(hello) = &tls.client_hello
        {
            self.0.insert(hello.value.random);
        }
    }
}

impl Sink for Randoms {
    fn connection(&mut self, connection: Connection) {
        self.note(&connection);
    }

    fn datagrams(&mut self, datagrams: Datagrams) {
        let hello = datagrams.quic.and_then(|quic| quic.tls.client_hello);
        self.0.extend(hello.map(|hello| hello.value.random));
    }
}

#[cfg(test)]
mod tests;
