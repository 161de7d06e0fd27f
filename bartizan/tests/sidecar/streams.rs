//! Single streams through both sidecars: resets with their codes, refusals that may be sent again, and silence.
//!
//! The producer and the consumer here are small programs over the `h2` crate, because no other lets
//! a stream be reset by hand.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use h2::Reason;
use h2::client::SendRequest;
use h2::server::SendResponse;
use http::{Request, Response};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::stage::{By, PAIRS, PATIENCE, Pair, Stage, until};

type Received = (Request<h2::RecvStream>, SendResponse<Bytes>);

/// Serves HTTP/2 without TLS: `each` gets the number of the request over all connections. With
/// `one_each`, a connection sends GOAWAY after its first request.
async fn produce<F>(
    address: SocketAddr,
    one_each: bool,
    each: impl Fn(usize, Received) -> F + Send + Sync + 'static,
) -> Arc<AtomicUsize>
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind(address).await.expect("the producer's port");
    let count = Arc::new(AtomicUsize::new(0));
    let (counted, each) = (Arc::clone(&count), Arc::new(each));
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (counted, each) = (Arc::clone(&counted), Arc::clone(&each));
            tokio::spawn(async move {
                let Ok(mut connection) = h2::server::handshake(stream).await else {
                    return;
                };
                while let Some(Ok(received)) = connection.accept().await {
                    tokio::spawn(each(counted.fetch_add(1, Ordering::SeqCst), received));
                    if one_each {
                        connection.graceful_shutdown();
                    }
                }
            });
        }
    });
    count
}

async fn consume(address: SocketAddr) -> SendRequest<Bytes> {
    let stream = TcpStream::connect(address).await.expect("the sidecar listens");
    let (sender, connection) = h2::client::handshake(stream).await.expect("HTTP/2");
    tokio::spawn(connection);
    sender.ready().await.expect("a connection")
}

fn post(path: &str) -> Request<()> {
    Request::post(format!("http://nrf{path}")).body(()).expect("a request")
}

async fn in_time<T>(what: &str, future: impl Future<Output = T>) -> T {
    timeout(PATIENCE, future)
        .await
        .unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime")
}

#[test]
fn a_consumers_reset_reaches_the_producer_with_its_code() {
    for (outbound, inbound) in PAIRS {
        let mut stage = Stage::new();
        let pair = Pair::new(outbound, inbound);
        let running = stage.run(&pair);
        runtime().block_on(async {
            let (seen, mut saw) = tokio::sync::mpsc::unbounded_channel();
            let _count = produce(pair.ports.function, false, move |_, (_request, mut respond)| {
                let seen = seen.clone();
                async move {
                    seen.send(None).expect("the test listens");
                    let reset = std::future::poll_fn(|context| respond.poll_reset(context)).await;
                    seen.send(reset.ok()).expect("the test listens");
                }
            })
            .await;
            let mut consumer = consume(running.ports.outbound).await;
            let (_response, mut stream) = consumer.send_request(post("/slow"), false).expect("sent");
            assert_eq!(in_time("the request", saw.recv()).await, Some(None));
            stream.send_reset(Reason::ENHANCE_YOUR_CALM);
            let seen = in_time("the reset", saw.recv()).await;
            assert_eq!(seen, Some(Some(Reason::ENHANCE_YOUR_CALM)), "{pair:?}");
        });
    }
}

#[test]
fn a_producers_reset_reaches_the_consumer_with_its_code_before_and_in_the_body() {
    for (outbound, inbound) in PAIRS {
        let mut stage = Stage::new();
        let pair = Pair::new(outbound, inbound);
        let running = stage.run(&pair);
        runtime().block_on(async {
            let arrived = Arc::new(Notify::new());
            let of_producer = Arc::clone(&arrived);
            let _count = produce(pair.ports.function, false, move |_, (request, mut respond)| {
                let arrived = Arc::clone(&of_producer);
                async move {
                    if request.uri().path() == "/before" {
                        respond.send_reset(Reason::INADEQUATE_SECURITY);
                        return;
                    }
                    let mut stream = respond.send_response(Response::new(()), false).expect("a head");
                    stream.send_data(Bytes::from_static(b"half"), false).expect("a part");
                    // The part must have arrived, or the reset could overtake it on its way.
                    arrived.notified().await;
                    stream.send_reset(Reason::HTTP_1_1_REQUIRED);
                }
            })
            .await;
            let mut consumer = consume(running.ports.outbound).await;
            let (response, _) = consumer.send_request(post("/before"), true).expect("sent");
            let error = in_time("the reset", response).await.expect_err("no response");
            assert_eq!(error.reason(), Some(Reason::INADEQUATE_SECURITY), "{pair:?}");

            let mut consumer = consumer.ready().await.expect("the connection is still good");
            let (response, _) = consumer.send_request(post("/within"), true).expect("sent");
            let mut body = in_time("the head", response).await.expect("a head").into_body();
            let first = in_time("a part", body.data()).await.expect("a part").expect("a part");
            assert_eq!(&first[..], b"half");
            arrived.notify_one();
            let error = in_time("the reset", body.data())
                .await
                .expect("an end")
                .expect_err("no clean one");
            assert_eq!(error.reason(), Some(Reason::HTTP_1_1_REQUIRED), "{pair:?}");
        });
    }
}

#[test]
fn a_request_the_producer_refused_unprocessed_is_sent_again_with_its_body() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let running = stage.run(&pair);
    runtime().block_on(async {
        let count = produce(
            pair.ports.function,
            false,
            |number, (request, mut respond)| async move {
                if number == 0 {
                    respond.send_reset(Reason::REFUSED_STREAM);
                    return;
                }
                let mut body = request.into_body();
                let mut all = Vec::new();
                while let Some(Ok(part)) = body.data().await {
                    let _ = body.flow_control().release_capacity(part.len());
                    all.extend_from_slice(&part);
                }
                let mut stream = respond.send_response(Response::new(()), false).expect("a head");
                stream.send_data(all.into(), true).expect("an echo");
            },
        )
        .await;
        let mut consumer = consume(running.ports.outbound).await;
        let (response, mut stream) = consumer.send_request(post("/x"), false).expect("sent");
        stream
            .send_data(Bytes::from_static(b"kept until it is answered"), true)
            .expect("sent");
        let response = in_time("the response", response).await.expect("a response");
        assert_eq!(response.status(), 200);
        let echo = in_time("the echo", response.into_body().data()).await;
        assert_eq!(echo.expect("a part").expect("a part"), "kept until it is answered");
        assert_eq!(count.load(Ordering::SeqCst), 2);
    });
    let retried = running
        .nrf
        .metric("bartizan_sidecar_retries_total", &["reason=\"refused-stream\""]);
    assert_eq!(retried, Some(1.0));
}

/// Both sidecars of a request send it again, each a few times; a producer that has too much to do
/// is not given hundreds of it for one.
#[test]
fn a_producer_that_refuses_every_stream_is_spared_and_the_consumer_learns_of_it() {
    let mut stage = Stage::new();
    let pair = Pair::new(By::Http2, By::Http2);
    let running = stage.run(&pair);
    runtime().block_on(async {
        let count = produce(pair.ports.function, false, |_, (_, mut respond)| async move {
            respond.send_reset(Reason::REFUSED_STREAM);
        })
        .await;
        let mut consumer = consume(running.ports.outbound).await;
        let (response, _) = consumer.send_request(post("/x"), true).expect("sent");
        let refused = in_time("the refusal", response).await.expect_err("no response");
        assert_eq!(refused.reason(), Some(Reason::REFUSED_STREAM));
        assert_eq!(count.load(Ordering::SeqCst), 36);
    });
}

#[test]
fn a_producer_that_sends_goaway_after_every_request_loses_none() {
    const REQUESTS: usize = 300;
    for by in [By::Splice, By::Http2] {
        let mut stage = Stage::new();
        let pair = Pair::new(By::Http2, by);
        let running = stage.run(&pair);
        runtime().block_on(async {
            let count = produce(pair.ports.function, true, |_, (_, mut respond)| async move {
                let _ = respond.send_response(Response::new(()), true);
            })
            .await;
            let mut consumer = consume(running.ports.outbound).await;
            for number in 0..REQUESTS {
                let (response, _) = consumer.send_request(post(&format!("/{number}")), true).expect("sent");
                let response = in_time("a response", response).await.expect("a response");
                assert_eq!(response.status(), 200, "request {number}");
                consumer = consumer.ready().await.expect("the consumer's own connection stays");
            }
            assert_eq!(count.load(Ordering::SeqCst), REQUESTS, "none twice");
        });
    }
}

#[test]
fn a_silent_producer_becomes_a_timeout_that_says_so() {
    let mut stage = Stage::new();
    let pair = Pair {
        limits: "request: 2s".to_owned(),
        ..Pair::new(By::Http2, By::Splice)
    };
    let running = stage.run(&pair);
    // The time is the producer's alone.
    until("a connection", || !running.nrf.connections().is_empty());
    runtime().block_on(async {
        let _count = produce(pair.ports.function, false, |_, received| async move {
            std::future::pending::<()>().await;
            drop(received);
        })
        .await;
        let mut consumer = consume(running.ports.outbound).await;
        let (response, _) = consumer.send_request(post("/never"), true).expect("sent");
        let response = in_time("the timeout", response).await.expect("a response");
        assert_eq!(response.status(), 504);
        assert_eq!(response.headers()["server"], "bartizan (amf)");
        let body = in_time("its body", response.into_body().data())
            .await
            .expect("a part")
            .expect("a part");
        let problem: serde_json::Value = serde_json::from_slice(&body).expect("ProblemDetails");
        assert_eq!(problem["cause"], "TIMED_OUT_REQUEST");
        assert_eq!(problem["peer"], "nrf");
    });
    assert_eq!(
        running
            .amf
            .metric("bartizan_sidecar_limits_reached_total", &["limit=\"request\""]),
        Some(1.0)
    );
}

#[test]
fn interim_responses_reach_the_consumer_before_the_final_one() {
    for (outbound, inbound) in PAIRS {
        let mut stage = Stage::new();
        let pair = Pair::new(outbound, inbound);
        let running = stage.run(&pair);
        runtime().block_on(async {
            let _count = produce(pair.ports.function, false, |_, (_request, mut respond)| async move {
                let early = Response::builder().status(103).header("link", "</x>");
                respond
                    .send_informational(early.body(()).expect("a head"))
                    .expect("an interim response");
                respond.send_response(Response::new(()), true).expect("a head");
            })
            .await;
            let mut consumer = consume(running.ports.outbound).await;
            let (mut response, _) = consumer.send_request(post("/early"), true).expect("sent");
            let interim = std::future::poll_fn(|context| response.poll_informational(context));
            let interim = in_time("the interim response", interim).await;
            let interim = interim.expect("one").expect("a head");
            assert_eq!(
                (interim.status().as_u16(), &interim.headers()["link"]),
                (103, &"</x>".parse().expect("a value"))
            );
            assert_eq!(
                in_time("the response", response).await.expect("a head").status(),
                200,
                "{pair:?}"
            );
        });
    }
}
