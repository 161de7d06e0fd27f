use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader, DuplexStream, duplex};

use super::*;

const PATIENCE: Duration = Duration::from_secs(60);

/// Function, its end of the local leg, peer, its end of the "TLS" leg; `bytes` fit into a leg.
fn legs(bytes: usize) -> (DuplexStream, DuplexStream, DuplexStream, BufReader<DuplexStream>) {
    let (function, local) = duplex(bytes);
    let (peer, tls) = duplex(bytes);
    (function, local, peer, BufReader::new(tls))
}

#[tokio::test]
async fn bytes_pass_in_both_directions_and_each_half_closes_by_itself() {
    let (mut function, mut local, mut peer, mut tls) = legs(1024);
    let splice = tokio::spawn(async move { Splice::new(&mut local, &mut tls, b"fi".to_vec(), PATIENCE).await });
    function.write_all(b"rst").await.unwrap();
    function.shutdown().await.unwrap();
    let mut heard = Vec::new();
    peer.read_to_end(&mut heard).await.unwrap();
    assert_eq!(heard, b"first");
    peer.write_all(b"answer").await.unwrap();
    drop(peer);
    let mut heard = Vec::new();
    function.read_to_end(&mut heard).await.unwrap();
    assert_eq!(heard, b"answer");
    assert!(matches!(splice.await.unwrap(), Ended::Done));
}

#[tokio::test]
async fn a_megabyte_passes_through_legs_that_hold_seven_bytes() {
    let (function, mut local, mut peer, mut tls) = legs(7);
    let splice = tokio::spawn(async move { Splice::new(&mut local, &mut tls, Vec::new(), PATIENCE).await });
    let sent: Vec<u8> = (0..1_000_000_u32).map(|number| number as u8).collect();
    let body = sent.clone();
    let (mut hears, mut says) = tokio::io::split(function);
    tokio::spawn(async move {
        says.write_all(&body).await.unwrap();
        says.shutdown().await.unwrap();
    });
    // The peer echoes the body, so a task must read while the body is still being sent.
    let listener = tokio::spawn(async move {
        let mut back = Vec::new();
        hears.read_to_end(&mut back).await.unwrap();
        back
    });
    let (mut reads, mut writes) = tokio::io::split(&mut peer);
    tokio::io::copy(&mut reads, &mut writes).await.unwrap();
    writes.shutdown().await.unwrap();
    assert!(listener.await.unwrap() == sent);
    assert!(matches!(splice.await.unwrap(), Ended::Done));
}

#[tokio::test]
async fn a_peer_that_ends_without_a_word_gives_back_what_was_said() {
    let (mut function, mut local, mut peer, mut tls) = legs(1024);
    function.write_all(b" and more").await.unwrap();
    let splice = tokio::spawn(async move {
        let ended = Splice::new(&mut local, &mut tls, b"first".to_vec(), PATIENCE).await;
        (ended, local)
    });
    let mut heard = [0; 14];
    peer.read_exact(&mut heard).await.unwrap();
    drop(peer);
    let (ended, _local) = splice.await.unwrap();
    match ended {
        Ended::Unanswered(Some(said), _) => assert_eq!(said, b"first and more"),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_peer_that_has_spoken_is_not_answered_for() {
    let (mut function, mut local, mut peer, mut tls) = legs(1024);
    peer.write_all(b"x").await.unwrap();
    drop(peer);
    let splice = tokio::spawn(async move { Splice::new(&mut local, &mut tls, b"first".to_vec(), PATIENCE).await });
    let mut heard = [0];
    function.read_exact(&mut heard).await.unwrap();
    drop(function);
    assert!(matches!(splice.await.unwrap(), Ended::Done | Ended::Broken(_)));
}

#[tokio::test(start_paused = true)]
async fn a_half_closed_connection_does_not_stay_for_ever() {
    let (function, mut local, peer, mut tls) = legs(1024);
    drop(function);
    let ended = Splice::new(&mut local, &mut tls, Vec::new(), PATIENCE).answered().await;
    assert!(matches!(ended, Ended::HalfClosed));
    drop(peer);
}

#[tokio::test]
async fn a_slow_reader_stops_the_writer() {
    let (mut function, mut local, peer, mut tls) = legs(1024);
    let splice = tokio::spawn(async move { Splice::new(&mut local, &mut tls, Vec::new(), PATIENCE).await });
    let mut taken = 0;
    // The peer reads nothing: what the legs and one scratch buffer hold is all that can be taken.
    while let Ok(Ok(written)) = tokio::time::timeout(Duration::from_millis(200), function.write(&[0; 1024])).await {
        taken += written;
        assert!(taken < 2 * crate::runtime::scratch::SCRATCH);
    }
    drop((function, peer));
    splice.await.unwrap();
}

/// A function that answered before it had read the request, and closed, took its answer with it.
#[tokio::test]
async fn an_answer_arrives_from_a_function_that_does_not_read_the_rest_of_the_request() {
    let (mut function, mut local, mut peer, mut tls) = legs(64);
    let splice = tokio::spawn(async move { Splice::new(&mut local, &mut tls, Vec::new(), PATIENCE).answered().await });
    function.write_all(b"answer").await.unwrap();
    drop(function);
    peer.write_all(&[b'x'; 10_000]).await.unwrap();
    peer.shutdown().await.unwrap();
    let mut heard = Vec::new();
    peer.read_to_end(&mut heard).await.unwrap();
    assert_eq!(heard, b"answer");
    assert!(matches!(splice.await.unwrap(), Ended::Done));
}
