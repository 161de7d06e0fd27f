//! Abilities of a running charon, taken from its answers and not guessed from its version.

use bartizan_deployment::{IkeAlgorithm, IkeEngine};
use bartizan_registry::{TransformKind, transform_named};

use crate::Kernel;
use crate::render::Means;
use crate::vici::{Client, Error, Message, Section};

/// Name that Bartizan's daemon reports in place of a kernel plugin when it does ESP itself.
pub const USERSPACE: &str = "userspace";

/// Bartizan's daemon name in the answer to `version`.
pub const BARTIZAN: &str = "bartizan";

bartizan_registry::made! {
    /// A charon, or the daemon of Bartizan in its place, and what it can do.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Charon,
    /// Parses the answers to `version`, `stats` and `get-algorithms`.
    pub of(version: &Message, stats: &Message, algorithms: &Message) {
        let algorithms = SECTIONS.into_iter().flat_map(|(section, kind, before)| {
            algorithms.section(section).into_iter().flat_map(move |named| {
                named.entries().filter_map(move |(name, _)| {
                    let known = transform_named(kind, &format!("{before}{name}"))?;
                    Some((kind, known.id, named.text(name).unwrap_or_default().to_owned()))
                })
            })
        });
        /// Which of the two it is.
        pub engine: IkeEngine = match version.text("daemon") {
            Some(BARTIZAN) => IkeEngine::Bartizan,
            _ => IkeEngine::Strongswan,
        },
        /// `6.1.0`.
        pub version: String = version.text("version").unwrap_or("unknown").to_owned(),
        /// Plugins it has loaded.
        pub plugins: Vec<String> = stats.list("plugins").map(str::to_owned).collect(),
        /// The engine's own ESP. None if the kernel or a charon plugin does ESP.
        pub userspace: Option<OwnEsp> = stats.section("data-path").and_then(OwnEsp::read),
        /// Algorithms by kind and by their numbers on the wire, each with the plugin that has it.
        algorithms: Vec<(TransformKind, u16, String)> = algorithms.collect(),
    }
}

bartizan_registry::made! {
    /// ESP in user space, by the engine of Bartizan.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct OwnEsp, read(section: &Section) -> Option<Self> {
        let counts = |name: &str| -> Option<Vec<(String, u64)>> {
            let counts = section.section(name)?;
            let named = counts
                .entries()
                .filter_map(|(name, _)| Some((name.to_owned(), counts.number(name)?)));
            Some(named.collect())
        };
        let routing = section.section("routing");
        let text = |name: &str| routing.and_then(|routing| routing.text(name)).map(str::to_owned);
        /// The device that packets of the links are routed to.
        pub device: String = section.text("device")?.to_owned(),
        /// Octets that a packet in the tunnel may have.
        pub mtu: u16 = section.number("mtu")?.try_into().ok()?,
        /// Packets that it dropped, by why.
        pub dropped: Vec<(String, u64)> = counts("dropped")?,
        /// Work done and its batch sizes: packets and calls, by name.
        pub work: Vec<(String, u64)> = counts("work")?,
        /// Times that rules, routes or the device itself were lost and were installed again.
        pub restored: u64 = routing.and_then(|routing| routing.number("restored")).unwrap_or(0),
        /// Differences of the last time.
        pub last: Option<String> = text("last"),
        /// Differences from what was installed, when this was asked; none where there are none.
        pub lost: Option<String> = text("lost"),
    }
}

impl OwnEsp {
    /// Statistics of the engine behind this connection. None if something else does ESP.
    ///
    /// # Errors
    ///
    /// Fails if it does not answer.
    pub fn ask(client: &mut Client) -> Result<Option<Self>, Error> {
        let stats = client.request("stats", Section::new())?;
        Ok(stats.section("data-path").and_then(Self::read))
    }
}

/// The sections of `get-algorithms`, what they hold, and what stands before a name in IANA's registry that charon leaves out.
const SECTIONS: [(&str, TransformKind, &str); 6] = [
    ("ke", TransformKind::KeyExchange, ""),
    // Until 5.9 they were called so.
    ("dh", TransformKind::KeyExchange, ""),
    ("encryption", TransformKind::Encryption, "ENCR_"),
    ("aead", TransformKind::Encryption, "ENCR_"),
    ("integrity", TransformKind::Integrity, "AUTH_"),
    ("prf", TransformKind::PseudoRandomFunction, ""),
];

impl Charon {
    /// Asks it.
    ///
    /// # Errors
    ///
    /// Fails if it does not answer.
    pub fn ask(client: &mut Client) -> Result<Self, Error> {
        let version = client.request("version", Section::new())?;
        let stats = client.request("stats", Section::new())?;
        let algorithms = client.request("get-algorithms", Section::new())?;
        Ok(Self::of(&version, &stats, &algorithms))
    }

    /// Returns true if charon does ESP itself, instead of the kernel.
    #[must_use]
    pub fn has_libipsec(&self) -> bool {
        self.plugins.iter().any(|plugin| plugin == "kernel-libipsec")
    }

    /// Its name and version, for messages.
    pub fn shown(&self) -> String {
        match self.engine {
            IkeEngine::Strongswan => format!("strongSwan {}", self.version),
            IkeEngine::Bartizan => format!("the engine of Bartizan {}", self.version),
        }
    }

    /// The ESP implementation that charon uses.
    pub fn esp(&self) -> Kernel {
        if self.has_libipsec() {
            Kernel::Libipsec
        } else if self.engine == IkeEngine::Bartizan && self.plugins.iter().any(|plugin| plugin == USERSPACE) {
            Kernel::Userspace
        } else {
            Kernel::Netlink
        }
    }

    /// Target that links are rendered for.
    pub fn means(&self) -> Means {
        match self.esp() {
            Kernel::Libipsec => Means::LIBIPSEC,
            Kernel::Netlink | Kernel::Userspace => Means::of(self.engine),
        }
    }

    /// The plugin that has the algorithm; none where no plugin that is loaded does.
    pub fn plugin_of(&self, algorithm: IkeAlgorithm) -> Option<&str> {
        let mut known = self.algorithms.iter();
        let found = known.find(|(kind, id, _)| (*kind, *id) == (algorithm.kind(), algorithm.id()));
        found.map(|(_, _, plugin)| plugin.as_str())
    }

    /// Returns true if a loaded plugin implements the algorithm.
    #[must_use]
    pub fn has(&self, algorithm: IkeAlgorithm) -> bool {
        self.plugin_of(algorithm).is_some()
    }

    /// Returns true if charon knows additional key exchanges (RFC 9370), which came with 6.0.0.
    pub(crate) fn has_additional_exchanges(&self) -> bool {
        let major = self
            .version
            .split('.')
            .next()
            .and_then(|major| major.parse::<u32>().ok());
        self.engine == IkeEngine::Bartizan || major.is_none_or(|major| major >= 6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers of 5.9.8 and 6.1.0, cut to one line of each kind.
    #[test]
    fn groups_are_found_under_the_name_that_5_9_gives_them_and_under_that_of_6() {
        let x25519 = IkeAlgorithm::named(TransformKind::KeyExchange, "x25519").expect("known");
        for (version, section) in [("5.9.8", "dh"), ("6.1.0", "ke")] {
            let algorithms = Section::new().with_section(section, Section::new().with("CURVE_25519", "openssl"));
            let charon = Charon::of(&Section::new().with("version", version), &Section::new(), &algorithms);
            assert_eq!(charon.plugin_of(x25519), Some("openssl"), "{version}");
            assert_eq!(charon.has_additional_exchanges(), version == "6.1.0");
        }
    }
}
