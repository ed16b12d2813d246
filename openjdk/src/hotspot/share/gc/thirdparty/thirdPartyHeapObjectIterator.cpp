/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "gc/shared/weakProcessor.hpp"
#include "gc/thirdparty/thirdPartyHeapObjectIterator.hpp"
#include "gc/thirdparty/thirdPartyHeapRoots.hpp"
#include "memory/iterator.inline.hpp"
#include "memory/resourceArea.hpp"
#include "oops/compressedOops.inline.hpp"
#include "oops/oop.inline.hpp"
#include "runtime/handles.inline.hpp"
#include "runtime/safepoint.hpp"
#include "runtime/thread.hpp"
#include "utilities/stack.inline.hpp"

bool ThirdPartyHeapObjectIterator::Chunk::visit(size_t word) {
  const bool first = !_visited.at(word);
  _visited.set_bit(word);
  return first;
}

// The table of chunks is reserved for the whole address range; the system provides the pages of it that are touched.
ThirdPartyHeapObjectIterator::ThirdPartyHeapObjectIterator(MemRegion heap) :
    _start((uintptr_t)heap.start()),
    _number_of_chunks(align_up(heap.byte_size(), ChunkSize) / ChunkSize),
    _chunks(MmapArrayAllocator<Chunk*>::allocate(_number_of_chunks, mtGC)),
    _made(NULL) {}

ThirdPartyHeapObjectIterator::~ThirdPartyHeapObjectIterator() {
  while (_made != NULL) {
    Chunk* const next = _made->next;
    delete _made;
    _made = next;
  }
  MmapArrayAllocator<Chunk*>::free(_chunks, _number_of_chunks);
}

bool ThirdPartyHeapObjectIterator::visit(oop object) {
  const size_t offset = cast_from_oop<uintptr_t>(object) - _start;
  Chunk*& chunk = _chunks[offset / ChunkSize];
  if (chunk == NULL) {
    chunk = _made = new Chunk(_made);
  }
  return chunk->visit((offset % ChunkSize) / HeapWordSize);
}

void ThirdPartyHeapObjectIterator::push(oop object) {
  if (visit(object)) {
    _stack.push(object);
  }
}

void ThirdPartyHeapObjectIterator::do_oop(oop* p) {
  const oop object = *p;
  if (object != NULL) {
    push(object);
  }
}

void ThirdPartyHeapObjectIterator::do_oop(narrowOop* p) {
  const narrowOop object = *p;
  if (!CompressedOops::is_null(object)) {
    push(CompressedOops::decode_not_null(object));
  }
}

void ThirdPartyHeapObjectIterator::push_roots() {
  ResourceMark rm;
  HandleMark hm(Thread::current());
  ThirdPartyHeapRoots::oops_do(this);
  Threads::oops_do(this, NULL);
  WeakProcessor::oops_do(this);
}

void ThirdPartyHeapObjectIterator::object_iterate(ObjectClosure* closure) {
  assert(SafepointSynchronize::is_at_safepoint(), "the object graph must not change");
  push_roots();
  while (!_stack.is_empty()) {
    const oop object = _stack.pop();
    closure->do_object(object);
    object->oop_iterate(this);
  }
}
