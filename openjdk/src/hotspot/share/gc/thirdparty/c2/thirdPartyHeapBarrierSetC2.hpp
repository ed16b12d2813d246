/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_C2_THIRDPARTYHEAPBARRIERSETC2_HPP
#define SHARE_GC_THIRDPARTY_C2_THIRDPARTYHEAPBARRIERSETC2_HPP

#include "asm/assembler.hpp"
#include "asm/register.hpp"
#include "gc/shared/c2/modRefBarrierSetC2.hpp"

class TypeFunc;

// What a method has in the vector registers.
enum ThirdPartyHeapVectorUse : int { NoVectorRegisters, Scalars, Vectors, VectorUses };

// What the object remembering barrier jumps to, behind the method's code.
class ThirdPartyHeapRememberStubC2 : public ResourceObj {
private:
  const Register _object;
  const Register _bits;
  Label          _entry;
  Label          _continuation;

  ThirdPartyHeapRememberStubC2(Register object, Register bits) : _object(object), _bits(bits) {}

public:
  // The unlogged bits are those of the object and its neighbours. They are not used behind the barrier.
  static ThirdPartyHeapRememberStubC2* create(Register object, Register bits);

  Register object() const { return _object; }
  Register bits() const   { return _bits; }
  Label* entry();
  Label* continuation()   { return &_continuation; }
};

// Allocation by C2: a cell that the thread has, or memory of its buffer, if the plugin gives threads one or the other.
// And the plan's barrier, if it has one. Behind a store, to remember objects:
//
//   bits = unlogged_bits[object >> 6]
//   if (bits != 0) goto stub
//
// The stub looks at the object's own bit, and calls code that all methods share, which saves registers for the
// runtime. So the barrier is one node without a branch, which costs the compiler little time: a StoreCM, the node of
// a card table's barrier, that "stores" the object's address. See cpu/x86/gc/thirdparty/thirdPartyHeap_x86_64.ad.
//
// There is none behind the stores into an object that has just been allocated, see
// ThirdPartyHeapBarrierSet::on_slowpath_allocation_exit. Before a store, and likewise
// behind a load from a weak place, for a snapshot:
//
//   if (thread->snapshot_active != 0) {
//     old = *field
//     if (old != NULL) snapshot(old)
//   }
//
// The load of the old value takes the memory of the field as it is before the store,
// which keeps the store behind it. There is none before the first store into a field of
// an object that the method has allocated: it overwrites null.
class ThirdPartyHeapBarrierSetC2 : public ModRefBarrierSetC2 {
private:
  // A way to a cell or memory of a buffer: its address, and the control and memory behind it.
  struct Cell {
    Node* ctrl;
    Node* mem;
    Node* address;
  };

  // Where a bin's head is: that many bytes behind base.
  struct HeadPlace {
    Node* base;
    int offset;
  };

  static HeadPlace head_place(PhaseMacroExpand* macro, Node* offset);
  static Node* head_offset(PhaseMacroExpand* macro, Node* ctrl, Node* mem, Node* size_in_bytes);
  static Node* split(PhaseMacroExpand* macro, Node*& ctrl, Node* cmp, int test, float probability);
  static Cell bump(PhaseMacroExpand* macro, Node* ctrl, Node* mem, HeadPlace head, Node* cell_bytes, Node*& no_region_ctrl,
                   Node*& i_o, intx prefetch_lines);
  static Cell pop(PhaseMacroExpand* macro, Node* ctrl, Node* mem, HeadPlace head, Node*& no_cell_ctrl);
  static Node* set_valid_object_bit(PhaseMacroExpand* macro, Node* ctrl, Node* mem, Node* object);
  static Cell bump_buffer(PhaseMacroExpand* macro, Node* ctrl, Node* mem, Node* size_in_bytes, Node*& no_memory_ctrl, Node*& i_o,
                          intx prefetch_lines);
  static const TypeFunc* slow_path_type();
  static bool overwrites_initial_null(GraphKit* kit, Node* adr, uint adr_idx);
  static void snapshot_if_referent(GraphKit* kit, Node* base, Node* offset, Node* value, bool need_mem_bar);
  static void snapshot_value(GraphKit* kit, Node* value);
  static bool is_snapshot_call(const Node* node);
  static void eliminate_object_barrier(PhaseMacroExpand* macro, Node* node);

  // What the stubs call, by what the method has in the vector registers; NULL without the object remembering barrier.
  address _remember_code[VectorUses];

protected:
  virtual void pre_barrier(GraphKit* kit, bool do_load, Node* ctl, Node* obj, Node* adr, uint adr_idx, Node* val,
                           const TypeOopPtr* val_type, Node* pre_val, BasicType bt) const;
  virtual void post_barrier(GraphKit* kit, Node* ctl, Node* store, Node* obj, Node* adr, uint adr_idx, Node* val,
                            BasicType bt, bool use_precise) const;

  virtual Node* load_at_resolved(C2Access& access, const Type* val_type) const;
  virtual Node* store_at_resolved(C2Access& access, C2AccessValue& val) const;
  virtual Node* atomic_cmpxchg_val_at_resolved(C2AtomicParseAccess& access, Node* expected_val, Node* new_val,
                                               const Type* value_type) const;
  virtual Node* atomic_cmpxchg_bool_at_resolved(C2AtomicParseAccess& access, Node* expected_val, Node* new_val,
                                                const Type* value_type) const;
  virtual Node* atomic_xchg_at_resolved(C2AtomicParseAccess& access, Node* new_val, const Type* value_type) const;

public:
  ThirdPartyHeapBarrierSetC2();

  virtual void* create_barrier_state(Arena* comp_arena) const;
  virtual void emit_stubs(CodeBuffer& cb) const;

  virtual bool array_copy_requires_gc_barriers(bool tightly_coupled_alloc, BasicType type, bool is_clone,
                                               bool is_clone_instance, ArrayCopyPhase phase) const;
  virtual void before_array_copy(PhaseMacroExpand* macro, Node* ctrl, MergeMemNode* mem, Node* dest) const;
  virtual bool is_gc_barrier_node(Node* node) const;
  virtual bool is_gc_pre_barrier_node(Node* node) const;
  virtual void eliminate_gc_barrier(PhaseMacroExpand* macro, Node* node) const;

  virtual Node* obj_allocate(PhaseMacroExpand* macro, Node* mem, Node* toobig_false, Node* size_in_bytes,
                             Node*& i_o, Node*& needgc_ctrl, Node*& fast_oop_ctrl, Node*& fast_oop_rawmem,
                             intx prefetch_lines) const;
};

#endif // SHARE_GC_THIRDPARTY_C2_THIRDPARTYHEAPBARRIERSETC2_HPP
