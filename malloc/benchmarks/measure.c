// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs a command with a library preloaded, or with none if its name is empty, and prints on standard error what it took: wall, user and
// system microseconds, and KiB resident at most. A process of its own, as the peak of a child begins with what its parent held. Its exit
// code is the command's as shells have it: 128 and the signal's number where a signal ended it.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static long long microseconds(struct timeval time) { return time.tv_sec * 1000000LL + time.tv_usec; }

int main(int count, char **arguments) {
  if (count < 3) {
    fprintf(stderr, "usage: measure LIBRARY COMMAND...\n");
    return 1;
  }
  struct timespec began, ended;
  clock_gettime(CLOCK_MONOTONIC, &began);
  pid_t child = fork();
  if (child == 0) {
    if (*arguments[1]) setenv("LD_PRELOAD", arguments[1], 1);
    execv(arguments[2], arguments + 2);
    _exit(127);
  }
  int status;
  struct rusage usage;
  if (child < 0 || wait4(child, &status, 0, &usage) < 0) return 1;
  clock_gettime(CLOCK_MONOTONIC, &ended);
  long long wall = (ended.tv_sec - began.tv_sec) * 1000000LL + (ended.tv_nsec - began.tv_nsec) / 1000;
  fprintf(stderr, "%lld %lld %lld %ld\n", wall, microseconds(usage.ru_utime), microseconds(usage.ru_stime), usage.ru_maxrss);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
