#include "tickerplant/row_ends.h"

#include <cstring>

#include "wire/codec.h"

namespace tickstack::tickerplant {

std::vector<size_t> EndsOf(Type type, std::span<const std::byte> bytes, size_t rows) {
  std::vector<size_t> ends;
  ends.reserve(rows);
  size_t at = 0;
  for (size_t row = 0; row < rows; ++row) {
    if (type == Type::kSymbol) {
      at = static_cast<size_t>(
               static_cast<const std::byte*>(std::memchr(bytes.data() + at, 0, bytes.size() - at)) -
               bytes.data()) +
           1;
    } else {
      at += wire::ValueBytes(bytes.subspan(at))->value();
    }
    ends.push_back(at);
  }
  return ends;
}

}  // namespace tickstack::tickerplant
