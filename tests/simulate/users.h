#pragma once

// Users of a stack, for lives with a users file: an authenticator that believes each name, and a
// stranger, who may publish and tries to use the names of others' feeds.

#include <memory>
#include <string>
#include <vector>

#include "tests/simulate/stack.h"
#include "tests/simulate/world.h"
#include "wire/authenticator.h"

namespace tickstack::simulate {

// Feeds and the stranger may publish, all others may do everything.
std::shared_ptr<wire::Authenticator> MakeUsers();

// Starts the stranger. While rows are logged under one of the names, which then belongs to the user
// of these rows, it claims the name and sends rows under it. `stolen`: what it was granted; empty:
// nothing.
absl::StatusOr<std::unique_ptr<Program>> StartStranger(Process& process,
                                                       const StackOptions& options,
                                                       std::vector<std::string> names,
                                                       std::string& stolen);

}  // namespace tickstack::simulate
