/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <jni.h>
#include <time.h>

/* Gives the other threads time to ask for a collection. */
static void pause_for(jint milliseconds) {
  struct timespec time = {.tv_sec = 0, .tv_nsec = milliseconds * 1000000L};
  nanosleep(&time, NULL);
}

JNIEXPORT jlong JNICALL Java_JniCritical_addOne(JNIEnv* env, jclass klass, jintArray array, jint milliseconds) {
  jsize length = (*env)->GetArrayLength(env, array);
  jint* elements = (*env)->GetPrimitiveArrayCritical(env, array, NULL);
  jlong before = 0, after = 0;
  if (elements == NULL) {
    return -1;
  }
  for (jsize i = 0; i < length; i++) {
    before += elements[i];
  }
  pause_for(milliseconds);
  for (jsize i = 0; i < length; i++) {
    after += elements[i]++;
  }
  (*env)->ReleasePrimitiveArrayCritical(env, array, elements, 0);
  return before == after ? before : -1;
}

JNIEXPORT void JNICALL Java_JniCritical_copy(JNIEnv* env, jclass klass, jintArray from, jintArray to, jint milliseconds) {
  jsize length = (*env)->GetArrayLength(env, from);
  jint* source = (*env)->GetPrimitiveArrayCritical(env, from, NULL);
  jint* target = (*env)->GetPrimitiveArrayCritical(env, to, NULL);
  pause_for(milliseconds);
  for (jsize i = 0; source != NULL && target != NULL && i < length; i++) {
    target[i] = source[i];
  }
  if (target != NULL) {
    (*env)->ReleasePrimitiveArrayCritical(env, to, target, 0);
  }
  if (source != NULL) {
    (*env)->ReleasePrimitiveArrayCritical(env, from, source, JNI_ABORT);
  }
}

static jlong sum(const jchar* chars, jsize length) {
  jlong total = 0;
  for (jsize i = 0; i < length; i++) {
    total += chars[i];
  }
  return total;
}

JNIEXPORT jlong JNICALL Java_JniCritical_sumOf(JNIEnv* env, jclass klass, jstring text, jint milliseconds) {
  jsize length = (*env)->GetStringLength(env, text);
  const jchar* chars = (*env)->GetStringCritical(env, text, NULL);
  if (chars == NULL) {
    return -1;
  }
  jlong before = sum(chars, length);
  pause_for(milliseconds);
  jlong after = sum(chars, length);
  (*env)->ReleaseStringCritical(env, text, chars);
  return before == after ? before : -1;
}
