#pragma once

// What the end of a command tells the shell.

namespace tickstack::cli {

inline constexpr int kExitFailed = 1;
inline constexpr int kExitWrongUsage = 2;

}  // namespace tickstack::cli
