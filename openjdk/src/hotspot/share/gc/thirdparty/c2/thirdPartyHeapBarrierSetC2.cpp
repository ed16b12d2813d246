/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/thirdparty/c2/thirdPartyHeapBarrierSetC2.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSet.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSetRuntime.hpp"
#include "gc/thirdparty/thirdPartyHeapBins.hpp"
#include "gc/thirdparty/thirdPartyHeapThreadLocalData.hpp"
#include "opto/addnode.hpp"
#include "opto/callnode.hpp"
#include "opto/cfgnode.hpp"
#include "opto/connode.hpp"
#include "opto/convertnode.hpp"
#include "opto/graphKit.hpp"
#include "opto/idealKit.hpp"
#include "opto/macro.hpp"
#include "opto/memnode.hpp"
#include "opto/mulnode.hpp"
#include "opto/rootnode.hpp"
#include "opto/subnode.hpp"
#include "opto/type.hpp"

// Branches on a comparison: returns the control of the case in which the test holds; ctrl becomes that of the other.
Node* ThirdPartyHeapBarrierSetC2::split(PhaseMacroExpand* macro, Node*& ctrl, Node* cmp, int test, float probability) {
  macro->transform_later(cmp);
  Node* const condition = macro->transform_later(new BoolNode(cmp, (BoolTest::mask)test));
  IfNode* const branch = new IfNode(ctrl, condition, probability, COUNT_UNKNOWN);
  macro->transform_later(branch);
  ctrl = macro->transform_later(new IfFalseNode(branch));
  return macro->transform_later(new IfTrueNode(branch));
}

// Where the thread has the head of a bin, by the offset of that among the heads.
Node* ThirdPartyHeapBarrierSetC2::head_address(PhaseMacroExpand* macro, Node* offset) {
  Node* const thread = macro->transform_later(new ThreadLocalNode());
  const int heads = in_bytes(ThirdPartyHeapThreadLocalData::heads_offset());
  Node* const first = macro->basic_plus_adr(macro->top(), thread, heads);
  return macro->basic_plus_adr(macro->top(), first, offset);
}

// That offset for an object whose size the compiler does not know, and which is not too large for a cell.
Node* ThirdPartyHeapBarrierSetC2::head_offset(PhaseMacroExpand* macro, Node* ctrl, Node* mem, Node* size_in_bytes) {
  Node* const rounded = macro->transform_later(new AddLNode(size_in_bytes, macro->longcon(BytesPerWord - 1)));
  Node* const words = macro->transform_later(new URShiftLNode(rounded, macro->intcon(LogBytesPerWord)));
  Node* const table = macro->makecon(TypeRawPtr::make(ThirdPartyHeapBins::table()));
  Node* const entry = macro->basic_plus_adr(macro->top(), table, words);
  Node* const bin = macro->make_load(ctrl, mem, entry, 0, TypeInt::UBYTE, T_BOOLEAN);
  Node* const index = macro->transform_later(new ConvI2LNode(bin));
  return macro->transform_later(new LShiftLNode(index, macro->intcon(exact_log2(sizeof(ThirdPartyHeapHead)))));
}

// Takes the next cell of the bump region. cell_bytes is NULL if the compiler does not know the bin.
ThirdPartyHeapBarrierSetC2::Cell ThirdPartyHeapBarrierSetC2::bump(PhaseMacroExpand* macro, Node* ctrl, Node* mem, Node* head,
                                                                  Node* cell_bytes, Node*& no_region_ctrl, Node*& i_o,
                                                                  intx prefetch_lines) {
  const int cursor_offset = offset_of(ThirdPartyHeapHead, cursor);
  Node* const cursor = macro->make_load(ctrl, mem, head, cursor_offset, TypeRawPtr::BOTTOM, T_ADDRESS);
  Node* const end = macro->make_load(ctrl, mem, head, offset_of(ThirdPartyHeapHead, end), TypeRawPtr::BOTTOM, T_ADDRESS);
  no_region_ctrl = split(macro, ctrl, new CmpPNode(cursor, end), BoolTest::eq, PROB_UNLIKELY_MAG(2));
  if (cell_bytes == NULL) {
    cell_bytes = macro->make_load(ctrl, mem, head, offset_of(ThirdPartyHeapHead, cell_bytes), TypeLong::LONG, T_LONG);
  }
  Node* const next = macro->basic_plus_adr(macro->top(), cursor, cell_bytes);
  i_o = macro->prefetch_allocation(i_o, ctrl, mem, cursor, next, prefetch_lines);
  Node* const stored = macro->make_store(ctrl, mem, head, cursor_offset, next, T_ADDRESS);
  return { ctrl, stored, cursor };
}

// Takes the first cell of the free list.
ThirdPartyHeapBarrierSetC2::Cell ThirdPartyHeapBarrierSetC2::pop(PhaseMacroExpand* macro, Node* ctrl, Node* mem, Node* head,
                                                                 Node*& no_cell_ctrl) {
  const int free_offset = offset_of(ThirdPartyHeapHead, free);
  Node* const cell = macro->make_load(ctrl, mem, head, free_offset, TypeRawPtr::BOTTOM, T_ADDRESS);
  Node* const is_null = new CmpPNode(cell, macro->zerocon(T_ADDRESS));
  no_cell_ctrl = split(macro, ctrl, is_null, BoolTest::eq, PROB_UNLIKELY_MAG(2));
  Node* const next = macro->make_load(ctrl, mem, cell, 0, TypeRawPtr::BOTTOM, T_ADDRESS);
  Node* const stored = macro->make_store(ctrl, mem, head, free_offset, next, T_ADDRESS);
  return { ctrl, stored, cell };
}

static Node* merge(PhaseMacroExpand* macro, Node* region, const Type* type, const TypePtr* address_type, Node* first, Node* second) {
  Node* const phi = new PhiNode(region, type, address_type);
  phi->init_req(1, first);
  phi->init_req(2, second);
  return macro->transform_later(phi);
}

// The loads hang on their control, as those of a TLAB's bounds do in BarrierSetC2: a collection changes the
// heads, and no safepoint may come between.
Node* ThirdPartyHeapBarrierSetC2::obj_allocate(PhaseMacroExpand* macro, Node* mem, Node* toobig_false, Node* size_in_bytes,
                                               Node*& i_o, Node*& needgc_ctrl, Node*& fast_oop_ctrl, Node*& fast_oop_rawmem,
                                               intx prefetch_lines) const {
  if (!ThirdPartyHeapBins::exist()) {
    return BarrierSetC2::obj_allocate(macro, mem, toobig_false, size_in_bytes, i_o, needgc_ctrl, fast_oop_ctrl,
                                      fast_oop_rawmem, prefetch_lines);
  }
  Node* ctrl = toobig_false;
  Node* too_large = NULL;
  Node* offset;
  Node* cell_bytes = NULL;
  const jlong known_size = macro->igvn().find_long_con(size_in_bytes, -1);
  if (ThirdPartyHeapBins::has(known_size)) {
    const uint bin = ThirdPartyHeapBins::of(known_size);
    offset = macro->longcon(bin * sizeof(ThirdPartyHeapHead));
    cell_bytes = macro->longcon(ThirdPartyHeapBins::cell_bytes(bin));
  } else {
    Node* const max = macro->longcon(ThirdPartyHeapBins::max_bytes());
    too_large = split(macro, ctrl, new CmpULNode(size_in_bytes, max), BoolTest::gt, PROB_UNLIKELY_MAG(4));
    offset = head_offset(macro, ctrl, mem, size_in_bytes);
  }
  Node* const head = head_address(macro, offset);
  Node* no_region_ctrl;
  Node* bump_i_o = i_o;
  const Cell bumped = bump(macro, ctrl, mem, head, cell_bytes, no_region_ctrl, bump_i_o, prefetch_lines);
  const Cell popped = pop(macro, no_region_ctrl, mem, head, needgc_ctrl);
  if (too_large != NULL) {
    RegionNode* const slow = new RegionNode(3);
    slow->init_req(1, too_large);
    slow->init_req(2, needgc_ctrl);
    needgc_ctrl = macro->transform_later(slow);
  }
  RegionNode* const region = new RegionNode(3);
  region->init_req(1, bumped.ctrl);
  region->init_req(2, popped.ctrl);
  fast_oop_ctrl = macro->transform_later(region);
  fast_oop_rawmem = merge(macro, region, Type::MEMORY, TypeRawPtr::BOTTOM, bumped.mem, popped.mem);
  i_o = merge(macro, region, Type::ABIO, NULL, bump_i_o, i_o);
  return merge(macro, region, TypeRawPtr::BOTTOM, NULL, bumped.address, popped.address);
}

const TypeFunc* ThirdPartyHeapBarrierSetC2::remember_type() {
  const Type** arguments = TypeTuple::fields(3);
  arguments[TypeFunc::Parms + 0] = TypeX_X;        // the object: not as an oop, or it would escape
  arguments[TypeFunc::Parms + 1] = Type::HALF;
  arguments[TypeFunc::Parms + 2] = TypeRawPtr::NOTNULL; // the thread
  const TypeTuple* const domain = TypeTuple::make(TypeFunc::Parms + 3, arguments);
  const TypeTuple* const range = TypeTuple::make(TypeFunc::Parms, TypeTuple::fields(0));
  return TypeFunc::make(domain, range);
}

#define __ ideal.

void ThirdPartyHeapBarrierSetC2::post_barrier(GraphKit* kit, Node* ctl, Node* store, Node* obj, Node* adr, uint adr_idx,
                                              Node* val, BasicType bt, bool use_precise) const {
  if (!ThirdPartyHeapBarrierSet::has_object_barrier()) {
    return;
  }
  // Null is neither young nor old.
  if (val != NULL && val->is_Con()) {
    const Type* const type = val->bottom_type();
    if (type == TypePtr::NULL_PTR || type == Type::TOP) {
      return;
    }
  }
  if (obj == kit->just_allocated_object(kit->control())) {
    return;
  }

  IdealKit ideal(kit, true);
  const float unlikely = PROB_UNLIKELY(0.999);
  Node* const zero = __ ConI(0);
  Node* const object = __ CastPX(__ ctrl(), obj);
  Node* const bits = kit->makecon(TypeRawPtr::make(ThirdPartyHeapBarrierSet::unlogged_bits()));
  Node* const byte_offset = __ URShiftX(object, __ ConI(ThirdPartyHeapBarrierSet::ByteShift));
  Node* const byte_address = __ AddP(__ top(), bits, byte_offset);
  Node* const byte = __ load(__ ctrl(), byte_address, TypeInt::UBYTE, T_BOOLEAN, Compile::AliasIdxRaw);
  __ if_then(byte, BoolTest::ne, zero, unlikely); {
    Node* const index = __ URShiftX(object, __ ConI(ThirdPartyHeapBarrierSet::BitShift));
    Node* const bit = __ AndI(kit->gvn().transform(new ConvL2INode(index)), __ ConI(7));
    Node* const shifted = kit->gvn().transform(new URShiftINode(byte, bit));
    __ if_then(__ AndI(shifted, __ ConI(1)), BoolTest::ne, zero, unlikely); {
      const address slow_path = CAST_FROM_FN_PTR(address, ThirdPartyHeapBarrierSetRuntime::remember_object);
      __ make_leaf_call(remember_type(), slow_path, "remember_object", object, __ top(), __ thread());
    } __ end_if();
  } __ end_if();
  kit->final_sync(ideal);
}

#undef __

// Without a barrier, nodes are those of no barrier set: ModRefBarrierSetC2 branches on the success of an exchange, and does not
// know stores that an array copy or a clone is turned into.
Node* ThirdPartyHeapBarrierSetC2::store_at_resolved(C2Access& access, C2AccessValue& val) const {
  if (!ThirdPartyHeapBarrierSet::has_object_barrier()) {
    return BarrierSetC2::store_at_resolved(access, val);
  }
  return ModRefBarrierSetC2::store_at_resolved(access, val);
}

Node* ThirdPartyHeapBarrierSetC2::atomic_cmpxchg_val_at_resolved(C2AtomicParseAccess& access, Node* expected_val, Node* new_val,
                                                                 const Type* value_type) const {
  if (!ThirdPartyHeapBarrierSet::has_object_barrier()) {
    return BarrierSetC2::atomic_cmpxchg_val_at_resolved(access, expected_val, new_val, value_type);
  }
  return ModRefBarrierSetC2::atomic_cmpxchg_val_at_resolved(access, expected_val, new_val, value_type);
}

Node* ThirdPartyHeapBarrierSetC2::atomic_cmpxchg_bool_at_resolved(C2AtomicParseAccess& access, Node* expected_val, Node* new_val,
                                                                  const Type* value_type) const {
  if (!ThirdPartyHeapBarrierSet::has_object_barrier()) {
    return BarrierSetC2::atomic_cmpxchg_bool_at_resolved(access, expected_val, new_val, value_type);
  }
  return ModRefBarrierSetC2::atomic_cmpxchg_bool_at_resolved(access, expected_val, new_val, value_type);
}

Node* ThirdPartyHeapBarrierSetC2::atomic_xchg_at_resolved(C2AtomicParseAccess& access, Node* new_val,
                                                          const Type* value_type) const {
  if (!ThirdPartyHeapBarrierSet::has_object_barrier()) {
    return BarrierSetC2::atomic_xchg_at_resolved(access, new_val, value_type);
  }
  return ModRefBarrierSetC2::atomic_xchg_at_resolved(access, new_val, value_type);
}

bool ThirdPartyHeapBarrierSetC2::array_copy_requires_gc_barriers(bool tightly_coupled_alloc, BasicType type, bool is_clone,
                                                                 bool is_clone_instance, ArrayCopyPhase phase) const {
  return ThirdPartyHeapBarrierSet::has_object_barrier() && is_reference_type(type) && !tightly_coupled_alloc;
}

// The object is not allocated after all. Each comparison of its byte with 0 is decided, which leaves the rest of the
// barrier without a way to it.
void ThirdPartyHeapBarrierSetC2::eliminate_gc_barrier(PhaseMacroExpand* macro, Node* node) const {
  if (ThirdPartyHeapBarrierSet::has_object_barrier()) {
    assert(node->Opcode() == Op_CastP2X, "where the barrier begins");
    ResourceMark rm;
    Unique_Node_List comparisons;
    find_comparisons(node, 0, comparisons);
    assert(comparisons.size() != 0, "a barrier compares");
    for (uint i = 0; i < comparisons.size(); i++) {
      macro->replace_node(comparisons.at(i), macro->makecon(TypeInt::CC_EQ));
    }
    macro->replace_node(node, macro->top());
  }
}

// Follows CastP2X -> URShiftX -> AddP -> LoadUB -> CmpI.
void ThirdPartyHeapBarrierSetC2::find_comparisons(Node* node, uint step, Unique_Node_List& found) {
  static const int path[] = { Op_URShiftX, Op_AddP, Op_LoadUB, Op_CmpI };
  for (DUIterator_Fast imax, i = node->fast_outs(imax); i < imax; i++) {
    Node* const user = node->fast_out(i);
    if (user->Opcode() != path[step]) {
      continue;
    }
    if (step + 1 == ARRAY_SIZE(path)) {
      found.push(user);
    } else {
      find_comparisons(user, step + 1, found);
    }
  }
}
