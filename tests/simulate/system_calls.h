#pragma once

// Replaces system calls of simulated processes. system_calls.cc defines functions of the C library,
// such as open and pthread_cond_wait, for the whole program, so that libraries call these instead
// of the C library's. They forward calls that do not concern a simulated world to the functions
// below, which are the C library's.

#include <pthread.h>
#include <sys/types.h>

#include <cstddef>

namespace tickstack::simulate::real {

int Open(const char* path, int flags, mode_t mode);
int Close(int fd);
ssize_t ReadAt(int fd, void* bytes, size_t count, off_t offset);
ssize_t WriteAt(int fd, const void* bytes, size_t count, off_t offset);
int Truncate(int fd, off_t bytes);
int Rename(const char* from, const char* to);
int Remove(const char* path, bool is_directory);
int MakeDirectory(const char* path, mode_t mode);

int CreateThread(pthread_t* handle, const pthread_attr_t* attributes, void* (*function)(void*),
                 void* argument);
int JoinThread(pthread_t handle);
int TryLock(pthread_mutex_t* mutex);
int Unlock(pthread_mutex_t* mutex);

}  // namespace tickstack::simulate::real
