/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../lib/agent.h"
#include <stdatomic.h>
#include <stdlib.h>

static atomic_int free_events;

static void JNICALL on_object_free(jvmtiEnv* env, jlong tag) {
  atomic_fetch_add(&free_events, 1);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void* reserved) {
  jvmtiCapabilities capabilities = {.can_tag_objects = 1, .can_generate_object_free_events = 1};
  return start_agent(vm, capabilities, (jvmtiEventCallbacks){.ObjectFree = on_object_free}, JVMTI_EVENT_OBJECT_FREE);
}

JNIEXPORT void JNICALL Java_Tags_tag(JNIEnv* env, jclass klass, jobject object, jlong tag) {
  check(env, (*jvmti)->SetTag(jvmti, object, tag));
}

JNIEXPORT jlong JNICALL Java_Tags_tagOf(JNIEnv* env, jclass klass, jobject object) {
  jlong tag = 0;
  check(env, (*jvmti)->GetTag(jvmti, object, &tag));
  return tag;
}

JNIEXPORT jint JNICALL Java_Tags_countTagged(JNIEnv* env, jclass klass, jlong last) {
  jlong* tags = malloc(last * sizeof(jlong));
  jint count = 0;
  for (jlong i = 0; i < last; i++) {
    tags[i] = i + 1;
  }
  check(env, (*jvmti)->GetObjectsWithTags(jvmti, (jint)last, tags, &count, NULL, NULL));
  free(tags);
  return count;
}

JNIEXPORT jint JNICALL Java_Tags_freed(JNIEnv* env, jclass klass) {
  return atomic_load(&free_events);
}

static jint JNICALL count_one(jlong class_tag, jlong size, jlong* tag, jint length, void* count) {
  ++*(jint*)count;
  return JVMTI_VISIT_OBJECTS;
}

JNIEXPORT jint JNICALL Java_Tags_countInstances(JNIEnv* env, jclass klass, jclass type) {
  jvmtiHeapCallbacks callbacks = {.heap_iteration_callback = count_one};
  jint count = 0;
  check(env, (*jvmti)->IterateThroughHeap(jvmti, 0, type, &callbacks, &count));
  return count;
}
