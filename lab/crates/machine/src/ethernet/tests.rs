use super::*;

mod as_root {
    use std::time::{Instant, SystemTime, UNIX_EPOCH};

    use super::*;
    use bartizan_host::Namespace;
    use bartizan_testing::{Port, connect};

    const ECPRI: u16 = 0xaefe;
    const LONG: Duration = Duration::from_secs(240);

    fn cable() -> [Namespace; 2] {
        let ends =
            ["ethernet-a", "ethernet-b"].map(|name| Namespace::create(name).expect("NOT RUN: this test needs root"));
        connect(&Port::new(&ends[0], "eth0"), &Port::new(&ends[1], "eth0"), 9000).unwrap();
        ends
    }

    fn open(end: &Namespace, receives: Receives, departures: Departures) -> EthernetSocket {
        let open = || EthernetSocket::open("eth0", receives, departures);
        end.enter(open).unwrap().unwrap()
    }

    fn frame(behind_addresses: &[u8], length: usize) -> Vec<u8> {
        let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
        frame.extend(behind_addresses);
        frame.resize(length, 0x5a);
        frame
    }

    fn now() -> Duration {
        SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
    }

    #[test]
    fn every_frame_has_a_time_of_departure_and_one_of_arrival_between_sending_and_receiving() {
        let [one, other] = cable();
        let sender = open(&one, Receives::Nothing, Departures::Stamped);
        let receiver = open(&other, Receives::EtherType(ECPRI), Departures::Unstamped);
        let mut buffer = vec![0; 9100];
        // The kernel begins to take times of arrivals some time after it was asked to.
        let deadline = Instant::now() + LONG;
        let mut number = 0;
        loop {
            assert_eq!(sender.send(&frame(&[0xae, 0xfe], 60)).unwrap(), Handed::Taken);
            number += 1;
            if receiver
                .receive(&mut buffer, LONG)
                .unwrap()
                .expect("a frame")
                .at
                .is_some()
            {
                break;
            }
            assert!(Instant::now() < deadline);
        }
        while sender.departure().unwrap().is_some() {}
        for length in [60, 1514, 7678, 9014] {
            let whole = frame(&[0xae, 0xfe], length);
            let began = now();
            assert_eq!(sender.send(&whole).unwrap(), Handed::Taken);
            let arrival = receiver.receive(&mut buffer, LONG).unwrap().expect("a frame");
            let received = now();
            assert_eq!((arrival.length, &buffer[..length]), (length, &whole[..]));
            let departure = sender.departure().unwrap().expect("a time");
            assert_eq!(departure.number, number, "they are counted");
            number += 1;
            let arrived = arrival.at.expect("a time");
            assert!(began <= departure.at, "{began:?} {departure:?}");
            assert!(
                departure.at <= arrived && arrived <= received,
                "{departure:?} {arrival:?} {received:?}"
            );
        }
        assert_eq!(sender.departure().unwrap(), None);
        assert_eq!(receiver.dropped().unwrap(), 0);
    }

    #[test]
    fn frames_of_another_ethertype_are_not_received_and_a_vlan_tag_is_taken_off() {
        let [one, other] = cable();
        let sender = open(&one, Receives::Nothing, Departures::Unstamped);
        let receiver = open(&other, Receives::EtherType(ECPRI), Departures::Unstamped);
        let all = open(&other, Receives::All, Departures::Unstamped);
        sender.send(&frame(&[0x88, 0xf7], 60)).unwrap();
        sender.send(&frame(&[0x81, 0, 0xe0, 2, 0xae, 0xfe], 64)).unwrap();
        let mut buffer = [0; 100];
        let lengths = |socket: &EthernetSocket, buffer: &mut [u8]| -> Vec<usize> {
            std::iter::from_fn(|| socket.receive(buffer, Duration::from_millis(100)).unwrap())
                .map(|arrival| arrival.length)
                .collect()
        };
        assert_eq!(lengths(&receiver, &mut buffer), [60]);
        assert_eq!(buffer[..60], frame(&[0xae, 0xfe], 60));
        let mut others = lengths(&all, &mut buffer);
        // Frames that the stacks of both ends send of their own (IPv6) are longer.
        others.retain(|&length| length == 60);
        assert_eq!(others, [60, 60]);
        assert_eq!(sender.departure().unwrap(), None, "none was asked for");
        // A sender that receives nothing has nothing of its own queue filled either.
        assert_eq!(sender.receive(&mut buffer, Duration::ZERO).unwrap(), None);
    }

    #[test]
    fn a_frame_too_long_and_an_interface_that_is_down_or_not_there_are_named() {
        let [one, _other] = cable();
        let sender = open(&one, Receives::Nothing, Departures::Stamped);
        let error = sender.send(&frame(&[0xae, 0xfe], 9015)).unwrap_err();
        assert!(error.to_string().contains("eth0"), "{error}");
        let down =
            bartizan_host::Program::new("ip").arguments(["-n", one.name(), "link", "set", "dev", "eth0", "down"]);
        down.run(LONG).unwrap();
        assert!(sender.send(&frame(&[0xae, 0xfe], 60)).is_err());
        let missing = one
            .enter(|| EthernetSocket::open("eth7", Receives::All, Departures::Unstamped))
            .unwrap()
            .unwrap_err();
        assert!(missing.to_string().contains("eth7"), "{missing}");
    }

    #[test]
    fn frames_without_room_at_the_receiver_are_counted_as_dropped() {
        let [one, other] = cable();
        let sender = open(&one, Receives::Nothing, Departures::Unstamped);
        let receiver = open(&other, Receives::EtherType(ECPRI), Departures::Unstamped);
        let whole = frame(&[0xae, 0xfe], 9000);
        let mut taken = 0;
        // More than twice the room that was asked for, which is what the kernel gives.
        while taken < 20_000 {
            match sender.send(&whole).unwrap() {
                Handed::Taken => taken += 1,
                Handed::Dropped => {}
                Handed::NoRoom => assert!(sender.room_within(LONG).unwrap()),
            }
        }
        let (mut buffer, mut received) = (vec![0; 9100], 0);
        while receiver
            .receive(&mut buffer, Duration::from_millis(100))
            .unwrap()
            .is_some()
        {
            received += 1;
        }
        let dropped = receiver.dropped().unwrap();
        assert!(dropped > 0 && received > 0, "{received} received, {dropped} dropped");
        // The cable's own queue may lose some, too, which a packet socket does not count.
        assert!(
            received + dropped <= taken,
            "{received} received, {dropped} dropped, {taken} sent"
        );
        assert_eq!(receiver.dropped().unwrap(), 0, "each is counted once");
    }
}
