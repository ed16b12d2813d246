// SPDX-License-Identifier: MIT OR Apache-2.0

use super::*;

fn error_of(call: impl FnOnce(*mut c_char, usize), size: usize) -> String {
    let mut buffer = vec![b'#'; size + 1];
    call(buffer.as_mut_ptr().cast(), size);
    assert_eq!(buffer[size], b'#', "wrote behind the buffer");
    CStr::from_bytes_until_nul(&buffer)
        .unwrap()
        .to_str()
        .unwrap()
        .to_owned()
}

#[test]
fn errors_fit_their_buffer() {
    let write = |text: &str, size| {
        // SAFETY: the buffer has this size.
        error_of(
            |buffer, size| unsafe { write_error(text, buffer, size) },
            size,
        )
    };
    assert_eq!(write("two\nlines", 100), "two lines");
    assert_eq!(write("twelve bytes", 7), "twelve");
    assert_eq!(write("x", 1), "");
    // SAFETY: nothing may be written.
    unsafe { write_error("x", ptr::null_mut(), 0) };
}

#[test]
fn tables_that_do_not_fit_are_refused() {
    let mut words = [1usize; size_of::<Vm>() / size_of::<usize>()];
    let entry = |words: &[usize]| {
        error_of(
            |buffer, size| {
                // SAFETY: the table is looked into, but not kept, because it is refused.
                let plugin = unsafe { third_party_heap_entry(words.as_ptr().cast(), buffer, size) };
                assert!(plugin.is_null());
            },
            200,
        )
    };
    words[0] = 8;
    let expected = format!(
        "ThirdPartyHeapVMTable has 8 bytes in the VM and {} in",
        size_of::<Vm>()
    );
    assert!(entry(&words).starts_with(&expected));
    words[0] = size_of::<Vm>();
    words[5] = 0;
    assert_eq!(entry(&words), "entry 5 of ThirdPartyHeapVMTable is null");
}

fn configured(options: &CStr, size: u64) -> Result<Plan, String> {
    let mut plan = Plan {
        size,
        name: ptr::null(),
        min_heap_size: 0,
        moves_objects: 7,
        collects: 7,
        gives_buffers: 7,
        supports_compressed_oops: 7,
        gc_threads: 7,
        barrier: 7,
        is_shardsweep: 7,
        ignores_system_gc: 7,
        concurrent_gc_threads: 7,
        extra_header_bytes: 7,
    };
    let mut failed = false;
    let error = error_of(
        |buffer, length| {
            buffer_starts_empty(buffer);
            // SAFETY: valid arguments.
            let status = unsafe { configure(options.as_ptr(), &mut plan, buffer, length) };
            failed = status != 0;
        },
        300,
    );
    if failed {
        Err(error)
    } else {
        Ok(plan)
    }
}

fn buffer_starts_empty(buffer: *mut c_char) {
    // SAFETY: the buffer has at least one byte.
    unsafe { *buffer = 0 };
}

#[test]
fn configure_describes_the_plan() {
    let size = size_of::<Plan>() as u64;
    let plan = configured(c"plan=SemiSpace,threads=3", size).unwrap();
    // SAFETY: a static string.
    assert_eq!(unsafe { CStr::from_ptr(plan.name) }, c"SemiSpace");
    assert_eq!(
        (plan.moves_objects, plan.collects, plan.gives_buffers),
        (1, 1, 1)
    );
    assert_eq!(
        plan.supports_compressed_oops != 0,
        !cfg!(feature = "malloc-libc")
    );
    assert_eq!(plan.gc_threads, 3);
    assert_eq!((plan.ignores_system_gc, plan.concurrent_gc_threads), (0, 0));
    let plan = configured(
        c"plan=MarkSweep,ignore_system_gc=true,concurrent_threads=2",
        size,
    )
    .unwrap();
    assert_eq!((plan.ignores_system_gc, plan.concurrent_gc_threads), (1, 2));
    assert_eq!(
        (plan.moves_objects, plan.gives_buffers, plan.gc_threads),
        (0, 0, 0)
    );
    assert_eq!(plan.barrier, 0);
    assert_eq!(plan.is_shardsweep != 0, cfg!(feature = "shardsweep"));
    let plan = configured(c"plan=MarkCompact", size).unwrap();
    assert_eq!((plan.gives_buffers, plan.extra_header_bytes), (1, 8));
    let plan = configured(c"plan=NoGC", size).unwrap();
    assert_eq!((plan.collects, plan.gives_buffers), (0, 1));
    assert_eq!(plan.extra_header_bytes, 0);
    for generational in [c"plan=GenCopy", c"plan=GenImmix", c"plan=StickyImmix"] {
        let plan = configured(generational, size).unwrap();
        assert_eq!((plan.barrier, plan.moves_objects), (1, 1));
    }
    let plan = configured(c"plan=Immix,stress_factor=4096", size).unwrap();
    assert_eq!(plan.gives_buffers, 0, "a stress test sees every allocation");
    assert!(configured(c"plan=None", size)
        .err()
        .unwrap()
        .starts_with("option 'plan': unknown plan 'None'"));
    assert!(configured(c"", 8)
        .err()
        .unwrap()
        .starts_with("ThirdPartyHeapPlan has 8 bytes"));
}

#[test]
fn build_name_is_a_c_string() {
    let name = CStr::from_bytes_until_nul(&BUILD_NAME).unwrap();
    assert_eq!(name.to_str().unwrap(), BUILD);
}
