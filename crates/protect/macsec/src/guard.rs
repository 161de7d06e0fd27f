//! Rules that keep everything but MACsec off a link's port, whatever becomes of the controller and
//! of the keys.
//!
//! A MACsec device protects what is sent through it, and nothing else: a program, a route or a bridge that uses the port itself sends
//! unencrypted, and the kernel hands what arrives without a SecTAG to the port as ever. So a table of nftables stands at ingress and egress of
//! the port. It passes EAPOL, the exchange of keys and MACsec, with what the file names as exceptions, and drops all else in both
//! directions. It outlives the controller, `up` and `down`, and goes when it is removed by name.
//!
//! **A port is an interface, and not its name.** Up to Linux 6.15 a chain stands at an interface,
//! whatever that is called later, and goes with it; from 6.16 on it stands at a name, which another
//! interface may have tomorrow. So the table names the port by the file's name and by its current
//! name, and [`keep`] installs it again when either changes. Until then, and if another program
//! removes all tables, `device` holds: a program at the interface itself, on kernels that have such
//! (6.6), which drops the same.

mod device;
mod keeper;
mod waiting;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bartizan_deployment::{Cak, Deployment, Keying, Unencrypted};
use bartizan_host::nftables::{self, Listing, Table};
use bartizan_host::{Error, Feature, PAE_GROUP_ADDRESS, Support};
use bartizan_registry::ethertype;

use crate::kernel::{self, Interface};

use device::Stands;
pub use keeper::keep;

/// The family of tables that stand at devices.
const FAMILY: &str = "netdev";
/// Each rule's comment begins with it.
const MARK: &str = "bartizan-macsec";

bartizan_registry::made! {
    /// The rules for the ports of one node.
    #[derive(Debug, Clone)]
    pub struct Guard,
    /// The rules for every MACsec link of `node`.
    pub of(deployment: &Deployment, node: &str) {
        let links = deployment.macsec_links(node);
        let ports = links.filter_map(|(_, interface, link)| {
            let (port, device) = link.at(&interface.between, node)?;
            Some(Port {
                name: port.to_owned(),
                device: device.to_owned(),
                exchange: matches!(link.keying, Keying::Direct | Keying::Mka(Cak::Exchange)),
                unencrypted: link.unencrypted.clone(),
            })
        });
        node: String = node.to_owned(),
        name: String = name(node),
        ports: Vec<Port> = ports.collect(),
        /// Numbers of the interfaces that ports were when rules were installed, by the ports'
        /// names.
        seen: Arc<Mutex<BTreeMap<String, BTreeSet<u32>>>> = Arc::default(),
        /// True once the lack of programs at devices in this kernel was logged.
        said: Arc<AtomicBool> = Arc::default(),
        /// The listing of the table where it is installed and nothing of it is changed.
        wanted: Arc<OnceLock<Listing>> = Arc::default(),
    }
}

/// A port, and what passes it besides EAPOL and MACsec.
#[derive(Debug, Clone)]
struct Port {
    name: String,
    /// The MACsec device on it.
    device: String,
    /// True if keys come from an exchange in frames of its own.
    exchange: bool,
    unencrypted: Vec<Unencrypted>,
}

/// Installation state of a node's rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuardState {
    /// All of them.
    Installed(Vec<Dropped>),
    /// Something of them is missing or changed.
    Damaged(String),
    /// None: what does not go through the MACsec device passes unencrypted.
    Absent,
}

/// Frames that were dropped at a port since the rules are installed.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Dropped {
    /// The port.
    pub port: String,
    /// On their way out.
    pub leaving: u64,
    /// On their way in.
    pub arriving: u64,
}

impl Guard {
    /// Installs them in this network namespace, in place of those of before, in one step; those that are installed stay, with their counts.
    ///
    /// # Errors
    ///
    /// Fails if `nft` is missing or lacks the permission, no port is there, or the kernel has no
    /// hooks at devices.
    pub fn close(&self) -> Result<(), Error> {
        let places = self.places()?;
        let rules = match self.rules_at(&places) {
            Ok(GuardState::Installed(_)) => Ok(()),
            _ => self.install(&places),
        };
        // Without rules the programs hold.
        if let Err(error) = device::put(&self.node, &self.ports, &places)
            && !self.said.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(%error, "no program stands at the ports' devices: where rules of nftables are removed, or a port is renamed on Linux 6.16 or later, frames pass as they are until the rules are there again");
        }
        rules?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        for (port, place) in self.ports.iter().zip(places) {
            // Interfaces that are gone do not come back under their numbers.
            seen.insert(port.name.clone(), place.into_iter().map(|(index, _)| index).collect());
        }
        Ok(())
    }

    /// Returns true if the rules were installed when an interface of this number was there.
    #[must_use]
    pub fn knows(&self, index: u32) -> bool {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.values().any(|known| known.contains(&index))
    }

    /// For each port the interfaces that are it now, with their names: the one of the file's name, and one that had it and was renamed, which is known
    /// by its number or by the MACsec device on it.
    ///
    /// # Errors
    ///
    /// The kernel's: an interface that could not be looked for is not one that is not there.
    fn places(&self) -> Result<Vec<Place>, Error> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let of = |port: &Port| {
            let known = seen.get(&port.name).into_iter().flatten();
            let known = known.map(|&index| Interface::numbered(index));
            let named = Interface::find(&port.name);
            place(known.chain([named, Interface::under(&port.device, kernel::FAMILY)]))
        };
        self.ports.iter().map(of).collect()
    }

    /// At these interfaces, and at the file's names of those that are not there, where the kernel takes such.
    fn install(&self, places: &[Place]) -> Result<(), Error> {
        let there: Vec<BTreeSet<&str>> = places.iter().map(names).collect();
        let named = self.ports.iter().zip(&there).map(|(port, there)| {
            let mut names = there.clone();
            names.insert(&port.name);
            names
        });
        let named: Vec<_> = named.collect();
        let installed = Table::install(&[self.table(&named)]);
        if installed.is_ok() || named == there || there.iter().all(BTreeSet::is_empty) {
            return installed;
        }
        Table::install(&[self.table(&there)])
    }

    /// Removes them; when they are not there it is done already.
    ///
    /// # Errors
    ///
    /// Fails if `nft` is missing or lacks the permission.
    pub fn open(&self) -> Result<(), Error> {
        Self::remove(&self.node)
    }

    /// Removes the rules of a node, whichever file they were made from.
    ///
    /// # Errors
    ///
    /// The error of `nft` that is missing or may not, on a host that may have rules.
    pub fn remove(node: &str) -> Result<(), Error> {
        device::remove(node)?;
        let name = name(node);
        match nftables::printed(FAMILY, &name) {
            Ok(None) => Ok(()),
            Err(_) if matches!(Feature::Nftables.tried(), Support::Absent(_)) => Ok(()),
            _ => nftables::apply(&nftables::removal(FAMILY, &name)),
        }
    }

    /// State of the rules in this network namespace.
    ///
    /// # Errors
    ///
    /// Fails if `nft` is missing or lacks the permission.
    pub fn state(&self) -> Result<GuardState, Error> {
        let places = &self.places()?;
        let stands = device::stands(&self.node, &self.ports, places);
        Ok(match (self.rules_at(places)?, stands) {
            (GuardState::Absent, Stands::Everywhere(_)) if places.iter().any(|place| !place.is_empty()) => {
                GuardState::Damaged(format!(
                    "the rules `{FAMILY} {}` were removed, and only the programs at the devices drop",
                    self.name
                ))
            }
            (GuardState::Installed(_), Stands::Not(side, interface)) => GuardState::Damaged(format!(
                "no program stands at the {} of {interface}: its rules hold, and `guard install` puts one there",
                side.hook()
            )),
            (GuardState::Installed(dropped), Stands::Everywhere(counts)) => {
                GuardState::Installed(self.with_programs(dropped, &counts))
            }
            (rules, _) => rules,
        })
    }

    /// State of the nftables rules.
    fn rules_at(&self, places: &[Place]) -> Result<GuardState, Error> {
        let Some((here, text)) = nftables::printed(FAMILY, &self.name)? else {
            return Ok(GuardState::Absent);
        };
        let there: Vec<_> = places.iter().map(names).collect();
        if let Some(why) = self.misplaced(&text, &there) {
            return Ok(GuardState::Damaged(why));
        }
        // Every namespace has this device.
        let of_any_port = self.table(&vec![BTreeSet::from(["lo"]); self.ports.len()]);
        let wanted = of_any_port.wanted_once(&self.wanted)?;
        // Kernels before 6.16 remove chains with their port; nothing passes one that is not there.
        let numbered = (0..).zip(&self.ports).zip(&there);
        let (guarded, gone): (Vec<_>, Vec<_>) = numbered.partition(|(_, there)| !there.is_empty());
        let gone = gone
            .into_iter()
            .flat_map(|((number, _), _)| Side::BOTH.map(|side| side.chain(number)));
        let gone: Vec<_> = gone.collect();
        let packets = |side: Side, number| here.packets(&side.chain(number)).unwrap_or_default();
        let dropped = guarded.into_iter().map(|((number, port), _)| Dropped {
            port: port.name.clone(),
            leaving: packets(Side::Leaving, number),
            arriving: packets(Side::Arriving, number),
        });
        let dropped = dropped.collect();
        let differences = here.without(&gone).differences(&wanted.clone().without(&gone));
        Ok(match differences.first() {
            Some(first) => GuardState::Damaged(first.to_string()),
            None => GuardState::Installed(dropped),
        })
    }

    /// A frame is dropped by the first of both that it meets: they add up.
    fn with_programs(&self, mut dropped: Vec<Dropped>, counts: &[[u64; 2]]) -> Vec<Dropped> {
        for (port, [leaving, arriving]) in self.ports.iter().zip(counts) {
            if let Some(dropped) = dropped.iter_mut().find(|dropped| dropped.port == port.name) {
                dropped.leaving += leaving;
                dropped.arriving += arriving;
            }
        }
        dropped
    }

    /// A port that has no chain at one of the names that its interfaces have, or whose chain stands
    /// at another name, as a sentence.
    fn misplaced(&self, text: &str, there: &[BTreeSet<&str>]) -> Option<String> {
        let ports = self.ports.iter().zip(there).enumerate();
        for (number, (Port { name: port, .. }, there)) in ports.filter(|(_, (_, there))| !there.is_empty()) {
            for side in Side::BOTH {
                let (hook, words) = (side.hook(), side.words());
                let at = devices(text, &side.chain(number), hook);
                let other = at.iter().find(|at| **at != port.as_str() && !there.contains(*at));
                if let Some(other) = other {
                    return Some(format!("a chain stands at {other}, which is not the port {port}"));
                }
                if let Some(open) = there.iter().find(|there| !at.contains(*there)) {
                    return Some(format!(
                        "nothing stands at the {hook} of {open}: frames {words} pass as they are"
                    ));
                }
            }
        }
        None
    }

    /// For ports at interfaces of these names.
    fn table(&self, names: &[BTreeSet<&str>]) -> Table {
        let mut script = String::new();
        for (number, (at, names)) in self.ports.iter().zip(names).enumerate() {
            let names: Vec<_> = names.iter().map(|name| format!("\"{name}\"")).collect();
            let devices = match &names[..] {
                [] => continue,
                [name] => format!("device {name}"),
                several => format!("devices = {{ {} }}", several.join(", ")),
            };
            for side in Side::BOTH {
                let (chain, hook, priority) = (side.chain(number), side.hook(), side.priority());
                let _ = writeln!(script, "counter {chain} {{ }}\nchain {chain} {{");
                let _ = writeln!(
                    script,
                    "type filter hook {hook} {devices} priority {priority}; policy drop;"
                );
                for (rule, mark) in rules_of(number, side, at) {
                    let _ = writeln!(script, "{rule} comment \"{mark}\"");
                }
                script.push_str("}\n");
            }
        }
        Table::of(FAMILY, &self.name, &script)
    }
}

/// Interfaces that are a port, by number and name.
type Place = BTreeSet<(u32, String)>;

fn place(found: impl Iterator<Item = Result<Option<Interface>, Error>>) -> Result<Place, Error> {
    let there = found.filter_map(Result::transpose);
    there.map(|found| found.map(|one| (one.index, one.name))).collect()
}

/// Names of interfaces.
fn names(place: &Place) -> BTreeSet<&str> {
    place.iter().map(|(_, name)| name.as_str()).collect()
}

/// The interfaces at whose hook a chain stands, as `nft` prints them: one, or several in braces, with quotes or without.
fn devices<'a>(text: &'a str, chain: &str, hook: &str) -> BTreeSet<&'a str> {
    let begins = format!("chain {chain} {{");
    let mut lines = text.lines().map(str::trim).skip_while(|line| *line != begins);
    let listed = lines.nth(1).and_then(|line| {
        let (before, behind) = line.split_once(" device")?;
        let (listed, _) = behind.split_once(" priority ")?;
        before.ends_with(&format!(" hook {hook}")).then_some(listed)
    });
    let several = |listed: &'a str| listed.strip_prefix("s = {").and_then(|listed| listed.strip_suffix('}'));
    let listed = listed.map(|listed| several(listed).unwrap_or(listed));
    let listed = listed.into_iter().flat_map(|listed| listed.split(','));
    listed.map(|name| name.trim().trim_matches('"')).collect()
}

/// The rules of a chain, each with its comment.
fn rules_of(number: usize, side: Side, port: &Port) -> Vec<(String, String)> {
    let address = PAE_GROUP_ADDRESS.map(|octet| format!("{octet:02x}")).join(":");
    let chain = side.chain(number);
    let accept = |name: &str, kind: u16| {
        (
            format!("ether type {kind:#06x} accept"),
            format!("{MARK} {chain} {name}"),
        )
    };
    let mut rules = vec![accept("macsec", ethertype::MACSEC), accept("eapol", ethertype::EAPOL)];
    if port.exchange {
        let kind = ethertype::LOCAL_EXPERIMENTAL;
        rules.push((
            format!("ether type {kind:#06x} ether daddr {address} accept"),
            format!("{MARK} {chain} keys"),
        ));
    }
    rules.extend(
        port.unencrypted
            .iter()
            .map(|passed| accept(passed.name(), passed.ethertype())),
    );
    rules.push((format!("counter name {chain} drop"), format!("{MARK} {chain} drop")));
    rules
}

bartizan_registry::named! {
    /// On which side of a port.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Side, hook {
        Leaving = "egress",
        Arriving = "ingress",
    }
}

impl Side {
    const BOTH: [Self; 2] = [Self::Leaving, Self::Arriving];

    fn chain(self, number: usize) -> String {
        match self {
            Self::Leaving => format!("leaving-{number}"),
            Self::Arriving => format!("arriving-{number}"),
        }
    }

    /// The last on the way out, so that nothing behind it changes a frame; the first on the way in.
    const fn priority(self) -> i32 {
        match self {
            Self::Leaving => 500,
            Self::Arriving => -500,
        }
    }

    const fn words(self) -> &'static str {
        match self {
            Self::Leaving => "that leave",
            Self::Arriving => "that arrive",
        }
    }
}

fn name(node: &str) -> String {
    format!("{MARK}-{node}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        Guard {
            node: "odu".to_owned(),
            name: name("odu"),
            ports: vec![Port {
                name: "eth0".to_owned(),
                device: "macsec0".to_owned(),
                exchange: true,
                unencrypted: vec![Unencrypted::Ptp],
            }],
            seen: Arc::default(),
            said: Arc::default(),
            wanted: Arc::default(),
        }
    }

    fn at<'a>(names: &[&'a str]) -> [BTreeSet<&'a str>; 1] {
        [names.iter().copied().collect()]
    }

    /// As `nft` prints the chains, each at its devices.
    fn printed(leaving: &str, arriving: &str) -> String {
        let chain = |name, hook, devices| {
            format!(
                "\tchain {name} {{\n\t\ttype filter hook {hook} {devices} priority 500; policy drop;\n\t\tether type 0x88e5 accept\n\t}}\n"
            )
        };
        let chains = chain("leaving-0", "egress", leaving) + &chain("arriving-0", "ingress", arriving);
        format!(
            "table netdev bartizan-macsec-odu {{\n\tcounter leaving-0 {{\n\t\tpackets 0 bytes 0\n\t}}\n{chains}}}\n"
        )
    }

    /// The program at a port was taken off, and its rules were not compared.
    #[test]
    fn interface_that_could_not_be_looked_for_is_not_one_that_is_gone() {
        let found = |index| Interface {
            index,
            name: format!("eth{index}"),
            ..Interface::default()
        };
        let there = [Ok(Some(found(2))), Ok(None), Ok(Some(found(2)))];
        assert_eq!(
            place(there.into_iter()).unwrap(),
            BTreeSet::from([(2, "eth2".to_owned())])
        );
        let failed = std::io::Error::from_raw_os_error(nix::libc::EMFILE);
        let unknown = [Ok(Some(found(2))), Err(Error::io("looking")(failed))];
        assert!(place(unknown.into_iter()).is_err());
    }

    #[test]
    fn script_passes_what_is_named_and_drops_the_rest_in_both_directions() {
        let script = guard().table(&at(&["eth0"])).script();
        for line in [
            "type filter hook egress device \"eth0\" priority 500; policy drop;",
            "type filter hook ingress device \"eth0\" priority -500; policy drop;",
            "ether type 0x88e5 accept comment \"bartizan-macsec leaving-0 macsec\"",
            "ether type 0x88b5 ether daddr 01:80:c2:00:00:03 accept comment \"bartizan-macsec arriving-0 keys\"",
            "ether type 0x88f7 accept comment \"bartizan-macsec leaving-0 ptp\"",
            "counter name leaving-0 drop comment \"bartizan-macsec leaving-0 drop\"",
        ] {
            assert!(script.lines().any(|one| one == line), "no {line} in {script}");
        }
        let mut without = guard();
        without.ports[0].unencrypted.clear();
        without.ports[0].exchange = false;
        let script = without.table(&at(&["eth0", "eth9"])).script();
        assert!(!script.contains("0x88f7") && !script.contains("0x88b5"), "{script}");
        let both = "type filter hook egress devices = { \"eth0\", \"eth9\" } priority 500; policy drop;";
        assert!(script.lines().any(|one| one == both), "{script}");
    }

    #[test]
    fn chains_must_stand_where_the_port_is_now_and_nowhere_else() {
        let both = printed("devices = { eth0, s9 }", "devices = { \"eth0\", \"s9\" }");
        assert_eq!(devices(&both, "leaving-0", "egress"), BTreeSet::from(["eth0", "s9"]));
        assert_eq!(devices(&both, "arriving-0", "ingress"), BTreeSet::from(["eth0", "s9"]));
        assert_eq!(devices(&both, "arriving-0", "egress"), BTreeSet::new());
        let one = printed("device \"eth0\"", "device \"eth0\"");
        let misplaced = |text: &str, there: &[&str]| guard().misplaced(text, &at(there));
        assert_eq!(misplaced(&one, &["eth0"]), None);
        // Renamed, and the rules are at its name of before, or at both.
        let open = "nothing stands at the egress of s9: frames that leave pass as they are";
        assert_eq!(misplaced(&one, &["s9"]).as_deref(), Some(open));
        assert_eq!(misplaced(&both, &["s9"]), None);
        // It has its name again, and another interface may have that one tomorrow.
        let other = "a chain stands at s9, which is not the port eth0";
        assert_eq!(misplaced(&both, &["eth0"]).as_deref(), Some(other));
        // Nothing passes what is not there.
        assert_eq!(misplaced(&one, &[]), None);
    }
}
