//! From a cable to the first frame that MACsec protects: how long the ways to key it take, and what they send for that.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use bartizan_host::{Feature, Namespace};
use bartizan_machine::{Departures, EthernetSocket, Receives};
use bartizan_pki::Algorithm;
use bartizan_registry::ethertype::{EAPOL, ECPRI, LOCAL_EXPERIMENTAL, MACSEC};
use bartizan_testing::Wiring as _;
use bartizan_testing::{Capture, Direction, Impairment};
use bartizan_wire::CaptureReader;

use super::{KEYING_FACTOR, PORT_MTU, count, lacks_macsec, lacks_supplicant, metric};
use crate::runner::experiment::Levels;
use crate::stand_in::fronthaul::Link;
use crate::stand_in::fronthaul::keyed::{Controllers, Keying, WpaSupplicant, keying};
use crate::stand_in::fronthaul::link::{DEVICE, PORT};
use crate::stand_in::fronthaul::tally::{Moment, microseconds, moment, now};
use crate::stand_in::proxies::Tools;
use crate::workload::{
    Better, Error, FactorKind, Kind, Lack, Observation, Setting, Targets, Trial, Workload, lacks_feature, number,
};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "fronthaul-keying",
    about: "Starts a controller at both ends of a cable, as `bartizan up` does, and sends frames to the MACsec device until the first arrives at the other end.",
    factors: &[
        KEYING_FACTOR,
        FactorKind {
            name: "algorithms",
            about: "hybrid: X25519MLKEM768 and ML-DSA-65; classical: x25519 and ECDSA with P-256",
            levels: &["hybrid", "classical"],
        },
        FactorKind {
            name: "round-trip",
            about: "milliseconds by which both directions of the cable together delay a frame, by netem",
            levels: &[],
        },
    ],
    parameters: &[],
    metrics: &[
        metric(
            "first-protected",
            "ms",
            "from starting both controllers, with the ports up, to the arrival of the first frame that MACsec protects",
            Better::Lower,
        ),
        metric(
            "keying-bytes",
            "B",
            "of frames of EAPOL and of the exchange in both directions before the first that MACsec protects leaves, without check sequence",
            Better::Lower,
        ),
        count("keying-frames", "the frames themselves"),
        metric(
            "round-trips",
            "",
            "half the times that those frames changed their direction; hellos of MKA come by the clock and are among them",
            Better::Lower,
        ),
        count(
            "unprotected-frames",
            "frames in either direction of another kind, which nothing protects",
        ),
    ],
    targets: Targets::Own,
    lacks,
    start,
};

/// Between two frames to the device.
const GAP: Duration = Duration::from_millis(1);
/// Octets behind the Ethernet header of such a frame.
const PAYLOAD: usize = 64;

fn lacks(levels: &Levels, tools: &Tools) -> Option<Lack> {
    let delayed = levels.level("round-trip").is_some_and(|level| level != "0");
    let netem = || delayed.then(|| lacks_feature("netem", Feature::Netem)).flatten();
    lacks_macsec()
        .or_else(|| lacks_supplicant(levels, tools))
        .or_else(netem)
}

struct Keyed {
    folder: PathBuf,
    wpa_supplicant: Option<WpaSupplicant>,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let root = setting.tools.root.as_ref();
    Ok(Box::new(Keyed {
        folder: setting.folder.to_owned(),
        wpa_supplicant: root.map(|root| WpaSupplicant::of(root, setting.folder)).transpose()?,
    }))
}

impl Workload for Keyed {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let keying_name = trial.levels.level("keying").unwrap_or("direct");
        let classical = trial.levels.level("algorithms") == Some("classical");
        let round_trip = Duration::from_secs_f64(number(trial.levels, "round-trip", 0.0)?.max(0.0) / 1e3);
        let mut how = Keying::hybrid(keying_name, self.wpa_supplicant.as_ref());
        if classical {
            how.algorithm = Algorithm::EcdsaP256;
            how.policy = "{ profile: classical, lab: true }";
        }
        // Keys and certificates of a trial are its own.
        let folder = self.folder.join("keyed");
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(Error::file(&folder))?;
        }
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        let mut link = Link::make(PORT_MTU)?;
        link.is_keyed_by_controllers();
        if !round_trip.is_zero() {
            let impairment = Impairment {
                delay: round_trip / 2,
                ..Impairment::default()
            };
            for end in [link.du(), link.ru()] {
                end.impair(PORT, &impairment)?;
            }
        }
        let file = self.folder.join("port.pcap");
        let capture = Capture::start(Some(link.du()), PORT, &file, Direction::Both)?;
        let (took, keys) = keying(&link, &folder, &how, |controllers| {
            let began = now();
            let arrived = first(&link, trial.deadline)?;
            Ok((microseconds(began, arrived) / 1e3, keys(controllers)?))
        })?;
        let captured = capture.stop()?;
        if !captured.complete() {
            let dropped = captured.dropped;
            return Err(Error::Configuration(format!(
                "{dropped} frames were lost by the capture: what is missing cannot be counted"
            )));
        }
        let sent = Sent::read(&file)?;
        let mut observation = Observation::default();
        observation.facts.insert("keys".to_owned(), keys.into());
        if let Some(found) = self.wpa_supplicant.as_ref().filter(|_| keying_name != "direct") {
            observation
                .facts
                .insert("wpa_supplicant".to_owned(), found.version.clone().into());
        }
        let values = &mut observation.values;
        values.insert("first-protected", vec![took]);
        values.insert("keying-bytes", vec![sent.bytes as f64]);
        values.insert("keying-frames", vec![sent.frames as f64]);
        values.insert("round-trips", vec![sent.turns as f64 / 2.0]);
        values.insert("unprotected-frames", vec![sent.others as f64]);
        Ok(observation)
    }
}

/// Sends frames to the O-DU's device until one arrives at the O-RU's; when it did.
fn first(link: &Link, deadline: Instant) -> Result<Moment, Error> {
    // Until the controllers have made the devices, and while wpa_supplicant has them down, there is nothing to send by.
    let open = |end: &Namespace, receives| {
        let opened = end.enter(|| EthernetSocket::open(DEVICE, receives, Departures::Unstamped));
        opened.ok().and_then(Result::ok)
    };
    let (mut source, mut sink) = (None, None);
    let mut frame = vec![0; 14 + PAYLOAD];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 7, 2, 2, 0, 0, 0, 7, 1]);
    frame[12..14].copy_from_slice(&ECPRI.to_be_bytes());
    let mut buffer = [0; 256];
    loop {
        if sink.is_none() {
            sink = open(link.ru(), Receives::EtherType(ECPRI));
        }
        if source.is_none() {
            source = open(link.du(), Receives::Nothing);
        }
        // A socket is kept while the device is down: to close and open it again takes the kernel's
        // time, which would count as the link's.
        if let Some(socket) = &source
            && let Err(error) = socket.send(&frame)
            && !error.is_interface_down()
        {
            source = None;
        }
        match sink
            .as_ref()
            .map(|socket: &EthernetSocket| socket.receive(&mut buffer, GAP))
        {
            Some(Ok(Some(arrival))) => return Ok(arrival.at.map_or_else(now, moment)),
            Some(Ok(None)) => {}
            Some(Err(error)) if error.is_interface_down() => thread::sleep(GAP),
            Some(Err(_)) => sink = None,
            None => thread::sleep(GAP),
        }
        if Instant::now() >= deadline {
            return Err(Error::Protocol("no protected frame arrives in time".to_owned()));
        }
    }
}

/// Group and scheme, as the O-DU's controller has them.
fn keys(controllers: &Controllers<'_>) -> Result<String, Error> {
    let exchange = controllers.status()?.exchange;
    let exchange = exchange.ok_or_else(|| Error::Protocol("the controller knows of no exchange".to_owned()))?;
    let signature = exchange
        .peer_signature
        .unwrap_or_else(|| "no signature seen".to_owned());
    Ok(format!("{}, {signature}", exchange.group))
}

/// Frames at the O-DU's port before the first frame that MACsec protects.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sent {
    frames: usize,
    bytes: usize,
    turns: usize,
    others: usize,
}

impl Sent {
    fn read(file: &Path) -> Result<Self, Error> {
        let bytes = fs::read(file).map_err(Error::file(file))?;
        let ours = |error: bartizan_wire::CaptureError| Error::Configuration(format!("our own capture: {error}"));
        let (mut reader, mut sent, mut from, mut keyed) = (CaptureReader::new(), Self::default(), None, false);
        reader.push(&bytes);
        while let Some(packet) = reader.next_packet().map_err(ours)? {
            let Some((addresses, kind)) = packet.data.get(..14).and_then(|header| header.split_last_chunk::<2>())
            else {
                sent.others += 1;
                continue;
            };
            match u16::from_be_bytes(*kind) {
                MACSEC => keyed = true,
                EAPOL | LOCAL_EXPERIMENTAL if keyed => {}
                EAPOL | LOCAL_EXPERIMENTAL => {
                    sent.frames += 1;
                    sent.bytes += packet.original_length as usize;
                    let source: Option<[u8; 6]> = addresses.get(6..12).and_then(|source| source.try_into().ok());
                    sent.turns += usize::from(from.is_some() && from != source);
                    from = source;
                }
                _ => sent.others += 1,
            }
        }
        reader.finish().map_err(ours)?;
        Ok(sent)
    }
}
