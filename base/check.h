#pragma once

// TS_CHECK states an invariant of our own code, in release builds too: wrong prices are worse than
// no prices. Outside bytes must never reach one. TS_DCHECK is for checks per row, in debug builds
// only.

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
