//! Impairment of packets by their length.

use std::time::Duration;

use bartizan_host::{Error, Namespace, Program};
use bartizan_testing::Impairment;
use bartizan_testing::Wiring as _;

/// Patience with `tc`.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Impairs IPv4 packets of at least `from` octets in one way and shorter ones in another, from
/// now on and instead of how the interface was impaired before. `from` is a power of two: what
/// is compared are bits of the header's total length. Each kind keeps its order; the two may
/// overtake each other where one waits longer.
///
/// # Errors
///
/// As [`Namespace::impair`]; [`Error::Unfit`] for a length that is no power of two.
pub fn impair_by_length(
    namespace: &Namespace,
    interface: &str,
    from: u16,
    long: &Impairment,
    short: &Impairment,
) -> Result<(), Error> {
    if !from.is_power_of_two() {
        return Err(Error::Unfit {
            what: format!("packets of {from} octets and more"),
            reason: "a power of two, for bits of the length are compared".to_owned(),
        });
    }
    let children = [child(long)?, child(short)?];
    // Without what was there: filters of an earlier call stay with their discipline.
    namespace.impair(interface, &Impairment::default())?;
    let tc = |arguments: &[&str]| {
        let tc = Program::new("tc")
            .package("iproute2")
            .arguments(["-n", namespace.name()]);
        tc.arguments(arguments).run(TIMEOUT).map(drop)
    };
    // Every packet to the second band, unless a filter says otherwise.
    let mut root = vec!["qdisc", "replace", "dev", interface, "root", "handle", "1:"];
    root.extend(["prio", "bands", "2", "priomap"]);
    root.extend(["1"; 16]);
    tc(&root)?;
    for (child, (band, handle)) in children.iter().zip([("1:1", "10:"), ("1:2", "20:")]) {
        let mut arguments = vec!["qdisc", "add", "dev", interface, "parent", band, "handle", handle];
        arguments.extend(child.iter().map(String::as_str));
        tc(&arguments)?;
    }
    // One for each bit of the length, which is the third and fourth octet of the header (RFC 791, section 3.1).
    for bit in (from.trailing_zeros()..u16::BITS).map(|bit| format!("{:#06x}", 1_u16 << bit)) {
        let mut filter = vec!["filter", "add", "dev", interface, "parent", "1:", "protocol", "ip"];
        filter.extend(["u32", "match", "u16", &bit, &bit, "at", "2", "flowid", "1:1"]);
        tc(&filter)?;
    }
    Ok(())
}

/// Replacement of an impairment below another discipline, where there is no `noqueue`.
fn child(impairment: &Impairment) -> Result<Vec<String>, Error> {
    if *impairment == Impairment::default() {
        return Ok(["pfifo", "limit", Impairment::QUEUE].map(str::to_owned).into());
    }
    impairment.arguments()
}
