/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "asm/macroAssembler.hpp"
#include "ci/ciEnv.hpp"
#include "classfile/javaClasses.hpp"
#include "gc/thirdparty/c2/thirdPartyHeapBarrierSetC2.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSet.hpp"
#include "gc/thirdparty/thirdPartyHeapBarrierSetRuntime.hpp"
#include "gc/thirdparty/thirdPartyHeapBins.hpp"
#include "gc/thirdparty/thirdPartyHeapBuffers.hpp"
#include "gc/thirdparty/thirdPartyHeapSideBits.hpp"
#include "gc/thirdparty/thirdPartyHeapThreadLocalData.hpp"
#include "opto/addnode.hpp"
#include "opto/block.hpp"
#include "opto/callnode.hpp"
#include "opto/cfgnode.hpp"
#include "opto/connode.hpp"
#include "opto/convertnode.hpp"
#include "opto/graphKit.hpp"
#include "opto/idealKit.hpp"
#include "opto/macro.hpp"
#include "opto/memnode.hpp"
#include "opto/mulnode.hpp"
#include "opto/output.hpp"
#include "opto/regalloc.hpp"
#include "opto/rootnode.hpp"
#include "opto/subnode.hpp"
#include "opto/type.hpp"
#include "runtime/globals_extension.hpp"
#include "utilities/growableArray.hpp"
#include "utilities/macros.hpp"
#include CPU_HEADER(gc/thirdparty/thirdPartyHeapBarrierSetAssembler)

ThirdPartyHeapBarrierSetC2::ThirdPartyHeapBarrierSetC2() : _remember_code() {
  for (uint use = 0; ThirdPartyHeapBarrierSet::has_object_barrier() && use < VectorUses; use++) {
    _remember_code[use] = ThirdPartyHeapBarrierSetAssembler::generate_c2_remember_code((ThirdPartyHeapVectorUse)use);
  }
}

typedef GrowableArray<ThirdPartyHeapRememberStubC2*> RememberStubs;

static RememberStubs* remember_stubs() {
  return (RememberStubs*)Compile::current()->barrier_set_state();
}

void* ThirdPartyHeapBarrierSetC2::create_barrier_state(Arena* comp_arena) const {
  return new (comp_arena) RememberStubs(comp_arena, 8, 0, NULL);
}

ThirdPartyHeapRememberStubC2* ThirdPartyHeapRememberStubC2::create(Register object, Register bits) {
  Compile* const compile = Compile::current();
  ThirdPartyHeapRememberStubC2* const stub = new (compile->comp_arena()) ThirdPartyHeapRememberStubC2(object, bits);
  if (!compile->output()->in_scratch_emit_size()) {
    remember_stubs()->append(stub);
  }
  return stub;
}

// Where only the size of the jump is wanted, no stub is emitted: the other label stands for its entry, as it is bound in the end.
Label* ThirdPartyHeapRememberStubC2::entry() {
  return Compile::current()->output()->in_scratch_emit_size() ? &_continuation : &_entry;
}

static bool is_in_vector_register(const Node* node) {
  const bool is_killed = node->is_MachProj() && node->ideal_reg() == MachProjNode::fat_proj;
  const OptoReg::Name reg = Compile::current()->regalloc()->get_reg_first(node);
  return !is_killed && OptoReg::is_reg(reg) && OptoReg::as_VMReg(reg)->is_XMMRegister();
}

// Of the method that is being compiled, whose registers are allocated.
static ThirdPartyHeapVectorUse vector_use() {
  Compile* const compile = Compile::current();
  if (compile->max_vector_size() > 0) {
    return Vectors;
  }
  for (uint i = 0; i < compile->cfg()->number_of_blocks(); i++) {
    const Block* const block = compile->cfg()->get_block(i);
    for (uint j = 0; j < block->number_of_nodes(); j++) {
      if (is_in_vector_register(block->get_node(j))) {
        return Scalars;
      }
    }
  }
  return NoVectorRegisters;
}

void ThirdPartyHeapBarrierSetC2::emit_stubs(CodeBuffer& cb) const {
  if (remember_stubs()->is_empty()) {
    return;
  }
  const address remember_code = _remember_code[vector_use()];
  MacroAssembler masm(&cb);
  for (ThirdPartyHeapRememberStubC2* stub : *remember_stubs()) {
    if (cb.insts()->maybe_expand_to_ensure_remaining(PhaseOutput::MAX_inst_size) && cb.blob() == NULL) {
      ciEnv::current()->record_failure("CodeCache is full");
      return;
    }
    ThirdPartyHeapBarrierSetAssembler::generate_c2_remember_stub(&masm, stub, remember_code);
  }
  masm.flush();
}

// Branches on a comparison: returns the control of the case in which the test holds; ctrl becomes that of the other.
Node* ThirdPartyHeapBarrierSetC2::split(PhaseMacroExpand* macro, Node*& ctrl, Node* cmp, int test, float probability) {
  macro->transform_later(cmp);
  Node* const condition = macro->transform_later(new BoolNode(cmp, (BoolTest::mask)test));
  IfNode* const branch = new IfNode(ctrl, condition, probability, COUNT_UNKNOWN);
  macro->transform_later(branch);
  ctrl = macro->transform_later(new IfFalseNode(branch));
  return macro->transform_later(new IfTrueNode(branch));
}

// Where the thread has the head of a bin, by the offset of that among the heads. Each instruction has a known one in its address.
ThirdPartyHeapBarrierSetC2::HeadPlace ThirdPartyHeapBarrierSetC2::head_place(PhaseMacroExpand* macro, Node* offset) {
  Node* const thread = macro->transform_later(new ThreadLocalNode());
  const int heads = in_bytes(ThirdPartyHeapThreadLocalData::heads_offset());
  const jlong known_offset = macro->igvn().find_long_con(offset, -1);
  if (known_offset >= 0) {
    return { thread, heads + (int)known_offset };
  }
  Node* const first = macro->basic_plus_adr(macro->top(), thread, heads);
  return { macro->basic_plus_adr(macro->top(), first, offset), 0 };
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

// How many lines are prefetched with an allocation: those of the cell behind. Bins have their cells in different places, more of
// them than the processor's own prefetching follows. It follows the stores to a cell of many lines, and others would delay these.
static intx lines_of_next_cell(PhaseMacroExpand* macro, Node* cell_bytes, intx lines_by_flag) {
  const intx most = 8;
  if (!FLAG_IS_DEFAULT(AllocatePrefetchLines) || !FLAG_IS_DEFAULT(AllocateInstancePrefetchLines)) {
    return lines_by_flag;
  }
  const jlong known_bytes = cell_bytes == NULL ? -1 : macro->igvn().find_long_con(cell_bytes, -1);
  if (known_bytes < 0) {
    return most;
  }
  const intx lines = ((intx)known_bytes + AllocatePrefetchStepSize - 1) / AllocatePrefetchStepSize;
  return lines <= most ? lines : 0;
}

// Takes the next cell of the bump region. cell_bytes is NULL if the compiler does not know the bin.
ThirdPartyHeapBarrierSetC2::Cell ThirdPartyHeapBarrierSetC2::bump(PhaseMacroExpand* macro, Node* ctrl, Node* mem, HeadPlace head,
                                                                  Node* cell_bytes, Node*& no_region_ctrl, Node*& i_o,
                                                                  intx prefetch_lines) {
  const int cursor_offset = head.offset + offset_of(ThirdPartyHeapHead, cursor);
  const int end_offset = head.offset + offset_of(ThirdPartyHeapHead, end);
  const intx lines = lines_of_next_cell(macro, cell_bytes, prefetch_lines);
  Node* const cursor = macro->make_load(ctrl, mem, head.base, cursor_offset, TypeRawPtr::BOTTOM, T_ADDRESS);
  Node* const end = macro->make_load(ctrl, mem, head.base, end_offset, TypeRawPtr::BOTTOM, T_ADDRESS);
  no_region_ctrl = split(macro, ctrl, new CmpPNode(cursor, end), BoolTest::eq, PROB_UNLIKELY_MAG(2));
  if (cell_bytes == NULL) {
    const int bytes_offset = head.offset + offset_of(ThirdPartyHeapHead, cell_bytes);
    cell_bytes = macro->make_load(ctrl, mem, head.base, bytes_offset, TypeLong::LONG, T_LONG);
  }
  Node* const next = macro->basic_plus_adr(macro->top(), cursor, cell_bytes);
  i_o = macro->prefetch_allocation(i_o, ctrl, mem, cursor, next, lines);
  Node* const stored = macro->make_store(ctrl, mem, head.base, cursor_offset, next, T_ADDRESS);
  return { ctrl, stored, cursor };
}

// Takes the first cell of the free list.
ThirdPartyHeapBarrierSetC2::Cell ThirdPartyHeapBarrierSetC2::pop(PhaseMacroExpand* macro, Node* ctrl, Node* mem, HeadPlace head,
                                                                 Node*& no_cell_ctrl) {
  const int free_offset = head.offset + offset_of(ThirdPartyHeapHead, free);
  Node* const cell = macro->make_load(ctrl, mem, head.base, free_offset, TypeRawPtr::BOTTOM, T_ADDRESS);
  Node* const is_null = new CmpPNode(cell, macro->zerocon(T_ADDRESS));
  no_cell_ctrl = split(macro, ctrl, is_null, BoolTest::eq, PROB_UNLIKELY_MAG(2));
  Node* const next = macro->make_load(ctrl, mem, cell, 0, TypeRawPtr::BOTTOM, T_ADDRESS);
  Node* const stored = macro->make_store(ctrl, mem, head.base, free_offset, next, T_ADDRESS);
  return { ctrl, stored, cell };
}

// Returns the memory behind it.
Node* ThirdPartyHeapBarrierSetC2::set_valid_object_bit(PhaseMacroExpand* macro, Node* ctrl, Node* mem, Node* object) {
  Node* const at = macro->transform_later(new CastP2XNode(ctrl, object));
  Node* const bits = macro->makecon(TypeRawPtr::make(ThirdPartyHeapBuffers::valid_object_bits()));
  Node* const byte_offset = macro->transform_later(new URShiftLNode(at, macro->intcon(ThirdPartyHeapSideBits::ByteShift)));
  Node* const byte_address = macro->basic_plus_adr(macro->top(), bits, byte_offset);
  Node* const words = macro->transform_later(new URShiftLNode(at, macro->intcon(ThirdPartyHeapSideBits::BitShift)));
  Node* const low_words = macro->transform_later(new ConvL2INode(words));
  Node* const bit = macro->transform_later(new AndINode(low_words, macro->intcon(ThirdPartyHeapSideBits::BitMask)));
  Node* const mask = macro->transform_later(new LShiftINode(macro->intcon(1), bit));
  Node* const byte = macro->make_load(ctrl, mem, byte_address, 0, TypeInt::UBYTE, T_BOOLEAN);
  Node* const marked = macro->transform_later(new OrINode(byte, mask));
  return macro->make_store(ctrl, mem, byte_address, 0, marked, T_BYTE);
}

// Takes memory of the thread's buffer.
ThirdPartyHeapBarrierSetC2::Cell ThirdPartyHeapBarrierSetC2::bump_buffer(PhaseMacroExpand* macro, Node* ctrl, Node* mem,
                                                                         Node* size_in_bytes, Node*& no_memory_ctrl, Node*& i_o,
                                                                         intx prefetch_lines) {
  Node* const thread = macro->transform_later(new ThreadLocalNode());
  const int cursor_offset = in_bytes(ThirdPartyHeapThreadLocalData::buffer_cursor_offset());
  const int end_offset = in_bytes(ThirdPartyHeapThreadLocalData::buffer_end_offset());
  Node* const cursor = macro->make_load(ctrl, mem, thread, cursor_offset, TypeRawPtr::BOTTOM, T_ADDRESS);
  Node* const end = macro->make_load(ctrl, mem, thread, end_offset, TypeRawPtr::BOTTOM, T_ADDRESS);
  Node* const extra = macro->longcon(ThirdPartyHeapBuffers::extra_header_bytes());
  Node* const step = macro->transform_later(new AddLNode(size_in_bytes, extra));
  Node* const next = macro->basic_plus_adr(macro->top(), cursor, step);
  no_memory_ctrl = split(macro, ctrl, new CmpPNode(next, end), BoolTest::gt, PROB_UNLIKELY_MAG(4));
  i_o = macro->prefetch_allocation(i_o, ctrl, mem, cursor, next, prefetch_lines);
  Node* const stored = macro->make_store(ctrl, mem, thread, cursor_offset, next, T_ADDRESS);
  const bool has_bits = ThirdPartyHeapBuffers::valid_object_bits() != NULL;
  return { ctrl, has_bits ? set_valid_object_bit(macro, ctrl, stored, cursor) : stored, cursor };
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
  if (ThirdPartyHeapBuffers::exist()) {
    const Cell bumped = bump_buffer(macro, toobig_false, mem, size_in_bytes, needgc_ctrl, i_o, prefetch_lines);
    fast_oop_ctrl = bumped.ctrl;
    fast_oop_rawmem = bumped.mem;
    return bumped.address;
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
  const HeadPlace head = head_place(macro, offset);
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

// Of the snapshot barrier's leaf call.
const TypeFunc* ThirdPartyHeapBarrierSetC2::slow_path_type() {
  const Type** arguments = TypeTuple::fields(3);
  arguments[TypeFunc::Parms + 0] = TypeX_X;        // the old value: not as an oop, or it would escape
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
  Node* const object = __ CastPX(__ ctrl(), obj);
  Node* const bits = kit->makecon(TypeRawPtr::make(ThirdPartyHeapBarrierSet::unlogged_bits()));
  Node* const byte_offset = __ URShiftX(object, __ ConI(ThirdPartyHeapSideBits::ByteShift));
  Node* const byte_address = __ AddP(__ top(), bits, byte_offset);
  // A card mark comes behind its store. This may come before it, and then does not wait for the store where the runtime has to be
  // called, which has atomic operations. So what it is told to come behind is its own address. No safepoint comes between: they use
  // all memory, and the address depends on its control.
  __ storeCM(__ ctrl(), byte_address, object, object, adr_idx, T_BYTE, Compile::AliasIdxRaw);
  kit->final_sync(ideal);
}

// Before any element is copied the array is remembered, or it is young: no safepoint comes between. So the stubs need no barrier, for
// which they would have to find the array.
void ThirdPartyHeapBarrierSetC2::before_array_copy(PhaseMacroExpand* macro, Node* ctrl, MergeMemNode* mem, Node* dest) const {
  if (!ThirdPartyHeapBarrierSet::has_object_barrier()) {
    return;
  }
  Node* const object = macro->transform_later(new CastP2XNode(ctrl, dest));
  Node* const bits = macro->makecon(TypeRawPtr::make(ThirdPartyHeapBarrierSet::unlogged_bits()));
  Node* const byte_offset = macro->transform_later(new URShiftXNode(object, macro->intcon(ThirdPartyHeapSideBits::ByteShift)));
  Node* const byte_address = macro->basic_plus_adr(macro->top(), bits, byte_offset);
  Node* const raw = mem->memory_at(Compile::AliasIdxRaw);
  const int elements = macro->C->get_alias_index(TypeAryPtr::OOPS);
  Node* const barrier = new StoreCMNode(ctrl, raw, byte_address, TypeRawPtr::BOTTOM, object, object, elements);
  mem->set_memory_at(Compile::AliasIdxRaw, macro->transform_later(barrier));
}

// Whether the field is one of an object that this method has allocated, and has not been stored to since.
bool ThirdPartyHeapBarrierSetC2::overwrites_initial_null(GraphKit* kit, Node* adr, uint adr_idx) {
  PhaseGVN* const gvn = &kit->gvn();
  intptr_t offset = 0;
  Node* const base = AddPNode::Ideal_base_and_offset(adr, gvn, offset);
  AllocateNode* const allocation = AllocateNode::Ideal_allocation(base, gvn);
  if (allocation == NULL || offset == Type::OffsetBot) {
    return false;
  }
  const int size = type2aelembytes(T_OBJECT);
  Node* mem = kit->memory(adr_idx);
  // Passes over the stores to other places, but not over many.
  for (int stores = 0; stores < 50 && mem->is_Store(); stores++) {
    intptr_t other_offset = 0;
    Node* const other = AddPNode::Ideal_base_and_offset(mem->in(MemNode::Address), gvn, other_offset);
    if (other == NULL) {
      return false;
    }
    const bool apart = other_offset != Type::OffsetBot &&
                       (other_offset >= offset + size || other_offset + mem->as_Store()->memory_size() <= offset);
    AllocateNode* const other_allocation = AllocateNode::Ideal_allocation(other, gvn);
    if (!apart && (other == base || !MemNode::detect_ptr_independence(base, allocation, other, other_allocation, gvn))) {
      return false;
    }
    mem = mem->in(MemNode::Memory);
  }
  if (!mem->is_Proj() || !mem->in(0)->is_Initialize() || mem->in(0)->as_Initialize()->allocation() != allocation) {
    return false;
  }
  InitializeNode* const initialize = mem->in(0)->as_Initialize();
  Node* const captured = initialize->find_captured_store(offset, size, gvn);
  return captured == NULL || captured == initialize->zero_memory();
}

void ThirdPartyHeapBarrierSetC2::pre_barrier(GraphKit* kit, bool do_load, Node* ctl, Node* obj, Node* adr, uint adr_idx,
                                             Node* val, const TypeOopPtr* val_type, Node* pre_val, BasicType bt) const {
  if (!ThirdPartyHeapBarrierSet::has_snapshot_barrier()) {
    return;
  }
  if (do_load ? overwrites_initial_null(kit, adr, adr_idx) : pre_val->bottom_type() == TypePtr::NULL_PTR) {
    return;
  }

  IdealKit ideal(kit, true);
  const float unlikely = PROB_UNLIKELY(0.999);
  const int active_offset = in_bytes(ThirdPartyHeapThreadLocalData::snapshot_active_offset());
  Node* const active_address = __ AddP(__ top(), __ thread(), __ ConX(active_offset));
  Node* const active = __ load(__ ctrl(), active_address, TypeInt::UBYTE, T_BOOLEAN, Compile::AliasIdxRaw);
  __ if_then(active, BoolTest::ne, __ ConI(0), unlikely); {
    if (do_load) {
      // Pinned, or the value could be taken where it is not the old one.
      pre_val = __ load(__ ctrl(), adr, val_type, bt, adr_idx, false, MemNode::unordered, LoadNode::Pinned);
    }
    __ if_then(pre_val, BoolTest::ne, kit->null()); {
      const address slow_path = CAST_FROM_FN_PTR(address, ThirdPartyHeapBarrierSetRuntime::snapshot_object);
      Node* const old = __ CastPX(__ ctrl(), pre_val);
      __ make_leaf_call(slow_path_type(), slow_path, "snapshot_object", old, __ top(), __ thread());
    } __ end_if();
  } __ end_if();
  kit->final_sync(ideal);
}

// Behind a load whose value becomes strong.
void ThirdPartyHeapBarrierSetC2::snapshot_value(GraphKit* kit, Node* value) {
  const ThirdPartyHeapBarrierSetC2* const c2 = (ThirdPartyHeapBarrierSetC2*)BarrierSet::barrier_set()->barrier_set_c2();
  c2->pre_barrier(kit, false /* do_load */, kit->control(), NULL, NULL, max_juint, NULL, NULL, value, T_OBJECT);
}

// Behind a load from a place that the compiler does not know: it may be the referent of a Reference.
void ThirdPartyHeapBarrierSetC2::snapshot_if_referent(GraphKit* kit, Node* base, Node* offset, Node* value, bool need_mem_bar) {
  const int referent_offset = java_lang_ref_Reference::referent_offset();
  const TypeX* const offset_type = offset->find_intptr_t_type();
  if (offset_type != NULL && offset_type->is_con() && offset_type->get_con() != referent_offset) {
    return;
  }
  const TypeOopPtr* const base_type = base->bottom_type()->isa_oopptr();
  if (base_type != NULL && base_type->isa_aryptr()) {
    return;
  }
  const TypeInstPtr* const instance_type = base_type == NULL ? NULL : base_type->isa_instptr();
  if (instance_type != NULL && instance_type->klass()->is_loaded()) {
    ciKlass* const klass = instance_type->klass();
    ciKlass* const reference = kit->env()->Reference_klass();
    // A subclass of Reference may implement any interface.
    if (!klass->is_interface() && !klass->is_subtype_of(reference) && !reference->is_subtype_of(klass)) {
      return;
    }
  }

  IdealKit ideal(kit);
  const float unlikely = PROB_UNLIKELY(0.999);
  __ if_then(offset, BoolTest::eq, __ ConX(referent_offset), unlikely); {
    kit->sync_kit(ideal);
    Node* const reference = kit->makecon(TypeKlassPtr::make(kit->env()->Reference_klass()));
    Node* const is_reference = kit->gen_instanceof(base, reference);
    __ sync_kit(kit);
    __ if_then(is_reference, BoolTest::eq, __ ConI(1), unlikely); {
      kit->sync_kit(ideal);
      snapshot_value(kit, value);
      if (need_mem_bar) {
        kit->insert_mem_bar(Op_MemBarCPUOrder); // the collector clears referents: no load may stand for two
      }
      __ sync_kit(kit);
    } __ end_if();
  } __ end_if();
  kit->final_sync(ideal);
}

#undef __

Node* ThirdPartyHeapBarrierSetC2::load_at_resolved(C2Access& access, const Type* val_type) const {
  const DecoratorSet decorators = access.decorators();
  Node* const top = Compile::current()->top();
  Node* const adr = access.addr().node();
  Node* const base = access.base();
  Node* const offset = adr->is_AddP() ? adr->in(AddPNode::Offset) : top;
  const bool in_heap = (decorators & IN_HEAP) != 0;
  const bool is_weak = (decorators & (ON_WEAK_OOP_REF | ON_PHANTOM_OOP_REF)) != 0 && (decorators & AS_NO_KEEPALIVE) == 0;
  const bool is_unknown = in_heap && (decorators & ON_UNKNOWN_OOP_REF) != 0 && offset != top && base != top;
  if (!ThirdPartyHeapBarrierSet::has_snapshot_barrier() || !access.is_oop() || !(is_weak || is_unknown)) {
    return BarrierSetC2::load_at_resolved(access, val_type);
  }
  assert(access.is_parse_access(), "these loads are not changed by later phases");
  GraphKit* const kit = static_cast<C2ParseAccess&>(access).kit();
  const bool mismatched = (decorators & C2_MISMATCHED) != 0;
  const bool is_unordered = (decorators & MO_UNORDERED) != 0;
  // Pinned: it is the loaded value that is kept alive, and it is not to be loaded again behind a safepoint.
  Node* const load = kit->make_load(kit->control(), adr, val_type, access.type(), access.addr().type(), access.mem_node_mo(),
                                    LoadNode::Pinned, !is_unordered, (decorators & C2_UNALIGNED) != 0, mismatched,
                                    (decorators & C2_UNSAFE_ACCESS) != 0, access.barrier_data());
  if (is_weak) {
    snapshot_value(kit, load);
    kit->insert_mem_bar(Op_MemBarCPUOrder); // as in snapshot_if_referent
  } else {
    // Other accesses have their own memory barriers.
    const bool has_mem_bar = !is_unordered || mismatched;
    snapshot_if_referent(kit, base, offset, load, !has_mem_bar);
  }
  return load;
}

// Without a barrier, nodes are those of no barrier set: ModRefBarrierSetC2 branches on the success of an exchange, and does not
// know stores that an array copy or a clone is turned into.
Node* ThirdPartyHeapBarrierSetC2::store_at_resolved(C2Access& access, C2AccessValue& val) const {
  if (!ThirdPartyHeapBarrierSet::has_barrier()) {
    return BarrierSetC2::store_at_resolved(access, val);
  }
  return ModRefBarrierSetC2::store_at_resolved(access, val);
}

Node* ThirdPartyHeapBarrierSetC2::atomic_cmpxchg_val_at_resolved(C2AtomicParseAccess& access, Node* expected_val, Node* new_val,
                                                                 const Type* value_type) const {
  if (!ThirdPartyHeapBarrierSet::has_barrier()) {
    return BarrierSetC2::atomic_cmpxchg_val_at_resolved(access, expected_val, new_val, value_type);
  }
  Node* const found = ModRefBarrierSetC2::atomic_cmpxchg_val_at_resolved(access, expected_val, new_val, value_type);
  Node* const adr = access.addr().node();
  if (ThirdPartyHeapBarrierSet::has_snapshot_barrier() && access.is_oop() && adr->is_AddP()) {
    // Of an exchange that fails, it is not the expected value.
    snapshot_if_referent(access.kit(), access.base(), adr->in(AddPNode::Offset), found, false);
  }
  return found;
}

Node* ThirdPartyHeapBarrierSetC2::atomic_cmpxchg_bool_at_resolved(C2AtomicParseAccess& access, Node* expected_val, Node* new_val,
                                                                  const Type* value_type) const {
  if (!ThirdPartyHeapBarrierSet::has_barrier()) {
    return BarrierSetC2::atomic_cmpxchg_bool_at_resolved(access, expected_val, new_val, value_type);
  }
  if (!ThirdPartyHeapBarrierSet::has_object_barrier()) {
    // There is nothing to do behind the store: no branch on its success.
    if (access.is_oop()) {
      pre_barrier(access.kit(), false /* do_load */, access.kit()->control(), NULL, NULL, max_juint, NULL, NULL, expected_val,
                  T_OBJECT);
    }
    return BarrierSetC2::atomic_cmpxchg_bool_at_resolved(access, expected_val, new_val, value_type);
  }
  return ModRefBarrierSetC2::atomic_cmpxchg_bool_at_resolved(access, expected_val, new_val, value_type);
}

Node* ThirdPartyHeapBarrierSetC2::atomic_xchg_at_resolved(C2AtomicParseAccess& access, Node* new_val,
                                                          const Type* value_type) const {
  if (!ThirdPartyHeapBarrierSet::has_barrier()) {
    return BarrierSetC2::atomic_xchg_at_resolved(access, new_val, value_type);
  }
  return ModRefBarrierSetC2::atomic_xchg_at_resolved(access, new_val, value_type);
}

bool ThirdPartyHeapBarrierSetC2::array_copy_requires_gc_barriers(bool tightly_coupled_alloc, BasicType type, bool is_clone,
                                                                 bool is_clone_instance, ArrayCopyPhase phase) const {
  const bool is_done = ThirdPartyHeapBarrierSet::has_object_barrier() && phase == Expansion; // before_array_copy
  return ThirdPartyHeapBarrierSet::has_barrier() && is_reference_type(type) && !tightly_coupled_alloc && !is_done;
}

bool ThirdPartyHeapBarrierSetC2::is_snapshot_call(const Node* node) {
  const address snapshot = CAST_FROM_FN_PTR(address, ThirdPartyHeapBarrierSetRuntime::snapshot_object);
  return node->is_CallLeaf() && node->as_CallLeaf()->entry_point() == snapshot;
}

// Escape analysis meets them where it follows memory: they change none that Java sees.
bool ThirdPartyHeapBarrierSetC2::is_gc_barrier_node(Node* node) const {
  return is_snapshot_call(node) || node->Opcode() == Op_StoreCM;
}

// The load of an old value: it is compared with null, and goes into the call. Narrow ones are decoded for that.
bool ThirdPartyHeapBarrierSetC2::is_gc_pre_barrier_node(Node* node) const {
  if (!ThirdPartyHeapBarrierSet::has_snapshot_barrier() || !node->is_Load() ||
      !node->as_Load()->has_pinned_control_dependency()) {
    return false;
  }
  uint compared = 0;
  uint passed = 0;
  Node* const value = node->outcnt() == 1 && node->unique_out()->is_DecodeN() ? node->unique_out() : node;
  for (DUIterator_Fast imax, i = value->fast_outs(imax); i < imax; i++) {
    Node* const user = value->fast_out(i);
    if (user->is_Cmp()) {
      compared++;
    } else if (user->Opcode() == Op_CastP2X && user->outcnt() == 1 && is_snapshot_call(user->unique_out())) {
      passed++;
    }
  }
  return compared != 0 && passed == 1 && compared + passed == value->outcnt();
}

// The object is not allocated after all.
void ThirdPartyHeapBarrierSetC2::eliminate_gc_barrier(PhaseMacroExpand* macro, Node* node) const {
  if (ThirdPartyHeapBarrierSet::has_snapshot_barrier()) {
    // The old value of a field was no object, or this object itself is nobody's any more: null is not told of.
    const bool is_old_value = is_gc_pre_barrier_node(node);
    assert(is_old_value || node->Opcode() == Op_CastP2X, "what a barrier begins with");
    macro->replace_node(node, is_old_value ? macro->zerocon(node->bottom_type()->basic_type()) : macro->longcon(0));
  } else if (ThirdPartyHeapBarrierSet::has_object_barrier()) {
    eliminate_object_barrier(macro, node);
  }
}

// What follows from the address in the end is a StoreCM, which goes out of the chain of memory. The rest has no use then.
void ThirdPartyHeapBarrierSetC2::eliminate_object_barrier(PhaseMacroExpand* macro, Node* node) {
  assert(node->Opcode() == Op_CastP2X, "where the barrier begins");
  ResourceMark rm;
  Unique_Node_List barriers;
  for (DUIterator_Fast imax, i = node->fast_outs(imax); i < imax; i++) {
    if (node->fast_out(i)->Opcode() == Op_StoreCM) {
      barriers.push(node->fast_out(i));
    }
  }
  assert(barriers.size() != 0, "a barrier has one");
  for (uint i = 0; i < barriers.size(); i++) {
    macro->replace_node(barriers.at(i), barriers.at(i)->in(MemNode::Memory));
  }
}
