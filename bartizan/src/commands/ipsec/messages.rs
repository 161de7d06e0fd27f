//! Refusals in words, for the log and for `status`.

use bartizan_ledger::{Asked, Direction, Refuser, SaRefused};

/// Refused request: `a set-up`.
pub(super) fn asked(refused: &SaRefused) -> &'static str {
    match (refused.what, refused.direction) {
        (Asked::SetUp, Direction::Outbound) => "a set-up",
        (Asked::SetUp, Direction::Inbound) => "the peer's set-up",
        (Asked::ReAuthentication, Direction::Outbound) => "a re-authentication",
        (Asked::ReAuthentication, Direction::Inbound) => "the peer's re-authentication",
        (Asked::Exchange, _) => "a CHILD_SA, or a rekey,",
    }
}

/// Refusing party.
pub(super) fn by(refused: &SaRefused) -> &'static str {
    match (refused.by, refused.reason.as_str()) {
        (_, "unreachable") => "by nobody: there was no answer",
        (Refuser::Us, _) => "by this node",
        (Refuser::Peer, _) => "by the peer",
    }
}

/// The peer's address.
pub(super) fn address(refused: &SaRefused) -> String {
    refused
        .peer_address
        .map_or_else(|| "unknown".to_owned(), |address| address.to_string())
}
