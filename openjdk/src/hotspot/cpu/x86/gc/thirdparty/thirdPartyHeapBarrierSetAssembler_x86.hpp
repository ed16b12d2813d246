/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef CPU_X86_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSETASSEMBLER_X86_HPP
#define CPU_X86_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSETASSEMBLER_X86_HPP

#include "gc/shared/barrierSetAssembler.hpp"

// Allocation by the interpreter and C1. Where threads have no TLABs, HotSpot allocates
// in the eden that they share; here that is a pop from one of the thread's free lists.
class ThirdPartyHeapBarrierSetAssembler : public BarrierSetAssembler {
public:
  virtual void eden_allocate(MacroAssembler* masm, Register thread, Register obj, Register var_size_in_bytes,
                             int con_size_in_bytes, Register t1, Label& slow_case);
};

#endif // CPU_X86_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSETASSEMBLER_X86_HPP
