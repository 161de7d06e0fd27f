//! Why an SA ended, out of what charon logged about it.
//!
//! The log comes a moment after the event, so the end of an SA waits for it, as the record of an IKE_SA does.

use std::time::Instant;

use bartizan_ledger::{EspSpi, SaClosed, Why};

/// Signs in charon's lines, each with the kind of its SA and its meaning.
const SIGNS: [(&str, Of, Why); 8] = [
    (NOT_ANEW, Of::Ike, Why::Expired),
    (FORGOTTEN, Of::Ike, Why::PeerRestarted),
    ("received INITIAL_CONTACT", Of::Ike, Why::PeerRestarted),
    ("giving up after", Of::Ike, Why::PeerLost),
    ("received DELETE for IKE_SA", Of::Ike, Why::DeletedByPeer),
    (LIFETIME, Of::Ike, Why::Expired),
    ("closing expired CHILD_SA", Of::Child, Why::Expired),
    ("received DELETE for ESP CHILD_SA", Of::Child, Why::DeletedByPeer),
];

/// Words of Bartizan's engine for an IKE_SA that ends with the authentication of its peer.
pub const NOT_ANEW: &str = "was not authenticated anew";

/// Recorded text for an IKE_SA whose lifetime is over: charon raises an alert, and logs that it
/// deletes it.
pub(super) const LIFETIME: &str = "the lifetime of the IKE_SA is over";

/// Recorded text for an IKE_SA whose deletion the peer has not answered, while it answers in
/// another.
pub(super) const FORGOTTEN: &str = "the peer does not answer in this IKE_SA, and does in a newer one";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Of {
    Ike,
    Child,
}

/// Returns true if a line of charon's log gives the reason of an end.
pub(super) fn tells(line: &str) -> bool {
    SIGNS.iter().any(|(sign, _, _)| line.contains(sign))
}

/// SAs that ended together, and wait for charon's log to say why.
#[derive(Debug)]
pub(super) struct Parting {
    /// charon's number of the IKE_SA.
    pub(super) id: u32,
    pub(super) since: Instant,
    /// The IKE_SA ended, not a CHILD_SA of it alone.
    pub(super) whole: bool,
    pub(super) connection: String,
    /// Ended SAs, each with the name of its CHILD_SA.
    pub(super) closed: Vec<(Option<Name>, SaClosed)>,
}

/// Identification of a CHILD_SA in charon's log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    /// The name in the configuration.
    pub(super) child: String,
    pub(super) spi_in: EspSpi,
    /// The SPI of what we send: a peer that deletes names it by this one.
    pub(super) spi_out: EspSpi,
}

/// Why it ended, and the line that says so; none where charon was asked to end it, or does not say.
pub(super) fn why<'a>(lines: impl Iterator<Item = &'a str> + Clone, child: Option<&Name>) -> Option<(Why, String)> {
    SIGNS.iter().find_map(|(sign, of, why)| {
        let logged = lines.clone().find(|line| {
            line.contains(sign)
                && match of {
                    Of::Ike => true,
                    Of::Child => child.is_some_and(|child| {
                        let spis = [child.spi_in, child.spi_out].map(|spi| spi.to_string());
                        spis.iter().any(|spi| line.contains(spi))
                    }),
                }
        })?;
        Some((*why, logged.to_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of charon 6.1.0.
    #[test]
    fn an_end_has_the_reason_that_charons_line_about_that_very_sa_gives() {
        let child = Name {
            child: "E2".into(),
            spi_in: EspSpi(0x327c_d26e),
            spi_out: EspSpi(0x6f20_9b56),
        };
        let of = |lines: &[&str], child| why(lines.iter().copied(), child).map(|(why, _)| why);
        assert_eq!(of(&["giving up after 6 retransmits"], None), Some(Why::PeerLost));
        assert_eq!(
            of(&["giving up after 6 retransmits"], Some(&child)),
            Some(Why::PeerLost)
        );
        assert_eq!(
            of(&["received DELETE for IKE_SA cu--ric[2]"], None),
            Some(Why::DeletedByPeer)
        );
        let initial = "destroying duplicate IKE_SA for peer 'ric.test', received INITIAL_CONTACT";
        assert_eq!(of(&[initial], None), Some(Why::PeerRestarted));
        let theirs = "received DELETE for ESP CHILD_SA with SPI 6f209b56";
        assert_eq!(of(&[theirs], Some(&child)), Some(Why::DeletedByPeer));
        let another = "received DELETE for ESP CHILD_SA with SPI 11111111";
        assert_eq!(of(&[another], Some(&child)), None);
        let expired =
            "closing expired CHILD_SA E2{4} with SPIs 327cd26e_i 6f209b56_o and TS 10.78.0.1/32 === 10.78.0.2/32";
        assert_eq!(of(&[expired], Some(&child)), Some(Why::Expired));
        assert_eq!(of(&[LIFETIME, "deleting IKE_SA cu--ric[2]"], None), Some(Why::Expired));
        let forced = "destroying IKE_SA in state DELETING without notification";
        assert_eq!(of(&[FORGOTTEN, forced], Some(&child)), Some(Why::PeerRestarted));
        assert_eq!(of(&["deleting IKE_SA cu--ric[2]"], None), None);
    }
}
