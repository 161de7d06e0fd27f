//! The part of a turn that has to do with an issuer of cert-manager: requests are written, answers taken, and requests removed.

use std::time::SystemTime;

use bartizan_controller::{Cause, Circumstances, Order};

use crate::external_issuer::{ExternalIssuer, Unusable};
use crate::reconcile::{Attempt, Left, Source, Turns};
use crate::store::Store;

impl Turns {
    fn asking(&mut self) -> Option<&mut ExternalIssuer> {
        match &mut self.source {
            Source::Issuer(asking) => Some(asking),
            Source::Authority(_) => None,
        }
    }

    /// This process does not lead any more.
    pub(crate) fn forget(&mut self, store: &mut Store) {
        self.kept.clear();
        if let Some(asking) = self.asking() {
            asking.forget(store);
        }
    }

    /// Asks for what is ordered, each for a namespace.
    pub(crate) async fn ask(
        &mut self,
        store: &mut Store,
        orders: Vec<(String, Order)>,
        now: SystemTime,
        left: &mut Left,
    ) {
        for (namespace, order) in orders {
            // Its answer is looked for in the next turn, or it is asked again.
            left.waiting += 1;
            if !self.is_leading() {
                continue;
            }
            let Source::Issuer(asking) = &mut self.source else {
                continue;
            };
            let asked = asking.ask(&self.writing, &namespace, &order, now).await;
            let Some(of) = store.namespaces.get_mut(&namespace) else {
                continue;
            };
            match asked {
                Ok(asked) => {
                    left.written += 1;
                    tracing::info!(namespace, node = order.node, why = %order.why, request = asked.request, "asked the issuer");
                    of.observed.asked.insert(order.node, asked);
                    of.changed = true;
                }
                Err(why) => {
                    tracing::warn!(namespace, node = order.node, why, "no certificate could be asked for");
                    self.numbers.failures.inc();
                    of.failed(&order.node, Cause::Failed, why, now);
                }
            }
        }
    }

    /// Writes what the issuer has issued into the Secret of its order, and removes the request.
    pub(crate) async fn take(
        &mut self,
        store: &mut Store,
        namespace: &str,
        order: &Order,
        circumstances: &Circumstances<'_>,
        left: &mut Left,
    ) {
        let known = store.namespaces.get(namespace);
        let Some(asked) = known.and_then(|known| known.observed.asked.get(&order.node)).cloned() else {
            return;
        };
        let Some(made) = self
            .asking()
            .map(|asking| asking.made(namespace, order, &asked, circumstances))
        else {
            return;
        };
        let made = match made {
            Ok(made) => made,
            Err(unusable) => {
                let failure = match unusable {
                    // It is taken in a later turn.
                    Unusable::NotYet => return left.waiting += 1,
                    Unusable::Other => None,
                    Unusable::Refused(why) => Some((Cause::Failed, why)),
                };
                let node = Some(order.node.as_str());
                let at = (asked.request.as_str(), asked.uid.as_str());
                self.withdraw(store, namespace, at, node, failure, left).await;
                return;
            }
        };
        // If this fails, the answer remains and is taken in the next turn.
        if self
            .wrote(
                store,
                namespace,
                order,
                &made,
                (circumstances.now, Attempt::First),
                left,
            )
            .await
        {
            let node = Some(order.node.as_str());
            let at = (asked.request.as_str(), asked.uid.as_str());
            self.withdraw(store, namespace, at, node, None, left).await;
        }
    }

    /// Removes a request, by its name and uid, with the key that waited for it.
    pub(crate) async fn withdraw(
        &mut self,
        store: &mut Store,
        namespace: &str,
        (request, uid): (&str, &str),
        node: Option<&str>,
        failure: Option<(Cause, String)>,
        left: &mut Left,
    ) {
        if let Some((_, why)) = &failure {
            tracing::warn!(namespace, node, why, "no certificate was issued");
            self.numbers.failures.inc();
        }
        if let (Some(node), Some(asking)) = (node, self.asking()) {
            asking.drop_key(namespace, node, uid);
        }
        if let Some(of) = store.namespaces.get_mut(namespace) {
            of.observed.strays.retain(|stray| stray.uid != uid);
            of.observed.asked.retain(|_, asked| asked.uid != uid);
            if let (Some(node), Some((cause, why))) = (node, failure) {
                of.failed(node, cause, why, SystemTime::now());
            }
            of.changed = true;
        }
        match self.writing.remove(namespace, request, uid).await {
            Ok(()) => left.written += 1,
            // It is a stray in the next list, and removed then.
            Err(problem) => {
                left.waiting += 1;
                if let Some(asking) = self.asking() {
                    asking.look_again();
                }
                tracing::warn!(namespace, request, %problem, "a CertificateRequest was not removed");
            }
        }
    }
}
