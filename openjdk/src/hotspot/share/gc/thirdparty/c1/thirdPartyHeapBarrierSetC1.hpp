/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_C1_THIRDPARTYHEAPBARRIERSETC1_HPP
#define SHARE_GC_THIRDPARTY_C1_THIRDPARTYHEAPBARRIERSETC1_HPP

#include "c1/c1_CodeStubs.hpp"
#include "gc/shared/c1/barrierSetC1.hpp"

// The call behind the inline part of the object remembering barrier.
class ThirdPartyHeapRememberStub : public CodeStub {
private:
  LIR_Opr _object;

public:
  explicit ThirdPartyHeapRememberStub(LIR_Opr object) : _object(object) {}

  LIR_Opr object() const { return _object; }

  virtual void emit_code(LIR_Assembler* ce);
  virtual void visit(LIR_OpVisitState* visitor);
#ifndef PRODUCT
  virtual void print_name(outputStream* out) const { out->print("ThirdPartyHeapRememberStub"); }
#endif
};

// The call behind the inline part of the snapshot barrier.
class ThirdPartyHeapSnapshotStub : public CodeStub {
private:
  LIR_Opr       _address;    // of the field, if its value is loaded here
  LIR_Opr       _value;
  LIR_PatchCode _patch_code;
  CodeEmitInfo* _info;

public:
  // Loads the field's value into a register of its own.
  ThirdPartyHeapSnapshotStub(LIR_Opr address, LIR_Opr value, LIR_PatchCode patch_code, CodeEmitInfo* info) :
      _address(address), _value(value), _patch_code(patch_code), _info(info) {}
  // The value has been loaded.
  explicit ThirdPartyHeapSnapshotStub(LIR_Opr value) :
      _address(LIR_OprFact::illegalOpr), _value(value), _patch_code(lir_patch_none), _info(NULL) {}

  bool loads_value() const         { return _address != LIR_OprFact::illegalOpr; }
  LIR_Opr address() const          { return _address; }
  LIR_Opr value() const            { return _value; }
  LIR_PatchCode patch_code() const { return _patch_code; }
  CodeEmitInfo* info() const       { return _info; }

  virtual void emit_code(LIR_Assembler* ce);
  virtual void visit(LIR_OpVisitState* visitor);
#ifndef PRODUCT
  virtual void print_name(outputStream* out) const { out->print("ThirdPartyHeapSnapshotStub"); }
#endif
};

// The barriers of C1. Allocation is the assembler's (eden_allocate).
class ThirdPartyHeapBarrierSetC1 : public BarrierSetC1 {
private:
  CodeBlob* _remember_runtime_code_blob;
  CodeBlob* _snapshot_runtime_code_blob;

  static void post_barrier(LIRAccess& access);
  static void snapshot_field(LIRAccess& access, CodeEmitInfo* info);
  static void snapshot_value(LIRAccess& access, LIR_Opr value);
  static void branch_if_snapshot_active(LIRGenerator* gen, CodeStub* stub);

protected:
  virtual void load_at_resolved(LIRAccess& access, LIR_Opr result);
  virtual void store_at_resolved(LIRAccess& access, LIR_Opr value);
  virtual LIR_Opr atomic_cmpxchg_at_resolved(LIRAccess& access, LIRItem& cmp_value, LIRItem& new_value);
  virtual LIR_Opr atomic_xchg_at_resolved(LIRAccess& access, LIRItem& value);

public:
  ThirdPartyHeapBarrierSetC1() : _remember_runtime_code_blob(NULL), _snapshot_runtime_code_blob(NULL) {}

  virtual void generate_c1_runtime_stubs(BufferBlob* buffer_blob);
  CodeBlob* remember_runtime_code_blob() const { return _remember_runtime_code_blob; }
  CodeBlob* snapshot_runtime_code_blob() const { return _snapshot_runtime_code_blob; }
};

#endif // SHARE_GC_THIRDPARTY_C1_THIRDPARTYHEAPBARRIERSETC1_HPP
