/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../lib/agent.h"
#include <stdatomic.h>

static atomic_int count;
static jclass counted;

static void JNICALL on_sampled(jvmtiEnv* env, JNIEnv* jni, jthread thread, jobject object, jclass klass, jlong size) {
  if (counted != NULL && (*jni)->IsSameObject(jni, klass, counted)) {
    atomic_fetch_add(&count, 1);
  }
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void* reserved) {
  jvmtiCapabilities capabilities = {.can_generate_sampled_object_alloc_events = 1};
  return start_agent(vm, capabilities, (jvmtiEventCallbacks){.SampledObjectAlloc = on_sampled}, 0);
}

JNIEXPORT void JNICALL Java_ObjectSampling_sample(JNIEnv* env, jclass klass, jint interval, jclass type) {
  counted = (*env)->NewGlobalRef(env, type);
  if (interval >= 0) {
    check(env, (*jvmti)->SetHeapSamplingInterval(jvmti, interval));
  }
  jvmtiEventMode mode = interval >= 0 ? JVMTI_ENABLE : JVMTI_DISABLE;
  check(env, (*jvmti)->SetEventNotificationMode(jvmti, mode, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, NULL));
}

JNIEXPORT jint JNICALL Java_ObjectSampling_samples(JNIEnv* env, jclass klass) {
  return atomic_load(&count);
}
