// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;
use mmtk::util::options::PlanSelector;

/// A value that each option takes, on any machine. CPU stands for a processor that is there.
#[rustfmt::skip]
const VALUES: &[(&str, &str)] = &[
    ("plan", "Immix"), ("threads", "3"), ("concurrent_threads", "1"),
    ("ignore_system_gc", "true"),
    ("nursery", "Bounded:1024,131072"), ("full_heap_system_gc", "true"),
    ("stress_factor", "4096"),
    ("precise_stress", "false"), ("thread_affinity", "AllInSet:CPU,CPU"), ("transparent_hugepages", "true"),
    #[cfg(not(feature = "malloc-libc"))]
    ("count_live_bytes_in_gc", "true"),
    ("immix_always_defrag", "true"),
    ("immix_defrag_every_block", "true"), ("immix_defrag_headroom_percent", "5"),
    ("concurrent_immix_disable_concurrent_marking", "true"),
];

fn options(text: &str) -> Result<Settings, String> {
    parse([].into_iter(), Some(text))
}

fn with_processor(text: &str) -> String {
    text.replace("CPU", &affinity::processors()[0].to_string())
}

fn environment(variables: &[(&str, &str)], text: Option<&str>) -> Result<Settings, String> {
    let owned = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    parse(variables.iter().map(owned), text)
}

fn error(text: &str) -> String {
    let error = options(text).err().expect("an error");
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn mmtk_knows_every_option() {
    assert_eq!(VALUES.len(), OPTIONS.len());
    for option in OPTIONS {
        let (_, value) = VALUES
            .iter()
            .find(|(name, _)| *name == option.name)
            .unwrap();
        let text = with_processor(&format!("{}={value}", option.name));
        assert!(options(&text).is_ok(), "{text}");
    }
}

#[test]
fn defaults() {
    for text in [None, Some("")] {
        let settings = parse([].into_iter(), text).unwrap();
        assert_eq!(settings.plan.selector, PlanSelector::MarkSweep);
        assert_eq!(*settings.builder.options.plan, PlanSelector::MarkSweep);
        assert_eq!(settings.threads(), None);
        assert!(*settings.builder.options.no_finalizer);
        assert!(*settings.builder.options.no_reference_types);
        assert!(!settings.is_stress_test());
    }
}

#[test]
fn values_may_hold_commas() {
    let text = "nursery=Bounded:1024,131072,plan=Immix,thread_affinity=CPU,CPU,threads=2";
    let settings = options(&with_processor(text)).unwrap();
    assert_eq!(settings.plan.selector, PlanSelector::Immix);
    assert_eq!(settings.threads(), Some(2));
    let pairs = split("a=1,2,b=,c=3=4").unwrap();
    assert_eq!(
        pairs,
        [
            ("a", "1,2".into()),
            ("b", String::new()),
            ("c", "3=4".into())
        ]
    );
}

#[test]
fn later_options_and_the_command_line_win() {
    let settings = options("threads=2,threads=3").unwrap();
    assert_eq!(settings.threads(), Some(3));
    let variables = [
        ("MMTK_PLAN", "Immix"),
        ("MMTK_THREADS", "7"),
        ("OTHER_PLAN", "x"),
    ];
    let settings = environment(&variables, None).unwrap();
    assert_eq!(
        (settings.plan.selector, settings.threads()),
        (PlanSelector::Immix, Some(7))
    );
    let settings = environment(&variables, Some("plan=SemiSpace")).unwrap();
    assert_eq!(
        (settings.plan.selector, settings.threads()),
        (PlanSelector::SemiSpace, Some(7))
    );
    assert_eq!(*settings.builder.options.plan, PlanSelector::SemiSpace);
}

#[test]
fn stress_tests() {
    assert!(options("stress_factor=4096").unwrap().is_stress_test());
}

#[test]
fn plans() {
    for plan in &plans::PLANS {
        let name = plan.name.to_str().unwrap();
        let settings = options(&format!("plan={name}")).unwrap();
        assert_eq!(settings.plan.selector, plan.selector);
        assert_eq!(*settings.builder.options.plan, plan.selector);
        assert_eq!(format!("{:?}", plan.selector), name);
    }
    let ours = if cfg!(feature = "shardsweep") {
        ", StickyMarkSweep, ConcurrentMarkSweep"
    } else {
        ""
    };
    assert_eq!(
        error("plan=immix"),
        "option 'plan': unknown plan 'immix': expected one of NoGC, SemiSpace, MarkSweep, MarkCompact, Immix, \
         GenCopy, GenImmix, StickyImmix, ConcurrentImmix"
            .to_owned()
            + ours
    );
    for name in ["PageProtect", "Compressor"] {
        let error = error(&format!("plan={name}"));
        assert!(
            error.starts_with(&format!(
                "option 'plan': plan {name} is not supported by this plugin yet: choose from NoGC,"
            )),
            "{error}"
        );
    }
}

#[test]
fn unknown_options() {
    let unknown = error("plan=Immix,tlab_size=4");
    assert!(
        unknown.starts_with("unknown option 'tlab_size': known options are plan, threads,"),
        "{unknown}"
    );
    assert!(
        environment(&[("MMTK_TLAB_SIZE", "4")], None).is_ok(),
        "not an option of mmtk's"
    );
}

#[test]
fn malformed_options() {
    assert_eq!(
        error("threads=0"),
        "malformed value '0' of option 'threads': expected a number of GC threads, from 1 to 65536"
    );
    assert_eq!(
        error("concurrent_threads=4294967296"),
        "malformed value '4294967296' of option 'concurrent_threads': expected a number of GC threads, from 1 to 65536"
    );
    assert_eq!(
        error("plan"),
        "malformed option 'plan': expected name=value"
    );
    assert_eq!(
        error("plan=Immix,threads"),
        "malformed option 'threads': expected name=value"
    );
    for text in [
        "=1",
        ",",
        "plan=Immix,",
        ",plan=Immix",
        "a b=1",
        "Immix,plan=Immix",
    ] {
        assert!(
            error(text).starts_with("malformed option"),
            "{text}: {}",
            error(text)
        );
    }
    for value in [
        "Fixed:0",
        "Fixed:131071",
        "Bounded:0,0",
        "Bounded:1024,4096",
        "Fixed:18446744073709551615",
    ] {
        assert_eq!(
            error(&format!("nursery={value}")),
            format!(
                "malformed value '{value}' of option 'nursery': expected Fixed:BYTES, Bounded:MIN,MAX or ProportionalBounded:MIN,MAX, \
                 of at least {LEAST_NURSERY} bytes"
            )
        );
    }
    let failed = environment(&[("MMTK_STRESS_FACTOR", "4k")], None)
        .err()
        .unwrap();
    assert_eq!(
        failed,
        "malformed value '4k' of environment variable MMTK_STRESS_FACTOR: expected a number of bytes"
    );
}

#[test]
fn a_part_of_the_heap_as_nursery() {
    let settings = options("nursery=ProportionalBounded:0.01,0.125").unwrap();
    assert_eq!(settings.check_nursery(8 * LEAST_NURSERY), Ok(()));
    assert_eq!(
        settings.check_nursery(8 * LEAST_NURSERY - 8),
        Err("the option 'nursery' gives a heap of 1048568 bytes a nursery of 131071 bytes: expected at least 131072".into())
    );
    for text in ["", "nursery=Fixed:1000000"] {
        assert_eq!(options(text).unwrap().check_nursery(LEAST_NURSERY), Ok(()));
    }
}

#[test]
fn huge_pages_are_used_unless_an_option_says_so() {
    for (text, used) in [
        ("", true),
        ("transparent_hugepages=false", false),
        ("transparent_hugepages=true", true),
    ] {
        let mut settings = options(text).unwrap();
        settings.use_huge_pages();
        assert_eq!(*settings.builder.options.transparent_hugepages, used);
    }
}

#[test]
fn refused_options() {
    assert_eq!(
        error("gc_trigger=FixedHeapSize:1024"),
        "option 'gc_trigger' cannot be set: the heap size comes from -Xms and -Xmx"
    );
    let failed = environment(&[("MMTK_NO_FINALIZER", "false")], None)
        .err()
        .unwrap();
    assert!(
        failed.starts_with("environment variable MMTK_NO_FINALIZER cannot be set: "),
        "{failed}"
    );
}
