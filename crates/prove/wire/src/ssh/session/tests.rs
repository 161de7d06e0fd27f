use proptest::prelude::*;

use super::*;
use crate::Timestamp;

fn moment(packet: u64) -> Moment {
    Moment {
        packet,
        time: Timestamp(packet),
    }
}

fn string(text: &[u8]) -> Vec<u8> {
    [&u32::try_from(text.len()).unwrap().to_be_bytes()[..], text].concat()
}

fn packet(number: u8, payload: &[u8]) -> Vec<u8> {
    let padding = [0; 5];
    let length = u32::try_from(1 + 1 + payload.len() + padding.len()).unwrap();
    let mut packet = length.to_be_bytes().to_vec();
    packet.extend([5, number]);
    packet.extend(payload);
    packet.extend(padding);
    packet
}

fn kex_init(key_exchange: &str, host_key: &str, ciphers: [&str; 2]) -> Vec<u8> {
    let mut payload = vec![7; 16];
    for list in [
        key_exchange,
        host_key,
        ciphers[0],
        ciphers[1],
        "m",
        "m",
        "none",
        "none",
        "",
        "",
    ] {
        payload.extend(string(list.as_bytes()));
    }
    payload.extend([0; 5]);
    packet(20, &payload)
}

fn reply(number: u8, key: &str, signature: &str) -> Vec<u8> {
    let blob = [string(key.as_bytes()), string(&[1, 0, 1]), string(&[0, 0xff, 1, 2])].concat();
    let signature = [string(signature.as_bytes()), string(b"signed")].concat();
    packet(number, &[string(&blob), string(&[9; 32]), string(&signature)].concat())
}

/// Messages of client and server in turn.
fn conversation() -> Vec<(Side, Vec<u8>)> {
    vec![
        (Side::Client, b"SSH-2.0-client\r\n".to_vec()),
        (Side::Server, b"a line before it\r\nSSH-2.0-server\n".to_vec()),
        (
            Side::Client,
            kex_init(
                "x,mlkem768x25519-sha256,curve25519-sha256,ext-info-c",
                "ssh-ed25519,rsa-sha2-512",
                ["a,b", "none"],
            ),
        ),
        (
            Side::Server,
            kex_init(
                "curve25519-sha256,mlkem768x25519-sha256",
                "rsa-sha2-512",
                ["b", "a,none"],
            ),
        ),
        (Side::Client, packet(30, &string(&[3; 1216]))),
        (
            Side::Server,
            [reply(31, "ssh-rsa", "rsa-sha2-512"), packet(21, &[])].concat(),
        ),
        (Side::Client, [packet(21, &[]), vec![0xee; 100]].concat()),
        (Side::Server, vec![0xdd; 50]),
    ]
}

fn read(conversation: &[(Side, Vec<u8>)], piece: usize) -> (Ssh, bool) {
    let mut session = Session::new();
    let mut turned = false;
    for (number, (from, bytes)) in conversation.iter().enumerate() {
        let from = match (turned, from) {
            (false, from) => *from,
            (true, Side::Client) => Side::Server,
            (true, Side::Server) => Side::Client,
        };
        for bytes in bytes.chunks(piece) {
            turned |= session.data(from, bytes, moment(number as u64 + 1));
        }
    }
    (session.outcome(), turned)
}

#[test]
fn a_second_list_of_methods_and_messages_of_services_before_the_keys_are_reported() {
    let mut conversation = conversation();
    let (ssh, _) = read(&conversation, 17);
    assert_eq!((ssh.server.second_kex_init, ssh.client.readable), (None, None));
    let another = kex_init("curve25519-sha256", "rsa-sha2-512", ["b", "a,none"]);
    conversation.insert(4, (Side::Server, another));
    conversation.insert(5, (Side::Client, packet(94, &string(b"data"))));
    let (ssh, _) = read(&conversation, 17);
    assert_eq!(ssh.server.second_kex_init, Some(moment(5)));
    assert_eq!(ssh.client.readable, Some(moment(6)));
    assert_eq!((ssh.client.second_kex_init, ssh.server.readable), (None, None));
}

#[test]
fn the_length_of_each_half_of_the_exchange_is_that_of_the_last_message_with_one() {
    let shares = |conversation: &[(Side, Vec<u8>)], piece| {
        let (ssh, _) = read(conversation, piece);
        [ssh.client.share, ssh.server.share].map(|share| share.map(|seen| seen.value))
    };
    let mut conversation = conversation();
    for piece in [1, 17, 5000] {
        assert_eq!(shares(&conversation, piece), [Some(1216), Some(32)]);
    }
    // A guess that the server ignores comes before the message that counts.
    conversation.insert(3, (Side::Client, packet(30, &string(&[4; 32]))));
    assert_eq!(shares(&conversation, 17), [Some(1216), Some(32)]);
    // Behind the half nothing stands.
    conversation.insert(
        6,
        (Side::Client, packet(30, &[string(&[4; 1216]), vec![0; 4]].concat())),
    );
    assert_eq!(shares(&conversation, 17), [None, Some(32)]);
}

#[test]
fn the_first_of_the_clients_methods_that_the_server_has_is_agreed_on() {
    for piece in [1, 2, 5, 17, 5000] {
        let (ssh, turned) = read(&conversation(), piece);
        assert!(!turned && ssh.established());
        assert_eq!(ssh.key_exchange(), Some("mlkem768x25519-sha256"));
        assert_eq!(ssh.host_key_algorithm(), Some("rsa-sha2-512"));
        assert_eq!(
            (ssh.cipher(Side::Client), ssh.cipher(Side::Server)),
            (Some("b"), Some("none"))
        );
        assert_eq!(ssh.server.identification.unwrap().value, "SSH-2.0-server");
        let host_key = ssh.host_key.unwrap();
        assert_eq!((host_key.first, host_key.value.key.as_str()), (moment(6), "ssh-rsa"));
        assert_eq!(
            (host_key.value.signature.as_str(), host_key.value.bits),
            ("rsa-sha2-512", Some(24))
        );
        assert_eq!((ssh.client.protected_bytes, ssh.server.protected_bytes), (100, 50));
        assert_eq!(ssh.client.kex_init.unwrap().first, moment(3));
    }
}

#[test]
fn who_sends_the_first_half_is_the_client_whoever_connected() {
    let called_home: Vec<(Side, Vec<u8>)> = conversation()
        .into_iter()
        .map(|(from, bytes)| {
            (
                if from == Side::Client {
                    Side::Server
                } else {
                    Side::Client
                },
                bytes,
            )
        })
        .collect();
    for piece in [1, 5000] {
        let (ssh, turned) = read(&called_home, piece);
        assert!(turned);
        assert_eq!(ssh, read(&conversation(), piece).0);
    }
}

#[test]
fn the_group_of_a_group_exchange_is_no_host_key() {
    let mut session = Session::new();
    session.data(Side::Server, b"SSH-2.0-s\r\n", moment(1));
    let group = [string(&[[0, 0xfd].as_slice(), &[0x5a; 255]].concat()), string(&[2])].concat();
    session.data(Side::Server, &packet(31, &group), moment(2));
    session.data(Side::Server, &reply(33, "ssh-ed25519", "ssh-ed25519"), moment(3));
    let host_key = session.outcome().host_key.unwrap();
    assert_eq!(
        (host_key.first, host_key.value.key.as_str(), host_key.value.bits),
        (moment(3), "ssh-ed25519", None)
    );
}

#[test]
fn missing_bytes_before_the_new_keys_end_the_reading_and_behind_them_do_not() {
    let mut session = Session::new();
    session.data(Side::Client, b"SSH-2.0-c\r\n", moment(1));
    session.gap(Side::Client, moment(2));
    session.data(Side::Client, &kex_init("a", "b", ["c", "d"]), moment(3));
    session.data(Side::Server, b"SSH-2.0-s\r\n", moment(4));
    session.data(Side::Server, &packet(21, &[]), moment(5));
    session.gap(Side::Server, moment(6));
    session.data(Side::Server, &[1; 9], moment(7));
    let ssh = session.outcome();
    assert_eq!((ssh.client.lost, ssh.client.kex_init), (Some(moment(2)), None));
    assert_eq!((ssh.server.lost, ssh.server.protected_bytes), (None, 9));
}

#[test]
fn lengths_and_lines_that_cannot_be_right_end_the_reading() {
    for (bytes, held) in [
        (&b"SSH-2.0-c\r\n\x7f\xff\xff\xff"[..], 100),
        (b"SSH-2.0-c\r\n\0\0\0\x05", 100),
        (b"SSH-2.0-c\r\n\0\0\0\x06\x06\x14aaaa", 100),
        (&[b'S'; 1000], 600),
    ] {
        let mut session = Session::new();
        session.data(Side::Client, bytes, moment(1));
        assert!(session.held() <= held, "{}", session.held());
        assert_eq!(session.outcome().client.lost, Some(moment(1)), "{bytes:?}");
    }
}

proptest! {
    #[test]
    fn pieces_give_what_the_whole_gives(said in proptest::collection::vec((any::<bool>(), 0..8_usize, any::<u16>(), any::<u8>()), 0..12), piece in 1..400_usize) {
        // Parts of a conversation in any order, each with a byte changed.
        let parts = conversation();
        let said: Vec<(Side, Vec<u8>)> = said.into_iter().map(|(client, part, place, byte)| {
            let mut bytes = parts[part].1.clone();
            let place = usize::from(place) % bytes.len();
            bytes[place] ^= byte & 3;
            (if client { Side::Client } else { Side::Server }, bytes)
        }).collect();
        prop_assert_eq!(read(&said, piece).0, read(&said, usize::MAX).0);
    }

    #[test]
    fn no_bytes_make_a_session_panic_or_grow(said in proptest::collection::vec((any::<bool>(), proptest::collection::vec(any::<u8>(), 0..600)), 0..20)) {
        let mut session = Session::new();
        session.data(Side::Client, b"SSH-2.0-c\r\n", moment(1));
        for (client, bytes) in &said {
            session.data(if *client { Side::Client } else { Side::Server }, bytes, moment(2));
        }
        prop_assert!(session.held() <= 3 * (PACKET + 4 * 4096), "{}", session.held());
    }
}
