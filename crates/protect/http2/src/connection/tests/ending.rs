//! Ends: of requests, of responses that come early, of connections.

use super::*;

#[test]
fn streams_beyond_the_bound_are_refused_and_goaway_names_the_last() {
    let mut ends = Ends::new();
    for _ in 0..BOUNDS.streams {
        assert!(ends.client.open(&request(), true, 1, 1).is_some());
    }
    assert!(!ends.client.has_room());
    ends.talk(usize::MAX);
    ends.server.drain();
    ends.talk(usize::MAX);
    assert!(ends.client.is_away() && !ends.client.has_room());
    assert!(!ends.server.is_drained());
    for number in 0..BOUNDS.streams {
        assert_eq!(ends.server.send_head(2 * number + 1, &response(), true), Ok(()));
    }
    ends.talk(usize::MAX);
    assert!(ends.server.is_drained());
    assert!(ends.client.is_idle());
}

/// libcurl reads an idle connection only when it is asked for something: no PING of ours is answered until then.
#[test]
fn a_client_that_reads_nothing_is_drained_without_its_answer_and_may_repeat_what_it_asks_too_late() {
    let mut ends = Ends::new();
    ends.client.open(&request(), true, 1, 1).unwrap();
    ends.talk(usize::MAX);
    assert_eq!(ends.server.send_head(1, &response(), true), Ok(()));
    ends.talk(usize::MAX);
    ends.server.drain();
    assert!(!ends.server.is_drained());
    ends.client.open(&request(), true, 1, 2).unwrap();
    ends.server.conclude();
    assert!(ends.server.is_drained());
    let [client, server] = ends.talk(usize::MAX);
    assert_eq!((client.unprocessed, client.resets.len(), server.heads.len()), (1, 0, 0));
}

#[test]
fn requests_after_an_abrupt_goaway_are_reported_as_unprocessed() {
    let mut ends = Ends::new();
    ends.server.fail(Code::ENHANCE_YOUR_CALM);
    ends.client.open(&request(), true, 1, 1).unwrap();
    ends.client.open(&request(), true, 1, 2).unwrap();
    let [client, server] = ends.talk(usize::MAX);
    assert_eq!((client.unprocessed, client.resets.len(), server.heads.len()), (2, 0, 0));
}

/// A reset right after the response made clients lose the response (curl 7.88).
#[test]
fn a_server_that_answers_early_reads_the_rest_and_ends_without_a_reset() {
    let mut ends = Ends::new();
    let id = ends.client.open(&request(), false, 1, 1).unwrap();
    ends.client.send_data(id, &[1; 50_000], false).unwrap();
    ends.reads = false;
    ends.talk(usize::MAX);
    assert_eq!(ends.server.take_kept(id), Some(7));
    ends.server.refuse_rest(id, Code::NO_ERROR, 400_000);
    ends.server.send_head(id, &response(), false).unwrap();
    ends.server.send_data(id, b"enough", true).unwrap();
    let [client, _] = ends.talk(usize::MAX);
    assert!(client.ended && client.resets.is_empty());
    // The client's further bytes are read, and make no event.
    ends.client.send_data(id, &[1; 300_000], true).unwrap();
    let [client, server] = ends.talk(usize::MAX);
    assert_eq!((client.resets.len(), server), (0, Observed::default()));
    assert!(ends.server.is_idle() && ends.client.is_idle());
}

#[test]
fn the_rest_of_a_request_that_nobody_wants_is_bounded_in_bytes_and_in_time() {
    for too_long in [true, false] {
        let mut ends = Ends::new();
        let id = ends.client.open(&request(), false, 1, 1).unwrap();
        ends.talk(usize::MAX);
        ends.server.refuse_rest(id, Code::NO_ERROR, 1000);
        ends.server.send_head(id, &response(), true).unwrap();
        let [client, _] = ends.talk(usize::MAX);
        assert!(client.resets.is_empty());
        let reset = [(Code::NO_ERROR, Role::Server, Some(1))];
        if too_long {
            ends.client.send_data(id, &[1; 1000], false).unwrap();
        } else {
            let enough = Sweeps { stalled: 9, refused: 2 };
            for _ in 0..3 {
                assert_eq!(ends.server.sweep(enough), []);
            }
        }
        assert_eq!(ends.talk(usize::MAX)[0].resets, reset);
        assert!(ends.server.is_idle());
    }
}

/// Node's server resets each stream that it closes, in the segment that ends the response, and Go's
/// one whose request it has not read to its end.
#[test]
fn a_response_survives_the_reset_that_comes_with_its_end() {
    for whole_request in [true, false] {
        let mut ends = Ends::new();
        let id = ends.client.open(&request(), whole_request, 1, 1).unwrap();
        ends.talk(usize::MAX);
        ends.server.send_head(id, &response(), false).unwrap();
        ends.server.send_data(id, b"enough", false).unwrap();
        ends.server.send_data(id, &[], true).unwrap();
        ends.server
            .out
            .extend_from_slice(&[0, 0, 4, frame::RST_STREAM, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
        let [client, _] = ends.talk(usize::MAX);
        assert_eq!(
            (client.heads.len(), client.body.as_slice(), client.ended),
            (1, &b"enough"[..], true)
        );
        assert_eq!(client.orphans, 0);
        let rest_is_unwanted = [(Code::NO_ERROR, Role::Server, Some(1))];
        assert_eq!(client.resets, if whole_request { &[][..] } else { &rest_is_unwanted });
        assert!(ends.client.is_idle());
    }
}

#[test]
fn a_response_to_head_has_no_content_whatever_is_sent() {
    let mut head = fields(&[
        (":method", "HEAD"),
        (":scheme", "http"),
        (":path", "/x"),
        (":authority", "nrf"),
    ]);
    head.push(b"x-held", b"1", Indexing::Plain);
    for is_held in [false, true] {
        let mut ends = Ends::new();
        let id = ends.client.open(&head, true, 1, 1).unwrap();
        ends.talk(usize::MAX);
        if is_held {
            ends.server.out.resize(OUT_MARK, 0);
        }
        ends.server.send_head(id, &early(), false).unwrap();
        ends.server.send_head(id, &response(), false).unwrap();
        assert_eq!(ends.server.send_data(id, b"not content", true), Err(Unsent::Over));
        assert_eq!(ends.server.send_trailers(id, response()), Err(Unsent::Over));
        if is_held {
            ends.server.out.clear();
        }
        let [client, _] = ends.talk(usize::MAX);
        assert_eq!((client.heads.len(), client.body.len(), client.ended), (2, 0, true));
        assert!(ends.client.is_idle() && ends.server.is_idle());
    }
}

/// Such a connection stayed in its pool for ever, as one of those that there may be.
#[test]
fn a_connection_whose_stream_numbers_are_used_up_is_to_be_replaced_and_ends_well() {
    let mut ends = Ends::new();
    ends.client.edge = frame::LARGEST;
    assert!(ends.client.has_room() && !ends.client.is_away());
    let id = ends.client.open(&request(), true, 1, 1).unwrap();
    assert!(!ends.client.has_room() && ends.client.is_away());
    ends.talk(usize::MAX);
    assert_eq!(ends.server.send_head(id, &response(), true), Ok(()));
    ends.talk(usize::MAX);
    assert!(ends.client.is_idle() && ends.server.is_idle());
}

/// Each such body counted as a fault of the peer, of which a connection bears 1024.
#[test]
fn a_body_that_comes_long_after_its_stream_was_reset_is_no_fault_of_the_peer() {
    let mut ends = Ends::new();
    let late = ends.client.open(&request(), true, 1, 1).unwrap();
    ends.talk(usize::MAX);
    ends.client.reset(late, Code::CANCEL);
    for _ in 0..300 {
        let id = ends.client.open(&request(), true, 1, 1).unwrap();
        ends.talk(usize::MAX);
        ends.server.send_head(id, &response(), true).unwrap();
        ends.talk(usize::MAX);
    }
    let mut body = Vec::new();
    frame::put_header(&mut body, 5, frame::DATA, 0, late);
    body.extend(b"tardy");
    for _ in 0..2000 {
        assert!(ends.client.receive(&body, ALL, &mut Vec::new()).is_ok());
    }
    assert!(ends.client.output().is_empty());
}
