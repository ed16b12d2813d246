/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "asm/macroAssembler.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSetAssembler_x86.hpp"
#include "gc/thirdparty/thirdPartyHeapBins.hpp"
#include "gc/thirdparty/thirdPartyHeapThreadLocalData.hpp"

#define __ masm->

static void pop(MacroAssembler* masm, Register obj, const Address& head, Label& slow_case) {
  __ movptr(obj, head);
  __ testptr(obj, obj);
  __ jcc(Assembler::zero, slow_case);
  __ movptr(rscratch1, Address(obj, 0));
  __ movptr(head, rscratch1);
}

// Defines obj, preserves var_size_in_bytes.
void ThirdPartyHeapBarrierSetAssembler::eden_allocate(MacroAssembler* masm, Register thread, Register obj,
                                                      Register var_size_in_bytes, int con_size_in_bytes,
                                                      Register t1, Label& slow_case) {
  assert_different_registers(obj, var_size_in_bytes, t1, rscratch1);
  const int heads = in_bytes(ThirdPartyHeapThreadLocalData::free_lists_offset());
  const bool is_constant = var_size_in_bytes == noreg;
  if (is_constant ? !ThirdPartyHeapBins::has(con_size_in_bytes) : !ThirdPartyHeapBins::exist()) {
    __ jmp(slow_case);
  } else if (is_constant) {
    const int offset = ThirdPartyHeapBins::of(con_size_in_bytes) * wordSize;
    pop(masm, obj, Address(r15_thread, heads + offset), slow_case);
  } else {
    const Register bin = t1;
    __ cmpptr(var_size_in_bytes, (int32_t)ThirdPartyHeapBins::max_bytes());
    __ jcc(Assembler::above, slow_case);
    __ lea(bin, Address(var_size_in_bytes, BytesPerWord - 1));
    __ shrptr(bin, LogBytesPerWord);
    __ lea(rscratch1, ExternalAddress(ThirdPartyHeapBins::table()));
    __ movzbl(bin, Address(rscratch1, bin, Address::times_1));
    pop(masm, obj, Address(r15_thread, bin, Address::times_ptr, heads), slow_case);
  }
}
