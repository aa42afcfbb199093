/** Colours of code, loaded when the first closed block is there. Gives a tree, no HTML. */
import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import markdown from "highlight.js/lib/languages/markdown";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import shell from "highlight.js/lib/languages/shell";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";

export type Tree = (string | { className: string; children: Tree })[];

const lowlight = createLowlight({
  bash, css, diff, go, java, javascript, json, markdown, python, rust, shell, sql, typescript, xml, yaml,
});

interface Node {
  type: string;
  value?: string;
  children?: Node[];
  properties?: { className?: string[] };
}

export function coloured(text: string, language: string): Tree | null {
  if (!lowlight.registered(language)) return null;
  return plain((lowlight.highlight(language, text) as unknown as Node).children ?? []);
}

function plain(nodes: Node[]): Tree {
  return nodes.map((node) =>
    node.type === "text"
      ? (node.value ?? "")
      : { className: node.properties?.className?.join(" ") ?? "", children: plain(node.children ?? []) },
  );
}
