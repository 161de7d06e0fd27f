//! Control messages that the kernel sends with a message: cmsg(3).

use std::ptr;
use std::time::Duration;

/// The type under which a packet socket gives the number of a frame whose time comes (linux/if_packet.h).
const PACKET_TX_TIMESTAMP: libc::c_int = 16;

/// A time, and the number of the frame that it is of.
#[derive(Debug, Default)]
pub(super) struct Control {
    pub(super) time: Option<Duration>,
    pub(super) number: Option<u32>,
}

/// Reads the control messages.
///
/// # Safety
///
/// `message` was filled by `recvmsg` and its control buffer is alive.
pub(super) unsafe fn read(message: &libc::msghdr) -> Control {
    let mut control = Control::default();
    // SAFETY: see above; CMSG_FIRSTHDR and CMSG_NXTHDR stay inside the control buffer and return
    // null at its end, CMSG_DATA may be unaligned, hence read_unaligned, and the kernel gives each
    // of these types the structure that is read.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            match ((*header).cmsg_level, (*header).cmsg_type) {
                // Three times of which the first is the software's (`struct scm_timestamping`).
                (libc::SOL_SOCKET, libc::SO_TIMESTAMPING) => {
                    let time = ptr::read_unaligned(libc::CMSG_DATA(header).cast::<libc::timespec>());
                    control.time = since_1970(time);
                }
                (libc::SOL_PACKET, PACKET_TX_TIMESTAMP) => {
                    let error = ptr::read_unaligned(libc::CMSG_DATA(header).cast::<libc::sock_extended_err>());
                    control.number = Some(error.ee_data);
                }
                _ => {}
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    control
}

/// The kernel gives zeros where it has no time.
fn since_1970(time: libc::timespec) -> Option<Duration> {
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
    (seconds > 0).then(|| Duration::new(seconds, nanoseconds))
}
