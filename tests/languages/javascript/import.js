import { posix } from "node:path";

console.log(posix.basename(import.meta.url));
