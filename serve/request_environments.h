#pragma once

#include <memory>

#include "query/language/environment.h"

namespace tickstack::serve {

// An environment that also has this class gives each request one of its own. In that one, tables
// and values belong together, although those of the process change while the request is evaluated.
class RequestEnvironments {
 public:
  // Threads: any. The result is for one thread, and this must outlive it.
  virtual std::unique_ptr<query::Environment> ForRequest() = 0;

 protected:
  ~RequestEnvironments() = default;
};

}  // namespace tickstack::serve
