// SPDX-License-Identifier: MIT OR Apache-2.0
//! mmtk-core's log messages in HotSpot's unified log, and its panics in an hs_err file.

use crate::upcalls;
use log::{Level, LevelFilter, Log, Metadata, Record};
use std::panic;

/// Levels of the unified log, as the VM's `log` counts them.
const ERROR: i32 = 1;
const WARNING: i32 = 2;
const INFO: i32 = 3;
const DEBUG: i32 = 4;
const TRACE: i32 = 5;

/// The target of what the policy tells the user.
const TO_THE_USER: &str = "shardsweep";

/// What mmtk calls a warning or information is of no use to the user of a Java program.
fn unified_level(about: &Metadata) -> i32 {
    match about.level() {
        Level::Warn if about.target() == TO_THE_USER => WARNING,
        Level::Info if about.target() == TO_THE_USER => INFO,
        Level::Error => ERROR,
        Level::Warn | Level::Info => DEBUG,
        Level::Debug | Level::Trace => TRACE,
    }
}

struct UnifiedLog;

impl Log for UnifiedLog {
    fn enabled(&self, metadata: &Metadata) -> bool {
        upcalls::is_log_enabled(unified_level(metadata))
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            let text = format!("{}: {}", record.target(), record.args());
            upcalls::log(unified_level(record.metadata()), &text);
        }
    }

    fn flush(&self) {}
}

static UNIFIED_LOG: UnifiedLog = UnifiedLog;

/// Sends mmtk's log messages and panics to the VM. Called once, before the heap is made.
pub fn install() {
    if log::set_logger(&UNIFIED_LOG).is_ok() {
        log::set_max_level(LevelFilter::Trace);
    }
    // A panic must not unwind into C++: the VM ends here.
    panic::set_hook(Box::new(|info| {
        let payload = info.payload();
        let message = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("panic");
        let place = info
            .location()
            .map(|at| format!("{}:{}", at.file(), at.line()));
        upcalls::fatal(&format!("{message} ({})", place.unwrap_or_default()));
    }));
}
