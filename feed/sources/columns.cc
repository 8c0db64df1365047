#include "feed/sources/columns.h"

#include "wire/upd_encoder.h"

namespace tickstack::feed {

void ColumnList::AppendText(size_t column, std::string_view text) {
  wire::UpdEncoder(columns_[column]).Column(Type::kChar, text.size());
  columns_[column].Append(text);
}

void ColumnList::Clear() {
  for (ByteBuffer& column : columns_) column.clear();
  rows_ = 0;
}

void ColumnList::Encode(ByteBuffer& out) const {
  wire::UpdEncoder x(out);
  x.Columns(types_.size());
  for (size_t i = 0; i < types_.size(); ++i) {
    // The cell of a nested column is a value of its own, without a head for an atom.
    const bool is_cell = types_[i] == Type::kList && rows_ == 1;
    if (!is_cell) x.ColumnOrAtom(types_[i], static_cast<size_t>(rows_));
    out.Append(columns_[i].span());
  }
}

}  // namespace tickstack::feed
