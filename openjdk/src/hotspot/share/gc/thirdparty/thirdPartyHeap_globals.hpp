/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_THIRDPARTYHEAP_GLOBALS_HPP
#define SHARE_GC_THIRDPARTY_THIRDPARTYHEAP_GLOBALS_HPP

// Defines all command line flags of the third-party heap. UseThirdPartyHeap is in gc_globals.hpp, beside its peers.

#define GC_THIRDPARTY_FLAGS(develop,                                        \
                            develop_pd,                                     \
                            product,                                        \
                            product_pd,                                     \
                            notproduct,                                     \
                            range,                                          \
                            constraint)                                     \
                                                                            \
  product(ccstr, ThirdPartyHeapPlugin, "ms-64k",                            \
          "The plugin that manages the heap under UseThirdPartyHeap: a "    \
          "build name, looked up as lib/mmtk/libmmtk_<name>.so in the JDK, "\
          "or a path")                                                      \
                                                                            \
  product(ccstr, ThirdPartyHeapOptions, NULL,                               \
          "Options for the plugin: key=value,... They win over the "        \
          "MMTK_* environment variables")                                   \
                                                                            \
  product(bool, ThirdPartyHeapInlineAllocation, true, DIAGNOSTIC,           \
          "Whether compiled code and the interpreter take cells, or memory "\
          "of a buffer, without a call, where the plugin gives threads any")\

// end of GC_THIRDPARTY_FLAGS

#endif // SHARE_GC_THIRDPARTY_THIRDPARTYHEAP_GLOBALS_HPP
