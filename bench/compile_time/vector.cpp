// The floor of cobre-comm: <vector>, and nothing else.
#include <vector>

double first_of(const std::vector<double>& values) {
  return values[0];
}
