/** Sends requests to the extender, with a token if it requires one, and follows what changes. */
import { computed, signal } from "@preact/signals";
import { apply, resourceVersion } from "./store.ts";
import type { Change } from "./types.ts";

/** A little less than the second from one change to the next, so that no page falls behind. */
const PERIOD_MS = 950;
/** The extender gives up after ten seconds. */
const ANSWER_MS_MAX = 12_000;
const AGAIN_MS = [500, 1_000, 2_000, 5_000];
const TOKEN = "tranche-token";

export type Connection =
  | { readonly state: "connecting" | "live" }
  | { readonly state: "lost" | "refused" | "token" | "forbidden"; readonly why: string };

export const connection = signal<Connection>({ state: "connecting" });
/** When the last answer arrived, by this machine's clock. */
export const heardMs = signal(0);
export const nowMs = signal(Date.now());
/** The same, but it changes only once in ten seconds, for ages in hundreds of places. */
export const tenSecondsMs = computed(() => Math.floor(nowMs.value / 10_000) * 10_000);

let token = sessionStorage.getItem(TOKEN) ?? "";
let attempt = 0;
let running: AbortController | undefined;
let next: ReturnType<typeof setTimeout> | undefined;

export function useToken(value: string): void {
  token = value.trim();
  sessionStorage.setItem(TOKEN, token);
  attempt = 0;
  void look();
}

export const ask = (path: string, over: AbortSignal) =>
  fetch(`api/v1/${path}`, {
    cache: "no-store",
    headers: token ? { Authorization: `Bearer ${token}` } : {},
    signal: AbortSignal.any([over, AbortSignal.timeout(ANSWER_MS_MAX)]),
  });

/** The detail of a problem document, else the status. */
export async function whyOf(answer: Response): Promise<string> {
  const problem: { detail?: string } = await answer.json().catch(() => ({}));
  return problem.detail ?? `the extender answered ${answer.status}`;
}

/** Follows the cluster while the page is seen. */
export function lookWhileSeen(): void {
  document.addEventListener("visibilitychange", pauseOrResume);
  addEventListener("pagehide", hide);
  addEventListener("pageshow", pauseOrResume);
  pauseOrResume();
}

function pauseOrResume(): void {
  const { state } = connection.value;
  if (document.hidden) hide();
  else if (!running && state !== "token" && state !== "forbidden") void look();
}

function hide(): void {
  pause();
  if (connection.value.state === "live") connection.value = { state: "connecting" };
}

function pause(): void {
  clearTimeout(next);
  running?.abort();
  running = undefined;
}

/** Asks what has changed, now and then again. */
export async function look(): Promise<void> {
  pause();
  const mine = (running = new AbortController());
  // If a newer request has replaced this one, its answer no longer counts.
  const counts = () => running === mine;
  try {
    const answer = await ask(`changes?resourceVersion=${resourceVersion.value}`, mine.signal);
    const found = answer.ok ? JSON.parse(await answer.text()) : await whyOf(answer);
    if (!counts()) return;
    if (answer.ok) heard(found);
    else refused(answer.status, found);
  } catch (failure) {
    if (counts()) again({ state: "lost", why: failure instanceof Error ? failure.message : String(failure) });
  } finally {
    if (counts()) running = undefined;
  }
}

function heard(change: Change): void {
  attempt = 0;
  heardMs.value = Date.now();
  apply(change);
  if (connection.value.state !== "live") connection.value = { state: "live" };
  next = setTimeout(() => void look(), PERIOD_MS);
}

function refused(status: number, why: string): void {
  if (status === 401) connection.value = { state: "token", why: token ? why : "" };
  else if (status === 403) connection.value = { state: "forbidden", why };
  else again({ state: heardMs.value ? "lost" : "refused", why });
}

function again(state: Connection): void {
  connection.value = state;
  next = setTimeout(() => void look(), AGAIN_MS[Math.min(attempt++, AGAIN_MS.length - 1)]);
}

setInterval(() => (nowMs.value = Date.now()), 1_000);
