/** Cost by day: bars of SVG that follow the theme. The table below has the same numbers. */
import type { ReactNode } from "react";
import { money } from "../ui/format";
import { axisLabel, roundUp, type Series } from "./bill";

const [HEIGHT, LEFT, BOTTOM, TOP] = [190, 60, 22, 10];
const [NARROWEST, LABEL] = [6, 64]; // px of a day, and of its name below

interface Props {
  series: Series;
  colourOf: (name: string) => string;
  width: number; // px that there are
}

export function Bars({ series, colourOf, width }: Props): ReactNode {
  const most = roundUp(Math.max(...series.days.map((day) => day.usd), 0));
  const days = Math.max(1, series.days.length);
  const right = Math.max(width, LEFT + days * NARROWEST);
  const step = (right - LEFT) / days;
  const bar = Math.min(22, step * 0.66);
  const y = (usd: number): number => TOP + (HEIGHT - TOP - BOTTOM) * (1 - usd / most);
  const every = Math.ceil(LABEL / step);
  return (
    <svg className="bars" width={right} height={HEIGHT} role="img" aria-label="Cost by day. The tables below have the numbers.">
      {[0, 0.25, 0.5, 0.75, 1].map((part) => (
        <g key={part}>
          <line x1={LEFT} x2={right} y1={y(most * part)} y2={y(most * part)} className="grid-line" />
          <text x={LEFT - 8} y={y(most * part) + 4} textAnchor="end">
            {axisLabel(most * part, most)}
          </text>
        </g>
      ))}
      {series.days.map(({ day, parts }, at) => {
        const x = LEFT + at * step + (step - bar) / 2;
        let base = 0;
        return (
          <g key={day}>
            {parts.map(({ name, usd }) => {
              const top = y(base + usd);
              const height = Math.max(0.5, y(base) - top - 1);
              base += usd;
              return (
                <rect key={name} x={x} y={top} width={bar} height={height} rx={2} className={`bar ${colourOf(name)}`}>
                  <title>{`${day}, ${name}: ${money(usd)}`}</title>
                </rect>
              );
            })}
            {at % every === 0 && (
              <text x={x + bar / 2} y={HEIGHT - 6} textAnchor="middle">
                {shortDay(day)}
              </text>
            )}
          </g>
        );
      })}
    </svg>
  );
}

function shortDay(day: string): string {
  return new Date(`${day}T00:00:00`).toLocaleDateString("en-US", { month: "short", day: "numeric" });
}
