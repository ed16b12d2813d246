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

// Branches on a comparison: returns the control of the unlikely case, in which the test holds; ctrl becomes that of the other.
Node* ThirdPartyHeapBarrierSetC2::split(PhaseMacroExpand* macro, Node*& ctrl, Node* cmp, int test) {
  macro->transform_later(cmp);
  Node* const condition = macro->transform_later(new BoolNode(cmp, (BoolTest::mask)test));
  IfNode* const branch = new IfNode(ctrl, condition, PROB_UNLIKELY_MAG(4), COUNT_UNKNOWN);
  macro->transform_later(branch);
  ctrl = macro->transform_later(new IfFalseNode(branch));
  return macro->transform_later(new IfTrueNode(branch));
}

// Where the thread has the head of a list, by the offset of that among the heads.
Node* ThirdPartyHeapBarrierSetC2::head_address(PhaseMacroExpand* macro, Node* offset) {
  Node* const thread = macro->transform_later(new ThreadLocalNode());
  const int heads = in_bytes(ThirdPartyHeapThreadLocalData::free_lists_offset());
  Node* const first = macro->basic_plus_adr(macro->top(), thread, heads);
  return macro->basic_plus_adr(macro->top(), first, offset);
}

// That offset for an object whose size the compiler does not know, and which is not too large for a list.
Node* ThirdPartyHeapBarrierSetC2::head_offset(PhaseMacroExpand* macro, Node* ctrl, Node* mem, Node* size_in_bytes) {
  Node* const rounded = macro->transform_later(new AddLNode(size_in_bytes, macro->longcon(BytesPerWord - 1)));
  Node* const words = macro->transform_later(new URShiftLNode(rounded, macro->intcon(LogBytesPerWord)));
  Node* const table = macro->makecon(TypeRawPtr::make(ThirdPartyHeapBins::table()));
  Node* const entry = macro->basic_plus_adr(macro->top(), table, words);
  Node* const bin = macro->make_load(ctrl, mem, entry, 0, TypeInt::UBYTE, T_BOOLEAN);
  Node* const index = macro->transform_later(new ConvI2LNode(bin));
  return macro->transform_later(new LShiftLNode(index, macro->intcon(LogBytesPerWord)));
}

// The loads hang on their control, as those of a TLAB's bounds do in BarrierSetC2: a collection changes the
// lists, and no safepoint may come between.
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
  const jlong known_size = macro->igvn().find_long_con(size_in_bytes, -1);
  if (ThirdPartyHeapBins::has(known_size)) {
    offset = macro->longcon(ThirdPartyHeapBins::of(known_size) * wordSize);
  } else {
    Node* const max = macro->longcon(ThirdPartyHeapBins::max_bytes());
    too_large = split(macro, ctrl, new CmpULNode(size_in_bytes, max), BoolTest::gt);
    offset = head_offset(macro, ctrl, mem, size_in_bytes);
  }
  Node* const head = head_address(macro, offset);
  Node* const cell = macro->make_load(ctrl, mem, head, 0, TypeRawPtr::BOTTOM, T_ADDRESS);
  needgc_ctrl = split(macro, ctrl, new CmpPNode(cell, macro->zerocon(T_ADDRESS)), BoolTest::eq);
  if (too_large != NULL) {
    RegionNode* const slow = new RegionNode(3);
    slow->init_req(1, too_large);
    slow->init_req(2, needgc_ctrl);
    needgc_ctrl = macro->transform_later(slow);
  }
  Node* const next = macro->make_load(ctrl, mem, cell, 0, TypeRawPtr::BOTTOM, T_ADDRESS);
  fast_oop_ctrl = ctrl;
  fast_oop_rawmem = macro->make_store(ctrl, mem, head, 0, next, T_ADDRESS);
  return cell;
}
