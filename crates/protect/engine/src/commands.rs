//! The commands that the daemon has: those of charon that set links up, look at them and take them down.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use bartizan_host::clock;
use bartizan_ike::{Failure, IkeSa, Prf, SaId, Selector, key_exchange};
use bartizan_registry::{TRANSFORMS, TransformKind};
use bartizan_wire::ike::KeyExchangeMethod;

use crate::association::Sa;
use crate::connection::{Connection, Protected};
use crate::control::{Asked, ClientId};
use crate::{Daemon, vici_reports};
use bartizan_ipsec::vici::{Message, Packet, Section};
use bartizan_ipsec::xfrm::{self, Installed};

/// Events that a client may register for.
const EVENTS: [&str; 9] = [
    "ike-updown",
    "child-updown",
    "ike-rekey",
    "child-rekey",
    "alert",
    "log",
    "control-log",
    "list-sa",
    "list-conn",
];
/// Connections at most.
pub(crate) const CONNECTIONS: usize = 4096;

/// A command that is answered later.
#[derive(Debug)]
pub(crate) enum Waiting {
    Initiate(Initiate),
    Terminate(Terminate),
}

#[derive(Debug)]
pub(crate) struct Initiate {
    pub(crate) client: ClientId,
    pub(crate) connection: String,
    pub(crate) child: String,
    deadline: Instant,
}

#[derive(Debug)]
pub(crate) struct Terminate {
    client: ClientId,
    /// SAs to be gone: IKE_SAs, or CHILD_SAs by the SPIs by which this end receives.
    sas: Vec<SaId>,
    children: Vec<u32>,
    deadline: Instant,
    /// True if they go without the peer when it does not answer in time.
    forced: bool,
}

fn yes() -> Message {
    Section::new().with("success", "yes")
}

fn no(why: &str) -> Message {
    Section::new().with("success", "no").with("errmsg", why)
}

impl Daemon {
    pub(crate) fn asked(&mut self, asked: Asked) {
        let client = asked.client;
        match asked.packet {
            Packet::Register(name) if EVENTS.contains(&name.as_str()) => {
                self.control.register(client, name);
                self.control.send(client, &Packet::Confirm);
            }
            Packet::Unregister(name) if EVENTS.contains(&name.as_str()) => {
                self.control.unregister(client, &name);
                self.control.send(client, &Packet::Confirm);
            }
            Packet::Register(_) | Packet::Unregister(_) => self.control.send(client, &Packet::UnknownEvent),
            Packet::Request { command, message } => match self.command(client, &command, &message) {
                Some(Some(answer)) => self.control.send(client, &Packet::Response(answer)),
                Some(None) => {}
                None => self.control.send(client, &Packet::UnknownCommand),
            },
            // Those go the other way.
            _ => {}
        }
    }

    /// The answer to a command; none within where it is answered later, none at all where there is no such command.
    fn command(&mut self, client: ClientId, command: &str, message: &Message) -> Option<Option<Message>> {
        let done = |done: Result<(), String>| Some(done.map_or_else(|why| no(&why), |()| yes()));
        Some(match command {
            "version" => Some(
                Section::new()
                    .with("daemon", bartizan_ipsec::BARTIZAN)
                    .with("version", env!("CARGO_PKG_VERSION")),
            ),
            "stats" => Some(self.stats()),
            "get-algorithms" => Some(algorithms()),
            "load-cert" => done(self.store.certificate(message)),
            "load-key" => done(self.store.key(message)),
            "load-shared" => done(self.store.shared(message)),
            "load-conn" => done(self.load(message)),
            "unload-conn" => done(self.unload(message)),
            "list-conns" => Some(self.list_connections(client)),
            "list-sas" => Some(self.list_sas(client)),
            "initiate" => self.initiate(client, message),
            "terminate" => self.terminate(client, message),
            "rekey" => Some(self.rekey(message)),
            _ => return None,
        })
    }

    fn stats(&self) -> Message {
        let (all, half_open) = self.endpoint.count();
        let sas = Section::new()
            .with("total", all.to_string())
            .with("half-open", half_open.to_string());
        let retired = self.retired.iter().map(|(_, installed)| installed.left());
        let left = self
            .installed
            .values()
            .map(Installed::left)
            .chain(retired)
            .sum::<usize>();
        let stats = Section::new()
            .with_list("plugins", [self.data_path.plugin()])
            .with_section("ikesas", sas)
            // SAs of ESP that were to be deleted and are still there.
            .with("undeleted", left.to_string());
        match self.data_path.section() {
            Some(section) => stats.with_section("data-path", section),
            None => stats,
        }
    }

    pub(crate) fn load(&mut self, message: &Message) -> Result<(), String> {
        for (name, section) in message.sections() {
            let mut read = Connection::read(name, section, &self.store, &self.options)?;
            let between = (read.ends.local.ip(), read.ends.remote.ip());
            let (local, remote) = between;
            let mut others = self
                .connections
                .iter()
                .filter(|known| known.loaded && known.name != name);
            let is_other = |known: &&Connection| {
                let same = |one| known.pairs().any(|other| xfrm::is_same(one, other));
                (known.ends.local.ip(), known.ends.remote.ip()) == between || read.pairs().any(same)
            };
            if let Some(other) = others.find(is_other) {
                return Err(format!(
                    "{} is between {local} and {remote} or for the same packets as well: the kernel has one policy for them",
                    other.name
                ));
            }
            let is_new = self.connection(name).is_none();
            if is_new && self.connections.len() >= CONNECTIONS {
                return Err("too many connections".to_owned());
            }
            let opened = self.sockets.open(local, &mut self.data_path);
            opened.map_err(|error| format!("UDP ports 500 and 4500 of {local} cannot be used for ESP: {error}"))?;
            for child in &read.children {
                let required = self.data_path.require(child);
                required.map_err(|error| error.to_string())?;
            }
            if read.children.iter().any(|child| child.trap) {
                let heard = self.data_path.hear();
                heard.map_err(|error| format!("hearing what packets ask for: {error}"))?;
            }
            if let Some(shown) = self.data_path.shown() {
                self.say_of(name, 0, &shown);
            }
            self.endpoint.accept(between, read.config.clone(), &mut crate::random);
            self.discard_moved(&read);
            match self.connections.iter_mut().find(|known| known.name == name) {
                Some(known) => {
                    read.wanted = std::mem::take(&mut known.wanted);
                    read.wanted
                        .retain(|child| read.children.iter().any(|one| one.name == *child));
                    read.allowance = known.allowance;
                    let before = std::mem::replace(known, read);
                    // Releases traffic that only the earlier configuration covered.
                    self.release(&before);
                }
                None => self.connections.push(read),
            }
            self.judge_again(name);
        }
        Ok(())
    }

    /// SAs between other addresses, or of other numbers in the kernel, than the connection has from now on protect none of its packets.
    fn discard_moved(&mut self, read: &Connection) {
        let moved = |sa: &Sa| {
            let paths = |known: &Protected| (known.name.clone(), known.path);
            let now: Vec<_> = read.children.iter().map(|child| paths(child)).collect();
            let mut before = sa.children.iter().map(|child| paths(child));
            before.any(|(name, path)| now.iter().any(|(other, now)| *other == name && *now != path))
        };
        let of_it = self.sas.iter().filter(|(_, sa)| sa.addressed == read.name && moved(sa));
        let of_it: Vec<SaId> = of_it.map(|(id, _)| *id).collect();
        for id in &of_it {
            self.say(
                *id,
                "dropping the IKE_SA: its connection was loaded with other addresses or numbers",
            );
            self.endpoint.with(*id, IkeSa::discard);
        }
        if !of_it.is_empty() {
            self.settle();
            self.retire(&read.name);
        }
    }

    /// Forgets what was installed of a connection, but SAs whose deletion has failed.
    fn retire(&mut self, name: &str) {
        let of_it = self.installed.extract_if(.., |(of, _), _| of == name);
        let left = of_it.filter(|(_, installed)| installed.left() > 0);
        self.retired
            .extend(left.map(|((name, _), installed)| (name, installed)));
    }

    /// Removes the policies of a connection that is not there any more, but those that another has: they keep its packets from leaving unencrypted.
    fn release(&mut self, gone: &Connection) {
        let mut failed = Vec::new();
        for child in &gone.children {
            for (local, remote) in self.unneeded(child) {
                failed.extend(self.data_path.release(child.path, &local, &remote).err());
            }
        }
        for error in failed {
            self.say_of(&gone.name, 0, &error.to_string());
        }
    }

    /// Traffic of a CHILD_SA that no loaded connection covers.
    pub(crate) fn unneeded(&self, child: &Protected) -> Vec<(Selector, Selector)> {
        let is_needed = |pair: &(&Selector, &Selector)| {
            let mut all = self.connections.iter().flat_map(Connection::pairs);
            all.any(|other| xfrm::is_same(*pair, other))
        };
        let unneeded = child.pairs().filter(|pair| !is_needed(pair));
        unneeded.map(|(local, remote)| (*local, *remote)).collect()
    }

    pub(crate) fn unload(&mut self, message: &Message) -> Result<(), String> {
        let name = message.text("name").unwrap_or_default();
        let known = self
            .connections
            .iter_mut()
            .find(|known| known.loaded && known.name == name);
        let known = known.ok_or_else(|| format!("unload: connection '{name}' not found"))?;
        known.loaded = false;
        let between = (known.ends.local.ip(), known.ends.remote.ip());
        self.endpoint.refuse(between);
        let half_open = self.sas.iter().filter(|(_, sa)| !sa.belongs && sa.addressed == name);
        for id in half_open.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.endpoint.with(id, IkeSa::discard);
        }
        self.settle();
        self.forget_unloaded();
        Ok(())
    }

    /// Forgets connections that are not loaded and have no IKE_SA, with their policies and sockets.
    pub(crate) fn forget_unloaded(&mut self) {
        let sas = &self.sas;
        let is_over = |known: &mut Connection| !known.loaded && !sas.values().any(|sa| sa.is_of(&known.name));
        let over: Vec<_> = self.connections.extract_if(.., is_over).collect();
        for connection in over {
            self.release(&connection);
            self.retire(&connection.name);
        }
        let connections = &self.connections;
        let needed = |address: &IpAddr| connections.iter().any(|known| known.ends.local.ip() == *address);
        self.data_path.retain(needed);
        self.sockets.retain(needed);
    }

    fn list_connections(&mut self, client: ClientId) -> Message {
        let loaded = self.connections.iter().filter(|known| known.loaded);
        let rows = loaded.map(|known| {
            let [local, remote] = [known.ends.local, known.ends.remote].map(|end| end.ip().to_string());
            let children = known.children.iter().fold(Section::new(), |all, child| {
                let shown = |all: &[Selector]| all.iter().map(vici_reports::selector).collect::<Vec<_>>();
                let section = Section::new()
                    .with_list("local-ts", shown(&child.local))
                    .with_list("remote-ts", shown(&child.remote));
                all.with_section(&child.name, section)
            });
            let connection = Section::new()
                .with_list("local_addrs", [local])
                .with_list("remote_addrs", [remote])
                .with("version", "IKEv2")
                .with_section("children", children);
            Section::new().with_section(&known.name, connection)
        });
        let rows: Vec<_> = rows.collect();
        for row in rows {
            self.control.event_to(client, "list-conn", row);
        }
        Section::new()
    }

    fn list_sas(&mut self, client: ClientId) -> Message {
        let now = clock::now();
        let ids: Vec<SaId> = self.sas.keys().copied().collect();
        for id in ids {
            let Some(sa) = self.sas.get(&id) else { continue };
            let name = sa.connection().to_owned();
            let held: Vec<u32> = self.endpoint.sa(id).into_iter().flat_map(IkeSa::children).collect();
            let children = self.children.iter().filter(|child| held.contains(&child.inbound));
            let children = children.fold(Section::new(), |all, child| {
                let key = format!("{}-{}", child.of.name, child.number);
                all.with_section(key, self.child_section(child, now))
            });
            let section = self.section(id, now).with_section("child-sas", children);
            self.control
                .event_to(client, "list-sa", Section::new().with_section(name, section));
        }
        Section::new()
    }

    /// Returns true if a connection has this CHILD_SA.
    pub(crate) fn has_child(&self, connection: &str, child: &str) -> bool {
        let mut children = self.children.iter();
        children.any(|known| known.connection == connection && known.of.name == child && !known.superseded)
    }

    pub(crate) fn initiate(&mut self, client: ClientId, message: &Message) -> Option<Message> {
        let child = message.text("child").unwrap_or_default();
        let ike = message.text("ike");
        let is_it = |known: &&mut Connection| {
            known.loaded && known.place(child).is_some() && ike.is_none_or(|ike| ike == known.name)
        };
        let Some(known) = self.connections.iter_mut().find(is_it) else {
            return Some(no(&format!("CHILD_SA config '{child}' not found")));
        };
        let name = known.name.clone();
        known.wanted.insert(child.to_owned());
        if self.has_child(&name, child) {
            return Some(yes());
        }
        let now = clock::now();
        let open = self
            .sas
            .iter()
            .find(|(_, sa)| sa.is_of(&name) && sa.is_open())
            .map(|(id, _)| *id);
        let is_under_way = self.sas.values().any(|sa| sa.is_of(&name) && sa.established.is_none());
        // Taken before the initiation begins: its log lines are for the waiting client.
        let patience = patience(message);
        if patience >= 0 {
            self.waiting.push(Waiting::Initiate(Initiate {
                client,
                connection: name.clone(),
                child: child.to_owned(),
                deadline: now + milliseconds(patience),
            }));
        }
        // One that was set up before this CHILD_SA was configured cannot have it: another takes its place.
        let with_it = open.and_then(|id| Some((id, self.place_in(id, child)?)));
        if let Some((id, place)) = with_it {
            self.endpoint.with(id, |sa| sa.make_child(now, place));
        } else if !is_under_way && let Err(why) = self.begin(&name, Some(child), open) {
            self.waiting.retain(|waiting| !waiting.is_of(client));
            return Some(no(&why));
        }
        (patience < 0).then(yes)
    }

    /// The SAs that a command names: IKE_SAs, and CHILD_SAs by the SPIs by which this end receives.
    fn named(&self, message: &Message) -> (Vec<SaId>, Vec<u32>) {
        let number = |name: &str| message.number(name);
        let sas = self.sas.iter().filter(|(_, sa)| {
            number("ike-id") == Some(sa.number.into())
                || message.text("ike").is_some_and(|ike| sa.is_of(ike)) && sa.is_open()
        });
        let children = self.children.iter().filter(|child| {
            let by_name = message.text("child") == Some(child.of.name.as_str()) && message.text("ike").is_none();
            number("child-id") == Some(child.number.into()) || by_name && !child.superseded
        });
        let children = children.map(|child| child.inbound).collect();
        (sas.map(|(id, _)| *id).collect(), children)
    }

    /// The IKE_SA that has a CHILD_SA.
    pub(crate) fn holder(&self, inbound: u32) -> Option<SaId> {
        let mut sas = self.endpoint.sas();
        let holder = sas.find(|(_, sa)| sa.children().any(|child| child == inbound));
        holder.map(|(id, _)| id)
    }

    fn terminate(&mut self, client: ClientId, message: &Message) -> Option<Message> {
        let now = clock::now();
        let (sas, children) = self.named(message);
        if sas.is_empty() && children.is_empty() {
            return Some(no("no matching SAs to terminate found"));
        }
        let forced = message.is_yes("force");
        let patience = patience(message);
        for id in &sas {
            self.close(*id);
        }
        for inbound in &children {
            if let Some(child) = self.children.iter_mut().find(|child| child.inbound == *inbound) {
                child.ending = true;
                let (connection, name) = (child.connection.clone(), child.of.name.clone());
                let mut connections = self.connections.iter_mut();
                let of_it = connections.find(|known| known.name == connection);
                of_it.into_iter().for_each(|known| _ = known.wanted.remove(&name));
            }
            if let Some(id) = self.holder(*inbound) {
                self.endpoint.with(id, |sa| sa.delete_child(now, *inbound));
            }
        }
        let waits = patience >= 0;
        // An initiation without a waiting client goes on without the peer if that does not answer
        // soon.
        let patience = if waits {
            milliseconds(patience)
        } else {
            Duration::from_secs(1)
        };
        let terminate = Terminate {
            client,
            sas,
            children,
            deadline: now + patience,
            forced,
        };
        if waits {
            self.waiting.push(Waiting::Terminate(terminate));
            return None;
        }
        if forced {
            for id in &terminate.sas {
                self.endpoint.with(*id, IkeSa::discard);
            }
        }
        Some(yes())
    }

    fn rekey(&mut self, message: &Message) -> Message {
        let now = clock::now();
        let (sas, children) = self.named(message);
        let matches = sas.len() + children.len();
        if matches == 0 {
            return no("no matching SAs to rekey found");
        }
        for id in sas {
            self.endpoint.with(id, |sa| sa.rekey(now));
        }
        for inbound in children {
            if let Some(id) = self.holder(inbound) {
                self.endpoint.with(id, |sa| sa.rekey_child(now, inbound));
            }
        }
        yes().with("matches", matches.to_string())
    }

    /// This CHILD_SA of a connection was made.
    pub(crate) fn succeed_waiting(&mut self, connection: &str, child: &str) {
        self.answer_initiate(connection, Some(child), &yes());
    }

    /// It will not be made by the attempt that is under way; where none is named, none will.
    pub(crate) fn fail_waiting(&mut self, connection: &str, child: Option<&str>, why: &str) {
        let answer = no(&format!("establishing CHILD_SA failed: {why}"));
        self.answer_initiate(connection, child, &answer);
    }

    /// Returns true if a command waits for any CHILD_SA of a connection.
    pub(crate) fn is_waited_for(&self, connection: &str) -> bool {
        let mut waiting = self.waiting.iter();
        waiting.any(|waiting| matches!(waiting, Waiting::Initiate(initiate) if initiate.connection == connection))
    }

    fn answer_initiate(&mut self, connection: &str, child: Option<&str>, answer: &Message) {
        let of_it = |waiting: &mut Waiting| {
            matches!(waiting, Waiting::Initiate(initiate)
                if initiate.connection == connection && child.is_none_or(|child| initiate.child == child))
        };
        let answered: Vec<_> = self.waiting.extract_if(.., of_it).collect();
        for waiting in answered {
            self.control.send(waiting.client(), &Packet::Response(answer.clone()));
        }
    }

    /// An IKE_SA has ended.
    pub(crate) fn end_waiting(&mut self, id: SaId, sa: &Sa, failure: &Failure) {
        // A peer that does not answer is tried again until the time is over.
        let goes_on = sa.initiator && *failure == Failure::Unanswered || *failure == Failure::Replaced;
        let others = self.sas.values().any(|other| other.is_of(&sa.addressed));
        if sa.belongs && !goes_on && !others {
            self.fail_waiting(&sa.addressed, None, &failure.to_string());
        }
        for waiting in &mut self.waiting {
            if let Waiting::Terminate(terminate) = waiting {
                terminate.sas.retain(|known| *known != id);
            }
        }
    }

    /// Answers commands that are done or out of time, and forgets those without a waiting client.
    pub(crate) fn expire_waiting(&mut self, now: Instant) {
        let control = &self.control;
        self.waiting.retain(|waiting| control.is_connected(waiting.client()));
        for waiting in std::mem::take(&mut self.waiting) {
            match waiting {
                Waiting::Initiate(initiate) if now >= initiate.deadline => {
                    let answer = no("CHILD_SA not established in time");
                    self.control.send(initiate.client, &Packet::Response(answer));
                }
                Waiting::Terminate(terminate) => self.expire_terminate(terminate, now),
                waiting => self.waiting.push(waiting),
            }
        }
    }

    fn expire_terminate(&mut self, mut terminate: Terminate, now: Instant) {
        let children = &self.children;
        terminate
            .children
            .retain(|inbound| children.iter().any(|child| child.inbound == *inbound));
        let is_done = terminate.sas.is_empty() && terminate.children.is_empty();
        if !is_done && now < terminate.deadline {
            self.waiting.push(Waiting::Terminate(terminate));
            return;
        }
        let answer = if is_done {
            yes()
        } else {
            no("the peer did not answer in time")
        };
        if !is_done && terminate.forced {
            for id in &terminate.sas {
                self.endpoint.with(*id, IkeSa::discard);
            }
            self.settle();
        }
        self.control.send(terminate.client, &Packet::Response(answer));
    }
}

impl Waiting {
    fn client(&self) -> ClientId {
        match self {
            Self::Initiate(initiate) => initiate.client,
            Self::Terminate(terminate) => terminate.client,
        }
    }

    fn is_of(&self, client: ClientId) -> bool {
        self.client() == client
    }
}

/// Milliseconds that a command may take; a negative number where its answer is not waited for.
fn patience(message: &Message) -> i64 {
    let timeout = message.text("timeout").and_then(|timeout| timeout.parse().ok());
    timeout.unwrap_or(0)
}

fn milliseconds(number: i64) -> Duration {
    // An hour at most: a waiting client ends sooner.
    Duration::from_millis(u64::try_from(number).unwrap_or(0).min(3_600_000))
}

/// Implemented algorithms, by IANA's names without the parts that charon leaves out.
fn algorithms() -> Message {
    let plugin = "aws-lc-rs";
    let short = |name: &'static str| {
        let rest = ["ENCR_", "AUTH_"].iter().find_map(|before| name.strip_prefix(before));
        rest.unwrap_or(name)
    };
    let of = |kind: TransformKind, is_there: &dyn Fn(u16, bool) -> bool| {
        let known = TRANSFORMS.iter().filter(|known| known.kind == kind);
        let known = known.filter(|known| is_there(known.id, known.is_aead()));
        known.fold(Section::new(), |all, known| all.with(short(known.name), plugin))
    };
    let suite = |id: u16, integrity: Option<u16>| {
        let mut bits = [None, Some(256)].into_iter();
        bits.any(|bits| bartizan_esp::Suite::of(id, bits, integrity).is_ok())
    };
    let integrity = TRANSFORMS.iter().filter(|known| known.kind == TransformKind::Integrity);
    let integrity: Vec<u16> = integrity.map(|known| known.id).collect();
    let cbc = |id: u16| integrity.iter().any(|integrity| suite(id, Some(*integrity)));
    let ciphers = TRANSFORMS
        .iter()
        .filter(|known| known.kind == TransformKind::Encryption && !known.is_aead());
    let ciphers: Vec<u16> = ciphers.map(|known| known.id).collect();
    let proves = |integrity: u16| ciphers.iter().any(|id| suite(*id, Some(integrity)));
    Section::new()
        .with_section(
            "encryption",
            of(TransformKind::Encryption, &|id, aead| !aead && cbc(id)),
        )
        .with_section(
            "aead",
            of(TransformKind::Encryption, &|id, aead| aead && suite(id, None)),
        )
        .with_section("integrity", of(TransformKind::Integrity, &|id, _| proves(id)))
        .with_section(
            "prf",
            of(TransformKind::PseudoRandomFunction, &|id, _| Prf::of(id).is_some()),
        )
        .with_section(
            "ke",
            of(TransformKind::KeyExchange, &|id, _| {
                key_exchange(KeyExchangeMethod(id)).is_some()
            }),
        )
}

#[cfg(test)]
mod tests {
    use bartizan_deployment::IkeAlgorithm;

    use super::*;
    use bartizan_ipsec::Charon;

    #[test]
    fn the_algorithms_that_are_implemented_are_found_as_those_of_a_charon_are_and_no_others() {
        let version = Section::new()
            .with("daemon", bartizan_ipsec::BARTIZAN)
            .with("version", "1");
        let stats = Section::new().with_list("plugins", ["kernel-netlink"]);
        let charon = Charon::of(&version, &stats, &algorithms());
        let has = |kind, name: &str| charon.has(IkeAlgorithm::named(kind, name).expect(name));
        for (kind, name) in [
            (TransformKind::Encryption, "aes256gcm16"),
            (TransformKind::Encryption, "aes256ccm16"),
            (TransformKind::Encryption, "chacha20poly1305"),
            (TransformKind::Encryption, "aes256"),
            (TransformKind::Integrity, "sha384"),
            (TransformKind::PseudoRandomFunction, "prfsha384"),
            (TransformKind::KeyExchange, "x25519"),
            (TransformKind::KeyExchange, "mlkem768"),
            (TransformKind::KeyExchange, "ecp521"),
        ] {
            assert!(has(kind, name), "{name}");
        }
        for (kind, name) in [
            (TransformKind::Encryption, "aes256ctr"),
            (TransformKind::Encryption, "aes256gcm8"),
            (TransformKind::KeyExchange, "frodoa3"),
            (TransformKind::KeyExchange, "modp3072"),
        ] {
            assert!(!has(kind, name), "{name}");
        }
        assert_eq!(
            (charon.engine, charon.esp()),
            (
                bartizan_deployment::IkeEngine::Bartizan,
                bartizan_ipsec::Kernel::Netlink
            )
        );
    }
}
