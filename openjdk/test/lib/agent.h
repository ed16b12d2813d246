/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the JVMTI agents of tests share. */
#ifndef AGENT_H
#define AGENT_H

#include <jni.h>
#include <jvmti.h>
#include <stddef.h>

static jvmtiEnv* jvmti;

/* Makes `jvmti`, with those capabilities and callbacks, and that event from the start, unless it is 0. */
static inline jint start_agent(JavaVM* vm, jvmtiCapabilities capabilities, jvmtiEventCallbacks callbacks, int event) {
  if ((*vm)->GetEnv(vm, (void**)&jvmti, JVMTI_VERSION_11) != JNI_OK ||
      (*jvmti)->AddCapabilities(jvmti, &capabilities) != JVMTI_ERROR_NONE ||
      (*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof(callbacks)) != JVMTI_ERROR_NONE ||
      (event != 0 && (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, event, NULL) != JVMTI_ERROR_NONE)) {
    return JNI_ERR;
  }
  return JNI_OK;
}

/* JVMTI calls must not fail: one that does ends the JVM. */
static inline void check(JNIEnv* env, jvmtiError error) {
  if (error != JVMTI_ERROR_NONE) {
    (*env)->FatalError(env, "a JVMTI function failed");
  }
}

#endif
