/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <jni.h>

JNIEXPORT jlong JNICALL Java_Reachable_globalReference(JNIEnv* env, jclass type, jobject object) {
  return (jlong)(*env)->NewGlobalRef(env, object);
}

JNIEXPORT jobject JNICALL Java_Reachable_take(JNIEnv* env, jclass type, jlong reference) {
  jobject object = (*env)->NewLocalRef(env, (jobject)reference);
  (*env)->DeleteGlobalRef(env, (jobject)reference);
  return object;
}
