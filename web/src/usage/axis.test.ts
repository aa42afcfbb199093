/** What stands at the lines of the chart is where they are. */
import { expect, test } from "vitest";
import { axisLabel } from "./bill";

test.each([
  [0.1, ["$0.000", "$0.025", "$0.050", "$0.075", "$0.100"]],
  [0.01, ["$0.0000", "$0.0025", "$0.0050", "$0.0075", "$0.0100"]],
  [1, ["$0.00", "$0.25", "$0.50", "$0.75", "$1.00"]],
  [2, ["$0.0", "$0.5", "$1.0", "$1.5", "$2.0"]],
  [50, ["$0.0", "$12.5", "$25.0", "$37.5", "$50.0"]],
  [400, ["$0", "$100", "$200", "$300", "$400"]],
])("up to %d", (most, labels) => expect([0, 0.25, 0.5, 0.75, 1].map((part) => axisLabel(most * part, most))).toEqual(labels));
