/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <jni.h>
#include <stddef.h>

JNIEXPORT jint JNICALL Java_CriticalAllocation_00024Main_allocate(JNIEnv* env, jclass klass, jbyteArray array, jint most,
                                                                    jint bytes) {
  void* elements = (*env)->GetPrimitiveArrayCritical(env, array, NULL);
  jint count = 0;
  while (count < most) {
    jbyteArray made = (*env)->NewByteArray(env, bytes);
    if (made == NULL) {
      (*env)->ExceptionClear(env);
      break;
    }
    (*env)->DeleteLocalRef(env, made);
    count++;
  }
  (*env)->ReleasePrimitiveArrayCritical(env, array, elements, 0);
  return count;
}

JNIEXPORT void JNICALL Java_CriticalAllocation_00024Main_collect(JNIEnv* env, jclass klass, jbyteArray array,
                                                                   jobject collection) {
  jclass runnable = (*env)->GetObjectClass(env, collection);
  jmethodID run = (*env)->GetMethodID(env, runnable, "run", "()V");
  void* elements = (*env)->GetPrimitiveArrayCritical(env, array, NULL);
  (*env)->CallVoidMethod(env, collection, run);
  (*env)->ReleasePrimitiveArrayCritical(env, array, elements, 0);
}
