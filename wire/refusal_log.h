#pragma once

// Lines of the audit log about clients that are refused before they have told their name: in the
// same form as security/audit_log.h, whatever the log level except `off`.
//
//   audit refused user=- host=10.0.0.6 reason="certificate has expired" withheld=0
//
// At most one line per second; `withheld` is the number that were left out since the last one.
// Threads: any.

#include <string_view>

namespace tickstack::wire {

void LogRefusal(std::string_view host, std::string_view reason);

}  // namespace tickstack::wire
