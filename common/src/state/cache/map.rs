//! Files in memory, and what happens when one is cut, or its disk fails, while it is there.
//!
//! The kernel answers a read of a page that a mapped file no longer has with SIGBUS, and so it does when the disk does not
//! deliver. A look at the length before each read would leave a gap between the look and the read, and a disk that fails
//! has no length. So the signal is handled: in a map of ours the missing pages become zeros, and the map is marked as
//! torn; whoever reads looks at the mark *afterwards* and throws away what was read. A fault anywhere else goes to
//! whoever handled the signal before, which by default ends the process as ever.
#![expect(
    unsafe_code,
    reason = "a memory map, and the handler of its faults; the reasons stand beside each block"
)]

use std::fs::File;
use std::io;
use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use libc::{c_int, c_void, siginfo_t};
use memmap2::Mmap;

/// A file in memory, from its first byte to its last.
#[derive(Debug)]
pub(super) struct Mapped {
    map: Mmap,
    slot: &'static Slot,
}

/// Maps that a process has at most. More are an error, and a group is then decoded instead.
const SLOTS: usize = 4096;

/// The maps, where a signal handler can find them: it may neither lock nor allocate.
static MAPS: [Slot; SLOTS] = [const { Slot::new() }; SLOTS];

/// Where a map lies; of length 0 where there is none.
#[derive(Debug)]
struct Slot {
    taken: AtomicBool,
    start: AtomicUsize,
    len: AtomicUsize,
    torn: AtomicBool,
}

impl Mapped {
    /// Maps a file.
    pub(super) fn new(file: &File) -> io::Result<Self> {
        handler()?;
        let free = |slot: &&Slot| !slot.taken.swap(true, Ordering::AcqRel);
        let slot = MAPS.iter().find(free).ok_or_else(|| io::Error::other("too many files are mapped"))?;
        // SAFETY: a map is unsound where its file changes while it is there. Spill files are never written in place, they are
        // sealed against writing, and they lie in a folder that a lease or a store holds. Should somebody change one all
        // the same: all bits are numbers, every index that is read from a map is checked where it is used, and what is
        // cut off is met by the handler below.
        let map = unsafe { Mmap::map(file) }.inspect_err(|_| slot.taken.store(false, Ordering::Release))?;
        slot.torn.store(false, Ordering::Relaxed);
        slot.start.store(map.as_ptr() as usize, Ordering::Relaxed);
        slot.len.store(map.len(), Ordering::Release);
        Ok(Self { map, slot })
    }

    /// Whether something that was read of it was not there. To be asked after reading.
    pub(super) fn is_torn(&self) -> bool {
        self.slot.torn.load(Ordering::Acquire)
    }
}

impl Deref for Mapped {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // the map itself goes after this, when no handler takes its addresses for ours any more
        self.slot.len.store(0, Ordering::Release);
        self.slot.taken.store(false, Ordering::Release);
    }
}

impl Slot {
    const fn new() -> Self {
        Self {
            taken: AtomicBool::new(false),
            start: AtomicUsize::new(0),
            len: AtomicUsize::new(0),
            torn: AtomicBool::new(false),
        }
    }

    /// Puts zeros in place of all pages of this map from an address on; `false` where the address is not in it.
    fn mend(&self, address: usize, page: usize) -> bool {
        let len = self.len.load(Ordering::Acquire);
        let start = self.start.load(Ordering::Relaxed);
        if !(start..start.saturating_add(len)).contains(&address) {
            return false;
        }
        self.torn.store(true, Ordering::Release);
        let from = address - address % page;
        let len = (start + len).next_multiple_of(page) - from;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: the range lies within a map of ours, which stays while the thread that faulted borrows it, so nothing
        // else is replaced. The pages stay readable, and mmap is a plain system call, which a handler may make.
        let mended = unsafe { libc::mmap(from as *mut c_void, len, libc::PROT_READ, flags, -1, 0) };
        mended != libc::MAP_FAILED
    }
}

/// What handled the signal before, and the size of a page.
struct Before {
    action: libc::sigaction,
    page: usize,
}

static BEFORE: OnceLock<Before> = OnceLock::new();

/// Handles SIGBUS from now on.
fn handler() -> io::Result<()> {
    static INSTALLED: OnceLock<i32> = OnceLock::new();
    let error = *INSTALLED.get_or_init(|| {
        // SAFETY: an all-zero sigaction is a valid one. The first call only asks, so that the handler below finds what it
        // passes foreign faults to; the second sets a handler of the type that SA_SIGINFO promises. It runs on the
        // thread's signal stack where there is one, like that of the standard library, which reports stack overflows.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut before) != 0 {
                return io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL);
            }
            let page = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap_or(4096);
            let _ = BEFORE.set(Before { action: before, page });
            let mut ours: libc::sigaction = std::mem::zeroed();
            ours.sa_sigaction = on_fault as extern "C" fn(c_int, *mut siginfo_t, *mut c_void) as usize;
            ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            match libc::sigaction(libc::SIGBUS, &raw const ours, std::ptr::null_mut()) {
                0 => 0,
                _ => io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL),
            }
        }
    });
    if error == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(error)) }
}

/// Runs on the thread that met a missing page. It takes no lock and allocates nothing.
extern "C" fn on_fault(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    let Some(before) = BEFORE.get() else { return };
    // SAFETY: with SA_SIGINFO the kernel passes a valid siginfo_t, and for SIGBUS it holds an address.
    let address = unsafe { (*info).si_addr() } as usize;
    if MAPS.iter().any(|slot| slot.mend(address, before.page)) {
        return;
    }
    // SAFETY: what stood there before is put back, and called, if it is a function that takes these arguments. Otherwise
    // the read is tried again on return, and the fault takes its default course.
    unsafe {
        libc::sigaction(libc::SIGBUS, &raw const before.action, std::ptr::null_mut());
        let function = before.action.sa_sigaction;
        let is_function = function != libc::SIG_DFL && function != libc::SIG_IGN;
        if is_function && before.action.sa_flags & libc::SA_SIGINFO != 0 {
            let function: extern "C" fn(c_int, *mut siginfo_t, *mut c_void) = std::mem::transmute(function);
            function(signal, info, context);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_cut_off_is_zero_and_noticed() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[7; 40_000]).unwrap();
        let (map, other) = (Mapped::new(&file).unwrap(), Mapped::new(&file).unwrap());
        assert_eq!((map.iter().filter(|&&byte| byte == 7).count(), map.is_torn()), (40_000, false));
        file.set_len(4096).unwrap();
        assert_eq!((map[0], map[39_999], map[5_000], map.is_torn()), (7, 0, 0, true));
        // another map of the same file is met on its own, and a new one of a shorter file is sound
        assert!(!other.is_torn());
        let sum =
            std::thread::spawn(move || (other.iter().map(|&b| u64::from(b)).sum::<u64>(), other.is_torn()));
        assert_eq!(sum.join().unwrap(), (7 * 4096, true));
        drop(map);
        let again = Mapped::new(&file).unwrap();
        assert_eq!((again.len(), again[4095], again.is_torn()), (4096, 7, false));
    }
}
