//! Delay, overhead and size printed by Groen et al. 2024 (*Securing O-RAN Open Interfaces*), next
//! to the results of the planner's formulas.
//!
//! Values are those of the paper's text and tables; none is read off a picture. Where a printed value cannot be right, a sentence says why.

mod table4;

use bartizan_budget::curve::CurveError;
use bartizan_budget::fronthaul::{Limit, Mode, O_DU, O_RU};
use bartizan_budget::mtu::{Filling, Fragments};
use bartizan_budget::overhead::{IpVersion, NameError, OverheadError, Protection};
use bartizan_budget::published::{PAPER, macsec_added};
use bartizan_budget::unit::{BitsPerSecond, Bytes, Metres, Microseconds, UnitError};
use bartizan_budget::{Source, delay};
use bartizan_registry::{ECPRI_PAYLOAD_PUBLISHED, Header};
use serde::Serialize;

pub use table4::TABLE_4;

/// Relation of a printed value to the computed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "is", content = "why")]
pub enum Verdict {
    /// The same, to the digits printed.
    Agrees,
    /// Printed as a bound, which the computed value keeps.
    WithinBound,
    /// The printed value contradicts the standard it names, or the paper itself.
    CannotBeRight(&'static str),
    /// The text prints too little to compute it.
    NotDetermined(&'static str),
}

/// One printed value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Value {
    /// Name of the quantity.
    pub what: String,
    /// Place in the paper.
    pub source: Source,
    /// As printed.
    pub printed: f64,
    /// Result of the formulas, if they give one.
    pub computed: Option<f64>,
    /// Unit of both.
    pub unit: &'static str,
    /// Relation of the printed value to the computed one.
    pub verdict: Verdict,
}

/// Why the published values could not be computed: a bug, since all input is fixed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PublishedError {
    /// A quantity out of bounds.
    #[error(transparent)]
    Unit(#[from] UnitError),
    /// A packet that is none.
    #[error(transparent)]
    Overhead(#[from] OverheadError),
    /// A curve that is none.
    #[error(transparent)]
    Curve(#[from] CurveError),
    /// A name that is no protection.
    #[error(transparent)]
    Name(#[from] NameError),
}

fn place(place: &'static str) -> Source {
    Source::paper(PAPER, place)
}

fn value(
    what: &str,
    at: &'static str,
    printed: f64,
    computed: Option<f64>,
    unit: &'static str,
    verdict: Verdict,
) -> Value {
    Value {
        what: what.to_owned(),
        source: place(at),
        printed,
        computed,
        unit,
        verdict,
    }
}

const NO_PADDING: &str = "it leaves out padding and trailer: with AES-CBC payload and two bytes of trailer fill blocks of 16 (RFC 4303, section 2.4; RFC 3602, \
     section 2), so that no packet grows by less than 62 bytes over IPv4; the same table's SACK has them";

/// Table 2: what ESP with AES-256-CBC and SHA-256 makes of three packets, and how long they take at 10 Gb/s.
pub fn table_2() -> Result<Vec<Value>, PublishedError> {
    let esp: Protection = "esp:aes256-sha256".parse()?;
    let rate = rate()?;
    let mut values = Vec::new();
    let packets: [(&str, u32, u32, Verdict); 3] = [
        ("SACK", 62, 138, Verdict::Agrees),
        ("short E2AP packet", 195, 255, Verdict::CannotBeRight(NO_PADDING)),
        ("long E2AP packet", 1425, 1485, Verdict::CannotBeRight(NO_PADDING)),
    ];
    let times: [[f64; 2]; 3] = [[0.0496, 0.1104], [0.156, 0.204], [1.14, 1.188]];
    for ((name, plain, protected, verdict), times) in packets.into_iter().zip(times) {
        let computed = esp.frame(Bytes::from(plain), IpVersion::V4)?.total();
        values.push(value(
            &format!("{name} of {plain} bytes in ESP"),
            "table 2",
            f64::from(protected),
            Some(computed.value() as f64),
            "bytes",
            verdict,
        ));
        for (size, printed, how) in [(plain, times[0], "unprotected"), (protected, times[1], "in ESP")] {
            let computed = delay::transmission(Bytes::from(size), rate)?;
            values.push(value(
                &format!("transmission of the {name}, {how}, {size} bytes at 10 Gb/s"),
                "table 2",
                printed,
                Some(computed.value()),
                "us",
                Verdict::Agrees,
            ));
        }
    }
    Ok(values)
}

/// Table 1's overheads, and the text's.
pub fn table_1() -> Result<Vec<Value>, PublishedError> {
    let frame = Bytes::from(62_u32);
    let added = |name: &str| -> Result<f64, PublishedError> {
        let protection: Protection = name.parse()?;
        Ok(protection.frame(frame, IpVersion::V4)?.overhead().value() as f64)
    };
    let least_ssh = Header::SSH_LENGTHS.bytes + Header::SSH_PADDING_LEAST.bytes + Header::SSH_GCM_TAG.bytes;
    // A SACK of 48 bytes fills ESP's four bytes with two of padding: the least of GCM is without.
    let least_gcm = added("esp:aes256gcm16")? - 2.0;
    // With CBC, a packet of 46 bytes and the trailer fill three blocks.
    let least_cbc = {
        let protection: Protection = "esp:aes256-sha256".parse()?;
        let of = protection.frame(Bytes::from(60_u32), IpVersion::V4)?;
        of.overhead().value() as f64
    };
    Ok(vec![
        value(
            "least overhead of a TLS record",
            "table 1",
            25.0,
            Some(added("tls:TLS_AES_256_GCM_SHA384")?),
            "bytes",
            Verdict::CannotBeRight(
                "TLS 1.3, which the paper names, adds 5 + 1 + 16 to each record with every AEAD but AES-CCM-8, which adds 14; 25 is what a stream cipher with \
                 HMAC-SHA-1 added before TLS 1.3 (5 + 20)",
            ),
        ),
        value(
            "least overhead of an SSH packet, with AES-GCM",
            "table 1",
            28.0,
            Some(f64::from(least_ssh)),
            "bytes",
            Verdict::CannotBeRight(
                "a packet adds 4 of length, 1 of padding length, 4 of padding at least and the check value, which is 16 with AES-GCM (RFC 4253, section 6; RFC 5647); 28 is what \
                 RFC 4253, section 5.3, has as the order of a whole least packet",
            ),
        ),
        value(
            "least overhead of ESP in tunnel mode, with AES-256-CBC and SHA-256",
            "table 1; section 3.1.1",
            57.0,
            Some(least_cbc),
            "bytes",
            Verdict::CannotBeRight(
                "20 of the outer header, 8 of ESP, 16 of vector, 2 of trailer and 16 of check value are 62 already; 57 is the most that AES-GCM adds (54 and three \
                 of padding), and less than the 60 between the sizes of table 2",
            ),
        ),
        value(
            "least overhead of ESP in tunnel mode, with any cipher named",
            "table 1",
            57.0,
            Some(least_gcm),
            "bytes",
            Verdict::CannotBeRight(
                "AES-GCM with a check value of 16 bytes adds 54 where payload and trailer end on four bytes (RFC 4106)",
            ),
        ),
        value(
            "overhead of MACsec",
            "section 2.2",
            32.0,
            Some(added("macsec:gcm-aes-128")?),
            "bytes",
            Verdict::Agrees,
        ),
        value(
            "overhead of MACsec that encrypts (printed as 32 or more)",
            "section 2.2",
            32.0,
            Some(added("macsec:gcm-aes-256")?),
            "bytes",
            Verdict::CannotBeRight(
                "it is never more: GCM encrypts in counter mode and pads nothing (IEEE 802.1AE, clause 14.5), so a frame grows by 32 whether it is encrypted or not",
            ),
        ),
    ])
}

/// Section 2.3: propagation and queueing.
pub fn section_2_3() -> Result<Vec<Value>, PublishedError> {
    let hundred = delay::propagation(Metres::new(100.0)?);
    // The condition as printed: 1/(mu - lambda - epsilon) - 1/(mu - lambda) <= 1e-6, all rates in bits per second.
    let rate = rate()?.value();
    let epsilon = 480.0;
    let as_printed = (rate - (f64::sqrt(epsilon * 1e6))) / 1e9;
    Ok(vec![
        value(
            "propagation over 100 m at 2e8 m/s",
            "section 2.3",
            0.05,
            Some(hundred.value()),
            "us",
            Verdict::CannotBeRight("100 m divided by 2e8 m/s are 0.5 us"),
        ),
        value(
            "arrival rate up to which ESP adds at most 1 us of queueing at 10 Gb/s",
            "section 2.3",
            9.78,
            Some(as_printed),
            "Gb/s",
            Verdict::CannotBeRight(
                "the formula adds bytes of overhead to a rate and gives seconds per bit, no delay; with 480 bits and 1e-6 it is kept up to 9.99998, and 9.78 is \
                 what comes of 1e-5 with rates in Gb/s. A packet's overhead raises the load by the ratio of its sizes, as `delay::of` takes it",
            ),
        ),
    ])
}

/// Figure 8 and section 4.1, as far as values stand in the text: the SACK's delay and its processing share.
pub fn figure_8() -> Result<Vec<Value>, PublishedError> {
    let rate = rate()?;
    // As printed, so that what follows from it can be followed.
    let propagation = 0.05;
    let processing = |total: f64, size: u32| -> Result<f64, PublishedError> {
        Ok(total - 2.0 * propagation - delay::transmission(Bytes::from(size), rate)?.value())
    };
    let (plain, protected) = (processing(61.12, 62)?, processing(82.64, 138)?);
    Ok(vec![
        value(
            "processing of an unprotected SACK: 61.12 us less transmission and twice propagation",
            "section 4.1",
            60.97,
            Some(plain),
            "us",
            Verdict::Agrees,
        ),
        value(
            "processing of a protected SACK: 82.64 us less transmission and twice propagation",
            "section 4.1",
            82.64,
            Some(protected),
            "us",
            Verdict::CannotBeRight("the total is printed in its place: nothing was taken off"),
        ),
        value(
            "what encryption adds to a SACK",
            "section 4.1",
            22.0,
            Some(82.64 - 61.12),
            "us",
            Verdict::Agrees,
        ),
        value(
            "processing's share of an unprotected SACK's delay, printed as at least",
            "section 4.2",
            99.75,
            Some(plain / 61.12 * 100.0),
            "%",
            Verdict::WithinBound,
        ),
        value(
            "processing's share of it with 0.5 us of propagation each way",
            "section 4.2",
            99.75,
            Some((61.12 - 1.0 - 0.0496) / 61.12 * 100.0),
            "%",
            Verdict::CannotBeRight("it rests on 0.05 us for 100 m, which are 0.5"),
        ),
    ])
}

/// One cell of table 4.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Table4Cell {
    /// Category of the O-DU.
    pub distributed: char,
    /// Category of the O-RU.
    pub radio: char,
    /// Microseconds printed.
    pub printed: u16,
    /// Microseconds by the rule of O-RAN.WG4.CUS, annex B.
    pub computed: u16,
}

/// Table 4, cell by cell.
#[must_use]
pub fn table_4() -> Vec<Table4Cell> {
    let rows = O_RU.iter().zip(TABLE_4);
    rows.flat_map(|(radio, row)| {
        O_DU.iter().zip(row).map(|(distributed, printed)| Table4Cell {
            distributed: distributed.letter,
            radio: radio.letter,
            printed,
            computed: Limit::Best.of(*distributed, *radio),
        })
    })
    .collect()
}

/// One MTU of figure 15.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MtuPoint {
    /// The MTU: most bytes behind the Ethernet header, with the header of eCPRI, without MACsec's.
    pub mtu: Bytes,
    /// Into how many frames the payload goes.
    pub fragments: u64,
    /// Bytes of all frames, MACsec included.
    pub sent: Bytes,
    /// The delays of all of them, one after the other.
    pub delay_us: Microseconds,
    /// The largest delay of one, which counts where they are processed at the same time.
    pub longest_us: Microseconds,
    /// Bits sent over the delay, in Mb/s.
    pub throughput_mbps: f64,
}

/// Figure 15's model: 8192 bytes of payload in frames that an MTU allows, each with the delay of its size.
pub fn figure_15(mtu: Bytes, filling: Filling) -> Result<Option<MtuPoint>, PublishedError> {
    let payload = Bytes::from(ECPRI_PAYLOAD_PUBLISHED);
    let room = mtu.beyond(Bytes::from(Header::ECPRI.bytes));
    let Some(fragments) = Fragments::of(payload, room, filling) else {
        return Ok(None);
    };
    let macsec: Protection = "macsec:gcm-aes-128".parse()?;
    let curve = macsec_added(Mode::Encryption)?;
    let (rate, hundred) = (rate()?, Metres::new(100.0)?);
    let (mut sent, mut total, mut longest) = (Bytes::ZERO, Microseconds::ZERO, Microseconds::ZERO);
    for fragment in fragments.sizes() {
        let frame = fragment + Bytes::from(Header::ETHERNET.bytes) + Bytes::from(Header::ECPRI.bytes);
        let protected = macsec.frame(frame, IpVersion::V4)?.total();
        let processing = curve.at(frame)?;
        let one = processing + delay::transmission(protected, rate)? + delay::propagation(hundred);
        sent = sent + protected;
        total = total + one;
        if one > longest {
            longest = one;
        }
    }
    Ok(Some(MtuPoint {
        mtu,
        fragments: fragments.count(),
        sent,
        delay_us: total,
        longest_us: longest,
        throughput_mbps: sent.bits() as f64 / total.value(),
    }))
}

/// The MTUs of figure 14 and 15: 1400 to 9000.
pub const FIGURE_15_MTUS: [u16; 9] = [1400, 1500, 2000, 3000, 4000, 5000, 6000, 8000, 9000];

fn rate() -> Result<BitsPerSecond, UnitError> {
    BitsPerSecond::new(1e10)
}

#[cfg(test)]
mod tests;
