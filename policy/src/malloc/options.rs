// SPDX-License-Identifier: MIT OR Apache-2.0
//! Options, which environment variables set before `main`, and the program at any time.

use super::arena::ARENA;
use super::os;
use std::ffi::CStr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicI64};

/// Milliseconds until free pages go back to the OS: [`ResetDelay`](Option::ResetDelay).
static RESET_DELAY: AtomicI64 = AtomicI64::new(100);
static SHOW_STATS: AtomicBool = AtomicBool::new(false);

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Option {
    /// `SHARDSWEEP_RESET_DELAY`: milliseconds until free pages of chunks go back to the OS; 0 for at once, negative for never. Where it is
    /// not 0, each heap keeps some empty blocks until its thread allocates again.
    ResetDelay,
    /// `SHARDSWEEP_SHOW_STATS`: 1 to print statistics when the program ends.
    ShowStats,
}

/// Sets an option.
pub fn set(option: Option, value: i64) {
    match option {
        Option::ResetDelay => {
            RESET_DELAY.store(value, Relaxed);
            ARENA.delay_changed();
        }
        Option::ShowStats => SHOW_STATS.store(value != 0, Relaxed),
    }
}

/// What the option is set to.
pub fn get(option: Option) -> i64 {
    match option {
        Option::ResetDelay => RESET_DELAY.load(Relaxed),
        Option::ShowStats => SHOW_STATS.load(Relaxed) as i64,
    }
}

/// The delay, if pages are to go back at all.
pub(crate) fn reset_delay() -> std::option::Option<u64> {
    u64::try_from(RESET_DELAY.load(Relaxed)).ok()
}

/// Sets the options that the environment names. A value that is no number ends the program. One that has more rights than who started it
/// heeds none.
pub fn read_environment() {
    if os::has_more_rights() {
        return;
    }
    for (name, option) in [
        (c"SHARDSWEEP_RESET_DELAY", Option::ResetDelay),
        (c"SHARDSWEEP_SHOW_STATS", Option::ShowStats),
    ] {
        // SAFETY: the name is a C string. No thread changes the environment meanwhile: README asks this of who opens the library later.
        let value = unsafe { libc::getenv(name.as_ptr()) };
        if value.is_null() {
            continue;
        }
        // SAFETY: the environment consists of C strings.
        let value = unsafe { CStr::from_ptr(value) }.to_bytes();
        match std::str::from_utf8(value)
            .ok()
            .and_then(|text| text.parse().ok())
        {
            Some(number) => set(option, number),
            None => {
                for part in [
                    b"shardsweep: ",
                    name.to_bytes(),
                    b" is '",
                    value,
                    b"', which is not a whole number\n",
                ] {
                    os::print(part);
                }
                // SAFETY: nothing of this library has to be cleaned up.
                unsafe { libc::_exit(1) };
            }
        }
    }
}
