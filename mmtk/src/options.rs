// SPDX-License-Identifier: MIT OR Apache-2.0
//! The options of the heap: mmtk's, from `MMTK_*` variables and `-XX:ThirdPartyHeapOptions`, which
//! wins. An option that is unknown or malformed, or that no plan of the build heeds, ends the VM with one line; so does a variable,
//! unless its name is that of no option. An option that other plans alone heed is accepted, and has no effect.

use crate::affinity;
use crate::plans::{self, PlanInfo};
use crate::trigger::PAGE;
use mmtk::util::options::{MMTKOption, NurserySize, Options};
use mmtk::MMTKBuilder;

/// Prefix of the environment variables.
const ENVIRONMENT_PREFIX: &str = "MMTK_";

/// An option of mmtk's that the user may set, and the form of its values.
struct KnownOption {
    name: &'static str,
    expected: &'static str,
}

const BOOLEAN: &str = "true or false";
const BYTES: &str = "a number of bytes";
const NOT_HEEDED: &str = "mmtk has the name alone";

/// Bytes of the smallest nursery. Threads get room in it by blocks of 8 pages, and metadata counts for a few pages more. Where it has no
/// room for one, a collection would be due as soon as the last one has ended. Where it has room for one alone, copies may fill as many
/// blocks of old objects as new ones have been filled.
const LEAST_NURSERY: usize = 32 * PAGE;

/// GC threads, at most. The VM has a table of them, and fewer threads of any kind.
const MOST_THREADS: usize = 1 << 16;

/// mmtk's options cannot be listed through its interface; a test makes sure that it knows these.
#[rustfmt::skip]
const OPTIONS: &[KnownOption] = &[
    KnownOption { name: "plan", expected: "the name of a plan" },
    KnownOption { name: "threads", expected: "a number of GC threads, from 1 to 65536" },
    KnownOption { name: "concurrent_threads", expected: "a number of GC threads, from 1 to 65536" },
    KnownOption { name: "ignore_system_gc", expected: BOOLEAN },
    KnownOption { name: "nursery", expected: "Fixed:BYTES, Bounded:MIN,MAX or ProportionalBounded:MIN,MAX, of at least 131072 bytes" },
    KnownOption { name: "full_heap_system_gc", expected: BOOLEAN },
    KnownOption { name: "stress_factor", expected: BYTES },
    KnownOption { name: "precise_stress", expected: BOOLEAN },
    KnownOption { name: "thread_affinity", expected: "a list of processors that the process may run on, such as 0,2-3 or AllInSet:0,1" },
    KnownOption { name: "transparent_hugepages", expected: BOOLEAN },
    #[cfg(not(feature = "malloc-libc"))]
    KnownOption { name: "count_live_bytes_in_gc", expected: BOOLEAN },
    KnownOption { name: "immix_always_defrag", expected: BOOLEAN },
    KnownOption { name: "immix_defrag_every_block", expected: BOOLEAN },
    KnownOption { name: "immix_defrag_headroom_percent", expected: "a number from 0 to 50" },
    KnownOption { name: "concurrent_immix_disable_concurrent_marking", expected: BOOLEAN },
];

/// Options of mmtk's that are not the user's to set, and why.
const REFUSED: &[(&str, &str)] = &[
    ("gc_trigger", "the heap size comes from -Xms and -Xmx"),
    ("vm_space_start", "OpenJDK has no VM space"),
    ("vm_space_size", "OpenJDK has no VM space"),
    (
        "side_metadata_base_address",
        "the plugin chooses where nothing else lies",
    ),
    (
        "no_finalizer",
        "the plugin processes references itself, as HotSpot does",
    ),
    (
        "no_reference_types",
        "the plugin processes references itself, as HotSpot does",
    ),
    ("use_short_stack_scans", NOT_HEEDED),
    ("use_return_barrier", NOT_HEEDED),
    ("eager_complete_sweep", NOT_HEEDED),
    ("nursery_zeroing", NOT_HEEDED),
    #[cfg(feature = "malloc-libc")]
    (
        "count_live_bytes_in_gc",
        "mmtk does not count them in the memory of a malloc library",
    ),
    ("analysis_factor", "this build has no analysis"),
    ("work_perf_events", "this build has no performance counters"),
    (
        "phase_perf_events",
        "this build has no performance counters",
    ),
    (
        "perf_exclude_kernel",
        "this build has no performance counters",
    ),
];

/// The options after parsing.
pub struct Settings {
    /// mmtk's options, still without the heap size.
    pub builder: MMTKBuilder,
    /// The plan.
    pub plan: &'static PlanInfo,
}

impl Settings {
    /// Whether every allocation must go through mmtk, to collect at the byte that was asked for.
    pub fn is_stress_test(&self) -> bool {
        self.builder.options.is_stress_test_gc_enabled()
    }

    /// The number of GC threads, if it was given.
    pub fn threads(&self) -> Option<usize> {
        given(&self.builder.options.threads)
    }

    /// How many of them work concurrently, if it was given.
    pub fn concurrent_threads(&self) -> Option<usize> {
        given(&self.builder.options.concurrent_threads)
    }

    /// Has mmtk use huge pages, unless an option says whether it does.
    pub fn use_huge_pages(&mut self) {
        let option = &mut self.builder.options.transparent_hugepages;
        if !option.was_set() {
            option.set(true);
        }
    }

    /// Checks that a nursery which is a part of the heap has room for objects in one of so many bytes.
    ///
    /// # Errors
    /// One line that says how large it is, and what was expected.
    pub fn check_nursery(&self, heap: usize) -> Result<(), String> {
        let NurserySize::ProportionalBounded { max, .. } = *self.builder.options.nursery else {
            return Ok(());
        };
        let bytes = (heap as f64 * max) as usize;
        if bytes < LEAST_NURSERY {
            return Err(format!(
                "the option 'nursery' gives a heap of {heap} bytes a nursery of {bytes} bytes: expected at least {LEAST_NURSERY}"
            ));
        }
        Ok(())
    }

    fn new() -> Self {
        let mut builder = MMTKBuilder::new_no_env_vars();
        builder.options.no_finalizer.set(true);
        builder.options.no_reference_types.set(true);
        builder.options.plan.set(plans::DEFAULT);
        let plan = plans::PLANS
            .iter()
            .find(|plan| plan.selector == plans::DEFAULT)
            .expect("the default plan is in the table");
        Self { builder, plan }
    }

    /// Sets one option; `source` is what an error calls it.
    fn set(&mut self, source: &str, name: &str, value: &str) -> Result<(), String> {
        if let Some((_, reason)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            return Err(format!("{source} cannot be set: {reason}"));
        }
        let Some(option) = OPTIONS.iter().find(|option| option.name == name) else {
            let names: Vec<_> = OPTIONS.iter().map(|option| option.name).collect();
            return Err(format!(
                "unknown {source}: known options are {}",
                names.join(", ")
            ));
        };
        if name == "plan" {
            self.plan = plans::find(value).map_err(|line| format!("{source}: {line}"))?;
        }
        let options = &mut self.builder;
        if !options.set_option(name, value)
            || !affinity::is_possible(&options.options)
            || !has_nursery(&options.options)
            || !has_threads(&options.options)
        {
            return Err(format!(
                "malformed value '{value}' of {source}: expected {}",
                option.expected
            ));
        }
        Ok(())
    }
}

/// Whether a nursery of the size that is set has room for objects, as far as that does not depend on the heap's size. mmtk counts it in
/// pages, which overflows for more bytes than there are addresses.
fn has_nursery(options: &Options) -> bool {
    match *options.nursery {
        NurserySize::Fixed(bytes) | NurserySize::Bounded { max: bytes, .. } => {
            (LEAST_NURSERY..=isize::MAX as usize).contains(&bytes)
        }
        NurserySize::ProportionalBounded { .. } => true,
    }
}

/// Whether there can be as many threads as are asked for.
fn has_threads(options: &Options) -> bool {
    *options.threads <= MOST_THREADS && *options.concurrent_threads <= MOST_THREADS
}

/// The value of an option that is not left at its default.
fn given(option: &MMTKOption<usize>) -> Option<usize> {
    option.was_set().then_some(**option)
}

/// Parses the environment, then the options of the command line.
///
/// `environment` is all variables; those that do not name an option of mmtk's are none of ours.
///
/// # Errors
/// One line that names the option or variable, and what was expected.
pub fn parse(
    environment: impl Iterator<Item = (String, String)>,
    options: Option<&str>,
) -> Result<Settings, String> {
    let mut settings = Settings::new();
    for (variable, value) in environment {
        let Some(name) = variable
            .strip_prefix(ENVIRONMENT_PREFIX)
            .map(str::to_lowercase)
        else {
            continue;
        };
        let is_known = OPTIONS.iter().any(|option| option.name == name)
            || REFUSED.iter().any(|(refused, _)| *refused == name);
        if is_known {
            settings.set(&format!("environment variable {variable}"), &name, &value)?;
        }
    }
    for (name, value) in split(options.unwrap_or_default())? {
        settings.set(&format!("option '{name}'"), name, &value)?;
    }
    Ok(settings)
}

/// Splits `name=value,name=value`. Values may hold commas: a pair ends where `,name=` follows.
fn split(options: &str) -> Result<Vec<(&str, String)>, String> {
    let mut pairs: Vec<(&str, String)> = Vec::new();
    if options.is_empty() {
        return Ok(pairs);
    }
    for part in options.split(',') {
        let is_name = |name: &str| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        };
        let known = OPTIONS.iter().any(|option| option.name == part);
        match (part.split_once('='), pairs.last_mut()) {
            (Some((name, value)), _) if is_name(name) => pairs.push((name, value.to_owned())),
            (None, Some((_, value))) if !known && !part.is_empty() => {
                value.push(',');
                value.push_str(part);
            }
            _ => return Err(format!("malformed option '{part}': expected name=value")),
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests;
