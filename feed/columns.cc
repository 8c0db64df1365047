#include "feed/columns.h"

#include "wire/upd_encoder.h"

namespace tickstack::feed {

void ColumnList::Clear() {
  for (ByteBuffer& column : columns_) column.clear();
  rows_ = 0;
}

void ColumnList::Encode(ByteBuffer& out) const {
  wire::UpdEncoder x(out);
  x.Columns(types_.size());
  for (size_t i = 0; i < types_.size(); ++i) {
    x.ColumnOrAtom(types_[i], static_cast<size_t>(rows_));
    out.Append(columns_[i].span());
  }
}

}  // namespace tickstack::feed
