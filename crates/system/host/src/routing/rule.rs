//! Rules: which packets, and which table they are looked up in.

use std::fmt;
use std::net::IpAddr;

use super::{Attributes, Version, listed, network, number, octets, with};
use crate::netlink::{Family, Refused, Request};

/// Bytes of `fib_rule_hdr`: IP version, bits of receiver and sender, class, table of a byte, two
/// reserved, action, flags.
const HEADER: usize = 12;
/// From linux/fib_rules.h: actions, flags that are part of a rule, attributes.
const TO_TABLE: u8 = 1;
const GOTO_RULE: u8 = 2;
const NOTHING: u8 = 3;
const UNREACHABLE: u8 = 7;
const FLAGS: u32 = 0x0001_0002;
const FIND_SOURCE: u32 = 0x0001_0000;
const DESTINATION: u16 = 1;
const SOURCE: u16 = 2;
const INPUT: u16 = 3;
const GOTO: u16 = 4;
const PRIORITY: u16 = 6;
const SUPPRESS_GROUP: u16 = 13;
const SUPPRESS_LENGTH: u16 = 14;
const TABLE: u16 = 15;
const MASK: u16 = 16;
const PAD: u16 = 18;
const MADE_BY: u16 = 21;
const PROTOCOL: u16 = 22;
const SOURCE_PORTS: u16 = 23;
const DESTINATION_PORTS: u16 = 24;
const PORT_MASKS: [u16; 2] = [28, 29];

bartizan_registry::made! {
    /// A rule of policy routing.
    #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
    #[must_use]
    pub struct Rule,
    /// A rule for all packets that leads nowhere yet. Rules of a lower priority number are asked
    /// first.
    pub new(version: Version, priority: u32) {
        version: Version,
        /// Bits of receiver and sender that count.
        bits: [u8; 2] = [0; 2],
        class: u8 = 0,
        action: u8 = NOTHING,
        flags: u32 = 0,
        attributes: Attributes = Attributes::from([(PRIORITY, priority.to_ne_bytes().to_vec())]),
    }
}

impl Rule {
    fn attribute(mut self, kind: u16, content: &[u8]) -> Self {
        self.attributes.insert(kind, content.to_vec());
        self
    }

    /// For packets to a network.
    pub fn to(mut self, address: IpAddr, bits: u8) -> Self {
        self.bits[0] = bits;
        // A rule for all addresses names none.
        if bits == 0 {
            self
        } else {
            self.attribute(DESTINATION, &octets(address))
        }
    }

    /// For packets from a network.
    pub fn from(mut self, address: IpAddr, bits: u8) -> Self {
        self.bits[1] = bits;
        if bits == 0 {
            self
        } else {
            self.attribute(SOURCE, &octets(address))
        }
    }

    /// For packets that this interface received; those of this host come from `lo`.
    pub fn input(self, interface: &str) -> Self {
        self.attribute(INPUT, &[interface.as_bytes(), &[0]].concat())
    }

    /// For one protocol in IP.
    pub fn protocol(self, protocol: u8) -> Self {
        self.attribute(PROTOCOL, &[protocol])
    }

    /// For ports of the sender, the first and the last.
    pub fn source_ports(self, ports: (u16, u16)) -> Self {
        self.ports(SOURCE_PORTS, ports)
    }

    /// For ports of the receiver, the first and the last.
    pub fn destination_ports(self, ports: (u16, u16)) -> Self {
        self.ports(DESTINATION_PORTS, ports)
    }

    fn ports(self, kind: u16, (first, last): (u16, u16)) -> Self {
        self.attribute(kind, &[first.to_ne_bytes(), last.to_ne_bytes()].concat())
    }

    /// For packets that have none of these bits in their mark.
    pub fn unmarked(self, mask: u32) -> Self {
        self.attribute(MASK, &mask.to_ne_bytes())
    }

    /// Also for IPv6 packets whose sender is not known yet, where the sender that the kernel then
    /// chooses is of the rule.
    pub fn finding_source(mut self) -> Self {
        self.flags |= FIND_SOURCE;
        self
    }

    /// Made by a program of this number.
    pub fn made_by(self, program: u8) -> Self {
        self.attribute(MADE_BY, &[program])
    }

    /// Looks in a table.
    pub fn lookup(mut self, table: u32) -> Self {
        self.action = TO_TABLE;
        self.attribute(TABLE, &table.to_ne_bytes())
    }

    /// Goes on at the rules of a priority.
    pub fn goto(mut self, priority: u32) -> Self {
        self.action = GOTO_RULE;
        self.attribute(GOTO, &priority.to_ne_bytes())
    }

    /// Ends there: the destination is unreachable.
    pub fn unreachable(mut self) -> Self {
        self.action = UNREACHABLE;
        self
    }

    /// Its IP version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Its place among the others.
    pub fn priority(&self) -> u32 {
        self.number(PRIORITY).unwrap_or(0)
    }

    /// The table that it looks in.
    pub fn table(&self) -> Option<u32> {
        self.number(TABLE)
    }

    /// The program that has made it; none where it does not say.
    pub fn maker(&self) -> Option<u8> {
        self.attributes.get(&MADE_BY)?.first().copied()
    }

    fn number(&self, kind: u16) -> Option<u32> {
        number(self.attributes.get(&kind)?)
    }

    /// Adds it, behind those of the same priority.
    ///
    /// # Errors
    ///
    /// The kernel's, EEXIST where there is the same already.
    pub fn add(&self) -> Result<(), Refused> {
        self.request(libc::RTM_NEWRULE)
            .order((libc::NLM_F_CREATE | libc::NLM_F_EXCL) as u16)
    }

    /// Removes one like it; that there is none is no error.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn remove(&self) -> Result<(), Refused> {
        match self.request(libc::RTM_DELRULE).order(0) {
            Err(refused) if refused.source.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            removed => removed,
        }
    }

    /// All of an IP version in this network namespace, in their order.
    ///
    /// # Errors
    ///
    /// The kernel's.
    pub fn list(version: Version) -> Result<Vec<Self>, Refused> {
        let mut header = [0; HEADER];
        header[0] = version.family();
        let question = Request::new(Family::Route, libc::RTM_GETRULE, &header);
        listed(question, HEADER, |header, attributes| {
            // The kernel lists all it has where it does not know the version.
            (header[0] == version.family()).then(|| Self::read(version, header, attributes))
        })
    }

    /// Without what the kernel adds to each: defaults that are written out, and its own state.
    fn read(version: Version, header: &[u8], mut attributes: Attributes) -> Self {
        let default = |kind: u16, content: &[u8]| match kind {
            SUPPRESS_GROUP | SUPPRESS_LENGTH => number(content) == Some(u32::MAX),
            TABLE | PRIORITY | GOTO => number(content) == Some(0),
            MADE_BY => content == [0],
            kind if PORT_MASKS.contains(&kind) => content.first_chunk() == Some(&u16::MAX.to_ne_bytes()),
            kind => kind == 0 || kind == PAD,
        };
        attributes.retain(|kind, content| !default(*kind, content));
        Self {
            version,
            bits: [header[1], header[2]],
            class: header[3],
            action: header[7],
            flags: number(&header[8..]).unwrap_or(0) & FLAGS,
            attributes,
        }
    }

    fn request(&self, kind: u16) -> Request {
        let [to, from] = self.bits;
        let mut header = vec![self.version.family(), to, from, self.class, 0, 0, 0, self.action];
        header.extend(self.flags.to_ne_bytes());
        with(Request::new(Family::Route, kind, &header), &self.attributes)
    }
}

impl fmt::Display for Rule {
    /// In the words of `ip rule`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pref {}", self.priority())?;
        if self.flags & !FIND_SOURCE != 0 {
            f.write_str(" not")?;
        }
        let ports = |content: &[u8]| {
            let [first, last] = [content.first_chunk(), content.get(2..).and_then(<[u8]>::first_chunk)]
                .map(|port| port.map_or(0, |port| u16::from_ne_bytes(*port)));
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        };
        for (kind, content) in &self.attributes {
            let (word, value) = match *kind {
                DESTINATION => ("to", network(content, self.bits[0])),
                SOURCE => ("from", network(content, self.bits[1])),
                INPUT => (
                    "iif",
                    Some(String::from_utf8_lossy(content).trim_end_matches('\0').to_owned()),
                ),
                PROTOCOL => ("ipproto", content.first().map(u8::to_string)),
                SOURCE_PORTS => ("sport", Some(ports(content))),
                DESTINATION_PORTS => ("dport", Some(ports(content))),
                MASK => ("fwmark", number(content).map(|mask| format!("0/{mask:#x}"))),
                PRIORITY | TABLE | GOTO | MADE_BY => continue,
                kind => {
                    write!(f, " attribute {kind} {content:02x?}")?;
                    continue;
                }
            };
            write!(f, " {word} {}", value.unwrap_or_default())?;
        }
        match self.action {
            TO_TABLE => write!(f, " lookup {}", self.table().unwrap_or(0))?,
            GOTO_RULE => write!(f, " goto {}", self.number(GOTO).unwrap_or(0))?,
            NOTHING => f.write_str(" nop")?,
            UNREACHABLE => f.write_str(" unreachable")?,
            other => write!(f, " action {other}")?,
        }
        match self.maker() {
            Some(program) => write!(f, " protocol {program}"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn called() -> Rule {
        let address = "10.1.0.2".parse().unwrap();
        let rule = Rule::new(Version::V4, 2)
            .to(address, 32)
            .protocol(6)
            .destination_ports((8000, 8000));
        rule.lookup(7443).made_by(74)
    }

    /// As Linux 6.18 lists it, and as one before 6.15 does, which has no masks of ports.
    #[test]
    fn rule_is_the_same_whatever_defaults_the_kernel_writes_out() {
        let rule = called();
        let header = [2, 32, 0, 0, 252, 0, 0, TO_TABLE, 0, 0, 0, 0];
        let mut listed = rule.attributes.clone();
        listed.insert(SUPPRESS_LENGTH, u32::MAX.to_ne_bytes().to_vec());
        assert_eq!(Rule::read(Version::V4, &header, listed.clone()), rule);
        listed.insert(PORT_MASKS[1], u16::MAX.to_ne_bytes().to_vec());
        assert_eq!(Rule::read(Version::V4, &header, listed.clone()), rule);
        // One that is for other ports as well is another rule, and so is one with an attribute of a
        // later kernel.
        listed.insert(PORT_MASKS[1], 0xfff0_u16.to_ne_bytes().to_vec());
        let other = Rule::read(Version::V4, &header, listed);
        assert_ne!(other, rule);
        assert!(other.to_string().contains("attribute 29 ["), "{other}");
    }

    #[test]
    fn rule_is_printed_in_the_words_of_ip() {
        assert_eq!(
            called().to_string(),
            "pref 2 to 10.1.0.2 ipproto 6 dport 8000 lookup 7443 protocol 74"
        );
        let own = Rule::new(Version::V6, 3)
            .input("lo")
            .protocol(132)
            .source_ports((1, 9))
            .unreachable();
        assert_eq!(own.to_string(), "pref 3 iif lo ipproto 132 sport 1-9 unreachable");
        let from = Rule::new(Version::V4, 218)
            .from("10.0.0.0".parse().unwrap(), 8)
            .unmarked(2)
            .goto(4);
        assert_eq!(from.to_string(), "pref 218 from 10.0.0.0/8 fwmark 0/0x2 goto 4");
        assert_eq!(Rule::new(Version::V4, 4).to_string(), "pref 4 nop");
    }

    #[test]
    fn rules_of_every_host_are_listed() {
        let rules = Rule::list(Version::V4).unwrap();
        assert!(rules.iter().any(|rule| rule.table() == Some(254)), "{rules:?}");
    }
}
