//! Plays the two registrations against a responder with nothing between, with and without free5GC's habit of closing
//! idle connections, and prints what it cost.

use std::error::Error;

use bartizan_estimators::Summary;
use bartizan_workbench::Exchange;
use bartizan_workbench::stand_in::replay::{Behaviour, Idle, Responder, Speed, Think, play};

fn main() -> Result<(), Box<dyn Error>> {
    let exchange = Exchange::two_registrations();
    println!("{}", exchange.description());
    for (speed, think, idle) in [
        (Speed::AsFastAsPossible, Think::None, Idle::Keep),
        (Speed::Recorded, Think::Recorded, Idle::Keep),
        (Speed::Recorded, Think::Recorded, Idle::FREE5GC),
    ] {
        let responder = Responder::on_loopback(&exchange, Behaviour { think, idle })?;
        let outcome = play(&exchange, responder.addresses(), speed)?;
        println!(
            "\n{speed:?}, idle connections: {idle:?}, {:.2} s",
            outcome.duration_us / 1e6
        );
        show(
            "latency",
            if think == Think::None {
                outcome.latency()
            } else {
                outcome.latency_without_think()
            },
        );
        show("set-up", outcome.setup());
        let refused: u32 = outcome.requests.iter().map(|request| request.refused).sum();
        println!(
            "  {} answered, {refused} refused and sent again, {:?}",
            outcome.requests.len(),
            responder.answered()
        );
        for fault in &outcome.faults {
            println!("  fault: {fault}");
        }
    }
    Ok(())
}

fn show(what: &str, summary: Option<Summary>) {
    match summary {
        Some(Summary {
            n,
            lower_quartile,
            median,
            upper_quartile,
        }) => {
            println!(
                "  {what}: n {n}, median {median:.0} us, quartiles {lower_quartile:.0} and {upper_quartile:.0} us"
            );
        }
        None => println!("  {what}: nothing"),
    }
}
