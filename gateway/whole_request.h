#pragma once

#include "absl/functional/function_ref.h"
#include "table/value.h"

namespace tickstack::gateway {

// True if one process can answer the request as it is: a text, or (f; x; ...) with such a text or
// the name of a function. It names none of the client's variables (`is_own`), and nothing of the
// connection; it assigns nothing, and evaluates no text that it makes. Unless the process has all
// days, the request does not name `date` or anything about partitions. It only reads if
// `*only_reads`.
bool IsForOneProcess(const Value& request, absl::FunctionRef<bool(std::string_view)> is_own,
                     bool has_all_days, bool* only_reads);

}  // namespace tickstack::gateway
