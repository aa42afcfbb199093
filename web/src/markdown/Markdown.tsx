/** Markdown as elements. No HTML string is made on the way, so none can be hostile. */
import { memo, useMemo, useRef, type ReactNode } from "react";
import type { Token, Tokens } from "marked";
import { Blocks, isClosed, type Block } from "./blocks";
import { Code } from "./Code";
import { inline } from "./Inline";
import { withoutMarks } from "./marks";
import { widthOf } from "../ui/cells";

const DEEPEST = 12; // quotes and lists inside of each other; more is shown as text

/** `open`: more text comes. */
export function Markdown({ text, open = false }: { text: string; open?: boolean }): ReactNode {
  const blocks = useRef<Blocks>(null);
  blocks.current ??= new Blocks();
  const shown = useMemo(() => blocks.current!.of(text, open), [text, open]);
  return (
    <div className="md">
      {shown.map((block) => (
        <MemoBlock key={block.key} block={block} />
      ))}
    </div>
  );
}

const MemoBlock = memo(({ block }: { block: Block }) => <BlockView token={block.token} depth={0} />);

/** Of each outermost block, by its first letter: Hebrew and Arabic run from right to left. */
const directionAt = (depth: number): "auto" | undefined => (depth === 0 ? "auto" : undefined);

function BlockView({ token, depth }: { token: Token; depth: number }): ReactNode {
  const dir = directionAt(depth);
  if (depth > DEEPEST) return <p>{withoutMarks(token.raw)}</p>;
  switch (token.type) {
    case "heading": {
      const Heading = `h${Math.min(6, (token as Tokens.Heading).depth + 2)}` as "h3";
      return <Heading dir={dir}>{inline(token.tokens)}</Heading>;
    }
    case "code": {
      const code = token as Tokens.Code;
      return <Code text={withoutMarks(code.text)} language={code.lang ?? ""} closed={isClosed(code)} />;
    }
    case "blockquote":
      return <blockquote dir={dir}>{nested((token as Tokens.Blockquote).tokens, depth)}</blockquote>;
    case "list":
      return <List list={token as Tokens.List} depth={depth} />;
    case "table":
      return <Table table={token as Tokens.Table} dir={dir} />;
    case "hr":
      return <hr />;
    case "text":
      return <>{inline((token as Tokens.Text).tokens ?? [token])}</>;
    case "checkbox":
      return null;
    case "space":
    case "def":
      return null;
    default:
      return <p dir={dir}>{inline((token as Tokens.Paragraph).tokens ?? [token])}</p>;
  }
}

function nested(tokens: Token[], depth: number): ReactNode {
  return tokens.map((token, at) => <BlockView key={at} token={token} depth={depth + 1} />);
}

function List({ list, depth }: { list: Tokens.List; depth: number }): ReactNode {
  const items = list.items.map((item, at) => (
    <li key={at} className={item.task ? "task" : undefined}>
      {item.task && <input type="checkbox" checked={!!item.checked} disabled aria-label={item.checked ? "done" : "to do"} />}
      {nested(item.tokens, depth)}
    </li>
  ));
  const dir = directionAt(depth);
  return list.ordered ? <ol start={Number(list.start) || 1} dir={dir}>{items}</ol> : <ul dir={dir}>{items}</ul>;
}

function Table({ table, dir }: { table: Tokens.Table; dir?: "auto" }): ReactNode {
  const side = (at: number): string | undefined => {
    const align = table.align[at];
    return align ? `align-${align}` : undefined;
  };
  return (
    <div className="table" role="region" aria-label="Table" tabIndex={0}>
      <table dir={dir}>
        <thead>
          <tr>
            {table.header.map((cell, at) => (
              <th key={at} className={side(at)}>
                {inline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, n) => (
            <tr key={n}>
              {row.map((cell, at) => (
                <td key={at} className={`${side(at) ?? ""} ${widthOf(cell.text)}`}>
                  {inline(cell.tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
