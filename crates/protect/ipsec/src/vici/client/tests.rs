//! Against a socket that is no charon: what answers is written here.

use std::io::Read;
use std::os::unix::net::UnixListener;
use std::thread;

use super::super::Section;
use super::*;

const LONG: Duration = Duration::from_secs(60);

/// A socket whose first connection is handed to `serve`, and a client of it.
fn with_server<T>(patience: Duration, serve: impl FnOnce(UnixStream) + Send, ask: impl FnOnce(Client) -> T) -> T {
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("vici");
    let listener = UnixListener::bind(&socket).expect("a socket");
    thread::scope(|scope| {
        scope.spawn(|| serve(listener.accept().expect("a client").0));
        ask(Client::connect(&socket, patience).expect("it listens"))
    })
}

/// Reads one packet, then writes these bytes and goes.
fn answering(bytes: Vec<u8>) -> impl FnOnce(UnixStream) + Send {
    move |mut stream| {
        take(&mut stream);
        stream.write_all(&bytes).expect("the client reads");
    }
}

fn take(stream: &mut UnixStream) -> Packet {
    let mut length = [0; 4];
    stream.read_exact(&mut length).expect("a length");
    let mut bytes = vec![0; u32::from_be_bytes(length) as usize];
    stream.read_exact(&mut bytes).expect("a packet");
    Packet::decode(&bytes).expect("well-formed")
}

fn packets(packets: &[Packet]) -> Vec<u8> {
    packets
        .iter()
        .flat_map(|packet| framed(packet).expect("small"))
        .collect()
}

#[test]
fn a_socket_that_is_not_there_or_that_nobody_serves_is_an_absent_charon() {
    let directory = tempfile::tempdir().expect("a directory");
    let socket = directory.path().join("vici");
    let absent = |socket: &Path| matches!(Client::connect(socket, LONG), Err(Error::Absent(_)));
    assert!(absent(&socket));
    drop(UnixListener::bind(&socket).expect("a socket"));
    assert!(absent(&socket));
}

#[test]
fn a_refusal_carries_charons_own_words() {
    let no = Section::new()
        .with("success", "no")
        .with("errmsg", "unknown connection");
    let error = with_server(LONG, answering(packets(&[Packet::Response(no)])), |mut client| {
        client.command("unload-conn", Section::new().with("name", "e2"))
    });
    assert!(matches!(error, Err(Error::Refused { reason, .. }) if reason == "unknown connection"));
}

#[test]
fn a_command_that_charon_does_not_have_is_unknown() {
    let error = with_server(LONG, answering(packets(&[Packet::UnknownCommand])), |mut client| {
        client.request("fly", Section::new())
    });
    assert!(matches!(error, Err(Error::Unknown(what)) if what == "fly"));
}

#[test]
fn an_answer_that_is_no_packet_is_nonsense() {
    for bytes in [
        b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
        vec![0, 0, 0, 1, 9],
        packets(&[Packet::Confirm]),
    ] {
        let error = with_server(LONG, answering(bytes), |mut client| {
            client.request("version", Section::new())
        });
        assert!(matches!(error, Err(Error::Nonsense { .. })), "{error:?}");
    }
}

#[test]
fn a_charon_that_goes_away_in_the_middle_has_died() {
    let whole = packets(&[Packet::Response(Section::new().with("version", "6.1.0"))]);
    for length in [0, 3, whole.len() - 1] {
        let error = with_server(LONG, answering(whole[..length].to_vec()), |mut client| {
            client.request("version", Section::new())
        });
        assert!(matches!(error, Err(Error::Died(_))), "{error:?}");
    }
}

#[test]
fn a_charon_that_says_nothing_has_stalled_also_when_it_goes_on_sending_events() {
    let event = framed(&Packet::Event {
        name: "log".into(),
        message: Section::new(),
    })
    .expect("small");
    let error = with_server(
        Duration::from_millis(200),
        |mut stream| {
            take(&mut stream);
            // Until the client has given up and gone.
            while stream.write_all(&event).is_ok() {
                thread::sleep(Duration::from_millis(5));
            }
        },
        |mut client| client.request("version", Section::new()),
    );
    assert!(matches!(error, Err(Error::Stalled { .. })), "{error:?}");
}

#[test]
fn a_charon_that_does_not_read_has_stalled() {
    // More than a socket holds: the write itself has to give up.
    let big = (0..8).fold(Section::new(), |message, _| message.with("data", "v".repeat(60_000)));
    let (gone, wait_until_gone) = std::sync::mpsc::channel::<()>();
    let error = with_server(
        Duration::from_millis(200),
        // Ends when the client has closed its end of the channel.
        move |_stream| assert!(wait_until_gone.recv().is_err()),
        move |mut client| {
            let error = client.request("load-cert", big);
            drop(gone);
            error
        },
    );
    assert!(matches!(error, Err(Error::Stalled { .. })), "{error:?}");
}

#[test]
fn rows_are_collected_and_other_events_wait_their_turn() {
    let row = |name: &str| Packet::Event {
        name: "list-sa".into(),
        message: Section::new().with("name", name),
    };
    let other = Packet::Event {
        name: "child-rekey".into(),
        message: Section::new(),
    };
    with_server(
        LONG,
        |mut stream| {
            assert_eq!(take(&mut stream), Packet::Register("list-sa".into()));
            stream.write_all(&packets(&[Packet::Confirm])).expect("sent");
            assert!(matches!(take(&mut stream), Packet::Request { command, .. } if command == "list-sas"));
            let rows = packets(&[row("a"), other, row("b"), Packet::Response(Section::new())]);
            stream.write_all(&rows).expect("sent");
            assert_eq!(take(&mut stream), Packet::Unregister("list-sa".into()));
            stream.write_all(&packets(&[Packet::Confirm])).expect("sent");
        },
        |mut client| {
            let rows = client.streamed("list-sas", "list-sa", Section::new()).expect("rows");
            let names: Vec<_> = rows.iter().filter_map(|row| row.text("name")).collect();
            assert_eq!(names, ["a", "b"]);
            let event = client.event(LONG).expect("an event").expect("it waited");
            assert_eq!(event.name, "child-rekey");
            assert!(matches!(client.event(LONG), Err(Error::Died(_))));
        },
    );
}
