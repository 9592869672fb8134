/** All state of the page is in the URL, so that a shared link shows the same view. */
import { computed, effect, signal } from "@preact/signals";
import { parse } from "./filter.ts";

export const VIEWS = ["map", "waiting", "waste"] as const;
export const GROUPS = ["node", "model", "namespace"] as const;

export interface Place {
  readonly view: (typeof VIEWS)[number];
  readonly group: (typeof GROUPS)[number];
  readonly as: "map" | "table";
  readonly q: string;
  /** `node/uuid` */
  readonly gpu: string;
  /** `namespace/name` */
  readonly pod: string;
}

const START: Place = { view: "map", group: "node", as: "map", q: "", gpu: "", pod: "" };

/** What is wrong with the URL that the page was opened by. */
export const wrongPlace = signal("");

function read(): Place {
  const query = new URLSearchParams(location.search);
  wrongPlace.value = "";
  const oneOf = <T extends string>(name: string, allowed: readonly T[]): T => {
    const asked = query.get(name) ?? allowed[0]!;
    const found = allowed.find((value) => value === asked);
    if (!found) wrongPlace.value = `${name} is "${asked}"; allowed: ${allowed.join(", ")}`;
    return found ?? allowed[0]!;
  };
  return {
    view: oneOf("view", VIEWS),
    group: oneOf("group", GROUPS),
    as: oneOf("as", ["map", "table"] as const),
    q: query.get("q") ?? "",
    gpu: query.get("gpu") ?? "",
    pod: query.get("pod") ?? "",
  };
}

export const place = signal<Place>(read());

const afterPaint = (then: () => void) => requestAnimationFrame(() => setTimeout(then));

/** What the views show. It follows `place` after the browser has painted the response to the key or click. */
export const shownPlace = signal(place.value);

effect(() => {
  const next = place.value;
  afterPaint(() => {
    if (place.value === next) shownPlace.value = next;
  });
});

export const filter = computed(() => parse(query.value));
const query = computed(() => shownPlace.value.q);

export function link(change: Partial<Place>): string {
  const next = { ...place.value, ...change };
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(next)) {
    if (value !== START[name as keyof Place]) query.set(name, value);
  }
  return `?${query}`;
}

/** @param typing do not add a history entry for each letter */
export function go(change: Partial<Place>, typing = false): void {
  const to = link(change);
  if (typing) history.replaceState(null, "", to);
  else if (to !== link({})) history.pushState(null, "", to);
  wrongPlace.value = "";
  place.value = { ...place.value, ...change };
}

addEventListener("popstate", () => (place.value = read()));
