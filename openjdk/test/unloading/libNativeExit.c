/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <jni.h>
#include <stdlib.h>
#include <unistd.h>

#define SECONDS 2

/* Preloaded, this library is there before the JVM's. So its handler runs after what the JVM's library has for the end of the process. */
static void linger(void) {
  sleep(SECONDS);
}

__attribute__((constructor)) static void begin(void) {
  atexit(linger);
}

JNIEXPORT void JNICALL Java_NativeExit_00024Main_exit(JNIEnv* env, jclass type, jint code) {
  exit(code);
}
