#pragma once

// TS_CHECK ends the process if an invariant of our own code does not hold, in release builds too:
// wrong prices are worse than no prices. It must not depend on bytes from files or sockets; those
// are checked by code that returns an error. TS_DCHECK does the same in debug builds only, for
// checks that would cost too much because they run for every row.

namespace tickstack::internal {
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition);
}  // namespace tickstack::internal

#define TS_CHECK(condition)     \
  (static_cast<bool>(condition) \
       ? static_cast<void>(0)   \
       : ::tickstack::internal::CheckFailed(__FILE__, __LINE__, #condition))

#ifdef NDEBUG
#define TS_DCHECK(condition) static_cast<void>(sizeof(!(condition)))
#else
#define TS_DCHECK(condition) TS_CHECK(condition)
#endif
