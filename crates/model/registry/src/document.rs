//! The documents that define what the tables hold, each named once.

use crate::{State, Status};

const fn rfc(document: &'static str, date: &'static str) -> Status {
    Status::new(document, date, State::Rfc)
}

const fn standard(document: &'static str, date: &'static str) -> Status {
    Status::new(document, date, State::Standard)
}

const fn draft(document: &'static str, date: &'static str) -> Status {
    Status::new(document, date, State::Draft)
}

const fn obsolete(document: &'static str, date: &'static str) -> Status {
    Status::new(document, date, State::Obsolete)
}

const fn private(document: &'static str) -> Status {
    Status::new(document, "", State::Private)
}

/// The constants, one per line: name, constructor, document, date. An empty date belongs to a
/// document that was not read for this table; those of documents older than 2026 are general
/// knowledge, not read again in the index.
macro_rules! documents {
    ($($name:ident $state:ident $document:literal $date:literal;)*) => {
        $(pub(crate) const $name: Status = $state($document, $date);)*
    };
}

documents! {
    // TLS
    RFC_9846             rfc      "RFC 9846"                              "2026-07";
    RFC_7919             rfc      "RFC 7919"                              "2016-08";
    CURVES_BY_8422       obsolete "RFC 8422"                              "2018-08";
    RFC_7027             rfc      "RFC 7027"                              "2013-10";
    RFC_9367             rfc      "RFC 9367"                              "2023-02";
    RFC_8734             rfc      "RFC 8734"                              "2020-02";
    RFC_8998             rfc      "RFC 8998"                              "2021-03";
    RFC_10024            rfc      "RFC 10024"                             "2026-08";
    RFC_5288             rfc      "RFC 5288"                              "2008-08";
    RFC_5289             rfc      "RFC 5289"                              "2008-08";
    RFC_7905             rfc      "RFC 7905"                              "2016-06";
    TLS_MLKEM            draft    "draft-ietf-tls-mlkem-11"               "2026-09-17";
    TLS_SM2_MLKEM        draft    "draft-yang-tls-hybrid-sm2-mlkem-03"    "";
    TLS_MLDSA            draft    "draft-ietf-tls-mldsa-06"               "2026-09";
    TLS_SLHDSA           obsolete "draft-reddy-tls-slhdsa-02"             "2025-11-18";
    KYBER_DRAFT          obsolete "Kyber drafts, before RFC 10024"        "";
    KYBER_CLOUDFLARE     obsolete "Cloudflare test"                       "";
    SHA1_BY_9846         obsolete "RFC 9846"                              "2026-07";

    // IKEv2
    RFC_2404             rfc      "RFC 2404"                              "1998-11";
    RFC_2403             rfc      "RFC 2403"                              "1998-11";
    RFC_2410             rfc      "RFC 2410"                              "1998-11";
    RFC_2451             rfc      "RFC 2451"                              "1998-11";
    DEPRECATED_BY_9395   obsolete "RFC 9395"                              "2023-04";
    RFC_3526             rfc      "RFC 3526"                              "2003-05";
    RFC_3566             rfc      "RFC 3566"                              "2003-09";
    RFC_3602             rfc      "RFC 3602"                              "2003-09";
    RFC_3686             rfc      "RFC 3686"                              "2004-01";
    RFC_4106             rfc      "RFC 4106"                              "2005-06";
    RFC_4309             rfc      "RFC 4309"                              "2005-12";
    RFC_4434             rfc      "RFC 4434"                              "2006-02";
    RFC_4494             rfc      "RFC 4494"                              "2006-06";
    RFC_4543             rfc      "RFC 4543"                              "2006-05";
    RFC_4595             rfc      "RFC 4595"                              "2006-07";
    RFC_4615             rfc      "RFC 4615"                              "2006-08";
    RFC_4754             rfc      "RFC 4754"                              "2007-01";
    RFC_4868             rfc      "RFC 4868"                              "2007-05";
    RFC_5114             rfc      "RFC 5114"                              "2008-01";
    RFC_5529             rfc      "RFC 5529"                              "2009-04";
    RFC_5903             rfc      "RFC 5903"                              "2010-06";
    RFC_6467             rfc      "RFC 6467"                              "2011-12";
    RFC_6954             rfc      "RFC 6954"                              "2013-07";
    RFC_7296             rfc      "RFC 7296"                              "2014-10";
    RFC_7427             rfc      "RFC 7427"                              "2015-01";
    RFC_7619             rfc      "RFC 7619"                              "2015-08";
    RFC_7634             rfc      "RFC 7634"                              "2015-08";
    RFC_8031             rfc      "RFC 8031"                              "2016-12";
    RFC_8420             rfc      "RFC 8420"                              "2018-08";
    RFC_8750             rfc      "RFC 8750"                              "2020-03";
    RFC_9227             rfc      "RFC 9227"                              "2022-03";
    RFC_9385             rfc      "RFC 9385"                              "2023-05";
    RFC_9827             rfc      "RFC 9827"                              "";
    IKE_MLKEM            draft    "draft-ietf-ipsecme-ikev2-mlkem-09"     "2026-07-07";

    // MACsec
    AE_2006              standard "IEEE 802.1AE-2006"                     "2006";
    AEBN_2011            standard "IEEE 802.1AEbn-2011"                   "2011";
    AEBW_2013            standard "IEEE 802.1AEbw-2013"                   "2013";

    // X.509
    RFC_5480             rfc      "RFC 5480"                              "2009-03";
    RFC_5758             rfc      "RFC 5758"                              "2010-01";
    RFC_8017             rfc      "RFC 8017"                              "2016-11";
    RFC_8410             rfc      "RFC 8410"                              "2018-08";
    RFC_9881             rfc      "RFC 9881"                              "2025-10";
    RFC_9909             rfc      "RFC 9909"                              "";
    RFC_9935             rfc      "RFC 9935"                              "2026-03";
    COMPOSITE_SIGNATURES draft    "draft-ietf-lamps-pq-composite-sigs-19" "2026-04-21";

    // SSH
    RFC_4253             rfc      "RFC 4253"                              "2006-01";
    RFC_4419             rfc      "RFC 4419"                              "2006-03";
    RFC_4432             rfc      "RFC 4432"                              "2006-03";
    RFC_5656             rfc      "RFC 5656"                              "2009-12";
    RFC_6187             rfc      "RFC 6187"                              "2011-03";
    RFC_8268             rfc      "RFC 8268"                              "2017-12";
    RFC_8332             rfc      "RFC 8332"                              "2018-03";
    RFC_8709             rfc      "RFC 8709"                              "2020-02";
    RFC_8731             rfc      "RFC 8731"                              "2020-02";
    RFC_9941             rfc      "RFC 9941"                              "2026-04";
    RFC_10042            rfc      "RFC 10042"                             "2026-08";

    // Primitives
    FIPS_203             standard "FIPS 203"                              "2024-08-13";
    FIPS_204             standard "FIPS 204"                              "2024-08-13";
    FIPS_205             standard "FIPS 205"                              "2024-08-13";
    FIPS_186_5           standard "FIPS 186-5"                            "2023-02-03";
    RFC_8032             rfc      "RFC 8032"                              "2017-01";
    FRODO_ISO            standard "ISO/IEC 18033-2 Amd 2"                 "2026-06";
    FN_DSA               draft    "FIPS 206, no draft seen"               "";
    FRODO_640            draft    "FrodoKEM specification"                "";
    FRODO_ROUND_3        obsolete "FrodoKEM, round 3"                     "";
    BIKE_ROUND_4         obsolete "BIKE, not selected"                    "";
    HQC_2025             draft    "HQC specification"                     "2025-08";
    HQC_ROUND_4          obsolete "HQC specification, round 4"            "2023";
    HQC_ROUND_3          obsolete "HQC specification, round 3"            "";
    MCELIECE             draft    "Classic McEliece, round 4"             "";
}

/// The OQS project's test points: never registered, and reused from one release to the next.
pub(crate) const OQS: Status = private("OQS test point");
/// FrodoKEM, BIKE and others as strongSwan's branches number them.
pub(crate) const STRONGSWAN_BRANCH: Status = private("strongSwan branch frodokem");
/// KEMs that no daemon but ours has, for research alone: of the numbers for private use (RFC 7296)
/// those that Bartizan takes.
pub(crate) const RESEARCH: Status = private("RFC 7296, private use of Bartizan");
/// Names of SSH with a domain behind them.
pub(crate) const SSH_PRIVATE: Status = private("RFC 4251, private name");
/// A range for private use.
pub(crate) const PRIVATE_USE: Status = private("RFC 7296, private use");
/// A value Linux and hostapd send where the standard has another.
pub(crate) const LINUX_LEGACY: Status = private("Linux and hostapd legacy");
