// Evaluates any text as a query, over a captured and a copied table, within small limits. It must
// end in a value, or in an error with a name and a position within the text. The value must not
// exceed the limit by more than a name's width.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "query/columns/errors.h"
#include "query/query.h"
#include "query/testing.h"

namespace {

tickstack::query::TestEnvironment& Environment() {
  static tickstack::query::TestEnvironment* const environment = [] {
    auto* made = new tickstack::query::TestEnvironment;
    tickstack::query::AddSampleTables(*made);
    return made;
  }();
  return *environment;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using tickstack::query::Limits;
  // A loop runs until the deadline: a short one leaves time for other inputs.
  const Limits limits{.max_depth = 100,
                      .max_levels = 400,
                      .max_text_bytes = 4096,
                      .max_result_bytes = size_t{1} << 20,
                      .deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20),
                      .cancelled = nullptr};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto answer = tickstack::query::Evaluate(text, Environment(), limits);
  if (answer.ok()) {
    tickstack::query::Show(*answer);
  } else {
    TS_CHECK(!tickstack::query::QErrorText(answer.status()).empty());  // Every error has a name.
    TS_CHECK(tickstack::query::PositionOf(answer.status()).value_or(0) <= text.size());
  }
  return 0;
}
