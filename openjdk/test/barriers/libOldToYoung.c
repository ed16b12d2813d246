/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <jni.h>

JNIEXPORT void JNICALL Java_Routes_setField(JNIEnv* env, jclass klass, jobject holder, jobject value) {
  jfieldID field = (*env)->GetFieldID(env, (*env)->GetObjectClass(env, holder), "field", "Ljava/lang/Object;");
  (*env)->SetObjectField(env, holder, field, value);
}

JNIEXPORT void JNICALL Java_Routes_setElement(JNIEnv* env, jclass klass, jobjectArray array, jint index, jobject value) {
  (*env)->SetObjectArrayElement(env, array, index, value);
}

JNIEXPORT void JNICALL Java_Routes_setStatic(JNIEnv* env, jclass klass, jobject value) {
  jfieldID field = (*env)->GetStaticFieldID(env, klass, "byJni", "Ljava/lang/Object;");
  (*env)->SetStaticObjectField(env, klass, field, value);
}
