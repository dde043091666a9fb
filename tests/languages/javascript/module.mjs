import { posix } from "node:path";

const four = await Promise.resolve(posix.join("/a", "b").length);
console.log(four);
