//! Socket options whose value is a plain C value, and results of system calls.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr;

/// Sets an option to a plain C value, of the type that the option asks for.
///
/// # Errors
///
/// The error of the system call.
pub fn set<T: Copy>(socket: BorrowedFd<'_>, level: libc::c_int, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: the pointer refers to a live value of the length given, which the kernel only reads.
    checked(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    })
}

/// Turns the result of a system call, 0 where it succeeded, into its error.
///
/// # Errors
///
/// The error of the system call.
pub fn checked(result: libc::c_int) -> io::Result<()> {
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
