//! IKE messages: what is read and written again is the same.

use bartizan_wire::ike::{Header, Message};

pub(super) fn run(bytes: &[u8]) {
    let Ok(header) = Header::read(bytes) else { return };
    assert_eq!(Header::read(&header.encode()), Ok(header));
    if let Ok(message) = Message::read(header.next, &bytes[Header::LENGTH..])
        && let Some((first, encoded)) = message.encode()
    {
        assert_eq!(Message::read(first, &encoded), Ok(message));
    }
}
