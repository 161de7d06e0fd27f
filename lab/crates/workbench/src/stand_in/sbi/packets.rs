//! Packets on loopback during a trial, by the kernel's clock: begin and end of each leg of a
//! transaction.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bartizan_testing::{Capture, Direction};
use bartizan_wire::CaptureReader;
use bartizan_wire::ip::{TCP, datagram};
use bartizan_wire::link::{Network, network};
use bartizan_wire::tcp::segment;

use super::Error;

/// A running capture of loopback.
#[derive(Debug)]
pub(crate) struct Tap {
    capture: Capture,
    path: PathBuf,
    /// The same moment by both clocks.
    moment: (Instant, SystemTime),
}

/// A segment with or without payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Passed {
    /// Nanoseconds since 1970.
    pub(crate) at: u64,
    pub(crate) from: u16,
    pub(crate) to: u16,
    pub(crate) payload: usize,
    /// Bytes of its frame.
    pub(crate) frame: usize,
    pub(crate) syn: bool,
}

/// Everything that passed, in order.
#[derive(Debug)]
pub(crate) struct Packets {
    passed: Vec<Passed>,
    moment: (Instant, SystemTime),
}

impl Tap {
    /// Starts to listen; from here on every packet is seen.
    pub(crate) fn start(folder: &Path) -> Result<Self, Error> {
        let path = folder.join("loopback.pcap");
        let capture = Capture::start(None, "lo", &path, Direction::Both)?;
        Ok(Self {
            capture,
            path,
            moment: (Instant::now(), SystemTime::now()),
        })
    }

    /// Stops, and reads what passed to or from these ports.
    pub(crate) fn stop(self, ports: &[u16]) -> Result<Packets, Error> {
        let captured = self.capture.stop()?;
        if !captured.complete() {
            return Err(Error::Configuration(format!(
                "{} packets were lost by the capture: what is missing cannot be timed",
                captured.dropped
            )));
        }
        let bytes = fs::read(&self.path).map_err(Error::file(&self.path))?;
        // As large as the trial was long, and read.
        let _ = fs::remove_file(&self.path);
        let mut packets = Packets::read(&bytes, self.moment)?;
        packets
            .passed
            .retain(|passed| ports.contains(&passed.from) || ports.contains(&passed.to));
        Ok(packets)
    }
}

impl Packets {
    fn read(bytes: &[u8], moment: (Instant, SystemTime)) -> Result<Self, Error> {
        let ours = |error: bartizan_wire::CaptureError| Error::Configuration(format!("our own capture: {error}"));
        let mut reader = CaptureReader::new();
        let mut passed = Vec::new();
        for piece in bytes.chunks(1 << 20) {
            reader.push(piece);
            while let Some(packet) = reader.next_packet().map_err(ours)? {
                let Network::Ip(ip) = network(packet.link, packet.data) else {
                    continue;
                };
                let Some(datagram) = datagram(ip).filter(|datagram| datagram.protocol == TCP) else {
                    continue;
                };
                if let Some(segment) = segment(datagram.payload, datagram.missing) {
                    passed.push(Passed {
                        at: packet.time.0,
                        from: segment.source_port,
                        to: segment.destination_port,
                        payload: segment.payload.len() + segment.missing,
                        frame: packet.data.len() + datagram.missing,
                        syn: segment.flags.syn(),
                    });
                }
            }
        }
        Ok(Self { passed, moment })
    }

    pub(crate) fn all(&self) -> &[Passed] {
        &self.passed
    }

    /// Packets within a transaction.
    pub(crate) fn within(&self, began: Instant, took: Duration) -> &[Passed] {
        let (instant, system) = self.moment;
        let begin = system + began.saturating_duration_since(instant);
        let nanoseconds = |moment: SystemTime| {
            let since = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
            u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
        };
        let (begin, end) = (nanoseconds(begin), nanoseconds(begin + took));
        let first = self.passed.partition_point(|passed| passed.at < begin);
        let last = self.passed.partition_point(|passed| passed.at <= end);
        &self.passed[first..last.max(first)]
    }
}

/// Times at which a request to a port began to pass and the answer from it ended.
pub(crate) fn leg(passed: &[Passed], port: u16) -> Option<(u64, u64)> {
    leg_from(passed, port, |one| one.payload > 0)
}

/// The same from the opening of its connection on, where that is new.
pub(crate) fn leg_with_opening(passed: &[Passed], port: u16) -> Option<(u64, u64)> {
    leg_from(passed, port, |one| one.payload > 0 || one.syn)
}

fn leg_from(passed: &[Passed], port: u16, begins: impl Fn(&Passed) -> bool) -> Option<(u64, u64)> {
    let full = |one: &&Passed| one.payload > 0;
    let first = passed.iter().find(|one| one.to == port && begins(one))?;
    let last = passed.iter().filter(full).rev().find(|one| one.from == port)?;
    Some((first.at, last.at))
}

/// The longest time in which nothing passed on the leg of a port, in nanoseconds.
pub(crate) fn longest_silence(passed: &[Passed], port: u16) -> Option<u64> {
    let on_leg: Vec<&Passed> = passed.iter().filter(|one| one.to == port || one.from == port).collect();
    on_leg
        .windows(2)
        .map(|pair| pair[1].at.saturating_sub(pair[0].at))
        .max()
}

/// Returns true if a client of a port kept payload back, for this many nanoseconds or more, until an
/// acknowledgement without payload came. A server that is late has its acknowledgement sent too, but
/// the next segment is its own.
pub(crate) fn waited_for_acknowledgement(passed: &[Passed], port: u16, least: u64) -> bool {
    let mut connections: BTreeMap<u16, Vec<&Passed>> = BTreeMap::new();
    for one in passed.iter().filter(|one| one.to == port || one.from == port) {
        let client = if one.to == port { one.from } else { one.to };
        connections.entry(client).or_default().push(one);
    }
    connections.values().any(|connection| {
        connection.windows(3).any(|three| {
            let [before, acknowledgement, after] = [three[0], three[1], three[2]];
            acknowledgement.from == port
                && acknowledgement.payload == 0
                && acknowledgement.at.saturating_sub(before.at) >= least
                && after.to == port
                && after.payload > 0
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(at: u64, from: u16, to: u16, payload: usize) -> Passed {
        Passed {
            at,
            from,
            to,
            payload,
            frame: payload + 66,
            syn: false,
        }
    }

    #[test]
    fn a_leg_lasts_from_the_first_byte_there_to_the_last_byte_back() {
        let all = [
            passed(1, 9, 80, 0),
            passed(2, 9, 80, 10),
            passed(3, 80, 9, 5),
            passed(7, 80, 9, 5),
            passed(8, 9, 80, 0),
            passed(9, 80, 9, 0),
        ];
        assert_eq!(leg(&all, 80), Some((2, 7)));
        assert_eq!(leg(&all, 81), None);
        assert_eq!(leg_with_opening(&all, 80), Some((2, 7)));
        let mut opened = all;
        opened[0].syn = true;
        assert_eq!(leg_with_opening(&opened, 80), Some((1, 7)));
        assert_eq!(leg(&opened, 80), Some((2, 7)));
        assert_eq!(longest_silence(&all, 80), Some(4));
        assert_eq!(longest_silence(&all[..1], 80), None);
    }

    #[test]
    fn a_wait_for_an_acknowledgement_is_one_next_to_longer_silences_and_of_a_late_server_it_is_none() {
        let waiting = [passed(1, 9, 80, 10), passed(41, 80, 9, 0), passed(42, 9, 80, 3)];
        assert!(waited_for_acknowledgement(&waiting, 80, 40));
        assert!(!waited_for_acknowledgement(&waiting, 80, 41));
        // A machine that does something else for longer, and another connection in between.
        let busy = [
            &waiting[..1],
            &[passed(40, 8, 80, 1)],
            &waiting[1..],
            &[passed(400, 80, 9, 5)],
        ]
        .concat();
        assert!(waited_for_acknowledgement(&busy, 80, 40));
        // The server answers late: its kernel has acknowledged meanwhile.
        let late = [passed(1, 9, 80, 10), passed(41, 80, 9, 0), passed(80, 80, 9, 5)];
        assert!(!waited_for_acknowledgement(&late, 80, 40));
        // The server waits.
        let other = [passed(1, 80, 9, 10), passed(41, 9, 80, 0), passed(42, 80, 9, 3)];
        assert!(!waited_for_acknowledgement(&other, 80, 40));
    }
}
