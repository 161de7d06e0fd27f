//! The responder of Bartizan's IKE engine, in memory: how many IKE_SAs its processor sets up, what
//! those that stand take, and what becomes of many set-ups that begin at once.

mod held;
mod keyed;
mod rate;
mod storm;

use std::collections::BTreeMap;
use std::path::Path;

use super::{Error, FactorKind, Levels};
use crate::stand_in::responder::Pair;

pub(super) use held::KIND as HELD;
pub(super) use keyed::{CIPHER, KEY_EXCHANGE as RESEARCHED, KIND as KEYED};
pub(super) use rate::KIND as RATE;
pub(super) use storm::KIND as STORM;

const KEY_EXCHANGE: FactorKind = FactorKind {
    name: "key-exchange",
    about: "of IKE_SA and CHILD_SAs, in strongSwan's words: `x25519-ke1_mlkem768` is a hybrid of RFC 9370",
    levels: &[
        "x25519",
        "ecp256",
        "mlkem768",
        "x25519-ke1_mlkem768",
        "ecp384-ke1_mlkem1024",
    ],
};

const AUTHENTICATION: FactorKind = FactorKind {
    name: "authentication",
    about: "what both ends sign with, and their authority signs certificates with",
    levels: &[
        "ecdsa-p256",
        "ed25519",
        "ecdsa-p384",
        "ml-dsa-44",
        "ml-dsa-65",
        "ml-dsa-87",
    ],
};

/// Both ends of each combination, by key exchange and signature.
struct Pairs(BTreeMap<[String; 2], Pair>);

impl Pairs {
    fn make(folder: &Path, combinations: &[Levels]) -> Result<Self, Error> {
        let mut pairs = BTreeMap::new();
        for levels in combinations {
            let [key_exchange, authentication] = named(levels);
            // Combinations that differ in something else have the same ends.
            if pairs.contains_key(&[key_exchange, authentication].map(str::to_owned)) {
                continue;
            }
            let folder = folder.join(key_exchange);
            std::fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
            let pair = Pair::make(&folder, key_exchange, authentication)?;
            pairs.insert([key_exchange, authentication].map(str::to_owned), pair);
        }
        Ok(Self(pairs))
    }

    fn of(&self, levels: &Levels) -> Result<&Pair, Error> {
        let pair = self.0.get(&named(levels).map(str::to_owned));
        pair.ok_or_else(|| Error::Configuration("a combination that was not announced".to_owned()))
    }
}

/// Key exchange and signature.
fn named(levels: &Levels) -> [&str; 2] {
    [KEY_EXCHANGE.of(levels), AUTHENTICATION.of(levels)]
}
