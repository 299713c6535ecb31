#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace reforward {

/// An index into one of the vectors of a Trace, with the kind of thing it
/// points at in its type, so that an op can never be mistaken for a value.
template <class Tag>
struct Id {
  int32_t index = -1;  ///< -1: none

  constexpr Id() = default;
  constexpr explicit Id(std::size_t i) : index(static_cast<int32_t>(i)) {}

  constexpr bool valid() const { return index >= 0; }
  constexpr std::size_t at() const { return static_cast<std::size_t>(index); }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using OpId = Id<struct OpTag>;        ///< into Trace::ops
using ValueId = Id<struct ValueTag>;  ///< into Trace::values
using SavedId = Id<struct SavedTag>;  ///< into Trace::saved

}  // namespace reforward

template <class Tag>
struct std::hash<reforward::Id<Tag>> {
  std::size_t operator()(reforward::Id<Tag> id) const noexcept { return std::hash<int32_t>{}(id.index); }
};
