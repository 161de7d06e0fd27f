use std::collections::VecDeque;

use tokio::io::AsyncWriteExt;

use super::*;

const FLIGHT: &[u8] = &[23, 3, 3, 0, 4, 1, 2, 3, 4];

/// Writes one after the other, each of them with as many bytes as it has to take.
#[derive(Debug, Default)]
struct Socket {
    takes: VecDeque<usize>,
    writes: Vec<Vec<u8>>,
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(context, &[IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let all: Vec<u8> = slices.iter().flat_map(|slice| slice.iter()).copied().collect();
        let taken = all.len().min(this.takes.pop_front().unwrap_or(usize::MAX));
        this.writes.push(all[..taken].to_vec());
        Poll::Ready(Ok(taken))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

fn tap(takes: &[usize]) -> Tap<Socket> {
    Tap {
        io: Socket {
            takes: takes.iter().copied().collect(),
            writes: Vec::new(),
        },
        watch: None,
        shaking: true,
        spill: Vec::new(),
        taken: 0,
        kept_back: &[],
    }
}

#[tokio::test]
async fn a_lone_change_cipher_spec_leaves_with_the_next_flight() {
    let mut tap = tap(&[]);
    tap.write_all(b"hello").await.unwrap();
    tap.write_all(DUMMY).await.unwrap();
    tap.flush().await.unwrap();
    assert_eq!(tap.io.writes, [b"hello"]);
    tap.write_all(FLIGHT).await.unwrap();
    assert_eq!(tap.io.writes[1..], [[DUMMY, FLIGHT].concat()]);
    tap.write_all(FLIGHT).await.unwrap();
    assert_eq!(tap.io.writes[2..], [FLIGHT]);
}

#[tokio::test]
async fn every_byte_leaves_once_and_in_order_however_little_the_socket_takes() {
    for first in 1..DUMMY.len() + FLIGHT.len() {
        for second in 1..DUMMY.len() + 1 {
            let mut tap = tap(&[first, second, 1]);
            tap.write_all(DUMMY).await.unwrap();
            tap.write_all(FLIGHT).await.unwrap();
            assert_eq!(tap.io.writes.concat(), [DUMMY, FLIGHT].concat(), "{first} {second}");
        }
    }
}

#[tokio::test]
async fn nothing_is_kept_back_that_is_not_a_lone_change_cipher_spec_of_a_handshake() {
    let mut with_more = tap(&[]);
    let hello_again = [DUMMY, &[22, 3, 3, 0, 1, 1]].concat();
    with_more.write_all(&hello_again).await.unwrap();
    assert_eq!(
        with_more.io.writes,
        [hello_again],
        "a second ClientHello waits for nothing"
    );
    let mut ended = tap(&[]);
    ended.handshake_ended();
    ended.write_all(DUMMY).await.unwrap();
    assert_eq!(ended.io.writes, [DUMMY]);
}
