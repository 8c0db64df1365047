#include "feed/columns.h"

namespace tickstack::feed {

void ColumnList::Clear() {
  for (ByteBuffer& column : columns_) column.clear();
  rows_ = 0;
}

void ColumnList::Encode(ByteBuffer& out) const {
  PutVectorHead(out.Extend(kListHeadBytes), Type::kList, static_cast<int32_t>(types_.size()));
  for (size_t i = 0; i < types_.size(); ++i) {
    PutColumnHead(out.Extend(rows_ == 1 ? kAtomHeadBytes : kVectorHeadBytes), types_[i], rows_);
    out.Append(columns_[i].span());
  }
}

}  // namespace tickstack::feed
