/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef CPU_X86_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSETASSEMBLER_X86_HPP
#define CPU_X86_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSETASSEMBLER_X86_HPP

#include "gc/shared/modRefBarrierSetAssembler.hpp"

enum ThirdPartyHeapVectorUse : int;

class LIR_Assembler;
class StubAssembler;
class ThirdPartyHeapRememberStub;
class ThirdPartyHeapRememberStubC2;
class ThirdPartyHeapSnapshotStub;

// Allocation by the interpreter and C1, and the plan's barrier of the interpreter, C1
// and the arraycopy stubs, if it has one. Where threads have no
// TLABs, HotSpot allocates in the eden that they share; here that is a pop from one of
// the thread's free lists, or memory of its buffer.
class ThirdPartyHeapBarrierSetAssembler : public ModRefBarrierSetAssembler {
private:
  // Jumps unless marking runs beside the thread.
  static void jump_if_snapshot_inactive(MacroAssembler* masm, Label& target);

protected:
  virtual void oop_store_at(MacroAssembler* masm, DecoratorSet decorators, BasicType type,
                            Address dst, Register val, Register tmp1, Register tmp2);
  virtual void gen_write_ref_array_pre_barrier(MacroAssembler* masm, DecoratorSet decorators,
                                               Register addr, Register count);
  virtual void gen_write_ref_array_post_barrier(MacroAssembler* masm, DecoratorSet decorators,
                                                Register addr, Register count, Register tmp);

public:
  virtual void eden_allocate(MacroAssembler* masm, Register thread, Register obj, Register var_size_in_bytes,
                             int con_size_in_bytes, Register t1, Label& slow_case);

  virtual void load_at(MacroAssembler* masm, DecoratorSet decorators, BasicType type,
                       Register dst, Address src, Register tmp1, Register tmp_thread);

  virtual void arraycopy_prologue(MacroAssembler* masm, DecoratorSet decorators, BasicType type,
                                  Register src, Register dst, Register count);
  virtual void arraycopy_epilogue(MacroAssembler* masm, DecoratorSet decorators, BasicType type,
                                  Register src, Register dst, Register count);

  // Sets the zero flag if the object's unlogged bit is not set. Kills tmp and rscratch1.
  static void test_unlogged(MacroAssembler* masm, Register object, Register tmp);

#ifdef COMPILER1
  static void generate_c1_remember_stub(LIR_Assembler* ce, ThirdPartyHeapRememberStub* stub);
  static void generate_c1_remember_runtime_stub(StubAssembler* sasm);
  static void generate_c1_snapshot_stub(LIR_Assembler* ce, ThirdPartyHeapSnapshotStub* stub);
  static void generate_c1_snapshot_runtime_stub(StubAssembler* sasm);
#endif

#ifdef COMPILER2
  static void generate_c2_remember_stub(MacroAssembler* masm, ThirdPartyHeapRememberStubC2* stub, address remember_code);
  // What these stubs call: see thirdPartyHeapBarrierSetC2.hpp.
  static address generate_c2_remember_code(ThirdPartyHeapVectorUse use);
#endif
};

#endif // CPU_X86_GC_THIRDPARTY_THIRDPARTYHEAPBARRIERSETASSEMBLER_X86_HPP
