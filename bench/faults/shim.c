/* Fails the n-th call on files whose path matches a pattern. Preloaded into a collector by shim.py.

   A control file, named by FAULTS_CONTROL and shared by mapping it, says what fails; the harness changes it while the
   process runs. If FAULTS_TRACE names a file, every call on a path below FAULTS_ROOT is appended to it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { OPEN = 1, READ = 2, WRITE = 4, SYNC = 8, TRUNCATE = 16, RENAME = 32, UNLINK = 64 };

struct control {
  uint32_t calls; /* which of the above fail; 0 for none */
  int32_t error;
  uint64_t first, times; /* the matching calls that fail: from first on, so many */
  uint64_t seen, fired;
  int64_t clock; /* seconds that the wall clock is ahead */
  char pattern[464];
};

static struct control *control;
static int trace = -1;
static const char *root;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("FAULTS_CONTROL"), *log = getenv("FAULTS_TRACE");
  root = getenv("FAULTS_ROOT");
  if (path) {
    int fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
    void *map = fd < 0 ? MAP_FAILED : mmap(0, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED) control = map;
    if (fd >= 0) syscall(SYS_close, fd);
  }
  if (log) trace = syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static const char *name(int call) {
  switch (call) {
    case OPEN: return "open";
    case READ: return "read";
    case WRITE: return "write";
    case SYNC: return "sync";
    case TRUNCATE: return "truncate";
    case RENAME: return "rename";
    default: return "unlink";
  }
}

static int fails(int call, const char *path) {
  int before = errno, length;
  char line[4200];
  if (trace >= 0 && root && !strncmp(path, root, strlen(root))) {
    length = snprintf(line, sizeof line, "%s %s\n", name(call), path);
    if (length > 0 && length < (int)sizeof line) syscall(SYS_write, trace, line, length);
  }
  errno = before;
  if (!control || !(control->calls & call) || fnmatch(control->pattern, path, 0)) return 0;
  uint64_t number = __atomic_add_fetch(&control->seen, 1, __ATOMIC_SEQ_CST);
  if (number < control->first || number - control->first >= control->times) return 0;
  __atomic_add_fetch(&control->fired, 1, __ATOMIC_SEQ_CST);
  errno = control->error;
  return 1;
}

static int fails_fd(int call, int fd) {
  char link[40], path[4096];
  if (fd < 3 || (trace < 0 && !(control && control->calls & call))) return 0;
  int before = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  errno = before;
  if (length <= 0 || path[0] != '/') return 0;
  path[length] = 0;
  char *deleted = strstr(path, " (deleted)");
  if (deleted) *deleted = 0;
  return fails(call, path);
}

static int fails_path(int call, int folder, const char *given) {
  char link[40], path[4096];
  if (!given || (trace < 0 && !(control && control->calls & call))) return 0;
  if (given[0] == '/') return fails(call, given);
  int before = errno;
  if (folder == AT_FDCWD) snprintf(link, sizeof link, "/proc/self/cwd");
  else snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
  ssize_t length = readlink(link, path, sizeof path - 1);
  errno = before;
  if (length <= 0 || length + strlen(given) + 2 > sizeof path) return 0;
  path[length] = '/';
  strcpy(path + length + 1, given);
  return fails(call, path);
}

#define REAL(result, function, ...) \
  static result (*real)(__VA_ARGS__); \
  if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #function)

#define ON_FD(call, result, function, parameters, arguments, ...) \
  result function parameters { \
    REAL(result, function, __VA_ARGS__); \
    return fails_fd(call, fd) ? -1 : real arguments; \
  }

ON_FD(WRITE, ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size), int, const void *, size_t)
ON_FD(WRITE, ssize_t, pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at), int,
      const void *, size_t, off_t)
ON_FD(WRITE, ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at), int,
      const void *, size_t, off64_t)
ON_FD(WRITE, ssize_t, writev, (int fd, const struct iovec *parts, int count), (fd, parts, count), int,
      const struct iovec *, int)
ON_FD(WRITE, ssize_t, pwritev, (int fd, const struct iovec *parts, int count, off_t at), (fd, parts, count, at), int,
      const struct iovec *, int, off_t)
ON_FD(WRITE, int, fallocate, (int fd, int mode, off_t at, off_t size), (fd, mode, at, size), int, int, off_t, off_t)
ON_FD(WRITE, int, fallocate64, (int fd, int mode, off64_t at, off64_t size), (fd, mode, at, size), int, int, off64_t,
      off64_t)
ON_FD(READ, ssize_t, read, (int fd, void *data, size_t size), (fd, data, size), int, void *, size_t)
ON_FD(READ, ssize_t, pread, (int fd, void *data, size_t size, off_t at), (fd, data, size, at), int, void *, size_t,
      off_t)
ON_FD(READ, ssize_t, pread64, (int fd, void *data, size_t size, off64_t at), (fd, data, size, at), int, void *,
      size_t, off64_t)
ON_FD(SYNC, int, fsync, (int fd), (fd), int)
ON_FD(SYNC, int, fdatasync, (int fd), (fd), int)
ON_FD(TRUNCATE, int, ftruncate, (int fd, off_t size), (fd, size), int, off_t)
ON_FD(TRUNCATE, int, ftruncate64, (int fd, off64_t size), (fd, size), int, off64_t)

#define OPENS(function, parameters, folder, arguments, ...) \
  int function parameters { \
    REAL(int, function, __VA_ARGS__, ...); \
    mode_t mode = 0; \
    if (flags & (O_CREAT | O_TMPFILE)) { \
      va_list more; \
      va_start(more, flags); \
      mode = va_arg(more, mode_t); \
      va_end(more); \
    } \
    return fails_path(OPEN, folder, path) ? -1 : real arguments; \
  }

OPENS(open, (const char *path, int flags, ...), AT_FDCWD, (path, flags, mode), const char *, int)
OPENS(open64, (const char *path, int flags, ...), AT_FDCWD, (path, flags, mode), const char *, int)
OPENS(openat, (int folder, const char *path, int flags, ...), folder, (folder, path, flags, mode), int, const char *,
      int)
OPENS(openat64, (int folder, const char *path, int flags, ...), folder, (folder, path, flags, mode), int, const char *,
      int)

#define ON_PATHS(call, function, parameters, first, second, arguments, ...) \
  int function parameters { \
    REAL(int, function, __VA_ARGS__); \
    return fails_path(call, AT_FDCWD, first) || fails_path(call, AT_FDCWD, second) ? -1 : real arguments; \
  }

ON_PATHS(RENAME, rename, (const char *from, const char *to), from, to, (from, to), const char *, const char *)
ON_PATHS(RENAME, link, (const char *from, const char *to), from, to, (from, to), const char *, const char *)
ON_PATHS(UNLINK, unlink, (const char *path), path, NULL, (path), const char *)
ON_PATHS(UNLINK, remove, (const char *path), path, NULL, (path), const char *)

int clock_gettime(clockid_t clock, struct timespec *now) {
  long failed = syscall(SYS_clock_gettime, clock, now);
  if (!failed && clock == CLOCK_REALTIME && control) now->tv_sec += control->clock;
  return failed;
}

int renameat(int a, const char *from, int b, const char *to) {
  REAL(int, renameat, int, const char *, int, const char *);
  return fails_path(RENAME, a, from) || fails_path(RENAME, b, to) ? -1 : real(a, from, b, to);
}

int linkat(int a, const char *from, int b, const char *to, int flags) {
  REAL(int, linkat, int, const char *, int, const char *, int);
  return fails_path(RENAME, a, from) || fails_path(RENAME, b, to) ? -1 : real(a, from, b, to, flags);
}

int unlinkat(int folder, const char *path, int flags) {
  REAL(int, unlinkat, int, const char *, int);
  return fails_path(UNLINK, folder, path) ? -1 : real(folder, path, flags);
}
