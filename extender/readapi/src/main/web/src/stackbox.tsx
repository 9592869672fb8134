/** Draws the stack of a GPU's pods, with their names where there is room. */
import { colourOf } from "./palette.ts";
import { age, percent, share } from "./quantity.ts";
import { smOf, type Part } from "./stack.ts";
import { tenSecondsMs } from "./connection.ts";
import type { Holder } from "./types.ts";

/** Height of a whole GPU, in lines of text, as the style sheet has it. */
const LINES: Record<string, number> = { huge: 17, large: 11, middle: 6 };
const LEAST_FOR_ONE = 1;
const LEAST_FOR_TWO = 2.2;

/** @param of share in use, 0 to 1; undefined if it is not known */
export function Bar({ kind, share: of }: { kind: "sm" | "mem"; share: number | undefined }) {
  return (
    <span class={`bar ${kind} ${of === undefined ? "none" : ""}`} aria-hidden="true">
      {of !== undefined && <i style={{ height: `${Math.min(1, of) * 100}%` }} />}
    </span>
  );
}

export function Stack({ parts, size }: { parts: readonly Part[]; size: string }) {
  return <>{parts.map((part) => <PartBox part={part} lines={part.share * (LINES[size] ?? 0)} />)}</>;
}

function PartBox({ part, lines }: { part: Part; lines: number }) {
  const style = { flexGrow: part.share };
  if (part.kind !== "pod") {
    return (
      <span class={`part ${part.kind}`} style={style}>
        {lines >= LEAST_FOR_ONE && <span class="text"><span>{share(part.share)} {WORDS[part.kind]}</span></span>}
      </span>
    );
  }
  const { holder } = part;
  const what = `${share(part.share)}${useText(holder)}`;
  return (
    <span class={`part ns ns${colourOf(holder.namespace)} ${holder.idleSince ? "idle" : ""}`} style={style} data-pod={`${holder.namespace}/${holder.name}`}>
      {lines >= LEAST_FOR_TWO ? (
        <span class="text two"><b>{holder.name}</b><span>{what}</span></span>
      ) : lines >= LEAST_FOR_ONE && (
        <span class="text"><b>{holder.name}</b> <span>{what}</span></span>
      )}
    </span>
  );
}

const WORDS = { others: "others", unknown: "pod unknown", free: "free", blocked: "not usable" };

function useText(holder: Holder): string {
  if (holder.idleSince) return ` · idle ${age(Math.max(60, (tenSecondsMs.value - Date.parse(holder.idleSince)) / 1000))}`;
  const sm = smOf(holder);
  return sm === undefined ? "" : ` · ${percent(sm)}`;
}
