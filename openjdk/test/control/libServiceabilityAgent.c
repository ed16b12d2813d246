/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <jni.h>

JNIEXPORT void JNICALL Java_ServiceabilityAgent_00024Main_holdByHandle(JNIEnv* env, jclass klass, jobject object) {
  (*env)->NewGlobalRef(env, object);
}
