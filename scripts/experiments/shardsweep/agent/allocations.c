/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A JVMTI agent that sees every object that the JVM allocates on its heap, and counts them by size.
 *
 * java -agentpath:liballocations.so=FILE ... writes to FILE, when the JVM ends, a line for each size: bytes, objects.
 * Objects whose allocation the compilers leave out are not there to be seen.
 */
#include <jvmti.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  GRANULE = 8,
  /* Sizes up to this one are told exactly. */
  EXACT = 1 << 20,
  EXACT_SIZES = EXACT / GRANULE + 1,
  /* Larger ones by the power of two that they do not exceed. */
  POWERS = 48
};

static atomic_ulong exact[EXACT_SIZES];
static atomic_ulong powers_objects[POWERS];
static atomic_ulong powers_bytes[POWERS];
static char* file_name;

static void JNICALL object_allocated(jvmtiEnv* jvmti, JNIEnv* jni, jthread thread, jobject object, jclass type, jlong size) {
  (void)jvmti, (void)jni, (void)thread, (void)object, (void)type;
  if (size <= EXACT) {
    atomic_fetch_add_explicit(&exact[size / GRANULE], 1, memory_order_relaxed);
    return;
  }
  int power = 0;
  while (((jlong)1 << power) < size) {
    power++;
  }
  atomic_fetch_add_explicit(&powers_objects[power], 1, memory_order_relaxed);
  atomic_fetch_add_explicit(&powers_bytes[power], (unsigned long)size, memory_order_relaxed);
}

/* A size of many sizes is their mean: objects times size is then what they are together. */
static void JNICALL vm_ends(jvmtiEnv* jvmti, JNIEnv* jni) {
  (void)jni;
  (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_DISABLE, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, NULL);
  FILE* file = fopen(file_name, "w");
  if (file == NULL) {
    fprintf(stderr, "allocations: cannot write %s\n", file_name);
    return;
  }
  for (int i = 0; i < EXACT_SIZES; i++) {
    if (exact[i] != 0) {
      fprintf(file, "%d %lu\n", i * GRANULE, exact[i]);
    }
  }
  for (int i = 0; i < POWERS; i++) {
    if (powers_objects[i] != 0) {
      fprintf(file, "%lu %lu\n", powers_bytes[i] / powers_objects[i], powers_objects[i]);
    }
  }
  fclose(file);
}

static jint failed(const char* what) {
  fprintf(stderr, "allocations: %s\n", what);
  return JNI_ERR;
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void* reserved) {
  (void)reserved;
  if (options == NULL || *options == '\0') {
    return failed("give a file: -agentpath:liballocations.so=FILE");
  }
  file_name = strdup(options);
  jvmtiEnv* jvmti;
  if ((*vm)->GetEnv(vm, (void**)&jvmti, JVMTI_VERSION_11) != JNI_OK) {
    return failed("this JVM has no JVMTI 11");
  }
  jvmtiCapabilities wanted;
  memset(&wanted, 0, sizeof wanted);
  wanted.can_generate_sampled_object_alloc_events = 1;
  jvmtiEventCallbacks callbacks;
  memset(&callbacks, 0, sizeof callbacks);
  callbacks.SampledObjectAlloc = object_allocated;
  callbacks.VMDeath = vm_ends;
  /* With an interval of 0 every allocation is a sample. */
  if ((*jvmti)->AddCapabilities(jvmti, &wanted) != JVMTI_ERROR_NONE ||
      (*jvmti)->SetHeapSamplingInterval(jvmti, 0) != JVMTI_ERROR_NONE ||
      (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof callbacks) != JVMTI_ERROR_NONE ||
      (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_DEATH, NULL) != JVMTI_ERROR_NONE ||
      (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, NULL) != JVMTI_ERROR_NONE) {
    return failed("this JVM does not tell of allocations");
  }
  return JNI_OK;
}
