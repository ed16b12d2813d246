/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include "../lib/agent.h"
#include <stdio.h>

#define ARRAYS 256
#define ARRAY_BYTES (1 << 20)

static void JNICALL vm_death(jvmtiEnv* agent, JNIEnv* env) {
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
  return start_agent(vm, (jvmtiCapabilities){0}, (jvmtiEventCallbacks){.VMDeath = vm_death}, JVMTI_EVENT_VM_DEATH);
}
