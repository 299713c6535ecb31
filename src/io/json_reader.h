#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "reforward/error.h"
#include "reforward/ids.h"

namespace reforward::io {

using Json = nlohmann::ordered_json;

/// Parses one of our files: JSON with "format" and "version" first.
Json parse_document(std::string_view text, const std::string& format, int version);

/// Reads the fields of an object; whatever is missing or of another type is a
/// FormatError that names it.
class Fields {
 public:
  Fields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) refuse("is not an object");
  }

  template <class T>
  T get(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end()) refuse(std::string("lacks the field '") + name + "'");
    return convert<T>(*found, name);
  }
  /// Fields that are left out when they have their default.
  template <class T>
  T get_or(const char* name, T otherwise) const {
    const auto found = object_.find(name);
    return found == object_.end() ? otherwise : convert<T>(*found, name);
  }
  template <class Tag>
  Id<Tag> get_id(const char* name) const {
    return to_id<Tag>(get<int64_t>(name), name);
  }
  template <class Tag>
  std::vector<Id<Tag>> get_ids(const char* name) const {
    std::vector<Id<Tag>> ids;
    for (const int64_t id : get<std::vector<int64_t>>(name)) ids.push_back(to_id<Tag>(id, name));
    return ids;
  }
  const Json& list(const char* name) const {
    const auto found = object_.find(name);
    if (found == object_.end() || !found->is_array()) refuse(std::string("lacks the list '") + name + "'");
    return *found;
  }
  std::string at(const char* name, std::size_t index) const {
    return where_ + ", " + name + "[" + std::to_string(index) + "]";
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw FormatError(where_ + " " + what + "; the file is damaged or was not written by reforward.");
  }
  template <class T>
  T convert(const Json& value, const char* name) const {
    // nlohmann's own conversions turn 1.5 into 1 and true into 1.
    constexpr bool whole = std::is_integral_v<T> && !std::is_same_v<T, bool>;
    if (whole && !value.is_number_integer())
      refuse(std::string("has something else than a whole number in '") + name + "'");
    try {
      if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
        std::vector<int64_t> numbers;
        if (!value.is_array()) refuse(std::string("has no list in '") + name + "'");
        for (const auto& element : value) numbers.push_back(convert<int64_t>(element, name));
        return numbers;
      } else {
        return value.get<T>();
      }
    } catch (const Json::exception&) {
      refuse(std::string("has a value of the wrong type in '") + name + "'");
    }
  }
  template <class Tag>
  Id<Tag> to_id(int64_t id, const char* name) const {
    if (id < -1 || id > std::numeric_limits<int32_t>::max())
      refuse(std::string("has an impossible number in '") + name + "'");
    Id<Tag> result;
    result.index = static_cast<int32_t>(id);
    return result;
  }

  const Json& object_;
  std::string where_;
};

template <class Tag>
std::vector<int32_t> indices(const std::vector<Id<Tag>>& ids) {
  std::vector<int32_t> result;
  result.reserve(ids.size());
  for (const auto id : ids) result.push_back(id.index);
  return result;
}

}  // namespace reforward::io
