/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <jni.h>
#include <stdlib.h>

enum Kind { GLOBAL = 0, WEAK = 1 };

JNIEXPORT jlong JNICALL Java_JniHandles_newHandle(JNIEnv* env, jclass klass, jint kind, jobject object) {
  return (jlong)(kind == GLOBAL ? (*env)->NewGlobalRef(env, object) : (*env)->NewWeakGlobalRef(env, object));
}

JNIEXPORT jobject JNICALL Java_JniHandles_get(JNIEnv* env, jclass klass, jlong handle) {
  return (*env)->NewLocalRef(env, (jobject)handle);
}

JNIEXPORT jboolean JNICALL Java_JniHandles_isCleared(JNIEnv* env, jclass klass, jlong handle) {
  return (*env)->IsSameObject(env, (jobject)handle, NULL);
}

JNIEXPORT void JNICALL Java_JniHandles_delete(JNIEnv* env, jclass klass, jint kind, jlong handle) {
  if (kind == GLOBAL) {
    (*env)->DeleteGlobalRef(env, (jobject)handle);
  } else {
    (*env)->DeleteWeakGlobalRef(env, (jobject)handle);
  }
}

static void collect(JNIEnv* env) {
  jclass system = (*env)->FindClass(env, "java/lang/System");
  (*env)->CallStaticVoidMethod(env, system, (*env)->GetStaticMethodID(env, system, "gc", "()V"));
}

JNIEXPORT jint JNICALL Java_JniHandles_locals(JNIEnv* env, jclass klass, jint count) {
  jintArray* arrays = malloc(count * sizeof(jintArray));
  jint right = 0;
  if (arrays == NULL || (*env)->PushLocalFrame(env, count + 16) != 0) {
    free(arrays);
    return -1;
  }
  for (jint i = 0; i < count; i++) {
    arrays[i] = (*env)->NewIntArray(env, 1 + i % 50);
    (*env)->SetIntArrayRegion(env, arrays[i], i % 50, 1, &i);
    if (i % 500 == 0) {
      collect(env);
    }
  }
  collect(env);
  collect(env);
  for (jint i = 0; i < count; i++) {
    jint value = -1;
    (*env)->GetIntArrayRegion(env, arrays[i], i % 50, 1, &value);
    right += value == i && (*env)->GetArrayLength(env, arrays[i]) == 1 + i % 50;
  }
  (*env)->PopLocalFrame(env, NULL);
  free(arrays);
  return right;
}
