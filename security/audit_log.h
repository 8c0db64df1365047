#pragma once

// The audit log: lines of the process's log that begin with `audit`. They are written at every log
// level except `off`:
//
//   audit login user=alice host=10.0.0.5:4242 withheld=0
//   audit refused user=alice host=10.0.0.5:4242 reason="wrong user or password" withheld=0
//   audit denied user=alice host=10.0.0.5:4242 what="publish to quote" withheld=3
//   audit act user=root host=127.0.0.1:4243 what=".u.endofday" withheld=0
//
// For each of the four kinds, at most 100 lines are written at once, and 2 per second after that.
// `withheld` is the number of lines of the same kind that were left out since the last one. So
// clients cannot fill the disk, and many refused logins cannot hide an act. Passwords are never
// logged.
//
// Threads: any.

#include <string_view>

namespace tickstack::security {

// Logs that a user has logged in. `host` is Connection::peer().
void AuditLogin(std::string_view user, std::string_view host);
// Logs that a login was refused.
void AuditRefused(std::string_view user, std::string_view host, std::string_view reason);
// Logs that a client tried something that its rights do not allow.
void AuditDenied(std::string_view user, std::string_view host, std::string_view what);
// Logs that a client used the right to administer.
void AuditAct(std::string_view user, std::string_view host, std::string_view what);

}  // namespace tickstack::security
