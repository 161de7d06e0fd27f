//! Flaws in the connections of a `swanctl.conf`.

use super::ability::{self, MAX_PACKET};
use super::{Classical, Protocol, Remark, Severity, proposals};
use crate::Charon;
use crate::proposal::Proposal;
use crate::swanctl::{Place, Settings};

/// A remark and what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Place of the flaw. For a missing setting, the start of its section.
    pub place: Place,
    /// The connection.
    pub connection: String,
    /// The CHILD_SA; none where it is about the IKE_SA.
    pub child: Option<String>,
    /// The remark.
    pub remark: Remark,
}

/// Remarks on every connection, including the limits of `charon` if one was asked.
#[must_use]
pub fn file(settings: &Settings, charon: Option<&Charon>) -> Vec<Located> {
    let mut located = Vec::new();
    let connections = settings.section("connections").map(Settings::sections);
    for (connection, begins, section) in connections.into_iter().flatten() {
        let mut say = |child: Option<&str>, place: &Place, remark: Remark| {
            located.push(Located {
                place: place.clone(),
                connection: connection.to_owned(),
                child: child.map(str::to_owned),
                remark,
            });
        };
        if let Some(("1", place)) = section.value("version") {
            let hint = "write `version = 2`";
            let cause = "is IKEv1, which has no post-quantum key exchange";
            say(None, place, Remark::new(Severity::Refused, connection, cause, hint));
            continue;
        }
        for remark in of_list(section, "proposals", Protocol::Ike, charon) {
            say(None, place_of(section, "proposals", begins), remark);
        }
        let children = section.section("children").map(Settings::sections);
        for (child, begins, section) in children.into_iter().flatten() {
            if let Some((_, place)) = section.value("ah_proposals") {
                let cause = "is authenticated by AH and not encrypted";
                let hint = "write `esp_proposals` instead";
                say(Some(child), place, Remark::new(Severity::Refused, child, cause, hint));
                continue;
            }
            for remark in of_list(section, "esp_proposals", Protocol::Esp, charon) {
                say(Some(child), place_of(section, "esp_proposals", begins), remark);
            }
        }
    }
    located
}

fn place_of<'a>(section: &'a Settings, key: &str, begins: &'a Place) -> &'a Place {
    section.value(key).map_or(begins, |(_, place)| place)
}

fn of_list(section: &Settings, key: &str, protocol: Protocol, charon: Option<&Charon>) -> Vec<Remark> {
    let texts = section.list(key);
    let mut remarks = proposals(protocol, &texts, Classical::Refused);
    let Some(charon) = charon else { return remarks };
    for proposal in texts.iter().map(|text| Proposal::parse(text)) {
        let mut say = |severity, (cause, hint): (String, &str)| {
            remarks.push(Remark::new(severity, &proposal, cause, hint));
        };
        if proposal.key_exchanges.iter().skip(1).any(|choices| !choices.is_empty())
            && let Some(lacks) = ability::lacks_additional(charon)
        {
            say(Severity::Refused, lacks);
        }
        let others = [&proposal.ciphers, &proposal.integrity, &proposal.prfs];
        for algorithm in proposal.methods().chain(others.into_iter().flatten().copied()) {
            if let Some(lacks) = ability::lacks(charon, algorithm) {
                say(Severity::Refused, lacks);
            }
        }
        let large = |octets: u16| octets > MAX_PACKET;
        if proposal
            .methods()
            .any(|method| method.known().initiator.is_some_and(large))
        {
            let cause = format!("makes messages of more than {MAX_PACKET} octets, which charon drops");
            let hint = "set `max_packet = 30000` in strongswan.conf at both ends";
            say(Severity::Noted, (cause, hint));
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::swanctl::parse;
    use crate::vici::Section;

    const FILE: &str = "\
connections {
  ric {
    proposals = aes256gcm16-prfsha384-x25519-ke1_mlkem768, aes256gcm16-prfsha384-x25519
    children {
      E2 { esp_proposals = aes256gcm16-x25519-ke1_mlkem768 }
      O1 { mode = tunnel }
    }
  }
  old { version = 1 }
  good {
    proposals = aes256gcm16-prfsha384-x25519-ke1_mlkem768
    children { N2 { esp_proposals = aes256gcm16-x25519-ke1_mlkem768
      } }
  }
}
";

    fn said(charon: Option<&Charon>) -> Vec<String> {
        let settings = parse("swanctl.conf", FILE, &mut |_, _| Ok(Vec::new())).unwrap();
        let line = |located: Located| {
            let child = located.child.map(|child| format!("/{child}")).unwrap_or_default();
            let Located {
                place,
                connection,
                remark,
                ..
            } = located;
            format!("{place} {connection}{child} {:?} {}", remark.severity, remark.cause)
        };
        file(&settings, charon).into_iter().map(line).collect()
    }

    #[test]
    fn the_connection_and_the_line_of_a_classical_choice_are_named() {
        let default = "stands for whatever this strongSwan offers by itself, classical key exchanges among it";
        let hybrid = "aes256gcm16-prfsha384-x25519-ke1_mlkem768";
        assert_eq!(
            said(None),
            [
                format!("swanctl.conf:3 ric Refused a peer can choose x25519, besides {hybrid}"),
                format!("swanctl.conf:6 ric/O1 Refused {default}"),
                "swanctl.conf:9 old Refused is IKEv1, which has no post-quantum key exchange".to_owned(),
            ]
        );
    }

    #[test]
    fn what_the_charon_that_was_asked_cannot_do_is_named_too() {
        let version = Section::new().with("version", "6.0.1");
        let all = |names: &[&str]| {
            names
                .iter()
                .fold(Section::new(), |all, name| all.with(*name, "openssl"))
        };
        let algorithms = Section::new()
            .with_section("ke", all(&["CURVE_25519"]))
            .with_section("aead", all(&["AES_GCM_16"]))
            .with_section("prf", all(&["PRF_HMAC_SHA2_384"]));
        let trixie = Charon::of(&version, &Section::new(), &algorithms);
        let lacks = "no plugin that strongSwan 6.0.1 has loaded knows mlkem768";
        let said = said(Some(&trixie));
        let found = said.iter().filter(|line| line.ends_with(lacks));
        let at: Vec<_> = found.filter_map(|line| line.split(' ').next()).collect();
        assert_eq!(
            at,
            ["swanctl.conf:3", "swanctl.conf:5", "swanctl.conf:11", "swanctl.conf:12"]
        );
    }
}
