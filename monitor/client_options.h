#pragma once

// How the monitor's own connections log in at the processes of its stack.

#include "wire/client.h"

namespace tickstack::monitor {

inline wire::ClientOptions LinkOptions() {
  wire::ClientOptions options;
  options.user = "monitor";
  options.is_link = true;
  return options;
}

}  // namespace tickstack::monitor
