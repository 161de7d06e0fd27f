//! Responses of the HTTP servers of several commands, and bounded request bodies.

use std::time::Duration;

use bytes::Bytes;
use http::header::{ALLOW, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Body as HttpBody;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

/// An answer with a whole body.
pub type Answer = Response<Full<Bytes>>;

/// Time that a body may take in addition to what [`RATE`] allows.
const GRACE: Duration = Duration::from_secs(5);
/// Minimum rate of a body, in octets per second: a slower one keeps a place from others.
const RATE: usize = 16 * 1024;
/// A body up to this size is read without a permit.
const SMALL: usize = 64 * 1024;

/// Body of a request, with the permit that a large one holds.
pub type Body<'a> = (Vec<u8>, Option<SemaphorePermit<'a>>);

/// Reads a body of at most `most` octets, or returns the answer that refuses it. One above
/// 64 KiB needs a permit of `large`, which bounds the memory of all bodies.
///
/// # Errors
/// The answer 408, 413 or 400.
pub async fn body<B>(body: B, most: usize, large: Option<&Semaphore>) -> Result<Body<'_>, Box<Answer>>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    let refuse = |status, text: String| Box::new(plain(status, text));
    let late = |_| refuse(StatusCode::REQUEST_TIMEOUT, "the body came too slowly\n".to_owned());
    let mut body = std::pin::pin!(Limited::new(body, most));
    let (began, mut read, mut permit) = (Instant::now(), Vec::new(), None);
    loop {
        let until = began + GRACE + Duration::from_secs(1) * u32::try_from(read.len() / RATE).unwrap_or(u32::MAX);
        if let Some(large) = large
            && permit.is_none()
            && read.len() > SMALL
        {
            permit = timeout_at(until, large.acquire()).await.map_err(late)?.ok();
        }
        match timeout_at(until, body.frame()).await.map_err(late)? {
            None => return Ok((read, permit)),
            Some(Ok(frame)) => read.extend_from_slice(frame.data_ref().map_or(&[][..], AsRef::as_ref)),
            Some(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                let text = format!("a request has at most {most} bytes\n");
                return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, text));
            }
            Some(Err(_)) => return Err(refuse(StatusCode::BAD_REQUEST, "the body broke off\n".to_owned())),
        }
    }
}

/// Answer 405 that allows `methods`.
#[must_use]
pub fn not_allowed(methods: &'static str) -> Answer {
    let mut answer = plain(StatusCode::METHOD_NOT_ALLOWED, format!("only {methods}\n"));
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
    answer
}

/// Answer in plain text.
pub fn plain(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    typed(status, "text/plain; charset=utf-8", body)
}

/// Answer of this media type.
pub fn typed(status: StatusCode, media_type: &'static str, body: impl Into<Bytes>) -> Answer {
    let mut answer = Response::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
    answer
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use hyper::body::Frame;
    use tokio::time::{Sleep, sleep};

    use super::*;

    /// A body of pieces, each after a pause.
    struct Slow {
        pieces: usize,
        size: usize,
        pause: Duration,
        next: Pin<Box<Sleep>>,
    }

    fn slow(pieces: usize, size: usize, pause: Duration) -> Slow {
        Slow {
            pieces,
            size,
            pause,
            next: Box::pin(sleep(pause)),
        }
    }

    impl HttpBody for Slow {
        type Data = Bytes;
        type Error = std::io::Error;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, std::io::Error>>> {
            if self.pieces == 0 {
                return Poll::Ready(None);
            }
            std::task::ready!(self.next.as_mut().poll(context));
            self.pieces -= 1;
            let then = Instant::now() + self.pause;
            self.next.as_mut().reset(then);
            Poll::Ready(Some(Ok(Frame::data(vec![0; self.size].into()))))
        }
    }

    #[tokio::test(flavor = "current_thread", start_paused = true)]
    async fn a_body_has_a_minimum_rate() {
        let second = Duration::from_secs(1);
        let fast = body(slow(8, RATE, second), 1 << 20, None).await;
        assert_eq!(fast.unwrap().0.len(), 8 * RATE);
        let answer = body(slow(1000, 1, 2 * second), 1 << 20, None).await.unwrap_err();
        assert_eq!(answer.status(), StatusCode::REQUEST_TIMEOUT);
    }

    #[tokio::test(flavor = "current_thread", start_paused = true)]
    async fn small_bodies_need_no_permit_of_large_ones() {
        let none = Semaphore::new(0);
        let pause = Duration::from_millis(1);
        let (read, permit) = body(slow(1, SMALL, pause), 1 << 20, Some(&none)).await.unwrap();
        assert!(read.len() == SMALL && permit.is_none());
        let answer = body(slow(3, SMALL, pause), 1 << 20, Some(&none)).await.unwrap_err();
        assert_eq!(answer.status(), StatusCode::REQUEST_TIMEOUT);
    }
}
