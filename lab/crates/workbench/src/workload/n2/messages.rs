//! Many messages on many streams over a cable that loses and reorders, and what of them arrives as it was sent.

use std::thread;
use std::time::Instant;

use bartizan_host::sctp::Ordering;

use super::{LOSS, PROTECTION, ROUND_TRIP, Stage, count, lacks, milliseconds, ngap, parameter, round_trip, soon};
use crate::stand_in::n2::Message;
use crate::stand_in::n2::function::{Function, STREAMS, Waiting};
use crate::workload::{Better, Error, Kind, MetricKind, Observation, Setting, Targets, Trial, Workload};

pub(in crate::workload) static KIND: Kind = Kind {
    name: "n2-messages",
    about: "Sends numbered messages of many sizes on many streams of an association, as fast as they are taken, and compares each that arrives with what was sent.",
    factors: &[PROTECTION, LOSS, ROUND_TRIP],
    parameters: &[
        parameter("messages", "messages in a trial", 20_000.0),
        parameter("streams", "streams they go on in turn, 32 at most", 30.0),
        parameter(
            "reordered",
            "a share of the delay by which packets overtake each other, in per cent: netem's jitter",
            50.0,
        ),
        parameter(
            "long-every",
            "one in so many has 70,000 octets, more than SCTP hands over at once; the others have 19 to 565",
            1000.0,
        ),
    ],
    metrics: &[
        MetricKind {
            name: "kept",
            unit: "%",
            about: "messages that arrived with their boundaries, octets, stream, payload protocol identifier and order flag, once, and in the order of their stream where they are ordered",
            better: Better::Higher,
        },
        count("sent", "messages that were sent"),
        count(
            "missing",
            "messages that did not arrive as one message with their octets: lost, cut, or put together with others",
        ),
        count("foreign", "what arrived as a message and is none that was sent"),
        count("stream-changed", "messages that arrived on another stream"),
        count(
            "payload-protocol-changed",
            "messages that arrived with another payload protocol identifier",
        ),
        count(
            "order-flag-changed",
            "messages that arrived ordered and were not, or the other way round",
        ),
        count(
            "overtaken",
            "ordered messages that arrived behind a later one of the stream they were sent on",
        ),
        count("twice", "messages that arrived again"),
        MetricKind::lower(
            "lasted",
            "ms",
            "from the first message's being sent to the end of the association",
        ),
    ],
    targets: Targets::Own,
    lacks,
    start,
};

/// One in so many is unordered.
const UNORDERED: u32 = 10;
/// Octets of a message that SCTP does not hand over at once.
const LONG: usize = 70_000;

struct Messages {
    stage: Stage,
    script: Script,
    reordered: f64,
}

/// The messages to send.
#[derive(Clone, Copy)]
struct Script {
    messages: u32,
    streams: u16,
    long_every: u32,
}

fn start(setting: &Setting<'_>) -> Result<Box<dyn Workload>, Error> {
    let parameters = setting.parameters;
    let whole = |name: &str| {
        let number = u32::try_from(parameters.count(name)?).ok().filter(|number| *number > 0);
        number.ok_or_else(|| Error::Configuration(format!("{name} is not between 1 and {}", u32::MAX)))
    };
    let streams = u16::try_from(whole("streams")?)
        .ok()
        .filter(|streams| *streams <= STREAMS);
    let streams = streams.ok_or_else(|| Error::Configuration(format!("streams is more than {STREAMS}")))?;
    Ok(Box::new(Messages {
        stage: Stage::make(setting, 1)?,
        script: Script {
            messages: whole("messages")?,
            streams,
            long_every: whole("long-every")?,
        },
        reordered: parameters.number("reordered")?.clamp(0.0, 100.0) / 100.0,
    }))
}

impl Script {
    /// The message of this number.
    fn message(self, number: u32) -> Message {
        let stream = (number % u32::from(self.streams)) as u16;
        let long = number % self.long_every == self.long_every - 1;
        let length = if long { LONG } else { 19 + (number as usize * 7) % 547 };
        let mut octets = number.to_be_bytes().to_vec();
        octets.resize(length, stream as u8);
        let unordered = number % UNORDERED == 3;
        Message {
            stream,
            payload_protocol: ngap(),
            ordering: if unordered {
                Ordering::Unordered
            } else {
                Ordering::Ordered
            },
            octets,
        }
    }
}

impl Workload for Messages {
    fn trial(&mut self, trial: &Trial<'_>) -> Result<Observation, Error> {
        let places = self.stage.prepare(trial.levels)?;
        let jitter = (round_trip(trial.levels)? / 2).mul_f64(self.reordered);
        self.stage.impair(trial.levels, jitter)?;
        let link = self.stage.link();
        let (gnb, amf) = (link.node(), link.ric());
        let (deadline, script) = (trial.deadline, self.script);
        let (arrived, lasted) = thread::scope(|scope| {
            let waiting = Waiting::at(amf, places.service)?;
            let far = scope.spawn(move || arrivals(&waiting, script, deadline));
            let near = Function::open(gnb, places.local(), places.entry)?;
            let began = Instant::now();
            let sent = (0..script.messages).try_for_each(|number| near.send(&script.message(number), deadline));
            let ended = near.close(deadline);
            let arrived = far.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            sent?;
            ended?;
            Ok::<_, Error>((arrived?, began.elapsed()))
        })?;
        let mut observation = Observation {
            facts: self.stage.facts(trial.levels)?,
            ..Observation::default()
        };
        let values = &mut observation.values;
        let mut put = |name, value: f64| values.insert(name, vec![value]);
        put("kept", 100.0 * f64::from(arrived.kept) / f64::from(script.messages));
        put("sent", f64::from(script.messages));
        put("missing", f64::from(script.messages - arrived.whole));
        put("foreign", f64::from(arrived.foreign));
        put("stream-changed", f64::from(arrived.stream_changed));
        put("payload-protocol-changed", f64::from(arrived.payload_protocol_changed));
        put("order-flag-changed", f64::from(arrived.order_flag_changed));
        put("overtaken", f64::from(arrived.overtaken));
        put("twice", f64::from(arrived.twice));
        put("lasted", milliseconds(lasted));
        Ok(observation)
    }

    fn programs(&self) -> Vec<String> {
        self.stage.programs()
    }
}

/// Received messages, compared with those sent.
#[derive(Debug, Default, PartialEq, Eq)]
struct Arrived {
    /// As one message with all its octets.
    whole: u32,
    /// And with everything else that belongs to it.
    kept: u32,
    foreign: u32,
    stream_changed: u32,
    payload_protocol_changed: u32,
    order_flag_changed: u32,
    overtaken: u32,
    twice: u32,
}

/// Compares what arrives.
struct Comparison {
    script: Script,
    arrived: Arrived,
    seen: Vec<bool>,
    /// By stream, the number behind the last ordered message.
    next: Vec<u32>,
}

impl Comparison {
    fn new(script: Script) -> Self {
        Self {
            script,
            arrived: Arrived::default(),
            seen: vec![false; script.messages as usize],
            next: vec![0; usize::from(script.streams)],
        }
    }

    fn take(&mut self, message: &Message) {
        let arrived = &mut self.arrived;
        let number = super::number_of(message).filter(|number| *number < self.script.messages);
        let sent = number.map(|number| (number, self.script.message(number)));
        let Some((number, sent)) = sent.filter(|(_, sent)| sent.octets == message.octets) else {
            arrived.foreign += 1;
            return;
        };
        if std::mem::replace(&mut self.seen[number as usize], true) {
            arrived.twice += 1;
            return;
        }
        arrived.whole += 1;
        let mut changed = 0;
        let mut note = |count: &mut u32, is: bool| {
            *count += u32::from(is);
            changed += u32::from(is);
        };
        note(&mut arrived.stream_changed, message.stream != sent.stream);
        note(
            &mut arrived.payload_protocol_changed,
            message.payload_protocol != sent.payload_protocol,
        );
        note(&mut arrived.order_flag_changed, message.ordering != sent.ordering);
        if sent.ordering == Ordering::Ordered {
            let next = &mut self.next[usize::from(sent.stream)];
            note(&mut arrived.overtaken, number < *next);
            *next = (*next).max(number + 1);
        }
        arrived.kept += u32::from(changed == 0);
    }
}

fn arrivals(waiting: &Waiting, script: Script, deadline: Instant) -> Result<Arrived, Error> {
    let mut association = waiting.accept(soon(deadline))?;
    let mut comparison = Comparison::new(script);
    while let Some(message) = association.receive(deadline)? {
        comparison.take(&message);
    }
    Ok(comparison.arrived)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCRIPT: Script = Script {
        messages: 60,
        streams: 30,
        long_every: 1000,
    };

    fn compared(messages: impl IntoIterator<Item = Message>) -> Arrived {
        let mut comparison = Comparison::new(SCRIPT);
        messages.into_iter().for_each(|message| comparison.take(&message));
        comparison.arrived
    }

    #[test]
    fn what_arrives_as_it_was_sent_is_kept_in_any_order_of_streams() {
        let all = || (0..SCRIPT.messages).map(|number| SCRIPT.message(number));
        let expected = Arrived {
            whole: 60,
            kept: 60,
            ..Arrived::default()
        };
        assert_eq!(compared(all()), expected);
        // Streams that overtake each other, each in its order.
        let mut sorted: Vec<Message> = all().collect();
        sorted.sort_by_key(|message| message.stream);
        assert_eq!(compared(sorted), expected);
    }

    #[test]
    fn what_a_bridge_of_octets_does_to_messages_is_counted() {
        let one = |number| SCRIPT.message(number);
        // Put together, and the rest on stream 0 without an identifier, as `write` sends it.
        let mut together = one(1);
        together.octets.extend(one(2).octets);
        let bare = |number| Message {
            stream: 0,
            payload_protocol: 0,
            ordering: Ordering::Ordered,
            ..one(number)
        };
        let arrived = compared([together, bare(3), bare(4), bare(30)]);
        assert_eq!(
            arrived,
            Arrived {
                whole: 3,
                kept: 0,
                foreign: 1,
                stream_changed: 2,
                payload_protocol_changed: 3,
                order_flag_changed: 1,
                ..Arrived::default()
            }
        );
        let arrived = compared([one(31), one(1), one(1), one(33), one(3)]);
        assert_eq!((arrived.whole, arrived.kept), (4, 3));
        assert_eq!((arrived.overtaken, arrived.twice), (1, 1), "3 and 33 are unordered");
    }
}
