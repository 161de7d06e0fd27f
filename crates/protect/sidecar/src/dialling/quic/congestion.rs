//! Bytes of a connection that may be on their way at a time: CUBIC's window, and never less than a
//! few packets for signalling, which is thin.
//!
//! A window shrinks with each loss, and grows only where data has waited for it. So an
//! association's window settles at the size where messages begin to wait for it. After a loss on
//! one stream all of them wait until an acknowledgement comes, which a peer may hold back for 25
//! ms.

use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, CubicConfig};

/// Packets that may be on their way at any time, and their octets: what every new connection may send before it has heard of the path
/// (RFC 9002, section 7.2).
const FLOOR: u64 = 10;
const FLOOR_OCTETS: u64 = 14_720;

/// Makes the controllers of connections that carry signalling.
#[derive(Debug, Default)]
pub(crate) struct Signalling;

struct Floored {
    window: Box<dyn Controller>,
    mtu: u64,
    /// The path carried nothing for a while (RFC 9002, section 7.6): no floor until the window is there again.
    collapsed: bool,
}

impl ControllerFactory for Signalling {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(Floored {
            window: Arc::new(CubicConfig::default()).build(now, current_mtu),
            mtu: current_mtu.into(),
            collapsed: false,
        })
    }
}

impl Floored {
    fn floor(&self) -> u64 {
        FLOOR_OCTETS.clamp(2 * self.mtu, FLOOR * self.mtu)
    }
}

impl Controller for Floored {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.window.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.window.on_ack(now, sent, bytes, app_limited, rtt);
        self.collapsed &= self.window.window() < self.floor();
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest_packet_num_acked: Option<u64>) {
        self.window
            .on_end_acks(now, in_flight, app_limited, largest_packet_num_acked);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent_congestion: bool, lost_bytes: u64) {
        self.collapsed |= is_persistent_congestion;
        // A window at its floor has not caused this, and would be far below once there is more to
        // send.
        if self.collapsed || self.window.window() > self.floor() {
            self.window
                .on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = new_mtu.into();
        self.window.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        let window = self.window.window();
        if self.collapsed {
            window
        } else {
            window.max(self.floor())
        }
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(Self {
            window: self.window.clone_box(),
            mtu: self.mtu,
            collapsed: self.collapsed,
        })
    }

    fn initial_window(&self) -> u64 {
        self.window.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::{Duration, Instant};

    use quinn_proto::congestion::{Controller, ControllerFactory as _};

    use super::Signalling;

    fn losses(controller: &mut dyn Controller, from: Instant, count: u32) {
        for loss in 0..count {
            let sent = from + Duration::from_millis(200) * loss;
            controller.on_congestion_event(sent + Duration::from_millis(10), sent, false, 1200);
        }
    }

    #[test]
    fn losses_leave_ten_packets_and_congestion_that_persists_leaves_two() {
        let began = Instant::now();
        let mut controller = Arc::new(Signalling).build(began, 1400);
        losses(&mut *controller, began, 50);
        assert_eq!(controller.window(), 14_000);
        let later = began + Duration::from_secs(20);
        controller.on_congestion_event(later, later - Duration::from_millis(1), true, 14_000);
        assert_eq!(controller.window(), 2 * 1400);
        losses(&mut *controller, later, 5);
        assert_eq!(controller.window(), 2 * 1400);
    }

    #[test]
    fn a_longer_packet_has_the_same_octets() {
        let mut controller = Arc::new(Signalling).build(Instant::now(), 1200);
        controller.on_mtu_update(9000);
        losses(&mut *controller, Instant::now(), 50);
        assert_eq!(controller.window(), 18_000);
    }
}
