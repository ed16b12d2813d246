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
#include "oops/objArrayKlass.inline.hpp"
#include "oops/objArrayOop.inline.hpp"
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

void ThirdPartyHeapObjectIterator::follow(oop object) {
  if (object->is_objArray()) {
    follow_elements({objArrayOop(object), 0});
  } else {
    object->oop_iterate(this);
  }
}

// What the first elements lead to is visited before the next ones: else the stack would get as long as the longest array.
void ThirdPartyHeapObjectIterator::follow_elements(Elements elements) {
  const int end = (int)MIN2((uintx)elements.array->length(), elements.start + ObjArrayMarkingStride);
  if (end < elements.array->length()) {
    _elements.push({elements.array, end});
  }
  elements.array->oop_iterate_range(this, elements.start, end);
}

void ThirdPartyHeapObjectIterator::object_iterate(ObjectClosure* closure) {
  assert(SafepointSynchronize::is_at_safepoint(), "the object graph must not change");
  push_roots();
  while (!_stack.is_empty() || !_elements.is_empty()) {
    if (_stack.is_empty()) {
      follow_elements(_elements.pop());
    } else {
      const oop object = _stack.pop();
      closure->do_object(object);
      follow(object);
    }
  }
}
