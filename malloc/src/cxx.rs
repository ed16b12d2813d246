// SPDX-License-Identifier: MIT OR Apache-2.0
//! C++'s operators `new` and `delete`, by their names in the Itanium ABI.
//!
//! Where there is no memory, `new` calls the handler that the program has set, and throws `std::bad_alloc` if there is
//! none, by the functions of the C++ library that the program has; the exception passes through these functions, which
//! is why the library is built with `panic = "unwind"`. What must not throw leaves that to the C++ library, which can catch.

use libc::{c_void, size_t};
use shardsweep_policy::malloc as ours;
use std::ffi::CStr;
use std::mem::transmute;
use std::ptr::null_mut;

type Handler = extern "C-unwind" fn();

/// The C++ libraries. Where one came with a plugin of the program, no other part of the program sees it.
const LIBRARIES: [&CStr; 2] = [c"libstdc++.so.6", c"libc++.so.1"];

/// What `scope`, a handle of `dlsym`, or else a C++ library that is loaded, calls `name`, if there is one.
fn find(scope: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    let find_in = |scope| {
        // SAFETY: the scope is valid, and the name a C string.
        let symbol = unsafe { libc::dlsym(scope, name.as_ptr()) };
        (!symbol.is_null()).then_some(symbol)
    };
    find_in(scope).or_else(|| {
        LIBRARIES.iter().find_map(|library| {
            // SAFETY: the name is a C string; nothing is loaded that is not.
            let library =
                unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
            (!library.is_null()).then_some(library).and_then(find_in)
        })
    })
}

/// Has the program free memory. False where it has set no handler.
fn call_new_handler() -> bool {
    // std::get_new_handler()
    let Some(get) = find(libc::RTLD_DEFAULT, c"_ZSt15get_new_handlerv") else {
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
    if let Some(throw) = find(libc::RTLD_DEFAULT, c"_ZSt17__throw_bad_allocv") {
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

macro_rules! new {
    ($($name:ident($($align:ident)?);)*) => {
        $(
            /// An operator `new`.
            #[no_mangle]
            pub extern "C-unwind" fn $name(size: size_t $(, $align: size_t)?) -> *mut c_void {
                let pointer = new!(@at_once size $($align)?);
                if pointer.is_null() {
                    allocate(new!(@align $($align)?), size)
                } else {
                    pointer.cast()
                }
            }
        )*
    };
    (@at_once $size:ident) => { ours::malloc_at_once($size) };
    (@at_once $size:ident $align:ident) => { null_mut::<u8>() };
    (@align) => { 8 };
    (@align $align:ident) => { $align };
}

new! {
    _Znwm();
    _Znam();
    _ZnwmSt11align_val_t(align);
    _ZnamSt11align_val_t(align);
}

macro_rules! new_nothrow {
    ($($name:ident($($align:ident: $type:ty)?);)*) => {
        $(
            /// An operator `new` that returns null in place of an exception. Of the C++ library's it is the one that calls ours which
            /// throws, and catches what that or the handler throws.
            #[no_mangle]
            pub extern "C-unwind" fn $name(size: size_t $(, $align: $type)?, nothrow: *const c_void) -> *mut c_void {
                type New = extern "C-unwind" fn(size_t $(, $type)?, *const c_void) -> *mut c_void;
                let pointer = ours::aligned_alloc(new!(@align $($align)?), size);
                if !pointer.is_null() {
                    return pointer.cast();
                }
                let name = CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes());
                let Some(new) = name.ok().and_then(|name| find(libc::RTLD_NEXT, name)) else {
                    return null_mut();
                };
                // SAFETY: the type is that of the operator.
                let new = unsafe { transmute::<*mut c_void, New>(new) };
                new(size $(, $align)?, nothrow)
            }
        )*
    };
}

new_nothrow! {
    _ZnwmRKSt9nothrow_t();
    _ZnamRKSt9nothrow_t();
    _ZnwmSt11align_val_tRKSt9nothrow_t(align: size_t);
    _ZnamSt11align_val_tRKSt9nothrow_t(align: size_t);
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
