/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "c1/c1_LIRAssembler.hpp"
#include "c1/c1_LIRGenerator.hpp"
#include "c1/c1_MacroAssembler.hpp"
#include "c1/c1_Runtime1.hpp"
#include "gc/shared/barrierSet.hpp"
#include "gc/thirdparty/c1/thirdPartyHeapBarrierSetC1.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSet.hpp"
#include "gc/thirdparty/thirdPartyHeapThreadLocalData.hpp"
#include "utilities/macros.hpp"
#include CPU_HEADER(gc/thirdparty/thirdPartyHeapBarrierSetAssembler)

static ThirdPartyHeapBarrierSetAssembler* assembler() {
  return (ThirdPartyHeapBarrierSetAssembler*)BarrierSet::barrier_set()->barrier_set_assembler();
}

void ThirdPartyHeapRememberStub::emit_code(LIR_Assembler* ce) {
  assembler()->generate_c1_remember_stub(ce, this);
}

void ThirdPartyHeapRememberStub::visit(LIR_OpVisitState* visitor) {
  visitor->do_slow_case();
  visitor->do_input(_object);
}

void ThirdPartyHeapSnapshotStub::emit_code(LIR_Assembler* ce) {
  assembler()->generate_c1_snapshot_stub(ce, this);
}

void ThirdPartyHeapSnapshotStub::visit(LIR_OpVisitState* visitor) {
  if (_info != NULL) {
    visitor->do_slow_case(_info);
  } else {
    visitor->do_slow_case();
  }
  if (loads_value()) {
    visitor->do_input(_address);
    visitor->do_temp(_value);
  } else {
    visitor->do_input(_value);
  }
}

// Compares as not equal if the object is unlogged.
class LIR_OpThirdPartyHeapUnloggedTest : public LIR_Op {
private:
  LIR_Opr _object;
  LIR_Opr _tmp;

public:
  LIR_OpThirdPartyHeapUnloggedTest(LIR_Opr object, LIR_Opr tmp) : LIR_Op(), _object(object), _tmp(tmp) {}

  virtual void visit(LIR_OpVisitState* state) {
    state->do_input(_object);
    state->do_temp(_object);
    state->do_temp(_tmp);
  }

  virtual void emit_code(LIR_Assembler* ce) {
    assembler()->test_unlogged(ce->masm(), _object->as_register(), _tmp->as_pointer_register());
  }

  virtual void print_instr(outputStream* out) const {
    _object->print(out);
    out->print(" ");
  }

#ifndef PRODUCT
  virtual const char* name() const { return "lir_third_party_heap_unlogged_test"; }
#endif
};

#ifdef ASSERT
#define __ access.gen()->lir(__FILE__, __LINE__)->
#else
#define __ access.gen()->lir()->
#endif

void ThirdPartyHeapBarrierSetC1::post_barrier(LIRAccess& access) {
  if (!ThirdPartyHeapBarrierSet::has_object_barrier() || !access.is_oop() || (access.decorators() & IN_HEAP) == 0) {
    return;
  }
  LIR_Opr object = access.base().opr();
  if (!object->is_register()) {
    const LIR_Opr loaded = access.gen()->new_register(T_OBJECT);
    __ move(object, loaded);
    object = loaded;
  }
  __ append(new LIR_OpThirdPartyHeapUnloggedTest(object, access.gen()->new_pointer_register()));
  CodeStub* const stub = new ThirdPartyHeapRememberStub(object);
  __ branch(lir_cond_notEqual, stub);
  __ branch_destination(stub->continuation());
}

#undef __

#ifdef ASSERT
#define __ gen->lir(__FILE__, __LINE__)->
#else
#define __ gen->lir()->
#endif

void ThirdPartyHeapBarrierSetC1::branch_if_snapshot_active(LIRGenerator* gen, CodeStub* stub) {
  const int offset = in_bytes(ThirdPartyHeapThreadLocalData::snapshot_active_offset());
  const LIR_Opr active = gen->new_register(T_INT);
  __ load(new LIR_Address(gen->getThreadPointer(), offset, T_BOOLEAN), active);
  __ cmp(lir_cond_notEqual, active, LIR_OprFact::intConst(0));
  __ branch(lir_cond_notEqual, stub);
  __ branch_destination(stub->continuation());
}

// Before a store: the field's value is loaded in the stub, so that code without marking does not load it.
void ThirdPartyHeapBarrierSetC1::snapshot_field(LIRAccess& access, CodeEmitInfo* info) {
  const bool uninitialized = (access.decorators() & IS_DEST_UNINITIALIZED) != 0;
  if (!ThirdPartyHeapBarrierSet::has_snapshot_barrier() || !access.is_oop() || uninitialized) {
    return;
  }
  LIRGenerator* const gen = access.gen();
  LIR_Opr address = access.resolved_addr();
  if (!address->is_address()) {
    address = LIR_OprFact::address(new LIR_Address(address, T_OBJECT));
  }
  const bool patch = (access.decorators() & C1_NEEDS_PATCHING) != 0;
  const LIR_Opr value = gen->new_register(T_OBJECT);
  branch_if_snapshot_active(gen, new ThirdPartyHeapSnapshotStub(address, value, patch ? lir_patch_normal : lir_patch_none, info));
}

// Behind a load.
void ThirdPartyHeapBarrierSetC1::snapshot_value(LIRAccess& access, LIR_Opr value) {
  branch_if_snapshot_active(access.gen(), new ThirdPartyHeapSnapshotStub(value));
}

#undef __

#ifdef ASSERT
#define __ access.gen()->lir(__FILE__, __LINE__)->
#else
#define __ access.gen()->lir()->
#endif

void ThirdPartyHeapBarrierSetC1::load_at_resolved(LIRAccess& access, LIR_Opr result) {
  BarrierSetC1::load_at_resolved(access, result);
  const DecoratorSet decorators = access.decorators();
  const bool keeps_alive = (decorators & AS_NO_KEEPALIVE) == 0;
  if (!ThirdPartyHeapBarrierSet::has_snapshot_barrier() || !access.is_oop() || !keeps_alive) {
    return;
  }
  if ((decorators & (ON_WEAK_OOP_REF | ON_PHANTOM_OOP_REF)) != 0) {
    snapshot_value(access, result);
  } else if ((decorators & ON_UNKNOWN_OOP_REF) != 0) {
    LabelObj* const not_weak = new LabelObj();
    generate_referent_check(access, not_weak);
    snapshot_value(access, result);
    __ branch_destination(not_weak->label());
  }
}

#undef __

void ThirdPartyHeapBarrierSetC1::store_at_resolved(LIRAccess& access, LIR_Opr value) {
  snapshot_field(access, access.patch_emit_info());
  BarrierSetC1::store_at_resolved(access, value);
  post_barrier(access);
}

LIR_Opr ThirdPartyHeapBarrierSetC1::atomic_cmpxchg_at_resolved(LIRAccess& access, LIRItem& cmp_value, LIRItem& new_value) {
  snapshot_field(access, NULL);
  const LIR_Opr result = BarrierSetC1::atomic_cmpxchg_at_resolved(access, cmp_value, new_value);
  post_barrier(access);
  return result;
}

LIR_Opr ThirdPartyHeapBarrierSetC1::atomic_xchg_at_resolved(LIRAccess& access, LIRItem& value) {
  snapshot_field(access, NULL);
  const LIR_Opr result = BarrierSetC1::atomic_xchg_at_resolved(access, value);
  post_barrier(access);
  return result;
}

class ThirdPartyHeapRememberStubClosure : public StubAssemblerCodeGenClosure {
public:
  virtual OopMapSet* generate_code(StubAssembler* sasm) {
    assembler()->generate_c1_remember_runtime_stub(sasm);
    return NULL;
  }
};

class ThirdPartyHeapSnapshotStubClosure : public StubAssemblerCodeGenClosure {
public:
  virtual OopMapSet* generate_code(StubAssembler* sasm) {
    assembler()->generate_c1_snapshot_runtime_stub(sasm);
    return NULL;
  }
};

void ThirdPartyHeapBarrierSetC1::generate_c1_runtime_stubs(BufferBlob* buffer_blob) {
  if (ThirdPartyHeapBarrierSet::has_object_barrier()) {
    ThirdPartyHeapRememberStubClosure closure;
    _remember_runtime_code_blob = Runtime1::generate_blob(buffer_blob, -1, "third_party_heap_remember", false, &closure);
  }
  if (ThirdPartyHeapBarrierSet::has_snapshot_barrier()) {
    ThirdPartyHeapSnapshotStubClosure closure;
    _snapshot_runtime_code_blob = Runtime1::generate_blob(buffer_blob, -1, "third_party_heap_snapshot", false, &closure);
  }
}
