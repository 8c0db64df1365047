#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tickstack::query {

// An environment that also has this class knows the names of its functions' parameters, which
// `value` returns. A function of any other environment has the parameter x.
class NamedParameters {
 public:
  virtual std::vector<std::string> ParametersOf(std::string_view name) = 0;

 protected:
  ~NamedParameters() = default;
};

}  // namespace tickstack::query
