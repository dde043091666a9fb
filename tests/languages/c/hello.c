#include <math.h>
#include <stdio.h>

int main(void) {
  int total = 0;
  int value;
  while (scanf("%d", &value) == 1) {
    total += value;
  }
  printf("Σ = %.0f ✓\n", fabs(sqrt((double)total * total)));
  return 0;
}
