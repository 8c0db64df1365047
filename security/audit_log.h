#pragma once

// The audit log: lines of the process's log that begin with `audit`, whatever the log level except
// `off`:
//
//   audit login user=alice host=10.0.0.5:4242 withheld=0
//   audit refused user=alice host=10.0.0.5:4242 reason="wrong user or password" withheld=0
//   audit denied user=alice host=10.0.0.5:4242 what="publish to quote" withheld=3
//   audit act user=root host=127.0.0.1:4243 what=".u.endofday" withheld=0
//
// Each of the four kinds has a bound of its own: 100 lines at once, and 2 per second after that.
// `withheld` is the number of lines of the kind that were left out since the last one. So nobody
// can fill a disk, and a flood of refused logins hides no act. Passwords are never logged.
//
// Threads: any.

#include <string_view>

namespace tickstack::security {

void AuditLogin(std::string_view user, std::string_view host);
void AuditRefused(std::string_view user, std::string_view host, std::string_view reason);
void AuditDenied(std::string_view user, std::string_view host, std::string_view what);
void AuditAct(std::string_view user, std::string_view host, std::string_view what);

}  // namespace tickstack::security
