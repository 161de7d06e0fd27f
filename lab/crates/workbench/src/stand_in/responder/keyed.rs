//! ESP between an initiator and a responder in memory, keyed by the set-up of an IKE_SA, and what the set-up took.

use std::time::{Duration, Instant};

use bartizan_esp::{Inbound, Outbound};
use bartizan_ike::{Child, Event, HalfOpen, IkeSa};

use super::{MESSAGES, Pair, Responder, WINDOW, failed, initiator};
use crate::Error;
use crate::cpu_time::thread_time;

/// A CHILD_SA from the responder to the initiator, and the set-up that keyed it.
pub(crate) struct Keyed {
    /// By which the responder sends.
    pub(crate) sender: Outbound,
    /// By which the initiator receives.
    pub(crate) receiver: Inbound,
    /// Processor time of initiator and responder.
    pub(crate) spent: [Duration; 2],
    /// Datagrams of both, and what is in them.
    pub(crate) datagrams: usize,
    pub(crate) bytes: usize,
}

/// The initiator's part, until it waits.
fn turn(sa: &mut IkeSa, child: &mut Option<Box<Child>>) -> Result<Vec<Vec<u8>>, Error> {
    while let Some(event) = sa.poll_event() {
        match event {
            Event::Closed(failure) => return Err(failed(failure)),
            Event::Child(made) => *child = Some(made),
            _ => {}
        }
    }
    Ok(std::iter::from_fn(|| sa.poll_transmit())
        .map(|transmit| transmit.datagram)
        .collect())
}

/// Sets an IKE_SA with a CHILD_SA up.
pub(crate) fn keyed(pair: &Pair) -> Result<Keyed, Error> {
    let now = Instant::now();
    let mut responder = Responder::new(pair, HalfOpen::default());
    responder.accept(0);
    let mut child = None;
    let (mut datagrams, mut bytes) = (0, 0);
    let mut count = |datagram: &[u8]| {
        datagrams += 1;
        bytes += datagram.len();
    };
    let began = thread_time()?;
    let mut sa = initiator(pair, 0, now)?;
    let mut waiting = turn(&mut sa, &mut child)?;
    let mut spent = thread_time()?.saturating_sub(began);
    for _ in 0..MESSAGES {
        if waiting.is_empty() {
            break;
        }
        let mut answers = Vec::new();
        for datagram in &waiting {
            count(datagram);
            answers.extend(responder.receive(now, 0, datagram)?.0);
        }
        let began = thread_time()?;
        for (_, answer) in &answers {
            sa.receive(now, answer);
        }
        waiting = turn(&mut sa, &mut child)?;
        spent += thread_time()?.saturating_sub(began);
        answers.iter().for_each(|(_, answer)| count(answer));
    }
    let own = child.ok_or_else(|| failed("an IKE_SA did not come up with a CHILD_SA"))?;
    let peer = responder.child.take();
    let peer = peer.ok_or_else(|| failed("the responder has no CHILD_SA"))?;
    Ok(Keyed {
        sender: peer.sender().map_err(failed)?,
        receiver: own.receiver(WINDOW).map_err(failed)?,
        spent: [spent, responder.spent],
        datagrams,
        bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_responder_seals_the_initiator_opens() {
        let folder = tempfile::tempdir().unwrap();
        for (esp, key_exchange) in [
            ("aes128-sha256", "x25519"),
            ("aes192gcm16", "x25519-ke1_mlkem768"),
            ("aes256-sha512", "ecp256"),
        ] {
            let folder = folder.path().join(esp);
            std::fs::create_dir(&folder).unwrap();
            let pair = Pair::with_esp(&folder, key_exchange, "ecdsa-p256", esp).unwrap();
            let mut keyed = keyed(&pair).unwrap();
            let headroom = keyed.sender.headroom();
            let mut packet = vec![0x5a; keyed.sender.suite().sealed_length(100)];
            let length = keyed.sender.seal(&mut packet, 100, 4).unwrap();
            assert_ne!(packet[headroom..][..100], [0x5a; 100]);
            let opened = keyed.receiver.open(&mut packet[..length]).unwrap();
            assert_eq!((&*opened.payload, opened.next_header), (&[0x5a; 100][..], 4));
            assert!(keyed.spent.iter().all(|spent| !spent.is_zero()), "{esp}");
            assert!(keyed.datagrams >= 4 && keyed.bytes > 1000, "{esp}");
        }
        assert!(Pair::with_esp(folder.path(), "x25519", "ecdsa-p256", "aes256gcm17").is_err());
    }
}
