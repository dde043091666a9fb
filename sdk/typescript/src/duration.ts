// SPDX-License-Identifier: Apache-2.0
import { InvalidError } from "./errors.js";
import type { Duration } from "./generated/models.js";

const units: Readonly<Record<string, number>> = {
  "": 1000, ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000,
};

/** Milliseconds of a duration as the API has them: seconds, or a text like `250ms`, `30s` or `5m`. */
export function milliseconds(duration: Duration): number {
  const found = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|)$/.exec(String(duration).trim());
  const unit = found ? units[found[2] ?? ""] : undefined;
  if (!found || unit === undefined) {
    throw new InvalidError(`invalid duration '${duration}'`,
      { code: "invalid", hint: "use seconds, or a text like '250ms', '30s' or '5m'" });
  }
  return Number(found[1]) * unit;
}
