import { expect, test } from "vitest";
import { directionOf } from "./direction";

test.each([
  ["", "ltr"],
  ["2026!", "ltr"],
  ["Hello שלום", "ltr"],
  ["“1. שלום” Hello", "rtl"],
  ["مرحبا", "rtl"],
  ["你好", "ltr"],
])("%s runs %s", (text, direction) => {
  expect(directionOf(text)).toBe(direction);
});
