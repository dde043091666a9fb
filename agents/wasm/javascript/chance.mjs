// SPDX-License-Identifier: Apache-2.0
// Math.random(), which QuickJS seeds once, when it starts: forks would all draw the same numbers.

/** Four numbers of 32 bits are the state of xoshiro128**. */
export function seedRandom(seed) {
  let [a, b, c, d] = seed;
  const rotated = (value, by) => (value << by) | (value >>> (32 - by));
  const next = () => {
    const drawn = Math.imul(rotated(Math.imul(b, 5), 7), 9) >>> 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = rotated(d, 11);
    return drawn;
  };
  Math.random = () => ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992;
}
