//! What a charon that runs can do: asked of it, not guessed from its version.

use bartizan_deployment::{IkeAlgorithm, KeyExchange};
use bartizan_registry::{TransformKind, transform_named};

use crate::vici::{Client, Error, Section};

/// A charon and what it can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Charon {
    /// `6.1.0`.
    pub version: String,
    /// Plugins it has loaded.
    pub plugins: Vec<String>,
    /// Key exchange methods it has, by their numbers on the wire.
    key_exchanges: Vec<u16>,
}

impl Charon {
    /// Asks it.
    ///
    /// # Errors
    ///
    /// Where it does not answer.
    pub fn ask(client: &mut Client) -> Result<Self, Error> {
        let version = client.request("version", Section::new())?;
        let stats = client.request("stats", Section::new())?;
        let algorithms = client.request("get-algorithms", Section::new())?;
        let methods = algorithms.section("ke").into_iter().flat_map(Section::entries);
        Ok(Self {
            version: version.text("version").unwrap_or("unknown").to_owned(),
            plugins: stats.list("plugins").map(str::to_owned).collect(),
            key_exchanges: methods
                .filter_map(|(name, _)| transform_named(TransformKind::KeyExchange, name))
                .map(|known| known.id)
                .collect(),
        })
    }

    /// Whether its kernel interface counts sequence numbers of 64 bits.
    #[must_use]
    pub fn counts_64_bits(&self) -> bool {
        !self.plugins.iter().any(|plugin| plugin == "kernel-libipsec")
    }

    /// Whether it can do every method of a key exchange.
    #[must_use]
    pub fn can(&self, exchange: &KeyExchange) -> bool {
        let methods = exchange.methods().iter();
        methods.map(IkeAlgorithm::id).all(|id| self.key_exchanges.contains(&id))
    }
}
