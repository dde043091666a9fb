#include <iostream>
#include <iterator>
#include <numeric>
#include <thread>

int main() {
  int total = 0;
  std::thread([&] {
    total = std::accumulate(std::istream_iterator<int>(std::cin), {}, 0);
  }).join();
  std::cout << "Σ = " << total << " ✓\n";
}
