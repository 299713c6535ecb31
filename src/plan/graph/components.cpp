#include "plan/graph/components.h"

#include <algorithm>
#include <utility>

namespace reforward::graph {

Components::Components(const Ordered& graph, const std::vector<char>& stored)
    : graph_(graph), alive_(graph.cost.size()), of_(graph.cost.size(), none) {
  for (const int64_t cost : graph.cost) stored_cost_ += cost;
  for (int32_t p = 1; p + 1 < graph.size(); ++p) {
    if (stored[p] == 0) take_out(p);
  }
}

std::vector<char> Components::set() const {
  std::vector<char> stored(of_.size(), 0);
  for (int32_t p = 1; p + 1 < graph_.size(); ++p) stored[p] = of_[p] == none;
  return stored;
}

int32_t Components::new_component() {
  if (free_.empty()) {
    components_.emplace_back();
    return static_cast<int32_t>(components_.size() - 1);
  }
  const int32_t c = free_.back();
  free_.pop_back();
  components_[c].members.clear();
  components_[c].cost = 0;
  return c;
}

void Components::add_member(int32_t c, int32_t p) {
  Component& component = components_[c];
  component.first = component.members.empty() ? p : std::min(component.first, p);
  component.last = component.members.empty() ? p : std::max(component.last, p);
  component.members.push_back(p);
  component.cost += graph_.cost[p];
  of_[p] = c;
  ++work_;
}

void Components::show(const Component& component, int sign) {
  alive_.add(component.first, component.last, sign * component.cost);
  work_ += 8;
}

void Components::store(int32_t p) {
  const int32_t old = of_[p];
  show(components_[old], -1);
  of_[p] = none;
  stored_cost_ += graph_.cost[p];
  // Its component falls apart around its neighbours.
  for (const auto* side : {&graph_.before[p], &graph_.after[p]}) {
    for (const int32_t q : *side) {
      if (inside(q) && of_[q] == old) grow(new_component(), q, old);
    }
  }
  free_.push_back(old);
}

/// Moves what is connected with `begin` from one component to another.
void Components::grow(int32_t c, int32_t begin, int32_t from) {
  add_member(c, begin);
  for (std::size_t i = 0; i < components_[c].members.size(); ++i) {
    const int32_t p = components_[c].members[i];
    for (const auto* side : {&graph_.before[p], &graph_.after[p]}) {
      for (const int32_t q : *side) {
        if (of_[q] == from) add_member(c, q);
      }
    }
  }
  show(components_[c], +1);
}

void Components::take_out(int32_t p) {
  stored_cost_ -= graph_.cost[p];
  std::vector<int32_t> met;
  for (const auto* side : {&graph_.before[p], &graph_.after[p]}) {
    for (const int32_t q : *side) {
      if (inside(q) && std::find(met.begin(), met.end(), of_[q]) == met.end()) met.push_back(of_[q]);
    }
  }
  const auto largest = std::max_element(met.begin(), met.end(), [this](int32_t a, int32_t b) {
    return components_[a].members.size() < components_[b].members.size();
  });
  for (const int32_t c : met) show(components_[c], -1);
  const int32_t base = met.empty() ? new_component() : *largest;
  add_member(base, p);
  for (const int32_t c : met) {
    if (c == base) continue;
    for (const int32_t q : components_[c].members) add_member(base, q);
    free_.push_back(c);
  }
  show(components_[base], +1);
}

}  // namespace reforward::graph
