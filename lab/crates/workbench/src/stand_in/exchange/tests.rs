use super::*;
use proptest::prelude::*;

/// A file with one connection and this request.
fn text_with(request: &str) -> String {
    format!(
        r#"{{ "schema": "bartizan-exchange/1",
            "source": {{ "description": "d", "capture": "c", "dissector": "t" }}, "servers": [],
            "connections": [ {{ "opened_us": 5, "server": "NRF", "requests": [ {request} ],
                "closed": {{ "at_us": 9, "by": "client", "with": "FIN" }} }} ] }}"#
    )
}

const REQUEST: &str = r#"{ "stream": 1, "sent_us": 6, "complete_us": 7, "method": "PUT", "scheme": "http",
    "authority": "127.0.0.10:8000", "path": "/a?b=c", "headers": [["accept", "x"], ["accept", "y"]],
    "body": { "hexadecimal": "00ff" },
    "answer": { "sent_us": 8, "complete_us": 8, "status": 204, "headers": [] } }"#;

#[test]
fn request_is_read_with_its_body_and_its_answer() {
    let exchange = Exchange::parse(&text_with(REQUEST)).unwrap();
    let (server, request) = exchange.requests().next().unwrap();
    assert_eq!(
        (server, request.method.as_str(), request.path.as_str()),
        ("NRF", "PUT", "/a?b=c")
    );
    assert_eq!(request.body.as_ref(), [0x00, 0xff]);
    assert_eq!(request.headers.get_all("accept").iter().collect::<Vec<_>>(), ["x", "y"]);
    assert_eq!(request.answer.as_ref().unwrap().status, 204);
    assert_eq!(request.think(), Some(Duration::from_micros(1)));
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    for (from, to, says) in [
        ("\"PUT\"", "\"P T\"", "connection 0, request 0: method `P T`"),
        ("204", "99", "connection 0, request 0: status 99"),
        ("00ff", "0ff", "connection 0, request 0: body: not hexadecimal bytes"),
        ("00ff", "+f", "connection 0, request 0: body: not hexadecimal bytes"),
        (
            "\"accept\", \"x\"",
            "\"\", \"x\"",
            "connection 0, request 0: header name ``",
        ),
        (
            "\"sent_us\": 6",
            "\"sent_us\": -6",
            "invalid value: integer `-6`, expected u64",
        ),
        ("\"stream\": 1", "\"strean\": 1", "unknown field `strean`"),
    ] {
        let text = text_with(&REQUEST.replace(from, to));
        let error = Exchange::parse(&text).unwrap_err().to_string();
        assert!(error.starts_with(says), "{from} -> {to}: {error}");
    }
    let newer = text_with(REQUEST).replace("exchange/1", "exchange/2");
    let error = Exchange::parse(&newer).unwrap_err().to_string();
    assert_eq!(error, "schema `bartizan-exchange/2`, expected `bartizan-exchange/1`");
}

#[test]
fn missing_file_is_named() {
    let error = Exchange::load("/no/such/exchange.json").unwrap_err().to_string();
    assert!(error.starts_with("/no/such/exchange.json: No such file"), "{error}");
}

#[test]
fn two_registrations_are_what_the_capture_has() {
    let exchange = Exchange::two_registrations();
    assert_eq!(exchange.servers(), ["AMF", "AUSF", "NRF", "PCF", "UDM", "UDR"]);
    assert_eq!(exchange.connections().len(), 65);
    assert_eq!(exchange.requests().count(), 73);
    assert_eq!(
        exchange
            .requests()
            .filter(|(_, request)| request.answer.is_none())
            .count(),
        14
    );
    // The body is what the sender said it would be.
    let mut lengths = 0;
    for (server, request) in exchange.requests() {
        let answer = request.answer.as_ref();
        for (headers, body) in [(&request.headers, &request.body)]
            .into_iter()
            .chain(answer.map(|a| (&a.headers, &a.body)))
        {
            if let Some(length) = headers.get("content-length") {
                assert_eq!(
                    length.to_str().unwrap(),
                    body.len().to_string(),
                    "{server} {}",
                    request.path
                );
                lengths += 1;
            }
        }
    }
    assert_eq!(lengths, 31 + 53);
}

#[test]
fn requests_of_a_connection_never_overlap_so_that_they_can_be_played_one_after_another() {
    for connection in Exchange::two_registrations().connections() {
        for pair in connection.requests.windows(2) {
            let answered = pair[0]
                .answer
                .as_ref()
                .expect("a refused request is the last of its connection");
            assert!(answered.complete <= pair[1].sent);
        }
    }
}

#[test]
fn refused_request_is_sent_again_on_another_connection_and_answered() {
    let exchange = Exchange::two_registrations();
    for (server, refused) in exchange.requests().filter(|(_, request)| request.answer.is_none()) {
        let again = exchange.requests().any(|(other, request)| {
            other == server
                && request.answer.is_some()
                && request.sent > refused.sent
                && (&request.method, &request.path, &request.body) == (&refused.method, &refused.path, &refused.body)
        });
        assert!(again, "{server} {} {}", refused.method, refused.path);
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text: String) {
        let _ = Exchange::parse(&text);
    }

    #[test]
    fn no_damaged_file_makes_the_reader_panic(at in 0..2000_usize, byte: u8) {
        let mut text = text_with(REQUEST).into_bytes();
        let at = at % text.len();
        text[at] = byte;
        let _ = Exchange::parse(&String::from_utf8_lossy(&text));
    }

    #[test]
    fn body_is_read_back_as_it_was(body: Vec<u8>) {
        prop_assert_eq!(body_of(file::Body::of(body.clone())).unwrap(), body);
    }
}
