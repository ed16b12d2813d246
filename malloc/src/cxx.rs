// SPDX-License-Identifier: MIT OR Apache-2.0
//! C++'s operators `new` and `delete`, by their names in the Itanium ABI.
//!
//! Where there is no memory, `new` calls the handler that the program has set, and throws `std::bad_alloc` if there is
//! none, by the functions of the C++ library that the program has; the exception passes through these functions, which
//! is why the library is built with `panic = "unwind"`. What must not throw leaves that to the C++ library, which can catch.
//!
//! A program may replace some of the operators. So, as in the C++ library, those with more than a size or an alignment call the ones
//! without it by the names that the program, too, uses. Those which must not throw allocate themselves where these are ours.

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

type New = extern "C-unwind" fn(size_t) -> *mut c_void;
type AlignedNew = extern "C-unwind" fn(size_t, size_t) -> *mut c_void;
type NothrowNew = extern "C-unwind" fn(size_t, *const c_void) -> *mut c_void;
type AlignedNothrowNew = extern "C-unwind" fn(size_t, size_t, *const c_void) -> *mut c_void;
type Delete = unsafe extern "C-unwind" fn(*mut c_void);
type AlignedDelete = unsafe extern "C-unwind" fn(*mut c_void, size_t);

extern "C" {
    /// Where the section of our operators `new` begins and ends: the linker knows it by these names.
    static __start_shardsweep_new: u8;
    static __stop_shardsweep_new: u8;
}

/// Whether the operator is one of ours.
fn is_ours(operator: *const c_void) -> bool {
    let section =
        (&raw const __start_shardsweep_new).addr()..(&raw const __stop_shardsweep_new).addr();
    section.contains(&operator.addr())
}

/// `operator new(std::size_t)`.
#[no_mangle]
#[link_section = "shardsweep_new"]
pub extern "C-unwind" fn _Znwm(size: size_t) -> *mut c_void {
    let pointer = ours::malloc_at_once(size);
    if pointer.is_null() {
        allocate(8, size)
    } else {
        pointer.cast()
    }
}

/// `operator new(std::size_t, std::align_val_t)`.
#[no_mangle]
#[link_section = "shardsweep_new"]
pub extern "C-unwind" fn _ZnwmSt11align_val_t(size: size_t, align: size_t) -> *mut c_void {
    allocate(align, size)
}

/// `operator new[](std::size_t)`.
#[no_mangle]
#[link_section = "shardsweep_new"]
pub extern "C-unwind" fn _Znam(size: size_t) -> *mut c_void {
    let new = of_program!(_Znwm);
    // SAFETY: the type is that of the operator.
    unsafe { transmute::<*const c_void, New>(new)(size) }
}

/// `operator new[](std::size_t, std::align_val_t)`.
#[no_mangle]
#[link_section = "shardsweep_new"]
pub extern "C-unwind" fn _ZnamSt11align_val_t(size: size_t, align: size_t) -> *mut c_void {
    let new = of_program!(_ZnwmSt11align_val_t);
    // SAFETY: the type is that of the operator.
    unsafe { transmute::<*const c_void, AlignedNew>(new)(size, align) }
}

macro_rules! new_nothrow {
    ($($name:ident($($align:ident: $type:ty)?) as $function:ty, by $($base:ident)*;)*) => {
        $(
            /// An operator `new` that returns null in place of an exception. Of the C++ library's it is the one that calls those
            /// which throw, and catches what they or the handler throw: it is called where ours fail, or are not the program's.
            #[no_mangle]
            pub extern "C-unwind" fn $name(size: size_t $(, $align: $type)?, nothrow: *const c_void) -> *mut c_void {
                if $(is_ours(of_program!($base)))&&* {
                    let pointer = ours::aligned_alloc(new_nothrow!(@align $($align)?), size);
                    if !pointer.is_null() {
                        return pointer.cast();
                    }
                }
                let name = CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes());
                let Some(new) = name.ok().and_then(|name| find(libc::RTLD_NEXT, name)) else {
                    return null_mut();
                };
                // SAFETY: the type is that of the operator.
                unsafe { transmute::<*mut c_void, $function>(new)(size $(, $align)?, nothrow) }
            }
        )*
    };
    (@align) => { 8 };
    (@align $align:ident) => { $align };
}

new_nothrow! {
    _ZnwmRKSt9nothrow_t() as NothrowNew, by _Znwm;
    _ZnamRKSt9nothrow_t() as NothrowNew, by _Znam _Znwm;
    _ZnwmSt11align_val_tRKSt9nothrow_t(align: size_t) as AlignedNothrowNew, by _ZnwmSt11align_val_t;
    _ZnamSt11align_val_tRKSt9nothrow_t(align: size_t) as AlignedNothrowNew, by _ZnamSt11align_val_t _ZnwmSt11align_val_t;
}

/// `operator delete(void *)`.
///
/// # Safety
/// The pointer is null or came from an operator `new`, and is not used any further.
#[no_mangle]
pub unsafe extern "C-unwind" fn _ZdlPv(pointer: *mut c_void) {
    // SAFETY: promised by the caller.
    unsafe { ours::free(pointer.cast()) }
}

/// `operator delete(void *, std::align_val_t)`.
///
/// # Safety
/// The pointer is null or came from an operator `new`, and is not used any further.
#[no_mangle]
pub unsafe extern "C-unwind" fn _ZdlPvSt11align_val_t(pointer: *mut c_void, align: size_t) {
    let _ = align;
    // SAFETY: promised by the caller.
    unsafe { ours::free(pointer.cast()) }
}

macro_rules! delete {
    ($($name:ident($($argument:ident: $type:ty),*) as $function:ty, by $base:ident($($passed:ident)?);)*) => {
        $(
            /// An operator `delete`, which has another do it.
            ///
            /// # Safety
            /// The pointer is null or came from an operator `new`, and is not used any further.
            #[no_mangle]
            pub unsafe extern "C-unwind" fn $name(pointer: *mut c_void $(, $argument: $type)*) {
                $(let _ = $argument;)*
                let delete = of_program!($base);
                // SAFETY: the type is that of the operator; the rest is promised by the caller.
                unsafe { transmute::<*const c_void, $function>(delete)(pointer $(, $passed)?) }
            }
        )*
    };
}

delete! {
    _ZdaPv() as Delete, by _ZdlPv();
    _ZdlPvm(size: size_t) as Delete, by _ZdlPv();
    _ZdaPvm(size: size_t) as Delete, by _ZdaPv();
    _ZdlPvRKSt9nothrow_t(nothrow: *const c_void) as Delete, by _ZdlPv();
    _ZdaPvRKSt9nothrow_t(nothrow: *const c_void) as Delete, by _ZdaPv();
    _ZdaPvSt11align_val_t(align: size_t) as AlignedDelete, by _ZdlPvSt11align_val_t(align);
    _ZdlPvmSt11align_val_t(size: size_t, align: size_t) as AlignedDelete, by _ZdlPvSt11align_val_t(align);
    _ZdaPvmSt11align_val_t(size: size_t, align: size_t) as AlignedDelete, by _ZdaPvSt11align_val_t(align);
    _ZdlPvSt11align_val_tRKSt9nothrow_t(align: size_t, nothrow: *const c_void) as AlignedDelete, by _ZdlPvSt11align_val_t(align);
    _ZdaPvSt11align_val_tRKSt9nothrow_t(align: size_t, nothrow: *const c_void) as AlignedDelete, by _ZdaPvSt11align_val_t(align);
}
