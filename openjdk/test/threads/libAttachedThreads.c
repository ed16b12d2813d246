/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#include <jni.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define MAX_THREADS 64
#define REPEATS 50

static JavaVM* vm;
static jclass test_class;
static jmethodID from_native;

struct Task {
  pthread_t thread;
  int number;
  int succeeded;
};

/* What fromNative makes of a number: "7;7;7;..." */
static int is_expected(const char* text, int number) {
  char part[16];
  int length = snprintf(part, sizeof(part), "%d;", number);
  for (int i = 0; i < REPEATS; i++, text += length) {
    if (strncmp(text, part, length) != 0) {
      return 0;
    }
  }
  return *text == '\0';
}

static int call_java(JNIEnv* env, int number) {
  jstring text = (*env)->CallStaticObjectMethod(env, test_class, from_native, number);
  if (text == NULL || (*env)->ExceptionCheck(env)) {
    (*env)->ExceptionDescribe(env);
    return 0;
  }
  /* An object that only a local handle of this native frame holds, over a collection. */
  jintArray array = (*env)->NewIntArray(env, 100);
  (*env)->SetIntArrayRegion(env, array, 42, 1, &number);
  jclass system = (*env)->FindClass(env, "java/lang/System");
  if (number % 4 == 0) {
    (*env)->CallStaticVoidMethod(env, system, (*env)->GetStaticMethodID(env, system, "gc", "()V"));
  }
  jint back = -1;
  (*env)->GetIntArrayRegion(env, array, 42, 1, &back);
  const char* chars = (*env)->GetStringUTFChars(env, text, NULL);
  int expected = is_expected(chars, number) && back == number;
  (*env)->ReleaseStringUTFChars(env, text, chars);
  return expected;
}

static void* run(void* argument) {
  struct Task* task = argument;
  JNIEnv* env = NULL;
  if ((*vm)->AttachCurrentThread(vm, (void**)&env, NULL) == JNI_OK) {
    int succeeded = call_java(env, task->number);
    task->succeeded = (*vm)->DetachCurrentThread(vm) == JNI_OK && succeeded;
  }
  return NULL;
}

JNIEXPORT jint JNICALL Java_AttachedThreads_attachAndDetach(JNIEnv* env, jclass klass, jint count) {
  struct Task tasks[MAX_THREADS] = {0};
  int succeeded = 0;
  (*env)->GetJavaVM(env, &vm);
  test_class = (*env)->NewGlobalRef(env, klass);
  from_native = (*env)->GetStaticMethodID(env, klass, "fromNative", "(I)Ljava/lang/String;");
  int started = 0;
  for (; started < count && started < MAX_THREADS; started++) {
    tasks[started].number = started;
    if (pthread_create(&tasks[started].thread, NULL, run, &tasks[started]) != 0) {
      break;
    }
  }
  for (int i = 0; i < started; i++) {
    pthread_join(tasks[i].thread, NULL);
    succeeded += tasks[i].succeeded;
  }
  (*env)->DeleteGlobalRef(env, test_class);
  return succeeded;
}
