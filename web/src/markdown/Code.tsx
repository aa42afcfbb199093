/** A code block: plain while it grows, coloured once when it is closed, never the other way. */
import { memo, useEffect, useState, type ReactNode } from "react";
import { CopyButton } from "../ui/CopyButton";
import type { Tree } from "./colours";

const LARGEST = 20_000; // characters that are coloured: in one task, which must stay short
const SEGMENT = 40; // lines that are drawn as one piece

interface Props {
  text: string;
  language: string;
  closed: boolean;
}

export function Code({ text, language, closed }: Props): ReactNode {
  const name = /^[\w+#.-]{1,20}/.exec(language)?.[0]?.toLowerCase() ?? "";
  const tree = useColours(text, name, closed);
  return (
    <figure className="code" dir="ltr">
      <figcaption>
        <span>{name || "text"}</span>
        <CopyButton text={() => text} label="Copy code" />
      </figcaption>
      <pre tabIndex={0} role="region" aria-label={`Code, ${name || "text"}`}>
        <code>{tree ? nodes(tree) : segments(text).map((piece, at) => <Segment key={at} text={piece} />)}</code>
      </pre>
    </figure>
  );
}

const Segment = memo(({ text }: { text: string }) => <span className="segment">{text}</span>);

function segments(text: string): string[] {
  const lines = text.split("\n");
  if (lines.length <= SEGMENT) return [text];
  const pieces: string[] = [];
  for (let at = 0; at < lines.length; at += SEGMENT) {
    pieces.push(lines.slice(at, at + SEGMENT).join("\n"));
  }
  return pieces;
}

function useColours(text: string, language: string, closed: boolean): Tree | null {
  const [tree, setTree] = useState<Tree | null>(null);
  useEffect(() => {
    if (tree || !closed || !language || text.length > LARGEST) return;
    let gone = false;
    // In a task of its own, beside the one that has drawn the text.
    void import("./colours").then(({ coloured }) => setTimeout(() => gone || setTree(coloured(text, language)))).catch(() => {}); // it is read without
    return () => void (gone = true);
  }, [text, language, closed, tree]);
  return tree;
}

function nodes(tree: Tree): ReactNode {
  return tree.map((node, at) =>
    typeof node === "string" ? (
      node
    ) : (
      <span key={at} className={node.className}>
        {nodes(node.children)}
      </span>
    ),
  );
}
