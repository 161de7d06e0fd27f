//! Levels of factors as routes and placements.

use crate::stand_in::proxies::{Mode, Placement, Proxy, Route};
use crate::workload::{Error, Levels};

/// Factors of the workloads that have a route, as experiments' files have them.
pub(crate) const PROXY: &str = "proxy";
pub(crate) const MODE: &str = "mode";
pub(crate) const PLACEMENT: &str = "placement";
pub(crate) const STREAMS: &str = "streams";
/// The route without proxies, and the mode that it has.
pub(crate) const DIRECT: &str = "direct";
pub(crate) const CLEAR: &str = "clear";

impl Route {
    /// Path between client and server in a combination.
    ///
    /// # Errors
    /// Fails if a combination names an unknown proxy, or a mode that does not fit it.
    pub fn of(levels: &Levels) -> Result<Self, Error> {
        let named = |factor: &str| levels.level(factor).unwrap_or_default();
        let unfit = |what: &str| Error::Configuration(format!("{what} of {levels}"));
        let mode = Mode::ALL.into_iter().find(|mode| mode.name() == named(MODE));
        match (named(PROXY), mode) {
            // The first levels, where a factor is not varied.
            (DIRECT | "", None) if matches!(named(MODE), CLEAR | "") => Ok(Self::Direct),
            (DIRECT | "", _) => Err(unfit("the direct route has only the mode clear, not that")),
            (proxy, Some(mode)) => {
                let proxy = Proxy::named(proxy).ok_or_else(|| unfit("no such proxy, that"))?;
                Ok(Self::Through(proxy, mode))
            }
            (_, None) => Err(unfit("a pair of proxies needs a mode, not that")),
        }
    }
}

impl Placement {
    /// Placement of a combination; one processor by default.
    #[must_use]
    pub fn of(levels: &Levels) -> Self {
        let mut all = Self::ALL.into_iter();
        let named = all.find(|placement| Some(placement.name()) == levels.level(PLACEMENT));
        named.unwrap_or(Self::OneCore)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_combination_is_a_way_or_is_refused() {
        let levels = |proxy: &str, mode: &str| Levels::default().with(PROXY, proxy).with(MODE, mode);
        assert_eq!(Route::of(&levels(DIRECT, CLEAR)).unwrap(), Route::Direct);
        let pair = Route::of(&levels("splice", "post-quantum")).unwrap();
        assert_eq!(pair, Route::Through(Proxy::Splice, Mode::PostQuantum));
        for (proxy, mode) in [(DIRECT, "classical"), ("splice", CLEAR), ("other", "classical")] {
            assert!(Route::of(&levels(proxy, mode)).is_err(), "{proxy} {mode}");
        }
    }
}
