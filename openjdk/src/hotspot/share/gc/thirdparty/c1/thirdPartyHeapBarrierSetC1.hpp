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

// The barriers of C1. Allocation is the assembler's (eden_allocate).
class ThirdPartyHeapBarrierSetC1 : public BarrierSetC1 {
private:
  CodeBlob* _remember_runtime_code_blob;

  static void post_barrier(LIRAccess& access);

protected:
  virtual void store_at_resolved(LIRAccess& access, LIR_Opr value);
  virtual LIR_Opr atomic_cmpxchg_at_resolved(LIRAccess& access, LIRItem& cmp_value, LIRItem& new_value);
  virtual LIR_Opr atomic_xchg_at_resolved(LIRAccess& access, LIRItem& value);

public:
  ThirdPartyHeapBarrierSetC1() : _remember_runtime_code_blob(NULL) {}

  virtual void generate_c1_runtime_stubs(BufferBlob* buffer_blob);
  CodeBlob* remember_runtime_code_blob() const { return _remember_runtime_code_blob; }
};

#endif // SHARE_GC_THIRDPARTY_C1_THIRDPARTYHEAPBARRIERSETC1_HPP
