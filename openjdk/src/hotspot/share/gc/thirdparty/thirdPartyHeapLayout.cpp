/*
 * SPDX-License-Identifier: GPL-2.0-only WITH Classpath-exception-2.0
 */
#include "precompiled.hpp"
#include "classfile/classLoaderData.hpp"
#include "classfile/javaClasses.hpp"
#include "classfile/symbolTable.hpp"
#include "classfile/vmClasses.hpp"
#include "classfile/vmSymbols.hpp"
#include "gc/thirdparty/thirdPartyHeapLayout.hpp"
#include "memory/referenceType.hpp"
#include "oops/arrayOop.hpp"
#include "oops/compressedOops.hpp"
#include "oops/instanceKlass.hpp"
#include "oops/instanceMirrorKlass.hpp"
#include "oops/klass.inline.hpp"
#include "runtime/fieldDescriptor.inline.hpp"
#include "runtime/vmStructs.hpp"

extern "C" VMStructEntry* gHotSpotVMStructs;

uint32_t ThirdPartyHeapLayoutReader::field_offset(const char* type, const char* field) {
  for (const VMStructEntry* entry = gHotSpotVMStructs; entry->typeName != NULL; entry++) {
    if (strcmp(entry->typeName, type) == 0 && strcmp(entry->fieldName, field) == 0) {
      return entry->isStatic ? *(int*)entry->address : (uint32_t)entry->offset;
    }
  }
  fatal("no field %s::%s in vmStructs", type, field);
  return 0;
}

void ThirdPartyHeapLayoutReader::read_klass(ThirdPartyHeapLayout* layout) {
  layout->klass_layout_helper_offset = in_bytes(Klass::layout_helper_offset());
  layout->klass_id_offset = field_offset("Klass", "_id");
  layout->klass_vtable_length_offset = in_bytes(Klass::vtable_length_offset());
  layout->klass_class_loader_data_offset = in_bytes(Klass::class_loader_data_offset());
  layout->id_instance = InstanceKlassID;
  layout->id_instance_ref = InstanceRefKlassID;
  layout->id_instance_mirror = InstanceMirrorKlassID;
  layout->id_instance_class_loader = InstanceClassLoaderKlassID;
  layout->id_type_array = TypeArrayKlassID;
  layout->id_object_array = ObjArrayKlassID;

  layout->instance_klass_header_size = in_bytes(Klass::vtable_start_offset());
  layout->instance_klass_itable_length_offset = field_offset("InstanceKlass", "_itable_len");
  layout->instance_klass_oop_map_size_offset = field_offset("InstanceKlass", "_nonstatic_oop_map_size");
  layout->instance_klass_reference_type_offset = in_bytes(InstanceKlass::reference_type_offset());
  layout->oop_map_block_size = OopMapBlock::size_in_words() * wordSize;
}

void ThirdPartyHeapLayoutReader::read_mirror_and_reference(ThirdPartyHeapLayout* layout) {
  layout->mirror_static_fields_offset = InstanceMirrorKlass::offset_of_static_fields();
  layout->mirror_static_oop_count_offset = field_offset("java_lang_Class", "_static_oop_field_count_offset");
  layout->mirror_oop_size_offset = field_offset("java_lang_Class", "_oop_size_offset");

  layout->reference_referent_offset = java_lang_ref_Reference::referent_offset();
  layout->reference_discovered_offset = java_lang_ref_Reference::discovered_offset();
  layout->reference_next_offset = java_lang_ref_Reference::next_offset();
  fieldDescriptor timestamp;
  TempNewSymbol name = SymbolTable::new_symbol("timestamp");
  const bool found = vmClasses::SoftReference_klass()->find_local_field(name, vmSymbols::long_signature(), &timestamp);
  guarantee(found, "SoftReference has a timestamp");
  layout->soft_reference_timestamp_offset = timestamp.offset();
  layout->reference_soft = REF_SOFT;
  layout->reference_weak = REF_WEAK;
  layout->reference_final = REF_FINAL;
  layout->reference_phantom = REF_PHANTOM;
}

void ThirdPartyHeapLayoutReader::read_class_loader_data(ThirdPartyHeapLayout* layout) {
  layout->mirror_klass_offset = java_lang_Class::klass_offset();
  layout->loader_class_loader_data_offset =
      JavaClasses::compute_injected_offset(JavaClasses::java_lang_ClassLoader_loader_data_enum);
  layout->class_loader_data_claim_offset = field_offset("ClassLoaderData", "_claim");
  layout->class_loader_data_claimed = ClassLoaderData::_claim_strong;
}

ThirdPartyHeapLayout ThirdPartyHeapLayoutReader::read() {
  ThirdPartyHeapLayout layout;
  layout.size = sizeof(layout);
  layout.narrow_klass_base = (uint64_t)(uintptr_t)CompressedKlassPointers::base();
  layout.narrow_klass_shift = CompressedKlassPointers::shift();
  layout.use_compressed_class_pointers = UseCompressedClassPointers;
  layout.klass_offset = oopDesc::klass_offset_in_bytes();
  layout.array_length_offset = arrayOopDesc::length_offset_in_bytes();
  layout.object_array_base_offset = arrayOopDesc::base_offset_in_bytes(T_OBJECT);
  read_klass(&layout);
  read_mirror_and_reference(&layout);
  read_class_loader_data(&layout);
  return layout;
}
