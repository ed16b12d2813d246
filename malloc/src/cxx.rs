// SPDX-License-Identifier: MIT OR Apache-2.0
//! C++'s operators `new` and `delete`, by their names in the Itanium ABI.
//!
//! Where there is no memory, `new` calls the handler that the program has set, and throws `std::bad_alloc` if there is
//! none, by the functions of the C++ library that the program has; the exception passes through these functions, which
//! is why the library is built with `panic = "unwind"`.

use libc::{c_char, c_void, size_t};
use shardsweep_policy::malloc as ours;
use std::mem::transmute;

type Handler = extern "C-unwind" fn();

/// What the C++ library calls `name`, if there is one.
fn find(name: *const c_char) -> Option<*mut c_void> {
    // SAFETY: the name is a C string.
    let symbol = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name) };
    (!symbol.is_null()).then_some(symbol)
}

/// Has the program free memory. False where it has set no handler.
fn call_new_handler() -> bool {
    // std::get_new_handler()
    let Some(get) = find(c"_ZSt15get_new_handlerv".as_ptr()) else {
        return false;
    };
    // SAFETY: the type is that of the function.
    let get = unsafe { transmute::<*mut c_void, extern "C" fn() -> Option<Handler>>(get) };
    let handler = get();
    if let Some(handler) = handler {
        handler();
    }
    handler.is_some()
}

/// Throws `std::bad_alloc`.
fn throw() -> ! {
    // std::__throw_bad_alloc()
    if let Some(throw) = find(c"_ZSt17__throw_bad_allocv".as_ptr()) {
        // SAFETY: the type is that of the function, which does not return.
        unsafe { transmute::<*mut c_void, Handler>(throw)() };
    }
    // SAFETY: a program that has no C++ library cannot catch what is thrown.
    unsafe { libc::abort() }
}

#[cold]
#[inline(never)]
fn allocate(align: usize, size: usize) -> *mut c_void {
    loop {
        let pointer = ours::aligned_alloc(align, size);
        if !pointer.is_null() {
            return pointer.cast();
        }
        if !call_new_handler() {
            throw();
        }
    }
}

/// As `allocate`, but null in place of an exception.
#[cold]
#[inline(never)]
fn allocate_nothrow(align: usize, size: usize) -> *mut c_void {
    loop {
        let pointer = ours::aligned_alloc(align, size);
        if !pointer.is_null() || !call_new_handler() {
            return pointer.cast();
        }
    }
}

macro_rules! new {
    ($($name:ident($($align:ident)?) else $allocate:ident $(, $nothrow:ident)?;)*) => {
        $(
            /// An operator `new`.
            #[no_mangle]
            pub extern "C-unwind" fn $name(size: size_t $(, $align: size_t)? $(, $nothrow: *const c_void)?) -> *mut c_void {
                $(let _ = $nothrow;)?
                let pointer = new!(@at_once size $($align)?);
                if pointer.is_null() {
                    $allocate(new!(@align $($align)?), size)
                } else {
                    pointer.cast()
                }
            }
        )*
    };
    (@at_once $size:ident) => { ours::malloc_at_once($size) };
    (@at_once $size:ident $align:ident) => { std::ptr::null_mut::<u8>() };
    (@align) => { 8 };
    (@align $align:ident) => { $align };
}

new! {
    _Znwm() else allocate;
    _Znam() else allocate;
    _ZnwmSt11align_val_t(align) else allocate;
    _ZnamSt11align_val_t(align) else allocate;
    _ZnwmRKSt9nothrow_t() else allocate_nothrow, nothrow;
    _ZnamRKSt9nothrow_t() else allocate_nothrow, nothrow;
    _ZnwmSt11align_val_tRKSt9nothrow_t(align) else allocate_nothrow, nothrow;
    _ZnamSt11align_val_tRKSt9nothrow_t(align) else allocate_nothrow, nothrow;
}

macro_rules! delete {
    ($($name:ident($($ignored:ident: $type:ty),*);)*) => {
        $(
            /// An operator `delete`.
            ///
            /// # Safety
            /// The pointer is null or came from an operator `new`, and is not used any further.
            #[no_mangle]
            pub unsafe extern "C-unwind" fn $name(pointer: *mut c_void $(, $ignored: $type)*) {
                $(let _ = $ignored;)*
                // SAFETY: promised by the caller.
                unsafe { ours::free(pointer.cast()) }
            }
        )*
    };
}

delete! {
    _ZdlPv();
    _ZdaPv();
    _ZdlPvm(size: size_t);
    _ZdaPvm(size: size_t);
    _ZdlPvSt11align_val_t(align: size_t);
    _ZdaPvSt11align_val_t(align: size_t);
    _ZdlPvmSt11align_val_t(size: size_t, align: size_t);
    _ZdaPvmSt11align_val_t(size: size_t, align: size_t);
    _ZdlPvRKSt9nothrow_t(nothrow: *const c_void);
    _ZdaPvRKSt9nothrow_t(nothrow: *const c_void);
    _ZdlPvSt11align_val_tRKSt9nothrow_t(align: size_t, nothrow: *const c_void);
    _ZdaPvSt11align_val_tRKSt9nothrow_t(align: size_t, nothrow: *const c_void);
}
