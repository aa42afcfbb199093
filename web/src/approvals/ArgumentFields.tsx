/** The arguments of a call as pairs. A click makes one editable; what it was stays visible. */
import { useState, type ReactNode } from "react";
import { Pencil } from "lucide-react";
import { marked } from "../markdown/links";
import { count, number } from "../ui/format";
import { inWords } from "../wire/config";
import { read, shown, type Args, type Field } from "./edits";
import { isNumber } from "../wire/json";

const LONG = 600; // characters from which a value scrolls in its place, so that it hides no other
const SAID = 200; // characters of a value in the name of its button

interface Props {
  args: Args;
  fields: Field[];
  texts: Record<string, string>;
  disabled: boolean;
  change: (name: string, text: string) => void;
}

export function ArgumentFields({ args, fields, texts, disabled, change }: Props): ReactNode {
  if (fields.length === 0) return <p className="muted">Without arguments.</p>;
  return (
    <dl className="pairs">
      {fields.map((field) => (
        <div key={field.name}>
          <dt>{inWords(marked(field.name))}</dt>
          <dd>
            <Argument
              field={field}
              before={shown(args[field.name])}
              words={asPeopleWrite(args[field.name])}
              text={texts[field.name]}
              disabled={disabled}
              change={(text) => change(field.name, text)}
            />
          </dd>
        </div>
      ))}
    </dl>
  );
}

interface ArgumentProps {
  field: Field;
  before: string;
  words: string; // as people write it
  text: string | undefined;
  disabled: boolean;
  change: (text: string) => void;
}

function Argument({ field, before, words, text, disabled, change }: ArgumentProps): ReactNode {
  const [editing, setEditing] = useState(false);
  const isChanged = text !== undefined && text !== before;
  const label = `${inWords(field.name)}: ${marked(before.slice(0, SAID))}`;
  if (!editing && !isChanged) {
    const isLong = words.length > LONG;
    return (
      <>
        <button type="button" className={isLong ? "value long" : "value"} disabled={disabled} onClick={() => setEditing(true)} aria-label={`Change ${label}`}>
          <span>{marked(words) || "—"}</span>
          <Pencil aria-hidden />
        </button>
        {isLong && <span className="muted small-text">{count(words.length)} characters: scroll to read them all.</span>}
      </>
    );
  }
  const invalid = read(text ?? before, field) === null;
  return (
    <>
      <Input field={field} value={text ?? before} change={change} disabled={disabled} invalid={invalid} done={() => setEditing(false)} />
      {isChanged && <s>{marked(words) || "—"}</s>}
      {isChanged && <span className="pill info">edited</span>}
      {invalid && <span className="bad small-text">This is no {field.kind === "number" ? "number" : "JSON"}.</span>}
    </>
  );
}

function asPeopleWrite(value: unknown): string {
  const isList = Array.isArray(value) && value.length > 0 && value.every((each) => typeof each === "string" || isNumber(each));
  if (isList) return value.join(", ");
  return isNumber(value) ? number(value) : shown(value);
}

interface InputProps {
  field: Field;
  value: string;
  invalid: boolean;
  disabled: boolean;
  change: (text: string) => void;
  done: () => void;
}

function Input({ field, value, change, disabled, invalid, done }: InputProps): ReactNode {
  const shared = { disabled, "aria-label": inWords(field.name), autoFocus: true, onBlur: done };
  if (field.kind === "flag" || field.kind === "choice") {
    const choices = field.kind === "flag" ? ["true", "false"] : field.choices.map(shown);
    return (
      <select {...shared} value={value} onChange={(event) => change(event.target.value)}>
        {choices.map((choice) => (
          <option key={choice}>{choice}</option>
        ))}
      </select>
    );
  }
  return (
    <input
      {...shared}
      type="text"
      inputMode={field.kind === "number" ? "decimal" : undefined}
      value={value}
      aria-invalid={invalid}
      onChange={(event) => change(event.target.value)}
    />
  );
}
