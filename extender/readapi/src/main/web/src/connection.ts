/** Sends requests to the extender, with a token if it requires one, and keeps the stream open. */
import { computed, signal } from "@preact/signals";
import { apply, start } from "./store.ts";

/** An idle stream sends a keep-alive every 5 s. After this long without a byte, the page says that the data is old. */
const SILENT_MS_MAX = 12_000;
/** The first byte of a snapshot may take longer. */
const FIRST_MS_MAX = 20_000;
const AGAIN_MS = [500, 1_000, 2_000, 5_000];
const TOKEN = "tranche-token";

export type Connection =
  | { readonly state: "connecting" | "live" }
  | { readonly state: "lost" | "refused"; readonly why: string }
  | { readonly state: "token" | "forbidden"; readonly why: string };

export const connection = signal<Connection>({ state: "connecting" });
/** When the last byte arrived, by this machine's clock. */
export const heardMs = signal(0);
export const nowMs = signal(Date.now());
/** The same, but it changes only once in ten seconds, for ages in hundreds of places. */
export const tenSecondsMs = computed(() => Math.floor(nowMs.value / 10_000) * 10_000);

let token = sessionStorage.getItem(TOKEN) ?? "";
let attempt = 0;
let running: AbortController | undefined;
let retry: ReturnType<typeof setTimeout> | undefined;
/** When the running request started or last received a byte. */
let stirredMs = 0;

export function useToken(value: string): void {
  token = value.trim();
  sessionStorage.setItem(TOKEN, token);
  attempt = 0;
  void connect();
}

export const ask = (path: string, init: RequestInit = {}) =>
  fetch(`api/v1/${path}`, {
    ...init,
    cache: "no-store",
    headers: token ? { ...init.headers, Authorization: `Bearer ${token}` } : (init.headers ?? {}),
  });

/** The detail of a problem document, else the status. */
export async function whyOf(answer: Response): Promise<string> {
  const problem: { detail?: string } = await answer.json().catch(() => ({}));
  return problem.detail ?? `the extender answered ${answer.status}`;
}

/** Keeps the stream while the page is seen, since a browser opens at most six connections to a host. */
export function connectWhileSeen(): void {
  document.addEventListener("visibilitychange", pauseOrResume);
  addEventListener("pagehide", pause);
  addEventListener("pageshow", pauseOrResume);
  pauseOrResume();
}

function pauseOrResume(): void {
  const { state } = connection.value;
  if (document.hidden) pause();
  else if (!running && state !== "token" && state !== "forbidden") void connect();
}

function pause(): void {
  clearTimeout(retry);
  if (running && over(running)) connection.value = { state: "connecting" };
}

export async function connect(): Promise<void> {
  clearTimeout(retry);
  running?.abort();
  const mine = (running = new AbortController());
  stirredMs = Date.now();
  try {
    const answer = await ask("stream", { signal: mine.signal, headers: { Accept: "text/event-stream" } });
    if (answer.ok && answer.body) {
      await read(answer.body);
      throw new Error("the extender closed the stream");
    }
    const why = await whyOf(answer);
    if (over(mine)) refused(answer.status, why);
  } catch (failure) {
    if (over(mine)) lost(failure instanceof Error ? failure.message : String(failure));
  }
}

/** Ends the request. False if a newer request has replaced it, so that its answer no longer counts. */
function over(request: AbortController): boolean {
  request.abort();
  if (running !== request) return false;
  running = undefined;
  return true;
}

function refused(status: number, why: string): void {
  if (status === 401) connection.value = { state: "token", why: token ? why : "" };
  else if (status === 403) connection.value = { state: "forbidden", why };
  else again({ state: heardMs.value ? "lost" : "refused", why });
}

const lost = (why: string) => again({ state: "lost", why });

function again(state: Connection): void {
  connection.value = state;
  clearTimeout(retry);
  retry = setTimeout(() => void connect(), AGAIN_MS[Math.min(attempt++, AGAIN_MS.length - 1)]);
}

async function read(body: ReadableStream<Uint8Array>): Promise<void> {
  const reader = body.getReader();
  const text = new TextDecoder();
  // Only new data is searched for separators, since a snapshot of many MiB arrives in many chunks.
  let pieces: string[] = [];
  let newline = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    heardMs.value = stirredMs = Date.now();
    const blocks = (newline + text.decode(value, { stream: true })).split("\n\n");
    const last = blocks.pop()!;
    for (const block of blocks) {
      event(pieces.join("") + block);
      pieces = [];
    }
    // A trailing newline may be the first half of a separator.
    newline = last.endsWith("\n") ? "\n" : "";
    pieces.push(newline ? last.slice(0, -1) : last);
  }
}

function event(block: string): void {
  let name = "";
  let data = "";
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data += line.slice(5);
  }
  if (name === "snapshot") {
    start(JSON.parse(data));
    attempt = 0;
    connection.value = { state: "live" };
  } else if (name === "change") {
    apply(JSON.parse(data));
  }
}

setInterval(() => {
  nowMs.value = Date.now();
  const live = connection.value.state === "live";
  if (running && nowMs.value - stirredMs > (live ? SILENT_MS_MAX : FIRST_MS_MAX) && over(running)) {
    lost(live ? "the stream fell silent" : "no answer came");
  }
}, 1_000);
