/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#ifndef SHARE_GC_THIRDPARTY_C2_THIRDPARTYHEAPBARRIERSETC2_HPP
#define SHARE_GC_THIRDPARTY_C2_THIRDPARTYHEAPBARRIERSETC2_HPP

#include "gc/shared/c2/barrierSetC2.hpp"

// Allocation by C2: a cell that the thread has, if the plugin gives threads cells.
class ThirdPartyHeapBarrierSetC2 : public BarrierSetC2 {
private:
  // A way to a cell: the cell, and the control and memory behind it.
  struct Cell {
    Node* ctrl;
    Node* mem;
    Node* address;
  };

  static Node* head_address(PhaseMacroExpand* macro, Node* offset);
  static Node* head_offset(PhaseMacroExpand* macro, Node* ctrl, Node* mem, Node* size_in_bytes);
  static Node* split(PhaseMacroExpand* macro, Node*& ctrl, Node* cmp, int test, float probability);
  static Cell bump(PhaseMacroExpand* macro, Node* ctrl, Node* mem, Node* head, Node* cell_bytes, Node*& no_region_ctrl,
                   Node*& i_o, intx prefetch_lines);
  static Cell pop(PhaseMacroExpand* macro, Node* ctrl, Node* mem, Node* head, Node*& no_cell_ctrl);

public:
  virtual Node* obj_allocate(PhaseMacroExpand* macro, Node* mem, Node* toobig_false, Node* size_in_bytes,
                             Node*& i_o, Node*& needgc_ctrl, Node*& fast_oop_ctrl, Node*& fast_oop_rawmem,
                             intx prefetch_lines) const;
};

#endif // SHARE_GC_THIRDPARTY_C2_THIRDPARTYHEAPBARRIERSETC2_HPP
