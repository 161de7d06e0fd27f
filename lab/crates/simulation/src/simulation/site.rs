//! A site: what it has, what it is doing, what is due.

use super::procedure::ProcedureKind;

/// Duties that come again, each with a procedure.
pub(super) const DUTIES: [ProcedureKind; 6] = [
    ProcedureKind::DeadPeer,
    ProcedureKind::RekeyChild,
    ProcedureKind::RekeyIke,
    ProcedureKind::FetchList,
    ProcedureKind::Renew,
    // A reconnection: the SA is lost.
    ProcedureKind::SetUp,
];

pub(super) const NEVER: u64 = u64::MAX;

/// State of a site's request at its gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    /// It has not arrived.
    Sent,
    /// It waits for a core, or has one.
    Taken,
    /// It is answered; whether the answer arrived is another matter.
    Answered,
}

/// Task of a site in the storm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Concerned {
    /// Nothing, or all of it is done.
    No,
    /// To set up.
    SetUp,
    /// To get a certificate, then to set up.
    RenewAndSetUp,
    /// To fetch a list.
    Fetch,
}

#[derive(Debug, Clone)]
pub(super) struct Site {
    pub(super) gateway: u32,
    /// Half of its round trip, in nanoseconds.
    pub(super) half_trip: u64,
    /// True if an SA is up.
    pub(super) up: bool,
    /// Current procedure; none while it waits for the next duty.
    pub(super) doing: Option<ProcedureKind>,
    pub(super) exchange: u8,
    /// Sendings of the request after the first.
    pub(super) tries: u8,
    /// True if it has a cookie.
    pub(super) cookie: bool,
    /// Changes with every exchange and with every wait: what carries another one is over.
    pub(super) serial: u32,
    /// Packets of the request, and of the answer, that have not arrived.
    pub(super) request_missing: u16,
    pub(super) answer_missing: u16,
    pub(super) request: Request,
    /// Set-ups begun so far.
    pub(super) attempt: u32,
    /// The latest set-up that was completed: those before are closed with it.
    pub(super) completed: u32,
    /// Half-open set-ups that the gateway holds for it.
    pub(super) held: u16,
    /// The attempt that the gateway no longer holds.
    pub(super) expired: u32,
    /// Set-ups that failed since the last that did not.
    pub(super) failures: u8,
    pub(super) concerned: Concerned,
    /// Time at which each duty is due.
    pub(super) due: [u64; DUTIES.len()],
    /// Time at which it starts its task in the storm.
    pub(super) begins: u64,
}

impl Site {
    /// Next duty, and its time.
    pub(super) fn next_duty(&self) -> (usize, u64) {
        let mut next = (0, NEVER);
        for (index, due) in self.due.iter().enumerate() {
            if *due < next.1 {
                next = (index, *due);
            }
        }
        next
    }
}
