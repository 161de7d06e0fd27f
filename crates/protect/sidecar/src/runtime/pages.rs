//! Memory that only the start of a sidecar needed.
#![allow(unsafe_code)]

use std::os::raw::{c_int, c_void};

use libc::{MADV_DONTNEED, PF_W, PT_LOAD, dl_iterate_phdr, dl_phdr_info, madvise};

/// Gives back the pages of code and constants that are mapped now, of the program and its libraries, and gives how many bytes of
/// address space they span.
///
/// Parsing a deployment file, certificates and options runs through megabytes of code that serving never comes back to, and it
/// would stay resident for as long as the process lives. What is needed again comes back from the page cache, at a microsecond
/// for 16 pages; so this is for after the start and after a reload, not for in between.
pub(crate) fn give_back_code() -> usize {
    let mut spanned: usize = 0;
    // SAFETY: `each` has the signature that dl_iterate_phdr calls, does not unwind, and gets a pointer to a `usize` that lives
    // until the call returns.
    unsafe { dl_iterate_phdr(Some(each), (&raw mut spanned).cast()) };
    spanned
}

/// Gives back memory that the allocator keeps free: glibc returns the end of its heap alone, and a
/// connection that lives on may be there. Takes milliseconds; other allocators keep none.
pub(crate) fn give_back_heap() {
    #[cfg(target_env = "gnu")]
    // SAFETY: the call takes no pointer, and its locks are the allocator's own.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Gives back what one loaded file maps without being able to write to it.
unsafe extern "C" fn each(info: *mut dl_phdr_info, _size: usize, spanned: *mut c_void) -> c_int {
    // SAFETY: the loader passes a description that is valid during the call, `spanned` is what `give_back_code` passed.
    let (info, spanned) = unsafe { (&*info, &mut *spanned.cast::<usize>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader gives the number of program headers there.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    for header in headers {
        // A segment that may be written to holds relocations, also where it is read-only since: those would be lost.
        if header.p_type != PT_LOAD || header.p_flags & PF_W != 0 {
            continue;
        }
        let begin = info.dlpi_addr.wrapping_add(header.p_vaddr) as usize;
        let end = begin.wrapping_add(header.p_memsz as usize);
        // Whole pages of this segment alone.
        let (begin, end) = (begin.next_multiple_of(PAGE), end / PAGE * PAGE);
        if begin >= end {
            continue;
        }
        // SAFETY: the range is a mapping of a file that nothing has written to, so what is dropped is read from the file again
        // when it is next touched. A refusal (the kernel's own vDSO, locked memory) leaves it as it is.
        let refused = unsafe { madvise(begin as *mut c_void, end - begin, MADV_DONTNEED) };
        if refused == 0 {
            *spanned += end - begin;
        }
    }
    0
}

/// The largest page of the systems this runs on; rounding to it keeps to whole pages of smaller ones too.
const PAGE: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    static CONSTANT: [u8; 256 * 1024] = [7; 256 * 1024];

    /// Kilobytes of files' pages this process has resident.
    fn file_pages() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("RssFile:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    #[test]
    fn code_and_constants_given_back_are_there_when_they_are_needed_again() {
        assert!(CONSTANT.iter().all(|&byte| byte == 7));
        let before = file_pages();
        let spanned = give_back_code();
        let after = file_pages();
        assert!(spanned > CONSTANT.len(), "{spanned}");
        assert!(after < before, "{before} kB, then {after} kB");
        assert!(CONSTANT.iter().all(|&byte| byte == 7));
        // Relocated data (this vtable) was left alone.
        let relocated: Box<dyn Fn() -> u64> = Box::new(file_pages);
        assert!(relocated() > after);
    }
}
