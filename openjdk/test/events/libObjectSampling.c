/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <jni.h>
#include <jvmti.h>
#include <stdatomic.h>

static jvmtiEnv* jvmti;
static atomic_int count;
static jclass counted;

static void JNICALL on_sampled(jvmtiEnv* env, JNIEnv* jni, jthread thread, jobject object, jclass klass, jlong size) {
  if (counted != NULL && (*jni)->IsSameObject(jni, klass, counted)) {
    atomic_fetch_add(&count, 1);
  }
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void* reserved) {
  jvmtiCapabilities capabilities = {.can_generate_sampled_object_alloc_events = 1};
  jvmtiEventCallbacks callbacks = {.SampledObjectAlloc = on_sampled};
  if ((*vm)->GetEnv(vm, (void**)&jvmti, JVMTI_VERSION_11) != JNI_OK ||
      (*jvmti)->AddCapabilities(jvmti, &capabilities) != JVMTI_ERROR_NONE ||
      (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof(callbacks)) != JVMTI_ERROR_NONE) {
    return JNI_ERR;
  }
  return JNI_OK;
}

static void check(JNIEnv* env, jvmtiError error) {
  if (error != JVMTI_ERROR_NONE) {
    (*env)->FatalError(env, "a JVMTI function failed");
  }
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
