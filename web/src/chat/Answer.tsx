/** One answer: thoughts and text in the order of their blocks, sources at the end. */
import { memo, useMemo, type ReactNode } from "react";
import type { Answer as AnswerItem, Part, Thought as ThoughtPart, Words } from "../fold/screen";
import { sourcesOf } from "../files/sources";
import { SourceList } from "../files/SourceList";
import { CiteMark } from "../files/CiteMark";
import { Markdown } from "../markdown/Markdown";
import { MarkContext } from "../markdown/MarkContext";
import { joined } from "../markdown/marks";
import { Thought } from "./Thought";

interface Props {
  answer: AnswerItem;
  open: boolean; // it is being written
}

export const Answer = memo(function Answer({ answer, open }: Props): ReactNode {
  const sources = useMemo(() => sourcesOf(answer), [answer]);
  // The same one until a source comes: a new one for each chunk would draw every mark again.
  const cited = answer.parts.reduce((sum, part) => sum + (part.kind === "words" ? part.citations.length : 0), 0);
  const mark = useMemo(
    () => (number: number) => <CiteMark number={number} source={sources.list[number - 1]} />,
    [cited, answer.kept],
  );
  const pieces = piecesOf(answer.parts);
  return (
    <article className="answer" aria-label={`Answer of ${answer.agent.name}`} data-open={open || undefined} data-row={answer.key}>
      <MarkContext value={mark}>
        {pieces.map((piece, at) =>
          piece.kind === "thought" ? (
            <Thought key={`t${piece.block}`} id={`${answer.key}.${piece.block}`} thought={piece} live={open && !piece.done} />
          ) : (
            <Text
              key={`w${piece.words[0]!.block}`}
              text={joined(piece.words, sources.numbersOf)}
              open={open}
              last={at === pieces.length - 1}
            />
          ),
        )}
      </MarkContext>
      {sources.list.length > 0 && !open && <SourceList sources={sources.list} />}
    </article>
  );
});

function Text({ text, open, last }: { text: string; open: boolean; last: boolean }): ReactNode {
  return (
    <div className={open && last ? "text with-caret" : "text"}>
      <Markdown text={text} open={open && last} />
    </div>
  );
}

type Piece = ThoughtPart | { kind: "text"; words: Words[] };

/** Blocks of text that follow each other are one text: a paragraph may run through several. */
function piecesOf(parts: Part[]): Piece[] {
  const pieces: Piece[] = [];
  for (const part of parts) {
    const last = pieces.at(-1);
    if (part.kind === "thought") pieces.push(part);
    else if (last?.kind === "text") last.words.push(part);
    else pieces.push({ kind: "text", words: [part] });
  }
  return pieces;
}
