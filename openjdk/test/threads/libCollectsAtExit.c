/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <jvmti.h>
#include <stdio.h>
#include <string.h>

#define ARRAYS 256
#define ARRAY_BYTES (1 << 20)

static void JNICALL vm_death(jvmtiEnv* jvmti, JNIEnv* env) {
  int allocated = 0;
  for (; allocated < ARRAYS; allocated++) {
    jbyteArray array = (*env)->NewByteArray(env, ARRAY_BYTES);
    if (array == NULL) {
      break;
    }
    (*env)->DeleteLocalRef(env, array);
  }
  printf("allocated at the end: %d MiB\n", allocated);
  fflush(stdout);
}

JNIEXPORT jint JNICALL Agent_OnLoad(JavaVM* vm, char* options, void* reserved) {
  jvmtiEnv* jvmti = NULL;
  jvmtiEventCallbacks callbacks;
  if ((*vm)->GetEnv(vm, (void**)&jvmti, JVMTI_VERSION_1_2) != JNI_OK) {
    return JNI_ERR;
  }
  memset(&callbacks, 0, sizeof(callbacks));
  callbacks.VMDeath = vm_death;
  if ((*jvmti)->SetEventCallbacks(jvmti, &callbacks, sizeof(callbacks)) != JVMTI_ERROR_NONE ||
      (*jvmti)->SetEventNotificationMode(jvmti, JVMTI_ENABLE, JVMTI_EVENT_VM_DEATH, NULL) != JVMTI_ERROR_NONE) {
    return JNI_ERR;
  }
  return JNI_OK;
}
