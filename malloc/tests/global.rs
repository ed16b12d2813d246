// SPDX-License-Identifier: MIT OR Apache-2.0
//! A Rust program whose allocator is ours. The library registers what it does at the start of a process and in the child of a fork by
//! a section that a linker might leave out.

use shardsweep_malloc::{
    shardsweep_get_option, shardsweep_heap_contains, shardsweep_heap_default,
    shardsweep_heap_delete, shardsweep_heap_malloc, shardsweep_heap_new, Shardsweep,
};
use std::alloc::{alloc, alloc_zeroed, dealloc, realloc, Layout};
use std::process::Command;
use std::sync::mpsc::channel;

#[global_allocator]
static ALLOCATOR: Shardsweep = Shardsweep;

/// In the environment of a copy of this test that only says what an option is.
const ONLY_SAY: &str = "SAY_RESET_DELAY";

fn layout(bytes: usize, align: usize) -> Layout {
    Layout::from_size_align(bytes, align).unwrap()
}

#[test]
fn cells_of_every_alignment_are_zeroed_and_grow() {
    for align in (0..=16).map(|log| 1 << log) {
        for bytes in [1, 24, 100, 5000, 70_000, 3 << 20] {
            let (old, new) = (layout(bytes, align), layout(3 * bytes, align));
            // SAFETY: the layouts are not empty, and each cell has the bytes of its layout.
            unsafe {
                // What is there next was written to.
                let dirty = alloc(old);
                dirty.write_bytes(0xff, bytes);
                dealloc(dirty, old);
                let cell = alloc_zeroed(old);
                assert!(cell.addr() % align == 0, "{bytes} at {align}");
                assert!((0..bytes).all(|at| cell.add(at).read() == 0));
                cell.write_bytes(0xa5, bytes);
                let grown = realloc(cell, old, 3 * bytes);
                assert!(grown.addr() % align == 0, "{bytes} at {align} grown");
                assert!((0..bytes).all(|at| grown.add(at).read() == 0xa5));
                let shrunk = realloc(grown, new, bytes);
                assert!(shrunk.addr() % align == 0, "{bytes} at {align} shrunk");
                assert!((0..bytes).all(|at| shrunk.add(at).read() == 0xa5));
                dealloc(shrunk, old);
            }
        }
    }
}

#[test]
fn memory_that_is_zero_is_not_written() {
    const BYTES: usize = 64 << 20;
    let aligned = layout(BYTES, 64);
    let mut resident = vec![0; BYTES / 4096];
    // SAFETY: the cell has so many bytes, and there is one of `resident` for each of its pages.
    unsafe {
        let cell = alloc_zeroed(aligned);
        let page = cell.map_addr(|address| address & !4095);
        assert_eq!(libc::mincore(page.cast(), BYTES, resident.as_mut_ptr()), 0);
        dealloc(cell, aligned);
    }
    let written = resident.iter().filter(|&&page| page & 1 != 0).count();
    assert!(written < 1000, "{written} pages were written");
}

#[test]
fn what_is_aligned_grows_inside_its_cell() {
    for (align, most) in [(4096, 4096), (16384, 65536)] {
        let small = layout(10, align);
        // SAFETY: the cell is in use until it is freed, with the size it has last.
        unsafe {
            let cell = alloc(small);
            assert_eq!(realloc(cell, small, 20), cell);
            assert_eq!(realloc(cell, layout(20, align), most), cell);
            dealloc(cell, layout(most, align));
        }
    }
}

#[test]
fn boxes_and_vectors_are_ours() {
    let (one, many) = (Box::new(7), vec![1u8; 100]);
    // SAFETY: both are in use, and the heap is this thread's.
    unsafe {
        let heap = shardsweep_heap_default();
        assert!(shardsweep_heap_contains(heap, (&raw const *one).cast()));
        assert!(shardsweep_heap_contains(heap, many.as_ptr().cast()));
    }
}

#[test]
fn threads_hand_each_other_what_they_allocate() {
    let (send, receive) = channel::<Vec<String>>();
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let send = send.clone();
            std::thread::spawn(move || {
                for round in 0..200 {
                    let words = (0..round).map(|word| format!("{thread} {word}")).collect();
                    send.send(words).unwrap();
                }
            })
        })
        .collect();
    drop(send);
    let words: usize = receive.iter().map(|words| words.len()).sum();
    assert_eq!(words, 4 * (0..200).sum::<usize>());
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
}

#[test]
fn the_environment_sets_options() {
    if std::env::var_os(ONLY_SAY).is_some() {
        println!("the delay is {}", shardsweep_get_option(0));
        return;
    }
    let said = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "the_environment_sets_options", "--nocapture"])
        .env(ONLY_SAY, "1")
        .env("SHARDSWEEP_RESET_DELAY", "12345")
        .output()
        .unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    assert!(said.contains("the delay is 12345"), "{said}");
}

/// A heap ends when nobody is freeing a cell of it; in the child, a thread that was is not there. See `fork_while_another_frees` of
/// corners.c, by which the thread is as good as sure to be in the midst of it.
#[test]
fn a_heap_ends_in_the_child_of_a_fork() {
    const BYTES: usize = 1 << 20;
    let heap = shardsweep_heap_new();
    for _ in 0..50 {
        let allocate = |_| {
            // SAFETY: the heap is this thread's.
            let cell = unsafe { shardsweep_heap_malloc(heap, BYTES) }.cast::<u8>();
            // SAFETY: it has so many bytes.
            unsafe { cell.write_bytes(1, BYTES) };
            cell.expose_provenance()
        };
        let cells: Vec<usize> = (0..16).map(allocate).collect();
        let (started, wait) = channel();
        let other = std::thread::spawn(move || {
            started.send(()).unwrap();
            for cell in cells {
                let cell = std::ptr::with_exposed_provenance_mut::<u8>(cell);
                // SAFETY: it is in use; all cells are freed alike.
                unsafe { dealloc(cell, layout(BYTES, 8)) };
            }
        });
        wait.recv().unwrap();
        // SAFETY: the child calls our allocator and the OS alone, and does not come back.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: the heap is this thread's, and not used any further.
            unsafe {
                libc::alarm(20);
                shardsweep_heap_delete(heap);
                libc::_exit(0);
            }
        }
        let mut status = -1;
        // SAFETY: it writes the status.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0, "the child");
        other.join().unwrap();
    }
    // SAFETY: the heap is this thread's, and not used any further.
    unsafe { shardsweep_heap_delete(heap) };
}
