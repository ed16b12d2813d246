/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "asm/macroAssembler.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSet.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSetAssembler_x86.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSetRuntime.hpp"
#include "gc/thirdparty/thirdPartyHeapBins.hpp"
#include "gc/thirdparty/thirdPartyHeapBuffers.hpp"
#include "gc/thirdparty/thirdPartyHeapSideBits.hpp"
#include "gc/thirdparty/thirdPartyHeapThreadLocalData.hpp"
#include "runtime/vm_version.hpp"
#ifdef COMPILER1
#include "c1/c1_LIRAssembler.hpp"
#include "c1/c1_MacroAssembler.hpp"
#include "gc/thirdparty/c1/thirdPartyHeapBarrierSetC1.hpp"
#endif
#ifdef COMPILER2
#include "gc/thirdparty/c2/thirdPartyHeapBarrierSetC2.hpp"
#endif

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

// Sets the object's valid-object bit. Kills tmp and rscratch1.
static void set_valid_object_bit(MacroAssembler* masm, Register obj, Register tmp) {
  assert_different_registers(obj, tmp, rscratch1);
  __ movptr(rscratch1, (intptr_t)ThirdPartyHeapBuffers::valid_object_bits());
  __ movptr(tmp, obj);
  __ shrptr(tmp, ThirdPartyHeapSideBits::BitShift);
  // bts [r10], tmp: of all the bits from that address on. HotSpot's assembler has no such form.
  assert(rscratch1 == r10, "encoded below");
  const int high_register = tmp->encoding() >= 8 ? 4 : 0;
  __ emit_int32(0x49 | high_register, 0x0F, (unsigned char)0xAB, (tmp->encoding() & 7) << 3 | (r10->encoding() & 7));
}

// Takes memory of the thread's buffer. Kills tmp.
static void bump(MacroAssembler* masm, Register obj, Register var_size_in_bytes, int con_size_in_bytes, Register tmp,
                 Label& slow_case) {
  const Address cursor(r15_thread, in_bytes(ThirdPartyHeapThreadLocalData::buffer_cursor_offset()));
  const Address end(r15_thread, in_bytes(ThirdPartyHeapThreadLocalData::buffer_end_offset()));
  const int extra_header_bytes = (int)ThirdPartyHeapBuffers::extra_header_bytes();
  __ movptr(obj, cursor);
  if (var_size_in_bytes == noreg) {
    __ lea(tmp, Address(obj, con_size_in_bytes + extra_header_bytes));
  } else {
    __ lea(tmp, Address(obj, var_size_in_bytes, Address::times_1, extra_header_bytes));
  }
  __ cmpptr(tmp, end);
  __ jcc(Assembler::above, slow_case);
  __ movptr(cursor, tmp);
  if (ThirdPartyHeapBuffers::valid_object_bits() != NULL) {
    set_valid_object_bit(masm, obj, tmp);
  }
}

// Defines obj, preserves var_size_in_bytes.
void ThirdPartyHeapBarrierSetAssembler::eden_allocate(MacroAssembler* masm, Register thread, Register obj,
                                                      Register var_size_in_bytes, int con_size_in_bytes,
                                                      Register t1, Label& slow_case) {
  assert_different_registers(obj, var_size_in_bytes, t1, rscratch1);
  const int heads = in_bytes(ThirdPartyHeapThreadLocalData::heads_offset());
  const bool is_constant = var_size_in_bytes == noreg;
  const bool has_list = is_constant ? ThirdPartyHeapBins::has(con_size_in_bytes) : ThirdPartyHeapBins::exist();
  // C1 comes here in any case.
  if (!Universe::heap()->supports_inline_contig_alloc() || !(has_list || ThirdPartyHeapBuffers::exist())) {
    __ jmp(slow_case);
  } else if (!has_list) {
    bump(masm, obj, var_size_in_bytes, con_size_in_bytes, t1, slow_case);
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

// Shifts to the right by the low five bits of a register.
static void shift_right(MacroAssembler* masm, Register value, Register count) {
  if (UseBMI2Instructions) {
    __ shrxl(value, value, count);
    return;
  }
  if (count != rcx) __ xchgptr(rcx, count);
  __ shrl(value == rcx ? count : value);
  if (count != rcx) __ xchgptr(rcx, count);
}

// Most objects that are stored into are young, and so are their neighbours: the byte is 0.
void ThirdPartyHeapBarrierSetAssembler::test_unlogged(MacroAssembler* masm, Register object, Register tmp) {
  assert_different_registers(object, tmp, rscratch1);
  const Register byte = rscratch1;
  Label done;
  __ movptr(tmp, object);
  __ shrptr(tmp, ThirdPartyHeapSideBits::ByteShift);
  __ movptr(byte, (intptr_t)ThirdPartyHeapBarrierSet::unlogged_bits());
  __ movzbl(byte, Address(byte, tmp, Address::times_1));
  __ testl(byte, byte);
  __ jcc(Assembler::zero, done);
  const Register bit = tmp;
  __ movl(bit, object);
  __ shrl(bit, ThirdPartyHeapSideBits::BitShift);
  __ andl(bit, ThirdPartyHeapSideBits::BitMask);
  shift_right(masm, byte, bit);
  __ testl(byte, 1);
  __ bind(done);
}

void ThirdPartyHeapBarrierSetAssembler::jump_if_snapshot_inactive(MacroAssembler* masm, Label& target) {
  __ cmpb(Address(r15_thread, in_bytes(ThirdPartyHeapThreadLocalData::snapshot_active_offset())), 0);
  __ jcc(Assembler::equal, target);
}

void ThirdPartyHeapBarrierSetAssembler::oop_store_at(MacroAssembler* masm, DecoratorSet decorators, BasicType type,
                                                     Address dst, Register val, Register tmp1, Register tmp2) {
  const bool in_heap = (decorators & IN_HEAP) != 0;
  if (in_heap && ThirdPartyHeapBarrierSet::has_snapshot_barrier()) {
    assert((decorators & IS_DEST_UNINITIALIZED) == 0, "there is an old value");
    Label done;
    jump_if_snapshot_inactive(masm, done);
    __ pusha();
    __ lea(c_rarg0, dst);
    __ movl(c_rarg1, 1);
    __ call_VM_leaf(CAST_FROM_FN_PTR(address, ThirdPartyHeapBarrierSetRuntime::snapshot_slots), 2);
    __ popa();
    __ bind(done);
  }
  BarrierSetAssembler::store_at(masm, decorators, type, dst, val, tmp1, tmp2);
  const bool stores_null = val == noreg;
  if (!ThirdPartyHeapBarrierSet::has_object_barrier() || stores_null || !in_heap) {
    return;
  }
  // The address is that of a field or an element: its base is the object.
  const Register object = dst.base();
  Label done;
  test_unlogged(masm, object, object != tmp2 ? tmp2 : tmp1);
  __ jcc(Assembler::zero, done);
  __ pusha();
  __ call_VM_leaf(CAST_FROM_FN_PTR(address, ThirdPartyHeapBarrierSetRuntime::remember_object), object, r15_thread);
  __ popa();
  __ bind(done);
}

// The weak loads of assembly code are Reference.get() of the interpreter, and JNI handles that native methods return.
void ThirdPartyHeapBarrierSetAssembler::load_at(MacroAssembler* masm, DecoratorSet decorators, BasicType type,
                                                Register dst, Address src, Register tmp1, Register tmp_thread) {
  ModRefBarrierSetAssembler::load_at(masm, decorators, type, dst, src, tmp1, tmp_thread);
  const bool is_weak = (decorators & (ON_WEAK_OOP_REF | ON_PHANTOM_OOP_REF)) != 0;
  const bool keeps_alive = is_weak && (decorators & AS_NO_KEEPALIVE) == 0;
  if (!ThirdPartyHeapBarrierSet::has_snapshot_barrier() || !is_reference_type(type) || !keeps_alive) {
    return;
  }
  Label done;
  jump_if_snapshot_inactive(masm, done);
  __ pusha();
  __ movptr(c_rarg0, dst);
  __ movptr(c_rarg1, r15_thread);
  // Not the interpreter's own way to call: there may be no frame yet, which that checks.
  __ MacroAssembler::call_VM_leaf_base(CAST_FROM_FN_PTR(address, ThirdPartyHeapBarrierSetRuntime::snapshot_object), 2);
  __ popa();
  __ bind(done);
}

void ThirdPartyHeapBarrierSetAssembler::arraycopy_prologue(MacroAssembler* masm, DecoratorSet decorators, BasicType type,
                                                           Register src, Register dst, Register count) {
  if (ThirdPartyHeapBarrierSet::has_barrier()) {
    ModRefBarrierSetAssembler::arraycopy_prologue(masm, decorators, type, src, dst, count);
  }
}

void ThirdPartyHeapBarrierSetAssembler::arraycopy_epilogue(MacroAssembler* masm, DecoratorSet decorators, BasicType type,
                                                           Register src, Register dst, Register count) {
  if (ThirdPartyHeapBarrierSet::has_object_barrier()) {
    ModRefBarrierSetAssembler::arraycopy_epilogue(masm, decorators, type, src, dst, count);
  }
}

void ThirdPartyHeapBarrierSetAssembler::gen_write_ref_array_pre_barrier(MacroAssembler* masm, DecoratorSet decorators,
                                                                        Register addr, Register count) {
  if (!ThirdPartyHeapBarrierSet::has_snapshot_barrier() || (decorators & IS_DEST_UNINITIALIZED) != 0) {
    return;
  }
  assert_different_registers(c_rarg0, count);
  Label done;
  jump_if_snapshot_inactive(masm, done);
  __ pusha();
  __ mov(c_rarg0, addr);
  __ mov(c_rarg1, count);
  __ call_VM_leaf(CAST_FROM_FN_PTR(address, ThirdPartyHeapBarrierSetRuntime::snapshot_slots), 2);
  __ popa();
  __ bind(done);
}

// The stubs are called by compiled code with addresses of elements: which array it is they do not know. An array
// that is not initialized yet is fresh: if a collection made it old, all of it has been remembered since.
void ThirdPartyHeapBarrierSetAssembler::gen_write_ref_array_post_barrier(MacroAssembler* masm, DecoratorSet decorators,
                                                                         Register addr, Register count, Register tmp) {
  if ((decorators & IS_DEST_UNINITIALIZED) != 0) {
    return;
  }
  assert_different_registers(c_rarg0, count);
  __ pusha();
  __ mov(c_rarg0, addr);
  __ mov(c_rarg1, count);
  __ call_VM_leaf(CAST_FROM_FN_PTR(address, ThirdPartyHeapBarrierSetRuntime::remember_slots), 2);
  __ popa();
}

#ifdef COMPILER1

#undef __
#define __ ce->masm()->

void ThirdPartyHeapBarrierSetAssembler::generate_c1_remember_stub(LIR_Assembler* ce, ThirdPartyHeapRememberStub* stub) {
  const ThirdPartyHeapBarrierSetC1* const c1 = (ThirdPartyHeapBarrierSetC1*)BarrierSet::barrier_set()->barrier_set_c1();
  __ bind(*stub->entry());
  ce->store_parameter(stub->object()->as_register(), 0);
  __ call(RuntimeAddress(c1->remember_runtime_code_blob()->code_begin()));
  __ jmp(*stub->continuation());
}

#undef __
#define __ sasm->

void ThirdPartyHeapBarrierSetAssembler::generate_c1_remember_runtime_stub(StubAssembler* sasm) {
  __ prologue("third_party_heap_remember", false);
  __ save_live_registers_no_oop_map(true);
  __ load_parameter(0, c_rarg0);
  __ call_VM_leaf(CAST_FROM_FN_PTR(address, ThirdPartyHeapBarrierSetRuntime::remember_object), c_rarg0, r15_thread);
  __ restore_live_registers(true);
  __ epilogue();
}

#undef __
#define __ ce->masm()->

void ThirdPartyHeapBarrierSetAssembler::generate_c1_snapshot_stub(LIR_Assembler* ce, ThirdPartyHeapSnapshotStub* stub) {
  const ThirdPartyHeapBarrierSetC1* const c1 = (ThirdPartyHeapBarrierSetC1*)BarrierSet::barrier_set()->barrier_set_c1();
  const Register value = stub->value()->as_register();
  __ bind(*stub->entry());
  if (stub->loads_value()) {
    ce->mem2reg(stub->address(), stub->value(), T_OBJECT, stub->patch_code(), stub->info(), false /* wide */,
                false /* unaligned */);
  }
  __ testptr(value, value);
  __ jcc(Assembler::zero, *stub->continuation());
  ce->store_parameter(value, 0);
  __ call(RuntimeAddress(c1->snapshot_runtime_code_blob()->code_begin()));
  __ jmp(*stub->continuation());
}

#undef __
#define __ sasm->

void ThirdPartyHeapBarrierSetAssembler::generate_c1_snapshot_runtime_stub(StubAssembler* sasm) {
  __ prologue("third_party_heap_snapshot", false);
  __ save_live_registers_no_oop_map(true);
  __ load_parameter(0, c_rarg0);
  __ call_VM_leaf(CAST_FROM_FN_PTR(address, ThirdPartyHeapBarrierSetRuntime::snapshot_object), c_rarg0, r15_thread);
  __ restore_live_registers(true);
  __ epilogue();
}

#endif // COMPILER1

#ifdef COMPILER2

#undef __
#define __ masm->

void ThirdPartyHeapBarrierSetAssembler::generate_c2_remember_stub(MacroAssembler* masm, ThirdPartyHeapRememberStubC2* stub,
                                                                  address remember_code) {
  const Register object = stub->object();
  const Register bits = stub->bits();
  __ bind(*stub->entry());
  // Words have eight bits in a row: four times in 32.
  __ imull(bits, bits, 0x01010101);
  __ shrptr(object, ThirdPartyHeapSideBits::BitShift);
  shift_right(masm, bits, object);
  __ shlptr(object, ThirdPartyHeapSideBits::BitShift);
  __ testl(bits, 1);
  __ jcc(Assembler::zero, *stub->continuation());
  // The bit stays set until the plugin empties the buffer: to clear it here, atomically, would wait for the stores that come before.
  const int remembered = in_bytes(ThirdPartyHeapThreadLocalData::remembered_offset());
  const Address unused_bytes(r15_thread, remembered + offset_of(ThirdPartyHeapRemembered, unused_bytes));
  const Register place = bits;
  Label is_full;
  __ movl(place, unused_bytes);
  __ subl(place, wordSize);
  __ jccb(Assembler::negative, is_full);
  __ movl(unused_bytes, place);
  __ movptr(Address(r15_thread, place, Address::times_1, remembered + offset_of(ThirdPartyHeapRemembered, objects)), object);
  __ jmp(*stub->continuation());
  __ bind(is_full);
  __ push(object);
  __ call(RuntimeAddress(remember_code)); // takes the object off the stack
  __ jmp(*stub->continuation());
}

// The vector registers and those of masks, saved from rsp on; of a method without vectors, what it may have in them.
class ThirdPartyHeapVectorRegisters {
private:
  static const int MasksCount = 8;

  MacroAssembler* const         _masm;
  const ThirdPartyHeapVectorUse _use;

  int count() const { return _use == NoVectorRegisters ? 0 : UseAVX > 2 ? 32 : 16; }
  int masks() const { return _use == Vectors && UseAVX > 2 ? MasksCount : 0; }
  int bytes() const {
    const bool is_narrow = _use == Scalars && (UseAVX <= 2 || VM_Version::supports_avx512vl());
    return is_narrow || UseAVX == 0 ? 16 : UseAVX > 2 ? 64 : 32;
  }
  Address place(int number) const      { return Address(rsp, number * bytes()); }
  Address mask_place(int number) const { return Address(rsp, count() * bytes() + number * BytesPerWord); }

  void save(int number) const {
    const XMMRegister xmm = as_XMMRegister(number);
    if (UseAVX > 2) {
      _masm->evmovdqul(place(number), xmm, bytes() == 16 ? Assembler::AVX_128bit : Assembler::AVX_512bit);
    } else if (bytes() == 16) {
      _masm->movdqu(place(number), xmm);
    } else {
      _masm->vmovdqu(place(number), xmm);
    }
  }

  void restore(int number) const {
    const XMMRegister xmm = as_XMMRegister(number);
    if (UseAVX > 2) {
      _masm->evmovdqul(xmm, place(number), bytes() == 16 ? Assembler::AVX_128bit : Assembler::AVX_512bit);
    } else if (bytes() == 16) {
      _masm->movdqu(xmm, place(number));
    } else {
      _masm->vmovdqu(xmm, place(number));
    }
  }

public:
  ThirdPartyHeapVectorRegisters(MacroAssembler* masm, ThirdPartyHeapVectorUse use) : _masm(masm), _use(use) {}

  int size() const { return count() * bytes() + masks() * BytesPerWord; }

  void save() const {
    for (int i = 0; i < count(); i++) {
      save(i);
    }
    for (int i = 0; i < masks(); i++) {
      _masm->kmov(mask_place(i), as_KRegister(i));
    }
    if (_use == Vectors) {
      _masm->vzeroupper();
    }
  }

  void restore() const {
    for (int i = 0; i < count(); i++) {
      restore(i);
    }
    for (int i = 0; i < masks(); i++) {
      _masm->kmov(as_KRegister(i), mask_place(i));
    }
  }
};

address ThirdPartyHeapBarrierSetAssembler::generate_c2_remember_code(ThirdPartyHeapVectorUse use) {
  // Those that the runtime does not preserve, and one that it does.
  const Register saved_rsp = rbx;
  const Register saved[] = { rax, rcx, rdx, rsi, rdi, r8, r9, r10, r11, saved_rsp };
  BufferBlob* const blob = BufferBlob::create("ThirdPartyHeap remember", 2 * K);
  CodeBuffer buffer(blob);
  MacroAssembler assembler(&buffer);
  MacroAssembler* const masm = &assembler;
  const ThirdPartyHeapVectorRegisters vectors(masm, use);
  const address entry = __ pc();
  for (Register reg : saved) {
    __ push(reg);
  }
  __ movptr(c_rarg0, Address(rsp, (ARRAY_SIZE(saved) + 1 /* return address */) * wordSize));
  __ movptr(c_rarg1, r15_thread);
  __ movptr(saved_rsp, rsp);
  __ subptr(rsp, vectors.size());
  __ andptr(rsp, -64);
  vectors.save();
  __ call(RuntimeAddress(CAST_FROM_FN_PTR(address, ThirdPartyHeapBarrierSetRuntime::remember_object)));
  vectors.restore();
  __ movptr(rsp, saved_rsp);
  for (int i = ARRAY_SIZE(saved) - 1; i >= 0; i--) {
    __ pop(saved[i]);
  }
  __ ret(wordSize);
  masm->flush();
  return entry;
}

#endif // COMPILER2
