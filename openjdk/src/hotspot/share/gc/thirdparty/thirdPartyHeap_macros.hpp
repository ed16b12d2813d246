/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAP_MACROS_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAP_MACROS_HPP

// The JVM feature thirdpartygc, in the form that utilities/macros.hpp has for each collector.

#ifndef INCLUDE_THIRDPARTYGC
#define INCLUDE_THIRDPARTYGC 1
#endif

#if INCLUDE_THIRDPARTYGC
#define THIRDPARTYGC_ONLY(x) x
#define THIRDPARTYGC_ONLY_ARG(arg) arg,
#define NOT_THIRDPARTYGC(x)
#else
#define THIRDPARTYGC_ONLY(x)
#define THIRDPARTYGC_ONLY_ARG(arg)
#define NOT_THIRDPARTYGC(x) x
#endif

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAP_MACROS_HPP
