//! Associations that outlive their connection: a path that is lost, a certificate that is renewed,
//! a sidecar that stops or is killed.

use std::thread::{self, sleep};
use std::time::Duration;

use bartizan_testing::Impairment;
use bartizan_testing::Wiring as _;
use bartizan_testing::eventually;

use super::{ANY, again, libc_signal, message};
use crate::boot::is_here;
use crate::function::{Function, Seen, accept, listen, opening};
use crate::stage::{CARRIERS, PATIENCE, Stage, deployment, forward, listener};

#[test]
fn an_association_outlives_its_path_and_its_certificates_and_ends_in_order_with_its_sidecar() {
    if !is_here() {
        return;
    }
    // Above the time after which a connection counts as lost.
    outlives(Duration::from_secs(12));
}

#[test]
fn an_association_outlives_a_minute_without_a_path() {
    if is_here() {
        outlives(Duration::from_secs(60));
    }
}

/// Over both carriers at once: most of it is waiting.
fn outlives(outage: Duration) {
    thread::scope(|scope| {
        for carrier in CARRIERS {
            scope.spawn(move || outlives_over(carrier, outage));
        }
    });
}

/// An association on a path that is lost for so long, whose certificates are renewed, and whose
/// sidecars end.
fn outlives_over(carrier: &'static str, outage: Duration) {
    let mut stage = Stage::new(carrier);
    // The default of 63 s leaves three for redialling after a minute: too few on a busy machine.
    let patient = format!("carrier: {carrier}, patience: 10m }}");
    let file = deployment("hybrid", carrier).replace(&format!("carrier: {carrier} }}"), &patient);
    stage.write("net.yaml", &file);
    let (mut amf, _gnb) = (stage.start("amf"), stage.start("gnb"));
    let waiting = listen(&stage.amf, forward());
    let ends = (
        Function::open(&stage.gnb, ANY, listener(), opening(10, 10)),
        accept(&waiting),
    );
    let exchange = |numbers: std::ops::Range<u16>, pause: Duration| {
        for number in numbers.clone() {
            ends.0.send(&message(number % 3, 60, 100 + usize::from(number)));
            ends.1.send(&message(number % 3, 60, 400 + usize::from(number)));
            sleep(pause);
        }
        numbers
    };
    // Each message once, in the order of its stream.
    let arrive = |numbers: std::ops::Range<u16>| {
        for (end, length) in [(&ends.1, 100), (&ends.0, 400)] {
            let mut seen = Vec::new();
            for _ in numbers.clone() {
                match end.next() {
                    Seen::Message(message) => seen.push(message),
                    seen => panic!("{carrier}: {seen:?}"),
                }
            }
            for stream in 0..3 {
                let of_stream = |number: &u16| number % 3 == stream;
                let expected = numbers.clone().filter(of_stream);
                let expected = expected.map(|number| message(stream, 60, length + usize::from(number)));
                let arrived = seen.iter().filter(|message| message.0 == stream).cloned();
                assert!(arrived.eq(expected), "{carrier}: {seen:?}");
            }
        }
    };
    arrive(exchange(0..10, Duration::ZERO));

    let lost = Impairment {
        loss_percent: 100.0,
        ..Impairment::default()
    };
    let impair =
        |impairment: &Impairment| [&stage.gnb, &stage.amf].map(|space| space.impair("n2", impairment).unwrap());
    impair(&lost);
    let during = exchange(10..20, outage / 10);
    impair(&Impairment::default());
    arrive(during);
    assert!(stage.associations("gnb").is_empty() && stage.associations("amf").is_empty());

    // Each renewal moves it to a connection that shows the new certificate.
    for node in ["gnb", "amf"] {
        stage.renew(node);
        eventually("the association has moved", || stage.is_carried_with_the_latest(node));
        arrive(exchange(20..30, Duration::ZERO));
    }

    // Nothing is under way: both functions see a shutdown.
    eventually("all is acknowledged", || {
        let shown = stage.admin("amf", "/connections")?;
        let known = shown.matches("\"unacknowledged\": 0").count();
        (known == 1 && ends.0.is_acknowledged() && ends.1.is_acknowledged()).then_some(())
    });
    amf.process.terminate(PATIENCE).unwrap();
    assert_eq!([ends.0.next(), ends.1.next()], [Seen::ShutDown, Seen::ShutDown]);
    assert_eq!(stage.ended_after("gnb", 0).ending, "shutdown");

    // A sidecar that is killed and started at once knows nothing of associations: the function
    // learns it, and the next one serves.
    amf = stage.start("amf");
    let (function, _other) = again(&stage, &waiting);
    amf.process.send(libc_signal::KILL);
    eventually("it is gone", || amf.process.ended().expect("a child of ours"));
    let _amf = stage.start("amf");
    assert_eq!(function.next_within(PATIENCE), Some(Seen::Lost));
    // On a busy machine openings that took too long are recorded before it.
    eventually("the lost association is recorded", || {
        let mut ended = stage.associations("gnb").into_iter();
        ended.find(|one| one.ending == "carrier-lost")
    });
    let (function, other) = again(&stage, &waiting);
    let sent = message(1, 60, 165);
    other.send(&sent);
    assert_eq!(function.next(), Seen::Message(sent));
}
