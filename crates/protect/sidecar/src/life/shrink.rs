//! Memory of connections that have closed.

use std::sync::Weak;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::runtime::pages;
use crate::shared::Shared;

const LOOK: Duration = Duration::from_secs(2);
/// Fewer connections leave less than the sidecar itself takes.
const MANY: usize = 128;

/// Gives memory back once half of many connections have closed, for as long as the sidecar exists.
pub(crate) async fn watch(shared: Weak<Shared>) {
    let (mut most, mut last) = (0, 0);
    while let Some((open, since)) = shared.upgrade().map(|shared| shared.sessions.counts()) {
        most = most.max(since);
        if most >= MANY && open <= most / 2 {
            // While more close there is more to give back.
            if open == last {
                most = open;
            }
            // On a thread of its own: requests go on meanwhile.
            spawn_blocking(pages::give_back_heap);
        }
        last = open;
        sleep(LOOK).await;
    }
}
