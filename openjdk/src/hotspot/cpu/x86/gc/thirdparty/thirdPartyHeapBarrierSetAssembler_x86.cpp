/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "asm/macroAssembler.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSetAssembler_x86.hpp"
#include "gc/thirdparty/thirdPartyHeapBins.hpp"
#include "gc/thirdparty/thirdPartyHeapThreadLocalData.hpp"

#define __ masm->

// Takes a cell of the bin whose head is at base + offset. cell_bytes is 0 if it is not known.
static void take(MacroAssembler* masm, Register obj, Register base, int offset, int cell_bytes, Label& slow_case) {
  const Address cursor(base, offset + offset_of(ThirdPartyHeapHead, cursor));
  const Address end(base, offset + offset_of(ThirdPartyHeapHead, end));
  const Address free(base, offset + offset_of(ThirdPartyHeapHead, free));
  Label pop, done;
  __ movptr(obj, cursor);
  __ cmpptr(obj, end);
  __ jccb(Assembler::equal, pop);
  if (cell_bytes != 0) {
    __ lea(rscratch1, Address(obj, cell_bytes));
  } else {
    __ movptr(rscratch1, Address(base, offset + offset_of(ThirdPartyHeapHead, cell_bytes)));
    __ addptr(rscratch1, obj);
  }
  __ movptr(cursor, rscratch1);
  __ jmpb(done);
  __ bind(pop);
  __ movptr(obj, free);
  __ testptr(obj, obj);
  __ jcc(Assembler::zero, slow_case);
  __ movptr(rscratch1, Address(obj, 0));
  __ movptr(free, rscratch1);
  __ bind(done);
}

// Defines obj, preserves var_size_in_bytes.
void ThirdPartyHeapBarrierSetAssembler::eden_allocate(MacroAssembler* masm, Register thread, Register obj,
                                                      Register var_size_in_bytes, int con_size_in_bytes,
                                                      Register t1, Label& slow_case) {
  assert_different_registers(obj, var_size_in_bytes, t1, rscratch1);
  const int heads = in_bytes(ThirdPartyHeapThreadLocalData::heads_offset());
  const bool is_constant = var_size_in_bytes == noreg;
  if (is_constant ? !ThirdPartyHeapBins::has(con_size_in_bytes) : !ThirdPartyHeapBins::exist()) {
    __ jmp(slow_case);
  } else if (is_constant) {
    const uint bin = ThirdPartyHeapBins::of(con_size_in_bytes);
    take(masm, obj, r15_thread, heads + bin * sizeof(ThirdPartyHeapHead), ThirdPartyHeapBins::cell_bytes(bin), slow_case);
  } else {
    const Register head = t1;
    __ cmpptr(var_size_in_bytes, (int32_t)ThirdPartyHeapBins::max_bytes());
    __ jcc(Assembler::above, slow_case);
    __ lea(head, Address(var_size_in_bytes, BytesPerWord - 1));
    __ shrptr(head, LogBytesPerWord);
    __ lea(rscratch1, ExternalAddress(ThirdPartyHeapBins::table()));
    __ movzbl(head, Address(rscratch1, head, Address::times_1));
    __ shlptr(head, exact_log2(sizeof(ThirdPartyHeapHead)));
    __ addptr(head, r15_thread);
    take(masm, obj, head, heads, 0, slow_case);
  }
}
