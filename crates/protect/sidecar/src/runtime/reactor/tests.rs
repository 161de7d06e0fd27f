use std::future::{pending, poll_fn};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream as Socket};
use std::sync::mpsc::channel;
use std::task::Poll;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};

use super::*;

const PATIENCE: Duration = Duration::from_secs(120);

fn pair() -> (Socket, Socket) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let one = Socket::connect(listener.local_addr().unwrap()).unwrap();
    (one, listener.accept().unwrap().0)
}

#[test]
fn tasks_wake_one_another_across_threads_and_by_time() {
    let thread = Thread::start("test").unwrap();
    let (questions, mut asked) = mpsc::unbounded_channel::<u32>();
    let (answers, answered) = channel();
    let reactor = thread.reactor().clone();
    thread.reactor().spawn(async move {
        while let Some(question) = asked.recv().await {
            let began = now();
            assert_eq!(within(&reactor, Duration::from_millis(5), pending::<()>()).await, None);
            assert!(Instant::now() - began >= Duration::from_millis(5));
            assert_eq!(within(&reactor, PATIENCE, async { 7 }).await, Some(7));
            answers.send(question + 1).unwrap();
        }
    });
    for question in 0..100 {
        questions.send(question).unwrap();
        assert_eq!(answered.recv_timeout(PATIENCE).unwrap(), question + 1);
    }
    drop(questions);
    assert!(answered.recv_timeout(PATIENCE).is_err());
}

#[test]
fn octets_pass_in_both_directions_however_many_and_the_end_is_seen() {
    let thread = Thread::start("test").unwrap();
    let (mut here, there) = pair();
    let mut stream = TcpStream::new(there, thread.reactor()).unwrap();
    thread.reactor().spawn(async move {
        // More than the sockets hold, so that both directions wait for the other.
        let mut octets = vec![0; 100_000];
        loop {
            let read = stream.read(&mut octets).await.unwrap();
            if read == 0 {
                return stream.shutdown().await.unwrap();
            }
            stream.write_all(&octets[..read]).await.unwrap();
        }
    });
    let mut writing = here.try_clone().unwrap();
    let sent: Vec<u8> = (0..20_000_000_u32).map(|number| (number / 7) as u8).collect();
    let expected = sent.clone();
    let writer = thread::spawn(move || {
        writing.write_all(&sent).unwrap();
        writing.shutdown(std::net::Shutdown::Write).unwrap();
    });
    here.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut received = Vec::new();
    here.read_to_end(&mut received).unwrap();
    writer.join().unwrap();
    assert!(received == expected);
}

#[test]
fn an_alarm_that_is_moved_rings_at_the_last_time() {
    // Milliseconds, later than any machine rings.
    const LATE: u64 = 300_000;
    let thread = Thread::start("test").unwrap();
    for moves in [vec![20], vec![LATE, 20], vec![5, 20], vec![5, LATE, 20]] {
        let (done, waited) = oneshot::channel();
        let reactor = thread.reactor().clone();
        thread.reactor().spawn(async move {
            let began = now();
            let mut alarm = Alarm::of(&reactor);
            let after = |milliseconds| began + Duration::from_millis(milliseconds);
            for milliseconds in &moves[..moves.len() - 1] {
                let _ = poll_fn(|context| Poll::Ready(alarm.poll(after(*milliseconds), context))).await;
            }
            poll_fn(|context| alarm.poll(after(20), context)).await;
            let _ = done.send(began.elapsed());
        });
        let waited = waited.blocking_recv().unwrap();
        assert!((20..u128::from(LATE)).contains(&waited.as_millis()), "{waited:?}");
    }
}

#[test]
fn a_task_that_panics_ends_alone_and_all_end_with_the_thread() {
    let thread = Thread::start("test").unwrap();
    let (held, dropped) = channel::<()>();
    thread.reactor().spawn(async { panic!("a task that panics") });
    thread.reactor().spawn(async move {
        let _held = held;
        pending::<()>().await;
    });
    let (done, finished) = oneshot::channel();
    thread.reactor().spawn(async move { done.send(7).unwrap() });
    assert_eq!(finished.blocking_recv(), Ok(7));
    assert!(
        dropped
            .recv_timeout(Duration::from_millis(20))
            .is_err_and(|error| error == std::sync::mpsc::RecvTimeoutError::Timeout)
    );
    drop(thread);
    assert_eq!(
        dropped.recv_timeout(PATIENCE),
        Err(std::sync::mpsc::RecvTimeoutError::Disconnected)
    );
}
