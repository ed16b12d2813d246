/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/thirdparty/c2/thirdPartyHeapBarrierSetC2.hpp"
#include "gc/thirdparty/thirdPartyHeapBins.hpp"
#include "gc/thirdparty/thirdPartyHeapThreadLocalData.hpp"
#include "opto/addnode.hpp"
#include "opto/callnode.hpp"
#include "opto/cfgnode.hpp"
#include "opto/connode.hpp"
#include "opto/convertnode.hpp"
#include "opto/macro.hpp"
#include "opto/memnode.hpp"
#include "opto/mulnode.hpp"
#include "opto/subnode.hpp"

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
